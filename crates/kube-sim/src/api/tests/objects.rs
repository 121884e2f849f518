//! Creates, updates, patches and their refusals.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{config_map, config_maps, dynamic, object, refusal, server};

fn typed(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(config_map(name, json!({"k": value}))).unwrap()
}

#[tokio::test]
async fn a_created_object_has_what_the_server_gives() {
    let (_, api) = config_maps();
    let made = api
        .create(&PostParams::default(), &typed("a", "1"))
        .await
        .unwrap();
    assert_eq!(made.namespace().as_deref(), Some("default"));
    assert_eq!(made.uid().unwrap(), "00000000-0000-4000-8000-000000000003");
    assert_eq!(
        made.creation_timestamp().unwrap().0.to_string(),
        "2030-01-01T00:00:00Z"
    );
    assert!(made.resource_version().is_some());
    let entry = &made.managed_fields()[0];
    assert_eq!(entry.operation.as_deref(), Some("Update"));
    let again = refusal(api.create(&PostParams::default(), &typed("a", "1")).await);
    assert_eq!((again.code, again.reason.as_str()), (409, "AlreadyExists"));
    assert_eq!(again.message, "configmaps \"a\" already exists");
}

#[tokio::test]
async fn names_are_generated_and_checked() {
    let (_, api) = config_maps();
    let mut unnamed = typed("", "1");
    unnamed.metadata.name = None;
    unnamed.metadata.generate_name = Some("run-".into());
    let first = api.create(&PostParams::default(), &unnamed).await.unwrap();
    let second = api.create(&PostParams::default(), &unnamed).await.unwrap();
    assert_eq!(first.name_any().len(), "run-".len() + 5);
    assert_ne!(first.name_any(), second.name_any());
    let wrong = refusal(api.create(&PostParams::default(), &typed("A", "1")).await);
    assert_eq!((wrong.code, wrong.reason.as_str()), (422, "Invalid"));
    let causes = wrong.details.unwrap().causes;
    assert_eq!(causes[0].field, "metadata.name");
    assert_eq!(causes[0].reason, "FieldValueInvalid");
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_is_not_there() {
    let server = server();
    let api: Api<ConfigMap> = Api::namespaced(server.client("default"), "nowhere");
    let refused = refusal(api.create(&PostParams::default(), &typed("a", "1")).await);
    assert_eq!(refused.code, 404);
    assert_eq!(refused.message, "namespaces \"nowhere\" not found");
}

#[tokio::test]
async fn an_update_is_based_on_the_stored_version() {
    let (_, api) = config_maps();
    let first = api
        .create(&PostParams::default(), &typed("a", "1"))
        .await
        .unwrap();
    let mut second = first.clone();
    second.data = typed("a", "2").data;
    let second = api
        .replace("a", &PostParams::default(), &second)
        .await
        .unwrap();
    let mut stale = first.clone();
    stale.data = typed("a", "3").data;
    let refused = refusal(api.replace("a", &PostParams::default(), &stale).await);
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
    let same = api
        .replace("a", &PostParams::default(), &second)
        .await
        .unwrap();
    assert_eq!(same.resource_version(), second.resource_version());
    let unconditional = api
        .replace("a", &PostParams::default(), &typed("a", "4"))
        .await;
    assert_eq!(unconditional.unwrap().data.unwrap()["k"], "4");
    let mut other = typed("a", "5");
    other.metadata.uid = Some("other".into());
    let refused = refusal(api.replace("a", &PostParams::default(), &other).await);
    assert_eq!(refused.code, 409);
    assert!(
        refused
            .message
            .contains("Precondition failed: UID in precondition: other")
    );
    let absent = refusal(
        api.replace("b", &PostParams::default(), &typed("b", ""))
            .await,
    );
    assert_eq!(absent.code, 404);
}

#[tokio::test]
async fn patches_change_what_they_name() {
    let (_, api) = config_maps();
    api.create(&PostParams::default(), &typed("a", "1"))
        .await
        .unwrap();
    let merge =
        Patch::Merge(json!({"metadata": {"labels": {"x": "y"}}, "data": {"k": null, "l": "2"}}));
    let merged = api
        .patch("a", &PatchParams::default(), &merge)
        .await
        .unwrap();
    assert_eq!(merged.labels()["x"], "y");
    assert_eq!(
        merged.data.unwrap().into_iter().collect::<Vec<_>>(),
        [("l".into(), "2".into())]
    );
    let again = api
        .patch("a", &PatchParams::default(), &merge)
        .await
        .unwrap();
    assert_eq!(
        again.metadata.resource_version,
        merged.metadata.resource_version
    );
    let mut stale = json!({"metadata": {"resourceVersion": "1"}, "data": {"l": "3"}});
    let refused = refusal(
        api.patch("a", &PatchParams::default(), &Patch::Merge(&stale))
            .await,
    );
    assert_eq!(refused.code, 409);
    stale["metadata"] = json!({"uid": "other"});
    let refused = refusal(
        api.patch("a", &PatchParams::default(), &Patch::Merge(&stale))
            .await,
    );
    assert_eq!(
        (
            refused.code,
            refused.details.unwrap().causes[0].field.as_str()
        ),
        (422, "metadata.uid")
    );
    let strategic = Patch::Strategic(json!({"data": {"$retainKeys": ["m"], "m": "4"}}));
    let replaced = api
        .patch("a", &PatchParams::default(), &strategic)
        .await
        .unwrap();
    assert_eq!(
        replaced.data.unwrap().into_iter().collect::<Vec<_>>(),
        [("m".into(), "4".into())]
    );
    let absent = refusal(api.patch("b", &PatchParams::default(), &merge).await);
    assert_eq!(absent.code, 404);
}

#[tokio::test]
async fn a_dry_run_decides_and_writes_nothing() {
    let (_, api) = config_maps();
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let made = api.create(&dry, &typed("a", "1")).await.unwrap();
    assert!(made.resource_version().is_none());
    assert!(api.get_opt("a").await.unwrap().is_none());
    let made = api
        .create(&PostParams::default(), &typed("a", "1"))
        .await
        .unwrap();
    let params = PatchParams::apply("me").dry_run().force();
    let patched = api
        .patch("a", &params, &Patch::Apply(typed("a", "2")))
        .await
        .unwrap();
    assert_eq!(patched.data.unwrap()["k"], "2");
    assert_eq!(api.get("a").await.unwrap(), made);
}

#[tokio::test]
async fn unknown_fields_are_dropped_unless_validation_is_strict() {
    let server = server();
    let api = dynamic(&server, "", "v1", "ConfigMap");
    let odd = object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "colour": "red"}),
    );
    let made = api.create(&PostParams::default(), &odd).await.unwrap();
    assert!(made.data.get("colour").is_none());
    let params = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let merge = Patch::Merge(json!({"colour": "red"}));
    let refused = refusal(api.patch("a", &params, &merge).await);
    assert_eq!(refused.code, 422);
    assert!(
        refused
            .message
            .contains("strict decoding error: unknown field \"colour\"")
    );
}

