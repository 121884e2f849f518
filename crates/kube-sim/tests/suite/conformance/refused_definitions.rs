//! Which CustomResourceDefinitions are refused, and with which messages.

use serde_json::{Value as Json, json};

use super::{behaviours, widget, with_spec};
use crate::session::{Ask, Session};

/// Tries a definition with each of these changes at JSON pointers; null takes out.
async fn tried(s: &Session, changes: &[(&str, Json)]) {
    let schema = with_spec(&json!({"text": {"type": "string"}}));
    for (at, value) in changes {
        let mut definition = widget(s, &schema);
        change(&mut definition, at, value);
        send(s, &format!("{at} {value}"), &definition).await;
    }
}

fn change(definition: &mut Json, at: &str, value: &Json) {
    let (parent, key) = at.rsplit_once('/').expect("a pointer");
    let parent = definition.pointer_mut(parent).expect("it is there");
    match value {
        Json::Null => parent.as_object_mut().expect("a map").remove(key),
        value => parent
            .as_object_mut()
            .expect("a map")
            .insert(key.to_owned(), value.clone()),
    };
}

pub(super) async fn send(s: &Session, note: &str, definition: &Json) {
    s.note(note);
    let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All").json(definition);
    let reply = s.send(ask.clone().silent()).await;
    if reply.status == 201 {
        return s.note("is taken");
    }
    s.send(ask.sorted()).await;
}

async fn a_definition_is_named_after_its_plural_and_group(s: &Session) {
    tried(
        s,
        &[
            ("/metadata/name", json!("widgets.example.com")),
            ("/metadata/name", json!("widgets")),
            ("/spec/group", json!("")),
            ("/spec/group", json!("example")),
            ("/spec/group", json!("Example.com")),
            ("/spec/names/plural", json!("")),
            ("/spec/names/plural", json!("Widgets")),
            ("/spec/names/plural", json!("widgets.x")),
        ],
    )
    .await;
}

async fn names_of_kinds_follow_their_rules(s: &Session) {
    tried(
        s,
        &[
            ("/spec/names/kind", json!("")),
            ("/spec/names/kind", json!("my kind")),
            ("/spec/names/kind", json!("1Kind")),
            ("/spec/names/listKind", json!("Widget")),
            ("/spec/names/listKind", json!("List_1")),
            ("/spec/names/singular", json!("Widget")),
            ("/spec/names/shortNames", json!(["w", "W"])),
            ("/spec/names/categories", json!(["all", "not all"])),
            ("/spec/names", json!({"plural": "widgets"})),
        ],
    )
    .await;
}

async fn a_scope_is_one_of_two(s: &Session) {
    tried(
        s,
        &[
            ("/spec/scope", json!("")),
            ("/spec/scope", json!("World")),
            ("/spec/scope", Json::Null),
            ("/spec/scope", json!("Cluster")),
        ],
    )
    .await;
}

async fn one_version_is_stored(s: &Session) {
    let schema = with_spec(&json!({"text": {"type": "string"}}));
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    for versions in [
        json!([]),
        json!([version("v1", false)]),
        json!([version("v1", true), version("v2", true)]),
        json!([version("v1", true), version("v1", false)]),
        json!([version("V1", true)]),
        json!([version("1", true)]),
    ] {
        let mut definition = widget(s, &schema);
        definition["spec"]["versions"] = versions;
        let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition);
        s.send(ask.gist()).await;
    }
}

async fn every_version_has_a_schema(s: &Session) {
    let at = "/spec/versions/0";
    for (rest, value) in [
        ("/schema", Json::Null),
        ("/schema", json!({})),
        ("/schema/openAPIV3Schema", json!({})),
        ("/schema/openAPIV3Schema", json!({"type": "string"})),
        (
            "/schema/openAPIV3Schema",
            json!({"type": "object", "nullable": true}),
        ),
        (
            "/schema/openAPIV3Schema",
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ),
        (
            "/schema/openAPIV3Schema",
            json!({"x-kubernetes-preserve-unknown-fields": true}),
        ),
        ("/schema/openAPIV3Schema", json!([])),
    ] {
        let mut definition = widget(s, &with_spec(&json!({})));
        let (parent, key) = rest.rsplit_once('/').expect("a pointer");
        let place = definition.pointer_mut(&format!("{at}{parent}"));
        let place = place.and_then(Json::as_object_mut).expect("a map");
        match &value {
            Json::Null => place.remove(key),
            value => place.insert(key.to_owned(), value.clone()),
        };
        s.note(&format!("{rest} {value}"));
        let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition);
        let ask = if value.is_array() {
            ask.gist()
        } else {
            ask.sorted()
        };
        s.send(ask).await;
    }
}

