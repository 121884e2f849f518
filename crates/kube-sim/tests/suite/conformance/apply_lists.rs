//! Server-side apply of lists and maps, by how they merge.

use serde_json::{Value as Json, json};

use super::script::say;
use super::{behaviours, thing, yaml};
use crate::session::{Ask, Session};

/// Applies specs of one `Thing`: each line is a manager and a spec.
async fn applied(s: &Session, lines: &str) {
    s.install(&thing()).await;
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (manager, spec) = line.split_once(' ').expect("a spec");
        say(
            s,
            &format!("apply things/a?fieldManager={manager} {{spec: {spec}}}"),
        )
        .await;
    }
}

/// A kind of the behaviour's own, with this schema of its spec.
async fn install(s: &Session, spec: &str) {
    let group = format!("{}.capstan.dev", s.namespace);
    let schema = json!({"type": "object", "properties": {"spec": yaml(spec)}});
    s.install(&json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("boxes.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    }))
    .await;
}

/// An apply of that kind.
fn of_box(s: &Session, manager: &str, spec: &str) -> Ask {
    let group = format!("{}.capstan.dev", s.namespace);
    let config: Json = json!({"apiVersion": format!("{group}/v1"), "kind": "Box", "metadata": {"name": "a"}, "spec": yaml(spec)});
    let path = format!("/apis/{group}/v1/boxes/a?fieldManager={manager}");
    Ask::new("PATCH", &path).body("application/apply-patch+yaml", config.to_string())
}

async fn boxes_applied(s: &Session, lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (manager, spec) = line.split_once(' ').expect("a spec");
        s.send(of_box(s, manager, spec).sorted()).await;
    }
}

async fn items_merge_by_their_key(s: &Session) {
    applied(
        s,
        "
        one {items: [{name: a, value: '1'}, {name: b, value: '1'}]}
        two {items: [{name: b, port: 81}, {name: c, value: '2'}]}
        two {items: [{name: a, value: '2'}]}
        one {items: [{name: a}]}
        two {items: [{name: c}]}
        two {items: []}
        two {text: x}
        ",
    )
    .await;
}

async fn an_item_goes_with_its_last_owner(s: &Session) {
    applied(
        s,
        "
        one {items: [{name: a, value: '1'}, {name: b}]}
        two {items: [{name: a, port: 81}]}
        one {items: [{name: b}]}
        two {items: [{name: a}]}
        two {text: x}
        ",
    )
    .await;
}

async fn a_key_may_be_a_default(s: &Session) {
    applied(
        s,
        "
        one {ports: [{port: 80, name: a}]}
        two {ports: [{port: 80, protocol: TCP, name: b}]}
        two {ports: [{port: 80, protocol: UDP, name: b}]}
        one {ports: [{port: 80, protocol: TCP}]}
        one {ports: [{protocol: TCP}]}
        one {ports: [{name: x}]}
        one {ports: [{port: 1}, {port: 1, protocol: TCP}]}
        one {ports: [{port: '80'}]}
        one {ports: [{port: null}]}
        ",
    )
    .await;
}

async fn an_item_of_a_configuration_has_a_key_of_its_own(s: &Session) {
    applied(
        s,
        "
        one {items: [{name: a}, {name: a}]}
        one {items: [{name: a}, {name: b}, {name: a, value: '1'}]}
        one {items: [{value: '1'}]}
        one {items: [a]}
        one {items: [null]}
        one {set: [a, b, a]}
        one {numbers: [1, 2, 1]}
        one {set: [[a]]}
        one {set: [null]}
        one {set: [{a: b}]}
        one {set: [1]}
        ",
    )
    .await;
}

/// Changes the definition, and waits until the probe is answered with this status.
async fn redefine(s: &Session, patch: &Json, probe: Ask, status: u16) {
    let path = format!(
        "customresourcedefinitions/boxes.{}.capstan.dev",
        s.namespace
    );
    let ask = Ask::new("PATCH", &path).body("application/json-patch+json", patch.to_string());
    let changed = s.send(ask.silent()).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    s.meet_as(&probe, |reply| reply.status == status).await;
}

async fn items_stand_where_they_were_put(s: &Session) {
    let named = |names: &str| {
        let items: Vec<String> = names
            .chars()
            .map(|name| format!("{{name: {name}}}"))
            .collect();
        format!("{{items: [{}]}}", items.join(", "))
    };
    let steps = [
        ("one", "abcd"),
        ("two", "xbp"),
        ("two", "pxb"),
        ("one", "dcba"),
        ("three", "zda"),
        ("one", "bea"),
    ];
    let lines: Vec<String> = steps
        .iter()
        .map(|(manager, names)| format!("{manager} {}", named(names)))
        .collect();
    applied(s, &lines.join("\n")).await;
}

async fn members_of_a_set_belong_to_whoever_named_them(s: &Session) {
    applied(
        s,
        "
        one {set: [a, b], numbers: [1, 2]}
        two {set: [b, c], numbers: [2.0, 3]}
        one {set: [b], numbers: []}
        two {set: [c, d]}
        one {set: [d, c, a]}
        two {text: x}
        one {count: 1}
        ",
    )
    .await;
}

async fn a_list_that_is_one_value_is_replaced(s: &Session) {
    applied(
        s,
        "
        one {list: [a, b], structs: [{a: '1'}]}
        two {list: [a, b]}
        two {list: [a]}
        two {list: [b, a]}
        two {structs: [{a: '1'}]}
        two {structs: [{a: '1', b: '2'}]}
        one {structs: [{a: '2'}]}
        one {list: [a, b, c]}
        ",
    )
    .await;
}

async fn a_map_that_is_one_value_is_replaced(s: &Session) {
    applied(
        s,
        "
        one {whole: {a: '1', b: '2'}, single: {a: '1'}}
        two {whole: {a: '1', b: '2'}}
        two {whole: {a: '1'}}
        two {single: {b: '2'}}
        one {single: {a: '1', b: '2'}}
        one {whole: {c: '3'}}
        two {text: x}
        one {count: 1}
        ",
    )
    .await;
}

async fn entries_of_a_map_belong_to_whoever_named_them(s: &Session) {
    applied(
        s,
        "
        one {labels: {a: '1', b: '1'}, counts: {x: 1}}
        two {labels: {b: '1', c: '2'}, counts: {x: 2}}
        two {labels: {b: '1', c: '2'}, counts: {z: 2}}
        one {labels: {a: '1'}}
        two {labels: {c: '2'}}
        one {labels: {}}
        two {text: x}
        ",
    )
    .await;
}

async fn fields_of_a_struct_belong_to_whoever_named_them(s: &Session) {
    applied(
        s,
        "
        one {nested: {a: '1', deep: {d: x}}}
        two {nested: {b: '2', deep: {c: 8}}}
        two {nested: {b: '2', deep: {d: z}}}
        one {nested: {}}
        two {nested: {deep: {}}}
        one {nested: {deep: {c: 7}}}
        two {text: x}
        ",
    )
    .await;
}

async fn a_list_in_an_item_of_a_list_merges_too(s: &Session) {
    applied(
        s,
        "
        one {items: [{name: a, tags: [x]}, {name: b, tags: [x]}]}
        two {items: [{name: a, tags: [z, x]}]}
        one {items: [{name: a, tags: []}, {name: b}]}
        one {items: [{name: a}]}
        two {items: [{name: a, tags: [z]}]}
        ",
    )
    .await;
}

async fn lists_by_key_lie_in_lists_by_key(s: &Session) {
    install(
        s,
        "
        type: object
        properties:
          outer:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [name]
            items:
              type: object
              required: [name]
              properties:
                name: {type: string}
                inner:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [id]
                  items: {type: object, required: [id], properties: {id: {type: integer}, text: {type: string}}}
        ",
    )
    .await;
    boxes_applied(
        s,
        "
        one {outer: [{name: a, inner: [{id: 1, text: x}, {id: 2}]}, {name: b}]}
        two {outer: [{name: a, inner: [{id: 2, text: z}, {id: 3}]}, {name: b, inner: [{id: 1}]}]}
        two {outer: [{name: a, inner: [{id: 1, text: z}]}]}
        one {outer: [{name: b}]}
        two {outer: [{name: b}]}
        two {outer: [{name: b, inner: [{id: 1}, {id: 1}]}]}
        ",
    )
    .await;
}

async fn unknown_parts_merge_by_member(s: &Session) {
    applied(
        s,
        "
        one {free: {a: {b: 1, c: [1, {d: 2}]}, e: f}}
        two {free: {a: {b: 1, x: true}, g: {}}}
        two {free: {a: {c: [1]}}}
        two {free: {a: text}}
        two {free: {e: [list]}}
        one {free: {a: {b: 2}}}
        one {free: {e: null}}
        two {text: x}
        one {count: 1}
        ",
    )
    .await;
}

async fn known_parts_of_an_unknown_one_keep_their_types(s: &Session) {
    applied(
        s,
        "
        one {typed: {known: {a: '1'}, other: {b: 1}}}
        one {typed: {known: {a: 1}}}
        one {typed: {known: {a: '1', more: x}}}
        two {typed: {known: {a: '2'}, other: {c: 1}}}
        two {typed: {other: {c: 1, list: [1]}}}
        one {typed: {known: {}}}
        two {typed: {}}
        ",
    )
    .await;
}

async fn a_whole_object_in_an_object_has_metadata(s: &Session) {
    applied(
        s,
        "
        one {inner: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {a: '1'}, finalizers: [f]}, data: {k: v}}}
        two {inner: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, labels: {b: '2'}, finalizers: [g]}, data: {l: w}}}
        two {inner: {apiVersion: v1, kind: ConfigMap, metadata: {name: z}}}
        two {inner: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, colour: red}}}
        two {inner: {apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: 1}}}}
        one {inner: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}
        one {inner: {metadata: {name: x}}}
        ",
    )
    .await;
}

