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
    pub(crate) fn without(&self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.without_subtrees(fields),
            modified: self.modified.without_subtrees(fields),
            added: self.added.without_subtrees(fields),
        }
    }
}

/// Compares `new` with `old`.
#[must_use]
pub(crate) fn compare(old: &Value, new: &Value, types: Types<'_>) -> Comparison {
    let mut walk = Walk::default();
    walk.visit(types, Pair::new(Some(old), Some(new)));
    walk.out
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

#[derive(Default)]
struct Walk {
    at: Vec<Element>,
    out: Comparison,
}

impl Walk {
    fn visit(&mut self, types: Types<'_>, pair: Pair<'_>) {
        let old = types.forms().narrow(pair.old);
        let new = types.forms().narrow(pair.new);
        let leaf = match pair {
            Pair { new: None, .. } => self.treat(old, types, pair),
            Pair { old: None, .. } => self.treat(new, types, pair),
            _ if old == new => self.treat(new, types, pair),
            _ => {
                // What changed is found by going through both values.
                self.treat(old, types, pair);
                self.treat(new, types, pair)
            }
        };
        match pair {
            _ if leaf => {}
            Pair { old: None, .. } => self.out.added.insert(&self.at),
            Pair { new: None, .. } => self.out.removed.insert(&self.at),
            _ => {}
        }
    }

    /// Says whether the place is a leaf.
    fn treat(&mut self, forms: Forms, types: Types<'_>, pair: Pair<'_>) -> bool {
        match forms.form() {
            Form::Scalar => self.leaf(pair),
            Form::List => {
                let (old, new) = pair.map(Value::as_array);
                let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
                if types.list_is_atomic() || (empty(old) && empty(new)) {
                    return self.leaf(pair);
                }
                self.items(types, items(old), items(new));
                false
            }
            Form::Map => {
                let (old, new) = pair.map(Value::as_object);
                let empty = |map: Option<&Fields>| map.is_none_or(Fields::is_empty);
                if types.map_is_atomic() || (empty(old) && empty(new)) {
                    return self.leaf(pair);
                }
                self.fields(types, old, new);
                false
            }
        }
    }

    fn fields(&mut self, types: Types<'_>, old: Option<&Fields>, new: Option<&Fields>) {
        let sides = [old, new].into_iter().flatten();
        let names: BTreeSet<&String> = sides.flat_map(Fields::keys).collect();
        for name in names {
            let old = old.and_then(|fields| fields.get(name));
            let new = new.and_then(|fields| fields.get(name));
            self.field(types, name, Pair::new(old, new));
        }
    }

    fn field(&mut self, types: Types<'_>, name: &str, pair: Pair<'_>) {
        let below = types.member(name).types.unwrap_or_else(Types::unknown);
        self.at.push(Element::field(name));
        self.visit(below, pair);
        self.at.pop();
    }

    fn leaf(&mut self, pair: Pair<'_>) -> bool {
        match (pair.old, pair.new) {
            (None, _) => self.out.added.insert(&self.at),
            (_, None) => self.out.removed.insert(&self.at),
            (Some(old), Some(new)) if !same(old, new) => self.out.modified.insert(&self.at),
            _ => {}
        }
        true
    }

    fn items(&mut self, types: Types<'_>, old: &[Value], new: &[Value]) {
        let (old, new) = (by_element(types, old), by_element(types, new));
        let elements: BTreeSet<&Element> = old.keys().chain(new.keys()).collect();
        for element in elements {
            let old = old.get(element).map_or(&[][..], Vec::as_slice);
            let new = new.get(element).map_or(&[][..], Vec::as_slice);
            self.at.push(element.clone());
            self.same_element(types.item(), old, new);
            self.at.pop();
        }
    }

    /// The items of both sides that have one element. Items that share an element count as one value.
    fn same_element(&mut self, types: Types<'_>, old: &[&Value], new: &[&Value]) {
        match (old, new) {
            ([] | [_], [] | [_]) => {
                self.visit(types, Pair::new(old.first().copied(), new.first().copied()));
            }
            ([_, _, ..], [_, _, ..]) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same(a, b));
                if !equal {
                    self.out.modified.insert(&self.at);
                }
            }
            ([_, _, ..], _) => {
                if let Some(only) = new.first() {
                    self.visit(types, Pair::new(None, Some(only)));
                }
                self.out.removed.insert(&self.at);
            }
            _ => {
                if let Some(only) = old.first() {
                    self.visit(types, Pair::new(Some(only), None));
                }
                self.out.added.insert(&self.at);
            }
        }
    }
}

fn items(list: Option<&Vec<Value>>) -> &[Value] {
    list.map_or(&[], Vec::as_slice)
}
