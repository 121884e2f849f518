//! Which values are never shown.
//!
//! In: a value, and the names around it. Out: whether it may hold a secret, as the rules P01 to P04 and the
//! kinds define it; the value without them.

use serde_json::Value as Json;

use crate::model::{Node, Value};
use crate::rules::{holds_values, is_secret, names_client_secret};

/// The annotation in which kubectl keeps a whole object.
const COPY: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What is known of a value by the names around it.
#[derive(Clone, Copy, Default)]
pub(super) struct Name<'a> {
    /// Its name: that of its field, or of the variable whose value it is.
    name: &'a str,
    /// Whether it is a secret, whatever it is.
    is_hidden: bool,
}

impl<'a> Name<'a> {
    /// That of the field `key` of `maps`, which are one map in two states.
    pub(super) fn of(self, key: &'a str, maps: impl Iterator<Item = &'a Node>) -> Self {
        let of_client = names_client_secret(self.name);
        let (mut name, mut is_hidden) = (key, self.is_hidden || key == COPY);
        for map in maps {
            is_hidden |= holds_values(map, key);
            // One of the two may be the secret.
            if key == "value" && !names_client_secret(name) {
                name = map.text(&["name"]).unwrap_or(name);
            }
        }
        // A client's secret may be referred to; anything else in its place may be the secret.
        is_hidden |= of_client && !matches!(key, "name" | "namespace" | "key");
        Self { name, is_hidden }
    }

    /// Whether the value `node` of this name is a secret as a whole.
    pub(super) fn hides(self, node: &Node) -> bool {
        self.is_hidden
            || match &node.value {
                Value::String(text) => is_secret(self.name, text),
                Value::Null | Value::Map(_) => false,
                _ => names_client_secret(self.name),
            }
    }
}

/// A value with every secret in it replaced.
pub(super) fn masked(node: &Node, name: Name<'_>) -> Json {
    if name.hides(node) {
        return Json::from(super::shown::SECRET);
    }
    match &node.value {
        Value::List(items) => items.iter().map(|item| masked(item, name)).collect(),
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| {
                let name = name.of(&key.name, std::iter::once(node));
                (key.name.to_string(), masked(value, name))
            });
            entries.collect()
        }
        _ => node.to_json(),
    }
}
