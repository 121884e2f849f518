//! Which commits get a plan check, and when.
//!
//! A candidate is a ref that matches one of the globs. It is planned merged onto the followed ref: when it
//! moves, and again when the base moves and the merged files differ; those that are there at the start,
//! when their check is missing or was made of other files. Newest first, in each [lane](Lane) one at a time, and a few
//! after each look at the repository, so that many open refs do not hold up what is pushed meanwhile.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::Timestamp;

use crate::follow::lanes::{Lane, Lanes};

/// How many of the refs that are there at the start say that they wait: many of them may be of pull requests that were
/// closed long ago.
const MOST_ANNOUNCED: usize = 50;

/// A commit to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// What its ref points to.
    pub(crate) id: String,
    /// The commit that its check is about: the same, but for the test merge of a pull request the head that it merges.
    pub(crate) commit: String,
    /// The id of the merged files that were last planned.
    pub(crate) seen: Option<String>,
    /// Who pushed it, as far as that is known.
    pub(crate) lane: Lane,
    /// Somebody asked for this plan.
    pub(crate) is_wanted: bool,
    /// Tells this plan from others.
    pub(crate) number: u64,
}

/// A ref that was there at the start.
pub(crate) struct OpenRef {
    /// With what was last planned, by its check.
    pub(crate) candidate: Candidate,
    /// When its commit was made.
    pub(crate) at: Timestamp,
    /// Whether its check has ended.
    pub(crate) is_checked: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    /// What its ref points to.
    id: String,
    commit: String,
    /// How many moves there were before its last one, and when its commit was made if it was there at
    /// the start; larger is newer.
    moved: (u64, Timestamp),
    /// Whether it is planned when the base moves: not before it is known of a ref that was there at the
    /// start.
    is_open: bool,
    waits: bool,
    /// Whether its check is to say that it waits.
    announced: bool,
    /// Somebody wants another plan, and none has begun since: the one under way may be of what was there before.
    wanted: bool,
    /// The id of the merged files that were last planned.
    seen: Option<String>,
    /// Who pushed it, once that is known.
    lane: Option<Lane>,
    /// How often in a row it could not be planned for a reason that may pass.
    failures: u32,
}

#[derive(Debug)]
pub(crate) struct Candidates {
    globs: GlobSet,
    entries: BTreeMap<String, Entry>,
    base: Option<String>,
    moves: u64,
    lanes: Lanes,
}

impl Candidates {
    /// Of the refs that match one of `globs`.
    pub(crate) fn new(globs: &[String]) -> Self {
        Self {
            globs: set(globs),
            entries: BTreeMap::new(),
            base: None,
            moves: 0,
            lanes: Lanes::default(),
        }
    }

    /// Returns true if it is not known yet where the refs lead.
    pub(crate) const fn is_new(&self) -> bool {
        self.base.is_none()
    }

    /// Takes in where the refs lead now and where the base is. Returns the refs that were there at the
    /// start, the first time: they are planned once they are [opened](Self::open).
    pub(crate) fn update(&mut self, refs: &BTreeMap<String, String>, base: &str) -> Vec<Candidate> {
        let first = self.is_new();
        let base_moved = self.base.as_deref() != Some(base);
        self.base = Some(base.to_owned());
        self.lanes.looked();
        // What is gone, or was merged, is no candidate any more.
        self.entries
            .retain(|name, _| refs.get(name).is_some_and(|id| id != base));
        let Self { globs, .. } = self;
        let matching = |(name, commit): &(&String, &String)| {
            globs.is_match(name.as_str()) && commit.as_str() != base
        };
        let matching: Vec<(&String, &String)> = refs.iter().filter(matching).collect();
        for (name, commit) in matching {
            let known = self
                .entries
                .get(name)
                .is_some_and(|entry| entry.id == *commit);
            if !known {
                self.moves += u64::from(!first);
                let has_plan = |entry: &Entry| entry.commit == *commit && !entry.announced;
                let has_plan = !first && self.entries.values().any(has_plan);
                let entry = Entry {
                    id: commit.clone(),
                    commit: commit.clone(),
                    moved: (self.moves, Timestamp::UNIX_EPOCH),
                    is_open: !first,
                    waits: !first,
                    announced: !has_plan,
                    wanted: false,
                    seen: None,
                    lane: lane_of(name),
                    failures: 0,
                };
                self.entries.insert(name.clone(), entry);
            }
        }
        if base_moved {
            self.all_again();
        }
        let entries = self.entries.iter().filter(|_| first);
        entries.map(|(name, entry)| entry.candidate(name)).collect()
    }

