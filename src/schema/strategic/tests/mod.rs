#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

mod properties;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{ListKeys, lay_over, lay_under, merge};
use crate::model::{Finding, Node, Origin, Span, Value};

/// A value of which every part is written in `file`.
fn written(file: &str, json: &Json) -> Node {
    Node::from_json(json, &Origin::new(Span::top(&Arc::from(file))))
}

fn patched(base: &Json, patch: &Json) -> (Node, Vec<Finding>) {
    let mut findings = Vec::new();
    let (base, patch) = (written("base", base), written("patch", patch));
    let node = merge(base, &patch, &ListKeys::default(), &mut findings);
    (node, findings)
}

#[track_caller]
fn check(base: Json, patch: Json, expected: Json) {
    let (node, findings) = patched(&base, &patch);
    assert_eq!(findings, []);
    assert_eq!(node.to_json(), expected);
}

/// `value file` or `value file<what it replaced` of every scalar.
fn sources(node: &Node) -> Vec<String> {
    match &node.value {
        Value::List(items) => items.iter().flat_map(sources).collect(),
        Value::Map(map) => map.iter().flat_map(|(_, node)| sources(node)).collect(),
        _ => vec![format!("{} {}", node.to_json(), files(&node.origin))],
    }
}

fn files(origin: &Origin) -> String {
    let path = &origin.span().path;
    match origin.beneath() {
        Some(beneath) => format!("{path}<{}", files(beneath)),
        None => path.to_string(),
    }
}

#[test]
fn maps_merge_scalars_replace_null_deletes_and_lists_replace() {
    check(
        json!({"a": {"x": 1, "y": 2}, "b": 1, "c": 1, "d": [1, 2]}),
        json!({"a": {"y": 3, "z": 4}, "b": null, "d": [3], "e": {"f": {"g": null, "h": 1}}}),
        json!({"a": {"x": 1, "y": 3, "z": 4}, "c": 1, "d": [3], "e": {"f": {"h": 1}}}),
    );
    check(
        json!({"a": 1}),
        json!({"a": {"b": 1}}),
        json!({"a": {"b": 1}}),
    );
    check(json!({"a": {"b": 1}}), json!({"a": [1]}), json!({"a": [1]}));
    check(
        json!({"a": [{"x": 1}]}),
        json!({"a": [{"y": 1}]}),
        json!({"a": [{"y": 1}]}),
    );
}

#[test]
fn an_empty_patch_changes_nothing() {
    let base = json!({
        "kind": "Deployment", "$ref": "data", "n": null,
        "spec": {"containers": [{"name": "a", "env": [{"name": "X"}]}, {"image": "unnamed"}], "l": [1, null]}
    });
    for patch in [
        json!({}),
        json!({"spec": {}}),
        json!({"spec": {"containers": []}}),
    ] {
        let (node, findings) = patched(&base, &patch);
        assert_eq!(findings, []);
        assert_eq!(node, written("base", &base), "{patch}");
    }
}

#[test]
fn a_patch_onto_itself_changes_no_value() {
    let base =
        json!({"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}]}], "l": [1]}});
    check(base.clone(), base.clone(), base);
}

#[test]
fn keyed_lists_merge_by_key_in_place_and_new_elements_come_last() {
    check(
        json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1", "env": [{"name": "X", "value": "1"}]}]}),
        json!({"containers": [{"name": "c"}, {"name": "b", "image": "2", "env": [{"name": "Y", "value": "2"}]}]}),
        json!({"containers": [
            {"name": "a", "image": "1"},
            {"name": "b", "image": "2", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
            {"name": "c"}
        ]}),
    );
}

#[test]
fn taints_have_two_keys_and_ports_a_default_protocol() {
    check(
        json!({"taints": [{"key": "a", "effect": "NoSchedule", "value": "1"}]}),
        json!({"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule", "value": "2"}]}),
        json!({"taints": [{"key": "a", "effect": "NoSchedule", "value": "2"}, {"key": "a", "effect": "NoExecute"}]}),
    );
    check(
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 53}, {"port": 53, "protocol": "UDP"}]}}),
        json!({"spec": {"ports": [{"port": 53, "protocol": "TCP", "name": "dns"}]}}),
        json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [
            {"port": 53, "protocol": "TCP", "name": "dns"}, {"port": 53, "protocol": "UDP"}
        ]}}),
    );
}

#[test]
fn labels_are_a_keyed_list_where_they_are_a_list() {
    check(
        json!({"labels": [{"key": "a", "value": "1"}], "metadata": {"labels": {"key": "x"}}}),
        json!({"labels": [{"key": "a", "value": "2"}], "metadata": {"labels": {"b": "y"}}}),
        json!({"labels": [{"key": "a", "value": "2"}], "metadata": {"labels": {"key": "x", "b": "y"}}}),
    );
}

