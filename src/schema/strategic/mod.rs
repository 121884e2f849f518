//! Kubernetes' strategic merge patch on values that know where they came from.
//!
//! In: a value, a patch, and which lists have keys. Out: the merged value, in which every part still
//! says where it is written and what it replaced, and findings (O02) for what cannot be followed. It
//! does not know overlays, definitions or files.
//!
//! Maps merge deeply, a scalar replaces, `null` deletes (RFC 7386), lists replace, except that keyed
//! lists merge by key. Directives: `$patch: merge|replace|delete` in a map or in an element of a
//! keyed list, `- $patch: replace` as an element of its own for a whole list, `$retainKeys`,
//! `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>`.

mod directives;
mod elements;
mod list_keys;

use std::collections::HashMap;

use directives::Directive;
use elements::Elements;
pub use list_keys::ListKeys;
use list_keys::{At, Keys};

use crate::model::{Finding, Key, Map, Node, Origin, Value};

/// Changes `base` by `patch`. Maps and lists are said to be opened where `base` opens them; elements
/// keep their order and new ones come last.
#[must_use]
pub fn merge(base: Node, patch: &Node, lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    run(Side::Base, base, patch, lists, findings)
}

/// Lays `value` over `defaults`: the values of [`merge`], seen from the other side. Maps and lists
/// are said to be opened where `value` opens them, and elements stand in its order, those that only
/// the defaults have last.
#[must_use]
pub fn merge_defaults(
    defaults: Node,
    value: &Node,
    lists: &ListKeys,
    findings: &mut Vec<Finding>,
) -> Node {
    run(Side::Patch, defaults, value, lists, findings)
}

fn run(
    side: Side,
    base: Node,
    patch: &Node,
    lists: &ListKeys,
    findings: &mut Vec<Finding>,
) -> Node {
    if patch.value == Value::Null || Directive::of(patch) == Directive::Delete {
        findings.push(removes_all(patch));
        return base;
    }
    let kind = base.text(&["kind"]).unwrap_or_default().to_owned();
    let at = At {
        kind: &kind,
        ..At::default()
    };
    let mut merge = Merge {
        lists,
        side,
        findings,
    };
    merge
        .node(base, patch, at)
        .expect("only null and $patch: delete remove a value, and both were refused")
}

/// Who is said to have opened a map or list that both sides have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Patch,
}

impl Side {
    fn origin(self, base: &Origin, patch: &Origin) -> Origin {
        match self {
            Self::Base => base.clone(),
            Self::Patch => patch.over(base),
        }
    }
}

