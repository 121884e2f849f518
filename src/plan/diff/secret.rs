//! Values without the secrets in them.

use serde_json::Value as Json;

use crate::model::{Node, Value};
use crate::rules::sensitive::Name;

/// A value with every secret in it replaced.
pub(super) fn masked(node: &Node, name: Name<'_>) -> Json {
    if name.hides(node) {
        return Json::from(super::shown::SECRET);
    }
    match &node.value {
        Value::List(items) => {
            let before = std::iter::once(None).chain(items.iter().map(Some));
            let items = items.iter().zip(before);
            items
                .map(|(item, before)| masked(item, name.item(before)))
                .collect()
        }
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
