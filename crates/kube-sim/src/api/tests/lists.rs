//! Lists: selectors, pages, metadata only.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;

use super::{apply, config_map, config_maps, refusal};

fn names(list: &kube::api::ObjectList<ConfigMap>) -> Vec<String> {
    list.items.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn selectors_choose() {
    let (server, api) = config_maps();
    for (name, env) in [("a", "test"), ("b", "prod"), ("c", "prod")] {
        let mut object = config_map(name, json!({}));
        object["metadata"]["labels"] = json!({"env": env});
        apply(&api, "me", object).await.unwrap();
    }
    let by = |selector: &str| {
        let (api, params) = (api.clone(), ListParams::default().labels(selector));
        async move { names(&api.list(&params).await.unwrap()) }
    };
    assert_eq!(by("env=prod").await, ["b", "c"]);
    assert_eq!(by("env in (test,dev)").await, ["a"]);
    assert_eq!(by("env,env notin (test)").await, ["b", "c"]);
    assert_eq!(by("!env").await, [""; 0]);
    let field = ListParams::default().fields("metadata.name=b,metadata.namespace=default");
    assert_eq!(names(&api.list(&field).await.unwrap()), ["b"]);
    let all: Api<ConfigMap> = Api::all(server.client("default"));
    assert_eq!(names(&all.list(&field).await.unwrap()), ["b"]);
    let unknown = refusal(api.list(&ListParams::default().fields("data.k=v")).await);
    let message =
        r#""data.k" is not a known field selector: only "metadata.name", "metadata.namespace""#;
    assert_eq!((unknown.code, unknown.message.as_str()), (400, message));
    let namespaces: Api<Namespace> = Api::all(server.client("default"));
    let active = namespaces
        .list(&ListParams::default().fields("status.phase=Active"))
        .await;
    assert_eq!(active.unwrap().items.len(), 2);
}

#[tokio::test]
async fn pages_show_one_state() {
    let (server, api) = config_maps();
    for name in ["a", "b", "c", "d", "e"] {
        apply(&api, "me", config_map(name, json!({})))
            .await
            .unwrap();
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    api.delete("d", &DeleteParams::default()).await.unwrap();
    apply(&api, "me", config_map("cc", json!({})))
        .await
        .unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = api
        .list(&ListParams::default().limit(9).continue_token(&token))
        .await
        .unwrap();
    assert_eq!(names(&rest), ["c", "d", "e"]);
    assert_eq!(
        rest.metadata.resource_version,
        first.metadata.resource_version
    );
    server.compact();
    let expired = refusal(
        api.list(&ListParams::default().limit(9).continue_token(&token))
            .await,
    );
    assert_eq!((expired.code, expired.reason.as_str()), (410, "Expired"));
}

#[tokio::test]
async fn metadata_can_be_asked_for_alone() {
    let (_, api) = config_maps();
    let mut object = config_map("a", json!({"secret": "value"}));
    object["metadata"]["labels"] = json!({"x": "y"});
    apply(&api, "me", object).await.unwrap();
    let one = api.get_metadata("a").await.unwrap();
    assert_eq!(one.types.as_ref().unwrap().kind, "PartialObjectMetadata");
    assert_eq!(one.labels()["x"], "y");
    let list = api.list_metadata(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].name_any(), "a");
    assert_eq!(list.types.kind, "PartialObjectMetadataList");
    let text = serde_json::to_string(&list).unwrap();
    assert!(!text.contains("value"));
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let (_, api) = config_maps();
    for (name, label) in [("a", "x"), ("b", "y"), ("c", "x")] {
        let mut object: ConfigMap = serde_json::from_value(config_map(name, json!({}))).unwrap();
        object.metadata.labels = Some([("l".to_owned(), label.to_owned())].into());
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let chosen = ListParams::default().labels("l=x");
    let deleted = api
        .delete_collection(&DeleteParams::default(), &chosen)
        .await
        .unwrap();
    assert_eq!(names(&deleted.left().unwrap()), ["a", "c"]);
    assert_eq!(
        names(&api.list(&ListParams::default()).await.unwrap()),
        ["b"]
    );
}
