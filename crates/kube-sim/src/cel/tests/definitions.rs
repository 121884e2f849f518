//! Why definitions with rules are refused.

use serde_json::{Value, json};

use kube_schema::Schema;

use crate::cel::definition::RuleFaults;
use crate::cel::{RuleTree, rule_faults};

/// What is wrong with the rules of a structural schema.
fn faults_of(schema: &Value) -> RuleFaults {
    let schema = Schema::from_json(schema).unwrap();
    rule_faults(&schema, &RuleTree::compile(&schema).unwrap(), true)
}

/// A schema with one rule at its `spec`.
fn faults(rule: Value) -> RuleFaults {
    let text = json!({"type": "string"});
    let item = json!({"type": "object", "properties": {"a": text}});
    let properties = json!({
        "text": text, "size": {"type": "integer"}, "share": {"type": "number"}, "list": {"type": "array", "items": item},
        "map": {"type": "object", "additionalProperties": text}, "either": {"x-kubernetes-int-or-string": true},
        "any": {"x-kubernetes-preserve-unknown-fields": true}});
    let spec =
        json!({"type": "object", "properties": properties, "x-kubernetes-validations": [rule]});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    faults_of(&schema)
}

fn messages(rule: Value) -> Vec<String> {
    let found = faults(rule).faults.into_iter();
    let place = "properties[spec].x-kubernetes-validations[0].";
    found
        .map(|(path, message)| format!("{}: {message}", path.strip_prefix(place).unwrap()))
        .collect()
}

