//! What is decided about an identity.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::super::bench::Bench;
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass};

const KIND: &str = "AzureClusterIdentity";
const PLANE: &str = "AROControlPlane";
const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
/// `arocontrolplane…/` and the SHA-224 of `ns-c`.
const FINALIZER: &str = "arocontrolplane.controlplane.cluster.x-k8s.io/";

fn identity(name: &str, namespace: &str) -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": KIND,
        "metadata": {"name": name, "namespace": namespace}, "spec": {"type": "ServicePrincipal",
        "clientID": "c", "tenantID": "t", "allowedNamespaces": {}, "clientSecret": {"name": "password"}}})
}

/// A cluster that uses an identity in this namespace.
fn used(namespace: &str) -> Bench {
    let mut bench = with_user(namespace);
    bench.rest();
    bench
}

/// The same before anything was decided.
fn with_user(namespace: &str) -> Bench {
    let mut bench = Bench::new();
    bench.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password", "namespace": namespace}}));
    bench.put(identity("id", namespace));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!({"name": "id", "namespace": namespace});
    });
    bench
}

fn finalizers(bench: &Bench, name: &str) -> Vec<String> {
    let identity = bench.live(KIND, name);
    let held = Live(&identity).list(&["metadata", "finalizers"]);
    held.iter()
        .map(|one| one.as_str().unwrap().to_owned())
        .collect()
}

fn ready(bench: &Bench) -> (String, String) {
    let identity = bench.live(KIND, "id");
    let found = Live(&identity).condition(c::READY).unwrap();
    (found.status().to_owned(), found.reason().to_owned())
}

#[test]
fn section_5_an_identity_is_kept_while_it_is_used() {
    let mut bench = used("platform");
    let held = finalizers(&bench, "id");
    assert_eq!(held.len(), 1);
    let digest = held[0].strip_prefix(FINALIZER).unwrap();
    assert_eq!(digest.len(), 56, "{digest}");
    bench.delete(KIND, "id");
    bench.rest();
    assert_eq!(finalizers(&bench, "id"), held);
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!(null)
    });
    bench.rest();
    assert!(bench.find(KIND, "id").is_none());
}

#[test]
fn issue_15_an_identity_of_nobody_is_left_alone() {
    let mut bench = Bench::new();
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, "why"));
    bench.put(identity("id", "ns"));
    let before = bench.live(KIND, "id");
    bench.rest();
    assert_eq!(bench.live(KIND, "id"), before);
    assert!(bench.warnings().is_empty());
}

#[test]
fn issue_15_what_was_said_of_an_identity_goes_with_its_last_user() {
    let mut bench = used("ns");
    assert_eq!(ready(&bench).0, "True");
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!(null)
    });
    bench.rest();
    let conditions = &bench.live(KIND, "id")["status"]["conditions"];
    assert_eq!(conditions, &json!([]));
}

#[test]
fn the_condition_is_in_the_form_of_cluster_api() {
    let bench = used("ns");
    assert_eq!(
        ready(&bench),
        ("True".to_owned(), c::CREDENTIALS_VALID.to_owned())
    );
    let identity = bench.live(KIND, "id");
    let condition = &identity["status"]["conditions"][0];
    assert!(condition.get("observedGeneration").is_none(), "{condition}");
    assert!(condition.get("severity").is_none(), "{condition}");
}

#[test]
fn issue_15_what_another_tool_made_for_former_users_goes_as_well() {
    let mut bench = Bench::new();
    let mut moved = identity("id", "ns");
    moved["metadata"]["finalizers"] = json!([format!("{FINALIZER}{}", "0".repeat(56)), "other"]);
    bench.put(moved);
    let uid = bench.live(KIND, "id")["metadata"]["uid"].clone();
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!({"name": "id", "namespace": "platform"});
        let owners = plane["metadata"]["ownerReferences"].as_array_mut().unwrap();
        owners.push(
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": KIND,
            "name": "id", "uid": uid}),
        );
    });
    bench.rest();
    assert_eq!(finalizers(&bench, "id"), ["other"]);
    let plane = bench.live(PLANE, "c");
    let owners = Live(&plane).list(&["metadata", "ownerReferences"]);
    let kinds: Vec<&str> = owners.iter().map(|owner| Live(owner).kind()).collect();
    assert_eq!(kinds, ["Cluster"]);
}

#[test]
fn what_does_not_work_is_a_condition_and_an_event() {
    for (class, expected) in [
        (ErrorClass::Denied, ("False", c::CREDENTIALS_REFUSED)),
        (ErrorClass::Invalid, ("False", c::CREDENTIALS_INVALID)),
        (ErrorClass::Gone, ("False", c::CREDENTIALS_NOT_FOUND)),
        (ErrorClass::Transient, ("Unknown", c::CREDENTIALS_UNCHECKED)),
    ] {
        let mut bench = with_user("ns");
        bench.fixture.credential = Err(AdapterError::new(class, "why"));
        bench.rest();
        let (status, reason) = ready(&bench);
        assert_eq!((status.as_str(), reason.as_str()), expected);
        let identity = bench.live(KIND, "id");
        let severity = identity["status"]["conditions"][0].get("severity");
        let is_false = expected.0 == "False";
        assert_eq!(severity, is_false.then(|| json!("Error")).as_ref());
        assert_eq!(bench.warnings().contains(&reason), is_false);
    }
}

