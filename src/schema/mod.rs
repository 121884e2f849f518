//! What a written document has wrong by its schema, and what a merge or a patch makes of it, with
//! every value still knowing the line it came from.
//!
//! - [`findings()`] reports what is wrong with a document, at the line to edit.
//! - [`Repair`] takes out what is wrong, so that the rest can be used.
//! - [`patterns`] names the patterns that schemas share.
//! - [`strategic`] and [`json_patch`] change values that know where they came from.
//!
//! In: schemas and nodes. Out: findings and nodes. It does not know kinds, clusters or files; plain
//! JSON values and schemas are the crate `kube-schema`'s.

mod advice;
mod findings;
pub mod json_patch;
mod misplaced;
pub mod patterns;
mod quick;
mod repair;
pub mod strategic;

pub use findings::{findings, is_misplaced, lacks_a_field, meant};
pub use kube_schema::nearest;
pub use repair::{Repair, rename};

#[cfg(test)]
mod tests;
