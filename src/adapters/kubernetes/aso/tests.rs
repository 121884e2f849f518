//! Azure Service Operator on a simulated API server.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube_sim::{Server, SimClock};
use serde_json::json;
use tower::ServiceExt as _;

use super::*;
use crate::adapters::kubernetes::controller::writer::perform;
use crate::api::crds::crds;
use crate::reconcile::outcome::Write;

fn server() -> Server {
    let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
    Server::new(Arc::new(clock))
}

async fn apply(client: &Client, object: Value) {
    let writes = vec![Write::Apply(object)];
    perform(client, "helm", writes).await.1.unwrap();
}

/// Definitions of the kinds of these groups.
async fn define(client: &Client, groups: &[&str]) {
    for kind in KINDS.iter().filter(|kind| groups.contains(&kind.group)) {
        let version = kind.versions.last().unwrap();
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", kind.plural, kind.group)},
            "spec": {"group": kind.group, "scope": "Namespaced",
                "names": {"plural": kind.plural, "singular": kind.kind.to_lowercase(), "kind": kind.kind},
                "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
        });
        apply(client, definition).await;
    }
}

/// An installation with a global credential.
async fn install(client: &Client, namespace: &str, name: &str, args: &[&str]) {
    let labels = json!({"control-plane": "controller-manager", LABEL.0: LABEL.1});
    let namespaced =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    apply(client, namespaced).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": SETTINGS, "namespace": namespace},
        "data": {"AZURE_SUBSCRIPTION_ID": "aWQ=", "AZURE_CLIENT_SECRET": "aHVudGVyMg=="}});
    apply(client, secret).await;
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "manager", "image": "example.com/aso:v2.13.0", "args": args}]}}}});
    apply(client, deployment).await;
    let api: Api<Deployment> = Api::namespaced(client.clone(), namespace);
    let status = json!({"status": {"replicas": 1, "readyReplicas": 1}});
    let patch = Patch::Merge(status);
    api.patch_status(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

const GROUPS: [&str; 6] = [
    "resources.azure.com",
    "network.azure.com",
    "keyvault.azure.com",
    "managedidentity.azure.com",
    "authorization.azure.com",
    "redhatopenshift.azure.com",
];

fn reasons(report: &Report) -> Vec<&'static str> {
    report
        .findings
        .iter()
        .map(|finding| finding.reason)
        .collect()
}

/// The same cluster; what is asked and answered is noted, and requests for `denied` are refused.
fn overheard(server: &Server, denied: &'static str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let (router, heard) = (server.router(), Arc::clone(&said));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (router, heard) = (router.clone(), Arc::clone(&heard));
        async move {
            let path = request.uri().path().to_owned();
            heard.lock().unwrap().push(path.clone());
            if !denied.is_empty() && path.contains(denied) {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                    "message": format!("{denied} is forbidden: User \"me\" cannot get it"), "reason": "Forbidden"});
                let mut response = Response::new(axum::body::Body::from(status.to_string()));
                *response.status_mut() = http::StatusCode::FORBIDDEN;
                return Ok(response);
            }
            let (head, body) = router.oneshot(request).await?.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let text = String::from_utf8_lossy(&body).into_owned();
            heard.lock().unwrap().push(text);
            Ok::<_, std::convert::Infallible>(Response::from_parts(
                head,
                axum::body::Body::from(body),
            ))
        }
    });
    (Client::new(service, "default"), said)
}

#[tokio::test(start_paused = true)]
async fn an_empty_cluster_has_none_and_one_that_is_healthy_no_findings() {
    let server = server();
    let client = server.client("default");
    let report = examine_aso(&client, &aro_kinds(), BTreeSet::new(), &Namespaces::All).await;
    assert_eq!(reasons(&report), ["NotInstalled"]);
    define(&client, &GROUPS).await;
    install(&client, "azureserviceoperator-system", DEPLOYMENT, &[]).await;
    let (client, said) = overheard(&server, "");
    let report = examine_aso(&client, &aro_kinds(), BTreeSet::new(), &Namespaces::All).await;
    assert_eq!(reasons(&report), [""; 0], "{report:?}");
    let title = "Azure Service Operator v2.13.0 in azureserviceoperator-system, runs";
    assert_eq!(report.titles(), [title]);
    let said = said.lock().unwrap();
    assert!(
        !said.iter().any(|text| text.contains("aHVudGVyMg")),
        "only keys are read"
    );
    let asked = said.iter().filter(|text| text.starts_with('/')).count();
    assert!(asked <= 12, "{asked} requests");
}

#[tokio::test(start_paused = true)]
async fn an_installation_with_another_name_in_another_namespace_is_found_by_its_label() {
    let server = server();
    let client = server.client("default");
    define(&client, &GROUPS[..2]).await;
    let pattern = "--crd-pattern=resources.azure.com/*;network.azure.com/*";
    install(&client, "theirs", "their-aso", &[pattern]).await;
    let report = examine_aso(&client, &aro_kinds(), BTreeSet::new(), &Namespaces::All).await;
    assert_eq!(reasons(&report), ["KindsNotServed"], "{report:?}");
    let help = &report.findings[0].help;
    let expected = "with whatever installed Deployment/theirs/their-aso, set its argument to --crd-pattern=resources.azure.com/*;network.azure.com/*;authorization.azure.com/*;";
    assert!(help.starts_with(expected), "{help}");
}

#[tokio::test(start_paused = true)]
async fn what_is_forbidden_is_said() {
    let server = server();
    let open = server.client("default");
    define(&open, &GROUPS).await;
    install(&open, "azureserviceoperator-system", DEPLOYMENT, &[]).await;
    for (denied, expected) in [("deployments", "NotSeen"), ("secrets", "SettingsNotSeen")] {
        let (client, _) = overheard(&server, denied);
        let report = examine_aso(&client, &aro_kinds(), BTreeSet::new(), &Namespaces::All).await;
        assert_eq!(reasons(&report), [expected]);
        assert!(report.is_fine(), "nothing is known to be wrong");
        let message = &report.findings[0].message;
        assert!(
            message.contains("forbidden") || message.contains("may not"),
            "{message}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn the_namespaces_of_clusters_are_those_of_the_custom_resources() {
    let server = server();
    let client = server.client("default");
    assert!(
        cluster_namespaces(&client, &Namespaces::All)
            .await
            .is_empty(),
        "nothing is served"
    );
    for definition in crds() {
        apply(&client, definition).await;
    }
    let cluster = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROCluster",
        "metadata": {"name": "prod", "namespace": "default"}, "spec": {"resources": []}});
    apply(&client, cluster).await;
    assert_eq!(
        cluster_namespaces(&client, &Namespaces::All).await,
        ["default".to_owned()].into()
    );
}