#[test]
fn embedded_resources_merge_by_kind_and_name_and_are_objects_of_their_own() {
    let subnet = |name: &str| json!({"kind": "Subnet", "metadata": {"name": name}});
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 1, "name": "p"}]}
    });
    let mut patched_service = service.clone();
    patched_service["spec"]["ports"][0]["name"] = json!("q");
    check(
        json!({"kind": "AROCluster", "spec": {"resources": [subnet("a"), service, subnet("b")]}}),
        json!({"spec": {"resources": [
            {"kind": "Subnet", "metadata": {"name": "b"}, "spec": {"x": 1}}, patched_service
        ]}}),
        json!({"kind": "AROCluster", "spec": {"resources": [
            subnet("a"), patched_service, {"kind": "Subnet", "metadata": {"name": "b"}, "spec": {"x": 1}}
        ]}}),
    );
    check(
        json!({"kind": "Other", "spec": {"resources": [subnet("a"), subnet("b")]}}),
        json!({"spec": {"resources": [subnet("a")]}}),
        json!({"kind": "Other", "spec": {"resources": [subnet("a")]}}),
    );
}

#[test]
fn the_same_name_twice_stays_twice() {
    let twice = json!({"nodePools": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]});
    check(
        json!({"nodePools": [{"name": "a", "y": 0}]}),
        twice.clone(),
        json!({"nodePools": [{"name": "a", "x": 1, "y": 0}, {"name": "a", "x": 2}]}),
    );
    check(json!({}), twice.clone(), twice);
}

#[test]
fn elements_without_their_key_are_never_lost() {
    check(
        json!({"nodePools": [{"name": "a"}, {"size": 1}]}),
        json!({"nodePools": [{"size": 2}]}),
        json!({"nodePools": [{"name": "a"}, {"size": 1}, {"size": 2}]}),
    );
    check(
        json!({"env": ["plain"]}),
        json!({"env": [{"other": 1}]}),
        json!({"env": [{"other": 1}]}),
    );
}

#[test]
fn lists_of_a_tree_can_be_added() {
    let (base, patch) = (
        json!({"kind": "Menu", "spec": {"dishes": [{"id": 1, "x": 1}]}}),
        json!({"spec": {"dishes": [{"id": 1, "y": 1}]}}),
    );
    check(
        base.clone(),
        patch.clone(),
        json!({"kind": "Menu", "spec": {"dishes": [{"id": 1, "y": 1}]}}),
    );
    let keyed = |keys: &[&str], inner: Json| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": {"properties": inner}});
    let list = keyed(&["id"], json!({"labels": keyed(&["id"], json!({}))}));
    let schema = json!({"properties": {"spec": {"properties": {"dishes": list}}}});
    let definition = json!({"spec": {
        "group": "x.dev", "names": {"kind": "Menu"},
        "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}],
    }});
    let mut lists = ListKeys::default();
    lists.learn(&written("crd", &definition));
    let dishes = |api_version: &str, base: Json, patch: Json| {
        let whole = |dish: Json| json!({"apiVersion": api_version, "kind": "Menu", "spec": {"dishes": [dish]}});
        let (base, patch) = (
            written("base", &whole(base)),
            written("patch", &whole(patch)),
        );
        let node = merge(base, &patch, &lists, &mut Vec::new());
        node.to_json()["spec"]["dishes"].clone()
    };
    let (one, other) = (json!({"id": 1, "x": 1}), json!({"id": 1, "y": 1}));
    let both = json!([{"id": 1, "x": 1, "y": 1}]);
    assert_eq!(dishes("x.dev/v1", one.clone(), other.clone()), both);
    for stranger in ["v1", "y.dev/v1"] {
        assert_eq!(dishes(stranger, one.clone(), other.clone()), json!([other]));
    }
    // The definition of a kind takes precedence over the table, where labels have a `key`.
    let labels = |value: i64| json!({"id": 1, "labels": [{"id": 2, "key": value, "v": value}]});
    assert_eq!(dishes("x.dev/v1", labels(1), labels(3)), json!([labels(3)]));
}

#[test]
fn maps_are_replaced_deleted_or_merged_as_they_say() {
    check(
        json!({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}),
        json!({"a": {"$patch": "replace", "y": 1}, "b": {"$patch": "delete"}, "c": {"$patch": "merge", "y": 1}, "d": {"$patch": "delete"}}),
        json!({"a": {"y": 1}, "c": {"x": 1, "y": 1}}),
    );
    check(
        json!({"a": {"x": 1, "y": 2, "z": 3}}),
        json!({"a": {"$retainKeys": ["x", "w"], "w": 4}}),
        json!({"a": {"x": 1, "w": 4}}),
    );
}

