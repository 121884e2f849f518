//! The table of conditions and states.
//!
//! In: a HostedCluster or a NodePool. Out: what it says by itself. The first row that matches counts. It does not know the time.
//!
//! | Row | Conditions | State |
//! |---|---|---|
//! | 1 | a deletion timestamp | DELETING |
//! | 2 | `Degraded=True` | FAILED |
//! | 3 | `Available=True`, `Progressing=False` | READY |
//! | 4 | `Progressing=True`, whatever `Available` is | PROVISIONING |
//! | 5 | `Available=False`, `Progressing=False` | UNAVAILABLE |
//! | 6 | anything else: `Progressing=Unknown`, or no condition | PENDING |

use super::state::State;
use super::verdict::Verdict;
use crate::health::Live;

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
pub(super) const DEGRADED: &str = "Degraded";
pub(super) const READY: &str = "Ready";
/// What a NodePool is being updated in.
const UPDATING: [&str; 2] = ["UpdatingVersion", "UpdatingConfig"];

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    True,
    False,
    /// Any other word.
    Unknown,
    /// There is no such condition.
    Absent,
}

pub(super) fn answer(live: Live<'_>, kind: &str) -> Answer {
    match live.condition(kind) {
        None => Answer::Absent,
        Some(condition) if condition.is_true() => Answer::True,
        Some(condition) if condition.is_false() => Answer::False,
        Some(_) => Answer::Unknown,
    }
}

pub(super) fn message<'a>(live: Live<'a>, kind: &str) -> &'a str {
    live.condition(kind)
        .map_or("", |condition| condition.message())
}

/// The verdict of a HostedCluster by the table. An available one that reports no progress is not ready.
pub(super) fn cluster(live: Live<'_>) -> Verdict<'_> {
    if live.is_deleting() {
        return Verdict::new(State::Deleting, "");
    }
    if answer(live, DEGRADED) == Answer::True {
        return Verdict::new(State::Failed, message(live, DEGRADED));
    }
    serving(live, answer(live, PROGRESSING))
}

/// The rows 3 to 6, with this answer about progress.
pub(super) fn serving(live: Live<'_>, progressing: Answer) -> Verdict<'_> {
    match (answer(live, AVAILABLE), progressing) {
        (Answer::True, Answer::False) => Verdict::new(State::Ready, ""),
        (_, Answer::True) => Verdict::new(State::Provisioning, ""),
        (Answer::False, Answer::False) => {
            Verdict::new(State::Unavailable, message(live, AVAILABLE))
        }
        _ => Verdict::new(State::Pending, ""),
    }
}

/// The verdict of a NodePool by the table; `None` as long as it has no conditions.
pub(super) fn pool(live: Live<'_>) -> Option<Verdict<'_>> {
    live.conditions().next()?;
    let mut updating = UPDATING.into_iter();
    if let Some(kind) = updating.find(|kind| answer(live, kind) == Answer::True) {
        return Some(Verdict::new(State::Provisioning, message(live, kind)));
    }
    let state = match answer(live, READY) {
        Answer::True => return Some(Verdict::new(State::Ready, "")),
        Answer::False => State::Unavailable,
        Answer::Unknown | Answer::Absent => State::Pending,
    };
    Some(Verdict::new(state, message(live, READY)))
}
