//! Which commits get a plan check, and when.
//!
//! A candidate is a ref that changed since the start and matches one of the globs. It is planned
//! merged onto the followed ref: when it moves, and again when the base moves and the merged files
//! differ. Newest first, one at a time.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::adapters::git::Refs;

/// A commit to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) commit: String,
    /// The id of the merged files that were last planned.
    pub(super) seen: Option<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    commit: String,
    /// When it last moved; larger is newer.
    moved: u64,
    changed: bool,
    waits: bool,
    /// The id of the merged files that were last planned.
    seen: Option<String>,
}

#[derive(Debug)]
pub(super) struct Candidates {
    globs: GlobSet,
    entries: BTreeMap<String, Entry>,
    base: Option<String>,
    moves: u64,
    busy: bool,
}

impl Candidates {
    /// Of the refs that match one of `globs`.
    pub(super) fn new(globs: &[String]) -> Self {
        Self {
            globs: set(globs),
            entries: BTreeMap::new(),
            base: None,
            moves: 0,
            busy: false,
        }
    }

    /// Takes in where the refs lead now and where the base is.
    pub(super) fn update(&mut self, refs: &Refs, base: &str) {
        let first = self.base.is_none();
        let base_moved = self.base.as_deref() != Some(base);
        self.base = Some(base.to_owned());
        // What is gone, or was merged, is no candidate any more.
        self.entries
            .retain(|name, _| refs.get(name).is_some_and(|commit| commit != base));
        let Self { globs, .. } = self;
        let matching = |(name, commit): &(&String, &String)| {
            globs.is_match(name.as_str()) && commit.as_str() != base
        };
        let matching: Vec<(&String, &String)> = refs.iter().filter(matching).collect();
        for (name, commit) in matching {
            let known = self
                .entries
                .get(name)
                .is_some_and(|entry| entry.commit == *commit);
            if !known {
                self.moves += 1;
                let (changed, seen) = (!first, None);
                let entry = Entry {
                    commit: commit.clone(),
                    moved: self.moves,
                    changed,
                    waits: changed,
                    seen,
                };
                self.entries.insert(name.clone(), entry);
            }
        }
        if base_moved {
            self.entries
                .values_mut()
                .filter(|entry| entry.changed)
                .for_each(|entry| entry.waits = true);
        }
    }

    /// The newest candidate that waits, unless another is being planned.
    pub(super) fn next(&mut self) -> Option<Candidate> {
        if self.busy {
            return None;
        }
        let (name, entry) = self
            .entries
            .iter_mut()
            .filter(|(_, entry)| entry.waits)
            .max_by_key(|(_, entry)| entry.moved)?;
        entry.waits = false;
        self.busy = true;
        Some(Candidate {
            name: name.clone(),
            commit: entry.commit.clone(),
            seen: entry.seen.clone(),
        })
    }

    /// The commits that the known candidates lead to.
    pub(super) fn commits(&self) -> impl Iterator<Item = String> {
        self.entries.values().map(|entry| entry.commit.clone())
    }

    /// A plan was made of these merged files (`None` if they could not be merged); `true` when it is a new
    /// plan of a ref that still leads there.
    pub(super) fn planned(&mut self, candidate: &Candidate, merged: Option<&String>) -> bool {
        self.busy = false;
        match self.entries.get_mut(&candidate.name) {
            Some(entry) if entry.commit == candidate.commit => {
                let is_change = merged.is_none() || entry.seen.as_ref() != merged;
                entry.seen = merged.cloned();
                is_change
            }
            _ => false,
        }
    }
}

/// `*` stays within one part of a ref's name. A glob that makes no sense matches nothing.
fn set(globs: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        match GlobBuilder::new(glob).literal_separator(true).build() {
            Ok(glob) => {
                builder.add(glob);
            }
            Err(error) => tracing::warn!(%error, "ignoring an invalid ref pattern"),
        }
    }
    builder.build().unwrap_or_else(|_| GlobSet::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refs(pairs: &[(&str, &str)]) -> Refs {
        pairs
            .iter()
            .map(|(name, commit)| ((*name).to_owned(), (*commit).to_owned()))
            .collect()
    }

    fn globs() -> Vec<String> {
        vec!["refs/heads/pr/*".to_owned()]
    }

    fn done(candidates: &mut Candidates, candidate: &Candidate) -> bool {
        candidates.planned(candidate, Some(&"m1".to_owned()))
    }

    #[test]
    fn what_was_there_at_the_start_is_left_alone_and_news_come_newest_first() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[("refs/heads/pr/old", "1")]), "base");
        assert_eq!(candidates.next(), None);
        candidates.update(
            &refs(&[
                ("refs/heads/pr/old", "1"),
                ("refs/heads/pr/a", "2"),
                ("refs/heads/other", "9"),
            ]),
            "base",
        );
        candidates.update(
            &refs(&[("refs/heads/pr/old", "3"), ("refs/heads/pr/a", "2")]),
            "base",
        );
        let first = candidates.next().expect("one waits");
        assert_eq!(first.commit, "3");
        assert_eq!(candidates.next(), None, "one at a time");
        assert!(done(&mut candidates, &first));
        assert_eq!(candidates.next().expect("the other").commit, "2");
    }

    #[test]
    fn a_moved_base_plans_again_and_the_same_files_are_no_news() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = candidates.next().expect("one waits");
        done(&mut candidates, &first);
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base2");
        let again = candidates.next().expect("again");
        assert_eq!(again.seen.as_deref(), Some("m1"));
        assert!(!done(&mut candidates, &again));
    }

    #[test]
    fn a_candidate_that_was_merged_is_no_candidate_any_more() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = candidates.next().expect("one waits");
        done(&mut candidates, &first);
        candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "2");
        assert_eq!(candidates.next(), None);
        assert_eq!(candidates.commits().count(), 0);
    }

    #[test]
    fn a_ref_that_moved_on_meanwhile_is_not_told_about_its_old_commit() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = candidates.next().expect("one waits");
        candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "base");
        assert!(!done(&mut candidates, &first));
        assert_eq!(candidates.next().expect("the new one").commit, "2");
    }
}
