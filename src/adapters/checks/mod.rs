//! Checks in the form that each place for them understands.
//!
//! In: [`Check`](crate::model::Check)s. Out: the text of a note, and when it is time to write one.
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
mod throttle;

pub use git_notes::{NOTES_REF, read, rewrite};
pub use throttle::{Due, Throttle};
