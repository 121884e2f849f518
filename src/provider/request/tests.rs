#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use super::*;
use crate::provider::problem::ProblemKind;

/// The proposal's example for KubeVirt.
pub(in crate::provider) fn proposal() -> Json {
    json!({
        "version": "4.15",
        "nodes": {
            "controlPlane": {"count": 3, "cpu": 4, "memory": "16GB", "storage": "120GB"},
            "worker": {"count": 3, "cpu": 8, "memory": "32GB", "storage": "250GB"},
        },
        "metadata": {"name": "dev-cluster-01"},
        "providerHints": {"acm": {"platform": "kubevirt", "baseDomain": "example.com"}},
        "schemaVersion": "v1alpha1",
        "serviceType": "cluster",
    })
}

/// The same as DCM sends it.
pub(in crate::provider) fn dcm() -> Json {
    json!({"spec": {
        "version": "4.15",
        "nodes": {
            "control_plane": {"count": 3, "cpu": 4, "memory": "16GB", "storage": "120GB"},
            "workers": {"count": 3, "cpu": 8, "memory": "32GB", "storage": "250GB"},
        },
        "metadata": {"name": "dev-cluster-01", "labels": {"team": "a"}},
        "provider_hints": {"acm": {"platform": "kubevirt", "base_domain": "example.com"}, "other": {"x": 1}},
        "service_type": "cluster",
    }})
}

fn read(body: &Json) -> Result<Request, Problem> {
    Request::read(body.to_string().as_bytes())
}

/// The example with one value at a JSON pointer set, or removed with null.
fn with(mut body: Json, pointer: &str, value: Json) -> Json {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        parent.remove(key);
    } else {
        parent.insert(key.to_owned(), value);
    }
    body
}

#[test]
fn both_dialects_say_the_same() {
    let (one, other) = (read(&proposal()).unwrap(), read(&dcm()).unwrap());
    assert_eq!(
        (one.dialect, other.dialect),
        (Dialect::Proposal, Dialect::Dcm)
    );
    let machines = Machines {
        count: Some(3),
        cpu: Some(8),
        memory: Some("32G".to_owned()),
        storage: Some("250G".to_owned()),
    };
    assert_eq!(one.worker, machines);
    assert_eq!(one.control_plane.memory.as_deref(), Some("16G"));
    assert_eq!(one.platform, Some(Platform::KubeVirt));
    assert_eq!(one.base_domain.as_deref(), Some("example.com"));
    assert_eq!(other.sent, dcm()["spec"]);
    let same = Request {
        dialect: one.dialect,
        sent: one.sent.clone(),
        ..other
    };
    assert_eq!(same, one);
}

#[test]
fn an_agent_sends_the_bare_spec() {
    let bare = read(&dcm()["spec"]).unwrap();
    assert_eq!(bare.dialect, Dialect::Dcm);
    assert_eq!(bare.name, "dev-cluster-01");
    assert_eq!(Request::recall(&bare.sent, Dialect::Dcm), Some(bare));
}

#[test]
fn spellings_may_be_mixed_and_must_not_differ() {
    let mixed = with(dcm(), "/spec/serviceType", json!("cluster"));
    assert!(read(&mixed).is_ok());
    let twice = with(dcm(), "/spec/serviceType", json!("vm"));
    let problem = read(&twice).unwrap_err();
    assert_eq!(
        problem.detail,
        "service_type is also given as serviceType, with another value; service_type must be \"cluster\""
    );
    let twice = with(proposal(), "/schema_version", json!("v2"));
    assert_eq!(
        read(&twice).unwrap_err().detail,
        "schema_version is also given as schemaVersion, with another value"
    );
    let both = with(proposal(), "/nodes/workers", json!({"count": 1}));
    assert_eq!(
        read(&both).unwrap_err().detail,
        "nodes.workers is given under two names"
    );
}

