//! The entries of a map in the making.
//!
//! In: keys and values in turn. Out: a map with unique keys and what `<<` merged into it. It does not
//! know in what the map stands.

use std::collections::HashSet;

use crate::model::{Finding, Key, Map, Node, Value};

/// Keys and values that are coming in.
#[derive(Default)]
pub(super) struct Entries {
    entries: Vec<(Key, Node)>,
    /// The values of `<<`.
    merged: Vec<Node>,
    next: Next,
}

/// What the next value of a map is.
#[derive(Default)]
enum Next {
    #[default]
    Key,
    ValueOf(Key),
    Merged,
    /// The value of a key that was refused.
    Dropped,
}

impl Entries {
    /// Whether the next value is a key.
    pub(super) fn at_key(&self) -> bool {
        matches!(self.next, Next::Key)
    }

    /// The key whose value comes next.
    pub(super) fn pending_key(&self) -> Option<&Key> {
        match &self.next {
            Next::ValueOf(key) => Some(key),
            _ => None,
        }
    }

    /// The key that came first.
    pub(super) fn first_key(&self) -> Option<&Key> {
        self.entries.first().map(|(key, _)| key)
    }

    /// Takes `<<` as the key.
    pub(super) fn merge_key(&mut self) {
        self.next = Next::Merged;
    }

    /// Takes in a key or a value; a key that is none becomes a finding.
    pub(super) fn put(&mut self, node: Node) -> Option<Finding> {
        let mut refused = None;
        self.next = match std::mem::take(&mut self.next) {
            Next::Key => key(&node).map_or_else(
                || {
                    refused = Some(not_a_key(&node));
                    Next::Dropped
                },
                Next::ValueOf,
            ),
            Next::ValueOf(key) => {
                self.entries.push((key, node));
                Next::Key
            }
            Next::Merged => {
                self.merged.push(node);
                Next::Key
            }
            Next::Dropped => Next::Key,
        };
        refused
    }

    /// The map, and what was wrong with it; no more than `most` duplicates are named.
    pub(super) fn finish(mut self, most: usize) -> (Map, Vec<Finding>) {
        let mut findings = drop_duplicates(&mut self.entries, most);
        if !self.merged.is_empty() {
            findings.extend(merge(&mut self.entries, self.merged));
        }
        (self.entries.into_iter().collect(), findings)
    }
}

/// The key a value makes. Kubernetes tools turn booleans and numbers into text.
fn key(node: &Node) -> Option<Key> {
    let name = match &node.value {
        Value::String(text) => text.clone(),
        Value::Bool(bool) => bool.to_string().into(),
        Value::Int(int) => int.to_string().into(),
        Value::Float(float, _) => float.to_string().into(),
        Value::Null | Value::List(_) | Value::Map(_) => return None,
    };
    let origin = node.origin.clone();
    Some(Key { name, origin })
}

/// Keeps the first of equal keys and says so of the others.
fn drop_duplicates(entries: &mut Vec<(Key, Node)>, most: usize) -> Vec<Finding> {
    let name = |at: &usize| entries[*at].0.name.as_ref();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| name(a).cmp(name(b)));
    let mut again: Vec<(usize, usize)> = order
        .chunk_by(|a, b| name(a) == name(b))
        .flat_map(|equal| equal[1..].iter().map(|at| (*at, equal[0])))
        .collect();
    again.sort_unstable();
    let findings = again
        .iter()
        .take(most)
        .map(|(at, first)| duplicate(&entries[*at].0, &entries[*first].0))
        .collect();
    let mut dropped = again.iter().map(|(at, _)| *at).peekable();
    let mut place = 0..;
    entries.retain(|_| dropped.next_if_eq(&place.next().unwrap_or(0)).is_none());
    findings
}

/// Adds what `<<` brings and the map does not say itself; earlier sources win.
fn merge(entries: &mut Vec<(Key, Node)>, merged: Vec<Node>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names: HashSet<String> = entries
        .iter()
        .map(|(key, _)| key.name.to_string())
        .collect();
    let sources = merged.into_iter().flat_map(|node| match node.value {
        Value::List(items) => items,
        value => vec![Node { value, ..node }],
    });
    for source in sources {
        match source.value {
            Value::Map(map) => {
                let new = |(key, _): &(Key, Node)| names.insert(key.name.to_string());
                entries.extend(map.into_iter().filter(new));
            }
            _ => findings.push(not_a_map(&source)),
        }
    }
    findings
}

fn duplicate(key: &Key, first: &Key) -> Finding {
    let line = first.origin.span().start.line;
    Finding::error(
        "Y02",
        format!("`{}` stands here again, first on line {line}", key.name),
    )
    .at(key.origin.span())
    .help("keep one of the two")
}

fn not_a_key(node: &Node) -> Finding {
    let (message, help) = match &node.value {
        Value::Null => (
            "the key before `:` is missing",
            "write the name of the field",
        ),
        _ => (
            "a map or list cannot be a key",
            "quote the text if its brackets belong to it; templates are not expanded",
        ),
    };
    Finding::error("Y01", message).at(node.span()).help(help)
}

fn not_a_map(node: &Node) -> Finding {
    Finding::error("Y01", "`<<` takes a map or a list of maps")
        .at(node.span())
        .help("name the anchor of a map, such as `<<: *defaults`")
}
