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
//!
//! The layers of a definition are merged before expansion, but what is below `properties` is a patch on
//! the generated objects. So layers keep `null` and the directives below `properties`, combined, and
//! [`merge`] applies them to what expansion made.

mod definitions;
mod directives;
mod elements;
mod list_keys;

use std::collections::HashMap;

use directives::Directive;
use elements::Elements;
use list_keys::Keys;
pub use list_keys::{At, ListKeys};

use crate::model::{Finding, Key, Map, Node, Origin, Value, rule_id};

/// The field of a definition, a node pool and external auth that is a patch on a generated object.
const PROPERTIES: &str = "properties";

/// Merges `patch` into `base`. Maps and lists keep the origin that they have in `base`; elements
/// keep their order and new ones come last.
#[must_use]
pub fn merge(base: Node, patch: &Node, lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    let mode = Mode {
        opened_by: Side::Base,
        nulls: Nulls::Delete,
        directives: Directives::Apply,
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
        directives: Directives::Apply,
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
        directives: Directives::Apply,
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
    directives: Directives,
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

/// What becomes of directives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directives {
    Apply,
    /// They are applied, and kept for a value that is not known yet.
    Keep,
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
            Directive::Delete if self.applies() => return None,
            Directive::Delete | Directive::Replace => {
                return self.replacement(&base.origin, patch, at);
            }
            Directive::Merge => {}
        }
        if !self.applies() && Directive::of(&base) == Directive::Delete {
            return self.replacement(&base.origin, &directives::replacing(&base, patch), at);
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
            Value::Map(_) if self.applies() && Directive::of(patch) == Directive::Delete => {
                return None;
            }
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
        if !self.applies() {
            directives::keep(&mut merged, patch);
        }
        merged
    }

    fn applies(&self) -> bool {
        self.mode.directives == Directives::Apply
    }

    /// The value under `key` of a map: `change` on the value that is there, if any.
    fn field(&mut self, base: Option<Node>, key: &str, change: &Node, at: At<'_>) -> Option<Node> {
        let at = at.child(key);
        if key == PROPERTIES && self.mode.nulls == Nulls::Stay && self.applies() {
            return self.properties(base, change, at);
        }
        match base {
            Some(base) => self.node(base, change, at),
            None => self.fresh(change, at),
        }
    }

    /// `properties` of a definition. Its own `$patch` is about the layers beneath, as `null` is.
    fn properties(&mut self, base: Option<Node>, change: &Node, at: At<'_>) -> Option<Node> {
        let mut inner = Merge {
            lists: self.lists,
            mode: Mode {
                directives: Directives::Keep,
                ..self.mode
            },
            findings: &mut *self.findings,
        };
        let mut merged = match (Directive::of(change), base) {
            (Directive::Delete, _) => return None,
            (Directive::Merge, Some(base)) => inner.node(base, change, at),
            (_, Some(base)) => inner.replacement(&base.origin, change, at),
            (_, None) => inner.fresh(change, at),
        };
        if let Some(Value::Map(map)) = merged.as_mut().map(|node| &mut node.value) {
            drop(map.remove(directives::PATCH));
        }
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
            let node = self.field(Some(node), &patched.name, change, at);
            merged.extend(node.map(|node| (key, node)));
        }
        for (key, change) in entries().filter(|(key, _)| changes.contains_key(key.name.as_ref())) {
            let node = self.field(None, &key.name, change, at);
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
        let keys = self.lists.of(at);
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            if directives::replaces_list(item) {
                list.extend((!self.applies()).then(|| item.clone()));
            } else if !self.is_lost(item, keys) {
                list.extend(self.new_element(item, at.element(item)));
            }
        }
        list
    }

    /// Whether an element has a directive that does not say which element it is for, which is reported.
    fn is_lost(&mut self, element: &Node, keys: Option<&Keys>) -> bool {
        let has_key = keys.is_some_and(|keys| keys.identity(element).is_some());
        let directive = directives::directive(element).filter(|_| !has_key);
        let finding = directive.map(|directive| names_no_element(directive, keys));
        let is_lost = finding.is_some();
        self.findings.extend(finding);
        is_lost
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
            if self.is_lost(item, Some(keys)) {
                continue;
            }
            let place = elements.place(keys.identity(item));
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
    Finding::error(
        rule_id::UNAPPLICABLE_PATCH,
        "the patch removes the whole value it is for",
    )
    .at(patch.span())
    .help("leave the object out of the tree instead")
}

fn names_no_element(directive: &Node, keys: Option<&Keys>) -> Finding {
    let text = directive.as_str().unwrap_or_default();
    let (message, help) = match keys {
        Some(keys) => (
            format!(
                "`$patch: {text}` names no element: it needs `{}`",
                keys.names()
            ),
            format!("say which element of the list to {text}"),
        ),
        None => (
            format!("`$patch: {text}` has no element: this list has no keys"),
            "write the whole list: it replaces the one beneath".to_owned(),
        ),
    };
    let finding = Finding::error(rule_id::UNAPPLICABLE_PATCH, message);
    finding.at(directive.span()).help(help)
}

#[cfg(test)]
mod tests;
