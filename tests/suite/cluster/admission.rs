//! The admission webhook, called by a real kube-apiserver: the shipped program with the rights of its manifests, which
//! refuses what `validate` refuses, and nothing that a fleet without mistakes needs.

#![allow(clippy::needless_pass_by_value)]

use std::net::TcpListener;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, Status};
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply};
use super::target::as_user;
use crate::cli::capstan;
use crate::patience::until;
use crate::running::Running;

const SPEED: u32 = 600;
const PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
const ARO: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
const IDENTITY: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";
pub(super) const CLOSED: &str = "Fail";
const OPEN: &str = "Ignore";

/// Where these tests are in the server that tests share, and a second namespace.
const NAMESPACE: &str = "admission";
const OTHER: &str = "admission-other";

/// A cluster whose API server asks the webhook on this port.
pub(super) struct Guarded<'a> {
    cluster: &'a Management,
    /// The namespaces for which it is asked; all, if this is empty.
    namespaces: &'a [&'a str],
    port: u16,
    dir: tempfile::TempDir,
}

impl<'a> Guarded<'a> {
    /// Not yet: the webhook is neither installed nor served.
    pub(super) fn over(cluster: &'a Management) -> Self {
        Self::over_namespaces(cluster, &[])
    }

    fn over_namespaces(cluster: &'a Management, namespaces: &'a [&'a str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("an address").port();
        let dir = tempfile::tempdir().expect("a directory");
        Self {
            cluster,
            namespaces,
            port,
            dir,
        }
    }

    /// The printed manifests, with the address of this machine in place of the Service.
    pub(super) fn install(&self) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "capstan-system"}});
        self.apply(&namespace);
        for mut object in printed() {
            if object["kind"] == "ValidatingWebhookConfiguration" {
                let dry = PatchParams {
                    dry_run: true,
                    ..PatchParams::apply("suite")
                };
                self.run(async |client| {
                    let name = object["metadata"]["name"]
                        .as_str()
                        .expect("a name")
                        .to_owned();
                    let accepted = api(client, &object)
                        .patch(&name, &dry, &Patch::Apply(&object))
                        .await;
                    accepted.expect("the manifest is accepted as it is printed");
                });
                let url = format!("https://127.0.0.1:{}/validate", self.port);
                object["webhooks"][0]["clientConfig"] = json!({"url": url});
                if !self.namespaces.is_empty() {
                    let named = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": self.namespaces});
                    object["webhooks"][0]["namespaceSelector"] =
                        json!({"matchExpressions": [named]});
                }
            }
            self.apply(&object);
        }
    }

    /// The program, with no more rights than the manifests give it, once the API server trusts it.
    pub(super) fn serve(&self, policy: &str) -> Running {
        let kubeconfig = std::fs::read_to_string(&self.cluster.kubeconfig).expect("readable");
        let user = "system:serviceaccount:capstan-system:capstan-admission";
        let file = self.dir.path().join("kubeconfig");
        std::fs::write(&file, as_user(&kubeconfig, user)).expect("written");
        let address = format!("127.0.0.1:{}", self.port);
        let arguments = [
            "--kubeconfig",
            file.to_str().expect("UTF-8"),
            "--address",
            &address,
            "--host",
            "127.0.0.1",
            "--failure-policy",
            policy,
        ];
        let running = Running::command("admission", self.dir.path(), &arguments);
        let webhook = || {
            self.configuration()
                .map(|found| found["webhooks"][0].clone())
        };
        let is_set = |webhook: &Json| {
            webhook["clientConfig"]["caBundle"].is_string() && webhook["failurePolicy"] == policy
        };
        until(
            || webhook().filter(|webhook| is_set(webhook)),
            || running.said(),
        );
        running
    }

    /// Where it is served, and the certificates of who signed its own.
    pub(super) fn served(&self) -> (String, Vec<u8>) {
        let configuration = self.configuration().expect("it is installed");
        let client = &configuration["webhooks"][0]["clientConfig"];
        let bundle = client["caBundle"].as_str().expect("it is served");
        let bundle = STANDARD.decode(bundle).expect("base64");
        let url = client["url"].as_str().expect("an address");
        (url.to_owned(), bundle)
    }

    fn configuration(&self) -> Option<Json> {
        let named = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "capstan-admission"}});
        let found = self.run(async |client| api(client, &named).get_opt("capstan-admission").await);
        found.expect("readable").map(|found| found.data)
    }

    fn run<T>(&self, work: impl AsyncFnOnce(&Client) -> T) -> T {
        self.cluster.runtime.block_on(work(&self.cluster.client))
    }

    fn apply(&self, object: &Json) {
        self.run(async |client| apply(client, object).await);
    }

    pub(super) fn create(&self, object: &Json) -> Result<(), Box<Status>> {
        let sent = serde_json::from_value(object.clone()).expect("an object");
        let created = self.run(async |client| {
            api(client, object)
                .create(&PostParams::default(), &sent)
                .await
        });
        created.map(drop).map_err(status)
    }

    pub(super) fn patch(&self, object: &Json, patch: &Json) -> Result<(), Box<Status>> {
        let name = name(object);
        let patched = self.run(async |client| {
            let patch = Patch::Merge(patch);
            api(client, object)
                .patch(&name, &PatchParams::default(), &patch)
                .await
        });
        patched.map(drop).map_err(status)
    }

    fn delete(&self, object: &Json) -> Result<(), Box<Status>> {
        let name = name(object);
        let deleted = self.run(async |client| {
            api(client, object)
                .delete(&name, &DeleteParams::default())
                .await
        });
        deleted.map(drop).map_err(status)
    }

    fn live(&self, object: &Json) -> Option<Json> {
        let name = name(object);
        let found = self.run(async |client| api(client, object).get_opt(&name).await);
        found.expect("the kind is served").map(|found| found.data)
    }

    /// Creates until the API server answers this: its view of the configuration may be a little late.
    pub(super) fn created_at_last(
        &self,
        object: &Json,
        expected: impl Fn(&Result<(), Box<Status>>) -> bool,
    ) {
        let attempt = || {
            let created = self.create(object);
            if created.is_ok() && !expected(&created) {
                let _ = self.delete(object);
            }
            expected(&created).then_some(())
        };
        until(attempt, || format!("{object} is not answered as expected"));
    }
}

