//! What a schema refuses, field by field.

use serde_json::{Value as Json, json};

use super::{behaviours, thing, widget, with_spec};
use crate::session::{Ask, Session};

fn object(spec: &Json) -> Json {
    json!({
        "apiVersion": "conformance.capstan.dev/v1", "kind": "Thing",
        "metadata": {"name": "a"}, "spec": spec,
    })
}

/// Tries to create a `Thing` of each spec; all of them are refused, or not kept.
async fn tried(s: &Session, specs: &[Json]) {
    s.install(&thing()).await;
    for spec in specs {
        s.note(&spec.to_string());
        let ask = Ask::new("POST", "things?dryRun=All").json(&object(spec));
        s.send(ask.sorted()).await;
    }
}

async fn a_value_has_the_type_of_its_field(s: &Session) {
    tried(
        s,
        &[
            json!({"text": 5}),
            json!({"text": {"a": 1}}),
            json!({"text": ["a"]}),
            json!({"count": "5"}),
            json!({"big": 1.5}),
            json!({"ratio": "x"}),
            json!({"flag": "true"}),
            json!({"nested": []}),
            json!({"list": {"0": "a"}}),
            json!({"labels": {"a": 1}}),
            json!({"list": ["a", 2, true]}),
            json!([]),
        ],
    )
    .await;
}

async fn a_number_stays_within_its_bounds(s: &Session) {
    tried(
        s,
        &[
            json!({"count": 0}),
            json!({"count": -1}),
            json!({"count": 11}),
            json!({"count": 10.5}),
            json!({"count": 3.0}),
            json!({"count": 1e30}),
        ],
    )
    .await;
}

async fn a_whole_number_may_be_too_big_for_its_format(s: &Session) {
    s.install(&thing()).await;
    for number in ["2147483648", "9223372036854775807", "1e3", "1.0", "1.5e1"] {
        s.note(number);
        let text = format!(
            r#"{{"apiVersion":"conformance.capstan.dev/v1","kind":"Thing","metadata":{{"name":"a"}},"spec":{{"big":{number},"ratio":{number}}}}}"#
        );
        let ask = Ask::new("POST", "things?dryRun=All").body("application/json", text);
        s.send(ask).await;
    }
}

async fn a_text_is_held_to_its_length_and_pattern(s: &Session) {
    tried(
        s,
        &[
            json!({"text": "abcdefghijk"}),
            json!({"text": "ABCDEFGHIJK"}),
            json!({"text": "A"}),
            json!({"text": "ä"}),
            json!({"text": "äöüäöüäöüäö"}),
            json!({"text": "a\n\"b\""}),
            json!({"text": ""}),
        ],
    )
    .await;
}

async fn an_enum_names_what_is_allowed(s: &Session) {
    tried(
        s,
        &[
            json!({"mode": "fast"}),
            json!({"mode": ""}),
            json!({"mode": 1}),
            json!({"mode": "Fast"}),
        ],
    )
    .await;
}

async fn a_moment_is_written_as_rfc_3339(s: &Session) {
    tried(
        s,
        &[
            json!({"when": "2024-02-29T10:00:00Z"}),
            json!({"when": "2024-02-29t10:00:00.123+01:00"}),
            json!({"when": "2023-02-29T10:00:00Z"}),
            json!({"when": "2024-02-29 10:00:00Z"}),
            json!({"when": "2024-02-29"}),
            json!({"when": ""}),
            json!({"when": 5}),
            json!({"when": true}),
            json!({"when": {}}),
        ],
    )
    .await;
}

async fn null_stands_only_where_it_may(s: &Session) {
    tried(
        s,
        &[
            json!({"maybe": null}),
            json!({"text": null, "nested": null, "mode": null}),
            json!({"list": ["a", null]}),
            json!({"structs": [null]}),
            json!({"items": [null]}),
            json!({"labels": {"a": null}}),
            json!({"free": {"a": null}}),
            json!({"port": null}),
            json!(null),
        ],
    )
    .await;
}

async fn a_required_field_is_there(s: &Session) {
    tried(
        s,
        &[
            json!({"structs": [{}]}),
            json!({"structs": [{"a": "x"}, {"b": "y"}]}),
            json!({"structs": [{"a": null}]}),
            json!({"items": [{"value": "x"}]}),
            json!({"ports": [{"name": "x"}]}),
        ],
    )
    .await;
}