#[test]
fn nodes_and_hints_may_be_left_out() {
    let least = json!({"serviceType": "cluster", "version": "4.17", "metadata": {"name": "a"}});
    let request = read(&least).unwrap();
    assert_eq!(request.worker, Machines::default());
    assert_eq!((request.platform, request.base_domain), (None, None));
    for empty in ["platform", "baseDomain", "infraEnv", "releaseImage"] {
        let body = with(
            proposal(),
            &format!("/providerHints/acm/{empty}"),
            json!(""),
        );
        assert!(read(&body).is_ok(), "{empty}");
    }
}

#[test]
fn what_only_answers_have_is_ignored() {
    let mut body = dcm();
    for (key, value) in [
        ("id", json!("x")),
        ("path", json!("clusters/x")),
        ("status", json!("READY")),
        ("create_time", json!(3)),
        ("unknown", json!([])),
    ] {
        body[key] = value.clone();
        body["spec"][key] = value;
    }
    assert_eq!(read(&body).unwrap().name, "dev-cluster-01");
}

#[test]
fn amounts_are_decimal() {
    for (sent, written) in [("16GB", "16G"), ("512MB", "512M"), ("2TB", "2T")] {
        let body = with(proposal(), "/nodes/worker/memory", json!(sent));
        assert_eq!(read(&body).unwrap().worker.memory.as_deref(), Some(written));
    }
}

#[test]
fn each_mistake_is_named_as_the_client_wrote_the_field() {
    let snake = |pointer: &str, value: Json| read(&with(dcm(), &format!("/spec{pointer}"), value));
    let camel = |pointer: &str, value: Json| read(&with(proposal(), pointer, value));
    let format = "must match format: [1-9][0-9]*(MB|GB|TB)";
    for (result, detail) in [
        (
            snake("/service_type", json!(null)),
            "service_type must be \"cluster\"".to_owned(),
        ),
        (
            snake("/service_type", json!("compute")),
            "service_type must be \"cluster\"".to_owned(),
        ),
        (
            camel("/serviceType", json!(1)),
            "serviceType must be a string".to_owned(),
        ),
        (
            camel("/schemaVersion", json!("v2")),
            "schemaVersion must be \"v1alpha1\"".to_owned(),
        ),
        (
            snake("/version", json!(null)),
            "version is required".to_owned(),
        ),
        (
            snake("/version", json!("")),
            "version is required".to_owned(),
        ),
        (
            camel("/metadata/name", json!(null)),
            "metadata.name is required".to_owned(),
        ),
        (
            camel("/metadata/name", json!("A")),
            format!("metadata.name must match pattern: {NAME}"),
        ),
        (
            camel("/metadata/name", json!("a\nb")),
            "metadata.name must not have control characters".to_owned(),
        ),
        (
            camel("/metadata/name", json!("a".repeat(64))),
            "metadata.name must have at most 61 characters".to_owned(),
        ),
        (
            snake("/nodes/workers/count", json!(0)),
            "nodes.workers.count must be >= 1".to_owned(),
        ),
        (
            snake("/nodes/workers/count", json!(-3)),
            "nodes.workers.count must be >= 1".to_owned(),
        ),
        (
            snake("/nodes/workers/count", json!(1.5)),
            "nodes.workers.count must be an integer".to_owned(),
        ),
        (
            snake("/nodes/workers/count", json!("3")),
            "nodes.workers.count must be an integer".to_owned(),
        ),
        (
            snake("/nodes/workers/count", json!(1e12)),
            "nodes.workers.count must be <= 100000".to_owned(),
        ),
        (
            snake("/nodes/control_plane/cpu", json!(1)),
            "nodes.control_plane.cpu must be >= 2".to_owned(),
        ),
        (
            camel("/nodes/controlPlane/count", json!(2)),
            "nodes.controlPlane.count must be 1, 3 or 5".to_owned(),
        ),
        (
            snake("/nodes/workers/memory", json!("16Gi")),
            format!("nodes.workers.memory {format}"),
        ),
        (
            snake("/nodes/workers/memory", json!("0GB")),
            format!("nodes.workers.memory {format}"),
        ),
        (
            snake("/nodes/control_plane/storage", json!("0TB")),
            format!("nodes.control_plane.storage {format}"),
        ),
        (
            camel("/nodes/worker/storage", json!("1")),
            format!("nodes.worker.storage {format}"),
        ),
        (
            camel("/nodes", json!([])),
            "nodes must be an object".to_owned(),
        ),
        (
            camel("/nodes/worker", json!(3)),
            "nodes.worker must be an object".to_owned(),
        ),
        (
            camel("/metadata", json!("x")),
            "metadata must be an object; metadata.name is required".to_owned(),
        ),
        (
            snake("/metadata/labels", json!({"a": 1})),
            "metadata.labels must be an object whose values are strings".to_owned(),
        ),
        (
            camel("/providerHints/acm/agentLabels", json!({"a b": "c"})),
            "providerHints.acm.agentLabels has a key that is not a valid label key".to_owned(),
        ),
        (
            camel("/providerHints/acm/agentLabels", json!({"a": "c\n"})),
            "providerHints.acm.agentLabels has a value that is not a valid label value".to_owned(),
        ),
        (
            camel("/providerHints/acm/baseDomain", json!("no domain")),
            "providerHints.acm.baseDomain must be a domain name".to_owned(),
        ),
        (
            camel("/providerHints/acm", json!("x")),
            "providerHints.acm must be an object".to_owned(),
        ),
    ] {
        let problem = result.expect_err(&detail);
        assert_eq!(
            (problem.kind, problem.detail),
            (ProblemKind::InvalidArgument, detail)
        );
    }
}

