//! Plan checks of heads that were not planned to the end, since that cost too much.

use std::time::Duration;

use super::parts::check;
use crate::model::{Check, CheckState};
use crate::reporting::plan_context;

/// Why a head was not planned to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotPlanned {
    /// A fork's took longer than this.
    Time(Duration),
    /// A fork's took more than so many bytes of memory.
    Memory(u64),
    /// A branch's takes longer than this.
    Overdue(Duration),
    /// The daemon ended meanwhile.
    Interrupted,
}

/// What to do about a head of a fork that is too large.
const SMALLER: &str = "Push a smaller change. If it is meant as it is, somebody with write access can push it to a branch: those who may do so are not limited in this way.";
/// How to have a head planned that is not planned again by itself.
const AGAIN: &str =
    "It is not planned again until its head moves, or somebody asks for the check again.";

/// The plan check of a head that was not planned to the end.
pub(crate) fn not_planned(fleet: &str, revision: &str, why: NotPlanned) -> Check {
    let (title, text) = match why {
        NotPlanned::Time(limit) => (
            format!("not planned: it takes longer than {}", seconds(limit)),
            format!("Planning the head of a fork may take {}, by `spec.checks.pullRequests.forks.timeout` of the Fleet document. {SMALLER}", seconds(limit)),
        ),
        NotPlanned::Memory(limit) => (
            format!("not planned: it takes more than {} of memory", mebibytes(limit)),
            format!("Planning the head of a fork may take {} of memory, by `spec.checks.pullRequests.forks.memoryMiB` of the Fleet document. {SMALLER}", mebibytes(limit)),
        ),
        NotPlanned::Overdue(limit) => (
            format!("not planned yet: it takes longer than {}", seconds(limit)),
            "Other pull requests are planned meanwhile. If the plan ends after all, it takes the place of this text.".to_owned(),
        ),
        NotPlanned::Interrupted => (
            "not planned: the daemon ended while it was planned".to_owned(),
            "If planning it ended the daemon, it would do so again.".to_owned(),
        ),
    };
    let context = plan_context(fleet);
    let text = format!("{text} {AGAIN}");
    check(context, revision, CheckState::Error, &title, text)
}

fn seconds(limit: Duration) -> String {
    match limit.as_secs() {
        0 => format!("{} ms", limit.as_millis()),
        seconds => format!("{seconds} s"),
    }
}

fn mebibytes(bytes: u64) -> String {
    match bytes >> 20 {
        0 => format!("{bytes} bytes"),
        mebibytes => format!("{mebibytes} MiB"),
    }
}
