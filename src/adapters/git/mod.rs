//! Git in, notes and commits out: revisions of a repository as [`Tree`](crate::model::Tree)s.
//!
//! In: the address of a repository, or a directory. Out: its refs by name, the files of a fleet at
//! a commit, at the merge of two commits or in a directory, the text notes on commits, and new
//! commits on its branches. All of it blocks; callers in async code put it on a thread of its own.
//!
//! It does not know: YAML, checks, when to fetch, what a revision is for.

mod access;
mod address;
mod author;
mod branch;
mod checkout;
mod commit_object;
mod contents;
mod credential;
mod directories;
pub mod directory;
mod error;
#[cfg(test)]
mod fixture;
mod followed;
mod graph;
mod history;
mod hooks;
mod ignored;
mod local;
mod local_copy;
mod mentions;
mod merge;
mod mirror;
mod nearby;
mod new_file;
mod note_tree;
mod notes;
mod objects;
mod own_view;
mod push;
mod quarantine;
mod remote;
mod retained;
mod signature;
mod three_way;
mod tree_object;
mod verify;
mod walk;
mod wire;
mod working_copies;
mod working_copy;

pub use access::{Access, Patience, Proxy};
pub use address::{Reach, check_address, shown};
pub use author::{Author, Files};
pub use branch::{Branch, CommitMessage, Committer, Edit, Edits, NewCommit, Outcome};
pub use checkout::{Checkout, Revision};
pub use credential::{Authorization, Credential, CredentialSource};
pub use error::Error;
pub use followed::FollowedDirectory;
pub use history::{Commit, trailers};
pub use merge::Merged;
pub use mirror::{Fetched, Mirror, Ref, Refs};
pub use new_file::{CheckedOut, CommitFault};
pub use note_tree::{NoteEdit, Rewrite};
pub use quarantine::Quarantine;
pub use remote::ref_names;
pub use retained::RetainedRef;
pub use signature::{SignatureFault, Signer};
pub use verify::Trust;
pub use working_copy::WorkingCopy;