async fn a_list_has_no_more_items_than_allowed(s: &Session) {
    tried(
        s,
        &[
            json!({"list": ["a", "b", "c", "d", "e"]}),
            json!({"list": ["a", "b", "c", "d", "e", "f"]}),
            json!({"list": ["a", "b", "c", "d", "e", 6]}),
        ],
    )
    .await;
}

async fn an_item_of_a_set_is_there_once(s: &Session) {
    tried(
        s,
        &[
            json!({"set": ["a", "b", "a"]}),
            json!({"set": ["a", "a", "a", "b", "b"]}),
            json!({"numbers": [1, 2, 1]}),
            json!({"items": [{"name": "a", "tags": ["x", "x"]}]}),
            json!({"set": [{"a": 1}, {"a": 1}]}),
        ],
    )
    .await;
}

async fn a_key_of_a_list_is_there_once(s: &Session) {
    tried(
        s,
        &[
            json!({"items": [{"name": "a"}, {"name": "a", "value": "x"}]}),
            json!({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}),
            json!({"ports": [{"port": 1}, {"port": 1, "protocol": "UDP"}]}),
            json!({"items": [{"value": "a"}, {"value": "b"}]}),
            json!({"items": ["a", "a"]}),
            json!({"items": [{"name": "<a>"}, {"name": "<a>"}]}),
        ],
    )
    .await;
}

async fn a_port_is_a_number_or_a_name(s: &Session) {
    tried(
        s,
        &[
            json!({"port": 80}),
            json!({"port": "http"}),
            json!({"port": 1.5}),
            json!({"port": true}),
            json!({"port": [80]}),
        ],
    )
    .await;
}

async fn an_embedded_object_says_what_it_is(s: &Session) {
    let inner = |fields: Json| {
        let mut inner = json!({"apiVersion": "v1", "kind": "Secret"});
        for (key, value) in fields.as_object().expect("a map") {
            inner[key] = value.clone();
        }
        json!({"inner": inner})
    };
    tried(
        s,
        &[
            json!({"inner": {}}),
            inner(json!({"kind": ""})),
            inner(json!({"kind": 5})),
            inner(json!({"apiVersion": null})),
            inner(json!({"kind": "Has Space"})),
            inner(json!({"apiVersion": "a/b/c"})),
            inner(json!({"metadata": {"name": "x"}, "data": {"a": 1}})),
            inner(json!({"metadata": []})),
            inner(json!({"metadata": {"name": 5}})),
        ],
    )
    .await;
}

async fn metadata_of_an_embedded_object_is_checked(s: &Session) {
    let inner = |metadata: Json| json!({"inner": {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}});
    tried(
        s,
        &[
            inner(json!({"name": "a/b"})),
            inner(json!({"name": "A B"})),
            inner(json!({"name": "a", "namespace": "A"})),
            inner(json!({"labels": {"a b": "c"}})),
            inner(json!({"labels": {"a": "c d"}})),
            inner(json!({"annotations": {"a b": "c d"}})),
            inner(json!({"finalizers": ["x y"]})),
            inner(json!({"generateName": "A-"})),
            inner(json!({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "", "uid": "1"}]})),
            inner(json!({"creationTimestamp": null, "unknown": 1})),
        ],
    )
    .await;
}

async fn every_fault_is_told_at_once(s: &Session) {
    tried(
        s,
        &[
            json!({"text": 5, "count": "x", "mode": "fast", "structs": [{}], "set": ["a", "a"], "inner": {}}),
            json!({"list": [1, 2, 3, 4, 5, 6]}),
        ],
    )
    .await;
}

async fn an_update_is_checked_as_well(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &object(&json!({"text": "a"}))).await;
    s.merge("things/a", &json!({"spec": {"text": "A"}})).await;
    let operations = json!([{"op": "add", "path": "/spec/count", "value": 11}]);
    s.json_patch("things/a", &operations).await;
    s.apply("things/a?fieldManager=b", &object(&json!({"list": [1]})))
        .await;
    let replaced = json!({"metadata": {"resourceVersion": s.get("things/a").await.version()}});
    s.put(
        "things/a",
        &merged(object(&json!({"mode": "x"})), &replaced),
    )
    .await;
    s.get("things/a").await;
}

fn merged(mut base: Json, changes: &Json) -> Json {
    match (base.as_object_mut(), changes.as_object()) {
        (Some(fields), Some(changes)) => {
            for (key, change) in changes {
                let old = fields.get(key).cloned().unwrap_or_default();
                fields.insert(key.clone(), merged(old, change));
            }
            base
        }
        _ => changes.clone(),
    }
}

