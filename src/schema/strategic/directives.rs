//! What a patch may say beside values: keys that begin with `$`.
//!
//! In: the map of a patch and the map it changes. Out: what the directives make of that map, and
//! findings for those that cannot be followed. It does not merge values.

use std::collections::{HashMap, HashSet};

use super::list_keys::{Keys, scalar};
use crate::model::{Finding, Key, Map, Node, Value};

const PATCH: &str = "$patch";
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
    let finding = Finding::error("O02", message).at(node.span()).help(help);
    (!followed).then_some(finding)
}

/// Leaves in `base` only the keys that `$retainKeys` names.
pub(super) fn retain_keys(base: Map, patch: &Map) -> Map {
    let Some(names) = patch.get(RETAIN_KEYS).and_then(Node::as_list) else {
        return base;
    };
    let names: HashSet<&str> = names.iter().filter_map(Node::as_str).collect();
    base.into_iter()
        .filter(|(key, _)| names.contains(key.name.as_ref()))
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
