//! Answers of the server are what the document says.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{at, named, operation, resolved};
use crate::provider::capabilities::EnabledPlatforms;
use crate::provider::health::{Health, Outcome, Readiness};
use crate::provider::openapi::document;
use crate::provider::problem::{Problem, ProblemKind};

const KINDS: [ProblemKind; 8] = [
    ProblemKind::InvalidArgument,
    ProblemKind::Unauthenticated,
    ProblemKind::PermissionDenied,
    ProblemKind::NotFound,
    ProblemKind::AlreadyExists,
    ProblemKind::UnprocessableEntity,
    ProblemKind::Internal,
    ProblemKind::Unavailable,
];

/// The answer to a request in camelCase.
fn proposal() -> Json {
    json!({
        "requestId": "123e4567-e89b-12d3-a456-426614174000",
        "name": "dev-cluster-01",
        "status": "PENDING",
        "provisioningType": "hypershift",
        "platform": "kubevirt",
        "version": "4.15",
        "apiEndpoint": "",
        "consoleUrl": "",
        "nodes": {"controlPlane": {"ready": 0, "total": 3}, "worker": {"ready": 0, "total": 3}},
        "kubeconfig": "",
        "metadata": {"namespace": "dev-cluster-01", "createdAt": "2026-01-29T10:30:00Z"},
    })
}

/// The answer to a request in snake_case.
fn dcm() -> Json {
    json!({
        "id": "c-1",
        "path": "clusters/c-1",
        "spec": {"service_type": "cluster", "version": "4.15", "metadata": {"name": "dev-cluster-01"}},
        "status": "READY",
        "status_message": "as expected",
        "api_endpoint": "https://10.0.0.1:6443",
        "console_uri": "https://console-openshift-console.apps.dev-cluster-01.example.com",
        "kubeconfig": "YXBpVmVyc2lvbjogdjEK",
        "create_time": "2026-01-29T10:30:00Z",
        "update_time": "2026-01-29T10:40:00Z",
    })
}

fn both() -> Json {
    let mut both = proposal();
    both.as_object_mut()
        .unwrap()
        .extend(dcm().as_object().unwrap().clone());
    both
}

#[test]
fn a_cluster_may_have_the_fields_of_either_spelling_or_both() {
    let cluster = named("Cluster");
    for body in [proposal(), dcm(), both()] {
        assert!(cluster.is_valid(&body), "{body}");
    }
    let unknown = json!({
        "platform": "", "version": "", "metadata": {"namespace": "n", "createdAt": null}, "status": "FAILED",
        "spec": {"service_type": "cluster", "version": "", "metadata": {"name": "a.b"}},
    });
    assert!(cluster.is_valid(&unknown));
}

#[test]
fn a_cluster_has_no_field_that_the_document_lacks() {
    let document = document();
    let known = at(&document, "/components/schemas/Cluster/properties");
    let both = both();
    assert_eq!(super::keys(&both), super::keys(known));
    assert_eq!(
        super::keys(&both["nodes"]),
        super::keys(&known["nodes"]["properties"])
    );
    assert_eq!(
        super::keys(&both["metadata"]),
        super::keys(&known["metadata"]["properties"])
    );
}

#[test]
fn a_cluster_that_is_not_one_is_refused() {
    let cluster = named("Cluster");
    for (field, value) in [
        ("status", json!("ACTIVE")),
        ("status", json!(null)),
        ("id", json!("A")),
        ("path", json!("/clusters/c-1")),
        ("platform", json!("aws")),
        ("provisioningType", json!("hive")),
        ("nodes", json!({"worker": {"ready": -1, "total": 3}})),
        ("nodes", json!({"worker": {"ready": 1}})),
        ("kubeconfig", json!(null)),
        ("spec", json!("x")),
    ] {
        let mut body = both();
        body[field] = value;
        assert!(!cluster.is_valid(&body), "{field} {}", body[field]);
    }
}

