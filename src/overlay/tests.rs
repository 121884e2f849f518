#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::Overlays;
use crate::api::overlay::{
    Operator, Overlay, Patch, Pattern, Precedence, Requirement, Selector, Target,
};
use crate::model::{Finding, Node, Object, ObjectId, Path, Value};
use crate::schema::strategic::ListKeys;
use crate::yaml;

fn documents(path: &str, text: &str) -> Vec<Node> {
    let (documents, findings) = yaml::read(&Arc::from(path), text.as_bytes());
    assert_eq!(findings, [], "{text}");
    documents
}

fn document(path: &str, text: &str) -> Node {
    documents(path, text).remove(0)
}

/// An overlay in `path` for what is labelled `env: prod`; `text` holds `order`, `precedence`,
/// `merge` and `patches`, each with a `target` of scalars.
fn overlay(path: &str, text: &str) -> Overlay {
    let spec = document(path, text);
    let prod = Requirement {
        key: "env".into(),
        operator: Operator::In,
        values: vec!["prod".into()],
    };
    let order = spec.get("order").map_or(0, |node| match node.value {
        Value::Int(order) => order,
        _ => panic!("order is a number"),
    });
    let patches = spec
        .get("patches")
        .and_then(Node::as_list)
        .unwrap_or_default();
    Overlay {
        lost: Vec::new(),
        selector_origin: spec.origin.clone(),
        name: path.trim_end_matches(".yaml").into(),
        origin: spec.origin.clone(),
        selector: Selector {
            match_expressions: vec![prod],
            ..Selector::default()
        },
        precedence: match spec.text(&["precedence"]) {
            Some("Enforced") => Precedence::Enforced,
            _ => Precedence::Default,
        },
        order,
        merge: spec.get("merge").cloned(),
        patches: patches.iter().map(patch).collect(),
    }
}

fn patch(node: &Node) -> Patch {
    let text = |field: &str| node.text(&["target", field]);
    let target = |field: &str| text(field).map(|text| Pattern::new(text).unwrap());
    let selector = |field: &str| text(field).map(|text| text.parse().unwrap());
    let tier = text("tier").map(|tier| Selector {
        match_labels: [("tier".to_owned(), tier.to_owned())].into(),
        ..Selector::default()
    });
    Patch {
        target: Target {
            group: target("group"),
            version: target("version"),
            kind: target("kind"),
            namespace: target("namespace"),
            name: target("name"),
            label_selector: tier.or(selector("labelSelector")),
            annotation_selector: selector("annotationSelector"),
        },
        patch: node.get("patch").unwrap().clone(),
        origin: node.origin.clone(),
    }
}

fn overlays<const N: usize>(list: [Overlay; N]) -> Overlays {
    Overlays::new(list.into(), ListKeys::default())
}

/// A definition whose spec stands in `definition.yaml` from line 4 on.
fn definition(spec: &str) -> Node {
    let spec = spec.replace('\n', "\n  ");
    let text = format!(
        "kind: ClusterDefinition\nmetadata: {{name: a, labels: {{env: prod}}}}\nspec:\n  {spec}"
    );
    document("definition.yaml", &text)
}

#[track_caller]
fn merged(overlays: &mut Overlays, spec: &str) -> Node {
    let definition = definition(spec);
    overlays.note(&definition);
    let (node, findings) = overlays.merge(definition);
    assert_eq!(findings, []);
    node.get("spec").unwrap().clone()
}

/// `field file:line` of every scalar, `<file:line` for what it lies on.
fn sources(node: &Node) -> Vec<String> {
    let mut found = Vec::new();
    collect(node, &Path::default(), &mut found);
    found
}

fn collect(node: &Node, path: &Path, found: &mut Vec<String>) {
    match &node.value {
        Value::List(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, item)| collect(item, &path.index(at), found));
        }
        Value::Map(map) => {
            let entries = map.iter();
            entries.for_each(|(key, node)| collect(node, &path.key(&*key.name), found));
        }
        _ => {
            let layers = std::iter::successors(Some(&node.origin), |origin| origin.beneath());
            let places: Vec<String> = layers
                .map(|origin| origin.span())
                .map(|span| {
                    format!(
                        "{}:{}",
                        span.path.trim_end_matches(".yaml"),
                        span.start.line
                    )
                })
                .collect();
            found.push(format!("{path} {}", places.join("<")));
        }
    }
}

