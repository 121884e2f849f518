//! Writes JSON values as a YAML stream.
//!
//! In: documents. Out: text, the same for the same values, that Kubernetes tools read back as the
//! same values: strings that YAML 1.1 would read as another type are quoted.

use rayon::prelude::*;
use serde::ser::{Serialize, Serializer};
use serde_json::Value as Json;
use serde_saphyr::LitStr;

use crate::model::words::{is_hostile, json_document};

/// The keys that come first in an object; the others are sorted.
const OF_OBJECTS: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
/// The keys that come first in metadata.
const OF_METADATA: &[&str] = &["name"];

/// Writes documents as one stream, with `---` between them.
#[must_use]
pub fn write(documents: &[Json]) -> String {
    let texts: Vec<String> = documents.par_iter().map(document).collect();
    texts.join("---\n")
}

/// A document with a string that must not be printed as it is is JSON, which is YAML as well, and has escapes for all of it.
fn document(json: &Json) -> String {
    if has_hostile(json) {
        return json_document(&Ordered::new("", json));
    }
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    serde_saphyr::to_string_with_options(&Ordered::new("", json), options)
        .expect("YAML can represent every JSON value")
}

fn has_hostile(json: &Json) -> bool {
    match json {
        Json::String(text) => is_hostile(text),
        Json::Array(items) => items.iter().any(has_hostile),
        Json::Object(map) => map
            .iter()
            .any(|(key, value)| is_hostile(key) || has_hostile(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// A JSON value that serializes its keys in our order.
struct Ordered<'a> {
    json: &'a Json,
    first: &'static [&'static str],
}

impl<'a> Ordered<'a> {
    /// The value of `key`.
    fn new(key: &str, json: &'a Json) -> Self {
        let is_object = json.get("apiVersion").is_some() && json.get("kind").is_some();
        let first = match key {
            _ if is_object => OF_OBJECTS,
            "metadata" => OF_METADATA,
            _ => &[],
        };
        Self { json, first }
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.json {
            Json::Object(map) => {
                let mut entries: Vec<(&String, &Json)> = map.iter().collect();
                let rank = |key: &str| self.first.iter().position(|first| *first == key);
                entries.sort_by_key(|(key, _)| (rank(key).unwrap_or(usize::MAX), *key));
                let ordered = entries
                    .into_iter()
                    .map(|(key, json)| (key, Self::new(key, json)));
                serializer.collect_map(ordered)
            }
            Json::Array(items) => {
                serializer.collect_seq(items.iter().map(|item| Ordered::new("", item)))
            }
            Json::String(text) if reads_well_as_block(text) => LitStr(text).serialize(serializer),
            scalar => scalar.serialize(serializer),
        }
    }
}

/// Whether to write a string as a block scalar (`|`). Parsers disagree when a line begins or ends with blanks.
fn reads_well_as_block(text: &str) -> bool {
    let is_tame = |line: &str| {
        !line.starts_with('\t') && !line.ends_with([' ', '\t']) && !line.contains(is_control)
    };
    let lines = text.strip_suffix('\n').unwrap_or(text);
    lines.contains('\n')
        && !lines.starts_with(['\n', ' '])
        && !lines.ends_with('\n')
        && lines.split('\n').all(is_tame)
}

/// Whether some parsers treat a character as a line break, or it is not printable.
fn is_control(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_in_the_order_people_expect() {
        let document = json!({
            "spec": {"b": 1, "a": [], "resources": [{
                "spec": {}, "metadata": {"name": "vault"}, "kind": "Vault", "apiVersion": "k/v1"
            }]},
            "kind": "Thing", "data": null, "apiVersion": "v1",
            "metadata": {"labels": {"name": "x", "app": "z"}, "annotations": {}, "name": "first"}
        });
        let expected = "\
apiVersion: v1
kind: Thing
metadata:
  name: first
  annotations: {}
  labels:
    app: z
    name: x
spec:
  a: []
  b: 1
  resources:
  - apiVersion: k/v1
    kind: Vault
    metadata:
      name: vault
    spec: {}
data: null
";
        assert_eq!(write(&[document]), expected);
    }

    #[test]
    fn documents_are_separated() {
        assert_eq!(write(&[]), "");
        assert_eq!(
            write(&[json!({"a": 1}), json!({"b": 2})]),
            "a: 1\n---\nb: 2\n"
        );
    }

    #[test]
    fn text_that_looks_like_something_else_is_quoted() {
        for text in [
            "on", "no", "y", "0644", "12:30", "1_000", "0x1f", "~", "null", "", "1e3",
        ] {
            let line = write(&[json!({"a": text})]);
            assert!(
                line.starts_with("a: '") || line.starts_with("a: \""),
                "{line}"
            );
        }
    }

    #[test]
    fn long_lines_stay_in_one_piece_and_several_lines_are_a_block() {
        let long = "word ".repeat(60) + "end";
        assert_eq!(write(&[json!({"a": long})]), format!("a: {long}\n"));
        assert_eq!(write(&[json!({"a": "x\ny\n"})]), "a: |\n  x\n  y\n");
    }

    #[test]
    fn a_document_with_hostile_text_is_the_same_and_has_none() {
        let text = "x\n::error ::y\n##vso[a]b\u{1b}[2J\u{202e}";
        let hostile = json!({"kind": "A", "apiVersion": "v1", "data": {text: text}});
        let tame = json!({"kind": "A", "apiVersion": "v1", "data": {"a": "## b\nc\n"}});
        let written = write(&[hostile.clone(), tame.clone()]);
        assert!(!written.lines().any(is_hostile), "{written}");
        assert!(
            written.ends_with("---\napiVersion: v1\nkind: A\ndata:\n  a: |\n    ## b\n    c\n"),
            "{written}"
        );
        let (documents, findings) = crate::yaml::read(&"a.yaml".into(), written.as_bytes());
        assert!(findings.is_empty(), "{findings:?}");
        let read: Vec<Json> = documents.iter().map(crate::model::Node::to_json).collect();
        assert_eq!(read, [hostile, tame]);
    }
}
