//! What a value means field by field, given how its kind merges.
//!
//! In: values and [`Types`](super::Types). Out: the fields a value has, what differs between two
//! values, two values merged, a value with fields removed or with only some of them. It does not know
//! who owns a field; that is `apply`'s.

mod check;
mod compare;
mod leaves;
mod merge;
mod named;
mod remove;

pub(super) use check::check;
pub use compare::{Comparison, compare};
pub(super) use merge::merge;
pub(super) use named::{reconciled, with_named};
pub(super) use remove::{drop_emptied, strip};
pub use remove::{project, remove};
#[cfg(test)]
mod tests;
