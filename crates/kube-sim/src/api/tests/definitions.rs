//! CustomResourceDefinitions and what they add.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::{Condition, await_condition};
use serde_json::{Value, json};

use super::{Server, dynamic, object, refusal, server};

fn definition() -> Value {
    let schema = |properties: Value| {
        json!({"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "required": ["size"], "properties": properties},
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        }}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                 "schema": schema(json!({
                    "size": {"type": "integer", "minimum": 1},
                    "colour": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                    "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {
                            "name": {"type": "string"}, "n": {"type": "integer"}}}}}))},
                {"name": "v2", "served": true, "storage": false, "subresources": {"status": {}},
                 "schema": schema(json!({"size": {"type": "integer"}, "weight": {"type": "integer"}}))},
            ],
        },
    })
}

fn definitions(server: &Server) -> Api<CustomResourceDefinition> {
    Api::all(server.client("default"))
}

async fn install(server: &Server) -> Api<DynamicObject> {
    let definition = serde_json::from_value(definition()).unwrap();
    let api = definitions(server);
    api.create(&PostParams::default(), &definition)
        .await
        .unwrap();
    dynamic(server, "example.com", "v1", "Widget")
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

async fn create(api: &Api<DynamicObject>, value: Value) -> kube::Result<DynamicObject> {
    api.create(&PostParams::default(), &object(value)).await
}

#[tokio::test]
async fn a_definition_is_accepted_established_and_served() {
    let server = server();
    let widgets = dynamic(&server, "example.com", "v1", "Widget");
    assert_eq!(
        refusal(widgets.list(&ListParams::default()).await).code,
        404
    );
    install(&server).await;
    let api = definitions(&server);
    let established = await_condition(api.clone(), "widgets.example.com", is_crd_established());
    established.await.unwrap();
    let made = api.get("widgets.example.com").await.unwrap();
    assert!(is_crd_established().matches_object(Some(&made)));
    let status = made.status.unwrap();
    assert_eq!(status.stored_versions.unwrap(), ["v1"]);
    let names = status.accepted_names.unwrap();
    assert_eq!(
        (names.list_kind.as_deref(), names.singular.as_deref()),
        (Some("WidgetList"), Some("widget"))
    );
    let list = widgets.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.types.kind, "WidgetList");
    let served = server
        .client("default")
        .list_api_group_resources("example.com/v1")
        .await
        .unwrap();
    let names: Vec<&str> = served.resources.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["widgets", "widgets/status"]);
    assert_eq!(
        served.resources[0].short_names.as_deref(),
        Some(&["wd".to_owned()][..])
    );
}

#[tokio::test]
async fn objects_are_pruned_defaulted_and_validated() {
    let server = server();
    let widgets = install(&server).await;
    let made = create(&widgets, widget("a", json!({"size": 2, "taste": "sweet"})))
        .await
        .unwrap();
    assert_eq!(made.data["spec"], json!({"size": 2, "colour": "red"}));
    assert_eq!(made.metadata.generation, Some(1));
    let refused = refusal(
        create(
            &widgets,
            widget("b", json!({"size": "two", "colour": "green"})),
        )
        .await,
    );
    assert_eq!((refused.code, refused.reason.as_str()), (422, "Invalid"));
    let details = refused.details.unwrap();
    assert_eq!(
        (details.kind.as_str(), details.group.as_str()),
        ("Widget", "example.com")
    );
    let causes: Vec<(&str, &str)> = details
        .causes
        .iter()
        .map(|c| (c.reason.as_str(), c.field.as_str()))
        .collect();
    assert!(
        causes.contains(&("FieldValueTypeInvalid", "spec.size")),
        "{causes:?}"
    );
    assert!(
        causes.contains(&("FieldValueNotSupported", "spec.colour")),
        "{causes:?}"
    );
    let refused = refusal(create(&widgets, widget("b", json!({}))).await);
    assert_eq!(
        refused.message,
        "Widget.example.com \"b\" is invalid: spec.size: Required value"
    );
    let untyped = json!({"metadata": {"name": "c"}, "spec": {"size": 1}});
    assert_eq!(refusal(create(&widgets, untyped).await).code, 400);
    let bare = widget("a", json!({"size": 3}));
    let refused = refusal(
        widgets
            .replace("a", &PostParams::default(), &object(bare))
            .await,
    );
    assert!(
        refused.message.contains(
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
        )
    );
}

