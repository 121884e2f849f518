//! What a patch may say beside values: keys that begin with `$`.
//!
//! In: the map of a patch and the map it changes. Out: what the directives make of that map, and
//! findings for those that cannot be followed. It does not merge values.

use std::collections::{HashMap, HashSet};

use super::list_keys::{Keys, scalar};
use crate::model::{Finding, Key, Map, Node, Value, rule_id};

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// How a map of a patch meets what it patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    /// The `$patch` directive of this value.
    pub(super) fn of(patch: &Node) -> Self {
        match patch.text(&[PATCH]) {
            Some("replace") => Self::Replace,
            Some("delete") => Self::Delete,
            _ => Self::Merge,
        }
    }
}

/// Whether a key of a patch is a directive. Other keys with `$` are data (`$ref` in a schema).
pub(super) fn is_directive(key: &str) -> bool {
    matches!(key, PATCH | RETAIN_KEYS) || key.starts_with(DELETE_FROM) || key.starts_with(ORDER)
}

/// Whether an element of a list only asks to replace the whole list.
pub(super) fn replaces_list(element: &Node) -> bool {
    let alone = element.as_map().is_some_and(|map| map.len() == 1);
    alone && Directive::of(element) == Directive::Replace
}

/// The `$patch` directive of an element that one of the known directives is for.
pub(super) fn directive(element: &Node) -> Option<&Node> {
    let directive = element.get(PATCH)?;
    matches!(directive.as_str(), Some("merge" | "replace" | "delete")).then_some(directive)
}

/// `patch` where `deleted` removes what it is merged into: it replaces all of it.
pub(super) fn replacing(deleted: &Node, patch: &Node) -> Node {
    let mut patch = patch.clone();
    let directive = deleted.as_map().and_then(|map| map.entry(PATCH));
    if let (Value::Map(map), Some((key, node))) = (&mut patch.value, directive) {
        let replace = Node::new(Value::String("replace".into()), &node.origin);
        map.insert(key.clone(), replace);
    }
    patch
}

/// Keeps the directives of `patch` beside those that `merged` has from an earlier patch.
pub(super) fn keep(merged: &mut Map, patch: &Map) {
    let directives = patch.iter().filter(|(key, _)| is_directive(&key.name));
    let is_merge = |key: &Key, node: &Node| *key.name == *PATCH && node.as_str() == Some("merge");
    for (key, node) in directives.filter(|(key, node)| !is_merge(key, node)) {
        let combined = match merged.get(&key.name) {
            Some(earlier) if *key.name == *RETAIN_KEYS => retained_by_both(earlier, node, merged),
            Some(earlier) if key.name.starts_with(DELETE_FROM) => joined(earlier, node),
            _ => node.clone(),
        };
        merged.insert(key.clone(), combined);
    }
}

/// The names of `later` that `earlier` names, too, or that the merged map sets.
fn retained_by_both(earlier: &Node, later: &Node, merged: &Map) -> Node {
    let earlier: HashSet<&str> = names(earlier).collect();
    let stays = |name: &str| earlier.contains(name) || merged.get(name).is_some();
    let items = later.as_list().unwrap_or_default().iter();
    let items = items.filter(|item| item.as_str().is_some_and(stays));
    Node::new(Value::List(items.cloned().collect()), &later.origin)
}

fn joined(earlier: &Node, later: &Node) -> Node {
    let lists = [earlier, later].map(|node| node.as_list().unwrap_or_default());
    Node::new(Value::List(lists.concat()), &later.origin)
}

fn names(list: &Node) -> impl Iterator<Item = &str> {
    let items = list.as_list().unwrap_or_default();
    items.iter().filter_map(Node::as_str)
}

/// What is wrong with the directives of a map.
pub(super) fn check(patch: &Map) -> impl Iterator<Item = Finding> {
    let directives = patch.iter().filter(|(key, _)| is_directive(&key.name));
    directives.filter_map(|(key, node)| fault(key, node))
}

fn fault(key: &Key, node: &Node) -> Option<Finding> {
    let (followed, help) = match key.name.as_ref() {
        PATCH => (
            matches!(node.as_str(), Some("merge" | "replace" | "delete")),
            "it is one of `merge`, `replace` and `delete`",
        ),
        _ => (node.as_list().is_some(), "give it a list"),
    };
    let message = format!("the directive `{}` cannot be followed", key.name);
    let finding = Finding::error(rule_id::UNAPPLICABLE_PATCH, message)
        .at(node.span())
        .help(help);
    (!followed).then_some(finding)
}

/// Leaves in `base` only the keys that `$retainKeys` names, and directives of earlier patches.
pub(super) fn retain_keys(base: Map, patch: &Map) -> Map {
    let list = patch.get(RETAIN_KEYS);
    let Some(list) = list.filter(|node| node.as_list().is_some()) else {
        return base;
    };
    let names: HashSet<&str> = names(list).collect();
    base.into_iter()
        .filter(|(key, _)| names.contains(key.name.as_ref()) || is_directive(&key.name))
        .collect()
}

/// Takes out of lists of scalars what `$deleteFromPrimitiveList/<list>` names.
pub(super) fn delete_from_lists(base: &mut Map, patch: &Map) {
    for (list, unwanted) in lists(patch, DELETE_FROM) {
        let unwanted: HashSet<String> = unwanted.iter().filter_map(scalar).collect();
        if let Some(Value::List(items)) = base.get_mut(list).map(|node| &mut node.value) {
            items.retain(|item| scalar(item).is_none_or(|text| !unwanted.contains(&text)));
        }
    }
}

/// Puts the elements that `$setElementOrder/<list>` names into its order. They share the places
/// they had; elements it does not name stay where they are.
pub(super) fn set_order<'k>(
    merged: &mut Map,
    patch: &Map,
    keys_of: impl Fn(&str) -> Option<&'k Keys>,
) {
    for (list, order) in lists(patch, ORDER) {
        let keys = keys_of(list);
        let name = |item: &Node| scalar(item).or_else(|| keys?.identity(item));
        let ranks: HashMap<String, usize> = order.iter().filter_map(name).zip(0..).collect();
        if let Some(Value::List(items)) = merged.get_mut(list).map(|node| &mut node.value) {
            sort_named(items, |item| ranks.get(&name(item)?).copied());
        }
    }
}

/// Sorts the items that have a rank, within the places these items have.
fn sort_named(items: &mut [Node], rank: impl Fn(&Node) -> Option<usize>) {
    let (places, mut ranked): (Vec<usize>, Vec<(usize, Node)>) = items
        .iter()
        .enumerate()
        .filter_map(|(place, item)| Some((place, (rank(item)?, item.clone()))))
        .unzip();
    ranked.sort_by_key(|(rank, _)| *rank);
    for (place, (_, item)) in places.into_iter().zip(ranked) {
        items[place] = item;
    }
}

/// The directives of one kind, by the list they are for.
fn lists<'p>(patch: &'p Map, prefix: &str) -> impl Iterator<Item = (&'p str, &'p [Node])> {
    let one = move |(key, node): (&'p Key, &'p Node)| {
        Some((key.name.strip_prefix(prefix)?, node.as_list()?))
    };
    patch.iter().filter_map(one)
}
