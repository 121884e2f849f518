//! The credentials of both sides.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    ENDPOINT_AVAILABLE as AT_ENDPOINT, LOAD_BALANCER_AVAILABLE as BALANCER,
};
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId};

const FROM: &str = "serviceoperator.azure.com/credential-from";
const IDENTITY: &str = "capstan.dev/private-link-identity";
const SECRET: &str = "capstan.dev/private-link-credential-from";
const OWN: &str = "one-private-link-aso-secret";
const ENDPOINT_KIND: &str = "PrivateEndpoint";

fn annotated(annotations: Value) -> Scene {
    let mut scene = Scene::one();
    scene.identity("clusters", "customer", &json!({}));
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] = annotations
    });
    scene
}

/// The operator's own credential may do more than the cluster is to have.
#[test]
fn an_identity_without_a_namespace_is_not_the_operators_own() {
    let mut scene = annotated(json!({IDENTITY: "customer"}));
    scene.settle();
    scene.assert_connected("clusters", "one");
    let endpoint = scene.live(&scene.only(ENDPOINT_KIND));
    assert_eq!(Live(&endpoint).annotation(FROM), OWN);
    let mut scene = annotated(json!({IDENTITY: "nobody/"}));
    scene.settle();
    assert!(
        scene
            .said(AT_ENDPOINT)
            .starts_with(&format!("False {}", c::IDENTITY_NOT_FOUND))
    );
    assert_eq!(scene.named(ENDPOINT_KIND), Vec::<String>::new());
}

fn secret(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new("", "Secret", namespace, name)
}

#[test]
fn each_resource_names_the_credential_of_its_side() {
    let cases = [
        (json!({}), ""),
        (json!({IDENTITY: "clusters/customer"}), OWN),
        (json!({SECRET: "mine"}), "mine"),
    ];
    for (annotations, name) in cases {
        let mut scene = annotated(annotations);
        scene.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": "clusters"}}));
        scene.settle();
        scene.assert_connected("clusters", "one");
        for kind in [
            ENDPOINT_KIND,
            "PrivateDnsZone",
            "PrivateDnsZonesVirtualNetworkLink",
            "PrivateDnsZonesARecord",
        ] {
            for id in scene.fixture.snapshot.ids().filter(|id| id.kind == kind) {
                assert_eq!(Live(&scene.live(id)).annotation(FROM), name, "{id}");
            }
        }
        let service = scene.live(&scene.only("PrivateLinkService"));
        assert_eq!(
            Live(&service).annotation(FROM),
            "capstan-private-link-aso-secret"
        );
        assert!(
            scene
                .find(&secret(PLATFORM, "capstan-private-link-aso-secret"))
                .is_some()
        );
    }
}

#[test]
fn a_secret_that_a_person_is_to_make_is_named() {
    let mut scene = annotated(json!({SECRET: "mine"}));
    scene.settle();
    let said = scene.said(AT_ENDPOINT);
    assert!(
        said.starts_with("False ") && said.contains("mine") && said.contains("create it"),
        "{said}"
    );
    assert_eq!(scene.named(ENDPOINT_KIND), Vec::<String>::new());
}

#[test]
fn an_identity_must_exist_work_and_allow_the_namespace() {
    let other = json!({"list": ["other"]});
    let refused = AdapterError::new(ErrorClass::Denied, "unknown here");
    let silent = AdapterError::new(ErrorClass::Transient, "no answer");
    let cases: [(&str, Value, Result<(), AdapterError>, &str); 4] = [
        ("clusters/nobody", json!({}), Ok(()), c::IDENTITY_NOT_FOUND),
        (
            "clusters/customer",
            other,
            Ok(()),
            c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY,
        ),
        (
            "clusters/customer",
            json!({}),
            Err(refused),
            c::CREDENTIALS_REFUSED,
        ),
        (
            "clusters/customer",
            json!({}),
            Err(silent),
            c::WAITING_FOR_IDENTITY,
        ),
    ];
    for (identity, allowed, answer, reason) in cases {
        let mut scene = annotated(json!({IDENTITY: identity}));
        scene.identity("clusters", "customer", &allowed);
        // The management side works.
        scene.has_aso = false;
        scene.settle();
        scene.has_aso = true;
        scene.fixture.credential = answer;
        scene.settle();
        let said = scene.said(AT_ENDPOINT);
        assert!(
            said.starts_with(&format!("False {reason}: ")),
            "{identity} {reason}: {said}"
        );
        assert_eq!(scene.named(ENDPOINT_KIND), Vec::<String>::new());
        assert!(scene.find(&secret("clusters", OWN)).is_none());
    }
}

