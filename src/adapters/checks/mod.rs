//! Checks out: what a commit is told, in the form its home understands.
//!
//! In: [`Check`](crate::model::Check)s. Out: the text of a note.
//! All of it is values; who carries the text to the repository is not known here.

mod git_notes;

pub use git_notes::{NOTES_REF, read, rewrite};
