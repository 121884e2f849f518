//! The state of a revision's check: pending, success or failure, and when to look again. Pure.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::CheckState;

/// A check goes from success back to pending only after this long without being ready (DESIGN §8).
const GRACE: Duration = Duration::from_secs(60);

/// The state of a revision that is being applied, or was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) state: CheckState,
    /// Since when it is not ready any more, while success is still reported.
    lost: Option<Timestamp>,
    /// When the state is looked at again.
    alarm: Option<Timestamp>,
}

impl Verdict {
    /// Nothing is known yet.
    pub(crate) fn pending() -> Self {
        Self {
            state: CheckState::Pending,
            lost: None,
            alarm: None,
        }
    }

    /// Takes in how things are at `now`. Returns after how long to look again, when success is kept
    /// for a while although something is not ready and no other look is due.
    pub(crate) fn judge(
        &mut self,
        ready: bool,
        terminal: bool,
        now: Timestamp,
    ) -> Option<Duration> {
        let since = self.lost.unwrap_or(now);
        let lost = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        let kept = self.state == CheckState::Success && !ready && !terminal && lost < GRACE;
        self.lost = kept.then_some(since);
        if kept {
            return self.wake_after(now, GRACE - lost);
        }
        self.state = match (ready, terminal) {
            (true, _) => CheckState::Success,
            (false, true) => CheckState::Failure,
            (false, false) => CheckState::Pending,
        };
        None
    }

    fn wake_after(&mut self, now: Timestamp, wait: Duration) -> Option<Duration> {
        if self.alarm.is_some_and(|alarm| alarm > now) {
            return None;
        }
        self.alarm = Some(now + wait);
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CheckState::{Failure, Pending, Success};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    /// A verdict, and how it judges (ready, terminal, second).
    struct Case(Verdict);

    impl Case {
        fn new() -> Self {
            Self(Verdict::pending())
        }

        fn judge(&mut self, ready: bool, terminal: bool, second: i64) -> (CheckState, Option<u64>) {
            let wait = self.0.judge(ready, terminal, at(second));
            (self.0.state, wait.map(|wait| wait.as_secs()))
        }
    }

    #[test]
    fn it_is_pending_until_everything_is_ready() {
        let mut case = Case::new();
        assert_eq!(case.judge(false, false, 0), (Pending, None));
        assert_eq!(case.judge(true, false, 9), (Success, None));
    }

    #[test]
    fn success_goes_back_to_pending_only_after_a_minute_without_a_break() {
        let mut case = Case::new();
        case.judge(true, false, 0);
        assert_eq!(case.judge(false, false, 100), (Success, Some(60)));
        assert_eq!(case.judge(false, false, 159), (Success, None));
        assert_eq!(case.judge(true, false, 159), (Success, None));
        // The minute begins anew.
        assert_eq!(case.judge(false, false, 161), (Success, Some(60)));
        assert_eq!(case.judge(false, false, 221), (Pending, None));
        assert_eq!(case.judge(true, false, 222), (Success, None));
    }

    #[test]
    fn one_alarm_is_set_however_often_it_is_asked() {
        let mut case = Case::new();
        case.judge(true, false, 0);
        let waits = (0..50).filter_map(|second| case.judge(false, false, second).1);
        assert_eq!(waits.count(), 1);
    }

    #[test]
    fn what_only_a_change_can_help_is_a_failure_at_once_until_it_was_helped() {
        let mut case = Case::new();
        case.judge(true, false, 0);
        assert_eq!(case.judge(false, true, 1), (Failure, None));
        assert_eq!(case.judge(false, false, 2), (Pending, None));
        assert_eq!(case.judge(true, false, 3), (Success, None));
    }

    #[test]
    fn a_clock_that_is_set_back_is_no_reason_to_hurry() {
        let mut case = Case::new();
        case.judge(true, false, 0);
        case.judge(false, false, 1000);
        assert_eq!(case.judge(false, false, 10).0, Success);
    }
}
