//! Structural schemas and field sets of Kubernetes, on plain JSON.
//!
//! - [`Schema`] describes which values are valid. It is read from a CustomResourceDefinition, or from what
//!   schemars makes of a Rust type. [`prune()`], [`apply_defaults()`] and [`validate()`] do with a
//!   value what the API server does, in this order.
//! - [`Violation`] is one way in which a value does not fit, in the API server's words.
//! - [`FieldSet`] is a set of fields as `metadata.managedFields` keeps it, and [`Managed`] is one
//!   entry there.
//! - [`Published`] knows which lists of built-in kinds merge, and by which keys.
//! - [`Path`] names a place in a value.
//!
//! In: JSON values and schemas. Out: plain values, violations and field sets. The crate does no I/O
//! and does not know kinds, clusters, rules in CEL, or how a value reaches an API server.

pub mod at;
mod defaults;
pub mod embedded;
mod fields;
pub mod formats;
mod limits;
mod list_keys;
pub mod lists;
mod managed;
mod nearest;
mod object_meta;
pub mod order;
mod outcome;
mod overflow;
mod path;
mod pattern;
mod prune;
pub mod ratchet;
mod reading;
mod structural;
mod unions;
pub mod uri;
mod validate;
mod violation;
mod walk;
pub mod wording;

pub use defaults::{apply_defaults, fill_defaults};
pub use fields::{Element, FieldPath, FieldSet};
pub use list_keys::{Items, Published, PublishedField, published};
pub use managed::{Managed, Operation};
pub use nearest::nearest;
pub use object_meta::{OBJECT_META_SCHEMA, object_meta};
pub use overflow::overflows;
pub use path::{Path, Segment};
pub use pattern::{compile as regular_expression, compile_within as small_regular_expression};
pub use prune::{OBJECT_FIELDS, has_unknown_fields, prune, unknown_fields};
pub use structural::{Additional, Bound, Checks, Count, ListKind, Pattern, Schema, Type};
pub use validate::{Unknown, by_schema, validate};
pub use violation::{Violation, ViolationKind};

/// The example in the README, compiled and run by `cargo test`.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