#[tokio::test]
async fn versions_show_one_object_each_in_its_own_way() {
    let server = server();
    let one = install(&server).await;
    let two = dynamic(&server, "example.com", "v2", "Widget");
    create(&one, widget("a", json!({"size": 2}))).await.unwrap();
    let seen = two.get("a").await.unwrap();
    assert_eq!(seen.types.as_ref().unwrap().api_version, "example.com/v2");
    assert_eq!(seen.data["spec"], json!({"size": 2}));
    let list = two.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].data["spec"], json!({"size": 2}));
    let mut value = widget("b", json!({"size": 1, "weight": 5}));
    value["apiVersion"] = json!("example.com/v2");
    create(&two, value).await.unwrap();
    // What the stored version does not know is lost, as on a real server.
    let seen = one.get("b").await.unwrap();
    assert_eq!(seen.data["spec"], json!({"size": 1, "colour": "red"}));
    assert_eq!(two.get("b").await.unwrap().data["spec"], json!({"size": 1}));
}

#[tokio::test]
async fn a_deletion_by_another_version_loses_nothing() {
    let server = server();
    let one = install(&server).await;
    let two = dynamic(&server, "example.com", "v2", "Widget");
    let mut kept = widget("a", json!({"size": 2, "colour": "blue"}));
    kept["metadata"]["finalizers"] = json!(["example.com/x"]);
    create(&one, kept).await.unwrap();
    two.delete("a", &DeleteParams::foreground()).await.unwrap();
    let going = one.get("a").await.unwrap();
    assert!(going.metadata.deletion_timestamp.is_some());
    assert_eq!(going.data["spec"]["colour"], "blue");
}

#[tokio::test]
async fn generation_counts_all_but_metadata_and_status() {
    let server = server();
    let widgets = install(&server).await;
    create(&widgets, widget("a", json!({"size": 2})))
        .await
        .unwrap();
    let merge = |patch: Value| {
        let widgets = widgets.clone();
        async move {
            let patch = Patch::Merge(patch);
            widgets
                .patch("a", &PatchParams::default(), &patch)
                .await
                .unwrap()
        }
    };
    let labelled =
        merge(json!({"metadata": {"labels": {"a": "b"}}, "status": {"ready": true}})).await;
    assert_eq!(labelled.metadata.generation, Some(1));
    assert!(labelled.data.get("status").is_none());
    let changed = merge(json!({"spec": {"size": 3}})).await;
    assert_eq!(changed.metadata.generation, Some(2));
    let status = Patch::Apply(
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "status": {"ready": true}}),
    );
    let ready = widgets
        .patch_status("a", &PatchParams::apply("controller"), &status)
        .await
        .unwrap();
    assert_eq!(ready.metadata.generation, Some(2));
    assert_eq!(ready.data["status"]["ready"], true);
    let entry = ready
        .managed_fields()
        .iter()
        .find(|e| e.manager.as_deref() == Some("controller"));
    let entry = entry.unwrap();
    assert_eq!(entry.subresource.as_deref(), Some("status"));
    assert_eq!(
        entry.fields_v1.as_ref().unwrap().0,
        json!({"f:status": {"f:ready": {}}})
    );
}

