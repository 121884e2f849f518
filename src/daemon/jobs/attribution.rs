//! How the commits came in whose messages approve something, as far as the forge has said.
//!
//! In: commits, and the forge to ask. Out: an answer, or why there is none yet. What is known is kept for as long as the
//! process runs; what is not is asked again by whoever drives this. A commit that the forge lists no pull request with is
//! the repository's own if that holds a moment later: a forge updates the branch before it notes the merge. Without a
//! forge that knows pull requests, every commit is the repository's own.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::model::{CommitSource, PullRequests};

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
pub(in crate::daemon) enum Purpose {
    /// A deletion, which is for good.
    Apply,
    /// The plan of a branch, whose commits nobody merged yet.
    Plan,
}

/// See the module.
pub(in crate::daemon) struct Attribution {
    /// Who is asked; nobody without a forge.
    forge: Option<Arc<dyn PullRequests>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: BTreeMap<String, CommitSource>,
    /// The commits that the forge lists no pull request with, and since when it was asked for what is applied: what a plan
    /// asked before the merge says nothing of it.
    unlisted: BTreeMap<String, Option<Instant>>,
    /// The commits without an answer, and why.
    wanted: BTreeMap<String, String>,
    /// The commits that have an answer since these were taken.
    new: BTreeSet<String>,
    /// The commit that was asked for last: others come first next time.
    last: String,
}

impl Attribution {
    /// Answers of this forge; without one, every commit is the repository's own.
    pub(super) fn new(forge: Option<Arc<dyn PullRequests>>) -> Self {
        Self {
            forge,
            state: Mutex::default(),
        }
    }

    /// The answer for a commit, or why there is none yet.
    pub(super) fn answer(&self, commit: &str, purpose: Purpose) -> Result<CommitSource, String> {
        if self.forge.is_none() {
            return Ok(CommitSource::Own);
        }
        let state = self.state.lock();
        if purpose == Purpose::Plan && state.unlisted.contains_key(commit) {
            return Ok(CommitSource::Own);
        }
        let why = || state.wanted.get(commit).map_or(UNASKED, String::as_str);
        let known = state.known.get(commit).copied();
        known.ok_or_else(|| why().to_owned())
    }

    /// Asks for those of `commits` that were never asked for. It blocks a while: not for a thread that drives others.
    pub(super) fn ask_new(&self, commits: &BTreeSet<String>, purpose: Purpose) {
        let mut state = self.state.lock();
        let is_new = |commit: &&String| {
            !state.known.contains_key(*commit) && !state.wanted.contains_key(*commit)
        };
        let new: Vec<String> = commits.iter().filter(is_new).cloned().collect();
        if self.forge.is_none() || new.is_empty() {
            return;
        }
        let unasked = new
            .iter()
            .map(|commit| (commit.clone(), UNASKED.to_owned()));
        state.wanted.extend(unasked);
        drop(state);
        if let Ok(runtime) = Handle::try_current() {
            runtime.block_on(self.ask_in_time(&new, purpose));
        }
    }

    /// Asks for some commits, as long as something that waits for the answers can.
    pub(in crate::daemon) async fn ask_in_time(&self, commits: &[String], purpose: Purpose) {
        let ask = async {
            for commit in commits.iter().take(MOST_ASKED) {
                self.ask(commit, purpose).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, ask).await;
    }

    /// Takes the commits that have an answer since the last call.
    pub(in crate::daemon) fn take_new(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.state.lock().new)
    }

    /// Asks once more for some of the commits that approve something for what is applied, and for candidates, after those that
    /// were asked for last time. Nobody waits for others.
    pub(in crate::daemon) async fn ask_again(
        &self,
        of_release: &BTreeSet<String>,
        of_plans: &BTreeSet<String>,
    ) {
        let commits: BTreeSet<String> = of_release.union(of_plans).cloned().collect();
        for commit in self.next(&commits) {
            let purpose = if of_release.contains(&commit) {
                Purpose::Apply
            } else {
                Purpose::Plan
            };
            let asked = tokio::time::timeout(PATIENCE_ALONE, self.ask(&commit, purpose)).await;
            let mut state = self.state.lock();
            if asked.is_err() {
                state.take_in(commit.clone(), purpose, Err(SLOW.to_owned()));
            }
            state.last = commit;
        }
        // Another job may have asked for them before somebody waited; and a plan needs no more than that none is listed.
        let mut state = self.state.lock();
        let State {
            known,
            unlisted,
            new,
            ..
        } = &mut *state;
        let of_plans = of_plans.difference(of_release);
        let unlisted = of_plans.filter(|commit| unlisted.contains_key(*commit));
        let known = commits.iter().filter(|commit| known.contains_key(*commit));
        new.extend(known.chain(unlisted).cloned());
    }

    /// Lets go of what nobody waits for, and returns the commits to ask for once more.
    fn next(&self, commits: &BTreeSet<String>) -> Vec<String> {
        let mut state = self.state.lock();
        state.wanted.retain(|commit, _| commits.contains(commit));
        state.unlisted.retain(|commit, _| commits.contains(commit));
        let after = (Bound::Excluded(&state.last), Bound::Unbounded);
        let after = commits.range::<String, _>(after);
        let before = commits.range::<String, _>(..=&state.last);
        let unknown = after
            .chain(before)
            .filter(|commit| !state.known.contains_key(*commit));
        unknown.take(MOST_ASKED).cloned().collect()
    }

    async fn ask(&self, commit: &str, purpose: Purpose) {
        let Some(forge) = &self.forge else {
            return;
        };
        let asked = AssertUnwindSafe(forge.source_of(commit)).catch_unwind();
        let answer = match asked.await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(_) => Err("a bug in capstan; please report it".to_owned()),
        };
        self.state
            .lock()
            .take_in(commit.to_owned(), purpose, answer);
    }
}

impl State {
    fn take_in(&mut self, commit: String, purpose: Purpose, answer: Result<CommitSource, String>) {
        match answer {
            // It is asked for again by whoever reads approvals next.
            Ok(CommitSource::Unlisted) if purpose == Purpose::Plan => {
                self.wanted.remove(&commit);
                self.unlisted.entry(commit).or_default();
            }
            Ok(CommitSource::Unlisted) if !self.is_settled(&commit) => {
                self.wanted.insert(commit, UNLISTED.to_owned());
            }
            Ok(source) => {
                let source = match source {
                    CommitSource::Unlisted => CommitSource::Own,
                    source => source,
                };
                self.unlisted.remove(&commit);
                if self.known.len() + self.unlisted.len() >= MOST_KNOWN {
                    self.known.clear();
                    self.unlisted.clear();
                }
                self.wanted.remove(&commit);
                self.new.insert(commit.clone());
                self.known.insert(commit, source);
            }
            Err(why) => drop(self.wanted.insert(commit, why)),
        }
    }

    /// Whether the forge has listed no pull request with the commit for long enough, for what is applied.
    fn is_settled(&mut self, commit: &str) -> bool {
        let since = self.unlisted.entry(commit.to_owned()).or_default();
        since.get_or_insert_with(Instant::now).elapsed() >= SETTLING
    }
}
