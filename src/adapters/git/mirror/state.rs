//! What a mirror remembers from one look at the other side to the next.

use std::collections::BTreeMap;

use git2::Oid;

use super::reference::{Fetched, Ref};
use super::selection::Selection;

/// How many refs are named in the log after one look.
const MOST_WARNINGS: usize = 20;

/// What is remembered from one look to the next.
#[derive(Debug, Default)]
pub(in crate::adapters::git) struct State {
    pub(super) seen: Option<Seen>,
    /// What was said of refs that are left out.
    warned: BTreeMap<String, String>,
    /// The objects that could not be brought, for how many looks they are left alone, and why.
    pub(super) failed: BTreeMap<Oid, (u32, String)>,
}

/// What the other side had when all of it was fetched.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) followed: Ref,
    pub(super) selection: Selection,
    pub(super) fetched: Fetched,
}

impl State {
    /// The next look fetches all that is new, whatever was seen.
    pub(super) fn forget(&mut self) {
        self.seen = None;
    }

    /// Says what is wrong with refs, each thing once.
    pub(super) fn warn(&mut self, faults: &BTreeMap<String, String>) {
        let mut room = MOST_WARNINGS;
        for (name, fault) in faults {
            if room > 0 && self.warned.get(name) != Some(fault) {
                let reference = name.escape_debug();
                tracing::warn!(%reference, error = fault, "this ref of the repository is left out");
                room -= 1;
            }
        }
        self.warned.clone_from(faults);
    }
}
