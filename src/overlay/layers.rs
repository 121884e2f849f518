//! Merges overlays into definitions.
//!
//! In: a definition as its document. Out: the same document with the overlays that select it merged into its
//! `spec`: the definition overrides Default overlays, and Enforced overlays override the definition. It does not
//! know what the fields mean, except that the node pool `*` means every pool.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{Overlays, select};
use crate::api::overlay::Precedence;
use crate::model::{Budget, Finding, Key, Limit, Map, Node, Origin, Value};
use crate::schema::strategic::{self, ListKeys};

const SPEC: &str = "spec";
const POOLS: &str = "nodePools";
/// The name that stands for every pool.
const EVERY_POOL: &str = "*";

impl Overlays {
    /// Notes which overlays select a definition, so that they do not count as unused.
    pub fn note(&mut self, definition: &Node) {
        self.note_labels(definition);
        let name = definition.at(&["metadata", "name"]).unwrap_or(definition);
        for entry in &mut self.entries {
            let selected = select::selects(&entry.overlay, definition);
            entry.selected |= selected;
            if selected && entry.overlay.merge.is_some() {
                entry.reach(name.span());
            }
        }
    }

    /// Merges the overlays that select a definition into its `spec`. Directives are applied and removed, with
    /// overlays or without. A `null` replaces the value beneath it and is kept: readers treat it as absent, and
    /// expansion applies it below `properties`.
    #[must_use]
    pub fn merge(&self, definition: Node) -> (Node, Vec<Finding>) {
        self.merge_within(definition, &self.budget)
    }

    /// The same, counted by `budget`.
    #[must_use]
    pub fn merge_within(&self, mut definition: Node, budget: &Budget) -> (Node, Vec<Finding>) {
        let mut findings = Vec::new();
        if let Some(spec) = take_spec(&mut definition) {
            let beneath = self.layers(&definition, Precedence::Default);
            let above = self.layers(&definition, Precedence::Enforced);
            let weight = weight(&spec, beneath.iter().chain(&above));
            if !budget.allows(Limit::Objects, weight) {
                put_spec(&mut definition, spec);
                return (definition, findings);
            }
            let spec = lay_under(&spec, &beneath, &self.lists, &mut findings);
            let spec = lay_over(spec, &above, &self.lists, &mut findings);
            put_spec(&mut definition, spec);
        }
        (definition, findings)
    }

    /// The overlays of one precedence that select a definition, in the order they apply.
    fn layers(&self, definition: &Node, precedence: Precedence) -> Vec<&Node> {
        self.entries
            .iter()
            .map(|entry| &entry.overlay)
            .filter(|overlay| overlay.precedence == precedence)
            .filter(|overlay| select::selects(overlay, definition))
            .filter_map(|overlay| overlay.merge.as_ref())
            .filter(|layer| layer.as_map().is_some())
            .collect()
    }
}

/// How many values these layers put into a spec, at most: what they set for every pool is there once a pool.
fn weight<'l>(spec: &Node, layers: impl Iterator<Item = &'l &'l Node> + Clone) -> u64 {
    let pools = |node: &'l Node| node.get(POOLS).and_then(Node::as_list).unwrap_or_default();
    let own = spec
        .get(POOLS)
        .and_then(Node::as_list)
        .map_or(0, <[Node]>::len);
    let all: usize = own
        + layers
            .clone()
            .map(|layer| pools(layer).len())
            .sum::<usize>();
    let of_layer = |layer: &'l Node| {
        let every = pools(layer)
            .iter()
            .filter(|pool| pool.text(&["name"]) == Some(EVERY_POOL));
        let every: u64 = every.map(Node::weight).sum();
        layer.weight() + all as u64 + every.saturating_mul(1 + all as u64)
    };
    layers.map(|layer| of_layer(layer)).sum()
}

fn lay_under(spec: &Node, layers: &[&Node], lists: &ListKeys, findings: &mut Vec<Finding>) -> Node {
    let Some(lowest) = layers.first() else {
        return strategic::lay_over(empty(&spec.origin), spec, lists, findings);
    };
    let pools = pool_names(std::iter::once(spec).chain(layers.iter().copied()));
    let mut lower = empty(&lowest.origin);
    for sheet in layers.iter().flat_map(|layer| sheets(layer, &pools)) {
        lower = strategic::lay_over(lower, &sheet, lists, findings);
    }
    strategic::lay_under(spec, lower, lists, findings)
}

