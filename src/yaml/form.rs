//! YAML as a person writes it: the fields in an order that is given, and short maps on one line.
//!
//! In: values. Out: the text that every parser reads back as them. It does not know what they mean.

use serde_json::Value as Json;

use super::write::write;
use crate::model::words::safe_json;

/// The widest line with a map on it.
const WIDEST: usize = 100;

/// A value, with how it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// A text or a number.
    Scalar(Json),
    /// A map with a line for each field.
    Block(Fields),
    /// A map on one line, if it is short.
    Flow(Fields),
    /// A list with its items below each other.
    List(Vec<Self>),
}

/// The fields of a map, in order.
pub type Fields = Vec<(String, Yaml)>;

impl Yaml {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self::Scalar(text.into())
    }

    /// The same values without their form.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Scalar(scalar) => scalar.clone(),
            Self::Block(fields) | Self::Flow(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(key, value)| (key.clone(), value.to_json()));
                Json::Object(fields.collect())
            }
            Self::List(items) => items.iter().map(Self::to_json).collect(),
        }
    }

    /// A document whose fields are those of this map.
    pub fn document(&self) -> String {
        let mut lines = Vec::new();
        self.write(0, &mut lines);
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn write(&self, indent: usize, lines: &mut Vec<String>) {
        let margin = " ".repeat(indent);
        match self {
            Self::Scalar(_) => lines.push(format!("{margin}{}", self.inline())),
            Self::Block(fields) | Self::Flow(fields) => {
                for (key, value) in fields {
                    let line = format!("{margin}{}: {}", scalar(key), value.inline());
                    if value.is_inline(&line) {
                        lines.push(line);
                    } else {
                        lines.push(format!("{margin}{}:", scalar(key)));
                        value.write(indent + 2, lines);
                    }
                }
            }
            Self::List(items) => {
                for item in items {
                    let mut inner = Vec::new();
                    item.write(indent + 2, &mut inner);
                    if let Some(first) = inner.first_mut() {
                        *first = format!("{margin}- {}", first.trim_start());
                    }
                    lines.append(&mut inner);
                }
            }
        }
    }

    /// True if it stands behind its key on a line.
    fn is_inline(&self, line: &str) -> bool {
        match self {
            Self::Scalar(_) => true,
            Self::Flow(_) => line.chars().count() <= WIDEST,
            Self::Block(_) | Self::List(_) => false,
        }
    }

    fn inline(&self) -> String {
        match self {
            Self::Scalar(Json::String(text)) => scalar(text),
            Self::Scalar(other) => other.to_string(),
            Self::Block(fields) | Self::Flow(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(key, value)| format!("{}: {}", scalar(key), value.inline()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::inline).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }
}

/// A field of a map.
#[must_use]
pub fn field(name: &str, value: Yaml) -> (String, Yaml) {
    (name.to_owned(), value)
}

/// A text, if there is one.
#[must_use]
pub fn text(name: &str, value: Option<&str>) -> Option<(String, Yaml)> {
    value.map(|value| field(name, Yaml::text(value)))
}

/// A number if it is written as one, else a text, about which the schema decides.
#[must_use]
pub fn amount(name: &str, value: Option<&str>) -> Option<(String, Yaml)> {
    value.map(|value| {
        let number = value.parse::<i64>().ok();
        let number = number.filter(|number| number.to_string() == value);
        let json = number.map_or_else(|| Json::from(value), Json::from);
        field(name, Yaml::Scalar(json))
    })
}

/// A map on one line; none without fields.
pub fn flow(
    name: &str,
    fields: impl IntoIterator<Item = Option<(String, Yaml)>>,
) -> Option<(String, Yaml)> {
    let fields: Fields = fields.into_iter().flatten().collect();
    (!fields.is_empty()).then(|| field(name, Yaml::Flow(fields)))
}

/// A map with a line for each field; none without fields.
pub fn block(
    name: &str,
    fields: impl IntoIterator<Item = Option<(String, Yaml)>>,
) -> Option<(String, Yaml)> {
    let fields: Fields = fields.into_iter().flatten().collect();
    (!fields.is_empty()).then(|| field(name, Yaml::Block(fields)))
}

/// A text, in quotes unless it reads as itself without them wherever it stands. In quotes it is JSON, which is YAML as well.
fn scalar(text: &str) -> String {
    let is_tame = |c: char| c.is_ascii_alphanumeric() || "._/-:@".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    // `1:20` is a number to some parsers.
    let colons = !text.contains(':') || text.contains('/') && !text.ends_with(':');
    // As people write versions: no number has two points.
    let is_version = || {
        let mut parts = text.split('.');
        let is_number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        text.matches('.').count() > 1 && parts.all(is_number)
    };
    let reads_as_itself = || is_version() || write(&[text.into()]).trim_end() == text;
    if starts && colons && text.chars().all(is_tame) && reads_as_itself() {
        text.to_owned()
    } else {
        safe_json(&Json::from(text).to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::yaml;

    fn fields(fields: &[(&str, Yaml)]) -> Fields {
        let own = |(key, value): &(&str, Yaml)| ((*key).to_owned(), value.clone());
        fields.iter().map(own).collect()
    }

    fn read(text: &str) -> Json {
        let (documents, findings) = yaml::read(&Arc::from("a.yaml"), text.as_bytes());
        assert_eq!(findings, [], "{text}");
        documents[0].to_json()
    }

    #[test]
    fn numbers_are_written_as_such_only_if_nothing_is_lost() {
        for (value, expected) in [
            ("2", Json::from(2)),
            ("-1", Json::from(-1)),
            ("02", Json::from("02")),
            ("+2", Json::from("+2")),
            ("16Gi", Json::from("16Gi")),
            ("99999999999999999999", Json::from("99999999999999999999")),
        ] {
            let (_, written) = amount("a", Some(value)).expect("a field");
            assert_eq!(written, Yaml::Scalar(expected));
        }
    }

    #[test]
    fn short_maps_are_on_one_line_and_long_ones_are_not() {
        let id = format!("/subscriptions/{}", "a".repeat(90));
        let pool = fields(&[
            ("name", Yaml::text("workers")),
            (
                "size",
                Yaml::Flow(fields(&[("cores", Yaml::Scalar(4.into()))])),
            ),
        ]);
        let document = Yaml::Block(fields(&[
            ("labels", Yaml::Flow(fields(&[("env", Yaml::text("lab"))]))),
            ("long", Yaml::Flow(fields(&[("id", Yaml::text(&id))]))),
            ("pools", Yaml::List(vec![Yaml::Block(pool)])),
            ("ids", Yaml::List(vec![Yaml::text("a"), Yaml::text("b")])),
        ]));
        let text = document.document();
        let expected = format!(
            "labels: {{env: lab}}\nlong:\n  id: {id}\npools:\n  - name: workers\n    size: {{cores: 4}}\nids:\n  - a\n  - b\n"
        );
        assert_eq!(text, expected);
        assert_eq!(read(&text), document.to_json());
    }

    #[test]
    fn texts_are_quoted_unless_they_read_as_themselves() {
        for (text, expected) in [
            ("4.20.17", "4.20.17"),
            ("4.20", "\"4.20\""),
            ("1..2", "\"1..2\""),
            ("16Gi", "16Gi"),
            ("no", "\"no\""),
            ("1:20", "\"1:20\""),
            ("quay.io/a/b:4.20.17-multi", "quay.io/a/b:4.20.17-multi"),
            ("https://a.example.com/b", "https://a.example.com/b"),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("##[error]a", "\"#\\u0023[error]a\""),
        ] {
            assert_eq!(scalar(text), expected);
        }
    }

    #[test]
    fn no_text_means_anything_else() {
        for text in [
            "a: b",
            "a\nb: c",
            "a #b",
            "# a",
            "*a",
            "&a",
            "!a",
            "'a'",
            "\"",
            "\\",
            "{a}",
            "a, b",
            "]",
            "- a",
            "---",
            "?",
            "a:",
            ":a",
            "null",
            "~",
            "true",
            "Yes",
            "0x1f",
            "1e3",
            "0b1",
            "017",
            "1_000",
            "2024-01-01",
            ".inf",
            "\u{85}",
            "\u{2028}",
            "\u{feff}a",
            "\u{1b}[2J",
            "\u{202e}a",
            "😀",
            "::error ::a",
            "##vso[a]b",
            "\0",
            "\t",
            " a ",
            "<<",
            "=",
            "%a",
            "@a",
            "`a`",
            "a\r\nb",
            "\u{7f}",
            "\u{9b}",
        ] {
            let map = |value| fields(&[("z", Yaml::Flow(fields(&[("k", value)])))]);
            for document in [
                Yaml::Block(map(Yaml::text(text))),
                Yaml::Block(fields(&[
                    ("k", Yaml::text(text)),
                    (&format!("{text}x"), Yaml::text("v")),
                ])),
                Yaml::Block(fields(&[(
                    "k",
                    Yaml::Flow(fields(&[(text, Yaml::text("v"))])),
                )])),
                Yaml::Block(fields(&[("k", Yaml::List(vec![Yaml::text(text)]))])),
            ] {
                let written = document.document();
                assert_eq!(read(&written), document.to_json(), "{written}");
                assert!(written.is_ascii() || text == "😀", "{written}");
            }
        }
    }
}