fn name(object: &Json) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned()
}

fn api(client: &Client, object: &Json) -> Api<DynamicObject> {
    let api_version = object["apiVersion"].as_str().expect("a version");
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().expect("a kind");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn status(error: kube::Error) -> Box<Status> {
    match error {
        kube::Error::Api(status) => status,
        other => panic!("{other}"),
    }
}

/// What `capstan install` prints.
fn printed() -> Vec<Json> {
    let output = capstan(&["install", "--component", "admission"]).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let (documents, findings) = capstan::yaml::read(&"install.yaml".into(), &output.stdout);
    assert_eq!(findings, []);
    documents
        .iter()
        .map(capstan::model::Node::to_json)
        .collect()
}

/// The objects of the example, under another name and in the namespace of these tests.
fn example(name: &str) -> Vec<Json> {
    let output = capstan(&["render", "examples/quickstart", "-o", "json"]).output();
    let output = output.expect("it runs");
    let text = String::from_utf8(output.stdout)
        .expect("UTF-8")
        .replace("quickstart", name)
        .replace("\"clusters\"", &format!("\"{NAMESPACE}\""));
    let list: Json = serde_json::from_str(&text).expect("JSON");
    list["items"].as_array().expect("a list").clone()
}

fn object(api_version: &str, kind: &str, name: &str, spec: Json) -> Json {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

fn hcp(kms: Json) -> Json {
    json!({"apiVersion": HCP, "kind": "HcpOpenShiftCluster", "metadata": {"name": "c"},
        "spec": {"properties": {"etcd": {"dataEncryption": {"customerManaged": {"kms": kms}}}}}})
}

/// Without an identity and without the version of its key.
fn without_key(mut objects: Vec<Json>) -> Vec<Json> {
    for plane in objects
        .iter_mut()
        .filter(|object| object["kind"] == "AROControlPlane")
    {
        plane["spec"]
            .as_object_mut()
            .expect("a spec")
            .remove("identityRef");
    }
    objects
}

/// Objects that break one rule of the provider's webhooks each, or an identity's own rule, and what is said.
fn bad() -> Vec<(Json, &'static str)> {
    let plane = |name: &str, spec: Json| object(PLANE, "AROControlPlane", name, spec);
    let embedding = |resource: Json| plane("c", json!({"resources": [resource]}));
    let whole = json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}});
    vec![
        (
            plane("c", json!({"resources": []})),
            "V01 spec.resources: resources mode is required; field-based configuration is no longer supported (list",
        ),
        (
            object(ARO, "AROMachinePool", "p", json!({"resources": []})),
            "V01 spec.resources: resources mode is required",
        ),
        (
            embedding(json!({"kind": "A", "metadata": {"name": "a"}})),
            "V02 spec.resources[0]: resource must have apiVersion",
        ),
        (
            embedding(json!({"apiVersion": "a/v1", "metadata": {"name": "a"}})),
            "V02 spec.resources[0]: resource must have kind",
        ),
        (
            embedding(json!({"apiVersion": "a/v1", "kind": "A"})),
            "V02 spec.resources[0]: resource must have metadata",
        ),
        (
            embedding(json!({"apiVersion": "a/v1", "kind": "A", "metadata": {"name": ""}})),
            "V02 spec.resources[0]: resource must have metadata.name",
        ),
        (
            plane(
                "c",
                json!({"identityRef": {"name": ""}, "resources": [whole]}),
            ),
            "V03 spec.identityRef.name: spec.identityRef.name cannot be empty",
        ),
        (
            plane("a-windows-1", json!({"resources": [whole]})),
            "V04 metadata.name: cluster name is invalid because 'MICROSOFT' and 'WINDOWS' can't be used",
        ),
        (
            embedding(hcp(json!({"vaultName": "v"}))),
            "activeKey is required when KMS encryption is configured",
        ),
        (
            embedding(hcp(json!({"vaultName": "v", "activeKey": {"name": "k"}}))),
            "activeKey.version is required when identityRef is not set - CAPZ cannot auto-create",
        ),
        (
            object(
                IDENTITY,
                "AzureClusterIdentity",
                "i",
                json!({"type": "WorkloadIdentity", "clientID": "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f",
                "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31", "resourceID": "/x"}),
            ),
            "V06 spec.resourceID: /x can only be set when AzureClusterIdentity is of type UserAssignedMSI",
        ),
        (
            plane(
                "c",
                json!({"identityRef": {"name": "theirs", "namespace": OTHER}, "resources": [whole]}),
            ),
            "T07 spec.identityRef.name: AzureClusterIdentity/admission-other/theirs may not be used from namespace admission",
        ),
    ]
}

