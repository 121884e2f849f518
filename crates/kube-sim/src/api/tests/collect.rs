//! Finalizers, owners and namespaces.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::{Value, json};

use super::{Server, apply, config_map, config_maps, refusal};

async fn make(api: &Api<ConfigMap>, name: &str, metadata: Value) -> ConfigMap {
    let mut object = config_map(name, json!({}));
    super::super::patch::merge(&mut object["metadata"], metadata);
    let object: ConfigMap = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

fn owned_by(owner: &ConfigMap, blocks: bool) -> Value {
    json!({"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap",
        "name": owner.name_any(), "uid": owner.uid(), "blockOwnerDeletion": blocks}]})
}

async fn is_there(api: &Api<ConfigMap>, name: &str) -> bool {
    api.get_opt(name).await.unwrap().is_some()
}

async fn set_finalizers(
    api: &Api<ConfigMap>,
    name: &str,
    finalizers: Value,
) -> kube::Result<ConfigMap> {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    api.patch(name, &PatchParams::default(), &patch).await
}

#[tokio::test]
async fn an_object_stays_until_its_finalizers_are_gone() {
    let (_, api) = config_maps();
    make(&api, "a", json!({"finalizers": ["example.com/x"]})).await;
    let going = api.delete("a", &DeleteParams::default()).await.unwrap();
    let going = going.left().unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    assert_eq!(going.metadata.deletion_grace_period_seconds, Some(0));
    let again = api.delete("a", &DeleteParams::default()).await.unwrap();
    assert_eq!(again.left().unwrap(), going);
    let more = json!(["example.com/x", "example.com/y"]);
    let refused = refusal(set_finalizers(&api, "a", more).await);
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message,
        "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{\"example.com/y\"}"
    );
    let last = set_finalizers(&api, "a", Value::Null).await.unwrap();
    assert!(last.finalizers().is_empty());
    assert!(!is_there(&api, "a").await);
}

#[tokio::test]
async fn a_deletion_reports_what_it_deleted() {
    let (_, api) = config_maps();
    let made = make(&api, "a", json!({})).await;
    let wrong = DeleteParams::default().preconditions(Preconditions {
        uid: Some("other".into()),
        resource_version: None,
    });
    let refused = refusal(api.delete("a", &wrong).await);
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    assert!(
        refused
            .message
            .contains("the UID in the precondition (other) does not match the UID in record")
    );
    let dry = DeleteParams {
        dry_run: true,
        ..DeleteParams::default()
    };
    api.delete("a", &dry).await.unwrap();
    let right = DeleteParams::default().preconditions(Preconditions {
        uid: made.uid(),
        resource_version: made.resource_version(),
    });
    let status = api.delete("a", &right).await.unwrap().right().unwrap();
    assert_eq!(status.details.unwrap().uid, made.uid().unwrap());
    assert_eq!(refusal(api.delete("a", &right).await).code, 404);
}

#[tokio::test]
async fn dependents_go_after_their_owner() {
    let (_, api) = config_maps();
    let owner = make(&api, "owner", json!({})).await;
    let child = make(&api, "child", owned_by(&owner, true)).await;
    make(&api, "grandchild", owned_by(&child, true)).await;
    api.delete("owner", &DeleteParams::background())
        .await
        .unwrap();
    assert!(!is_there(&api, "child").await);
    assert!(!is_there(&api, "grandchild").await);
}

#[tokio::test]
async fn a_foreground_deletion_waits_for_dependents_that_block_it() {
    let (_, api) = config_maps();
    let owner = make(&api, "owner", json!({})).await;
    make(&api, "child", owned_by(&owner, true)).await;
    set_finalizers(&api, "child", json!(["example.com/x"]))
        .await
        .unwrap();
    let waiting = api
        .delete("owner", &DeleteParams::foreground())
        .await
        .unwrap();
    assert_eq!(waiting.left().unwrap().finalizers(), ["foregroundDeletion"]);
    let child = api.get("child").await.unwrap();
    assert!(child.metadata.deletion_timestamp.is_some());
    assert!(is_there(&api, "owner").await);
    set_finalizers(&api, "child", Value::Null).await.unwrap();
    assert!(!is_there(&api, "owner").await);
    let alone = make(&api, "alone", json!({})).await;
    api.delete(&alone.name_any(), &DeleteParams::foreground())
        .await
        .unwrap();
    assert!(!is_there(&api, "alone").await);
}