async fn a_status_subresource_leaves_the_root_plain(s: &Session) {
    let spec =
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    for schema in [
        json!({"type": "object", "properties": {"spec": spec}, "required": ["spec"], "description": "x"}),
        json!({"type": "object", "properties": {"spec": spec}, "anyOf": [{"required": ["spec"]}]}),
        json!({"type": "object", "properties": {"spec": spec}, "minProperties": 1}),
    ] {
        let mut definition = widget(s, &schema);
        definition["spec"]["versions"][0]["subresources"] = json!({"status": {}});
        s.note(&schema.to_string());
        let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition);
        s.send(ask.gist()).await;
    }
}

async fn a_scale_has_its_paths(s: &Session) {
    for scale in [
        json!({}),
        json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}),
        json!({"specReplicasPath": "spec.n", "statusReplicasPath": ".status.n"}),
        json!({"specReplicasPath": ".status.n", "statusReplicasPath": ".spec.n"}),
        json!({"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".selector"}),
    ] {
        let mut definition = widget(s, &with_spec(&json!({})));
        definition["spec"]["versions"][0]["subresources"] = json!({"scale": scale});
        send(s, &scale.to_string(), &definition).await;
    }
}

async fn a_column_has_a_name_a_type_and_a_path(s: &Session) {
    let column =
        |name: &str, kind: &str, path: &str| json!({"name": name, "type": kind, "jsonPath": path});
    for column in [
        column("Text", "string", ".spec.text"),
        column("", "string", ".spec.text"),
        column("Text", "", ".spec.text"),
        column("Text", "text", ".spec.text"),
        column("Text", "string", ""),
        column("Text", "string", "spec.text"),
        json!({"name": "Text", "type": "string", "jsonPath": ".spec.text", "format": "uri"}),
        json!({"name": "Text", "type": "date", "jsonPath": ".spec.text", "format": "date", "priority": 1}),
    ] {
        let mut definition = widget(s, &with_spec(&json!({})));
        definition["spec"]["versions"][0]["additionalPrinterColumns"] = json!([column]);
        send(s, &column.to_string(), &definition).await;
    }
}

async fn a_selectable_field_is_a_plain_value(s: &Session) {
    let fields = json!({
        "text": {"type": "string"}, "map": {"type": "object", "properties": {"a": {"type": "string"}}},
        "number": {"type": "number"}, "list": {"type": "array", "items": {"type": "string"}},
        "flag": {"type": "boolean"},
    });
    for paths in [
        json!([".spec.text", ".spec.map.a", ".spec.flag"]),
        json!([""]),
        json!(["spec.text"]),
        json!([".spec.none"]),
        json!([".spec.map"]),
        json!([".spec.number"]),
        json!([".spec.list[0]"]),
        json!([".metadata.name"]),
        json!([".spec.text", ".spec.text"]),
    ] {
        let mut definition = widget(s, &with_spec(&fields));
        let list: Vec<Json> = paths
            .as_array()
            .expect("a list")
            .iter()
            .map(|path| json!({"jsonPath": path}))
            .collect();
        definition["spec"]["versions"][0]["selectableFields"] = json!(list);
        send(s, &paths.to_string(), &definition).await;
    }
}

async fn a_deprecation_is_said_of_deprecated_versions(s: &Session) {
    for (deprecated, warning) in [(false, "x"), (true, "x"), (true, ""), (true, "a\nb")] {
        let mut definition = widget(s, &with_spec(&json!({})));
        let version = &mut definition["spec"]["versions"][0];
        version["deprecated"] = json!(deprecated);
        version["deprecationWarning"] = json!(warning);
        send(s, &format!("{deprecated} {warning:?}"), &definition).await;
    }
}

async fn a_conversion_is_none_or_a_webhook(s: &Session) {
    let service = json!({"namespace": "a", "name": "b", "path": "/c"});
    tried(
        s,
        &[
            ("/spec/conversion", json!({"strategy": "None"})),
            ("/spec/conversion", json!({"strategy": "Magic"})),
            ("/spec/conversion", json!({"strategy": ""})),
            ("/spec/conversion", json!({"strategy": "Webhook"})),
            ("/spec/conversion", json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}})),
            ("/spec/conversion", json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}})),
            ("/spec/conversion", json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9"], "clientConfig": {"service": service}}})),
            ("/spec/conversion", json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": [], "clientConfig": {}}})),
        ],
    )
    .await;
}