#[tokio::test]
async fn applies_merge_by_the_schema() {
    let server = server();
    let widgets = install(&server).await;
    let apply = |manager: &str, spec: Value| {
        let (widgets, params) = (widgets.clone(), PatchParams::apply(manager));
        async move {
            widgets
                .patch("a", &params, &Patch::Apply(widget("a", spec)))
                .await
        }
    };
    apply("one", json!({"size": 1, "parts": [{"name": "x", "n": 1}]}))
        .await
        .unwrap();
    let both = apply("two", json!({"parts": [{"name": "y", "n": 2}]}))
        .await
        .unwrap();
    assert_eq!(both.data["spec"]["parts"].as_array().unwrap().len(), 2);
    let refused = refusal(apply("two", json!({"parts": [{"name": "x", "n": 3}]})).await);
    assert_eq!(
        refused.message,
        "Apply failed with 1 conflict: conflict with \"one\": .spec.parts[name=\"x\"].n"
    );
    let refused = refusal(apply("one", json!({"size": 1, "taste": "sweet"})).await);
    assert_eq!(refused.code, 500);
    assert!(
        refused
            .message
            .ends_with(".spec.taste: field not declared in schema"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn a_definition_that_makes_no_sense_is_refused() {
    let server = server();
    let mut wrong = definition();
    wrong["metadata"]["name"] = json!("gadgets.example.com");
    let wrong = serde_json::from_value(wrong).unwrap();
    let refused = refusal(
        definitions(&server)
            .create(&PostParams::default(), &wrong)
            .await,
    );
    assert_eq!(
        refused.message,
        "CustomResourceDefinition.apiextensions.k8s.io \"gadgets.example.com\" is invalid: metadata.name: Invalid value: \"gadgets.example.com\": must be spec.names.plural+\".\"+spec.group"
    );
}

#[tokio::test]
async fn a_kind_belongs_to_the_first_who_takes_it() {
    let server = server();
    install(&server).await;
    let mut rival = definition();
    rival["metadata"]["name"] = json!("gadgets.example.com");
    rival["spec"]["names"]["plural"] = json!("gadgets");
    let rival = serde_json::from_value(rival).unwrap();
    let api = definitions(&server);
    api.create(&PostParams::default(), &rival).await.unwrap();
    let made = api.get("gadgets.example.com").await.unwrap();
    assert!(!is_crd_established().matches_object(Some(&made)));
    let conditions = made.status.unwrap().conditions.unwrap();
    let names = conditions
        .iter()
        .find(|c| c.type_ == "NamesAccepted")
        .unwrap();
    assert_eq!(names.status, "False");
}

#[tokio::test]
async fn a_changed_definition_shows_in_what_is_stored() {
    let server = server();
    let widgets = install(&server).await;
    create(&widgets, widget("a", json!({"size": 2})))
        .await
        .unwrap();
    let api = definitions(&server);
    let mut changed = serde_json::to_value(api.get("widgets.example.com").await.unwrap()).unwrap();
    let properties = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let properties = changed.pointer_mut(properties).unwrap();
    properties["finish"] = json!({"type": "string", "default": "matt"});
    let changed = serde_json::from_value(changed).unwrap();
    let stored = api
        .replace("widgets.example.com", &PostParams::default(), &changed)
        .await
        .unwrap();
    assert_eq!(stored.metadata.generation, Some(2));
    assert_eq!(
        widgets.get("a").await.unwrap().data["spec"]["finish"],
        "matt"
    );
    let list = widgets.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items[0].data["spec"]["finish"], "matt");
}

#[tokio::test(start_paused = true)]
async fn a_definition_takes_its_objects_along() {
    let server = server();
    let widgets = install(&server).await;
    let mut kept = widget("kept", json!({"size": 1}));
    kept["metadata"]["finalizers"] = json!(["example.com/x"]);
    create(&widgets, kept).await.unwrap();
    create(&widgets, widget("a", json!({"size": 1})))
        .await
        .unwrap();
    let watch = widgets
        .watch(&kube::api::WatchParams::default(), "0")
        .await
        .unwrap();
    let api = definitions(&server);
    api.delete("widgets.example.com", &DeleteParams::default())
        .await
        .unwrap();
    let going = api.get("widgets.example.com").await.unwrap();
    let conditions = going.status.unwrap().conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|c| c.type_ == "Terminating" && c.status == "True")
    );
    assert!(widgets.get_opt("a").await.unwrap().is_none());
    let refused = refusal(create(&widgets, widget("b", json!({"size": 1}))).await);
    assert_eq!(refused.code, 403);
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    widgets
        .patch("kept", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert!(api.get_opt("widgets.example.com").await.unwrap().is_none());
    assert_eq!(
        refusal(widgets.list(&ListParams::default()).await).code,
        404
    );
    let sent = futures::TryStreamExt::try_collect::<Vec<_>>(watch)
        .await
        .unwrap();
    let deleted = |event: &kube::api::WatchEvent<DynamicObject>| {
        matches!(event, kube::api::WatchEvent::Deleted(_))
    };
    assert_eq!(sent.iter().filter(|event| deleted(event)).count(), 2);
}