/// A rule that does not fit the schema, and how the message ends.
const MISTAKES: &[(&str, &str)] = &[
    ("self.colour == 'a'", "undefined field 'colour'"),
    ("has(self.list[0].b)", "undefined field 'b'"),
    ("self.list.all(x, x.b == 'a')", "undefined field 'b'"),
    ("self.?colour.hasValue()", "undefined field 'colour'"),
    ("self.any == 1", "undefined field 'any'"),
    ("other == 1", "undeclared reference to 'other'"),
    (
        "self.text.shout()",
        "undeclared reference to 'shout' or no such overload",
    ),
    (
        "self.text.size(1) > 1",
        "undeclared reference to 'size' or no such overload",
    ),
    (
        "self.size == 'a'",
        "found no matching overload for '_==_' applied to '(int, string)'",
    ),
    (
        "self.size == 1.0",
        "found no matching overload for '_==_' applied to '(int, double)'",
    ),
    (
        "self.text.matches(1)",
        "found no matching overload for 'matches' applied to '(int)'",
    ),
    (
        "self.text > 1",
        "found no matching overload for '_>_' applied to '(string, int)'",
    ),
    (
        "self.text == null",
        "found no matching overload for '_==_' applied to '(string, null)'",
    ),
    (
        "self.text + 1 == 'a'",
        "found no matching overload for '_+_' applied to '(string, int)'",
    ),
    (
        "self.text && true",
        "found no matching overload for '_&&_' applied to '(string)'",
    ),
    (
        "1 in self.map",
        "found no matching overload for '@in' applied to '(int, map(string, string))'",
    ),
    (
        "self.text.a == 1",
        "type 'string' does not support field selection",
    ),
    (
        "self.size.startsWith('a')",
        "found no matching overload for 'startsWith' applied to '(int)'",
    ),
    (
        "self.size.all(x, true)",
        "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ),
    (
        "self.text.hasValue()",
        "found no matching overload for 'hasValue' applied to '(string)'",
    ),
    (
        "[1, 'a'].size() == 2",
        "expected type 'int' but found 'string'",
    ),
    (
        "duration('1d') > duration('1s')",
        "invalid duration argument",
    ),
];

#[test]
fn expressions_that_do_not_fit_the_schema_are_refused() {
    for (rule, why) in MISTAKES {
        let found = messages(json!({"rule": rule}));
        assert_eq!(found.len(), 1, "{rule}: {found:?}");
        let end = format!("\"OptionalOldSelf\":null}}: compilation failed: {why}");
        assert!(
            found[0].starts_with("rule: Invalid value: {\"Rule\":"),
            "{rule}: {found:?}"
        );
        assert!(found[0].ends_with(&end), "{rule}: {found:?}");
    }
    let found = messages(json!({"rule": "self.size >"}));
    assert!(
        found[0].contains("compilation failed: ERROR: <input>:1:12: Syntax error"),
        "{found:?}"
    );
    let found = messages(json!({"rule": "self.size + 1"}));
    assert!(
        found[0].ends_with("cel expression must evaluate to a bool"),
        "{found:?}"
    );
    let found = messages(json!({"rule": "true", "messageExpression": "self.size"}));
    assert!(
        found[0].starts_with("messageExpression: Invalid value: "),
        "{found:?}"
    );
    assert!(
        found[0].ends_with(": messageExpression must evaluate to a string"),
        "{found:?}"
    );
}

#[test]
fn valid_expressions_are_accepted() {
    for rule in [
        "self.share > self.size && self.size < 2.5",
        "self.either == 1 || self.either == '1'",
        "self.either > 3 && type(self.either) == int",
        "self.?text.orValue('') == '' && self.?list[0].a.orValue('') == ''",
        "self.map.all(k, k != 'a' && self.map[k] == 'b')",
        "'%s-%d'.format([self.text, self.size]) == 'a-1'",
        "self.list.map(x, x.a).exists(y, y.startsWith('a'))",
        "(self.size > 1 ? self.text : 'b').size() > 0",
        "self.list.all(i, x, i < 3 && x.a != '')",
        "self.text.find('a') == 'a' && self.text.split(',')[0] == 'a'",
        "quantity(self.text).add(1).isGreaterThan(quantity('1'))",
        "duration(self.text) + duration('1s') > duration('1h')",
        "1 in {1: 'a'}",
    ] {
        assert_eq!(messages(json!({"rule": rule})), [""; 0], "{rule}");
    }
}

#[test]
fn rules_that_only_an_api_server_can_evaluate_are_accepted_and_reported() {
    let found = faults(json!({"rule": "self.list.sortBy(x, x.a).size() > 1"}));
    assert_eq!(found.faults, []);
    let path = "properties[spec].x-kubernetes-validations[0].rule";
    assert_eq!(
        found.unchecked,
        [(path.to_owned(), "`sortBy` is not known here".to_owned())]
    );
}

#[test]
fn fields_of_a_rule_are_validated() {
    for (rule, found) in [
        (
            json!({"rule": " "}),
            "rule: Required value: rule is not specified",
        ),
        (
            json!({"rule": "true", "message": " "}),
            r#"message: Invalid value: " ": must be non-empty if specified"#,
        ),
        (
            json!({"rule": "true", "message": "a\nb"}),
            r#"message: Invalid value: "a\nb": must not contain line breaks"#,
        ),
        (
            json!({"rule": "true ||\nfalse"}),
            "message: Required value: message must be specified if rule contains line breaks",
        ),
        (
            json!({"rule": "true", "messageExpression": " "}),
            "messageExpression: Required value: messageExpression must be non-empty if specified",
        ),
        (
            json!({"rule": "true", "reason": "Bad"}),
            r#"reason: Unsupported value: "Bad": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired""#,
        ),
        (
            json!({"rule": "true", "fieldPath": ".colour"}),
            r#"fieldPath: Invalid value: ".colour": must be a valid path"#,
        ),
        (
            json!({"rule": "true", "optionalOldSelf": true}),
            "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
        ),
    ] {
        assert_eq!(messages(rule), [found]);
    }
}

#[test]
fn old_self_is_refused_where_items_have_no_keys() {
    let rules = json!([{"rule": "self == oldSelf"}]);
    let list = |kind: &str| {
        let item = json!({"type": "object", "x-kubernetes-validations": rules,
            "properties": {"k": {"type": "string"}}});
        let list = json!({"type": "array", "items": item, "x-kubernetes-list-type": kind,
            "x-kubernetes-list-map-keys": ["k"]});
        let schema = json!({"type": "object", "properties": {"list": list}});
        faults_of(&schema).faults
    };
    assert_eq!(list("map"), []);
    let why = "oldSelf cannot be used on the uncorrelatable portion of the schema within";
    let message = format!(r#"Invalid value: "self == oldSelf": {why} properties[list]"#);
    let path = "properties[list].items.x-kubernetes-validations[0].rule";
    assert_eq!(list("atomic"), [(path.to_owned(), message)]);
}