#[test]
fn elements_and_whole_lists_are_replaced_or_deleted_as_they_say() {
    let base =
        json!({"env": [{"name": "a", "value": "1"}, {"name": "b", "value": "1"}], "l": [{"x": 1}]});
    check(
        base.clone(),
        json!({"env": [{"name": "a", "$patch": "delete"}, {"name": "b", "$patch": "replace"}, {"name": "z", "$patch": "delete"}]}),
        json!({"env": [{"name": "b"}], "l": [{"x": 1}]}),
    );
    check(
        base.clone(),
        json!({"env": [{"$patch": "replace"}, {"name": "c"}], "l": [{"$patch": "replace"}]}),
        json!({"env": [{"name": "c"}], "l": []}),
    );
    check(
        base,
        json!({"env": [{"name": "a", "$patch": "delete"}, {"name": "a", "value": "2"}]}),
        json!({"env": [{"name": "b", "value": "1"}, {"name": "a", "value": "2"}], "l": [{"x": 1}]}),
    );
}

#[test]
fn scalars_are_removed_from_lists_and_elements_are_ordered() {
    check(
        json!({"finalizers": ["a", "b", "c"]}),
        json!({"$deleteFromPrimitiveList/finalizers": ["b", "z"]}),
        json!({"finalizers": ["a", "c"]}),
    );
    check(
        json!({"env": [{"name": "a"}, {"name": "x"}, {"name": "b"}], "l": [1, 2, 3]}),
        json!({"$setElementOrder/env": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "env": [{"name": "c"}], "$setElementOrder/l": [3, 1]}),
        json!({"env": [{"name": "c"}, {"name": "x"}, {"name": "b"}, {"name": "a"}], "l": [3, 2, 1]}),
    );
}

#[test]
fn directives_that_cannot_be_followed_are_findings() {
    let table = [
        (
            json!({"a": {"$patch": "remove"}}),
            "the directive `$patch` cannot be followed",
        ),
        (
            json!({"$retainKeys": "a"}),
            "the directive `$retainKeys` cannot be followed",
        ),
        (
            json!({"$setElementOrder/env": 1}),
            "the directive `$setElementOrder/env` cannot be followed",
        ),
        (
            json!({"taints": [{"key": "a", "$patch": "delete"}]}),
            "`$patch: delete` names no element: it needs `key` and `effect`",
        ),
        (
            json!({"taints": [{"$patch": "merge"}]}),
            "`$patch: merge` names no element: it needs `key` and `effect`",
        ),
        (
            json!({"taints": [{"$patch": "replace", "value": "v"}]}),
            "`$patch: replace` names no element: it needs `key` and `effect`",
        ),
        (
            json!({"env": [{"$patch": "merge"}]}),
            "`$patch: merge` names no element: it needs `name`",
        ),
        (
            json!({"l": [{"$patch": "merge"}]}),
            "`$patch: merge` has no element: this list has no keys",
        ),
        (
            json!({"$patch": "delete"}),
            "the patch removes the whole value it is for",
        ),
        (Json::Null, "the patch removes the whole value it is for"),
    ];
    let base = json!({"taints": [{"key": "a", "effect": "e"}]});
    for (patch, message) in table {
        let (node, findings) = patched(&base, &patch);
        let messages: Vec<&str> = findings
            .iter()
            .map(|finding| finding.message.as_str())
            .collect();
        assert_eq!(messages, [message]);
        assert!(findings[0].id == "O02" && findings[0].help.is_some());
        assert_eq!(node.to_json()["taints"], base["taints"], "{patch}");
    }
}