#[tokio::test]
async fn the_status_is_written_on_its_own() {
    let server = server();
    let api: Api<Deployment> = Api::default_namespaced(server.client("default"));
    let deployment: Deployment = serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}},
        "status": {"replicas": 5}}))
    .unwrap();
    let made = api
        .create(&PostParams::default(), &deployment)
        .await
        .unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    assert_eq!(made.spec.as_ref().unwrap().replicas, Some(1));
    assert!(
        made.status
            .as_ref()
            .is_none_or(|status| status.replicas.is_none())
    );
    let status = Patch::Merge(
        json!({"spec": {"replicas": 7}, "status": {"replicas": 2, "observedGeneration": 1}}),
    );
    let with_status = api
        .patch_status("a", &PatchParams::default(), &status)
        .await
        .unwrap();
    assert_eq!(with_status.spec.as_ref().unwrap().replicas, Some(1));
    assert_eq!(with_status.status.as_ref().unwrap().replicas, Some(2));
    assert_eq!(with_status.metadata.generation, Some(1));
    let main = Patch::Merge(json!({"spec": {"replicas": 7}, "status": {"replicas": 9}}));
    let changed = api
        .patch("a", &PatchParams::default(), &main)
        .await
        .unwrap();
    assert_eq!(changed.spec.unwrap().replicas, Some(7));
    assert_eq!(changed.status.unwrap().replicas, Some(2));
    assert_eq!(changed.metadata.generation, Some(2));
}

#[tokio::test]
async fn built_in_kinds_have_their_own_rules() {
    let server = server();
    let secrets: Api<Secret> = Api::default_namespaced(server.client("default"));
    let secret: Secret =
        serde_json::from_value(json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}}))
            .unwrap();
    let made = secrets
        .create(&PostParams::default(), &secret)
        .await
        .unwrap();
    assert_eq!(made.type_.as_deref(), Some("Opaque"));
    assert_eq!(made.data.unwrap()["a"].0, b"b");
    let change = Patch::Merge(json!({"type": "other"}));
    assert_eq!(
        refusal(secrets.patch("s", &PatchParams::default(), &change).await).code,
        422
    );
    let namespaces: Api<Namespace> = Api::all(server.client("default"));
    let namespace = namespaces.get("default").await.unwrap();
    assert_eq!(namespace.labels()["kubernetes.io/metadata.name"], "default");
    assert_eq!(namespace.status.unwrap().phase.as_deref(), Some("Active"));
}

#[tokio::test]
async fn too_large_an_object_is_not_stored() {
    let (_, api) = config_maps();
    let big = "x".repeat(1000 * 1000);
    let mut object = typed("a", &big);
    object.metadata.annotations = Some([("a".to_owned(), "x".repeat(200_000))].into());
    api.create(&PostParams::default(), &object).await.unwrap();
    let huge = typed("b", &"x".repeat(1024 * 1024 + 1));
    assert_eq!(
        refusal(api.create(&PostParams::default(), &huge).await).code,
        422
    );
    let endless = typed("c", &"x".repeat(4 * 1024 * 1024));
    let refused = refusal(api.create(&PostParams::default(), &endless).await);
    assert_eq!(refused.code, 413);
    assert_eq!(
        refused.message,
        "Request entity too large: limit is 3145728"
    );
}