/// The webhook refuses what is bad, with the texts of `validate`, and passes a whole fleet.
fn it_judges(guarded: &Guarded<'_>, old: &Json) {
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OTHER}});
    guarded.apply(&other);
    let mut theirs = object(
        IDENTITY,
        "AzureClusterIdentity",
        "theirs",
        json!({"type": "WorkloadIdentity",
        "clientID": "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f", "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31", "allowedNamespaces": {"list": [OTHER]}}),
    );
    theirs["metadata"]["namespace"] = json!(OTHER);
    guarded.create(&theirs).expect("a good identity");
    for (object, text) in bad() {
        let refused = guarded.create(&object).expect_err(text);
        let denied = "admission webhook \"admission.capstan.dev\" denied the request: ";
        assert!(
            refused.message.starts_with(denied) && refused.message.contains(text),
            "{refused:?}"
        );
        assert_eq!(
            (refused.code, refused.reason.as_str()),
            (422, "Invalid"),
            "{refused:?}"
        );
        let causes = refused
            .details
            .map(|details| details.causes)
            .unwrap_or_default();
        assert!(!causes.is_empty(), "{text}");
    }
    let changed = guarded.patch(&theirs, &json!({"spec": {"type": "UserAssignedMSI"}}));
    let changed = changed.expect_err("the type is immutable").message;
    assert!(
        changed.contains(
            "U01 spec.type: spec.type of AzureClusterIdentity/admission-other/theirs cannot be changed"
        ),
        "{changed}"
    );

    for object in example("good") {
        guarded.apply(&object);
    }
    let pool = example("good")
        .into_iter()
        .find(|object| object["kind"] == "AROMachinePool")
        .expect("a pool");
    let refused = guarded.delete(&pool).expect_err("the last pool").message;
    assert!(
        refused.contains("D14 ARO Cluster must have at least one system pool"),
        "{refused}"
    );

    // It was there before the webhook: whatever makes it no worse passes.
    guarded
        .patch(old, &json!({"metadata": {"labels": {"a": "b"}}}))
        .expect("a label");
    guarded
        .patch(
            old,
            &json!({"spec": {"subscriptionID": "11111111-0000-0000-0000-000000000000"}}),
        )
        .expect("no worse");
    guarded.delete(old).expect("deletion passes");
}

