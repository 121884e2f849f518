#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::{Value, json};

use super::{Element, FieldSet};

fn set(json: Value) -> FieldSet {
    FieldSet::from_json(&json).unwrap()
}

#[test]
fn every_kind_of_element_is_read_and_printed() {
    for text in [
        "f:name",
        "f:app.kubernetes.io/name",
        "f:with:colon",
        r#"k:{"name":"a"}"#,
        r#"k:{"containerPort":80,"protocol":"TCP"}"#,
        r#"v:"x""#,
        "v:1",
        "v:true",
        "i:0",
    ] {
        assert_eq!(Element::parse(text).unwrap().print(), text);
    }
    for text in ["name", "k:[]", "v:", "i:x", "x:y"] {
        assert!(Element::parse(text).is_err(), "{text}");
    }
}

#[test]
fn key_fields_are_in_order_whatever_was_written() {
    let element = Element::parse(r#"k:{"protocol":"TCP","containerPort":80}"#).unwrap();
    assert_eq!(
        element.print(),
        r#"k:{"containerPort":80,"protocol":"TCP"}"#
    );
    assert_eq!(element.to_string(), r#"[containerPort=80,protocol="TCP"]"#);
}

#[test]
fn fields_v1_comes_back_as_it_was() {
    let json = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:list": {r#"k:{"name":"a"}"#: {".": {}, "f:name": {}}, "v:1": {}}, "f:x": {}}});
    assert_eq!(set(json.clone()).to_json(), json);
    assert_eq!(set(json!({"f:a": {".": {}}})).to_json(), json!({"f:a": {}}));
    assert_eq!(
        set(json!({"f:a": {"z:new": {}}})).to_json(),
        json!({"f:a": {}})
    );
    assert!(FieldSet::from_json(&json!({"f:a": 1})).is_err());
}

#[test]
fn paths_are_listed_members_first() {
    let set = set(json!({"f:b": {".": {}, "f:c": {}}, "f:a": {"f:d": {}}, "f:z": {}}));
    let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, [".b", ".z", ".a.d", ".b.c"]);
    assert_eq!(set.len(), 4);
}

#[test]
fn a_set_contains_its_members_only() {
    let set = set(json!({"f:a": {"f:b": {}}}));
    let path =
        |names: &[&str]| -> Vec<Element> { names.iter().map(|n| Element::field(*n)).collect() };
    assert!(set.contains(&path(&["a", "b"])));
    assert!(!set.contains(&path(&["a"])));
    assert!(!set.contains(&path(&["a", "b", "c"])));
    assert!(!set.contains(&[]));
}

#[test]
fn sets_are_joined_and_cut_field_by_field() {
    let a = set(json!({"f:x": {".": {}, "f:a": {}, "f:b": {}}, "f:y": {}}));
    let b = set(json!({"f:x": {"f:b": {}, "f:c": {}}, "f:z": {}}));
    let union = json!({"f:x": {".": {}, "f:a": {}, "f:b": {}, "f:c": {}}, "f:y": {}, "f:z": {}});
    assert_eq!(a.union(&b).to_json(), union);
    assert_eq!(a.intersection(&b).to_json(), json!({"f:x": {"f:b": {}}}));
    assert_eq!(
        a.difference(&b).to_json(),
        json!({"f:x": {".": {}, "f:a": {}}, "f:y": {}})
    );
    assert!(a.difference(&a).is_empty());
}

#[test]
fn a_parent_does_not_take_its_children_away_unless_asked() {
    let set_of = set(json!({"f:x": {".": {}, "f:a": {}}}));
    let parent = set(json!({"f:x": {}}));
    assert_eq!(
        set_of.difference(&parent).to_json(),
        json!({"f:x": {"f:a": {}}})
    );
    assert!(set_of.without_subtrees(&parent).is_empty());
}

#[test]
fn numbers_that_mean_the_same_are_the_same_element() {
    assert_eq!(
        Element::parse("v:1").unwrap(),
        Element::parse("v:1.0").unwrap()
    );
    assert_ne!(
        Element::parse("v:1").unwrap(),
        Element::parse(r#"v:"1""#).unwrap()
    );
}
