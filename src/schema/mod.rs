//! What a value may be, what belongs to whom, and what an apply makes of it.
//!
//! - [`Schema`] says what a value may be: [`validate`], [`apply_defaults`] and [`prune`] do with a
//!   value what the API server does.
//! - [`FieldSet`] is a set of fields as managedFields keeps it.
//!
//! In: plain JSON values and schemas. Out: plain values, violations, field sets. It does not know
//! kinds, clusters, files, or how anything reaches an API server.

mod apply;
mod defaults;
mod embedded;
mod fields;
mod formats;
mod limits;
mod lists;
mod nearest;
mod order;
mod pattern;
mod prune;
mod reading;
mod structural;
mod typed;
mod types;
mod unions;
mod validate;
mod violation;
mod wording;

pub use apply::{Conflict, Endpoint, Managed, Operation, Refusal, Writer, apply, update};
pub use defaults::apply_defaults;
pub use fields::{Element, FieldPath, FieldSet};
pub use nearest::nearest;
pub use prune::prune;
pub use structural::{Additional, Bound, Checks, Count, ListKind, Pattern, Schema, Type};
pub use typed::{Comparison, compare, project, remove};
pub use types::Types;
pub use validate::{Unknown, validate};
pub use violation::{Violation, ViolationKind};
