//! What differs between two values, field by field.

use std::collections::BTreeSet;

use serde_json::Value;

use super::by_element::by_element;
use crate::types::{Form, Forms, Types};
use kube_schema::order::same;
use kube_schema::{Element, FieldSet};

type Fields = serde_json::Map<String, Value>;

/// What became of the fields of a value. No field is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    /// Fields that are gone.
    pub removed: FieldSet,
    /// Fields that were there and have another value now.
    pub modified: FieldSet,
    /// Fields that are new; of a new list or map the list or map itself, too.
    pub added: FieldSet,
}

impl Comparison {
    /// The comparison without these fields and all below them.
    pub(crate) fn without(mut self, fields: &FieldSet) -> Self {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            set.cut(fields);
        }
        self
    }

    /// Fields whose values are other ones, or new.
    pub(crate) fn changed(&self) -> FieldSet {
        self.modified.union(&self.added)
    }
}

/// Compares `new` with `old`.
#[must_use]
pub(crate) fn compare(old: &Value, new: &Value, types: Types<'_>) -> Comparison {
    visit(types, Pair::new(Some(old), Some(new))).below
}

/// What is at one place of both values; at least one of them has something there.
#[derive(Clone, Copy)]
struct Pair<'a> {
    old: Option<&'a Value>,
    new: Option<&'a Value>,
}

impl<'a> Pair<'a> {
    const fn new(old: Option<&'a Value>, new: Option<&'a Value>) -> Self {
        Self { old, new }
    }

    /// Both sides as maps or lists; a side that is something else has none.
    fn map<T>(self, read: impl Fn(&'a Value) -> Option<&'a T>) -> (Option<&'a T>, Option<&'a T>) {
        (self.old.and_then(&read), self.new.and_then(&read))
    }
}

/// What became of one place.
#[derive(Default)]
struct Found {
    removed: bool,
    modified: bool,
    added: bool,
    /// What became of the fields below it.
    below: Comparison,
}

impl Found {
    const fn below(below: Comparison) -> Self {
        Self {
            removed: false,
            modified: false,
            added: false,
            below,
        }
    }

    /// Both, of the same place.
    fn and(mut self, other: &Self) -> Self {
        self.removed |= other.removed;
        self.modified |= other.modified;
        self.added |= other.added;
        self.below.removed.add(&other.below.removed);
        self.below.modified.add(&other.below.modified);
        self.below.added.add(&other.below.added);
        self
    }

    /// Puts it at `element` of a place. Most places did not change, and then there is nothing to put.
    fn put_at(self, element: impl Fn() -> Element, into: &mut Comparison) {
        let Self { below, .. } = self;
        for (set, member, filled) in [
            (&mut into.removed, self.removed, below.removed),
            (&mut into.modified, self.modified, below.modified),
            (&mut into.added, self.added, below.added),
        ] {
            if member || !filled.is_empty() {
                set.set(element(), member, filled);
            }
        }
    }
}

fn visit(types: Types<'_>, pair: Pair<'_>) -> Found {
    let forms = types.forms();
    let (old, new) = (forms.narrow(pair.old), forms.narrow(pair.new));
    let (leaf, mut found) = match pair {
        Pair { new: None, .. } => treat(old, types, pair),
        Pair { old: None, .. } => treat(new, types, pair),
        _ if old == new => treat(new, types, pair),
        _ => {
            // What changed is found by going through both values.
            let (_, as_old) = treat(old, types, pair);
            let (leaf, as_new) = treat(new, types, pair);
            (leaf, as_old.and(&as_new))
        }
    };
    match pair {
        _ if leaf => {}
        Pair { old: None, .. } => found.added = true,
        Pair { new: None, .. } => found.removed = true,
        _ => {}
    }
    found
}

/// Also says whether the place is a leaf.
fn treat(forms: Forms, types: Types<'_>, pair: Pair<'_>) -> (bool, Found) {
    match forms.form() {
        Form::Scalar => (true, leaf(pair)),
        Form::List => {
            let (old, new) = pair.map(Value::as_array);
            let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
            if types.list_is_atomic() || (empty(old) && empty(new)) {
                return (true, leaf(pair));
            }
            let below = of_items(types, items(old), items(new));
            (false, Found::below(below))
        }
        Form::Map => {
            let (old, new) = pair.map(Value::as_object);
            let empty = |map: Option<&Fields>| map.is_none_or(Fields::is_empty);
            if types.map_is_atomic() || (empty(old) && empty(new)) {
                return (true, leaf(pair));
            }
            (false, Found::below(of_fields(types, old, new)))
        }
    }
}

fn of_fields(types: Types<'_>, old: Option<&Fields>, new: Option<&Fields>) -> Comparison {
    let mut out = Comparison::default();
    let mut see = |name: &String, pair: Pair<'_>| {
        let below = types.member(name).types.unwrap_or_else(Types::unknown);
        visit(below, pair).put_at(|| Element::field(name.as_str()), &mut out);
    };
    for (name, value) in old.into_iter().flatten() {
        let new = new.and_then(|fields| fields.get(name));
        see(name, Pair::new(Some(value), new));
    }
    for (name, value) in new.into_iter().flatten() {
        if old.is_none_or(|fields| !fields.contains_key(name)) {
            see(name, Pair::new(None, Some(value)));
        }
    }
    out
}

fn leaf(pair: Pair<'_>) -> Found {
    let (removed, modified, added) = match (pair.old, pair.new) {
        (None, _) => (false, false, true),
        (_, None) => (true, false, false),
        (Some(old), Some(new)) => (false, !same(old, new), false),
    };
    Found {
        removed,
        modified,
        added,
        below: Comparison::default(),
    }
}

fn of_items(types: Types<'_>, old: &[Value], new: &[Value]) -> Comparison {
    let mut out = Comparison::default();
    if old == new {
        return out;
    }
    let (old, new) = (by_element(types, old), by_element(types, new));
    let elements: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
    for element in elements {
        let old = old.get(element).map_or(&[][..], Vec::as_slice);
        let new = new.get(element).map_or(&[][..], Vec::as_slice);
        same_element(types.item(), old, new).put_at(|| element.clone(), &mut out);
    }
    out
}

/// The items of both sides that have one element. Items that share an element count as one value.
fn same_element(types: Types<'_>, old: &[&Value], new: &[&Value]) -> Found {
    match (old, new) {
        ([] | [_], [] | [_]) => visit(types, Pair::new(old.first().copied(), new.first().copied())),
        ([_, _, ..], [_, _, ..]) => {
            let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
            Found {
                modified: !equal,
                ..Found::default()
            }
        }
        ([_, _, ..], _) => {
            let only = new.first();
            let only = only.map(|only| visit(types, Pair::new(None, Some(only))));
            Found {
                removed: true,
                ..only.unwrap_or_default()
            }
        }
        _ => {
            let only = old.first();
            let only = only.map(|only| visit(types, Pair::new(Some(only), None)));
            Found {
                added: true,
                ..only.unwrap_or_default()
            }
        }
    }
}

fn items(list: Option<&Vec<Value>>) -> &[Value] {
    list.map_or(&[], Vec::as_slice)
}