#[tokio::test]
async fn owners_in_a_circle_do_not_wait_for_each_other() {
    let (_, api) = config_maps();
    let a = make(&api, "a", json!({})).await;
    let b = make(&api, "b", owned_by(&a, true)).await;
    let back = Patch::Merge(json!({"metadata": owned_by(&b, true)}));
    api.patch("a", &PatchParams::default(), &back)
        .await
        .unwrap();
    assert!(is_there(&api, "a").await && is_there(&api, "b").await);
    api.delete("a", &DeleteParams::foreground()).await.unwrap();
    assert!(!is_there(&api, "a").await);
    assert!(!is_there(&api, "b").await);
}

#[tokio::test]
async fn orphans_lose_their_owner_and_stay() {
    let (_, api) = config_maps();
    let owner = make(&api, "owner", json!({})).await;
    make(&api, "child", owned_by(&owner, true)).await;
    api.delete("owner", &DeleteParams::orphan()).await.unwrap();
    assert!(!is_there(&api, "owner").await);
    assert!(
        api.get("child")
            .await
            .unwrap()
            .owner_references()
            .is_empty()
    );
}

#[tokio::test]
async fn an_owner_that_is_not_there_is_none() {
    let (_, api) = config_maps();
    let owner = make(&api, "owner", json!({})).await;
    let mut stranger = owner.clone();
    stranger.metadata.uid = Some("00000000-0000-4000-8000-00000000dead".into());
    let orphan = make(&api, "orphan", owned_by(&stranger, false)).await;
    assert!(!is_there(&api, &orphan.name_any()).await);
    let mut both = owned_by(&owner, false);
    let other = owned_by(&stranger, false)["ownerReferences"][0].clone();
    both["ownerReferences"].as_array_mut().unwrap().push(other);
    make(&api, "kept", both).await;
    let kept = api.get("kept").await.unwrap();
    assert_eq!(kept.owner_references().len(), 1);
    assert_eq!(kept.owner_references()[0].uid, owner.uid().unwrap());
    let mut unknown = owned_by(&owner, false);
    unknown["ownerReferences"][0]["kind"] = json!("Unheard");
    make(&api, "unknown", unknown).await;
    assert!(is_there(&api, "unknown").await);
}

async fn namespace(server: &Server, name: &str) -> (Api<Namespace>, Api<ConfigMap>) {
    let namespaces: Api<Namespace> = Api::all(server.client("default"));
    let made: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    (namespaces, Api::namespaced(server.client("default"), name))
}

#[tokio::test]
async fn a_namespace_takes_its_content_along() {
    let (server, _) = config_maps();
    let (namespaces, inside) = namespace(&server, "team").await;
    make(&inside, "a", json!({})).await;
    make(&inside, "b", json!({"finalizers": ["example.com/x"]})).await;
    let going = namespaces
        .delete("team", &DeleteParams::default())
        .await
        .unwrap();
    let phase = going.left().unwrap().status.unwrap().phase;
    assert_eq!(phase.as_deref(), Some("Terminating"));
    assert!(!is_there(&inside, "a").await);
    let refused = refusal(apply(&inside, "me", config_map("c", json!({}))).await);
    assert_eq!((refused.code, refused.reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        refused.message,
        "configmaps \"c\" is forbidden: unable to create new content in namespace team because it is being terminated"
    );
    assert_eq!(
        refused.details.unwrap().causes[0].reason,
        "NamespaceTerminating"
    );
    assert!(namespaces.get_opt("team").await.unwrap().is_some());
    set_finalizers(&inside, "b", Value::Null).await.unwrap();
    assert!(namespaces.get_opt("team").await.unwrap().is_none());
    let immortal = namespaces.delete("default", &DeleteParams::default()).await;
    assert_eq!(
        refusal(immortal).message,
        "namespaces \"default\" is forbidden: this namespace may not be deleted"
    );
}

#[tokio::test]
async fn two_servers_given_the_same_requests_are_equal() {
    let run = || async {
        let (server, api) = config_maps();
        let owner = make(&api, "owner", json!({})).await;
        make(&api, "child", owned_by(&owner, true)).await;
        apply(&api, "me", config_map("b", json!({"x": "y"})))
            .await
            .unwrap();
        server.snapshot()
    };
    let first = run().await;
    assert_eq!(first, run().await);
    assert_eq!(first.len(), 5);
}
