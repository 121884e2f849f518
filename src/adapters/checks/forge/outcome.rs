//! What a check says, in a word that each forge translates (forges.md §0, "State map").

use crate::model::{CheckDetail, CheckState};

/// What a check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It waits for other work.
    Queued,
    /// Work is in progress.
    Running,
    /// Everything is as requested, or there is nothing to do.
    Good,
    /// As good, but there are warnings.
    Warned,
    /// The commit has errors, or is not ready in time.
    Bad,
    /// Something other than the commit failed.
    Fault,
    /// A newer revision took its place.
    Superseded,
    /// Somebody has to approve a deletion.
    Approval,
}

impl Outcome {
    /// Whether nothing more is expected unless something changes.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// The outcome of a check. A detail that does not belong to its state is ignored.
#[must_use]
pub const fn outcome(state: CheckState, detail: Option<CheckDetail>) -> Outcome {
    match (state, detail) {
        (CheckState::Pending, Some(CheckDetail::Queued)) => Outcome::Queued,
        (CheckState::Pending, _) => Outcome::Running,
        (CheckState::Success | CheckState::Error, Some(CheckDetail::Superseded)) => {
            Outcome::Superseded
        }
        (CheckState::Success, Some(CheckDetail::Warnings)) => Outcome::Warned,
        (CheckState::Success, _) => Outcome::Good,
        (CheckState::Failure, Some(CheckDetail::Approval)) => Outcome::Approval,
        (CheckState::Failure, _) => Outcome::Bad,
        (CheckState::Error, _) => Outcome::Fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_counts_with_its_state_alone() {
        use CheckDetail::{Approval, Queued, Superseded, Warnings};
        use CheckState::{Error, Failure, Pending, Success};
        for (state, detail, expected) in [
            (Pending, None, Outcome::Running),
            (Pending, Some(Queued), Outcome::Queued),
            (Pending, Some(Approval), Outcome::Running),
            (Success, None, Outcome::Good),
            (Success, Some(Warnings), Outcome::Warned),
            (Success, Some(Superseded), Outcome::Superseded),
            (Failure, None, Outcome::Bad),
            (Failure, Some(Approval), Outcome::Approval),
            (Failure, Some(Warnings), Outcome::Bad),
            (Error, None, Outcome::Fault),
            (Error, Some(Superseded), Outcome::Superseded),
        ] {
            assert_eq!(outcome(state, detail), expected, "{state:?} {detail:?}");
            assert_eq!(expected.is_final(), state != Pending, "{state:?}");
        }
    }
}