fn reported(findings: &[Finding]) -> Vec<String> {
    let say = |finding: &Finding| {
        assert!(finding.help.is_some());
        let span = finding.span.as_ref().unwrap();
        format!(
            "{} {}:{} {}",
            finding.id, span.path, span.start.line, finding.message
        )
    };
    findings.iter().map(say).collect()
}

#[test]
fn a_definition_without_overlays_stays_as_it_is() {
    let text = "a: 1\nb: {c: [1, {d: 2}]}";
    let (node, findings) = overlays([]).merge(definition(text));
    assert_eq!((node, findings), (definition(text), vec![]));
    let empty = overlay("o.yaml", "merge: {}");
    assert_eq!(
        merged(&mut overlays([empty]), text).to_json(),
        json!({"a": 1, "b": {"c": [1, {"d": 2}]}})
    );
}

#[test]
fn a_default_lies_under_the_definition_and_an_enforced_value_on_top() {
    let mut overlays = overlays([
        overlay(
            "low.yaml",
            "precedence: Default\nmerge:\n  a: low\n  b: low\n  m:\n    x: low",
        ),
        overlay(
            "high.yaml",
            "precedence: Enforced\nmerge:\n  b: high\n  c: high\n  m:\n    w: high",
        ),
    ]);
    let spec = merged(&mut overlays, "b: mine\nd: mine\nm:\n  x: mine");
    assert_eq!(
        sources(&spec),
        [
            "a low:3",
            "b high:3<definition:4<low:4",
            "m.x definition:7<low:6",
            "m.w high:6",
            "d definition:5",
            "c high:4",
        ]
    );
    let opened = spec.get("m").unwrap().span().to_string();
    assert_eq!(
        opened, "definition.yaml:7:5",
        "a missing field is reported at the definition's map"
    );
}

#[test]
fn overlays_apply_in_order_and_ties_are_settled_by_path() {
    let of = |path: &str, order: i64, precedence: &str| {
        let text = format!("precedence: {precedence}\norder: {order}\nmerge:\n  a: {path}");
        overlay(path, &text)
    };
    let three = |precedence| {
        let list = [("c.yaml", 2), ("b.yaml", 2), ("d.yaml", 1)];
        overlays(list.map(|(path, order)| of(path, order, precedence)))
    };
    assert_eq!(
        sources(&merged(&mut three("Default"), "a: 1")),
        ["a definition:4<c:4<b:4<d:4"]
    );
    assert_eq!(
        sources(&merged(&mut three("Enforced"), "a: 1")),
        ["a c:4<b:4<d:4<definition:4"]
    );
}

#[test]
fn null_takes_the_place_of_what_lies_beneath_and_stays_for_the_reader() {
    let low = overlay(
        "low.yaml",
        "order: 1\nmerge: {a: 1, b: {c: 1, d: 1}, o: null, t: 1}",
    );
    let mid = overlay("mid.yaml", "order: 2\nmerge: {t: null}");
    let high = overlay(
        "high.yaml",
        "precedence: Enforced\nmerge: {e: null, f: null, h: {i: null}}",
    );
    let mut overlays = overlays([low, mid, high]);
    let spec = merged(
        &mut overlays,
        "a: null\nb: {c: null}\ne: 1\nf: {g: 1}\nl: [{x: null, w: 1}]\no: 1",
    );
    assert_eq!(
        spec.to_json(),
        json!({
            "a": null, "b": {"c": null, "d": 1}, "e": null, "f": null, "h": {"i": null},
            "l": [{"x": null, "w": 1}], "o": 1, "t": null,
        })
    );
}

#[test]
fn directives_are_followed_with_overlays_or_without() {
    let definition = "m: {$patch: replace, a: 1}\nnodePools: [{name: infra, $patch: delete}, {name: p}]\nproperties: {x: {$retainKeys: [w], w: 1}}";
    let expected = json!({
        "m": {"a": 1}, "nodePools": [{"name": "p"}],
        "properties": {"x": {"w": 1, "$retainKeys": ["w"]}},
    });
    assert_eq!(merged(&mut overlays([]), definition).to_json(), expected);
    let low = "merge: {m: {b: 2}, nodePools: [{name: infra}], properties: {x: {z: 1}}}";
    let mut with = overlays([overlay("low.yaml", low)]);
    assert_eq!(merged(&mut with, definition).to_json(), expected);
    let (_, findings) = overlays([]).merge(super::tests::definition("m: {$patch: away}"));
    assert_eq!(
        reported(&findings),
        ["O02 definition.yaml:4 the directive `$patch` cannot be followed"]
    );
}

