//! Requests that make no sense: paths, methods, media types, bodies and parameters.

use http::header::ACCEPT;
use serde_json::{Value as Json, json};

use super::objects::{a_thing, config_map};
use super::{behaviours, orbit, thing};
use crate::session::{Ask, GROUP, Session};

const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// Of a kind that is built in.
async fn what_is_not_there_is_not_found(s: &Session) {
    let here = format!("/api/v1/namespaces/{}", s.namespace);
    for path in [
        "/api/v2",
        "/api/v1/nothings",
        "/api/v1/configmaps/a",
        "/apis/apps/v2",
        "/apis/apps/v1/nothings",
        "/apis/none.capstan.dev/v1",
        "/apis/none.capstan.dev/v1/things",
    ] {
        s.get(path).await;
    }
    for path in [
        "nothings",
        "nothings/a",
        "configmaps/a/nothing",
        "configmaps/a/status",
        "configmaps/a/status/more",
        "namespaces",
        "namespaces/a",
    ] {
        s.get(&format!("{here}/{path}")).await;
    }
    s.get("configmaps/a").await;
    s.post(&format!("{here}/nothings"), &json!({})).await;
}

async fn what_a_definition_does_not_bring_is_not_found(s: &Session) {
    s.install(&thing()).await;
    s.install(&orbit()).await;
    let group = format!("/apis/{GROUP}");
    let here = format!("{group}/v1/namespaces/{}", s.namespace);
    for path in [
        format!("{group}/v2"),
        format!("{group}/v2/things"),
        format!("{group}/v1/nothings"),
        format!("{group}/v1/things/a"),
        format!("{here}/nothings"),
        format!("{here}/orbits"),
        format!("{here}/orbits/a"),
    ] {
        s.get(&path).await;
    }
    s.get("things/a/nothing").await;
    s.get("orbits/a/status").await;
    s.delete("orbits/a/status").await;
    s.post(&format!("{here}/nothings"), &json!({})).await;
    s.post(&format!("{group}/v1/things"), &a_thing("a", &json!({})))
        .await;
    s.delete(&format!("{group}/v1/things")).await;
}

async fn a_method_is_one_of_the_resource(s: &Session) {
    s.install(&thing()).await;
    let all = Ask::new("POST", "/api/v1/configmaps").json(&config_map("a", &json!({})));
    s.send(all).await;
    s.delete("/api/v1/configmaps").await;
    s.delete("namespaces").await;
    s.put("configmaps", &config_map("a", &json!({}))).await;
    s.merge("configmaps", &json!({})).await;
    s.post("configmaps/a", &config_map("a", &json!({}))).await;
    s.post("deployments/a/status", &json!({})).await;
    s.delete("deployments/a/status").await;
    s.put("things", &a_thing("a", &json!({}))).await;
    s.merge("things", &json!({})).await;
    s.post("things/a/status", &json!({})).await;
    s.delete("things/a/status").await;
}

/// The name in the path is not looked at.
async fn a_custom_object_is_made_wherever_it_is_sent(s: &Session) {
    s.install(&thing()).await;
    s.install(&orbit()).await;
    s.post("things/a", &a_thing("a", &json!({}))).await;
    s.post("things/b", &a_thing("c", &json!({}))).await;
    s.post("things/b", &a_thing("c", &json!({}))).await;
    s.post("things/b", &a_thing("", &json!({}))).await;
    s.get("things/b").await;
    let orbit = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": {"name": s.namespace}});
    s.post("orbits/b", &orbit).await;
    let unplaced = "/apis/conformance.capstan.dev/v1/things/a";
    s.post(unplaced, &a_thing("a", &json!({}))).await;
}

async fn an_answer_is_of_a_type_that_is_accepted(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    for accept in [
        "text/html",
        "application/json;as=PartialObjectMetadata",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2",
        "application/json;as=Poem;g=meta.k8s.io;v=v1",
    ] {
        for path in ["configmaps/a", "configmaps", "things"] {
            let ask = Ask::new("GET", path).header(ACCEPT, accept);
            s.send(ask.gist()).await;
        }
    }
    for accept in ["text/html,application/json", "*/*", "text/html, */*"] {
        let ask = Ask::new("GET", "configmaps/a").header(ACCEPT, accept);
        s.send(ask).await;
    }
}

async fn metadata_alone_is_that_of_one_or_of_all(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    for kind in ["PartialObjectMetadata", "PartialObjectMetadataList"] {
        for path in ["configmaps/a", "configmaps", "deployments", "things"] {
            let accept = format!("application/json;as={kind};g=meta.k8s.io;v=v1");
            s.send(Ask::new("GET", path).header(ACCEPT, &accept)).await;
        }
    }
    let accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let made = Ask::new("POST", "configmaps").json(&config_map("b", &json!({"k": "v"})));
    s.send(made.header(ACCEPT, accept)).await;
    let gone = Ask::new("DELETE", "configmaps/b").header(ACCEPT, accept);
    s.send(gone).await;
    let accept = "application/json;as=Poem;g=meta.k8s.io;v=v1,application/json";
    s.send(Ask::new("GET", "configmaps/a").header(ACCEPT, accept))
        .await;
}

