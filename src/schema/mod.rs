//! What a value may be, what belongs to whom, and what a merge or an apply makes of it.
//!
//! - [`Schema`] says what a value may be: [`validate()`], [`apply_defaults()`] and [`prune()`] do with a
//!   value what the API server does (it prunes, then defaults, then validates); [`findings()`] says what
//!   is wrong with a written document, at the line to edit.
//! - [`judge()`] is what the API server has to say of a write: all of that, what did not change tolerated,
//!   and the rules ([`Rule`], in CEL); [`rule_faults()`] says why a definition with rules is refused.
//! - [`FieldSet`] is a set of fields as managedFields keeps it; [`Types`] says how the lists and maps
//!   of a kind merge; [`compare`], [`remove`] and [`project`] work on values by fields.
//! - [`apply()`], [`create()`] and [`update()`] are server-side apply as a function.
//! - [`strategic`] and [`json_patch`] change values that know where they came from.
//!
//! In: plain JSON values, schemas, nodes. Out: plain values, violations, findings, field sets. It does
//! not know kinds, clusters, files, or how anything reaches an API server.

mod apply;
mod at;
mod cel;
mod codes;
mod defaults;
mod embedded;
mod faults;
mod fields;
mod findings;
mod formats;
pub mod json_patch;
mod limits;
mod lists;
mod nearest;
mod object_meta;
mod order;
mod overflow;
mod pattern;
mod prune;
mod ratchet;
mod reading;
pub mod strategic;
mod structural;
mod typed;
mod types;
mod unions;
mod uri;
mod validate;
mod verdict;
mod violation;
mod walk;
mod wording;

pub use apply::{
    Conflict, Endpoint, Ground, Managed, Operation, Refusal, Writer, apply, create, fits,
    fits_stored, update,
};
pub use cel::{Rule, RuleFaults, Unchecked, rule_faults};
pub use defaults::{apply_defaults, fill_defaults};
pub use faults::{structural_faults, unknown_formats};
pub use fields::{Element, FieldPath, FieldSet};
pub use findings::findings;
pub use nearest::nearest;
pub use object_meta::{OBJECT_META_SCHEMA, object_meta};
pub use overflow::overflows;
pub use pattern::compile as regular_expression;
pub use prune::prune;
pub use structural::{Additional, Bound, Checks, Count, ListKind, Pattern, Schema, Type};
pub use typed::{Comparison, compare, project, remove, zero_nulls};
pub use types::Types;
pub use validate::{Unknown, validate};
pub use verdict::{Verdict, judge, judge_stranger};
pub use violation::{Violation, ViolationKind};
pub use wording::{printed, value as shown};

#[cfg(test)]
mod tests;