#[test]
fn node_pools_merge_by_name_and_a_star_means_every_one() {
    let mut overlays = overlays([
        overlay(
            "low.yaml",
            "merge:\n  nodePools:\n  - name: p1\n    size: low\n  - name: '*'\n    size: all\n    disk: all\n  - name: infra\n    size: low",
        ),
        overlay(
            "high.yaml",
            "precedence: Enforced\nmerge:\n  nodePools:\n  - name: '*'\n    patched: yes",
        ),
    ]);
    let spec = merged(
        &mut overlays,
        "nodePools:\n- name: p2\n- name: p1\n  disk: mine",
    );
    assert_eq!(
        spec.to_json()["nodePools"],
        json!([
            {"name": "p2", "size": "all", "disk": "all", "patched": true},
            {"name": "p1", "size": "low", "disk": "mine", "patched": true},
            {"name": "infra", "size": "low", "disk": "all", "patched": true},
        ])
    );
    let pools = sources(&spec);
    for source in [
        "nodePools[0].name definition:5",
        "nodePools[0].size low:6",
        "nodePools[1].name definition:6",
        "nodePools[1].size low:4<low:6",
        "nodePools[1].disk definition:7<low:7",
        "nodePools[2].name low:8",
        "nodePools[2].patched high:5",
    ] {
        assert!(
            pools.iter().any(|found| found == source),
            "{source} in {pools:#?}"
        );
    }
}

#[test]
fn a_star_makes_no_pools_and_brings_none_back() {
    let star = "merge: {nodePools: [{name: '*', size: all}]}";
    let mut overlays = overlays([
        overlay("low.yaml", star),
        overlay("mid.yaml", "order: 1\nmerge: {nodePools: [{name: infra}]}"),
        overlay(
            "high.yaml",
            &format!("precedence: Enforced\norder: 2\n{star}"),
        ),
    ]);
    let spec = merged(
        &mut overlays,
        "nodePools: [{name: infra, $patch: delete}, {name: p}]",
    );
    assert_eq!(
        spec.to_json(),
        json!({"nodePools": [{"name": "p", "size": "all"}]})
    );
    let mut alone = super::tests::overlays([overlay("low.yaml", star)]);
    assert_eq!(merged(&mut alone, "a: 1").to_json(), json!({"a": 1}));
}

#[test]
fn only_definitions_with_the_labels_are_touched() {
    let mut overlays = overlays([overlay("o.yaml", "merge: {a: 1}")]);
    for text in [
        "metadata: {labels: {env: dev}}\nspec: {b: 1}",
        "spec: {b: 1}",
        "spec: text",
        "text",
    ] {
        let node = document("d.yaml", text);
        overlays.note(&node);
        assert_eq!(overlays.merge(node.clone()), (node, vec![]), "{text}");
    }
    assert_eq!(
        reported(&overlays.unused()),
        ["O01 o.yaml:1 the overlay `o` selects no definition"]
    );
    let empty = document("d.yaml", "metadata: {labels: {env: prod}}\nspec:");
    overlays.note(&empty);
    assert_eq!(overlays.merge(empty).0.to_json()["spec"], json!({"a": 1}));
    assert_eq!(overlays.unused(), []);
}

#[test]
fn the_label_that_is_probably_meant_is_suggested() {
    let help = |selectors: &[(&str, &str)], labels: &[&str]| {
        let selecting = |(at, (key, value)): (usize, &(&str, &str))| Overlay {
            selector: Selector {
                match_labels: [((*key).to_owned(), (*value).to_owned())].into(),
                ..Selector::default()
            },
            ..overlay(&format!("{at}.yaml"), "merge: {a: 1}")
        };
        let overlays = selectors.iter().enumerate().map(selecting);
        let mut overlays = Overlays::new(overlays.collect(), ListKeys::default());
        for labels in labels {
            overlays.note(&document(
                "d.yaml",
                &format!("metadata: {{labels: {labels}}}"),
            ));
        }
        let first = overlays.unused().into_iter().next();
        first.and_then(|finding| finding.help).unwrap_or_default()
    };
    let (prod, selected) = ("{env: prod}", ("env", "prod"));
    assert_eq!(
        help(&[("env", "prd")], &[prod]),
        "did you mean `env: prod`?"
    );
    let copied = "did you mean `env: prod`? A definition has that label";
    assert_eq!(help(&[("evn", "prod")], &[prod]), copied);
    let nearest = "did you mean `env`? The definitions have it with `prod`";
    assert_eq!(help(&[("evn", "test")], &[prod]), nearest);
    // The label of the definition is the one that differs.
    let there = "a definition has `evn: prod`: did you mean `env` there?";
    assert_eq!(help(&[selected], &["{evn: prod}", "{env: dev}"]), there);
    assert_eq!(help(&[selected, ("env", "dev")], &["{evn: prod}"]), there);
    let known = "the definitions have `env` with `dev`";
    assert_eq!(help(&[selected], &["{env: dev}"]), known);
}