struct Merge<'a> {
    lists: &'a ListKeys,
    side: Side,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Merge<'a> {
    /// The value that stands at `at` once patched; nothing when the patch removes it.
    fn node(&mut self, base: Node, patch: &Node, at: At<'_>) -> Option<Node> {
        match Directive::of(patch) {
            Directive::Delete => return None,
            Directive::Replace => return self.replacement(&base.origin, patch, at),
            Directive::Merge => {}
        }
        let origin = self.side.origin(&base.origin, &patch.origin);
        match (base.value, &patch.value) {
            (Value::Map(map), Value::Map(patch)) => {
                let value = Value::Map(self.map(map, patch, at));
                Some(Node { value, origin })
            }
            (Value::List(items), Value::List(changes)) => match self.keys(&items, changes, at) {
                Some(keys) => {
                    let value = Value::List(self.keyed(items, changes, keys, at));
                    Some(Node { value, origin })
                }
                None => self.replacement(&base.origin, patch, at),
            },
            (value, _) if value == patch.value && base.origin.span() == patch.span() => {
                Some(Node { value, ..base })
            }
            _ => self.replacement(&base.origin, patch, at),
        }
    }

    /// The patch's value in place of one from `old`.
    fn replacement(&mut self, old: &Origin, patch: &Node, at: At<'_>) -> Option<Node> {
        let new = self.fresh(patch, at)?;
        let origin = new.origin.over(old);
        Some(Node { origin, ..new })
    }

    /// The patch's value where there was none: directives and nulls are left out.
    fn fresh(&mut self, patch: &Node, at: At<'_>) -> Option<Node> {
        let value = match &patch.value {
            Value::Null => return None,
            Value::Map(_) if Directive::of(patch) == Directive::Delete => return None,
            Value::Map(map) => Value::Map(self.map(Map::default(), map, at)),
            Value::List(items) => Value::List(self.list(items, at)),
            scalar => scalar.clone(),
        };
        Some(Node::new(value, &patch.origin))
    }

    fn map(&mut self, base: Map, patch: &Map, at: At<'_>) -> Map {
        self.findings.extend(directives::check(patch));
        let mut base = directives::retain_keys(base, patch);
        directives::delete_from_lists(&mut base, patch);
        let mut merged = self.entries(base, patch, at);
        directives::set_order(&mut merged, patch, |list| self.lists.of(at.child(list)));
        merged
    }

    fn entries(&mut self, base: Map, patch: &Map, at: At<'_>) -> Map {
        let entries = || {
            patch
                .iter()
                .filter(|(key, _)| !directives::is_directive(&key.name))
        };
        let mut changes: HashMap<&str, (&Key, &Node)> = entries()
            .map(|(key, node)| (key.name.as_ref(), (key, node)))
            .collect();
        let mut merged = Vec::with_capacity(base.len() + changes.len());
        for (key, node) in base {
            let Some((patched, change)) = changes.remove(key.name.as_ref()) else {
                merged.push((key, node));
                continue;
            };
            let key = Key {
                origin: self.side.origin(&key.origin, &patched.origin),
                name: key.name,
            };
            let node = self.node(node, change, at.child(&patched.name));
            merged.extend(node.map(|node| (key, node)));
        }
        for (key, change) in entries().filter(|(key, _)| changes.contains_key(key.name.as_ref())) {
            let node = self.fresh(change, at.child(&key.name));
            merged.extend(node.map(|node| (key.clone(), node)));
        }
        merged.into_iter().collect()
    }

    /// The keys by which two lists merge; nothing when the second replaces the first.
    fn keys(&self, base: &[Node], patch: &[Node], at: At<'_>) -> Option<&'a Keys> {
        let keys = self.lists.of(at)?;
        let mut elements = base.iter().chain(patch);
        let has_keys = elements.any(|element| keys.identity(element).is_some());
        (has_keys && !patch.iter().any(directives::replaces_list)).then_some(keys)
    }

    /// A list where there was none.
    fn list(&mut self, items: &[Node], at: At<'_>) -> Vec<Node> {
        let items = items.iter().filter(|item| !directives::replaces_list(item));
        items
            .filter_map(|item| self.fresh(item, at.element(item)))
            .collect()
    }

    fn keyed(&mut self, base: Vec<Node>, patch: &[Node], keys: &Keys, at: At<'_>) -> Vec<Node> {
        let mut elements = Elements::new(base, keys);
        for item in patch {
            let identity = keys.identity(item);
            if identity.is_none() && Directive::of(item) == Directive::Delete {
                self.findings.push(names_no_element(item, keys));
            }
            let place = elements.place(identity);
            let old = elements.take(place);
            let at = at.element(item);
            let new = match old {
                Some(old) => self.element(old, item, keys, at),
                None => self.fresh(item, at),
            };
            elements.put(place, new);
        }
        match self.side {
            Side::Base => elements.in_place(),
            Side::Patch => elements.changed_first(),
        }
    }

    /// Merges two elements of one identity. What only says which element is meant does not count as
    /// set by the patch.
    fn element(&mut self, old: Node, patch: &Node, keys: &Keys, at: At<'_>) -> Option<Node> {
        let identity = keys.values(&old);
        let mut new = self.node(old, patch, at)?;
        if self.side == Side::Base {
            keys.put_back(&mut new, identity);
        }
        Some(new)
    }
}

fn removes_all(patch: &Node) -> Finding {
    Finding::error("O02", "the patch removes the whole value it is for")
        .at(patch.span())
        .help("leave the object out of the tree instead")
}

fn names_no_element(element: &Node, keys: &Keys) -> Finding {
    let message = format!(
        "`$patch: delete` names no element: it needs `{}`",
        keys.names()
    );
    Finding::error("O02", message)
        .at(element.span())
        .help("say which element of the list to delete")
}

#[cfg(test)]
mod tests;
