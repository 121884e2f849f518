//! When a check is written: at once when its outcome changes, else at most once a minute, and never
//! when nothing changed (DESIGN §10).
//!
//! In: a check and the time. Out: whether to write it. It does not know who writes, or whether that
//! worked: what was not noted as written is due again.

use jiff::{SignedDuration, Timestamp};

use crate::model::{Check, CheckState};

/// How long progress waits after the last write.
const PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Whether to write a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Write it.
    Now,
    /// Ask again then, with the check as it is by then.
    At(Timestamp),
    /// It equals what was written.
    Never,
}

/// Decides whether `check` is to be written, after what was `written` last and when.
pub(super) fn due(written: Option<&(Check, Timestamp)>, check: &Check, now: Timestamp) -> Due {
    match written {
        None => Due::Now,
        Some((last, _)) if last == check => Due::Never,
        Some((last, _)) if is_another_outcome(last, check) => Due::Now,
        // A clock that was set back must not hold it up.
        Some((_, at)) if now < *at || now.duration_since(*at) >= PAUSE => Due::Now,
        Some((_, at)) => Due::At(at.saturating_add(PAUSE).unwrap_or(now)),
    }
}

/// While a check is pending, its details are progress; after that, people wait for them: for an approval
/// that is needed, or for a newer revision that took its place. Who asks for a check again waits for it as well.
fn is_another_outcome(last: &Check, check: &Check) -> bool {
    let is_progress = check.state == CheckState::Pending;
    last.state != check.state
        || last.attempt != check.attempt
        || last.detail != check.detail && !is_progress
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::CheckDetail;

    fn check(state: CheckState, title: &str) -> Check {
        Check::new("capstan/a/sync", "5f0e", state, title)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_first_report_and_a_new_state_are_sent_at_once() {
        let pending = check(CheckState::Pending, "1/2");
        assert_eq!(due(None, &pending, at(0)), Due::Now);
        let written = (pending, at(1000));
        let done = check(CheckState::Success, "2/2");
        assert_eq!(due(Some(&written), &done, at(1000)), Due::Now);
    }

    #[test]
    fn another_detail_of_an_outcome_is_sent_at_once_and_of_progress_not() {
        use CheckDetail::{Approval, Queued, Superseded, Warnings};
        use CheckState::{Error, Failure, Pending, Success};
        for (state, before, detail, expected) in [
            (Success, None, Some(Superseded), Due::Now),
            (Success, Some(Warnings), None, Due::Now),
            (Failure, None, Some(Approval), Due::Now),
            (Error, None, Some(Superseded), Due::Now),
            (Pending, None, Some(Queued), Due::At(at(1060))),
            (Pending, Some(Queued), None, Due::At(at(1060))),
        ] {
            let mut one = check(state, "1/2");
            one.detail = before;
            let written = (one.clone(), at(1000));
            one.detail = detail;
            assert_eq!(due(Some(&written), &one, at(1001)), expected, "{state:?}");
        }
    }

    #[test]
    fn progress_waits_for_a_minute_unless_somebody_asks() {
        let written = (check(CheckState::Pending, "1/3"), at(1000));
        let mut more = check(CheckState::Pending, "2/3");
        assert_eq!(due(Some(&written), &more, at(1001)), Due::At(at(1060)));
        assert_eq!(due(Some(&written), &more, at(1059)), Due::At(at(1060)));
        assert_eq!(due(Some(&written), &more, at(1060)), Due::Now);
        more.attempt = 1;
        assert_eq!(due(Some(&written), &more, at(1001)), Due::Now);
    }

    #[test]
    fn the_same_report_is_not_sent_twice() {
        let written = (check(CheckState::Pending, "1/2"), at(1000));
        assert_eq!(due(Some(&written), &written.0, at(9999)), Due::Never);
    }

    #[test]
    fn a_clock_set_back_does_not_hold_progress_up() {
        let written = (check(CheckState::Pending, "1/2"), at(1000));
        let more = check(CheckState::Pending, "2/2");
        assert_eq!(due(Some(&written), &more, at(10)), Due::Now);
    }
}
