//! Bodies of requests.
//!
//! In: media types and bytes. Out: documents, or the refusal of what is neither JSON nor YAML. It does
//! not know what is asked.

use serde_json::{Value, json};

use super::document::Document;
use super::numbers;
use super::status::Refusal;

/// The longest body that is read, in bytes (k8s.io/apiserver `MaxRequestBodyBytes`).
pub(super) const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// The media type of a body, without its parameters.
pub(super) fn media_type(header: Option<&str>) -> &str {
    let header = header.unwrap_or_default();
    header.split(';').next().unwrap_or_default().trim()
}

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Yaml,
}

impl Format {
    /// The format of a media type; without one it is JSON.
    ///
    /// # Errors
    /// 415 for all others.
    pub(super) fn of(media: &str) -> Result<Self, Refusal> {
        match media {
            "" | "application/json" => Ok(Self::Json),
            "application/yaml" => Ok(Self::Yaml),
            _ => Err(Refusal::unsupported_media_type(&[
                "application/json",
                "application/yaml",
            ])),
        }
    }

    /// The document that a body holds, its whole numbers as integers.
    ///
    /// # Errors
    /// Says why there is none.
    pub(super) fn parse(self, bytes: &[u8]) -> Result<Document, String> {
        let mut document = self.parse_as_written(bytes)?;
        numbers::settle(&mut document.value);
        Ok(document)
    }

    fn parse_as_written(self, bytes: &[u8]) -> Result<Document, String> {
        let json = Document::json(bytes);
        let is_plain = json.as_ref().is_ok_and(|json| json.repeated.is_empty());
        if self == Self::Json || is_plain {
            return json.map_err(|error| match error.is_eof() {
                true => "unexpected end of JSON input".to_owned(),
                false => error.to_string(),
            });
        }
        let text = std::str::from_utf8(bytes).map_err(|error| format!("yaml: {error}"))?;
        Document::yaml(text).map_err(|error| format!("yaml: {error}"))
    }
}

/// The media types of the patches that are known.
pub(super) const APPLY: &str = "application/apply-patch+yaml";
pub(super) const MERGE: &str = "application/merge-patch+json";
pub(super) const JSON_PATCH: &str = "application/json-patch+json";
pub(super) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// The document of a patch of a known media type.
///
/// # Errors
/// 400 for what has not the shape of such a patch.
pub(super) fn patch(media: &str, bytes: &[u8]) -> Result<Document, Refusal> {
    let (format, what) = match media {
        APPLY => (Format::Yaml, "YAML"),
        _ => (Format::Json, "patch"),
    };
    let fault = |why: String| match media {
        STRATEGIC => Refusal::bad_request(why),
        _ => Refusal::bad_request(format!("error decoding {what}: {why}")),
    };
    let patch = format.parse(bytes).map_err(fault)?;
    let wrong = |value: &Value, wanted: &str| {
        let found = match value {
            Value::Array(_) => "array",
            Value::Object(_) => "object",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) | Value::Null => "bool",
        };
        let why = format!("json: cannot unmarshal {found} into Go {wanted}");
        Err(fault(why))
    };
    match (media, &patch.value) {
        (MERGE, Value::Null) => Err(Refusal::bad_request("Invalid JSON Patch")),
        (STRATEGIC, Value::Null) => Ok(patch),
        (MERGE | STRATEGIC, other) if !other.is_object() => {
            wrong(other, "value of type map[string]interface {}")
        }
        (JSON_PATCH, Value::Array(operations)) => {
            match operations.iter().find_map(not_an_operation) {
                Some((found, wanted)) => wrong(found, wanted),
                None => Ok(patch),
            }
        }
        (JSON_PATCH, Value::Null) => Ok(Document {
            value: json!([]),
            ..patch
        }),
        (JSON_PATCH, other) => wrong(other, "value of type []handlers.jsonPatchOp"),
        _ => Ok(patch),
    }
}

/// What cannot be read as an operation of a JSON patch, and as what it should be read.
fn not_an_operation(value: &Value) -> Option<(&Value, &'static str)> {
    const TEXTS: [(&str, &str); 3] = [
        ("op", "struct field jsonPatchOp.op of type string"),
        ("path", "struct field jsonPatchOp.path of type string"),
        ("from", "struct field jsonPatchOp.from of type string"),
    ];
    if !value.is_object() && !value.is_null() {
        return Some((value, "value of type handlers.jsonPatchOp"));
    }
    TEXTS.iter().find_map(|(key, wanted)| {
        let found = value.get(key)?;
        (!found.is_string() && !found.is_null()).then_some((found, *wanted))
    })
}

/// The beginning of a body that could not be read, for the refusal: as text if it may be JSON.
pub(super) fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (start, more) = match bytes.len() > SHOWN {
        true => (&bytes[..SHOWN], " ..."),
        false => (bytes, ""),
    };
    match start {
        [] => "<empty>".to_owned(),
        [b'{', ..] => format!("{}{more}", String::from_utf8_lossy(start)),
        _ => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_body_is_json_or_yaml() {
        let read = |media: &str, bytes: &[u8]| {
            let read = Format::of(media).unwrap().parse(bytes);
            read.map(|document| document.value)
        };
        assert_eq!(read("", b" {\"a\": 1}"), Ok(json!({"a": 1})));
        assert_eq!(read("application/yaml", b"a: 0644"), Ok(json!({"a": 420})));
        assert_eq!(read("application/yaml", b"{\"a\": 1}"), Ok(json!({"a": 1})));
        assert!(read("application/json", b"a: 1").is_err());
        assert_eq!(
            read("application/json", b"{\"a\"").unwrap_err(),
            "unexpected end of JSON input"
        );
        let protobuf = Format::of("application/vnd.kubernetes.protobuf");
        assert_eq!(protobuf.unwrap_err().code, 415);
    }

    #[test]
    fn a_patch_has_the_shape_of_its_kind() {
        assert!(patch(MERGE, b"{}").is_ok());
        assert!(patch(JSON_PATCH, b"[{}]").is_ok());
        assert_eq!(patch(APPLY, b"a: b").unwrap().value, json!({"a": "b"}));
        for (media, body, why) in [
            (
                MERGE,
                "[]",
                "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (MERGE, "null", "Invalid JSON Patch"),
            (
                MERGE,
                "",
                "error decoding patch: unexpected end of JSON input",
            ),
            (
                JSON_PATCH,
                "{}",
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                JSON_PATCH,
                "[1]",
                "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            ),
        ] {
            assert_eq!(patch(media, body.as_bytes()).unwrap_err().message, why);
        }
    }

    #[test]
    fn a_body_is_summed_up_in_thirty_bytes() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"[]"), "5b5d");
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(40));
        let start: String = long.chars().take(30).collect();
        assert_eq!(summary(long.as_bytes()), format!("{start} ..."));
    }
}