async fn a_number_or_a_text_is_one_value(s: &Session) {
    applied(
        s,
        "
        one {port: 80}
        two {port: 80}
        two {port: '80'}
        one {port: http}
        two {text: x}
        one {port: http}
        one {port: {a: 1}}
        one {port: [1]}
        ",
    )
    .await;
}

async fn numbers_that_mean_the_same_are_the_same(s: &Session) {
    applied(
        s,
        "
        one {ratio: 1, count: 1, counts: {a: 1}}
        two {ratio: 1.0, count: 1.0, counts: {a: 1.0}}
        two {ratio: 1.5}
        one {ratio: 1.0, big: 9007199254740993}
        one {big: 9007199254740993}
        ",
    )
    .await;
}

async fn a_field_goes_from_one_manager_to_the_next(s: &Session) {
    applied(
        s,
        "
        one {text: x, items: [{name: a, value: '1'}], labels: {k: v}}
        two {text: x, items: [{name: a, value: '1'}], labels: {k: v}}
        one {count: 1}
        two {text: z, items: [{name: a, value: '2'}], labels: {k: w}}
        one {text: z}
        two {items: [{name: a}]}
        one {text: w}
        ",
    )
    .await;
}

async fn what_no_longer_fits_cannot_be_applied_to(s: &Session) {
    install(
        s,
        "{type: object, properties: {value: {type: string}, text: {type: string}}}",
    )
    .await;
    boxes_applied(s, "one {value: x, text: a}").await;
    let value = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/value/type";
    let patch = json!([{"op": "replace", "path": value, "value": "integer"}]);
    redefine(s, &patch, of_box(s, "probe&dryRun=All", "{value: x}"), 500).await;
    boxes_applied(
        s,
        "
        one {text: b}
        two {value: 1}
        ",
    )
    .await;
    let group = format!("{}.capstan.dev", s.namespace);
    let path = format!("/apis/{group}/v1/boxes/a?fieldManager=three");
    s.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    s.merge(&path, &json!({"spec": {"value": 1}})).await;
    boxes_applied(s, "one {text: c}").await;
}

