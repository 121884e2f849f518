//! Server-side apply.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{apply, config_map, config_maps, dynamic, refusal, server};

#[tokio::test]
async fn an_apply_creates_changes_and_drops() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({"x": "1", "y": "1"})))
        .await
        .unwrap();
    let entry = &made.managed_fields()[0];
    assert_eq!(entry.manager.as_deref(), Some("me"));
    assert_eq!(entry.operation.as_deref(), Some("Apply"));
    assert_eq!(
        entry.fields_v1.as_ref().unwrap().0,
        json!({"f:data": {"f:x": {}, "f:y": {}}})
    );
    let same = apply(&api, "me", config_map("a", json!({"x": "1", "y": "1"})))
        .await
        .unwrap();
    assert_eq!(same, made);
    let changed = apply(&api, "me", config_map("a", json!({"x": "2"})))
        .await
        .unwrap();
    assert_eq!(
        changed.data.unwrap().into_iter().collect::<Vec<_>>(),
        [("x".into(), "2".into())]
    );
    assert_ne!(
        changed.metadata.resource_version,
        made.metadata.resource_version
    );
}

#[tokio::test(start_paused = true)]
async fn an_apply_of_the_same_later_changes_nothing() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let same = apply(&api, "me", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    assert_eq!(same, made);
    let changed = apply(&api, "me", config_map("a", json!({"x": "2"})))
        .await
        .unwrap();
    let time = changed.managed_fields()[0]
        .time
        .as_ref()
        .unwrap()
        .0
        .to_string();
    assert_eq!(time, "2030-01-01T00:01:00Z");
}

#[tokio::test]
async fn fields_of_another_manager_are_a_conflict() {
    let (_, api) = config_maps();
    apply(&api, "one", config_map("a", json!({"x": "1", "y": "1"})))
        .await
        .unwrap();
    let shared = apply(&api, "two", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    assert_eq!(shared.managed_fields().len(), 2);
    let refused = refusal(apply(&api, "two", config_map("a", json!({"x": "2"}))).await);
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"one\": .data.x"
    );
    let cause = &refused.details.unwrap().causes[0];
    assert_eq!(cause.reason, "FieldManagerConflict");
    assert_eq!(cause.message, "conflict with \"one\"");
    assert_eq!(cause.field, ".data.x");
    let force = PatchParams::apply("two").force();
    let taken = Patch::Apply(config_map("a", json!({"x": "2"})));
    let taken = api.patch("a", &force, &taken).await.unwrap();
    assert_eq!(taken.data.as_ref().unwrap()["x"], "2");
    // What the first one gave up it can leave out without dropping it.
    let kept = apply(&api, "one", config_map("a", json!({"y": "1"})))
        .await
        .unwrap();
    assert_eq!(kept.data.unwrap()["x"], "2");
}

#[tokio::test]
async fn an_update_takes_fields_and_is_named_in_conflicts() {
    let (_, api) = config_maps();
    apply(&api, "one", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    let params = PatchParams {
        field_manager: Some("editor".into()),
        ..PatchParams::default()
    };
    let merge = Patch::Merge(json!({"data": {"x": "2"}}));
    api.patch("a", &params, &merge).await.unwrap();
    let refused = refusal(apply(&api, "one", config_map("a", json!({"x": "1"}))).await);
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.x"
    );
}

#[tokio::test]
async fn an_apply_with_a_uid_does_not_create() {
    let (_, api) = config_maps();
    let mut object = config_map("a", json!({}));
    object["metadata"]["uid"] = json!("gone");
    let refused = refusal(apply(&api, "me", object).await);
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object specified uid gone, and no existing object was found"
    );
    let made = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let mut object = config_map("a", json!({"x": "1"}));
    object["metadata"]["uid"] = json!(made.uid());
    apply(&api, "me", object).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_applied_is_refused() {
    let (_, api) = config_maps();
    let code = |changes: Value| {
        let api = api.clone();
        let mut object = config_map("a", json!({}));
        super::super::patch::merge(&mut object, changes);
        async move {
            let patch = Patch::Apply(object);
            let refused = refusal(api.patch("a", &PatchParams::apply("me"), &patch).await);
            (refused.code, refused.message)
        }
    };
    let (status, message) = code(json!({"metadata": {"managedFields": [{}]}})).await;
    assert_eq!(
        (status, message.as_str()),
        (400, "metadata.managedFields must be nil")
    );
    assert_eq!(code(json!({"apiVersion": "v2"})).await.0, 400);
    assert_eq!(code(json!({"kind": null})).await.0, 400);
    assert_eq!(code(json!({"kind": "Secret"})).await.0, 400);
    assert_eq!(code(json!({"metadata": {"name": "b"}})).await.0, 400);
    assert_eq!(code(json!({"metadata": {"namespace": "b"}})).await.0, 400);
    let (status, message) = code(json!({"colour": "red"})).await;
    assert_eq!(status, 500);
    assert_eq!(
        message,
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .colour: field not declared in schema"
    );
    let unnamed = PatchParams {
        force: true,
        ..PatchParams::default()
    };
    let patch = Patch::Apply(config_map("a", json!({})));
    assert!(api.patch("a", &unnamed, &patch).await.is_err());
}

#[tokio::test]
async fn lists_are_merged_by_key() {
    let server = server();
    let api = dynamic(&server, "apps", "v1", "Deployment");
    let deployment = |containers: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": {"app": "a"}},
                "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers}}}})
    };
    let apply = |manager: &str, object: Value| {
        let (api, params) = (api.clone(), PatchParams::apply(manager));
        async move {
            api.patch("a", &params, &Patch::Apply(object))
                .await
                .unwrap()
        }
    };
    apply("one", deployment(json!([{"name": "a", "image": "a:1"}]))).await;
    let both = apply("two", deployment(json!([{"name": "b", "image": "b:1"}]))).await;
    let containers = |object: &kube::api::DynamicObject| {
        object.data["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(containers(&both), 2);
    let one = apply("two", deployment(json!([{"name": "a", "image": "a:1"}]))).await;
    assert_eq!(containers(&one), 1);
}

#[tokio::test]
async fn a_client_can_hand_back_or_drop_managed_fields() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    let mut dropped: ConfigMap = made.clone();
    dropped.metadata.managed_fields = Some(vec![Default::default()]);
    let bare = api
        .replace("a", &PostParams::default(), &dropped)
        .await
        .unwrap();
    assert!(bare.managed_fields().is_empty());
    let first = apply(&api, "me", config_map("a", json!({"x": "1"})))
        .await
        .unwrap();
    let managers: Vec<_> = first
        .managed_fields()
        .iter()
        .map(|e| e.manager.clone().unwrap())
        .collect();
    assert!(
        managers.contains(&"before-first-apply".to_owned()),
        "{managers:?}"
    );
}