async fn a_status_is_checked_where_it_is_written(s: &Session) {
    s.install(&thing()).await;
    let mut wrong = object(&json!({}));
    wrong["status"] = json!({"phase": "x"});
    s.post("things", &wrong).await;
    for status in [
        json!({"phase": 5}),
        json!({"conditions": [{"type": "Ready", "status": "Yes"}]}),
        json!({"conditions": [{"type": "Ready"}]}),
        json!({"conditions": [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]}),
        json!({"phase": null, "observedGeneration": 1}),
        json!([]),
        json!("x"),
    ] {
        s.note(&status.to_string());
        let patch = json!({"spec": {"text": "ABC"}, "status": status});
        let ask = Ask::new("PATCH", "things/a/status");
        let ask = ask.body("application/merge-patch+json", patch.to_string());
        s.send(ask.sorted()).await;
    }
}

/// Not even an enum that names it lets null be, nor one of nothing else.
async fn null_is_never_one_of_an_enum(s: &Session) {
    let with = |values: Json| json!({"type": "string", "nullable": true, "enum": values});
    let schema = with_spec(&json!({
        "named": with(json!(["a", null])),
        "unnamed": with(json!(["a"])),
        "only": with(json!([null])),
        "checked": {
            "type": "string", "nullable": true, "anyOf": [{"enum": ["a", null]}, {"enum": ["b"]}],
        },
        "within": {
            "type": "object", "properties": {"x": {"type": "string", "nullable": true}},
            "allOf": [{"properties": {"x": {"enum": ["a", null]}}}],
        },
    }));
    s.install(&widget(s, &schema)).await;
    for spec in [
        json!({"named": null}),
        json!({"named": "b"}),
        json!({"unnamed": null}),
        json!({"only": null}),
        json!({"only": "a"}),
        json!({"checked": null}),
        json!({"checked": "c"}),
        json!({"within": {"x": null}}),
        json!({"within": {"x": "a"}}),
    ] {
        s.note(&spec.to_string());
        let object = json!({
            "apiVersion": format!("{}/v1", s.group()), "kind": "Widget",
            "metadata": {"name": "a"}, "spec": spec,
        });
        let ask = Ask::new("POST", "widgets?dryRun=All").json(&object);
        s.send(ask.sorted()).await;
    }
}

/// What `anyOf` and the like say of a value neither makes it another type nor lets it be null, or not be.
async fn alternatives_only_check(s: &Session) {
    let text = json!({
        "type": "string", "nullable": true,
        "allOf": [{"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}],
    });
    let number = json!({
        "type": "integer", "nullable": true,
        "anyOf": [{"allOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}],
    });
    let map = json!({
        "type": "object",
        "properties": {"x": {"type": "integer", "nullable": true}},
        "not": {"properties": {"x": {"oneOf": [{"enum": [1]}]}}, "required": ["x"]},
    });
    let schema = with_spec(&json!({"text": text, "number": number, "map": map}));
    s.install(&widget(s, &schema)).await;
    for spec in [
        json!({"text": "a"}),
        json!({"text": "b"}),
        json!({"text": null}),
        json!({"number": 1}),
        json!({"number": 2}),
        json!({"number": null}),
        json!({"map": {"x": 1}}),
        json!({"map": {"x": 2}}),
        json!({"map": {"x": null}}),
    ] {
        s.note(&spec.to_string());
        let object = json!({
            "apiVersion": format!("{}/v1", s.group()), "kind": "Widget",
            "metadata": {"name": "a"}, "spec": spec,
        });
        let ask = Ask::new("POST", "widgets?dryRun=All").json(&object);
        s.send(ask.sorted()).await;
    }
}

behaviours! { Api:
    a_status_is_checked_where_it_is_written,
    a_key_of_a_list_is_there_once,
    a_list_has_no_more_items_than_allowed,
    a_moment_is_written_as_rfc_3339,
    a_number_stays_within_its_bounds,
    a_port_is_a_number_or_a_name,
    a_required_field_is_there,
    a_text_is_held_to_its_length_and_pattern,
    a_value_has_the_type_of_its_field,
    a_whole_number_may_be_too_big_for_its_format,
    alternatives_only_check,
    an_embedded_object_says_what_it_is,
    an_enum_names_what_is_allowed,
    an_item_of_a_set_is_there_once,
    an_update_is_checked_as_well,
    every_fault_is_told_at_once,
    metadata_of_an_embedded_object_is_checked,
    null_is_never_one_of_an_enum,
    null_stands_only_where_it_may,
}
