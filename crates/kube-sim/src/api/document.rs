//! Documents whose maps may name a field twice.
//!
//! In: JSON or YAML. Out: the value, in which the last of equal fields counts, and what a strict reader
//! says of the others, in the words of sigs.k8s.io/json and go-yaml. It does not know what the
//! document is about.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// A value as it was sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) repeated: Repeated,
}

/// What a strict reader has against fields that are there more than once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Repeated {
    messages: Vec<String>,
    /// Whether the message names lines, as for YAML.
    in_lines: bool,
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl Document {
    /// Reads JSON.
    ///
    /// # Errors
    /// The parser's.
    pub(super) fn json(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let repeated = RefCell::default();
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let value = Node::<JsonKeys>::root(&repeated).deserialize(&mut reader)?;
        reader.end()?;
        let repeated = Repeated {
            messages: repeated.into_inner(),
            in_lines: false,
        };
        Ok(Self { value, repeated })
    }

    /// Reads YAML.
    ///
    /// # Errors
    /// The parser's.
    pub(super) fn yaml(text: &str) -> Result<Self, serde_saphyr::Error> {
        let repeated = RefCell::default();
        let options = serde_saphyr::options! {
            legacy_octal_numbers: true,
            duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::PassThrough,
        };
        let root = Node::<YamlKeys>::root(&repeated);
        let value =
            serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
                root.deserialize(reader)
            })?;
        let repeated = Repeated {
            messages: repeated.into_inner(),
            in_lines: true,
        };
        Ok(Self { value, repeated })
    }
}

impl Repeated {
    /// Whether there are such fields.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// What to warn of, in one line each.
    pub(super) fn warnings(&self) -> &[String] {
        &self.messages
    }

    /// The same, with these words before the message of each field.
    pub(super) fn opening(mut self, words: &str) -> Self {
        self.messages
            .iter_mut()
            .for_each(|message| message.insert_str(0, words));
        self
    }

    /// The errors that a strict reader gives: one for each field, or one for all lines.
    pub(super) fn faults(&self) -> Vec<String> {
        match (self.in_lines, self.messages.as_slice()) {
            (_, []) => Vec::new(),
            (false, fields) => fields.to_vec(),
            (true, lines) => vec![format!("yaml: unmarshal errors:\n  {}", lines.join("\n  "))],
        }
    }
}

/// How a format compares keys and words warnings about duplicate ones.
trait Keys {
    /// The next key, and the line it is in if that is known.
    fn next<'de, M: MapAccess<'de>>(map: &mut M) -> Result<Option<(String, u64)>, M::Error>;

    fn complaint(at: &Place<'_>, key: &str, line: u64) -> String;
}

struct JsonKeys;

impl Keys for JsonKeys {
    fn next<'de, M: MapAccess<'de>>(map: &mut M) -> Result<Option<(String, u64)>, M::Error> {
        Ok(map.next_key::<String>()?.map(|key| (key, 0)))
    }

    fn complaint(at: &Place<'_>, _: &str, _: u64) -> String {
        format!("duplicate field {:?}", at.to_string())
    }
}

struct YamlKeys;

impl Keys for YamlKeys {
    fn next<'de, M: MapAccess<'de>>(map: &mut M) -> Result<Option<(String, u64)>, M::Error> {
        let key = map.next_key::<Spanned<String>>()?;
        Ok(key.map(|key| (key.value, key.referenced.line())))
    }

    fn complaint(_: &Place<'_>, key: &str, line: u64) -> String {
        format!("line {line}: key {key:?} already set in map")
    }
}

/// A place in the document.
enum Place<'a> {
    Root,
    Key(&'a Self, &'a str),
    Item(&'a Self, usize),
}

/// As sigs.k8s.io/json writes it: `a.b[0]`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(above, key) => write!(f, "{above}.{key}"),
            Self::Item(above, index) => write!(f, "{above}[{index}]"),
        }
    }
}

/// One place that is being read.
struct Node<'a, K> {
    at: Place<'a>,
    repeated: &'a RefCell<Vec<String>>,
    keys: PhantomData<K>,
}

impl<'a, K> Node<'a, K> {
    const fn root(repeated: &'a RefCell<Vec<String>>) -> Self {
        Self::new(Place::Root, repeated)
    }

    const fn new(at: Place<'a>, repeated: &'a RefCell<Vec<String>>) -> Self {
        Self {
            at,
            repeated,
            keys: PhantomData,
        }
    }
}

impl<'de, K: Keys> DeserializeSeed<'de> for Node<'_, K> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, K: Keys> Visitor<'de> for Node<'_, K> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Value, S::Error> {
        let mut items = Vec::new();
        loop {
            let at = Place::Item(&self.at, items.len());
            match list.next_element_seed(Node::<K>::new(at, self.repeated))? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Value, M::Error> {
        let mut fields = Map::new();
        while let Some((key, line)) = K::next(&mut map)? {
            let at = Place::Key(&self.at, &key);
            if fields.contains_key(&key) {
                let complaint = K::complaint(&at, &key, line);
                self.repeated.borrow_mut().push(complaint);
            }
            let value = map.next_value_seed(Node::<K>::new(at, self.repeated))?;
            fields.insert(key, value);
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_read_as_it_always_was() {
        let text = r#"{"a": [1, -2, 3.5, 1e400, "x", true, null, {"b": {}}], "c": "é\n"}"#;
        assert!(
            Document::json(text.as_bytes()).is_err(),
            "too large a number"
        );
        let text = text.replace("1e400", "18446744073709551615");
        let read = Document::json(text.as_bytes()).unwrap();
        assert_eq!(read, serde_json::from_str::<Value>(&text).unwrap().into());
        assert!(Document::json(b"{} x").is_err());
    }

    #[test]
    fn the_last_of_duplicate_fields_counts_and_the_others_are_reported() {
        let text = r#"{"a": {"b": 1, "b": 2}, "c": [{"d": 1, "d": {"e": 1, "e": 2}}], "a": 3}"#;
        let read = Document::json(text.as_bytes()).unwrap();
        assert_eq!(read.value, json!({"a": 3, "c": [{"d": {"e": 2}}]}));
        let paths = ["a.b", "c[0].d", "c[0].d.e", "a"];
        assert_eq!(
            read.repeated.faults(),
            paths.map(|at| format!("duplicate field \"{at}\""))
        );
    }

    #[test]
    fn yaml_errors_name_their_lines() {
        let read = Document::yaml("a: 1\nb: {c: 0644, c: 2}\na: [x]\n").unwrap();
        assert_eq!(read.value, json!({"a": ["x"], "b": {"c": 2}}));
        let lines = "yaml: unmarshal errors:\n  line 2: key \"c\" already set in map\n  line 3: key \"a\" already set in map";
        assert_eq!(read.repeated.faults(), [lines]);
        let read = Document::yaml("a: &x {y: on}\nb: {<<: *x, 1: 2}\nc:\n").unwrap();
        let value = json!({"a": {"y": true}, "b": {"y": true, "1": 2}, "c": null});
        assert_eq!(
            (read.value.clone(), read.repeated.faults()),
            (value, vec![])
        );
    }
}