const OBJECTS: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROCluster
metadata: {name: a, namespace: ns, labels: {env: prod, tier: one}, annotations: {stage: early}}
spec:
  resources:
  - {apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {location: x}}
  - {apiVersion: network.azure.com/v1api20240301, kind: VirtualNetwork, metadata: {name: n}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: ns, labels: {env: prod}, annotations: {owner: sre}}
data: {k: v}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: d, namespace: ns, labels: {env: dev}}
";

fn objects() -> Vec<Object> {
    let documents = documents("objects.yaml", OBJECTS);
    let mut objects: Vec<Object> = documents
        .into_iter()
        .map(|node| Object::from_node(node, "").unwrap())
        .collect();
    objects[0].definition = Some(ObjectId::new("capstan.dev", "ClusterDefinition", "ns", "a"));
    objects
}

/// The objects after these patches, what was found, and what was for nothing.
fn patched(text: &str) -> (Vec<Json>, Vec<String>, Vec<String>) {
    let mut overlays = overlays([overlay("o.yaml", text)]);
    let mut objects = objects();
    let findings = overlays.patch(&mut objects);
    let json = objects.iter().map(|object| object.node.to_json()).collect();
    (json, reported(&findings), reported(&overlays.unused()))
}

#[test]
fn a_patch_meets_expanded_and_raw_objects_of_its_labels() {
    let (objects, findings, unused) =
        patched("patches: [{patch: {metadata: {annotations: {owner: sre}}}}]");
    assert_eq!((findings, unused), (vec![], vec![]));
    let owner = |object: &Json| object["metadata"]["annotations"]["owner"].clone();
    let owners: Vec<Json> = objects.iter().map(owner).collect();
    assert_eq!(owners, [json!("sre"), json!("sre"), Json::Null]);
    assert_eq!(objects[0]["spec"]["resources"][0].get("annotations"), None);
}

#[test]
fn an_embedded_resource_is_met_by_its_kind_wherever_its_labels_are() {
    for target in [
        "{kind: Vault}",
        "{kind: Vault, group: keyvault.azure.com, version: v1api20230701, name: 'v.*', namespace: ns, tier: one}",
    ] {
        let (objects, findings, unused) = patched(&format!(
            "patches: [{{target: {target}, patch: {{spec: {{sku: s}}}}}}]"
        ));
        assert_eq!((findings, unused), (vec![], vec![]), "{target}");
        let resources = &objects[0]["spec"]["resources"];
        assert_eq!(resources[0]["spec"], json!({"location": "x", "sku": "s"}));
        assert_eq!(resources[1].get("spec"), None);
    }
    let (_, _, unused) = patched(
        "patches:\n- {target: {kind: Vault, tier: two}, patch: {}}\n- {target: {name: v}, patch: {}}",
    );
    assert_eq!(
        unused,
        [
            "O01 o.yaml:2 this patch matches no object that the overlay selects",
            "O01 o.yaml:3 this patch matches no object that the overlay selects",
        ]
    );
}

