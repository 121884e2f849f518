//! Checks in the form that each place for them understands.
//!
//! In: [`Check`](crate::model::Check)s. Out: the text of a note.
//! All of it is values; it does not know how the text reaches the repository.

pub mod azure_devops;
// The suite has the same fakes behind a real port.
#[cfg(test)]
#[path = "../../../tests/suite/forges/fake/mod.rs"]
pub(crate) mod fake;
pub mod forge;
mod git_notes;
pub mod github;
mod lines;
pub mod text;

pub use git_notes::{NOTES_REF, read, rewrite};
