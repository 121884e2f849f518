//! What is sent of a Secret: `data`, in place of `stringData`.
//!
//! In: a Secret as it was written. Out: the same with the values of its `stringData`, encoded, over those of its `data`; each
//! keeps its line. API servers write `stringData` into `data`, where no manager owns it then: a key that leaves the file would
//! stay, and a key that somebody changes would stay changed. It does not know who reads them.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::model::{Map, Node, Object, ObjectId, Value};

const WRITTEN: &str = "stringData";
const SENT: &str = "data";

/// The object as it is sent. A Secret whose fields are not what they must be is sent as it is: the API server refuses it.
pub(super) fn encoded(object: &Object) -> Cow<'_, Node> {
    let node = &object.node;
    let made = object.id.is("", "Secret").then(|| moved(node)).flatten();
    made.map_or(Cow::Borrowed(node), Cow::Owned)
}

fn moved(node: &Node) -> Option<Node> {
    let map = node.as_map()?;
    let (key, written) = map.entry(WRITTEN)?;
    let values = written.as_map()?;
    let mut data = match map.get(SENT).map(|data| &data.value) {
        None | Some(Value::Null) => Map::default(),
        Some(Value::Map(data)) => data.clone(),
        Some(_) => return None,
    };
    for (key, value) in values.iter() {
        let text = match &value.value {
            // API servers read it as an empty text.
            Value::Null => "",
            Value::String(text) => text,
            _ => return None,
        };
        let encoded = Value::String(STANDARD.encode(text).into());
        data.remove(&key.name);
        data.insert(key.clone(), Node::new(encoded, &value.origin));
    }
    let mut moved = map.clone();
    moved.remove(WRITTEN);
    if !data.is_empty() {
        let mut key = key.clone();
        key.name = SENT.into();
        let origin = map.get(SENT).map_or(&written.origin, |data| &data.origin);
        moved.insert(key, Node::new(Value::Map(data), origin));
    }
    Some(Node::new(Value::Map(moved), &node.origin))
}

/// A pointer to a field that is left to others, as it is after [`encoded`].
pub(super) fn pointer(id: &ObjectId, pointer: &str) -> String {
    let rest = pointer.strip_prefix("/stringData");
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'));
    match rest.filter(|_| id.is("", "Secret")) {
        Some(rest) => format!("/{SENT}{rest}"),
        None => pointer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use super::*;

    fn object(fields: &str) -> Object {
        let text = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\n{fields}\n");
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes());
        let node = documents.into_iter().next().unwrap();
        Object::from_node(node, "ns").unwrap()
    }

    fn sent(fields: &str) -> Json {
        let mut json = encoded(&object(fields)).to_json();
        for key in ["apiVersion", "kind", "metadata"] {
            json.as_object_mut().unwrap().remove(key);
        }
        json
    }

    #[test]
    fn texts_are_sent_encoded_over_the_data() {
        for (fields, expected) in [
            ("stringData: {a: x}", json!({"data": {"a": "eA=="}})),
            (
                "data: {a: eQ==, b: eQ==}\nstringData: {a: x}\ntype: Opaque",
                json!({"data": {"a": "eA==", "b": "eQ=="}, "type": "Opaque"}),
            ),
            (
                "data: null\nstringData: {a: ''}",
                json!({"data": {"a": ""}}),
            ),
            ("stringData: {a: null}", json!({"data": {"a": ""}})),
            ("stringData: {}", json!({})),
            ("data: {a: eA==}", json!({"data": {"a": "eA=="}})),
            // The API server refuses these in its own words.
            ("stringData: {a: 1}", json!({"stringData": {"a": 1}})),
            ("stringData: a", json!({"stringData": "a"})),
            (
                "data: [a]\nstringData: {a: x}",
                json!({"data": ["a"], "stringData": {"a": "x"}}),
            ),
        ] {
            assert_eq!(sent(fields), expected, "{fields}");
        }
        let other = object("stringData: {a: x}");
        let mut other = Object {
            id: ObjectId::new("", "ConfigMap", "ns", "a"),
            ..other
        };
        other.node = encoded(&other).into_owned();
        assert!(other.node.get(WRITTEN).is_some());
    }

    #[test]
    fn a_value_keeps_its_line() {
        let object = object("data:\n  a: eQ==\nstringData:\n  a: x\n  b: z");
        let node = encoded(&object);
        let line = |names: &[&str]| node.at(names).unwrap().span().start.line;
        assert_eq!(line(&["data", "a"]), 7);
        assert_eq!(line(&["data", "b"]), 8);
        let data = node.get("data").and_then(Node::as_map).unwrap();
        let (key, _) = data.entry("a").unwrap();
        assert_eq!(key.origin.span().start.line, 7);
    }

    #[test]
    fn what_is_left_to_others_is_found_where_it_is_sent() {
        let id = ObjectId::new("", "Secret", "ns", "a");
        assert_eq!(pointer(&id, "/stringData/a~1b"), "/data/a~1b");
        assert_eq!(pointer(&id, "/stringData"), "/data");
        assert_eq!(pointer(&id, "/stringDataX"), "/stringDataX");
        let other = ObjectId::new("x.dev", "Secret", "ns", "a");
        assert_eq!(pointer(&other, "/stringData/a"), "/stringData/a");
    }
}
