//! What is asked for in a repository, and what is found there.
//!
//! In and out: names of refs and ids of commits. It does not know: how they are fetched.

use std::collections::BTreeMap;
use std::fmt;

use super::kept::Refs;
use crate::model::TagRange;

/// A revision, as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ref {
    /// The default branch.
    Head,
    /// A branch, by short name.
    Branch(String),
    /// A tag, by short name.
    Tag(String),
    /// The tag with the highest version in a range.
    Newest(TagRange),
    /// A commit, by id or by the first seven or more digits of it.
    Commit(String),
    /// Any fetched ref, by full name.
    Name(String),
}

impl fmt::Display for Ref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => f.write_str("default branch"),
            Self::Branch(name) => write!(f, "branch {name}"),
            Self::Tag(name) => write!(f, "tag {name}"),
            Self::Newest(range) => write!(f, "tag with a version in the range {range}"),
            Self::Commit(id) => write!(f, "commit {id}"),
            Self::Name(name) => write!(f, "ref {name}"),
        }
    }
}

/// What a look at a repository found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// The refs whose commits are here.
    pub refs: Refs,
    /// What strangers propose, which is not here: the refs that match the patterns of the mirror and are no branches,
    /// tags or notes, and the object that each points to. [`Mirror::bring`](super::Mirror::bring) brings it.
    pub strangers: BTreeMap<String, String>,
    /// The refs that were left out, and why.
    pub faults: BTreeMap<String, String>,
}