    /// What the plans of all candidates are made of has changed.
    pub(crate) fn all_again(&mut self) {
        let entries = self.entries.values_mut();
        entries
            .filter(|entry| entry.is_open)
            .for_each(|entry| entry.waits = true);
    }

    /// Of the refs that were there at the start, these are planned, unless their checks were made of the
    /// same files.
    pub(crate) fn open(&mut self, refs: Vec<OpenRef>) {
        let mut room = MOST_ANNOUNCED;
        for open in refs {
            let (candidate, at) = (open.candidate, open.at);
            let entry = self.entries.get_mut(&candidate.name);
            let entry = entry.filter(|entry| entry.commit == candidate.commit && !entry.is_open);
            if let Some(entry) = entry {
                (entry.is_open, entry.waits) = (true, true);
                entry.announced = !open.is_checked && room > 0;
                room -= usize::from(entry.announced);
                (entry.moved.1, entry.seen) = (at, candidate.seen);
                entry.lane = Some(candidate.lane);
            }
        }
    }

    /// The candidates that wait, and of which it is not known who pushed them.
    pub(crate) fn unsorted(&self) -> Vec<Candidate> {
        let entries = self.entries.iter();
        let unsorted =
            entries.filter(|(_, entry)| entry.is_open && entry.waits && entry.lane.is_none());
        unsorted
            .map(|(name, entry)| entry.candidate(name))
            .collect()
    }

    /// Takes in who pushed these candidates.
    pub(crate) fn sort(&mut self, sorted: &[Candidate]) {
        for candidate in sorted {
            let entry = self.entries.get_mut(&candidate.name);
            if let Some(entry) = entry.filter(|entry| entry.commit == candidate.commit) {
                entry.lane = Some(candidate.lane);
            }
        }
    }

    /// The test merge `candidate` is of the head `commit`, which somebody in `lane` pushed: its plan is still to be made.
    pub(crate) fn resolve(&mut self, candidate: &Candidate, commit: &str, lane: Lane) {
        self.lanes.end(candidate.lane, candidate.number, false);
        let entry = self.entries.get_mut(&candidate.name);
        if let Some(entry) = entry.filter(|entry| entry.id == candidate.id) {
            entry.commit = commit.to_owned();
            (entry.lane, entry.waits) = (Some(lane), true);
        }
    }

    /// The newest candidate that waits and whose lane is free; branches come first.
    pub(crate) fn next(&mut self) -> Option<Candidate> {
        let next = self.next_in(Lane::Own);
        next.or_else(|| self.next_in(Lane::Fork))
    }

    fn next_in(&mut self, lane: Lane) -> Option<Candidate> {
        if !self.lanes.is_free(lane) {
            return None;
        }
        let (name, entry) = self
            .entries
            .iter_mut()
            .filter(|(_, entry)| entry.waits && entry.lane == Some(lane))
            .max_by_key(|(_, entry)| entry.moved)?;
        entry.waits = false;
        let candidate = Candidate {
            number: self.lanes.begin(lane),
            ..entry.candidate(name)
        };
        // One plan is for all refs that lead to its commit.
        for entry in self.entries.values_mut() {
            entry.wanted &= entry.commit != candidate.commit;
        }
        Some(candidate)
    }

    /// The plan of this candidate takes too long: the next one does not wait for it. Returns true if it has not ended.
    /// It is not planned again before it moves, or somebody asks; `gave_up` stands for what it was made of.
    pub(crate) fn overdue(&mut self, candidate: &Candidate, gave_up: &str) -> bool {
        if !self.lanes.overdue(candidate.lane, candidate.number) {
            return false;
        }
        let same = |entry: &&mut Entry| entry.commit == candidate.commit && !entry.wanted;
        let mut is_change = false;
        for entry in self.entries.values_mut().filter(same) {
            (entry.announced, entry.seen) = (false, Some(gave_up.to_owned()));
            is_change = true;
        }
        is_change
    }

    /// The candidates that lead to `commit` are planned again, also if the merged files are the same;
    /// `true` if there are any.
    pub(crate) fn again(&mut self, commit: &str) -> bool {
        let entries = self.entries.values_mut();
        let mut any = false;
        // Also an old one that is not planned by itself.
        for entry in entries.filter(|entry| entry.commit == commit) {
            (entry.is_open, entry.waits, entry.announced) = (true, true, true);
            (entry.seen, entry.wanted, any) = (None, true, true);
            entry
                .lane
                .into_iter()
                .for_each(|lane| self.lanes.extend(lane));
        }
        any
    }