#[test]
fn lists_of_kubernetes_own_kinds_merge_as_the_api_server_publishes() {
    let lists = |json: Json| {
        let (key, list) = json.as_object().unwrap().iter().next().unwrap();
        (key.clone(), list.clone())
    };
    let table = [
        (
            "v1",
            "ServiceAccount",
            "",
            json!({"imagePullSecrets": [{"name": "a"}]}),
            false,
        ),
        (
            "v1",
            "ServiceAccount",
            "",
            json!({"secrets": [{"name": "a"}]}),
            true,
        ),
        (
            "v1",
            "Pod",
            "spec",
            json!({"imagePullSecrets": [{"name": "a"}]}),
            true,
        ),
        (
            "v1",
            "Node",
            "spec",
            json!({"taints": [{"key": "a", "effect": "e"}]}),
            false,
        ),
        (
            "storage.k8s.io/v1",
            "CSINode",
            "spec",
            json!({"drivers": [{"name": "a"}]}),
            true,
        ),
        (
            "batch/v1",
            "Job",
            "status",
            json!({"conditions": [{"type": "a"}]}),
            true,
        ),
        (
            "example.com/v1",
            "Node",
            "spec",
            json!({"taints": [{"key": "a", "effect": "e"}]}),
            true,
        ),
    ];
    for (version, kind, parent, list, merges) in table {
        let (name, list) = lists(list);
        let object = |item: Json| {
            let map = json!({name.as_str(): [item]});
            let mut object = if parent.is_empty() {
                map
            } else {
                json!({parent: map})
            };
            object["apiVersion"] = version.into();
            object["kind"] = kind.into();
            object
        };
        let mut other = list[0].clone();
        let key = other.as_object().unwrap().keys().next().unwrap().clone();
        other[key] = json!("b");
        let (node, findings) = patched(&object(list[0].clone()), &object(other));
        assert_eq!(findings, []);
        let merged = node.to_json();
        let merged = if parent.is_empty() {
            &merged
        } else {
            &merged[parent]
        };
        let count = merged[&name].as_array().unwrap().len();
        assert_eq!(count, if merges { 2 } else { 1 }, "{kind} {name}");
    }
}

#[test]
fn every_scalar_knows_who_set_it_and_what_it_replaced() {
    let (node, _) = patched(
        &json!({"a": 1, "b": 1, "env": [{"name": "X", "value": "1"}], "l": [1], "m": 1}),
        &json!({"b": 2, "c": 2, "env": [{"name": "X", "value": "2"}, {"name": "Y"}], "l": [2], "m": {"n": 2}}),
    );
    assert_eq!(
        sources(&node),
        [
            "1 base",
            "2 patch<base",
            "\"X\" base",
            "\"2\" patch<base",
            "\"Y\" patch",
            "2 patch",
            "2 patch",
            "2 patch",
        ]
    );
    assert_eq!(files(&node.get("l").unwrap().origin), "patch<base");
    assert_eq!(files(&node.get("m").unwrap().origin), "patch<base");
    assert_eq!(files(&node.get("env").unwrap().origin), "base");
}

#[test]
fn defaults_lie_beneath_a_value_that_keeps_its_order_and_its_places() {
    let (defaults, value) = (
        json!({"a": {"x": 1, "y": 1}, "nodePools": [{"name": "infra"}, {"name": "p2", "size": 1}]}),
        json!({"a": {"y": 2}, "nodePools": [{"name": "p1"}, {"name": "p2"}]}),
    );
    let (defaults, value) = (written("base", &defaults), written("patch", &value));
    let node = lay_under(&value, defaults, &ListKeys::default(), &mut Vec::new());
    assert_eq!(
        node.to_json(),
        json!({"a": {"x": 1, "y": 2}, "nodePools": [{"name": "p1"}, {"name": "p2", "size": 1}, {"name": "infra"}]})
    );
    assert_eq!(files(&node.get("a").unwrap().origin), "patch<base");
    assert_eq!(
        sources(&node),
        [
            "1 base",
            "2 patch<base",
            "\"p1\" patch",
            "\"p2\" patch<base",
            "1 base",
            "\"infra\" base"
        ]
    );
}

#[test]
fn in_layers_null_is_a_value_that_stays() {
    let lists = ListKeys::default();
    let (lower, upper) = (
        written("base", &json!({"a": 1, "b": {"c": 1}, "d": null})),
        written(
            "patch",
            &json!({"a": null, "b": {"c": null, "e": null}, "d": 1}),
        ),
    );
    let expected = json!({"a": null, "b": {"c": null, "e": null}, "d": 1});
    let over = lay_over(lower.clone(), &upper, &lists, &mut Vec::new());
    let under = lay_under(&upper, lower, &lists, &mut Vec::new());
    assert_eq!(
        (over.to_json(), under.to_json()),
        (expected.clone(), expected)
    );
    check(
        json!({}),
        json!({"l": [1, null, {"x": null}]}),
        json!({"l": [1, null, {}]}),
    );
}

#[test]
fn large_maps_and_lists_merge_in_no_time() {
    let large = |from: usize| -> Json {
        let names = from..from + 30_000;
        json!({
            "m": names.clone().map(|n| (n.to_string(), json!(n))).collect::<serde_json::Map<_, _>>(),
            "env": names.map(|n| json!({"name": n})).collect::<Vec<_>>()
        })
    };
    let (node, _) = patched(&large(0), &large(10_000));
    assert_eq!(node.get("m").unwrap().as_map().unwrap().len(), 40_000);
    assert_eq!(node.get("env").unwrap().as_list().unwrap().len(), 40_000);
}
