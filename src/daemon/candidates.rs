//! Which commits get a plan check, and when.
//!
//! A candidate is a ref that matches one of the globs. It is planned merged onto the followed ref: when it
//! moves, and again when the base moves and the merged files differ; those that are there at the start,
//! when their check is missing or was made of other files. Newest first, in each [lane](Lane) one at a time, and a few
//! after each look at the repository, so that many open refs do not hold up what is pushed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use jiff::Timestamp;

use super::lanes::{Lane, Lanes};
use crate::adapters::git::Refs;

/// How many of the refs that are there at the start say that they wait: many of them may be of pull requests that were
/// closed long ago.
const MOST_ANNOUNCED: usize = 50;

/// A commit to plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    /// What its ref points to.
    pub(super) id: String,
    /// The commit that its check is about: the same, but for the test merge of a pull request the head that it merges.
    pub(super) commit: String,
    /// The id of the merged files that were last planned.
    pub(super) seen: Option<String>,
    /// Who pushed it, as far as that is known.
    pub(super) lane: Lane,
    /// Somebody asked for this plan.
    pub(super) is_wanted: bool,
    /// Tells this plan from others.
    pub(super) number: u64,
}

/// A ref that was there at the start.
pub(super) struct OpenRef {
    /// With what was last planned, by its check.
    pub(super) candidate: Candidate,
    /// When its commit was made.
    pub(super) at: Timestamp,
    /// Whether its check has ended.
    pub(super) is_checked: bool,
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
}

#[derive(Debug)]
pub(super) struct Candidates {
    globs: GlobSet,
    entries: BTreeMap<String, Entry>,
    base: Option<String>,
    moves: u64,
    lanes: Lanes,
}

impl Candidates {
    /// Of the refs that match one of `globs`.
    pub(super) fn new(globs: &[String]) -> Self {
        Self {
            globs: set(globs),
            entries: BTreeMap::new(),
            base: None,
            moves: 0,
            lanes: Lanes::default(),
        }
    }

