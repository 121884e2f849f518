//! Two values of the same kind merged, the second winning.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::types::{Form, Types};
use kube_schema::Element;

/// `live` with the values of `config` put in. Nothing is removed. Items of keyed lists are put where `config`
/// puts them when it names them, the others keep their places between them.
pub(crate) fn merge(live: &Value, config: &Value, types: Types<'_>) -> Value {
    let form = types.forms().narrow(Some(config)).form();
    match (form, live, config) {
        (Form::Map, _, Value::Object(new)) if !types.map_is_atomic() => {
            let nothing = Map::new();
            let old = live.as_object().unwrap_or(&nothing);
            Value::Object(maps(old, new, types))
        }
        // An explicit null has no effect on the members of a map or list that is not one value.
        (Form::Map, Value::Object(old), _) if !types.map_is_atomic() && !old.is_empty() => {
            live.clone()
        }
        (Form::List, _, Value::Array(new)) if !types.list_is_atomic() && !new.is_empty() => {
            let old = live.as_array().map_or(&[][..], Vec::as_slice);
            lists(old, new, types).map_or_else(|| config.clone(), Value::Array)
        }
        (Form::List, Value::Array(old), _) if !types.list_is_atomic() && !old.is_empty() => {
            live.clone()
        }
        _ => config.clone(),
    }
}

fn maps(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    types: Types<'_>,
) -> Map<String, Value> {
    let kept = old.iter().map(|(name, live)| {
        let value = match new.get(name) {
            Some(config) => {
                let below = types.member(name).types.unwrap_or_else(Types::unknown);
                merge(live, config, below)
            }
            None => live.clone(),
        };
        (name.clone(), value)
    });
    let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
    let added = added.map(|(name, config)| (name.clone(), config.clone()));
    kept.chain(added).collect()
}

/// Nothing when an item cannot be distinguished from the others.
fn lists(old: &[Value], new: &[Value], types: Types<'_>) -> Option<Vec<Value>> {
    let named = |items: &[Value]| -> Option<Vec<Element>> {
        let elements = items.iter().map(|item| types.element(item).ok());
        elements.collect()
    };
    let (old_names, new_names) = (named(old)?, named(new)?);
    let by_name = Names::new(&old_names, old, &new_names, new);
    let mut queue = Queue::new(&by_name, &old_names, &new_names);
    let mut merged = Vec::with_capacity(old.len().max(new.len()));
    while let Some(taken) = queue.next(&by_name) {
        merged.push(match taken {
            Taken::Old(at) => old[at].clone(),
            Taken::New(name) => by_name.merged(name, types.item()),
        });
    }
    Some(merged)
}

/// The items of both lists by what names them; of old items that share a name none counts.
struct Names<'a> {
    old: BTreeMap<&'a Element, Option<&'a Value>>,
    new: BTreeMap<&'a Element, &'a Value>,
}

impl<'a> Names<'a> {
    fn new(
        old_names: &'a [Element],
        old: &'a [Value],
        new_names: &'a [Element],
        new: &'a [Value],
    ) -> Self {
        let mut by_name = Self {
            old: BTreeMap::new(),
            new: new_names.iter().zip(new).collect(),
        };
        for (name, item) in old_names.iter().zip(old) {
            by_name
                .old
                .entry(name)
                .and_modify(|known| *known = None)
                .or_insert(Some(item));
        }
        by_name
    }

    fn merged(&self, name: &Element, types: Types<'_>) -> Value {
        let new = self.new.get(name).copied().unwrap_or(&Value::Null);
        match self.old.get(name).copied().flatten() {
            Some(old) => merge(old, new, types),
            None => new.clone(),
        }
    }
}

/// Which item comes next.
enum Taken<'a> {
    /// The old item at this index, which the new list does not name.
    Old(usize),
    /// The new item of this name, merged with the old one.
    New(&'a Element),
}

/// Goes through both lists at once. Shared items come in the new order; an old item that is not shared
/// comes as soon as the walk through the old list reaches it.
struct Queue<'a> {
    old: VecDeque<(usize, &'a Element)>,
    new: VecDeque<&'a Element>,
    /// Names in both lists that are still to come, in the new order.
    shared: VecDeque<&'a Element>,
    done: BTreeSet<&'a Element>,
}

impl<'a> Queue<'a> {
    fn new(by_name: &Names<'a>, old: &'a [Element], new: &'a [Element]) -> Self {
        let shared = new.iter().filter(|name| by_name.old.contains_key(name));
        Self {
            old: old.iter().enumerate().collect(),
            new: new.iter().collect(),
            shared: shared.collect(),
            done: BTreeSet::new(),
        }
    }

    fn next(&mut self, by_name: &Names<'a>) -> Option<Taken<'a>> {
        loop {
            match (self.old.front().copied(), self.new.front().copied()) {
                (None, None) => return None,
                (Some((_, old)), Some(new)) if old == new => {
                    self.old.pop_front();
                    self.shared.pop_front();
                    return self.take_new();
                }
                (Some((at, old)), _) if !by_name.new.contains_key(old) => {
                    self.old.pop_front();
                    return Some(Taken::Old(at));
                }
                // Shared, and its turn is not now: the new list will bring it, or has.
                (Some((_, old)), Some(_)) if self.shared.front().is_some_and(|s| *s != old) => {
                    self.old.pop_front();
                }
                (Some((_, old)), new) => {
                    if new.is_none() || self.done.contains(old) {
                        self.old.pop_front();
                    }
                    if new.is_some() {
                        return self.take_shared();
                    }
                }
                (None, Some(_)) => return self.take_shared(),
            }
        }
    }

    fn take_shared(&mut self) -> Option<Taken<'a>> {
        if self.shared.front() == self.new.front() {
            self.shared.pop_front();
        }
        self.take_new()
    }

    fn take_new(&mut self) -> Option<Taken<'a>> {
        let name = self.new.pop_front()?;
        self.done.insert(name);
        Some(Taken::New(name))
    }
}
