//! What the passes of a write come to together.

#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

use serde_json::{Value, json};

use kube_schema::Schema;

use crate::cel::RuleTree;
use crate::judge;
use crate::verdict::Verdict;

/// The object itself.
const MAIN: &str = "";

fn judged(schema: &Value, new: Value, old: Option<Value>, subresource: &str) -> Verdict {
    let schema = Schema::from_json(schema).unwrap();
    let rules = RuleTree::compile(&schema).unwrap();
    judge(&schema, &rules, &new, old.as_ref(), subresource)
}

fn fields(verdict: &Verdict) -> Vec<&str> {
    let violations = verdict.violations.iter();
    violations
        .map(|violation| violation.field.as_str())
        .collect()
}

fn with_rule(properties: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties,
        "x-kubernetes-validations": [{"rule": "self.a != self.b", "message": "a is b"}]}}})
}

#[test]
fn rules_are_not_looked_at_where_they_would_only_add_noise() {
    let texts = |a: Value| with_rule(json!({"a": a, "b": {"type": "string"}}));
    let skipped = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    for (a, spec) in [
        (json!({"type": "string"}), json!({"a": 1, "b": "x"})),
        (
            json!({"type": "string", "enum": ["y"]}),
            json!({"a": "x", "b": "x"}),
        ),
        (
            json!({"type": "string", "maxLength": 1}),
            json!({"a": "xx", "b": "xx"}),
        ),
        (
            json!({"type": "string", "format": "uuid"}),
            json!({"a": "x", "b": "x"}),
        ),
    ] {
        let verdict = judged(&texts(a), json!({"spec": spec}), None, MAIN);
        let last = verdict.violations.last().unwrap().to_string();
        assert_eq!((verdict.violations.len(), last.as_str()), (2, skipped));
    }
    let pattern = texts(json!({"type": "string", "pattern": "^y"}));
    let spec = json!({"spec": {"a": "x", "b": "x"}});
    let verdict = judged(&pattern, spec, None, MAIN);
    assert_eq!(fields(&verdict), ["spec.a", "spec"]);
    let unruled = json!({"type": "object", "properties": {"spec": {"type": "string"}}});
    let verdict = judged(&unruled, json!({"spec": 1}), None, MAIN);
    assert_eq!(fields(&verdict), ["spec"]);
}

/// A spec whose schema has become stricter than what is stored.
fn stricter() -> Value {
    let text = json!({"type": "string", "maxLength": 3});
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "t": text}});
    let keyed = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    json!({"type": "object", "properties": {"kind": {"type": "string", "enum": ["K"]}, "spec": {"type": "object",
        "required": ["new"], "properties": {
            "t": text, "n": {"type": "integer"}, "new": {"type": "string"}, "keyed": keyed,
            "plain": {"type": "array", "items": item},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "required": ["x"]},
            "either": {"type": "object", "properties": {"t": {"type": "string"}},
                "anyOf": [{"properties": {"t": {"maxLength": 3}}}]}}}}})
}

#[test]
fn what_was_wrong_before_is_tolerated_where_nothing_changed() {
    let long = |key: &str| json!({"k": key, "t": "long"});
    for (old, new, expected) in [
        (
            json!({"t": "long"}),
            json!({"t": "long", "new": ""}),
            vec![],
        ),
        (
            json!({"t": "long"}),
            json!({"t": "longer", "new": ""}),
            vec!["spec.t"],
        ),
        (json!({}), json!({"t": "long", "new": ""}), vec!["spec.t"]),
        (json!({"n": 1}), json!({"n": 1}), vec![]),
        (json!({"n": 1}), json!({"n": 2}), vec!["spec.new"]),
        (
            json!({"new": "", "keyed": [long("a"), long("b")]}),
            json!({"new": "", "keyed": [{"k": "c"}, long("b"), {"k": "a", "t": "longer"}]}),
            vec!["spec.keyed[2].t"],
        ),
        (
            json!({"new": "", "plain": [long("a")]}),
            json!({"new": "", "plain": [long("a"), {"k": "b"}]}),
            vec!["spec.plain[0].t"],
        ),
        (
            json!({"new": "", "open": {"y": 1}}),
            json!({"new": "", "open": {"y": 1}, "n": 1}),
            vec!["spec.open.x"],
        ),
        (
            json!({"new": "", "either": {"t": "long"}}),
            json!({"new": "", "either": {"t": "long"}, "n": 1}),
            vec![],
        ),
    ] {
        let (new, old) = (json!({"spec": new}), json!({"spec": old}));
        let shown = new.to_string();
        let verdict = judged(&stricter(), new, Some(old), MAIN);
        assert_eq!(fields(&verdict), expected, "{shown}");
    }
    let same = json!({"kind": "L", "spec": {"new": ""}});
    let changed = json!({"kind": "L", "spec": {"new": "a"}});
    let verdict = judged(&stricter(), changed, Some(same), MAIN);
    assert_eq!(fields(&verdict), ["kind"]);
}

#[test]
fn items_that_were_there_twice_may_stay() {
    let set =
        json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"});
    let schema = json!({"type": "object", "properties": {"spec": set}});
    let (once, twice) = (json!({"spec": ["a"]}), json!({"spec": ["a", "a"]}));
    let thrice = json!({"spec": ["a", "a", "a"]});
    let refused = judged(&schema, twice.clone(), Some(once), MAIN);
    assert_eq!(fields(&refused), ["spec[1]"]);
    let kept = judged(&schema, thrice, Some(twice), MAIN);
    assert_eq!(fields(&kept), [""; 0]);
}

#[test]
fn a_status_is_checked_for_itself_and_with_the_rules_of_all() {
    let schema = json!({"type": "object",
        "x-kubernetes-validations": [{"rule": "!has(self.status.n) || self.status.n < 5", "message": "too much"}],
        "properties": {
            "spec": {"type": "object", "required": ["a"], "x-kubernetes-preserve-unknown-fields": true},
            "status": {"type": "object", "properties": {
                "n": {"type": "integer", "maximum": 7}, "m": {"type": "integer"}}}}});
    let with = |status: Value| json!({"spec": {"b": 1}, "status": status});
    let found = |status: Value, subresource: &str| {
        let verdict = judged(&schema, with(status), Some(with(json!({}))), subresource);
        verdict
            .violations
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(json!({"n": 1}), "status"), [""; 0]);
    assert_eq!(
        found(json!({"n": 8}), "status"),
        [
            "status.n: Invalid value: 8: n in body should be less than or equal to 7",
            r#"<nil>: Invalid value: "object": too much"#,
        ]
    );
    let wrong = found(json!("no"), "status");
    assert_eq!(
        wrong[0],
        r#"status: Invalid value: "string":  in body must be of type object: "string""#
    );
    assert_eq!(found(json!({"n": 1}), MAIN)[0], "spec.a: Required value");
}