#[test]
fn kube_apiserver_asks_the_webhook() {
    let Some(cluster) = Management::shared(NAMESPACE, SPEED) else {
        return;
    };
    let guarded = Guarded::over_namespaces(&cluster, &[NAMESPACE, OTHER]);
    let old = object(
        PLANE,
        "AROControlPlane",
        "old",
        json!({"resources": [{"kind": "A", "metadata": {"name": "a"}}]}),
    );
    guarded.create(&old).expect("nobody asks yet");
    guarded.install();
    let running = guarded.serve(CLOSED);
    let probe = object(PLANE, "AROControlPlane", "probe", json!({"resources": []}));
    guarded.created_at_last(&probe, |created| {
        created
            .as_ref()
            .is_err_and(|status| status.message.contains("denied the request"))
    });
    it_judges(&guarded, &old);

    // Fail-closed, then fail-open.
    let (code, said) = running.stop();
    assert_eq!(code, Some(0), "{said}");
    let failed = [": cannot read ", ": cannot write "];
    assert!(
        !failed.iter().any(|words| said.contains(words)),
        "no right is missing: {said}"
    );
    let spec = json!({"type": "WorkloadIdentity", "clientID": "6f0d8a52-9a0e-4a0f-8f5e-2b7a9c1d3e4f", "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31", "allowedNamespaces": {}});
    let good = object(IDENTITY, "AzureClusterIdentity", "down", spec);
    let refused = guarded.create(&good).expect_err("nobody answers").message;
    assert!(refused.contains("failed calling webhook"), "{refused}");
    let (_, _) = guarded.serve(OPEN).stop();
    guarded.created_at_last(&good, Result::is_ok);

    second_layer(&guarded);
}

/// Without the webhook, the controllers refuse the same: no cluster is made without the version of its key.
fn second_layer(guarded: &Guarded<'_>) {
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "capstan-admission"}});
    guarded.delete(&configuration).expect("it is removed");
    let objects = without_key(example("second"));
    for object in &objects {
        guarded.apply(object);
    }
    let plane = objects
        .iter()
        .find(|object| object["kind"] == "AROControlPlane")
        .expect("a plane");
    let reason = || {
        let live = guarded.live(plane)?;
        let conditions = live["status"]["conditions"].as_array()?.clone();
        conditions
            .into_iter()
            .find(|one| one["reason"] == "KeyVersionMissing")
            .map(drop)
    };
    until(reason, || format!("{:#?}", guarded.live(plane)));
    std::thread::sleep(Duration::from_secs(1));
    let cluster = object(HCP, "HcpOpenShiftCluster", "second", json!({}));
    assert_eq!(guarded.live(&cluster), None, "nothing is applied");
}
