//! The lists that have keys according to a CustomResourceDefinition of the tree.
//!
//! In: the definition as a document. Out: entries of [`ListKeys`]. It does not know whether the
//! definition is sound.

use super::list_keys::{ListKeys, Rule};
use crate::model::Node;

impl ListKeys {
    /// Adds the lists that `definition` marks with `x-kubernetes-list-map-keys`. They come before those
    /// of the table: who defines a kind knows it best.
    pub fn learn(&mut self, definition: &Node) {
        let spec = definition.get("spec");
        let text = |names: &[&str]| spec.and_then(|spec| spec.text(names));
        let (Some(group), Some(kind)) = (text(&["group"]), text(&["names", "kind"])) else {
            return;
        };
        let versions = spec.and_then(|spec| spec.get("versions"));
        for version in versions.and_then(Node::as_list).unwrap_or_default() {
            if let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) {
                self.walk(schema, (group, kind), ["", ""]);
            }
        }
    }

    /// Goes through the schema of the value under `field` of the map under `parent`.
    fn walk(&mut self, schema: &Node, of: (&str, &str), [parent, field]: [&str; 2]) {
        if let Some(keys) = map_keys(schema) {
            self.put_first(field, Rule::new(of, parent, &keys));
        }
        let properties = schema.get("properties").and_then(Node::as_map);
        for (key, inner) in properties.into_iter().flat_map(|map| map.iter()) {
            self.walk(inner, of, [field, &key.name]);
        }
        if let Some(inner) = schema.get("items") {
            self.walk(inner, of, [parent, field]);
        }
        // The keys of such a map can be any.
        if let Some(inner) = schema.get("additionalProperties") {
            self.walk(inner, of, [field, ""]);
        }
    }
}

/// The keys that identify the elements of a list.
fn map_keys(schema: &Node) -> Option<Vec<&str>> {
    let is_map = schema.text(&["x-kubernetes-list-type"]) == Some("map");
    let keys = schema.get("x-kubernetes-list-map-keys")?.as_list()?;
    let keys: Vec<&str> = keys.iter().filter_map(Node::as_str).collect();
    (is_map && !keys.is_empty()).then_some(keys)
}
