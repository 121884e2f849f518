//! Sets of fields seen through a schema.

use crate::types::{Form, Types};
use kube_schema::{Element, FieldSet};

/// `set` with every named field that has something of it below. Sets that managers own leave those
/// out; removing needs them, so that a struct goes with its last member.
pub(crate) fn with_named(set: &FieldSet, types: Types<'_>) -> FieldSet {
    let mut all = FieldSet::new();
    for (element, member, below) in set.branches() {
        let (place, declared) = step(types, element);
        let filled = match place {
            Some(place) => with_named(below, place),
            None => below.clone(),
        };
        let member = member || (declared && !below.is_empty());
        all.set(element.clone(), member, filled);
    }
    all
}

/// What is known one step further, and whether the step is a named field.
fn step<'a>(types: Types<'a>, element: &Element) -> (Option<Types<'a>>, bool) {
    match element {
        Element::Field(name) => {
            let member = types.member(name);
            (member.types, member.declared)
        }
        Element::Key(_) => (Some(types.item()), false),
        Element::Value(_) | Element::Index(_) => (None, false),
    }
}

/// `set` as it would have been written under today's schema: what has become one value since is owned
/// whole by every manager that owned a part of it.
pub(crate) fn reconciled(set: FieldSet, types: Types<'_>) -> FieldSet {
    match is_reconciled(&set, types) {
        true => set,
        false => reconcile(&set, types),
    }
}

fn is_reconciled(set: &FieldSet, types: Types<'_>) -> bool {
    set.branches().all(|(element, member, below)| {
        let (place, _) = step(types, element);
        place.is_none_or(|place| {
            !became_one_value(member, below, place)
                && (place.map_is_deduced() || is_reconciled(below, place))
        })
    })
}

fn reconcile(set: &FieldSet, types: Types<'_>) -> FieldSet {
    let mut all = FieldSet::new();
    for (element, member, below) in set.branches() {
        let (place, _) = step(types, element);
        match place {
            Some(place) if became_one_value(member, below, place) => {
                all.set(element.clone(), true, FieldSet::new());
            }
            Some(place) if !place.map_is_deduced() => {
                all.set(element.clone(), member, reconcile(below, place));
            }
            _ => all.set(element.clone(), member, below.clone()),
        }
    }
    all
}

/// Whether each field of `set` and all that it is in are in one of `owned`. The answer may be no
/// although they are: where the key fields of an item are nobody's.
pub(crate) fn covered(set: &FieldSet, owned: &[&FieldSet], types: Option<Types<'_>>) -> bool {
    set.branches().all(|(element, _, below)| {
        let (place, declared) = types.map_or((None, false), |types| step(types, element));
        let filled = owned.iter().filter_map(|set| set.below(element));
        let filled: Vec<&FieldSet> = filled.collect();
        let is_there = owned.iter().any(|set| set.has(element)) || (declared && !filled.is_empty());
        is_there && has_keys(element, &filled) && covered(below, &filled, place)
    })
}

/// Whether the key fields that name an item are in one of `owned`.
fn has_keys(element: &Element, owned: &[&FieldSet]) -> bool {
    let Element::Key(fields) = element else {
        return true;
    };
    fields.iter().all(|(name, _)| {
        let field = Element::field(name.as_str());
        owned.iter().any(|set| set.has(&field))
    })
}

fn became_one_value(member: bool, below: &FieldSet, types: Types<'_>) -> bool {
    let leaf = member && below.is_empty();
    match types.forms().form() {
        Form::List => types.list_is_atomic() && !leaf,
        Form::Map => types.map_is_atomic() && !below.is_empty(),
        Form::Scalar => false,
    }
}
