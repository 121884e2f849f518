//! What a value means field by field, given how its kind merges.
//!
//! In: values and [`Types`](crate::types::Types). Out: the fields a value has, what differs between two
//! values, two values merged, a value with fields removed. It does not know
//! who owns a field; that is `apply`'s.

mod by_element;
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
pub(super) use named::{covered, reconciled, with_named};
pub(crate) use nulls::zero_nulls;
pub(super) use remove::strip;

#[cfg(test)]
mod tests;