async fn a_body_is_of_a_known_type(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    s.post("things", &a_thing("a", &json!({}))).await;
    for (method, path, media) in [
        ("POST", "configmaps", "text/plain"),
        ("POST", "things", "text/plain"),
        ("PUT", "configmaps/a", MERGE),
        ("PUT", "things/a", MERGE),
        ("PATCH", "configmaps/a", "application/json"),
        ("PATCH", "configmaps/a", "text/plain"),
        ("PATCH", "things/a", "application/json"),
        (
            "PATCH",
            "things/a",
            "application/strategic-merge-patch+json",
        ),
        ("DELETE", "configmaps/a", "text/plain"),
    ] {
        s.send(Ask::new(method, path).body(media, "{}").gist())
            .await;
    }
    let ask = Ask::new("PATCH", "configmaps/a");
    let media = "application/merge-patch+json; charset=utf-8";
    s.send(ask.body(media, r#"{"data":{"k":"v"}}"#)).await;
    let yaml = "data: {k: w}\nmetadata:\n  name: a\n";
    s.send(Ask::new("PUT", "configmaps/a").body("application/yaml", yaml))
        .await;
    let json = Ask::new("PUT", "configmaps/a");
    s.send(json.body(
        "application/json; charset=utf-8",
        r#"{"metadata":{"name":"a"}}"#,
    ))
    .await;
}

async fn a_body_can_be_read(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    for (method, path) in [
        ("POST", "configmaps"),
        ("POST", "things"),
        ("PUT", "configmaps/a"),
    ] {
        for (media, body) in [
            ("application/json", ""),
            ("application/json", "{\"a\""),
            ("application/json", "a: b"),
            ("application/json", "[]"),
            ("application/json", "\"a\""),
            ("application/yaml", "a: {"),
            ("application/yaml", "- a"),
        ] {
            s.send(Ask::new(method, path).body(media, body).gist())
                .await;
        }
    }
    // A document that ends too early gets the same message.
    for body in ["", "{", "{\"metadata\": {\"name\": \"something long\""] {
        s.send(Ask::new("POST", "configmaps").body("application/json", body))
            .await;
    }
    s.send(
        Ask::new("DELETE", "configmaps/a")
            .body("application/json", "{")
            .gist(),
    )
    .await;
}

async fn a_patch_has_its_shape(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    s.post("things", &a_thing("a", &json!({}))).await;
    for path in ["configmaps/a", "things/a"] {
        for (media, body) in [
            (MERGE, "{\"a\""),
            (MERGE, "a: b"),
            (MERGE, "[]"),
            (MERGE, "\"a\""),
            (JSON_PATCH, "["),
            (JSON_PATCH, "{}"),
            (JSON_PATCH, "[1]"),
            (
                JSON_PATCH,
                "[{\"op\":\"test\",\"path\":\"/kind\",\"value\":\"x\"}]",
            ),
        ] {
            s.send(Ask::new("PATCH", path).body(media, body).gist())
                .await;
        }
    }
    let ask = Ask::new("PATCH", "configmaps/a").body(MERGE, "");
    s.send(ask).await;
    let ask = Ask::new("PATCH", "configmaps/b").body(MERGE, "{");
    s.send(ask).await;
}

async fn a_body_has_three_mebibytes_at_most(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({}))).await;
    let text = "x".repeat(3 * 1024 * 1024);
    let large = config_map("a", &json!({"k": text}));
    s.post("configmaps", &large).await;
    s.put("configmaps/a", &large).await;
    s.merge("configmaps/a", &json!({"data": {"k": text}})).await;
    s.delete_with("configmaps/a", &json!({"k": text})).await;
    s.post("things", &a_thing("a", &json!({"free": {"k": text}})))
        .await;
}

async fn an_object_has_one_and_a_half_mebibytes_at_most(s: &Session) {
    s.install(&thing()).await;
    let large = |size: usize| a_thing("a", &json!({"free": {"k": "x".repeat(size)}}));
    s.post("things", &large(1_600 * 1024)).await;
    s.send(Ask::new("POST", "things").json(&large(2_200 * 1024)).gist())
        .await;
    s.get("things/a").await;
    s.post("things", &a_thing("a", &json!({}))).await;
    let text = "x".repeat(1_600 * 1024);
    s.merge("things/a", &json!({"spec": {"free": {"k": text}}}))
        .await;
}

