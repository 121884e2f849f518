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
        let map = object.node.get(name).and_then(Node::as_map);
        let entries = map.into_iter().flat_map(|map| map.iter());
        let fault = |(key, value): (&Key, &Node)| {
            let field = Path::dotted(name).key(key.name.clone());
            let found = fault(value, &field, *is_base64)?;
            Some(found.at(value.span()).of(&object.id).field(&field))
        };
        entries.filter_map(fault).collect::<Vec<_>>()
    };
    maps.iter().flat_map(of_map).collect()
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
        ] {
            let expected: Vec<&str> = expected.into_iter().collect();
            assert_eq!(found(kind, rest), expected, "{kind} {rest}");
        }
    }
}