fn lay_over(
    mut spec: Node,
    layers: &[&Node],
    lists: &ListKeys,
    findings: &mut Vec<Finding>,
) -> Node {
    for layer in layers {
        let pools = pool_names([&spec, *layer].into_iter());
        for sheet in sheets(layer, &pools) {
            spec = strategic::lay_over(spec, &sheet, lists, findings);
        }
    }
    spec
}

/// The names of the pools in these specs, each once, as first written.
fn pool_names<'n>(specs: impl Iterator<Item = &'n Node>) -> Vec<Node> {
    let pools = specs.flat_map(|spec| spec.get(POOLS).and_then(Node::as_list).unwrap_or_default());
    let kept = pools.filter(|pool| pool.text(&["$patch"]) != Some("delete"));
    let mut seen = HashSet::new();
    kept.filter_map(|pool| pool.get("name"))
        .filter(|name| {
            name.as_str()
                .is_some_and(|name| name != EVERY_POOL && seen.insert(name))
        })
        .cloned()
        .collect()
}

/// Splits a layer: its settings for every pool, repeated for each of `names`, and the rest on top.
fn sheets<'l>(layer: &'l Node, names: &[Node]) -> Vec<Cow<'l, Node>> {
    let pools = layer.get(POOLS).and_then(Node::as_list).unwrap_or_default();
    let (every, single): (Vec<&Node>, Vec<&Node>) = pools
        .iter()
        .partition(|pool| pool.text(&["name"]) == Some(EVERY_POOL));
    if every.is_empty() {
        return vec![Cow::Borrowed(layer)];
    }
    let of_each = |pool: &&Node| names.iter().map(|name| renamed(pool, name)).collect();
    let each = every
        .iter()
        .map(of_each)
        .map(|pools| with_pools(Map::default(), layer, pools));
    let map = layer.as_map().cloned().unwrap_or_default();
    let rest = with_pools(map, layer, single.into_iter().cloned().collect());
    each.chain([rest]).map(Cow::Owned).collect()
}

/// The entries of a layer with these pools; without the list if there are none.
fn with_pools(mut map: Map, layer: &Node, pools: Vec<Node>) -> Node {
    let old = layer.as_map().and_then(|map| map.entry(POOLS));
    match old {
        Some((key, list)) if !pools.is_empty() => {
            map.insert(key.clone(), Node::new(Value::List(pools), &list.origin));
        }
        _ => drop(map.remove(POOLS)),
    }
    Node::new(Value::Map(map), &layer.origin)
}

fn renamed(pool: &Node, name: &Node) -> Node {
    let mut pool = pool.clone();
    if let Value::Map(map) = &mut pool.value {
        map.get_mut("name")
            .into_iter()
            .for_each(|old| old.clone_from(name));
    }
    pool
}

fn empty(origin: &Origin) -> Node {
    Node::new(Value::Map(Map::default()), origin)
}

/// The spec, empty when it is missing; nothing when it is no map, which reading it will say.
fn take_spec(definition: &mut Node) -> Option<Node> {
    let origin = definition.origin.clone();
    let Value::Map(map) = &mut definition.value else {
        return None;
    };
    match map.get_mut(SPEC) {
        None => Some(empty(&origin)),
        Some(node) => match node.value {
            Value::Null => Some(empty(&node.origin)),
            Value::Map(_) => {
                let taken = empty(&node.origin);
                Some(std::mem::replace(node, taken))
            }
            _ => None,
        },
    }
}

fn put_spec(definition: &mut Node, spec: Node) {
    let Value::Map(map) = &mut definition.value else {
        return;
    };
    let is_empty = spec.as_map().is_some_and(Map::is_empty);
    match map.get_mut(SPEC) {
        Some(old) => *old = spec,
        None if is_empty => {}
        None => {
            let key = Key {
                name: SPEC.into(),
                origin: spec.origin.clone(),
            };
            map.insert(key, spec);
        }
    }
}
