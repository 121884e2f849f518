//! `clusterctl move` by clusterctl itself, between two real API servers: Azure does not notice.
//!
//! Cluster API's definitions have the labels that `clusterctl init` gives them, and ours those that `capstan crds` prints.
//! Azure Service Operator's have none, as its Helm chart installs them. With the labels that CAPZ gives them a move is a race,
//! which the documentation warns of: clusterctl takes the policy `skip` away before it deletes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use capstan::adapters::azure_sim::{Azure, Deed};
use capstan::api::kinds::{CAPI, KINDS, is_aso};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::fixture::Fixture;
use super::manifests::{Cluster, NAMESPACE};
use crate::cluster::pipeline::apply;
use crate::daemon::identity;
use crate::kubernetes;

const HOUR: Duration = Duration::from_secs(3600);
const MOVED_KIND: &str = "clusterctl.cluster.x-k8s.io";
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
const CREDENTIAL: &str = "serviceoperator.azure.com/credential-from";
/// What a cluster of one node pool is, with all its resources.
const WHOLE: usize = 14;

/// The program of `tests/clusterctl/build`, if it was run for these sources.
fn program() -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clusterctl");
    let mut digest = Sha256::new();
    for name in ["build", "go.mod", "go.sum"] {
        digest.update(std::fs::read(sources.join(name)).expect("readable"));
    }
    let digest = digest.finalize();
    let key: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let built = kubernetes::cache().map(|cache| cache.join(format!("clusterctl-{key}/clusterctl")));
    let built = built.filter(|program| program.is_file());
    if built.is_none() {
        let help = "clusterctl is not built; `tests/clusterctl/build` builds it (needs Go)";
        assert!(!kubernetes::is_required("clusterctl"), "{help}");
        eprintln!("skipped: {help}");
    }
    built
}

/// Two management clusters with one Azure behind them.
struct Pair {
    program: PathBuf,
    home: tempfile::TempDir,
    one: Fixture,
    other: Fixture,
}

impl Pair {
    /// None when the machine has no clusterctl or no API server.
    async fn new() -> Option<Self> {
        let program = program()?;
        let azure = Azure::default().recording();
        let one = Fixture::real(azure.clone()).await?;
        let other = Fixture::real(azure).await.expect("another one");
        for fixture in [&one, &other] {
            label_kinds(fixture).await;
        }
        Some(Self {
            program,
            home: tempfile::tempdir().expect("a directory"),
            one,
            other,
        })
    }

    /// Runs clusterctl; what it says.
    async fn clusterctl(&self, arguments: &[&OsStr]) -> String {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env("CLUSTERCTL_DISABLE_VERSIONCHECK", "true")
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.home.path());
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.expect("no panic").expect("it runs");
        let said =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        let said = said.concat();
        assert!(output.status.success(), "{said}");
        said
    }

    async fn relocate(&self, from: &Path, to: &Path) {
        let arguments = ["move", "-n", NAMESPACE, "--kubeconfig"].map(OsStr::new);
        let rest = [from.as_os_str(), "--to-kubeconfig".as_ref(), to.as_os_str()];
        self.clusterctl(&[&arguments[..], &rest].concat()).await;
    }
}

/// Gives the definitions the labels that `clusterctl init` gives those that it installs.
async fn label_kinds(fixture: &Fixture) {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> =
        Api::all_with(fixture.client.clone(), &ApiResource::from_gvk(&kind));
    let labels = json!({MOVED_KIND: ""});
    for known in KINDS.iter().filter(|known| known.group == CAPI) {
        let name = format!("{}.{}", known.plural, known.group);
        let patch = Patch::Merge(json!({"metadata": {"labels": labels.clone()}}));
        let patched = api.patch(&name, &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Everything of Cluster API, the ARO provider and ASO is at home, managed, and as it was; Azure saw nothing of a move.
async fn settled(from: &Fixture, to: &Fixture, deeds: usize, credential: Option<&str>) {
    from.until("nothing is left where it was", async || {
        from.objects().await.is_empty()
    })
    .await;
    to.until_ready(WHOLE).await;
    to.pass(HOUR).await;
    to.until_ready(WHOLE).await;
    let since = to.azure.deeds().split_off(deeds);
    let is_harmless = |deed: &Deed| matches!(deed, Deed::Updated(_));
    assert!(since.iter().all(is_harmless), "{since:#?}");
    for ((kind, name), object) in to.objects().await {
        let annotations = &object["metadata"]["annotations"];
        assert_eq!(annotations[POLICY], Json::Null, "{kind}/{name}");
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        if is_aso(api_version.split('/').next().unwrap_or_default()) {
            assert_eq!(
                annotations[CREDENTIAL].as_str(),
                credential,
                "{kind}/{name}"
            );
        }
    }
}

/// The cluster ends as any other.
async fn ends(fixture: &Fixture) {
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 1)), "{tally:#?}");
}

fn with_pair(test: impl AsyncFnOnce(&Pair)) {
    let runtime = crate::cluster::pipeline::runtime();
    runtime.block_on(async {
        if let Some(pair) = Pair::new().await {
            test(&pair).await;
        }
    });
}

/// What would be moved is told, and nothing happens.
async fn tried(pair: &Pair) {
    let (one, other) = (&pair.one, &pair.other);
    let deeds = one.azure.deeds();
    let arguments = [
        "move",
        "--dry-run",
        "-v",
        "5",
        "-n",
        NAMESPACE,
        "--kubeconfig",
    ];
    let arguments = arguments.map(OsStr::new);
    let arguments = [&arguments[..], &[one.kubeconfig().as_os_str()]].concat();
    let told = pair.clusterctl(&arguments).await;
    for kind in [
        "AROCluster",
        "AROControlPlane",
        "AROMachinePool",
        "AzureClusterIdentity",
    ] {
        let mut lines = told.lines().filter(|line| line.contains(kind));
        assert!(lines.clone().next().is_some(), "{kind}: {told}");
        assert!(lines.all(|line| !line.contains("won't be moved")), "{told}");
    }
    one.pass(HOUR).await;
    one.until_ready(WHOLE).await;
    assert_eq!(one.azure.deeds(), deeds);
    assert!(other.objects().await.is_empty());
}

