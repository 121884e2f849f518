//! What a value means field by field, given how its kind merges.
//!
//! In: values and [`Types`]. Out: the fields a value has, what differs between two
//! values, two values merged, a value with fields removed. It does not know
//! who owns a field; that is `apply`'s.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::types::Types;
use kube_schema::Element;

mod check;
mod compare;
mod leaves;
mod merge;
mod named;
mod nulls;
mod remove;

pub(super) use check::{check, check_stored};
pub(crate) use compare::{Comparison, compare};
pub(crate) use leaves::fields_of;
pub(super) use merge::merge;
pub(super) use named::{reconciled, with_named};
pub(crate) use nulls::zero_nulls;
pub(super) use remove::strip;

/// The items of a list by what names them. Items that nothing names are left out.
fn by_element<'a>(types: Types<'_>, items: &'a [Value]) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut by_element: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = types.element(item) {
            by_element.entry(element).or_default().push(item);
        }
    }
    by_element
}

#[cfg(test)]
mod tests;