async fn a_group_of_kubernetes_needs_approval(s: &Session) {
    for (group, approval) in [
        ("a-group-of-kubernetes-needs-approval.k8s.io", None),
        (
            "a-group-of-kubernetes-needs-approval.k8s.io",
            Some("https://github.com/kubernetes/kubernetes/pull/1"),
        ),
        (
            "a-group-of-kubernetes-needs-approval.k8s.io",
            Some("unapproved, for a test"),
        ),
        (
            "a-group-of-kubernetes-needs-approval.kubernetes.io",
            Some("yes"),
        ),
        ("a-group-of-kubernetes-needs-approval.x-k8s.io", None),
    ] {
        let mut definition = widget(s, &with_spec(&json!({})));
        definition["metadata"]["name"] = json!(format!("widgets.{group}"));
        definition["spec"]["group"] = json!(group);
        if let Some(approval) = approval {
            definition["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": approval});
        }
        send(s, &format!("{group} {approval:?}"), &definition).await;
    }
}

async fn fields_of_a_definition_have_types(s: &Session) {
    for (at, value) in [
        ("/spec/scope", json!(5)),
        ("/spec/versions", json!({})),
        ("/spec/names/shortNames", json!("x")),
    ] {
        let mut definition = widget(s, &with_spec(&json!({})));
        change(&mut definition, at, &value);
        let ask = Ask::new("POST", "customresourcedefinitions?dryRun=All").json(&definition);
        s.send(ask.gist()).await;
    }
}

async fn unknown_fields_of_a_definition_are_told(s: &Session) {
    let mut definition = widget(
        s,
        &with_spec(&json!({"x": {"type": "string", "x-kubernetes-colour": "red", "const": 1}})),
    );
    definition["spec"]["colour"] = json!("red");
    definition["spec"]["versions"][0]["hue"] = json!(1);
    s.post("customresourcedefinitions?dryRun=All", &definition)
        .await;
    s.post(
        "customresourcedefinitions?fieldValidation=Strict",
        &definition,
    )
    .await;
}

async fn an_unknown_format_is_told(s: &Session) {
    let definition = widget(
        s,
        &with_spec(&json!({
            "a": {"type": "string", "format": "colour"},
            "b": {"type": "integer", "format": "int32"},
            "c": {"type": "string", "format": "date-time"},
        })),
    );
    s.post("customresourcedefinitions", &definition).await;
    let path = format!("customresourcedefinitions/widgets.{}?dryRun=All", s.group());
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    for format in ["colour", "shade"] {
        let field = json!({"type": "string", "format": format});
        let operation = json!({"op": "add", "path": format!("{at}/d"), "value": field});
        let ask = Ask::new("PATCH", &path);
        let ask = ask.body(
            "application/json-patch+json",
            json!([operation]).to_string(),
        );
        let reply = s.send(ask.silent()).await;
        s.note(&format!("{format}: {} {:?}", reply.status, reply.warnings));
    }
}

async fn a_changed_definition_is_checked_as_well(s: &Session) {
    s.install(&widget(s, &with_spec(&json!({"text": {"type": "string"}}))))
        .await;
    let path = format!("customresourcedefinitions/widgets.{}", s.group());
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/text";
    for operation in [
        json!({"op": "replace", "path": format!("{at}/type"), "value": "text"}),
        json!({"op": "add", "path": format!("{at}/default"), "value": 5}),
        json!({"op": "add", "path": format!("{at}/uniqueItems"), "value": true}),
        json!({"op": "replace", "path": "/spec/versions/0/name", "value": "v2"}),
    ] {
        s.note(&operation.to_string());
        s.json_patch(&path, &json!([operation])).await;
    }
}

behaviours! { Api:
    a_changed_definition_is_checked_as_well,
    a_column_has_a_name_a_type_and_a_path,
    a_conversion_is_none_or_a_webhook,
    a_definition_is_named_after_its_plural_and_group,
    a_deprecation_is_said_of_deprecated_versions,
    a_group_of_kubernetes_needs_approval,
    a_scale_has_its_paths,
    a_scope_is_one_of_two,
    a_selectable_field_is_a_plain_value,
    a_status_subresource_leaves_the_root_plain,
    an_unknown_format_is_told,
    every_version_has_a_schema,
    fields_of_a_definition_have_types,
    names_of_kinds_follow_their_rules,
    one_version_is_stored,
    unknown_fields_of_a_definition_are_told,
}