async fn what_became_one_value_is_owned_whole(s: &Session) {
    install(
        s,
        "
        type: object
        properties:
          map: {type: object, properties: {a: {type: string}, b: {type: string}}}
          items:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [name]
            items: {type: object, required: [name], properties: {name: {type: string}}}
        ",
    )
    .await;
    boxes_applied(
        s,
        "
        one {map: {a: '1'}, items: [{name: x}]}
        two {map: {b: '2'}, items: [{name: z}]}
        ",
    )
    .await;
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let patch = json!([
        {"op": "add", "path": format!("{fields}/map/x-kubernetes-map-type"), "value": "atomic"},
        {"op": "replace", "path": format!("{fields}/items/x-kubernetes-list-type"), "value": "atomic"},
        {"op": "remove", "path": format!("{fields}/items/x-kubernetes-list-map-keys")},
    ]);
    redefine(
        s,
        &patch,
        of_box(s, "probe&dryRun=All", "{items: [{name: x}, {name: x}]}"),
        409,
    )
    .await;
    boxes_applied(
        s,
        "
        three {map: {a: '3'}}
        one {map: {a: '1', b: '2'}}
        two {items: [{name: z}]}
        ",
    )
    .await;
}

behaviours! { Api:
    items_merge_by_their_key,
    an_item_goes_with_its_last_owner,
    a_key_may_be_a_default,
    an_item_of_a_configuration_has_a_key_of_its_own,
    items_stand_where_they_were_put,
    members_of_a_set_belong_to_whoever_named_them,
    a_list_that_is_one_value_is_replaced,
    a_map_that_is_one_value_is_replaced,
    entries_of_a_map_belong_to_whoever_named_them,
    fields_of_a_struct_belong_to_whoever_named_them,
    a_list_in_an_item_of_a_list_merges_too,
    lists_by_key_lie_in_lists_by_key,
    unknown_parts_merge_by_member,
    known_parts_of_an_unknown_one_keep_their_types,
    a_whole_object_in_an_object_has_metadata,
    a_number_or_a_text_is_one_value,
    numbers_that_mean_the_same_are_the_same,
    a_field_goes_from_one_manager_to_the_next,
    what_no_longer_fits_cannot_be_applied_to,
    what_became_one_value_is_owned_whole,
}
