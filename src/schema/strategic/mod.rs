//! Kubernetes' strategic merge patch on values that know where they came from.
//!
//! In: a value, a patch, and which lists have keys. Out: the merged value, in which every part still
//! knows where it is written and what it replaced, and findings (O02) for what cannot be applied. It
//! does not know overlays, definitions or files.
//!
//! Maps merge deeply, a scalar replaces, `null` deletes (RFC 7386), lists replace, except that keyed
//! lists merge by key. Directives: `$patch: merge|replace|delete` in a map or in an element of a
//! keyed list, `- $patch: replace` as an element of its own for a whole list, `$retainKeys`,
//! `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>`.

mod definitions;
mod directives;
mod elements;
mod list_keys;

use std::collections::HashMap;

use directives::Directive;
use elements::Elements;
use list_keys::Keys;
pub use list_keys::{At, ListKeys};

use crate::model::{Finding, Key, Map, Node, Origin, Value};

/// Merges `patch` into `base`. Maps and lists keep the origin that they have in `base`; elements
/// keep their order and new ones come last.
#[must_use]
pub fn merge(base: Node, patch: &Node, lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    let mode = Mode {
        opened_by: Side::Base,
        nulls: Nulls::Delete,
    };
    run(mode, base, patch, lists, findings)
}

/// Lays `upper` on `lower`, where `lower` is the value that people look at: as [`merge`], but a
/// `null` replaces and stays, so that it can still remove values of another layer.
#[must_use]
pub fn lay_over(lower: Node, upper: &Node, lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    let mode = Mode {
        opened_by: Side::Base,
        nulls: Nulls::Stay,
    };
    run(mode, lower, upper, lists, findings)
}

/// Lays `upper` on `lower`, where `upper` is the value that people look at: the values of
/// [`lay_over`], but maps and lists keep the origin that they have in `upper`, and elements keep its
/// order, followed by those that only `lower` has.
#[must_use]
pub fn lay_under(upper: &Node, lower: Node, lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    let mode = Mode {
        opened_by: Side::Patch,
        nulls: Nulls::Stay,
    };
    run(mode, lower, upper, lists, findings)
}

fn run(
    mode: Mode,
    base: Node,
    patch: &Node,
    lists: &ListKeys,
    findings: &mut Vec<Finding>,
) -> Node {
    if patch.value == Value::Null || Directive::of(patch) == Directive::Delete {
        findings.push(removes_all(patch));
        return base;
    }
    let text = |name: &str| base.text(&[name]).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let at = At::of(Some(&api_version), &kind);
    let mut merge = Merge {
        lists,
        mode,
        findings,
    };
    merge
        .node(base, patch, at)
        .expect("only null and $patch: delete remove a value, and both were refused")
}

#[derive(Clone, Copy)]
struct Mode {
    opened_by: Side,
    nulls: Nulls,
}

/// Which side gives its origin to a map or list that both have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Patch,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Delete,
    Stay,
}

impl Mode {
    fn origin(self, base: &Origin, patch: &Origin) -> Origin {
        match self.opened_by {
            Side::Base => base.clone(),
            Side::Patch => patch.over(base),
        }
    }
}

struct Merge<'a> {
    lists: &'a ListKeys,
    mode: Mode,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Merge<'a> {
    /// The patched value at `at`; `None` if the patch removes it.
    fn node(&mut self, base: Node, patch: &Node, at: At<'_>) -> Option<Node> {
        match Directive::of(patch) {
            Directive::Delete => return None,
            Directive::Replace => return self.replacement(&base.origin, patch, at),
            Directive::Merge => {}
        }
        let origin = self.mode.origin(&base.origin, &patch.origin);
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
            Value::Null if self.mode.nulls == Nulls::Delete => return None,
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
                origin: self.mode.origin(&key.origin, &patched.origin),
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
            .filter_map(|item| self.new_element(item, at.element(item)))
            .collect()
    }

    /// An element where there was none. In a list `null` is a value.
    fn new_element(&mut self, element: &Node, at: At<'_>) -> Option<Node> {
        match element.value {
            Value::Null => Some(element.clone()),
            _ => self.fresh(element, at),
        }
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
                None => self.new_element(item, at),
            };
            elements.put(place, new);
        }
        match self.mode.opened_by {
            Side::Base => elements.in_place(),
            Side::Patch => elements.changed_first(),
        }
    }

    /// Merges two elements of one identity. The fields that identify the element do not count
    /// as set by the patch.
    fn element(&mut self, old: Node, patch: &Node, keys: &Keys, at: At<'_>) -> Option<Node> {
        let identity = keys.values(&old);
        let mut new = self.node(old, patch, at)?;
        if self.mode.opened_by == Side::Base {
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