async fn a_json_patch_has_ten_thousand_operations_at_most(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    let test = json!({"op": "test", "path": "/metadata/name", "value": "a"});
    s.json_patch("configmaps/a", &Json::Array(vec![test.clone(); 10_001]))
        .await;
    s.json_patch("configmaps/a", &Json::Array(vec![test; 10_000]))
        .await;
}

async fn unknown_parameters_mean_nothing(s: &Session) {
    s.post("configmaps?colour=red", &config_map("a", &json!({})))
        .await;
    s.get("configmaps?colour=red&pretty=maybe").await;
    s.get("configmaps/a?limit=x&labelSelector=,").await;
    s.put("configmaps/a?limit=x", &config_map("a", &json!({})))
        .await;
    s.delete("configmaps/a?limit=x&colour").await;
}

async fn numbers_are_whole(s: &Session) {
    for query in [
        "limit=x",
        "limit=1.5",
        "limit=",
        "limit=99999999999999999999",
        "timeoutSeconds=x",
        "resourceVersion=x",
        "resourceVersion=-1",
        "watch=true&timeoutSeconds=x",
        "watch=true&resourceVersion=x",
        "watch=true&limit=x",
    ] {
        s.get(&format!("configmaps?{query}")).await;
    }
    s.get("configmaps?limit=-1").await;
    s.delete("configmaps/a?gracePeriodSeconds=x").await;
    s.delete("configmaps?limit=x").await;
    s.get("configmaps/a?resourceVersion=x").await;
}

async fn options_of_writes_are_known(s: &Session) {
    let object = config_map("a", &json!({}));
    s.post("configmaps?fieldValidation=Sometimes", &object)
        .await;
    s.post("configmaps?fieldValidation=strict", &object).await;
    s.put("configmaps/a?fieldValidation=Sometimes", &object)
        .await;
    s.merge("configmaps/a?fieldValidation=Sometimes", &json!({}))
        .await;
    let long = "x".repeat(129);
    s.post(&format!("configmaps?fieldManager={long}"), &object)
        .await;
    s.post("configmaps?fieldManager=a%09b", &object).await;
    s.post(
        "configmaps?fieldManager=a%09b&fieldValidation=x&dryRun=y",
        &object,
    )
    .await;
    s.merge("configmaps/a?force=true", &json!({})).await;
    s.merge("configmaps/a?force=false&dryRun=x", &json!({}))
        .await;
}

async fn an_unknown_field_is_told_as_it_is_asked_for(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    let odd = |name: &str| {
        let metadata = json!({"name": name, "shape": "round"});
        json!({"metadata": metadata, "colour": "red", "data": {"k": "v"}})
    };
    for validation in ["Strict", "Warn", "Ignore"] {
        let query = format!("fieldValidation={validation}");
        let name = validation.to_lowercase();
        s.post(&format!("configmaps?{query}"), &odd(&name)).await;
        s.put(&format!("configmaps/a?{query}"), &odd("a")).await;
    }
    s.post("configmaps", &odd("b")).await;
    s.merge("configmaps/a", &json!({"colour": "red"})).await;
    let labels = json!({"a": "b"});
    let container = json!({"name": "c", "image": "i", "colour": "red"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
    let spec = json!({"colour": "red", "selector": {"matchLabels": labels}, "template": template});
    let deep = json!({"metadata": {"name": "a"}, "spec": spec});
    let path = "deployments?dryRun=All&fieldValidation=Strict";
    s.post(path, &deep).await;
}

async fn a_collection_is_deleted_by_the_page(s: &Session) {
    for name in ["a", "b", "c"] {
        let ask = Ask::new("POST", "configmaps").json(&config_map(name, &json!({})));
        s.send(ask.silent()).await;
    }
    for query in [
        "fieldSelector=data.k%3Dv",
        "labelSelector=,",
        "resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "propagationPolicy=Sometimes",
    ] {
        s.delete(&format!("configmaps?{query}")).await;
    }
    s.delete("configmaps?limit=1").await;
    s.delete("configmaps?fieldSelector=metadata.name%3Dc").await;
    s.get("configmaps").await;
    s.delete("configmaps?watch=true").await;
    s.delete("configmaps").await;
}

behaviours! { Api:
    a_body_can_be_read,
    a_body_has_three_mebibytes_at_most,
    a_body_is_of_a_known_type,
    a_collection_is_deleted_by_the_page,
    a_custom_object_is_made_wherever_it_is_sent,
    a_json_patch_has_ten_thousand_operations_at_most,
    a_method_is_one_of_the_resource,
    a_patch_has_its_shape,
    an_answer_is_of_a_type_that_is_accepted,
    an_object_has_one_and_a_half_mebibytes_at_most,
    an_unknown_field_is_told_as_it_is_asked_for,
    metadata_alone_is_that_of_one_or_of_all,
    numbers_are_whole,
    options_of_writes_are_known,
    unknown_parameters_mean_nothing,
    what_a_definition_does_not_bring_is_not_found,
    what_is_not_there_is_not_found,
}
