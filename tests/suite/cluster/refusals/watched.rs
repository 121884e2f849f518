//! The ARO controllers as `install` prepares them for one namespace: they work there, and may not even look elsewhere.

use std::process::Command;

use capstan::api::crds::crds;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;
use super::installing::capstan;
use crate::cluster::pipeline::established;
use crate::kubernetes::{Kubernetes, if_asked};
use crate::running::Running;

const WATCHED: &str = "watched-a";
const OTHER: &str = "watched-b";

/// The path of something in a namespace.
fn path(group: &str, namespace: &str, resource: &str) -> String {
    format!("/apis/{group}/namespaces/{namespace}/{resource}")
}

fn cluster(namespace: &str) -> String {
    path(
        "infrastructure.cluster.x-k8s.io/v1beta2",
        namespace,
        "aroclusters/one",
    )
}

/// Returns true if the account of the controllers may do this.
fn may(fixture: &Fixture, namespace: &str, verb: &str, resource: &str) -> bool {
    let account = format!("{}:capstan-controllers", fixture.namespace);
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": format!("system:serviceaccount:{account}"),
            "resourceAttributes": {"namespace": namespace, "verb": verb, "resource": resource}}});
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    fixture.must("POST", path, &review)["status"]["allowed"] == true
}

/// The program with the arguments of its Deployment, as its account.
fn pod(fixture: &Fixture) -> Running {
    let deployment = path(
        "apps/v1",
        &fixture.namespace,
        "deployments/capstan-controllers",
    );
    let live = fixture.must("GET", &deployment, &Json::Null);
    let arguments = live["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    let arguments = arguments.as_array().expect("a list").clone();
    let arguments = arguments.iter().filter_map(Json::as_str);
    let arguments = arguments.filter(|argument| !argument.starts_with("--serve="));
    let user = json!({"token": fixture.token("capstan-controllers")});
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .args(arguments)
        .arg("--kubeconfig")
        .arg(fixture.kubeconfig_of(&user))
        .env("CAPSTAN_NAMESPACE", &fixture.namespace);
    Running::spawn(command)
}

/// The rights are the API server's to refuse, so this needs a real one. It has the cluster to itself: other controllers would
/// write to the objects.
#[test]
fn controllers_work_in_the_namespaces_that_they_watch_alone() {
    let Some(real) = if_asked(Kubernetes::own) else {
        return;
    };
    let kubeconfig = std::fs::read_to_string(real.kubeconfig()).expect("readable");
    let fixture = Fixture::at(&kubeconfig, "watched");
    for definition in crds() {
        fixture.put(&definition);
    }
    fixture.runtime.block_on(established(&fixture.client));
    for name in [WATCHED, OTHER] {
        fixture.put(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    let component = ["--component", "controllers"];
    let flags = [&component[..], &["--watch-namespace", WATCHED]].concat();
    // No pods run here, so they are not ready in time.
    let apply = ["install", "--apply", "--timeout", "1s"];
    let made = capstan(&fixture, &[&apply[..], &flags[..]].concat());
    let role = format!("{WATCHED}/capstan-controllers:{}", fixture.namespace);
    let created = format!("Role/{role} created\n");
    assert!(
        made.data.contains(&created),
        "{}{}",
        made.data,
        made.messages
    );
    let checked = capstan(&fixture, &[&["check"], &flags[..]].concat());
    let account = format!("{}:capstan-controllers has all ", fixture.namespace);
    assert!(checked.data.contains(&account), "{}", checked.data);
    let without = capstan(&fixture, &[&["check"], &component[..]].concat());
    let lacks =
        "capstan-controllers may not get, list, watch, create, patch secrets in the whole cluster";
    assert!(without.data.contains(lacks), "{}", without.data);

    let running = pod(&fixture);
    running.wait("the ARO controllers run");
    for namespace in [OTHER, WATCHED] {
        fixture.put(
            &json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "AROCluster", "metadata": {"name": "one", "namespace": namespace},
            "spec": {"resources": []}}),
        );
    }
    let is_reported = |namespace: &str| {
        let live = fixture.must("GET", &cluster(namespace), &Json::Null);
        live["status"]["conditions"].is_array()
    };
    fixture.until("the watched AROCluster has a status", || {
        is_reported(WATCHED)
    });
    let (code, said) = running.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("may not be watched"), "{said}");
    let live = fixture.must("GET", &cluster(OTHER), &Json::Null);
    assert_eq!(live["status"], Json::Null, "nobody wrote to it");
    assert_eq!(live["metadata"]["finalizers"], Json::Null);
    let lease = |namespace| {
        let group = "coordination.k8s.io/v1";
        path(group, namespace, "leases/capstan-aro-controllers-namespace")
    };
    assert!(fixture.has(&lease(WATCHED)) && !fixture.has(&lease(&fixture.namespace)));
    let reads = |namespace| ["get", "list"].map(|verb| may(&fixture, namespace, verb, "secrets"));
    assert_eq!(reads(WATCHED), [true, true]);
    assert_eq!(reads(OTHER), [false, false]);

    let gone = capstan(
        &fixture,
        &[&["uninstall", "--timeout", "1s"], &component[..]].concat(),
    );
    assert_eq!(gone.code, Some(0), "{}", gone.messages);
    for kind in ["Role", "RoleBinding"] {
        let removed = format!("{kind}/{role} removed\n");
        assert!(gone.data.contains(&removed), "{}", gone.data);
    }
    assert_eq!(reads(WATCHED), [false, false]);
}
