//! How the commits came in whose messages approve something, as far as the forge has said.
//!
//! In: commits, and the sink to ask. Out: an answer, or why there is none yet. What is known is kept for as long as the
//! process runs; what is not is asked again by whoever drives this. A commit that the forge lists no pull request with is
//! the repository's own if that holds a moment later: a forge updates the branch before it notes the merge. Without a
//! forge that knows pull requests, every commit is the repository's own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::model::{CheckSink, CommitSource};

/// How many commits are asked for at once, and how long that may take while something waits for the answers.
const MOST_ASKED: usize = 20;
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the question for one commit may take while nothing waits: a forge may have to list many pull requests.
const PATIENCE_ALONE: Duration = Duration::from_secs(20);
/// How long a forge may take to note a merge after it updated the branch.
const SETTLING: Duration = Duration::from_secs(15);
/// How many answers are kept.
const MOST_KNOWN: usize = 10_000;

/// What is said of a commit that nobody was asked for yet.
const UNASKED: &str = "the forge has not answered yet";
/// What is said of a commit that the forge takes too long for.
const SLOW: &str = "the forge did not answer within 20 seconds";
/// What is said of a commit that may have been pushed.
const UNLISTED: &str = "the forge lists no pull request with it; if that holds a moment later, somebody pushed it, and the line counts";

/// What an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A deletion, which is for good.
    Apply,
    /// The plan of a branch, whose commits nobody merged yet.
    Plan,
}

/// See the module.
#[derive(Default)]
pub(in crate::daemon) struct Attribution {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Who is asked; nobody without a forge.
    sink: Option<Arc<dyn CheckSink>>,
    known: BTreeMap<String, CommitSource>,
    /// The commits that the forge lists no pull request with, and since when.
    unlisted: BTreeMap<String, Instant>,
    /// The commits without an answer, and why.
    wanted: BTreeMap<String, String>,
    /// The commit that was asked for last: others come first next time.
    last: String,
    /// The candidates whose plans lack answers, and the commits of those.
    plans: BTreeMap<String, BTreeSet<String>>,
}

impl Attribution {
    /// From now on, this sink is asked.
    pub(in crate::daemon) fn ask_at(&self, sink: Arc<dyn CheckSink>) {
        self.state().sink = Some(sink);
    }

    /// The answer for a commit, or why there is none yet.
    pub(super) fn answer(&self, commit: &str, purpose: Purpose) -> Result<CommitSource, String> {
        let state = self.state();
        if state.sink.is_none() {
            return Ok(CommitSource::Own);
        }
        if purpose == Purpose::Plan && state.unlisted.contains_key(commit) {
            return Ok(CommitSource::Own);
        }
        let why = || state.wanted.get(commit).map_or(UNASKED, String::as_str);
        let known = state.known.get(commit).copied();
        known.ok_or_else(|| why().to_owned())
    }

    /// Asks for those of `commits` that were never asked for. It blocks a while: not for a thread that drives others.
    pub(super) fn ask_new(&self, commits: &BTreeSet<String>) {
        let mut state = self.state();
        let is_new = |commit: &&String| {
            !state.known.contains_key(*commit) && !state.wanted.contains_key(*commit)
        };
        let new: Vec<String> = commits.iter().filter(is_new).cloned().collect();
        if state.sink.is_none() || new.is_empty() {
            return;
        }
        let unasked = new
            .iter()
            .map(|commit| (commit.clone(), UNASKED.to_owned()));
        state.wanted.extend(unasked);
        drop(state);
        if let Ok(runtime) = Handle::try_current() {
            runtime.block_on(self.ask_in_time(&new));
        }
    }