    /// Takes in where the refs lead now and where the base is. Returns the refs that were there at the
    /// start, the first time: they are planned once they are [opened](Self::open).
    pub(super) fn update(&mut self, refs: &Refs, base: &str) -> Vec<Candidate> {
        let first = self.base.is_none();
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
                };
                self.entries.insert(name.clone(), entry);
            }
        }
        if base_moved {
            self.entries
                .values_mut()
                .filter(|entry| entry.is_open)
                .for_each(|entry| entry.waits = true);
        }
        let entries = self.entries.iter().filter(|_| first);
        entries.map(|(name, entry)| entry.candidate(name)).collect()
    }

    /// Of the refs that were there at the start, these are planned, unless their checks were made of the
    /// same files.
    pub(super) fn open(&mut self, refs: Vec<OpenRef>) {
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
    pub(super) fn unsorted(&self) -> Vec<Candidate> {
        let entries = self.entries.iter();
        let unsorted =
            entries.filter(|(_, entry)| entry.is_open && entry.waits && entry.lane.is_none());
        unsorted
            .map(|(name, entry)| entry.candidate(name))
            .collect()
    }

    /// Takes in who pushed these candidates.
    pub(super) fn sort(&mut self, sorted: &[Candidate]) {
        for candidate in sorted {
            let entry = self.entries.get_mut(&candidate.name);
            if let Some(entry) = entry.filter(|entry| entry.commit == candidate.commit) {
                entry.lane = Some(candidate.lane);
            }
        }
    }

    /// The test merge `candidate` is of the head `commit`, which somebody in `lane` pushed: its plan is still to be made.
    pub(super) fn resolve(&mut self, candidate: &Candidate, commit: &str, lane: Lane) {
        self.lanes.end(candidate.lane, candidate.number, false);
        let entry = self.entries.get_mut(&candidate.name);
        if let Some(entry) = entry.filter(|entry| entry.id == candidate.id) {
            entry.commit = commit.to_owned();
            (entry.lane, entry.waits) = (Some(lane), true);
        }
    }

    /// The newest candidate that waits and whose lane is free; branches come first.
    pub(super) fn next(&mut self) -> Option<Candidate> {
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
    pub(super) fn overdue(&mut self, candidate: &Candidate, gave_up: &str) -> bool {
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
    pub(super) fn again(&mut self, commit: &str) -> bool {
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
    pub(super) fn matching(&self, is: impl Fn(&str, Option<u64>) -> bool) -> BTreeSet<String> {
        let entries = self.entries.iter();
        let found = entries.filter(|(name, entry)| is(&entry.commit, number(name)));
        found.map(|(_, entry)| entry.commit.clone()).collect()
    }

    /// The commits that wait for a plan, and whose checks are to say so.
    pub(super) fn announced(&self) -> impl Iterator<Item = &String> {
        let entries = self.entries.iter().filter(|(name, entry)| {
            let is_known = entry.commit != entry.id || !is_test_merge(name);
            entry.is_open && entry.waits && entry.announced && is_known
        });
        entries.map(|(_, entry)| &entry.commit)
    }

    /// The commits that are planned, or were.
    pub(super) fn open_commits(&self) -> BTreeSet<&String> {
        let open = self.entries.values().filter(|entry| entry.is_open);
        open.map(|entry| &entry.commit).collect()
    }

    /// The commits that the known candidates lead to.
    pub(super) fn commits(&self) -> impl Iterator<Item = String> {
        self.entries.values().map(|entry| entry.commit.clone())
    }

    /// A plan was made of these merged files (`None` if they could not be merged); `true` when it is a new
    /// plan of a ref that still leads there.
    pub(super) fn planned(&mut self, candidate: &Candidate, merged: Option<&String>) -> bool {
        let is_new = merged.is_none() || candidate.seen.as_ref() != merged;
        self.lanes.end(candidate.lane, candidate.number, is_new);
        // A branch and the ref of its pull request lead to one commit, which has one check. Who wants it again waits
        // for the next plan.
        let same = |entry: &&mut Entry| entry.commit == candidate.commit && !entry.wanted;
        let mut is_change = false;
        for entry in self.entries.values_mut().filter(same) {
            is_change |= merged.is_none() || entry.seen.as_ref() != merged;
            entry.announced = false;
            entry.seen = merged.cloned();
        }
        is_change
    }

    /// The pull requests whose head this commit is, as far as refs say so, the newest first.
    pub(super) fn pull_requests(&self, commit: &str) -> impl Iterator<Item = u64> + use<> {
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
pub(super) fn is_test_merge(name: &str) -> bool {
    name.ends_with("/merge") && number(name).is_some()
}

/// Who pushed a ref, if its name says so: only somebody with the right to can push a branch.
fn lane_of(name: &str) -> Option<Lane> {
    name.starts_with("refs/heads/").then_some(Lane::Own)
}

/// The number of the pull request that a ref leads to the head of (facts/forges.md §6).
pub(super) fn number(name: &str) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::lanes::ROUND;

    fn refs(pairs: &[(&str, &str)]) -> Refs {
        pairs
            .iter()
            .map(|(name, commit)| ((*name).to_owned(), (*commit).to_owned()))
            .collect()
    }

    fn globs() -> Vec<String> {
        vec!["refs/heads/pr/*".to_owned()]
    }

    /// The next one, once it is known that somebody pushed it to a branch.
    fn next(candidates: &mut Candidates) -> Option<Candidate> {
        let unsorted = candidates.unsorted().into_iter();
        let sorted = unsorted.map(|candidate| Candidate {
            lane: Lane::Own,
            ..candidate
        });
        candidates.sort(&sorted.collect::<Vec<_>>());
        candidates.next()
    }

    fn done(candidates: &mut Candidates, candidate: &Candidate) -> bool {
        candidates.planned(candidate, Some(&"m1".to_owned()))
    }

    fn open(candidates: Vec<Candidate>, seen: Option<&str>) -> Vec<OpenRef> {
        let open = |(at, mut candidate): (i64, Candidate)| {
            candidate.seen = seen.map(str::to_owned);
            candidate.lane = Lane::Own;
            let at = Timestamp::from_second(-at).expect("in range");
            let is_checked = seen.is_some();
            OpenRef {
                candidate,
                at,
                is_checked,
            }
        };
        (0..).zip(candidates).map(open).collect()
    }

    #[test]
    fn what_was_there_at_the_start_is_planned_newest_first_after_what_is_new() {
        let mut candidates = Candidates::new(&globs());
        let old = [("refs/heads/pr/1", "1"), ("refs/heads/pr/2", "2")];
        let there = candidates.update(&refs(&old), "base");
        assert_eq!(there.len(), 2);
        assert_eq!(next(&mut candidates), None, "nothing is known of them");
        let more = [old[0], old[1], ("refs/heads/pr/3", "3")];
        assert_eq!(candidates.update(&refs(&more), "base"), []);
        candidates.open(open(there, Some("m1")));
        let mut order = Vec::new();
        while let Some(candidate) = next(&mut candidates) {
            let is_new = done(&mut candidates, &candidate);
            order.push((candidate.commit, candidate.seen.is_some(), is_new));
        }
        let order: Vec<_> = order
            .iter()
            .map(|(commit, seen, is_new)| (commit.as_str(), *seen, *is_new))
            .collect();
        let same = |commit| (commit, true, false);
        assert_eq!(order, [("3", false, true), same("1"), same("2")]);
    }

    #[test]
    fn what_moved_before_it_was_opened_is_planned_once() {
        let mut candidates = Candidates::new(&globs());
        let there = candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "base");
        candidates.open(open(there, None));
        let first = next(&mut candidates).expect("the new one");
        assert_eq!(first.commit, "2");
        done(&mut candidates, &first);
        assert_eq!(next(&mut candidates), None);
    }

    #[test]
    fn many_open_refs_are_planned_a_few_after_each_look_and_a_push_comes_first() {
        let names: Vec<(String, String)> = (0..50)
            .map(|at| (format!("refs/heads/pr/{at}"), at.to_string()))
            .collect();
        let mut all: Refs = names.into_iter().collect();
        let mut candidates = Candidates::new(&globs());
        let there = candidates.update(&all, "base");
        candidates.open(open(there, None));
        let round = |candidates: &mut Candidates| {
            let mut commits = Vec::new();
            while let Some(candidate) = next(candidates) {
                done(candidates, &candidate);
                commits.push(candidate.commit);
            }
            commits
        };
        assert_eq!(round(&mut candidates).len(), ROUND);
        all.insert("refs/heads/pr/new".to_owned(), "new".to_owned());
        candidates.update(&all, "base");
        let second = round(&mut candidates);
        assert_eq!((second.len(), second[0].as_str()), (ROUND, "new"));
        candidates.update(&all, "base");
        assert_eq!(round(&mut candidates).len(), 11);
    }

    #[test]
    fn the_number_of_a_pull_request_is_in_its_ref() {
        for (name, expected) in [
            ("refs/pull/7/head", Some(7)),
            ("refs/merge-requests/12/head", Some(12)),
            ("refs/pull-requests/3/from", Some(3)),
            ("refs/pull/7/merge", Some(7)),
            ("refs/pull/x/head", None),
            ("refs/heads/pr/7", None),
            ("refs/heads/pull/7/head", None),
        ] {
            assert_eq!(number(name), expected, "{name}");
        }
    }

    #[test]
    fn a_branch_and_its_pull_request_are_planned_once_and_have_its_number() {
        let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
        let mut candidates = Candidates::new(&globs);
        candidates.update(&refs(&[]), "base");
        let both = [("refs/heads/pr/a", "1"), ("refs/pull/7/head", "1")];
        candidates.update(&refs(&both), "base");
        let first = next(&mut candidates).expect("one waits");
        assert!(done(&mut candidates, &first));
        let second = next(&mut candidates).expect("the other ref");
        assert_eq!(second.seen.as_deref(), Some("m1"), "its plan is known");
        assert!(!done(&mut candidates, &second));
        assert!(candidates.pull_requests("1").eq([7]));
        assert_eq!(candidates.pull_requests("2").count(), 0);
    }

    #[test]
    fn a_head_has_all_of_its_pull_requests_and_each_once() {
        let globs = ["refs/pull/*/*"].map(str::to_owned);
        let mut candidates = Candidates::new(&globs);
        let names = ["9/merge", "10/head", "10/merge", "11/merge"];
        let names = names.map(|name| format!("refs/pull/{name}"));
        candidates.update(&names.map(|name| (name, "1".to_owned())).into(), "base");
        assert!(candidates.pull_requests("1").eq([11, 10, 9]));
    }

    #[test]
    fn who_has_no_check_yet_says_that_it_waits_and_of_old_refs_the_newest_do() {
        let names: Vec<(String, String)> = (10..99)
            .map(|at| (format!("refs/heads/pr/{at}"), at.to_string()))
            .collect();
        let mut all: Refs = names.into_iter().collect();
        let mut candidates = Candidates::new(&globs());
        let there = candidates.update(&all, "base");
        assert_eq!(
            candidates.announced().count(),
            0,
            "nothing is known of them"
        );
        let mut there = open(there, None);
        there[0].is_checked = true;
        candidates.open(there);
        let waiting: Vec<&str> = candidates.announced().map(String::as_str).collect();
        assert_eq!(waiting.len(), MOST_ANNOUNCED);
        assert_eq!((waiting[0], waiting[49]), ("11", "60"));
        // Another ref of a commit that has a plan, and a new commit.
        let first = next(&mut candidates).expect("one waits");
        done(&mut candidates, &first);
        all.insert("refs/heads/pr/same".to_owned(), first.commit.clone());
        all.insert("refs/heads/pr/new".to_owned(), "new".to_owned());
        candidates.update(&all, "base");
        let waiting: Vec<&String> = candidates.announced().collect();
        assert!(!waiting.contains(&&first.commit) && waiting.contains(&&"new".to_owned()));
        assert!(candidates.again(&first.commit));
        assert!(candidates.announced().any(|commit| *commit == first.commit));
    }

    #[test]
    fn news_come_newest_first() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[("refs/heads/pr/old", "1")]), "base");
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
        let first = next(&mut candidates).expect("one waits");
        assert_eq!(first.commit, "3");
        assert_eq!(next(&mut candidates), None, "one at a time");
        assert!(done(&mut candidates, &first));
        assert_eq!(next(&mut candidates).expect("the other").commit, "2");
    }

    #[test]
    fn a_moved_base_plans_again_and_the_same_files_are_no_news() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = next(&mut candidates).expect("one waits");
        done(&mut candidates, &first);
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base2");
        let again = next(&mut candidates).expect("again");
        assert_eq!(again.seen.as_deref(), Some("m1"));
        assert!(!done(&mut candidates, &again));
    }

    #[test]
    fn a_candidate_that_was_merged_is_no_candidate_any_more() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = next(&mut candidates).expect("one waits");
        done(&mut candidates, &first);
        candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "2");
        assert_eq!(next(&mut candidates), None);
        assert_eq!(candidates.commits().count(), 0);
    }

    #[test]
    fn a_ref_that_moved_on_meanwhile_is_not_told_about_its_old_commit() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = next(&mut candidates).expect("one waits");
        candidates.update(&refs(&[("refs/heads/pr/a", "2")]), "base");
        assert!(!done(&mut candidates, &first));
        assert_eq!(next(&mut candidates).expect("the new one").commit, "2");
    }
    #[test]
    fn who_asks_for_a_plan_again_gets_it_although_nothing_changed() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        candidates.update(&refs(&[("refs/heads/pr/a", "1")]), "base");
        let first = next(&mut candidates).expect("one waits");
        assert!(!candidates.again("2"));
        assert!(done(&mut candidates, &first));
        assert!(candidates.again("1"));
        let again = next(&mut candidates).expect("again");
        assert_eq!(again.seen, None);
        assert!(done(&mut candidates, &again), "it is written again");
    }

    #[test]
    fn who_asks_for_a_plan_while_one_is_made_gets_the_next() {
        let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
        let mut candidates = Candidates::new(&globs);
        candidates.update(&refs(&[]), "base");
        let both = refs(&[("refs/heads/pr/a", "1"), ("refs/pull/7/head", "1")]);
        candidates.update(&both, "base");
        while let Some(candidate) = next(&mut candidates) {
            done(&mut candidates, &candidate);
        }
        candidates.update(&both, "base2");
        let under_way = next(&mut candidates).expect("the base moved");
        assert!(candidates.again("1"));
        assert!(!done(&mut candidates, &under_way));
        let waiting: Vec<&String> = candidates.announced().collect();
        assert_eq!(waiting, ["1", "1"]);
        let again = next(&mut candidates).expect("again");
        assert_eq!(again.seen, None);
        assert!(done(&mut candidates, &again), "it is written again");
        let other = next(&mut candidates).expect("the other ref");
        assert!(!done(&mut candidates, &other), "once");
        assert_eq!(next(&mut candidates), None);
    }

    #[test]
    fn forks_and_branches_do_not_wait_for_each_other() {
        let globs = ["refs/heads/pr/*", "refs/pull/*/head"].map(str::to_owned);
        let mut candidates = Candidates::new(&globs);
        candidates.update(&refs(&[]), "base");
        let both = refs(&[("refs/heads/pr/a", "1"), ("refs/pull/7/head", "2")]);
        candidates.update(&both, "base");
        let own = candidates.next().expect("a branch");
        assert_eq!((own.lane, own.commit.as_str()), (Lane::Own, "1"));
        assert_eq!(candidates.next(), None, "nobody knows who pushed it");
        let unsorted = candidates.unsorted();
        assert_eq!(unsorted.len(), 1);
        candidates.sort(&unsorted);
        let fork = candidates
            .next()
            .expect("the fork's, while the other is planned");
        assert_eq!((fork.lane, fork.commit.as_str()), (Lane::Fork, "2"));
        assert_eq!(candidates.unsorted(), []);
        assert!(done(&mut candidates, &fork) && done(&mut candidates, &own));
    }

    #[test]
    fn a_plan_that_takes_too_long_is_not_made_again_until_its_head_moves_or_somebody_asks() {
        let mut candidates = Candidates::new(&globs());
        candidates.update(&refs(&[]), "base");
        let both = refs(&[("refs/heads/pr/a", "1"), ("refs/heads/pr/b", "2")]);
        candidates.update(&both, "base");
        let slow = candidates.next().expect("one waits");
        assert!(candidates.overdue(&slow, "limited"));
        assert!(!candidates.overdue(&slow, "limited"), "once");
        let other = candidates.next().expect("the other");
        assert_ne!(slow.commit, other.commit);
        done(&mut candidates, &other);
        candidates.update(&both, "base2");
        let again = std::iter::from_fn(|| {
            let next = candidates.next()?;
            done(&mut candidates, &next);
            Some(next)
        });
        let again: Vec<Candidate> = again.filter(|next| next.commit == slow.commit).collect();
        assert_eq!(
            again[0].seen.as_deref(),
            Some("limited"),
            "who plans it sees that"
        );
        assert!(candidates.again(&slow.commit));
        let wanted = candidates.next().expect("somebody asked");
        assert!(wanted.is_wanted && wanted.seen.is_none());
    }

    #[test]
    fn a_test_merge_is_planned_for_the_head_that_it_merges() {
        let mut candidates = Candidates::new(&["refs/pull/*/merge".to_owned()]);
        candidates.update(&refs(&[]), "base");
        let merge = refs(&[("refs/pull/7/merge", "merge")]);
        candidates.update(&merge, "base");
        assert_eq!(candidates.announced().count(), 0, "nobody knows its head");
        let unsorted = candidates.unsorted();
        candidates.sort(&unsorted);
        let unresolved = candidates.next().expect("one waits");
        candidates.resolve(&unresolved, "head", Lane::Own);
        assert!(candidates.announced().eq(["head"]));
        let head = candidates.next().expect("its head");
        assert_eq!((head.commit.as_str(), head.id.as_str()), ("head", "merge"));
        assert_eq!(head.lane, Lane::Own);
        assert!(done(&mut candidates, &head));
        assert!(candidates.pull_requests("head").eq([7]));
        assert_eq!(candidates.update(&merge, "base"), []);
        assert_eq!(candidates.next(), None, "it has not moved");
    }
}