#[test]
fn names_are_anchored_patterns_and_selectors_look_at_labels_and_annotations() {
    for (target, expected) in [
        ("{name: 'c|x'}", 1),
        ("{name: '[cd]'}", 1),
        ("{name: '.'}", 2),
        ("{name: ''}", 2),
        ("{kind: 'Config.*'}", 1),
        ("{kind: Config}", 0),
        ("{namespace: 'n.', kind: '.*Map'}", 1),
        ("{version: 'v1beta[12]'}", 1),
        ("{group: '.*x-k8s.io'}", 1),
        ("{labelSelector: 'tier in (one)'}", 1),
        ("{labelSelector: '!tier'}", 1),
        ("{annotationSelector: 'owner=sre,stage!=late'}", 1),
        ("{annotationSelector: 'owner'}", 1),
        ("{annotationSelector: 'owner=me'}", 0),
    ] {
        let text = format!(
            "patches: [{{target: {target}, patch: {{metadata: {{labels: {{met: 'yes'}}}}}}}}]"
        );
        let (objects, findings, _) = patched(&text);
        assert_eq!(findings, [""; 0], "{target}");
        let met = objects
            .iter()
            .filter(|object| object["metadata"]["labels"]["met"] == "yes");
        assert_eq!(met.count(), expected, "{target}");
    }
    // An embedded resource has the annotations of its carrier beside its own.
    let (objects, ..) = patched(
        "patches: [{target: {kind: Vault, annotationSelector: stage=early}, patch: {spec: {x: 1}}}]",
    );
    assert_eq!(objects[0]["spec"]["resources"][0]["spec"]["x"], 1);
}

#[test]
fn patches_run_in_order_on_the_labels_that_were_there_before() {
    let first = overlay(
        "z.yaml",
        "order: 1\npatches: [{patch: {metadata: {labels: {env: dev}}, data: {k: '1'}}}]",
    );
    let second = overlay("a.yaml", "order: 2\npatches: [{patch: {data: {k: '2'}}}]");
    let mut overlays = overlays([second, first]);
    let mut objects = objects();
    assert_eq!(overlays.patch(&mut objects), []);
    assert_eq!(objects[1].node.to_json()["data"], json!({"k": "2"}));
    assert_eq!(
        sources(objects[1].node.get("data").unwrap()),
        ["k a:2<z:2<objects:12"]
    );
    assert_eq!(objects[2].node.get("data"), None);
}

#[test]
fn a_patch_may_not_make_another_object_of_one() {
    for patch in [
        "{metadata: {name: other}}",
        "{metadata: {namespace: other}}",
        "{kind: Other}",
        "{apiVersion: v2}",
        "{metadata: {$patch: replace, labels: {}}}",
        "[{op: remove, path: /metadata/name}]",
    ] {
        let (after, findings, _) = patched(&format!("patches:\n- patch: {patch}"));
        let message = "O02 o.yaml:2 a patch may not change apiVersion, kind, name or namespace";
        assert_eq!(findings, [message; 2], "{patch}");
        let before: Vec<Json> = objects()
            .iter()
            .map(|object| object.node.to_json())
            .collect();
        assert_eq!(after, before);
    }
    let same = "patches: [{target: {kind: ConfigMap}, patch: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns}, data: {k: w}}}]";
    let (objects, findings, _) = patched(same);
    assert_eq!((findings, &objects[1]["data"]["k"]), (vec![], &json!("w")));
}

#[test]
fn a_finding_names_the_object() {
    let text = "patches:\n- patch: {$patch: delete}\n- patch: [{op: remove, path: /none}]";
    let mut overlays = overlays([overlay("o.yaml", text)]);
    let findings = overlays.patch(&mut objects());
    let whole = "O02 o.yaml:2 the patch removes the whole value it is for";
    let none = "O02 o.yaml:3 there is nothing at `/none`";
    assert_eq!(reported(&findings), [whole, whole, none, none]);
    let names = findings.iter().map(|finding| finding.object.clone());
    let names: Vec<String> = names.map(|id| id.unwrap().to_string()).collect();
    let both = ["AROCluster/ns/a", "ConfigMap/ns/c"];
    assert_eq!(names, [both, both].concat());
}

#[test]
fn a_directive_without_an_element_is_found_at_its_line_and_adds_nothing() {
    let definition = "properties:\n  labels:\n  - key: a\n  - value: b\n    $patch: merge";
    let (merged, findings) = overlays([]).merge(super::tests::definition(definition));
    assert_eq!(
        reported(&findings),
        ["O02 definition.yaml:8 `$patch: merge` names no element: it needs `key`"]
    );
    let labels = merged.at(&["spec", "properties", "labels"]).unwrap();
    assert_eq!(labels.to_json(), json!([{"key": "a"}]));
}

#[test]
fn lists_are_for_json_patches() {
    let (objects, findings, _) = patched(
        "patches: [{target: {kind: ConfigMap}, patch: [{op: test, path: /data/k, value: v}, {op: add, path: /data/l, value: w}]}]",
    );
    assert_eq!(findings, [""; 0]);
    assert_eq!(objects[1]["data"], json!({"k": "v", "l": "w"}));
}
