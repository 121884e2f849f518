//! A definition's values with their origins, defaults filled in.

use crate::api::cluster_definition::ClusterDefinition;
use crate::model::{Finding, Key, Node, Origin, Path, Value, rule_id};
use crate::overlay;

/// A part of a definition's spec: what was written keeps its origin, a default comes from the
/// definition's name.
pub(super) struct Values {
    node: Node,
    name: Origin,
    /// The place in the definition.
    field: Path,
}

impl Values {
    /// The whole spec.
    pub(super) fn of(definition: &ClusterDefinition) -> Self {
        let json = serde_json::to_value(&definition.spec).expect("a spec is plain data");
        let mut node = Node::from_json(&json, &definition.origin);
        if let Some(written) = definition.node.get("spec") {
            trace(&mut node, written);
        }
        Self {
            node,
            name: definition.origin.clone(),
            field: Path::dotted("spec"),
        }
    }

    /// The origin of generated values.
    pub(super) fn origin(&self) -> &Origin {
        &self.name
    }

    /// The value at `path` (dotted), when it was written or has a default. It knows the name of its field.
    pub(super) fn get(&self, path: &'static str) -> Option<Node> {
        let mut node = self.node.lookup(&Path::dotted(path))?.clone();
        node.origin = node.origin.of_field(path);
        Some(node)
    }

    /// Returns true if there is a value at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        self.node.lookup(&Path::dotted(path)).is_some()
    }

    /// A text that was made from the value at `path`, and changes with it.
    pub(super) fn made_from(&self, path: &str, text: String) -> Node {
        let source = self.node.lookup(&Path::dotted(path));
        Node::new(
            Value::String(text.into()),
            source.map_or(&self.name, |node| &node.origin),
        )
    }

    /// What was `made`, with the value at `path` merged onto it.
    pub(super) fn onto(&self, made: Node, path: &str) -> Node {
        match self.node.lookup(&Path::dotted(path)) {
            Some(over) => overlay::onto(made, over),
            None => made,
        }
    }

    /// The items of the list at `path`.
    pub(super) fn items(&self, path: &str) -> Vec<Self> {
        let list = self.node.lookup(&Path::dotted(path));
        let items = list.and_then(Node::as_list).unwrap_or_default();
        let item = |(index, node): (usize, &Node)| Self {
            node: node.clone(),
            name: self.name.clone(),
            field: self.field_at(path).index(index),
        };
        items.iter().enumerate().map(item).collect()
    }

    /// A finding for a value at `path` that is not supported.
    pub(super) fn refused(&self, path: &str, message: &str) -> Finding {
        Finding::error(rule_id::INVALID_VALUE, message)
            .at(self.node.nearest(&Path::dotted(path)).span())
            .field(&self.field_at(path))
    }

    /// The path of the value at `path` in the definition.
    fn field_at(&self, path: &str) -> Path {
        let below = Path::dotted(path);
        Path(self.field.0.iter().chain(&below.0).cloned().collect())
    }
}

/// Gives `filled` the origins of what was `written`; texts and numbers are taken as written.
fn trace(filled: &mut Node, written: &Node) {
    filled.origin = written.origin.clone();
    match (&mut filled.value, &written.value) {
        (Value::Map(fields), Value::Map(_)) => {
            *fields = std::mem::take(fields)
                .into_iter()
                .map(|(key, node)| traced_entry(key, node, written))
                .collect();
        }
        (Value::List(items), Value::List(originals)) => {
            for (item, original) in items.iter_mut().zip(originals) {
                trace(item, original);
            }
        }
        (value, original) => *value = original.clone(),
    }
}

fn traced_entry(key: Key, mut node: Node, written: &Node) -> (Key, Node) {
    let Some((key_written, original)) = written.as_map().and_then(|map| map.entry(&key.name))
    else {
        return (key, node);
    };
    trace(&mut node, original);
    (key_written.clone(), node)
}
