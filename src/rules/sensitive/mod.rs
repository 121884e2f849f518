//! Which values are never shown: in plans, checks and explanations.
//!
//! In: a value, and the names around it. Out: whether it may be a secret. Rather too often than too rarely, unlike
//! the rules P01 to P04, which refuse a commit: whatever they report is hidden, too. References to secrets are shown.
//! It does not know who prints the value.

mod names;
mod texts;

use super::secrets::{holds_values, is_reported, names_client_secret};
use crate::model::{Node, Value};
pub use names::names_secret;

/// The annotation in which kubectl keeps a whole object.
const COPY: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields that hold the value of the variable that is named beside them, or of the field around them.
const OF_A_NAME: [&str; 5] = ["value", "plaintext", "plainText", "raw", "content"];
/// Fields below the name of a secret that say where it is, or what it is like.
const ABOUT: [&str; 12] = [
    "name",
    "namespace",
    "key",
    "path",
    "audience",
    "type",
    "kind",
    "description",
    "algorithm",
    "encoding",
    "rotationPolicy",
    "size",
];
/// How the names of others end.
const ABOUT_ENDS: [&str; 4] = ["Seconds", "Ref", "From", "Name"];

/// What is known of a value by the names around it.
#[derive(Clone, Copy, Default)]
pub struct Name<'a> {
    /// Its name: that of its field, or of the variable whose value it is.
    name: &'a str,
    /// Whether it is a secret, whatever it is.
    is_hidden: bool,
}

impl<'a> Name<'a> {
    /// The name of the value of `key` in `maps`, which are one map in one or two states and have this name.
    #[must_use]
    pub fn of(self, key: &'a str, maps: impl Iterator<Item = &'a Node>) -> Self {
        let (mut name, mut is_hidden) = (key, self.is_hidden || key == COPY);
        let is_value = OF_A_NAME.contains(&key);
        if names_secret(self.name) && !is_about(key) {
            name = self.name;
        }
        for map in maps {
            is_hidden |= holds_values(map, key);
            // Of two states, one may be the secret.
            if is_value && !names_secret(name) {
                let beside = map.text(&["name"]).or_else(|| map.text(&["key"]));
                name = beside.unwrap_or(name);
            }
            // A key of the Secret that an operator makes.
            if key == "secretKey" && map.get("remoteRef").is_some() {
                name = "";
            }
        }
        // A client's secret may be referred to; anything else in its place may be the secret.
        is_hidden |= names_client_secret(self.name) && !matches!(key, "name" | "namespace" | "key");
        Self { name, is_hidden }
    }

    /// Whether the value `node` of this name is a secret as a whole.
    #[must_use]
    pub fn hides(self, node: &Node) -> bool {
        self.is_hidden
            || match &node.value {
                Value::String(text) => self.hides_text(text),
                Value::Null | Value::Map(_) => false,
                Value::Bool(_) | Value::List(_) => names_client_secret(self.name),
                Value::Int(_) | Value::Float(..) => names_secret(self.name),
            }
    }

    fn hides_text(self, text: &str) -> bool {
        is_reported(self.name, text)
            || names_secret(self.name) && texts::is_value(text)
            || texts::holds_secret(text)
    }

    /// The same for an item of a list with this name, after the item `before`: `--password` and then its value.
    #[must_use]
    pub fn item(self, before: Option<&'a Node>) -> Self {
        let flag = before.and_then(Node::as_str);
        let flag = flag.filter(|flag| flag.starts_with('-') && names_secret(flag));
        Self {
            name: flag.unwrap_or(self.name),
            ..self
        }
    }
}

/// Whether a field below the name of a secret is about the secret.
fn is_about(key: &str) -> bool {
    ABOUT.contains(&key) || ABOUT_ENDS.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests;
