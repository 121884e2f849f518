//! S02 and S04: the values of ConfigMaps and Secrets are texts, and those below `data` of a Secret and `binaryData` of
//! a ConfigMap are base64. The API server rejects others. It does not know what the values mean.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::GeneralPurposeConfig;
use base64::engine::general_purpose::GeneralPurpose;

use super::placeholder::stands_for_a_secret;
use super::secrets::is_encrypted;
use crate::model::{Finding, Key, Node, Object, Path, Segment, Value, message, rule_id};

/// What Go's `base64.StdEncoding` takes: padding is needed, and the last character may have bits beyond the value.
const GO: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// S02 and S04: each value is of the kind that its map holds.
pub(super) fn are_texts(object: &Object) -> Vec<Finding> {
    let maps: &[(&str, bool)] = match (object.id.group.as_str(), object.id.kind.as_str()) {
        ("", "ConfigMap") => &[("data", false), ("binaryData", true)],
        ("", "Secret") if !is_encrypted(object) => &[("stringData", false), ("data", true)],
        _ => return Vec::new(),
    };
    let of_map = |(name, is_base64): &(&'static str, bool)| {
        let Some(node) = object.node.get(name) else {
            return Vec::new();
        };
        if let Some(fault) = no_map(object, name, node) {
            return vec![fault];
        }
        let entries = node.as_map().into_iter().flat_map(|map| map.iter());
        let fault = |(key, value): (&Key, &Node)| {
            let field = Path::dotted(name).key(key.name.clone());
            let found = fault(value, &field, *is_base64)?;
            Some(found.at(value.span()).of(&object.id).field(&field))
        };
        entries.filter_map(fault).collect::<Vec<_>>()
    };
    let immutable = object.node.get("immutable");
    let immutable = immutable.filter(|node| !matches!(node.value, Value::Null | Value::Bool(_)));
    let immutable = immutable.map(|node| {
        let message = "`immutable` must be true or false";
        of_field(
            object,
            "immutable",
            node,
            Finding::error(rule_id::WRONG_TYPE, message),
        )
    });
    maps.iter().flat_map(of_map).chain(immutable).collect()
}

/// The values are not in a map. The API server would repeat them when it refuses that.
fn no_map(object: &Object, name: &'static str, node: &Node) -> Option<Finding> {
    let is_map = matches!(node.value, Value::Null | Value::Map(_));
    let message = message!("`{name}` must be a map", name);
    let finding = Finding::error(rule_id::WRONG_TYPE, message);
    let finding = finding.help("write each value below its own key");
    (!is_map).then(|| of_field(object, name, node, finding))
}

fn of_field(object: &Object, name: &'static str, node: &Node, finding: Finding) -> Finding {
    let field = Path::dotted(name);
    finding.at(node.span()).of(&object.id).field(&field)
}

/// What is wrong with one value. The message does not have it, since it may be secret.
fn fault(value: &Node, field: &Path, is_base64: bool) -> Option<Finding> {
    let text = match &value.value {
        // The API server reads it as an empty text.
        Value::Null => return None,
        Value::String(text) => text,
        Value::Map(_) | Value::List(_) => {
            let message = message!("`{field}` must be a string", field);
            let help = "write a block of text: `|` after the key, and the text indented below it";
            return Some(Finding::error(rule_id::WRONG_TYPE, message).help(help));
        }
        _ => {
            let message = message!("`{field}` must be a string", field);
            return Some(
                Finding::error(rule_id::WRONG_TYPE, message).help("put the value in quotes"),
            );
        }
    };
    // As in Go, line breaks do not count.
    let lines: String = text.split(['\r', '\n']).collect();
    if !is_base64 || stands_for_a_secret(text) || GO.decode(lines).is_ok() {
        return None;
    }
    let message = message!("`{field}` is not base64", field);
    let help = match field.0.first() {
        Some(first) if *first == Segment::Key("data".to_owned()) => {
            "encode the value with `base64`, or write it as it is below `stringData`"
        }
        _ => "encode the value with `base64`, or write it as it is below `data`",
    };
    Some(Finding::error(rule_id::INVALID_VALUE, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    fn found(kind: &str, rest: &str) -> Vec<String> {
        let yaml = format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n{rest}\n");
        findings_of(are_texts, &yaml)
    }

    #[test]
    fn values_of_config_maps_and_secrets_are_texts() {
        for (kind, rest, expected) in [
            ("ConfigMap", "data: {a: x, b: null, c: '1'}", None),
            (
                "ConfigMap",
                "data: {a: 8080}",
                Some("S02 4:11 `data.a` must be a string"),
            ),
            (
                "ConfigMap",
                "data: {a: true}",
                Some("S02 4:11 `data.a` must be a string"),
            ),
            (
                "ConfigMap",
                "data: {a: {b: c}}",
                Some("S02 4:11 `data.a` must be a string"),
            ),
            ("ConfigMap", "binaryData: {a: AAEC}", None),
            (
                "ConfigMap",
                "binaryData: {a: x}",
                Some("S04 4:17 `binaryData.a` is not base64"),
            ),
            (
                "Secret",
                "stringData: {a: 1}",
                Some("S02 4:17 `stringData.a` must be a string"),
            ),
            ("Secret", "data: {a: aHVudGVyMg==}", None),
            ("Secret", "data: {a: \"aHVu\\ndGVyMg==\\n\"}", None),
            ("Secret", "data: {a: YWJ=}", None),
            (
                "Secret",
                "data: {a: YWI}",
                Some("S04 4:11 `data.a` is not base64"),
            ),
            ("Secret", "data: {a: '${PASSWORD}'}", None),
            (
                "Secret",
                "data: {a: hunter2}",
                Some("S04 4:11 `data.a` is not base64"),
            ),
            ("Service", "data: {a: 1}", None),
            (
                "Secret",
                "stringData: hunter2",
                Some("S02 4:13 `stringData` must be a map"),
            ),
            (
                "Secret",
                "data: [hunter2]",
                Some("S02 4:7 `data` must be a map"),
            ),
            (
                "Secret",
                "immutable: hunter2",
                Some("S02 4:12 `immutable` must be true or false"),
            ),
            ("Secret", "immutable: true", None),
            ("ConfigMap", "data: null", None),
            ("Service", "immutable: x", None),
        ] {
            let expected: Vec<&str> = expected.into_iter().collect();
            assert_eq!(found(kind, rest), expected, "{kind} {rest}");
        }
    }
}
