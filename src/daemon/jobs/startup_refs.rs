//! The candidates that are there at the start, and who pushed a candidate.
//!
//! In: candidates. Out: those that may need a plan, with what their checks were made of. It does not know when they are
//! planned.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::earlier_checks::{is_pending, left_waiting, written};
use super::revisions::Revisions;
use crate::daemon::spans::spawn_blocking;
use crate::follow::{Candidate, Lane, OpenRef, StartupRefs, number};
use crate::model::{Check, CheckSink, CheckState};
use crate::reporting::plan_context;

/// How many of the refs that are there at the start are planned: the newest. A ref may outlive its pull
/// request.
const MOST_OPEN: usize = 500;
/// Among how many of them those are found that are not merged.
const MOST_LOOKED_AT: usize = 5_000;

/// How many of those of forks: each costs a download and a process, and nothing says which are closed.
const MOST_FORKS: usize = 100;

/// Which of the refs that are there at the start may need a plan: the newest that are not merged into
/// `base`, each with what its check was made of. And which commits an earlier process left waiting for one.
pub(in crate::daemon) async fn startup_refs(
    revisions: Arc<Revisions>,
    fleet: &str,
    sink: &dyn CheckSink,
    candidates: Vec<Candidate>,
    base: String,
    reads_comments: bool,
) -> StartupRefs {
    let waiting = left_waiting(fleet, sink).await;
    let context = plan_context(fleet);
    let work = move || newest(&revisions, candidates, &base);
    let mut open = spawn_blocking(work).await.unwrap_or_default();
    let commits = open.iter().map(|open| open.candidate.commit.clone());
    let commits: Vec<String> = commits.collect();
    let checks = written(sink, &commits, &context).await;
    let checks = checks.unwrap_or_default().into_iter();
    let ended = checks.filter(|check| !is_pending(check));
    // A check that may ask for approvals by comment is made again: only who made it knows what they are.
    let may_ask = |check: &Check| reads_comments && check.state == CheckState::Failure;
    let input = |check: Check| check.input.clone().filter(|_| !may_ask(&check));
    let inputs: BTreeMap<String, Option<String>> = ended
        .map(|check| (check.revision.clone(), input(check)))
        .collect();
    for open in &mut open {
        let input = inputs.get(&open.candidate.commit);
        open.is_checked = input.is_some();
        open.candidate.seen = input.cloned().flatten();
    }
    StartupRefs { open, waiting }
}

/// The same candidates, each with who pushed it.
pub(in crate::daemon) fn sorted(
    revisions: &Revisions,
    candidates: Vec<Candidate>,
) -> Vec<Candidate> {
    let sorted = candidates.into_iter().map(|candidate| Candidate {
        lane: revisions.lane(&candidate),
        ..candidate
    });
    sorted.collect()
}

/// The newest of `candidates` that are not merged into `base`.
fn newest(revisions: &Revisions, candidates: Vec<Candidate>, base: &str) -> Vec<OpenRef> {
    let Ok(repository) = revisions.origin.repository() else {
        return Vec::new();
    };
    let (own, forks): (Vec<Candidate>, Vec<Candidate>) = sorted(revisions, candidates)
        .into_iter()
        .partition(|candidate| candidate.lane == Lane::Own);
    let open = |candidate: Candidate, at| OpenRef {
        candidate,
        at,
        is_checked: false,
    };
    let own = own.into_iter().filter_map(|candidate| {
        let at = repository.commit(&candidate.commit).ok()?.at;
        Some(open(candidate, at))
    });
    let mut own: Vec<OpenRef> = own.collect();
    own.sort_by_key(|open| std::cmp::Reverse(open.at));
    // Nothing of a fork is here, so the newest are those with the highest numbers.
    let forks = forks.into_iter().map(|candidate| {
        let number = number(&candidate.name).unwrap_or_default();
        let at = Timestamp::from_second(i64::try_from(number).unwrap_or_default());
        open(candidate, at.unwrap_or_default())
    });
    let mut forks: Vec<OpenRef> = forks.collect();
    forks.sort_by_key(|open| std::cmp::Reverse(open.at));
    forks.truncate(MOST_FORKS);
    let is_open = |open: &OpenRef| {
        let merged = repository.is_ancestor(&open.candidate.commit, base);
        !merged.unwrap_or_default()
    };
    let looked_at = own.into_iter().take(MOST_LOOKED_AT);
    let own = looked_at.filter(is_open).take(MOST_OPEN);
    own.chain(forks).collect()
}
