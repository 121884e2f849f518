//! The life of a CustomResourceDefinition: accepted, served, changed, gone.

use serde_json::{Value as Json, json};

use super::{behaviours, widget, with_spec};
use crate::reply::Reply;
use crate::session::Session;

fn text_schema() -> Json {
    with_spec(&json!({"text": {"type": "string"}}))
}

fn own(s: &Session, version: &str, spec: &Json) -> Json {
    json!({
        "apiVersion": format!("{}/{version}", s.group()), "kind": "Widget",
        "metadata": {"name": "a"}, "spec": spec,
    })
}

/// Where the behaviour's definition is.
fn path(s: &Session) -> String {
    format!("customresourcedefinitions/widgets.{}", s.group())
}

/// Whether a definition has a condition of this status.
fn is(reply: &Reply, condition: &str, status: &str) -> bool {
    let conditions = reply.body["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == condition && one["status"] == status)
}

async fn established(s: &Session, path: &str) {
    s.until(path, |reply| is(reply, "Established", "True"))
        .await;
}

async fn a_definition_is_accepted_and_served(s: &Session) {
    let mut definition = widget(s, &text_schema());
    let names =
        json!({"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]});
    definition["spec"]["names"] = names;
    s.post("customresourcedefinitions", &definition).await;
    established(s, &path(s)).await;
    s.until(&format!("/apis/{}/v1", s.group()), |reply| {
        reply.status == 200
    })
    .await;
    s.until(&format!("/apis/{}", s.group()), |reply| reply.status == 200)
        .await;
    s.post("customresourcedefinitions", &definition).await;
    s.post("widgets", &own(s, "v1", &json!({"text": "a"})))
        .await;
}

async fn a_definition_that_is_applied_again_stays(s: &Session) {
    let definition = widget(s, &text_schema());
    let path = format!("{}?fieldManager=b", path(s));
    s.apply(&path, &definition).await;
    established(s, &path).await;
    s.apply(&path, &definition).await;
    let mut other = definition;
    other["spec"]["names"]["shortNames"] = json!(["wi"]);
    s.apply(&path, &other).await;
}

async fn an_unknown_definition_is_not_served(s: &Session) {
    s.get("widgets").await;
    s.get(&path(s)).await;
    s.get(&format!("/apis/{}/v1", s.group())).await;
    let mut definition = widget(s, &text_schema());
    definition["spec"]["versions"][0]["served"] = json!(false);
    s.post("customresourcedefinitions", &definition).await;
    established(s, &path(s)).await;
    s.get("widgets").await;
}

async fn a_definition_goes_with_its_objects(s: &Session) {
    let definition = widget(s, &text_schema());
    s.install(&definition).await;
    s.post("widgets", &own(s, "v1", &json!({"text": "a"})))
        .await;
    s.delete(&path(s)).await;
    s.until(&path(s), |reply| reply.status == 404).await;
    s.until("widgets", |reply| reply.status == 404).await;
    s.get("widgets/a").await;
    s.install(&definition).await;
    s.get("widgets/a").await;
    s.post("widgets", &own(s, "v1", &json!({"text": "b"})))
        .await;
}

/// A definition that is being deleted, and the object that holds it up.
async fn hold_up(s: &Session) -> Json {
    s.install(&widget(s, &text_schema())).await;
    let mut object = own(s, "v1", &json!({"text": "a"}));
    object["metadata"]["finalizers"] = json!(["capstan.dev/held"]);
    s.post("widgets", &object).await;
    s.delete(&path(s)).await;
    s.until(&path(s), |reply| {
        reply.text.contains("InstanceDeletionInProgress")
    })
    .await;
    // The real server says so before it marks the object.
    s.meet("widgets/a", is_marked).await;
    object
}

fn is_marked(reply: &Reply) -> bool {
    !reply.at("/metadata/deletionTimestamp").is_empty()
}

async fn a_definition_waits_for_the_finalizers_of_its_objects(s: &Session) {
    let mut object = hold_up(s).await;
    s.get("widgets/a").await;
    object["metadata"]["name"] = json!("b");
    s.post("widgets", &object).await;
    s.merge("widgets/a", &json!({"metadata": {"finalizers": null}}))
        .await;
    s.until(&path(s), |reply| reply.status == 404).await;
}

/// The second time it is deleted as any object is.
async fn a_definition_that_is_held_is_deleted_again(s: &Session) {
    hold_up(s).await;
    s.delete(&path(s)).await;
    s.get(&path(s)).await;
    s.delete(&path(s)).await;
    s.merge("widgets/a", &json!({"metadata": {"finalizers": null}}))
        .await;
    s.until(&path(s), |reply| reply.status == 404).await;
}

/// The second of two kinds of one name waits until the first is gone.
async fn a_name_belongs_to_one_definition(s: &Session) {
    let first = widget(s, &text_schema());
    s.install(&first).await;
    let mut second = first.clone();
    second["metadata"]["name"] = json!(format!("gadgets.{}", s.group()));
    second["spec"]["names"] = json!({
        "plural": "gadgets", "singular": "gadget", "kind": "Widget", "listKind": "GadgetList",
    });
    s.post("customresourcedefinitions", &second).await;
    let path = format!("customresourcedefinitions/gadgets.{}", s.group());
    s.until(&path, |reply| is(reply, "NamesAccepted", "False"))
        .await;
    s.get(&format!("/apis/{}/v1/gadgets", s.group())).await;
    s.delete(&self::path(s)).await;
    established(s, &path).await;
}

async fn a_taken_name_is_named(s: &Session) {
    let first = widget(s, &text_schema());
    s.install(&first).await;
    for (at, (key, name)) in [
        ("singular", "widget"),
        ("listKind", "WidgetList"),
        ("kind", "WidgetList"),
        ("singular", "widgets"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut other = first.clone();
        let plural = format!("gadgets{at}");
        other["metadata"]["name"] = json!(format!("{plural}.{}", s.group()));
        other["spec"]["names"] = json!({
            "plural": plural, "singular": format!("gadget{at}"),
            "kind": format!("Gadget{at}"), "listKind": format!("Gadget{at}List"),
        });
        other["spec"]["names"][key] = json!(name);
        s.post("customresourcedefinitions", &other).await;
        let path = format!("customresourcedefinitions/{plural}.{}", s.group());
        s.until(&path, |reply| is(reply, "NamesAccepted", "False"))
            .await;
    }
}

async fn scope_group_and_names_stay(s: &Session) {
    s.install(&widget(s, &text_schema())).await;
    established(s, &path(s)).await;
    for change in [
        json!({"scope": "Cluster"}),
        json!({"group": "other.capstan.dev"}),
        json!({"names": {"plural": "gadgets"}}),
        json!({"names": {"kind": "Gadget"}}),
        json!({"names": {"listKind": "ListOfWidgets", "singular": "wid", "shortNames": ["w"]}}),
        json!({"preserveUnknownFields": true}),
    ] {
        s.note(&change.to_string());
        s.merge(&path(s), &json!({"spec": change})).await;
    }
}

async fn names_change_when_nobody_has_them(s: &Session) {
    s.install(&widget(s, &text_schema())).await;
    established(s, &path(s)).await;
    let names = json!({"singular": "wid", "listKind": "WidList", "shortNames": ["wx"], "categories": ["wide"]});
    s.merge(&path(s), &json!({"spec": {"names": names}})).await;
    s.until(&path(s), |reply| {
        reply.at("/status/acceptedNames/singular") == "wid"
    })
    .await;
    s.until("widgets", |reply| reply.at("/kind") == "WidList")
        .await;
}

async fn a_new_schema_holds_from_then_on(s: &Session) {
    s.install(&widget(s, &text_schema())).await;
    let spec = json!({"text": "a", "more": 1});
    s.post("widgets", &own(s, "v1", &spec)).await;
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let more = json!([{"op": "add", "path": format!("{at}/more"), "value": {"type": "integer", "default": 5}}]);
    s.json_patch(&path(s), &more).await;
    s.until("widgets/a", |reply| reply.body["spec"]["more"] == 5)
        .await;
    s.merge("widgets/a", &json!({"spec": {"more": 6}})).await;
    let less = json!([{"op": "remove", "path": format!("{at}/more")}]);
    s.json_patch(&path(s), &less).await;
    s.until("widgets/a", |reply| reply.body["spec"]["more"].is_null())
        .await;
    s.merge("widgets/a", &json!({"spec": {"more": 7}})).await;
}

fn two_versions(s: &Session) -> Json {
    let mut definition = widget(s, &text_schema());
    let second = json!({
        "name": "v2", "served": true, "storage": false,
        "schema": {"openAPIV3Schema": with_spec(&json!({
            "text": {"type": "string"}, "more": {"type": "integer"},
        }))},
    });
    let versions = definition["spec"]["versions"].as_array_mut();
    versions.expect("a list").push(second);
    definition
}

fn other(s: &Session, version: &str, rest: &str) -> String {
    let (group, namespace) = (s.group(), &s.namespace);
    format!("/apis/{group}/{version}/namespaces/{namespace}/widgets{rest}")
}

async fn every_version_shows_the_same_objects(s: &Session) {
    s.install(&two_versions(s)).await;
    s.until(&other(s, "v2", ""), |reply| reply.status == 200)
        .await;
    let spec = json!({"text": "a", "more": 1});
    s.post(&other(s, "v2", ""), &own(s, "v2", &spec)).await;
    s.get("widgets/a").await;
    s.get(&other(s, "v2", "/a")).await;
    s.merge(
        &other(s, "v2", "/a"),
        &json!({"spec": {"more": 2, "text": "b"}}),
    )
    .await;
    let text = json!({"text": "a"});
    s.put(&other(s, "v2", "/a"), &own(s, "v1", &text)).await;
    s.get(&other(s, "v2", "")).await;
    s.get(&other(s, "v3", "")).await;
}

async fn versions_come_and_go(s: &Session) {
    s.install(&widget(s, &text_schema())).await;
    s.post("widgets", &own(s, "v1", &json!({"text": "a"})))
        .await;
    s.merge(
        &path(s),
        &json!({"spec": {"versions": two_versions(s)["spec"]["versions"]}}),
    )
    .await;
    s.until(&other(s, "v2", "/a"), |reply| reply.status == 200)
        .await;
    let moved = json!([
        {"op": "replace", "path": "/spec/versions/0/storage", "value": false},
        {"op": "replace", "path": "/spec/versions/1/storage", "value": true},
    ]);
    s.json_patch(&path(s), &moved).await;
    let dropped = json!([{"op": "remove", "path": "/spec/versions/0"}]);
    s.json_patch(&path(s), &dropped).await;
    s.json_patch(
        &format!("{}/status", path(s)),
        &json!([{"op": "replace", "path": "/status/storedVersions", "value": ["v2"]}]),
    )
    .await;
    s.json_patch(&path(s), &dropped).await;
    s.until("widgets", |reply| reply.status == 404).await;
}

async fn a_version_is_no_longer_served(s: &Session) {
    s.install(&two_versions(s)).await;
    s.until(&other(s, "v2", ""), |reply| reply.status == 200)
        .await;
    let unserved = json!([{"op": "replace", "path": "/spec/versions/1/served", "value": false}]);
    s.json_patch(&path(s), &unserved).await;
    s.until(&other(s, "v2", ""), |reply| reply.status == 404)
        .await;
    s.until("widgets", |reply| reply.status == 200).await;
}

async fn a_deprecated_version_warns(s: &Session) {
    let mut definition = two_versions(s);
    definition["spec"]["versions"][0]["deprecated"] = json!(true);
    definition["spec"]["versions"][1]["deprecated"] = json!(true);
    definition["spec"]["versions"][1]["deprecationWarning"] = json!("use \"v1\"");
    s.install(&definition).await;
    s.get("widgets").await;
    s.until(&other(s, "v2", ""), |reply| reply.status == 200)
        .await;
}

async fn columns_and_selectable_fields_are_kept(s: &Session) {
    let mut definition = widget(s, &text_schema());
    let version = &mut definition["spec"]["versions"][0];
    version["additionalPrinterColumns"] =
        json!([{"name": "Text", "type": "string", "jsonPath": ".spec.text"}]);
    version["selectableFields"] = json!([{"jsonPath": ".spec.text"}]);
    s.install(&definition).await;
    established(s, &path(s)).await;
    s.post("widgets", &own(s, "v1", &json!({"text": "a"})))
        .await;
    s.get("widgets?fieldSelector=spec.text%3Da").await;
    s.get("widgets?fieldSelector=spec.text%3Db").await;
    s.get("widgets?fieldSelector=spec.more%3Db").await;
}

async fn a_definition_is_changed_from_what_it_is(s: &Session) {
    let mut definition = widget(s, &text_schema());
    s.install(&definition).await;
    established(s, &path(s)).await;
    s.put(&path(s), &definition).await;
    let live = s.get(&path(s)).await;
    definition["metadata"]["resourceVersion"] = json!(live.version());
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = json!("x");
    s.put(&path(s), &definition).await;
    s.put(&path(s), &definition).await;
    s.merge(
        &format!("{}/status", path(s)),
        &json!({"spec": {"scope": "Cluster"}}),
    )
    .await;
}

/// As Go's types write it, which leave out what is empty.
async fn what_says_nothing_is_left_out(s: &Session) {
    let schema = json!({
        "type": "object", "title": "", "description": "", "nullable": false, "required": [],
        "x-kubernetes-validations": [],
        "properties": {
            "spec": {"type": "object", "properties": {}, "x-kubernetes-embedded-resource": false},
            "number": {
                "type": "number", "minimum": 0.0, "maximum": 1e3, "multipleOf": 0.5, "default": 2.5,
                "exclusiveMinimum": false, "exclusiveMaximum": true, "format": "",
            },
            "text": {
                "type": "string", "minLength": 0, "pattern": "", "enum": ["", "a"], "default": "",
                "anyOf": [], "allOf": [{"minLength": 0, "nullable": false}], "externalDocs": {},
            },
            "list": {
                "type": "array", "uniqueItems": false, "minItems": 0, "default": [],
                "items": {"type": "object", "default": {}, "x-kubernetes-int-or-string": false},
                "x-kubernetes-list-map-keys": [],
            },
            "map": {
                "type": "object", "default": null, "nullable": true,
                "additionalProperties": {"type": "boolean", "default": false, "title": ""},
            },
        },
    });
    let mut definition = widget(s, &schema);
    definition["spec"]["preserveUnknownFields"] = json!(false);
    definition["spec"]["names"]["shortNames"] = json!([]);
    definition["spec"]["names"]["categories"] = json!([]);
    let version = &mut definition["spec"]["versions"][0];
    version["deprecated"] = json!(false);
    version["deprecationWarning"] = Json::Null;
    version["subresources"] = json!({});
    version["selectableFields"] = json!([]);
    version["additionalPrinterColumns"] = json!([
        {"name": "A", "type": "string", "jsonPath": ".text", "priority": 0, "format": "", "description": ""},
    ]);
    let path = format!("{}?dryRun=All&fieldManager=one", path(s));
    s.apply(&path, &definition).await;
    s.post("customresourcedefinitions?dryRun=All", &definition)
        .await;
}

behaviours! { Api:
    a_definition_goes_with_its_objects,
    a_definition_is_accepted_and_served,
    a_definition_is_changed_from_what_it_is,
    a_definition_that_is_applied_again_stays,
    a_definition_that_is_held_is_deleted_again,
    a_definition_waits_for_the_finalizers_of_its_objects,
    a_deprecated_version_warns,
    a_name_belongs_to_one_definition,
    a_new_schema_holds_from_then_on,
    a_taken_name_is_named,
    a_version_is_no_longer_served,
    an_unknown_definition_is_not_served,
    columns_and_selectable_fields_are_kept,
    every_version_shows_the_same_objects,
    names_change_when_nobody_has_them,
    scope_group_and_names_stay,
    versions_come_and_go,
    what_says_nothing_is_left_out,
}