    /// The commits among the candidates that `is` says yes to, of each with the number of its pull request.
    pub(crate) fn matching(&self, is: impl Fn(&str, Option<u64>) -> bool) -> BTreeSet<String> {
        let entries = self.entries.iter();
        let found = entries.filter(|(name, entry)| is(&entry.commit, number(name)));
        found.map(|(_, entry)| entry.commit.clone()).collect()
    }

    /// The commits that wait for a plan, and whose checks are to say so.
    pub(crate) fn announced(&self) -> impl Iterator<Item = &String> {
        let entries = self.entries.iter().filter(|(name, entry)| {
            let is_known = entry.commit != entry.id || !is_test_merge(name);
            entry.is_open && entry.waits && entry.announced && is_known
        });
        entries.map(|(_, entry)| &entry.commit)
    }

    /// The commits that are planned, or were.
    pub(crate) fn open_commits(&self) -> BTreeSet<&String> {
        let open = self.entries.values().filter(|entry| entry.is_open);
        open.map(|entry| &entry.commit).collect()
    }

    /// The commits that the known candidates lead to.
    pub(crate) fn commits(&self) -> impl Iterator<Item = String> {
        self.entries.values().map(|entry| entry.commit.clone())
    }

    /// A plan was made of these merged files (`None` if they could not be merged); `true` when it is a new
    /// plan of a ref that still leads there.
    pub(crate) fn planned(&mut self, candidate: &Candidate, merged: Option<&String>) -> bool {
        let is_new = merged.is_none() || candidate.seen.as_ref() != merged;
        self.lanes.end(candidate.lane, candidate.number, is_new);
        // A branch and the ref of its pull request lead to one commit, which has one check. Who wants it again waits
        // for the next plan.
        let same = |entry: &&mut Entry| entry.commit == candidate.commit && !entry.wanted;
        let mut is_change = false;
        for entry in self.entries.values_mut().filter(same) {
            // Nothing is new of what another plan, which took too long, has changed meanwhile.
            if !is_new && entry.seen != candidate.seen {
                entry.waits = true;
                continue;
            }
            is_change |= merged.is_none() || entry.seen.as_ref() != merged;
            entry.announced = false;
            entry.seen = merged.cloned();
        }
        is_change
    }

    /// A plan of this candidate ended, and could not be made if `is_passing`, for a reason that may pass. Returns how
    /// often in a row that was so; 0 if it leads elsewhere by now, or waits anyway.
    pub(crate) fn failed(&mut self, candidate: &Candidate, is_passing: bool) -> u32 {
        let entry = self.entries.get_mut(&candidate.name);
        let Some(entry) = entry.filter(|entry| entry.id == candidate.id) else {
            return 0;
        };
        entry.failures = match is_passing {
            true => entry.failures.saturating_add(1),
            false => 0,
        };
        match entry.waits {
            true => 0,
            false => entry.failures,
        }
    }

    /// This candidate is planned again, unless it leads elsewhere by now or was planned meanwhile.
    pub(crate) fn retry(&mut self, candidate: &Candidate) {
        let entry = self.entries.get_mut(&candidate.name);
        let entry = entry.filter(|entry| entry.id == candidate.id && entry.failures > 0);
        if let Some(entry) = entry {
            entry.waits = true;
        }
    }

    /// The pull requests whose head this commit is, as far as refs say so, the newest first.
    pub(crate) fn pull_requests(&self, commit: &str) -> impl Iterator<Item = u64> + use<> {
        let entries = self.entries.iter();
        let same = entries.filter(|(_, entry)| entry.commit == commit);
        let numbers: BTreeSet<u64> = same.filter_map(|(name, _)| number(name)).collect();
        numbers.into_iter().rev()
    }
}

impl Entry {
    fn candidate(&self, name: &str) -> Candidate {
        Candidate {
            name: name.to_owned(),
            id: self.id.clone(),
            commit: self.commit.clone(),
            seen: self.seen.clone(),
            lane: self.lane.unwrap_or(Lane::Fork),
            is_wanted: self.wanted,
            number: 0,
        }
    }
}

/// Returns true for a merge that the forge made to see whether a pull request has conflicts.
pub(crate) fn is_test_merge(name: &str) -> bool {
    name.ends_with("/merge") && number(name).is_some()
}

/// Who pushed a ref, if its name says so: only somebody with the right to can push a branch.
fn lane_of(name: &str) -> Option<Lane> {
    name.starts_with("refs/heads/").then_some(Lane::Own)
}

/// The number of the pull request that a ref leads to the head of (facts/forges.md §6).
pub(crate) fn number(name: &str) -> Option<u64> {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        ["refs", "pull" | "merge-requests", number, "head"]
        | ["refs", "pull", number, "merge"]
        | ["refs", "pull-requests", number, "from"] => number.parse().ok(),
        _ => None,
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