#[test]
fn the_management_identity_must_allow_the_namespace_of_the_services() {
    let mut scene = Scene::one();
    scene.identity(PLATFORM, "management", &json!({"list": ["clusters"]}));
    scene.settle();
    let said = scene.said(BALANCER);
    let reason = c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY;
    assert!(said.starts_with(&format!("False {reason}: ")), "{said}");
    assert_eq!(scene.named("PrivateLinkService"), Vec::<String>::new());
    assert_eq!(scene.named("Secret"), Vec::<String>::new());
}

#[test]
fn a_secret_of_our_name_that_a_person_made_is_left_alone() {
    let theirs = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": OWN, "namespace": "clusters",
        "annotations": {"capstan.dev/credential-version": "1"}}, "data": {"a": "b"}});
    let mut scene = annotated(json!({IDENTITY: "clusters/customer"}));
    scene.put(theirs);
    let before = scene.live(&secret("clusters", OWN));
    scene.settle();
    let said = scene.said(AT_ENDPOINT);
    assert!(
        said.starts_with("False CredentialSecretFailed: ")
            && said.contains("left alone: delete it"),
        "{said}"
    );
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert_eq!(scene.live(&secret("clusters", OWN)), before);
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
}

#[test]
fn a_credential_that_is_not_used_any_more_is_not_named_any_more() {
    let mut scene = annotated(json!({IDENTITY: "clusters/customer"}));
    scene.settle();
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] = json!({})
    });
    scene.settle();
    let endpoint = scene.live(&scene.only(ENDPOINT_KIND));
    assert_eq!(Live(&endpoint).annotation(FROM), "");
    scene.assert_connected("clusters", "one");
}

#[test]
fn a_credential_that_worked_stays_in_use() {
    let mut scene = annotated(json!({IDENTITY: "clusters/customer"}));
    scene.settle();
    scene.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, "unknown here"));
    scene.wait(3700);
    scene.assert_connected("clusters", "one");
    assert!(scene.find(&secret("clusters", OWN)).is_some());
}

/// Nobody else deletes what was made for an identity, and the name is wanted again if the cluster changes back.
#[test]
fn the_secret_of_an_identity_goes_once_no_resource_names_it() {
    let mut scene = annotated(json!({IDENTITY: "clusters/customer"}));
    scene.put(by_hand("mine"));
    scene.settle();
    assert!(scene.find(&secret("clusters", OWN)).is_some());
    name_secret(&mut scene, "one", "mine");
    scene.settle();
    scene.assert_connected("clusters", "one");
    assert!(scene.find(&secret("clusters", OWN)).is_none());
}

fn by_hand(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "clusters", "finalizers": ["example.com/theirs"]}})
}

fn name_secret(scene: &mut Scene, cluster: &str, name: &str) {
    scene.edit(&hosted_id("clusters", cluster), |one| {
        one["metadata"]["annotations"] = json!({SECRET: name});
    });
}

fn holders(scene: &Scene, name: &str) -> usize {
    let held = scene.live(&secret("clusters", name));
    let finalizers = held["metadata"]["finalizers"].as_array().unwrap();
    assert!(finalizers.contains(&json!("example.com/theirs")));
    finalizers.len() - 1
}

#[test]
fn each_cluster_holds_the_secret_that_it_names_and_no_other() {
    let mut scene = annotated(json!({SECRET: "mine"}));
    scene.cluster("clusters", "two");
    name_secret(&mut scene, "two", "mine");
    scene.put(by_hand("mine"));
    scene.put(by_hand("other"));
    scene.settle();
    assert_eq!([holders(&scene, "mine"), holders(&scene, "other")], [2, 0]);
    name_secret(&mut scene, "one", "other");
    scene.settle();
    scene.assert_connected("clusters", "one");
    assert_eq!([holders(&scene, "mine"), holders(&scene, "other")], [1, 1]);
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] = json!({})
    });
    scene.settle();
    assert_eq!([holders(&scene, "mine"), holders(&scene, "other")], [1, 0]);
    scene.delete_cluster("clusters", "two");
    scene.settle();
    assert_eq!(holders(&scene, "mine"), 0);
}

#[test]
fn a_secret_that_somebody_deletes_stays_and_it_is_told() {
    let mut scene = annotated(json!({SECRET: "mine"}));
    scene.put(by_hand("mine"));
    scene.settle();
    scene.warnings();
    scene.delete(&secret("clusters", "mine"));
    scene.settle();
    scene.assert_connected("clusters", "one");
    assert!(scene.warnings().contains(&"CredentialDeleted".to_owned()));
}
