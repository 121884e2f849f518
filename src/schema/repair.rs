//! What to change in a document so that its readable part fits its schema.
//!
//! In: a schema and a node. Out: fields to rename, because they are misspelt, and values to remove. What a
//! person reads about them is reported by the findings; this module does not know it.

use kube_schema::{Path, Schema, Segment, ViolationKind};

use super::findings::{causes, renamed};
use crate::model::{Key, Map, Node, Value};

/// The steps that make a document fit its schema, as far as that is possible.
#[derive(Debug, Default)]
pub struct Repair {
    /// Fields with their right names.
    renamed: Vec<(Path, Path)>,
    /// Values to remove, the last of each list first.
    removed: Vec<Path>,
    /// The fields whose values are unknown, because they were removed or may be below a removed one.
    pub lost: Vec<Path>,
}

impl Repair {
    /// The repair of `node` by `schema`.
    #[must_use]
    pub fn of(schema: &Schema, node: &Node) -> Self {
        let mut repair = Self::of_fields(schema, node);
        let mut rest = node.clone();
        repair.apply(&mut rest);
        for violation in causes(schema, &rest) {
            let path = match violation.kind {
                ViolationKind::UnknownField { .. } => continue,
                ViolationKind::Missing => above(&violation.path),
                _ => violation.path,
            };
            repair.lost.push(path.clone());
            repair.removed.push(path);
        }
        repair.removed.sort_by(|one, other| other.cmp(one));
        repair.removed.dedup();
        repair
    }

    /// The repair of its misspelt and unknown fields alone.
    #[must_use]
    pub fn of_fields(schema: &Schema, node: &Node) -> Self {
        let mut repair = Self::default();
        for violation in causes(schema, node) {
            let path = violation.path.clone();
            match (&violation.kind, renamed(&violation)) {
                (_, Some(right)) if repair.is_free(node, &right) => {
                    repair.renamed.push((path, right));
                }
                (ViolationKind::UnknownField { .. }, _) => {
                    // A map may hold known fields, at the wrong level.
                    let is_map = node
                        .lookup(&path)
                        .is_some_and(|node| node.as_map().is_some());
                    repair.lost.push(match is_map {
                        true => above(&path),
                        false => path.clone(),
                    });
                    repair.removed.push(path);
                }
                _ => {}
            }
        }
        repair.removed.sort_by(|one, other| other.cmp(one));
        repair
    }

    /// Whether a field of this name is neither in the document nor the right name of another.
    fn is_free(&self, node: &Node, name: &Path) -> bool {
        node.lookup(name).is_none() && !self.renamed.iter().any(|(_, right)| right == name)
    }

    /// Whether there is nothing to repair.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.renamed.is_empty() && self.removed.is_empty()
    }

    /// Renames and removes the same fields in a document of the same shape.
    pub fn apply(&self, node: &mut Node) {
        for (wrong, right) in &self.renamed {
            if let Some(Segment::Key(right)) = right.0.last() {
                rename(node, wrong, right);
            }
        }
        for path in &self.removed {
            remove(node, path);
        }
    }
}

fn above(path: &Path) -> Path {
    let above = path.0.split_last().map_or(&[][..], |(_, above)| above);
    Path(above.to_vec())
}

/// The value that holds the one at `path`, and the last step to it.
fn holder<'n, 'p>(node: &'n mut Node, path: &'p Path) -> Option<(&'n mut Value, &'p Segment)> {
    let (last, above) = path.0.split_last()?;
    let holder = node.lookup_mut(&Path(above.to_vec()))?;
    Some((&mut holder.value, last))
}

fn map<'n, 'p>(node: &'n mut Node, path: &'p Path) -> Option<(&'n mut Map, &'p str)> {
    match holder(node, path)? {
        (Value::Map(map), Segment::Key(name)) => Some((map, name)),
        _ => None,
    }
}

/// Gives the field at `wrong` another name, unless its map has that already. Returns whether it did.
pub fn rename(node: &mut Node, wrong: &Path, right: &str) -> bool {
    let Some((map, wrong)) = map(node, wrong).filter(|(map, _)| map.get(right).is_none()) else {
        return false;
    };
    let origin = map.entry(wrong).map(|(key, _)| key.origin.clone());
    let (Some(origin), Some(value)) = (origin, map.remove(wrong)) else {
        return false;
    };
    let name = right.to_owned().into();
    map.insert(Key { name, origin }, value);
    true
}

fn remove(node: &mut Node, path: &Path) {
    match holder(node, path) {
        Some((Value::Map(map), Segment::Key(name))) => drop(map.remove(name)),
        Some((Value::List(items), Segment::Index(index))) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    /// What is left of a document, and what is lost.
    fn repaired(text: &str) -> (serde_json::Value, Vec<String>) {
        let item = json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
        });
        let schema = json!({
            "type": "object", "required": ["list"],
            "properties": {"list": {"type": "array", "items": item}, "text": {"type": "string", "enum": ["a"]}},
        });
        let schema = Schema::from_json(&schema).expect("a schema");
        let mut node = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes())
            .0
            .remove(0);
        let repair = Repair::of(&schema, &node);
        repair.apply(&mut node);
        (
            node.to_json(),
            repair.lost.iter().map(Path::to_string).collect(),
        )
    }

    #[test]
    fn misspelt_fields_get_their_names() {
        let (left, lost) = repaired("{lsit: [{name: a, sise: 3}], tetx: a}");
        assert_eq!(left["list"][0]["name"], "a");
        assert_eq!(left["text"], "a");
        assert_eq!(lost, [""; 0]);
    }

    #[test]
    fn wrong_values_are_removed() {
        for (text, left, lost) in [
            ("{list: [], text: 3}", json!({"list": []}), vec!["text"]),
            ("{list: [], text: b}", json!({"list": []}), vec!["text"]),
            (
                "{list: [{name: a, size: x}]}",
                json!({"list": [{"name": "a"}]}),
                vec!["list[0].size"],
            ),
            (
                "{list: [{size: 1}, {name: b}, {}]}",
                json!({"list": [{"name": "b"}]}),
                vec!["list[0]", "list[2]"],
            ),
            ("{list: [], colour: x}", json!({"list": []}), vec!["colour"]),
            ("{list: [], more: {text: a}}", json!({"list": []}), vec![""]),
        ] {
            let found = repaired(text);
            assert_eq!(
                found,
                (left, lost.into_iter().map(str::to_owned).collect()),
                "{text}"
            );
        }
    }
}
