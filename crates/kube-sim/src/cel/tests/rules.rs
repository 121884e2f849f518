//! Where rules apply, and the messages of broken rules.

use serde_json::{Value, json};

use super::{failures, of_object, schema, violations};
use kube_schema::Schema;

fn sized(rules: Value) -> Schema {
    schema(
        json!({"size": {"type": "integer"}, "name": {"type": "string"}}),
        rules,
    )
}

const NONE: [&str; 0] = [];

#[test]
fn a_broken_rule_is_one_violation() {
    let schema = sized(json!([{"rule": "self.size > 1"}, {"rule": "self.size < 9"}]));
    assert_eq!(violations(&schema, json!({"size": 2}), None), NONE);
    assert_eq!(
        violations(&schema, json!({"size": 1}), None),
        [r#"spec: Invalid value: "object": failed rule: self.size > 1"#]
    );
}

#[test]
fn a_rule_chooses_its_message_reason_and_field() {
    let rule = |extra: Value| {
        let mut rule = json!({"rule": "self.size > 1", "message": " too small "});
        rule.as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        violations(&sized(json!([rule])), json!({"size": 1}), None).remove(0)
    };
    assert_eq!(
        rule(json!({})),
        r#"spec: Invalid value: "object": too small"#
    );
    assert_eq!(
        rule(json!({"messageExpression": "'size is ' + string(self.size)"})),
        r#"spec: Invalid value: "object": size is 1"#
    );
    // An unusable message expression falls back to the message.
    for expression in ["''", "'a\\nb'", "self.name", "'x'.charAt(self.size + 5)"] {
        assert_eq!(
            rule(json!({"messageExpression": expression})),
            r#"spec: Invalid value: "object": too small"#
        );
    }
    for (reason, expected) in [
        (
            "FieldValueInvalid",
            r#"spec: Invalid value: "object": too small"#,
        ),
        ("FieldValueForbidden", "spec: Forbidden: too small"),
        ("FieldValueRequired", "spec: Required value: too small"),
        ("FieldValueDuplicate", r#"spec: Duplicate value: "object""#),
    ] {
        assert_eq!(rule(json!({"reason": reason})), expected);
    }
    assert_eq!(
        rule(json!({"fieldPath": ".size"})),
        r#"spec.size: Invalid value: "object": too small"#
    );
}

#[test]
fn violations_name_the_field_path() {
    let schema = schema(
        json!({"labels": {"type": "object", "additionalProperties": {"type": "string"}}}),
        json!([{"rule": "false", "message": "no", "fieldPath": ".labels['a.b']"}]),
    );
    let found = failures(&schema, &json!({"labels": {"a.b": "c"}}), None);
    assert_eq!(found.violations[0].field, "spec.labels[a.b]");
    assert_eq!(found.violations[0].path.to_string(), "spec.labels[a.b]");
}

#[test]
fn a_rule_applies_to_each_value_at_its_place() {
    let item = json!({"type": "string", "x-kubernetes-validations": [
        {"rule": "self.size() < 3", "message": "too long"}]});
    let schema = schema(
        json!({"list": {"type": "array", "items": item}, "map": {"type": "object", "additionalProperties": item}}),
        json!([]),
    );
    let value = json!({"list": ["a", "abcd", "ab"], "map": {"x.y": "abc", "z": "é☃"}});
    assert_eq!(
        violations(&schema, value, None),
        [
            r#"spec.list[1]: Invalid value: "string": too long"#,
            r#"spec.map[x.y]: Invalid value: "string": too long"#,
        ]
    );
}

#[test]
fn rules_see_defaults_and_skip_absent_values() {
    let nullable = json!({"type": "string", "nullable": true,
        "x-kubernetes-validations": [{"rule": "self == 'b'"}]});
    let schema = schema(
        json!({"size": {"type": "integer", "default": 3}, "text": nullable}),
        json!([{"rule": "has(self.size) && self.size == 3"}, {"rule": "!has(self.text)"}]),
    );
    assert_eq!(violations(&schema, json!({}), None), NONE);
    assert_eq!(violations(&schema, json!({"text": null}), None), NONE);
    assert_eq!(violations(&schema, json!({"text": "b"}), None).len(), 1);
}

#[test]
fn a_failed_evaluation_is_a_violation_with_the_error() {
    let why = |rule: &str, value: Value| {
        let schema = sized(json!([{"rule": rule, "fieldPath": ".size", "message": "m"}]));
        violations(&schema, value, None).remove(0)
    };
    assert_eq!(
        why("self.name == 'a'", json!({"size": 1})),
        r#"spec: Invalid value: "object": no such key: name evaluating rule: m"#
    );
    assert_eq!(
        why("1 / self.size == 1", json!({"size": 0})),
        r#"spec: Invalid value: "object": division by zero evaluating rule: m"#
    );
    assert_eq!(
        why("dyn(self.size) > 'a'", json!({"size": 0})),
        r#"spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: m"#
    );
}

#[test]
fn a_rule_with_old_self_needs_an_old_value() {
    let schema = sized(json!([
        {"rule": "self.size >= oldSelf.size", "message": "shrinks", "reason": "FieldValueForbidden"}]));
    assert_eq!(violations(&schema, json!({"size": 1}), None), NONE);
    assert_eq!(
        violations(&schema, json!({"size": 3}), Some(json!({"size": 3}))),
        NONE
    );
    assert_eq!(
        violations(&schema, json!({"size": 1}), Some(json!({"size": 3}))),
        ["spec: Forbidden: shrinks"]
    );
    assert_eq!(
        violations(&schema, json!({"size": 1}), Some(Value::Null)),
        NONE
    );
}

#[test]
fn a_rule_with_an_optional_old_value_applies_to_new_values() {
    let schema = sized(json!([
        {"rule": "oldSelf.hasValue() || self.size == 1", "message": "starts with 1", "optionalOldSelf": true},
        {"rule": "oldSelf.?size.orValue(self.size) == self.size", "message": "stays", "optionalOldSelf": true}]));
    let starts = r#"spec: Invalid value: "object": starts with 1"#;
    let stays = r#"spec: Invalid value: "object": stays"#;
    assert_eq!(violations(&schema, json!({"size": 1}), None), NONE);
    assert_eq!(violations(&schema, json!({"size": 2}), None), [starts]);
    assert_eq!(
        violations(&schema, json!({"size": 2}), Some(json!({"size": 2}))),
        NONE
    );
    assert_eq!(
        violations(&schema, json!({"size": 3}), Some(json!({"size": 2}))),
        [stays]
    );
    assert_eq!(
        violations(&schema, json!({"size": 3}), Some(json!({}))),
        NONE
    );
}

/// A list of items with a key and a value that must not shrink.
fn growing(kind: &str) -> Schema {
    let rules = json!([{"rule": "self.v >= oldSelf.v", "message": "shrinks"}]);
    let item = json!({"type": "object", "required": ["k"], "x-kubernetes-validations": rules,
        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}});
    let list = json!({"type": "array", "x-kubernetes-list-type": kind,
        "x-kubernetes-list-map-keys": ["k"], "items": item});
    schema(json!({"list": list}), json!([]))
}

#[test]
fn items_are_matched_with_old_items_by_their_keys() {
    let old = json!({"list": [{"k": "a", "v": 1}, {"k": "b", "v": 5}]});
    let new = json!({"list": [{"k": "b", "v": 4}, {"k": "c", "v": 0}, {"k": "a", "v": 2}]});
    assert_eq!(
        violations(&growing("map"), new.clone(), Some(old.clone())),
        [r#"spec.list[0]: Invalid value: "object": shrinks"#]
    );
    assert_eq!(violations(&growing("atomic"), new, Some(old)), NONE);
}

#[test]
fn unchanged_values_may_break_rules() {
    let text = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != 'bad'", "message": "bad"}]});
    let item = json!({"type": "object", "properties": {"k": {"type": "string"}, "t": text}});
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": item});
    let schema = schema(
        json!({"t": text, "other": {"type": "integer"}, "keyed": keyed, "plain": {"type": "array", "items": item}}),
        json!([]),
    );
    let outcome = |new: Value, old: Value| {
        let found = failures(&schema, &new, Some(&old));
        let fields = |violations: &[kube_schema::Violation]| {
            violations
                .iter()
                .map(|v| v.field.clone())
                .collect::<Vec<_>>()
        };
        (fields(&found.violations), fields(&found.tolerated))
    };
    let one = |field: &str| vec![field.to_owned()];
    let (old, same) = (json!({"t": "bad"}), json!({"t": "bad", "other": 1}));
    assert_eq!(outcome(same, old), (vec![], one("spec.t")));
    assert_eq!(
        outcome(json!({"t": "bad"}), json!({"t": "good"})),
        (one("spec.t"), vec![])
    );
    assert_eq!(
        outcome(json!({"t": "bad"}), json!({})),
        (one("spec.t"), vec![])
    );
    let bad = |key: &str, others: Value| json!({key: [others, {"k": "x", "t": "bad"}]});
    let (old, new) = (json!({"k": "a"}), json!({"k": "b"}));
    assert_eq!(
        outcome(bad("keyed", new.clone()), bad("keyed", old.clone())),
        (vec![], one("spec.keyed[1].t"))
    );
    // A list without keys changes as a whole.
    assert_eq!(
        outcome(bad("plain", new.clone()), bad("plain", old)),
        (one("spec.plain[1].t"), vec![])
    );
    let mut moved = bad("plain", new.clone());
    moved["other"] = json!(1);
    assert_eq!(
        outcome(moved, bad("plain", new)),
        (vec![], one("spec.plain[1].t"))
    );
}

#[test]
fn a_broken_rule_with_old_self_is_never_tolerated() {
    let schema = sized(json!([{"rule": "self.size > oldSelf.size", "message": "grows"}]));
    let found = failures(&schema, &json!({"size": 1}), Some(&json!({"size": 1})));
    assert_eq!((found.violations.len(), found.tolerated.len()), (1, 0));
}

#[test]
fn rules_at_the_root_see_type_and_names() {
    let rules = json!([
        {"rule": "self.kind == 'Widget' && self.metadata.name.startsWith('w')"},
        {"rule": "!has(self.metadata.generateName)"},
        {"rule": "self.metadata.size() == 2"}]);
    let schema =
        Schema::from_json(&json!({"type": "object", "x-kubernetes-validations": rules})).unwrap();
    let object = |name: &str| {
        json!({"apiVersion": "g/v1", "kind": "Widget",
        "metadata": {"name": name, "labels": {"a": "b"}}})
    };
    assert_eq!(of_object(&schema, &object("w"), None).violations, []);
    let found = of_object(&schema, &object("x"), None).violations;
    assert_eq!(
        found[0].to_string(),
        r#"<nil>: Invalid value: "object": failed rule: self.kind == 'Widget' && self.metadata.name.startsWith('w')"#
    );
}

#[test]
fn an_unsupported_rule_is_reported_once() {
    let rules = json!([{"rule": "self.matches('\\\\p{Nope}') || self == 'a'", "message": "m"}]);
    let item = json!({"type": "string", "x-kubernetes-validations": rules});
    let schema = schema(json!({"list": {"type": "array", "items": item}}), json!([]));
    let found = failures(&schema, &json!({"list": ["b", "a", "c"]}), None);
    assert_eq!(found.violations, []);
    let reported: Vec<String> = found.unchecked.iter().map(ToString::to_string).collect();
    assert_eq!(
        reported,
        [r#"spec.list[0]: rule not evaluated: the pattern "\\p{Nope}" is not understood here: m"#]
    );
}

#[test]
fn a_rule_with_too_many_steps_is_not_evaluated() {
    let list = json!({"type": "array", "items": {"type": "integer"}});
    let rule = "self.list.all(a, self.list.all(b, self.list.all(c, a + b + c >= 0)))";
    let schema = schema(json!({"list": list}), json!([{"rule": rule}]));
    let found = failures(&schema, &json!({"list": vec![1; 500]}), None);
    assert_eq!(found.violations, []);
    assert_eq!(found.unchecked[0].why, "it takes too many steps");
}
