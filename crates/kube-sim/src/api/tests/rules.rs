//! Rules of custom kinds (`x-kubernetes-validations`).

use http::{Response, StatusCode};
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::wire::{send, value};
use super::{Server, dynamic, object, refusal, server};

/// A definition whose `spec` has these rules beside its own.
fn definition(rules: Value) -> Value {
    let spec = json!({"type": "object", "x-kubernetes-validations": rules, "properties": {
        "size": {"type": "integer", "default": 2},
        "name": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "name stays", "reason": "FieldValueForbidden"}]},
        "old": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self != 'bad'", "message": "bad is bad"}]}}});
    let schema = json!({"type": "object", "properties": {"spec": spec,
        "status": {"type": "object", "properties": {"seen": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.seen >= oldSelf.seen", "message": "time goes on"}]}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}})
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

async fn post(server: &Server, path: &str, body: &Value) -> Response<axum::body::Body> {
    send(server, "POST", path, "application/json", &body.to_string()).await
}

async fn install(server: &Server, rules: Value) -> Api<DynamicObject> {
    let made = post(server, DEFINITIONS, &definition(rules)).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    dynamic(server, "example.com", "v1", "Widget")
}

fn widget(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec})
}

async fn create(api: &Api<DynamicObject>, spec: Value) -> kube::Result<DynamicObject> {
    api.create(&PostParams::default(), &object(widget(spec)))
        .await
}

async fn merge(api: &Api<DynamicObject>, patch: Value) -> kube::Result<DynamicObject> {
    api.patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
}

fn sized() -> Value {
    json!([{"rule": "self.size > 1", "messageExpression": "'size ' + string(self.size) + ' is too small'", "fieldPath": ".size"}])
}

#[tokio::test]
async fn an_object_is_held_to_the_rules_of_its_kind() {
    let server = server();
    let widgets = install(&server, sized()).await;
    let refused = refusal(create(&widgets, json!({"size": 1})).await);
    assert_eq!((refused.code, refused.reason.as_str()), (422, "Invalid"));
    assert_eq!(
        refused.message,
        r#"Widget.example.com "a" is invalid: spec.size: Invalid value: "object": size 1 is too small"#
    );
    let causes = refused.details.unwrap().causes;
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].reason, "FieldValueInvalid");
    assert_eq!(causes[0].field, "spec.size");
    assert_eq!(
        causes[0].message,
        r#"Invalid value: "object": size 1 is too small"#
    );
    let made = create(&widgets, json!({})).await.unwrap();
    assert_eq!(made.data["spec"]["size"], 2, "defaults come before rules");
}

#[tokio::test]
async fn every_way_to_change_an_object_is_held_to_rules_about_changes() {
    let server = server();
    let widgets = install(&server, sized()).await;
    create(&widgets, json!({"name": "x"})).await.unwrap();
    let stays = "Widget.example.com \"a\" is invalid: spec.name: Forbidden: name stays";
    let refused = refusal(merge(&widgets, json!({"spec": {"name": "y"}})).await);
    assert_eq!((refused.code, refused.message.as_str()), (422, stays));
    let causes = refused.details.unwrap().causes;
    assert_eq!(causes[0].reason, "FieldValueForbidden");
    let forced = PatchParams::apply("other").force();
    let apply = Patch::Apply(widget(json!({"name": "y"})));
    assert_eq!(
        refusal(widgets.patch("a", &forced, &apply).await).message,
        stays
    );
    let operations = r#"[{"op": "replace", "path": "/spec/name", "value": "y"}]"#;
    let (path, media) = (format!("{WIDGETS}/a"), "application/json-patch+json");
    let refused = value(send(&server, "PATCH", &path, media, operations).await).await;
    assert_eq!(refused["message"], stays);
    let mut live = widgets.get("a").await.unwrap();
    live.data["spec"]["name"] = json!("y");
    let refused = refusal(widgets.replace("a", &PostParams::default(), &live).await);
    assert_eq!(refused.message, stays);
    merge(&widgets, json!({"spec": {"size": 5}})).await.unwrap();
}

#[tokio::test]
async fn a_status_is_held_to_its_rules() {
    let server = server();
    let widgets = install(&server, sized()).await;
    create(&widgets, json!({})).await.unwrap();
    let seen = |n: u32| Patch::Merge(json!({"status": {"seen": n}}));
    let params = PatchParams::default();
    widgets.patch_status("a", &params, &seen(2)).await.unwrap();
    let refused = refusal(widgets.patch_status("a", &params, &seen(1)).await);
    assert!(
        refused
            .message
            .ends_with(r#"status: Invalid value: "object": time goes on"#)
    );
}

#[tokio::test]
async fn what_broke_a_rule_before_is_tolerated_with_a_warning() {
    let server = server();
    let widgets = install(&server, sized()).await;
    create(&widgets, json!({"old": "bad"})).await.unwrap_err();
    create(&widgets, json!({"old": "good"})).await.unwrap();
    // The rule comes after the value.
    let mut changed = definition(sized());
    let rules = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/old/x-kubernetes-validations/0/rule";
    *changed.pointer_mut(rules).unwrap() = json!("self != 'good'");
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let patch = json!({"spec": changed["spec"]}).to_string();
    let media = "application/merge-patch+json";
    let made = send(&server, "PATCH", &path, media, &patch).await;
    assert_eq!(made.status(), StatusCode::OK);
    let path = format!("{WIDGETS}/a");
    let sized = r#"{"spec":{"size":7}}"#;
    let made = send(&server, "PATCH", &path, media, sized).await;
    assert_eq!(made.status(), StatusCode::OK);
    assert_eq!(
        made.headers()["warning"],
        r#"299 - "spec.old: Invalid value: \"string\": bad is bad""#
    );
    let refused = create(&widgets, json!({"old": "good"})).await;
    assert_eq!(refusal(refused).code, 422);
}

#[tokio::test]
async fn a_definition_whose_rules_make_no_sense_is_refused() {
    let server = server();
    for (rule, field) in [
        (json!({"rule": "self.size >"}), "rule"),
        (json!({"rule": "self.colour == 'red'"}), "rule"),
        (json!({"rule": "self.size"}), "rule"),
        (
            json!({"rule": "true", "messageExpression": "size("}),
            "messageExpression",
        ),
        (json!({"rule": "true", "fieldPath": ".colour"}), "fieldPath"),
        (json!({"rule": "true", "reason": "Bad"}), "reason"),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "optionalOldSelf",
        ),
    ] {
        let refused = post(&server, DEFINITIONS, &definition(json!([rule]))).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY, "{rule}");
        let status = value(refused).await;
        assert_eq!(status["reason"], "Invalid");
        let causes = status["details"]["causes"].as_array().unwrap();
        let place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0]";
        assert_eq!(causes.len(), 1, "{rule}");
        assert_eq!(causes[0]["field"], format!("{place}.{field}"));
    }
}

#[tokio::test]
async fn an_unsupported_rule_is_reported_in_a_warning() {
    let server = server();
    let rules = json!([{"rule": "[self.size].sortBy(n, n) == [self.size]", "message": "in order"}]);
    let made = post(&server, DEFINITIONS, &definition(rules)).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(
        made.headers()["warning"],
        r#"299 - "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: rule not evaluated: `sortBy` is not known here""#
    );
    let made = post(&server, WIDGETS, &widget(json!({}))).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(
        made.headers()["warning"],
        r#"299 - "spec: rule not evaluated: `sortBy` is not known here: in order""#
    );
}