    /// Asks for some commits, as long as something that waits for the answers can.
    pub(in crate::daemon) async fn ask_in_time(&self, commits: &[String]) {
        let ask = async {
            for commit in commits.iter().take(MOST_ASKED) {
                self.ask(commit).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, ask).await;
    }

    /// Asks once more for commits without an answer, after those that were asked for last time.
    pub(in crate::daemon) async fn ask_again(&self) {
        for commit in self.next() {
            let asked = tokio::time::timeout(PATIENCE_ALONE, self.ask(&commit)).await;
            let mut state = self.state();
            if asked.is_err() {
                state.take_in(commit.clone(), Err(SLOW.to_owned()));
            }
            state.last = commit;
        }
    }

    /// The commits to ask for once more.
    fn next(&self) -> Vec<String> {
        let state = self.state();
        let after = (Bound::Excluded(&state.last), Bound::Unbounded);
        let after = state.wanted.range::<String, _>(after);
        let before = state.wanted.range::<String, _>(..=&state.last);
        let wanted = after.chain(before).map(|(commit, _)| commit.clone());
        wanted.take(MOST_ASKED).collect()
    }

    async fn ask(&self, commit: &str) {
        let Some(sink) = self.state().sink.clone() else {
            return;
        };
        let asked = AssertUnwindSafe(sink.source_of(commit)).catch_unwind();
        let answer = match asked.await {
            Ok(Ok(source)) => Ok(source.unwrap_or(CommitSource::Own)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("a bug in capstan; please report it".to_owned()),
        };
        self.state().take_in(commit.to_owned(), answer);
    }

    /// Has these commits asked for again, if there is no answer for them yet.
    pub(in crate::daemon) fn want<'a>(&self, commits: impl Iterator<Item = &'a String>) {
        let mut state = self.state();
        for commit in commits {
            if !state.known.contains_key(commit) {
                let unasked = || UNASKED.to_owned();
                state.wanted.entry(commit.clone()).or_insert_with(unasked);
            }
        }
    }

    /// Whether a commit waits for an answer.
    pub(in crate::daemon) fn is_waiting(&self) -> bool {
        !self.state().wanted.is_empty()
    }

    /// Whether there is an answer for a commit by now.
    pub(in crate::daemon) fn is_known(&self, commit: &str) -> bool {
        self.state().known.contains_key(commit)
    }

    /// Notes the commits whose answers the plan of a candidate lacks.
    pub(super) fn note_plan(&self, candidate: &str, lacking: BTreeSet<String>) {
        let mut state = self.state();
        match lacking.is_empty() {
            true => drop(state.plans.remove(candidate)),
            false => drop(state.plans.insert(candidate.to_owned(), lacking)),
        }
    }

    /// Takes the candidates whose plans have lacked an answer that is known by now.
    pub(in crate::daemon) fn take_answered_plans(&self) -> Vec<String> {
        let mut state = self.state();
        let State { plans, known, .. } = &mut *state;
        let is_answered =
            |lacking: &BTreeSet<String>| lacking.iter().any(|one| known.contains_key(one));
        let answered = plans.iter().filter(|(_, lacking)| is_answered(lacking));
        let answered: Vec<String> = answered.map(|(candidate, _)| candidate.clone()).collect();
        plans.retain(|candidate, _| !answered.contains(candidate));
        answered
    }

    /// Lets go of what nobody waits for any more: `needed` commits are kept, and those of candidates that `is_open`.
    pub(in crate::daemon) fn forget(
        &self,
        needed: &BTreeSet<String>,
        is_open: impl Fn(&String) -> bool,
    ) {
        let mut state = self.state();
        let State {
            plans,
            wanted,
            unlisted,
            ..
        } = &mut *state;
        plans.retain(|candidate, _| is_open(candidate));
        wanted.retain(|commit, _| {
            needed.contains(commit) || plans.values().any(|lacking| lacking.contains(commit))
        });
        unlisted.retain(|commit, _| wanted.contains_key(commit));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_in(&mut self, commit: String, answer: Result<CommitSource, String>) {
        match answer {
            Ok(CommitSource::Unlisted) if !self.is_settled(&commit) => {
                self.wanted.insert(commit, UNLISTED.to_owned());
            }
            Ok(source) => {
                let source = match source {
                    CommitSource::Unlisted => CommitSource::Own,
                    source => source,
                };
                self.unlisted.remove(&commit);
                if self.known.len() >= MOST_KNOWN {
                    self.known.clear();
                }
                self.wanted.remove(&commit);
                self.known.insert(commit, source);
            }
            Err(why) => drop(self.wanted.insert(commit, why)),
        }
    }

    /// Whether the forge has listed no pull request with the commit for long enough.
    fn is_settled(&mut self, commit: &str) -> bool {
        let since = self.unlisted.entry(commit.to_owned());
        since.or_insert_with(Instant::now).elapsed() >= SETTLING
    }
}