#[test]
fn every_mistake_is_found_at_once() {
    let body = json!({"serviceType": "cluster", "nodes": {"worker": {"count": 0}}});
    let problem = read(&body).unwrap_err();
    assert_eq!(
        problem.detail,
        "version is required; metadata.name is required; nodes.worker.count must be >= 1"
    );
}

#[test]
fn what_no_version_of_the_api_can_do_is_unprocessable() {
    let platform = with(proposal(), "/providerHints/acm/platform", json!("aws"));
    let hive = with(proposal(), "/provisioningType", json!("hive"));
    for (body, detail) in [
        (platform, "unsupported platform \"aws\""),
        (
            hive,
            "unsupported provisioning type \"hive\": use \"hypershift\"",
        ),
    ] {
        let problem = read(&body).unwrap_err();
        assert_eq!(
            (problem.kind, &*problem.detail),
            (ProblemKind::UnprocessableEntity, detail)
        );
    }
    let same = with(proposal(), "/provisioningType", json!("hypershift"));
    assert!(read(&same).is_ok());
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    let deep = "[".repeat(100_000);
    for (body, why) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{\n\"a\":}", "expected value at line 2 column 5"),
        ("\u{0}", "expected value at line 1 column 1"),
        (
            "{\"a\": [{\"b\": 1, \"b\": 2}]}",
            "duplicate field \"b\" at line 1 column 19",
        ),
        (&deep, "recursion limit exceeded at line 1 column 128"),
    ] {
        let problem = Request::read(body.as_bytes()).unwrap_err();
        let detail = format!("request body: failed to decode request body: {why}");
        assert_eq!(problem.detail, detail);
    }
    for body in ["[]", "null", "3", "\"x\"", "{\"spec\": 3}"] {
        let problem = Request::read(body.as_bytes()).unwrap_err();
        assert!(
            problem
                .detail
                .starts_with("request body: must be an object"),
            "{}",
            problem.detail
        );
    }
}

#[test]
fn an_id_is_a_name_that_no_path_has() {
    assert_eq!(instance_id(None), Ok(None));
    assert_eq!(instance_id(Some("")), Ok(None));
    assert_eq!(
        instance_id(Some("my-custom-id")),
        Ok(Some("my-custom-id".to_owned()))
    );
    for wrong in ["INVALID_ID!", &"a".repeat(64), "-a", "a\n", "a/b", ".."] {
        let problem = instance_id(Some(wrong)).unwrap_err();
        assert_eq!(
            problem.detail,
            format!("id must match pattern: {NAME}"),
            "{wrong}"
        );
    }
    assert_eq!(
        instance_id(Some("health")).unwrap_err().kind,
        ProblemKind::InvalidArgument
    );
}