#[test]
fn a_password_that_expires_is_noticed_within_an_hour() {
    let mut bench = used("ns");
    assert_eq!(ready(&bench).0, "True");
    bench.fixture.credential = Err(AdapterError::new(
        ErrorClass::Denied,
        "AADSTS7000222: expired",
    ));
    bench.wait(3500);
    assert_eq!(ready(&bench).0, "True");
    bench.wait(200);
    assert_eq!(ready(&bench).0, "False");
    // No answer leaves what was known.
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Transient, "no network"));
    bench.edit("Secret", "password", |secret| {
        secret["data"] = json!({"x": "eA=="})
    });
    bench.rest();
    assert_eq!(ready(&bench).0, "False");
}

/// The objects that `clusterctl move` takes: those with its labels, and what they or the Cluster own.
fn moved(bench: &Bench) -> Vec<String> {
    let objects = [
        ("Cluster", "c"),
        ("AROCluster", "c"),
        (PLANE, "c"),
        (KIND, "id"),
        ("Secret", "password"),
        ("Secret", "c-aso-secret"),
        ("ResourceGroup", "rg"),
    ];
    let objects: Vec<Value> = objects
        .iter()
        .filter_map(|(kind, name)| bench.find(kind, name))
        .collect();
    let has = |object: &Value, label: &str| object["metadata"]["labels"].get(label).is_some();
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let roots = objects.iter().filter(|object| {
        object["kind"] == "Cluster"
            || has(object, MOVE)
            || has(object, &format!("{MOVE}-hierarchy"))
    });
    let mut taken: Vec<String> = roots.map(uid).collect();
    for _ in 0..objects.len() {
        for object in &objects {
            let owners = Live(object).list(&["metadata", "ownerReferences"]);
            let mut owners = owners.iter().map(|owner| owner["uid"].as_str().unwrap());
            if owners.any(|owner| taken.iter().any(|one| one == owner))
                && !taken.contains(&uid(object))
            {
                taken.push(uid(object));
            }
        }
    }
    // An object is made only after all of its owners.
    for object in objects.iter().filter(|object| taken.contains(&uid(object))) {
        for owner in Live(object).list(&["metadata", "ownerReferences"]) {
            let owner = owner["uid"].as_str().unwrap().to_owned();
            assert!(
                taken.contains(&owner),
                "{} has an owner that stays",
                object["kind"]
            );
        }
    }
    let names = objects.iter().filter(|object| taken.contains(&uid(object)));
    names
        .map(|object| {
            format!(
                "{} {}",
                object["kind"].as_str().unwrap(),
                Live(object).name()
            )
        })
        .collect()
}

#[test]
fn fr_6_a_move_carries_the_identity_its_secret_and_that_of_the_cluster() {
    let mut bench = used("ns");
    bench.provision();
    assert_eq!(
        moved(&bench),
        [
            "Cluster c",
            "AROCluster c",
            "AROControlPlane c",
            "AzureClusterIdentity id",
            "Secret password",
            "Secret c-aso-secret",
            "ResourceGroup rg"
        ]
    );
    let plane = bench.live(PLANE, "c");
    let owners = Live(&plane).list(&["metadata", "ownerReferences"]);
    let own = owners.iter().find(|owner| owner["kind"] == KIND).unwrap();
    assert!(own.get("controller").is_none(), "{own}");
}

#[test]
fn an_identity_of_another_namespace_stays_and_holds_up_no_move() {
    let mut bench = used("platform");
    bench.provision();
    let names = moved(&bench);
    assert!(
        !names.iter().any(|name| name.starts_with(KIND)),
        "{names:?}"
    );
    assert!(names.contains(&"AROControlPlane c".to_owned()));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!(null)
    });
    bench.rest();
}

#[test]
fn an_identity_that_is_no_longer_used_owns_nothing() {
    let mut bench = used("ns");
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!(null)
    });
    bench.rest();
    let plane = bench.live(PLANE, "c");
    let owners = Live(&plane).list(&["metadata", "ownerReferences"]);
    assert_eq!(owners.len(), 1, "{owners:?}");
    assert!(finalizers(&bench, "id").is_empty());
}

#[test]
fn what_is_paused_is_left_alone() {
    for mark in [
        "cluster.x-k8s.io/paused",
        "clusterctl.cluster.x-k8s.io/delete-for-move",
    ] {
        let mut bench = with_user("ns");
        bench.edit(KIND, "id", |id| {
            id["metadata"]["annotations"] = json!({mark: ""});
        });
        bench.rest();
        assert!(bench.live(KIND, "id").get("status").is_none());
    }
}

#[test]
fn a_certificate_in_a_file_is_read_again_every_hour() {
    let mut bench = with_user("ns");
    bench.edit(KIND, "id", |id| {
        id["spec"]["type"] = json!("ServicePrincipalCertificate");
        id["spec"]["certPath"] = json!("/certificates/ns/a.pem");
    });
    bench.rest();
    assert_eq!(ready(&bench).0, "True");
    let why = "its certificate expired";
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Invalid, why));
    bench.wait(3700);
    assert_eq!(
        ready(&bench),
        ("False".to_owned(), c::CREDENTIALS_INVALID.to_owned())
    );
}