async fn there_and_back(pair: &Pair) {
    let (one, other) = (&pair.one, &pair.other);
    let _ours = [one.ours(), other.ours()];
    let _actors = [one.actors(), other.actors()];
    // It comes with the cluster.
    other
        .delete("AzureClusterIdentity", "cluster-identity")
        .await;
    one.apply(&Cluster::new("one")).await;
    one.until_ready(WHOLE).await;
    tried(pair).await;
    for (from, to) in [(one, other), (other, one)] {
        let deeds = one.azure.deeds().len();
        pair.relocate(from.kubeconfig(), to.kubeconfig()).await;
        settled(from, to, deeds, Some("one-aso-secret")).await;
        for (kind, name) in [
            ("AzureClusterIdentity", "cluster-identity"),
            ("Secret", "one-aso-secret"),
        ] {
            assert!(from.get(kind, name).await.is_none(), "{kind}");
            assert!(to.get(kind, name).await.is_some(), "{kind}");
        }
    }
    ends(one).await;
}

/// An identity of another namespace stays where it is: the other management cluster has its own.
async fn with_an_identity_elsewhere(pair: &Pair) {
    const ELSEWHERE: &str = "identities";
    let (one, other) = (&pair.one, &pair.other);
    let _ours = [one.ours(), other.ours()];
    let _actors = [one.actors(), other.actors()];
    for fixture in [one, other] {
        fixture
            .delete("AzureClusterIdentity", "cluster-identity")
            .await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ELSEWHERE}});
        apply(&fixture.client, &namespace).await;
        let mut identity = identity(&json!({}));
        identity["metadata"]["namespace"] = json!(ELSEWHERE);
        apply(&fixture.client, &identity).await;
    }
    for mut object in Cluster::new("one").objects() {
        if object["kind"] == "AROControlPlane" {
            object["spec"]["identityRef"]["namespace"] = json!(ELSEWHERE);
        }
        apply(&one.client, &object).await;
    }
    one.until_ready(WHOLE).await;
    for (from, to) in [(one, other), (other, one)] {
        let deeds = one.azure.deeds().len();
        pair.relocate(from.kubeconfig(), to.kubeconfig()).await;
        settled(from, to, deeds, Some("one-aso-secret")).await;
    }
    ends(one).await;
}

/// The kubeconfig of the other management cluster, as Azure gives it out for the cluster.
fn given_out(kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).expect("readable");
    let mut config: Json = serde_yaml::from_str(&text).expect("YAML");
    let cluster = &mut config["clusters"][0]["cluster"];
    let authority = cluster["certificate-authority"].take();
    let authority = std::fs::read(authority.as_str().expect("a path")).expect("readable");
    cluster
        .as_object_mut()
        .expect("a map")
        .remove("certificate-authority");
    cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(authority));
    BASE64_STANDARD.encode(config.to_string())
}

/// A cluster that is to manage itself, with a credential of the namespace. clusterctl reaches it by its own kubeconfig.
async fn into_itself(pair: &Pair) {
    let (one, other) = (&pair.one, &pair.other);
    let _ours = [one.ours(), other.ours()];
    let _actors = [one.actors(), other.actors()];
    for fixture in [one, other] {
        fixture
            .delete("AzureClusterIdentity", "cluster-identity")
            .await;
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "aso-credential", "namespace": NAMESPACE, "labels": {MOVE: "true"}},
        "stringData": {"AZURE_SUBSCRIPTION_ID": "s"}});
    apply(&one.client, &secret).await;
    for mut object in Cluster::new("one").objects() {
        if object["kind"] == "AROControlPlane" {
            let spec = object["spec"].as_object_mut().expect("a map");
            spec.remove("identityRef");
            let kms = "/spec/resources/0/spec/properties/etcd/dataEncryption/customerManaged/kms";
            object.pointer_mut(kms).expect("a key")["activeKey"]["version"] = json!("v1");
        }
        apply(&one.client, &object).await;
    }
    one.until_ready(WHOLE).await;
    let kubeconfig = json!({"data": {"value": given_out(other.kubeconfig())}});
    one.merge("Secret", "one-kubeconfig", &kubeconfig).await;
    one.pass(HOUR).await;
    one.until_ready(WHOLE).await;
    let arguments = ["get", "kubeconfig", "one", "-n", NAMESPACE, "--kubeconfig"].map(OsStr::new);
    let arguments = [&arguments[..], &[one.kubeconfig().as_os_str()]].concat();
    let own = pair.clusterctl(&arguments).await;
    let path = pair.home.path().join("own");
    std::fs::write(&path, own).expect("written");
    let deeds = one.azure.deeds().len();
    pair.relocate(one.kubeconfig(), &path).await;
    settled(one, other, deeds, None).await;
    assert!(other.get("Secret", "aso-credential").await.is_some());
    ends(other).await;
}

#[test]
fn clusterctl_moves_a_cluster_with_its_identity_there_and_back() {
    with_pair(there_and_back);
}

#[test]
fn clusterctl_moves_a_cluster_whose_identity_stays_in_its_namespace() {
    with_pair(with_an_identity_elsewhere);
}

#[test]
fn clusterctl_moves_a_cluster_with_a_credential_of_its_namespace_into_itself() {
    with_pair(into_itself);
}
