//! The entries of a map while it is read.
//!
//! In: keys and values in turn. Out: a map with unique keys, including what `<<` merges into it. It
//! does not know where the map is.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::model::{Finding, Key, Map, Node, Value, rule_id};

/// The keys and values read so far.
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
    /// The value of a rejected key.
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

    /// The first key.
    pub(super) fn first_key(&self) -> Option<&Key> {
        self.entries.first().map(|(key, _)| key)
    }

    /// Drops the last entry.
    pub(super) fn forget_last(&mut self) {
        self.entries.pop();
    }

    /// Splits off a second object, if there are two without a `---` between them: each has its own `apiVersion`
    /// and `kind`.
    pub(super) fn split_document(&mut self) -> Option<Self> {
        let has =
            |entries: &[(Key, Node)], name: &str| entries.iter().any(|(key, _)| key.name == name);
        let is_object =
            |entries: &[(Key, Node)]| has(entries, "apiVersion") && has(entries, "kind");
        let again = |at: &usize| {
            let name = &*self.entries[*at].0.name;
            matches!(name, "apiVersion" | "kind") && has(&self.entries[..*at], name)
        };
        let at = (1..self.entries.len()).find(again)?;
        let (one, other) = self.entries.split_at(at);
        (is_object(one) && is_object(other)).then(|| Self {
            entries: self.entries.split_off(at),
            ..Self::default()
        })
    }

    /// Takes `<<` as the key.
    pub(super) fn merge_key(&mut self) {
        self.next = Next::Merged;
    }

    /// Adds a key or a value. Something that cannot be a key becomes a finding.
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

    /// The map and its findings. At most `most` duplicate keys are reported.
    pub(super) fn finish(mut self, most: usize) -> (Map, Vec<Finding>) {
        let mut findings = drop_duplicates(&mut self.entries, most);
        if !self.merged.is_empty() {
            findings.extend(merge(&mut self.entries, self.merged));
        }
        (self.entries.into_iter().collect(), findings)
    }
}

/// The key that a value becomes. Kubernetes tools turn booleans and numbers into text.
pub(super) fn key_text(value: &Value) -> Option<Cow<'static, str>> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(bool) => Some(bool.to_string().into()),
        Value::Int(int) => Some(int.to_string().into()),
        Value::Float(float, _) => Some(float.to_string().into()),
        Value::Null | Value::List(_) | Value::Map(_) => None,
    }
}

fn key(node: &Node) -> Option<Key> {
    let (name, origin) = (key_text(&node.value)?, node.origin.clone());
    Some(Key { name, origin })
}

/// Keeps the first of equal keys and reports the others. A key whose line was only doubled has no value: it gets
/// the other's.
fn drop_duplicates(entries: &mut Vec<(Key, Node)>, most: usize) -> Vec<Finding> {
    let name = |at: &usize| entries[*at].0.name.as_ref();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by(|a, b| name(a).cmp(name(b)));
    let mut again: Vec<(usize, usize)> = order
        .chunk_by(|a, b| name(a) == name(b))
        .flat_map(|equal| equal[1..].iter().map(|at| (*at, equal[0])))
        .collect();
    again.sort_unstable();
    for (at, first) in &again {
        if entries[*first].1.value == Value::Null {
            let (above, below) = entries.split_at_mut(*at);
            std::mem::swap(&mut above[*first].1, &mut below[0].1);
        }
    }
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

/// Adds the entries of `<<` that the map does not have itself; earlier sources win.
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
        format!("duplicate key `{}`; first used on line {line}", key.name),
    )
    .at(key.origin.span())
    .help("remove one of the two")
}

fn not_a_key(node: &Node) -> Finding {
    let (message, help) = match &node.value {
        Value::Null => (
            "there is no key before this `:`",
            "write the name of the field before the `:`",
        ),
        _ => (
            "a key cannot be a map or a list",
            "put quotes around the text if the brackets are part of it; templates are not expanded",
        ),
    };
    Finding::error(rule_id::UNREADABLE_FILE, message)
        .at(node.span())
        .help(help)
}

fn not_a_map(node: &Node) -> Finding {
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "the value of `<<` must be a map or a list of maps",
    )
    .at(node.span())
    .help("use an alias of a map, such as `<<: *defaults`")
}