#[test]
fn every_state_of_both_vocabularies_is_documented() {
    let document = document();
    let states = at(
        &document,
        "/components/schemas/Cluster/properties/status/enum",
    );
    let expected = [
        "PENDING",
        "PROVISIONING",
        "READY",
        "RUNNING",
        "UNAVAILABLE",
        "FAILED",
        "DELETING",
        "DELETED",
    ];
    assert_eq!(states, &json!(expected));
}

#[test]
fn a_list_has_one_array_or_both_and_a_token_unless_it_ends() {
    let list = named("ClusterList");
    for body in [
        json!({"results": [both()], "clusters": [both()], "next_page_token": "MQ"}),
        json!({"results": [], "clusters": []}),
        json!({"results": [proposal()]}),
        json!({"clusters": [dcm()]}),
    ] {
        assert!(list.is_valid(&body), "{body}");
    }
    for body in [
        json!({"results": [{"cluster": both()}]}),
        json!({"results": null}),
        json!({"results": [], "next_page_token": ""}),
        json!({"results": [], "next_page_token": null}),
    ] {
        assert!(!list.is_valid(&body), "{body}");
    }
}

#[test]
fn the_health_is_as_the_provider_reports_it() {
    let schema = named("Health");
    let mut health = Health::new("0.1.0".to_owned(), EnabledPlatforms::Discovered);
    let unhealthy =
        serde_json::to_value(health.report(Readiness::WHOLE, Duration::from_secs(7))).unwrap();
    assert_eq!(unhealthy["status"], "unhealthy");
    assert!(schema.is_valid(&unhealthy), "{unhealthy}");
    let outcomes = health
        .checks()
        .into_iter()
        .map(|check| (check, Outcome::Passed));
    health.end(outcomes.collect::<BTreeMap<_, _>>(), Duration::from_secs(8));
    let healthy =
        serde_json::to_value(health.report(Readiness::WHOLE, Duration::from_secs(9))).unwrap();
    assert_eq!(healthy["status"], "healthy");
    assert!(schema.is_valid(&healthy), "{healthy}");
    let document = document();
    let known = at(&document, "/components/schemas/Health/properties");
    assert_eq!(super::keys(&unhealthy), super::keys(known));
    for field in ["type", "status", "path", "version", "uptime"] {
        let mut without = healthy.clone();
        without.as_object_mut().unwrap().remove(field);
        assert!(!schema.is_valid(&without), "{field}");
    }
}

#[test]
fn every_problem_of_the_server_is_documented() {
    let schema = named("Problem");
    let document = document();
    let known = at(
        &document,
        "/components/schemas/Problem/properties/type/enum",
    );
    assert_eq!(known, &serde_json::to_value(KINDS).unwrap());
    for kind in KINDS {
        assert!(schema.is_valid(&Problem::new(kind, "because").body("r-1")));
    }
    let large = Problem::invalid("")
        .with_status(413, "Content Too Large")
        .body("r-1");
    assert!(schema.is_valid(&large));
    assert!(!schema.is_valid(
        &json!({"type": "TEAPOT", "title": "", "status": 418, "detail": "", "instance": ""})
    ));
    assert!(!schema.is_valid(&json!({"title": "", "status": 400, "detail": "", "instance": ""})));
}

#[test]
fn headers_are_where_the_server_sends_them() {
    let document = document();
    let post = operation(&document, "/api/v1alpha1/clusters", "post");
    let headers =
        |status: &str| super::keys(&resolved(&document, &post["responses"][status])["headers"]);
    assert_eq!(headers("201"), ["Location", "X-Request-Id"].into());
    assert_eq!(headers("400"), ["X-Request-Id"].into());
    assert_eq!(headers("401"), ["WWW-Authenticate", "X-Request-Id"].into());
    for status in ["429", "503"] {
        assert_eq!(headers(status), ["Retry-After", "X-Request-Id"].into());
    }
}
