//! How long until the next look at the repository.
//!
//! In: what a look brought, and when a webhook announced something. Out: a duration. Webhooks are believed
//! once one came, until a look finds what none announced. Looking never stops.

use std::time::Duration;

/// The longest wait after failures.
const MOST_FAILING: Duration = Duration::from_secs(60);
/// How many times longer the wait is while webhooks announce what happens.
const ANNOUNCED: u32 = 10;
/// The longest such wait.
const MOST_ANNOUNCED: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(crate) struct Polling {
    interval: Duration,
    /// How often the repository did not answer, in a row.
    failures: u32,
    /// Webhooks are not heard of what happens to it.
    unannounced: bool,
    /// Webhooks announce what happens.
    announced: bool,
    /// A webhook announced something that no look has found yet.
    hinted: bool,
    look: Look,
    /// When the next alarm goes off, on the wall.
    alarm_at: Option<Duration>,
}

/// What is done about the next look.
#[derive(Debug)]
enum Look {
    /// It comes at this time on the wall.
    Waiting(Duration),
    /// One is under way. Another may be wanted at once.
    UnderWay { is_wanted: bool },
}

impl Polling {
    /// A look every `interval`, as long as nothing else is known.
    pub(crate) const fn new(interval: Duration) -> Self {
        Self {
            interval,
            failures: 0,
            unannounced: false,
            announced: false,
            hinted: false,
            look: Look::Waiting(Duration::ZERO),
            alarm_at: None,
        }
    }

    /// The same for a directory: a webhook announces a push, and not when the directory has it.
    pub(crate) const fn of_directory(interval: Duration) -> Self {
        Self {
            unannounced: true,
            ..Self::new(interval)
        }
    }

    /// A look is wanted now. Returns true if it begins; if another is under way, it comes after that.
    pub(crate) const fn want(&mut self) -> bool {
        let is_begun = matches!(self.look, Look::Waiting(_));
        self.look = Look::UnderWay {
            is_wanted: !is_begun,
        };
        is_begun
    }

    /// The alarm for this time went off at `now` on the wall. Returns true if a look begins.
    pub(crate) fn begin_due(&mut self, alarm: Duration, now: Duration) -> bool {
        self.alarm_at.take_if(|at| *at == alarm);
        matches!(self.look, Look::Waiting(at) if at <= now) && self.want()
    }

    /// The look under way ended, and the next comes at this time on the wall. Returns true if another begins at once.
    pub(crate) const fn ended(&mut self, next: Duration) -> bool {
        if matches!(self.look, Look::UnderWay { is_wanted: true }) {
            self.look = Look::UnderWay { is_wanted: false };
            return true;
        }
        self.look = Look::Waiting(next);
        false
    }

    /// Returns when an alarm is to go off, on the wall; `None` if one goes off until the next look, or a look is under way.
    pub(crate) fn arm(&mut self, now: Duration) -> Option<Duration> {
        let Look::Waiting(next) = self.look else {
            return None;
        };
        let is_armed = |at: &Duration| now < *at && *at <= next;
        if self.alarm_at.as_ref().is_some_and(is_armed) {
            return None;
        }
        self.alarm_at = Some(next);
        Some(next)
    }

    /// A webhook announced something; `true` if webhooks were not believed before.
    pub(crate) const fn hint(&mut self) -> bool {
        if self.unannounced {
            return false;
        }
        self.hinted = true;
        !std::mem::replace(&mut self.announced, true)
    }

    /// The repository did not answer.
    pub(crate) const fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// The repository answered; `true` if it did not before.
    pub(crate) const fn worked(&mut self) -> bool {
        std::mem::replace(&mut self.failures, 0) > 0
    }

    /// A look found a move, or none; `true` if webhooks are not believed any more, since none announced it.
    pub(crate) const fn looked(&mut self, is_move: bool) -> bool {
        let is_silent = is_move && !self.hinted && self.announced;
        self.announced = self.announced && !is_silent;
        // What a webhook announced meanwhile is found by the next look.
        self.hinted = matches!(self.look, Look::UnderWay { is_wanted: true });
        is_silent
    }

    /// How long to wait now.
    pub(crate) fn wait(&self) -> Duration {
        let (wait, most) = match self.failures {
            0 if self.announced => (self.interval.saturating_mul(ANNOUNCED), MOST_ANNOUNCED),
            0 => (self.interval, self.interval),
            failures => {
                let wait = self.interval.saturating_mul(1 << failures.min(6));
                (wait, MOST_FAILING)
            }
        };
        wait.min(most).max(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_makes_looks_ten_times_rarer_and_never_stops_them() {
        for (interval, expected) in [(1, 10), (60, 600), (100, 600), (3600, 3600)] {
            let mut polling = Polling::new(Duration::from_secs(interval));
            assert_eq!(polling.wait().as_secs(), interval);
            assert!(polling.hint() && !polling.hint());
            assert_eq!(polling.wait().as_secs(), expected);
        }
    }

    #[test]
    fn a_directory_is_looked_at_as_often_with_webhooks() {
        let mut polling = Polling::of_directory(Duration::from_secs(30));
        assert!(!polling.hint());
        assert_eq!(polling.wait().as_secs(), 30);
        assert!(!polling.looked(true));
        assert!(!polling.looked(true), "nobody expects a webhook");
    }

    #[test]
    fn webhooks_that_fell_silent_are_not_believed() {
        let mut polling = Polling::new(Duration::from_secs(60));
        assert!(!polling.looked(true), "there are none");
        polling.hint();
        assert!(!polling.looked(true), "it was announced");
        assert!(!polling.looked(false));
        assert_eq!(polling.wait().as_secs(), 600);
        assert!(polling.looked(true), "it was not announced");
        assert_eq!(polling.wait().as_secs(), 60);
        assert!(!polling.looked(true), "that is known");
        assert!(polling.hint());
        assert_eq!(polling.wait().as_secs(), 600);
    }

    #[test]
    fn a_repository_that_is_away_is_looked_for_as_without_webhooks() {
        let mut polling = Polling::new(Duration::from_secs(10));
        polling.hint();
        let waits = [0; 4].map(|_| {
            polling.failed();
            polling.wait().as_secs()
        });
        assert_eq!(waits, [20, 40, 60, 60]);
        assert!(polling.worked() && !polling.worked());
        assert_eq!(polling.wait().as_secs(), 100);
    }

    #[test]
    fn a_push_that_is_announced_during_a_look_is_found_by_the_next() {
        let mut polling = Polling::new(Duration::from_secs(60));
        assert!(polling.begin_due(Duration::ZERO, Duration::ZERO));
        assert!(polling.hint() && !polling.want());
        assert!(!polling.looked(false), "it began before");
        assert!(polling.ended(Duration::from_secs(600)), "one more at once");
        assert!(!polling.looked(true), "it was announced");
    }

    #[test]
    fn looks_come_after_the_wait_or_when_one_is_wanted_and_one_alarm_is_set() {
        let at = Duration::from_secs;
        let mut polling = Polling::new(at(60));
        assert!(polling.begin_due(at(0), at(0)) && !polling.begin_due(at(0), at(0)));
        assert_eq!(polling.arm(at(0)), None, "it is under way");
        assert!(!polling.ended(at(60)));
        assert_eq!(polling.arm(at(0)), Some(at(60)));
        assert_eq!(polling.arm(at(1)), None, "once");
        // Somebody wants one every few seconds: the alarm that is set stands for all.
        for now in [2, 4, 6] {
            assert!(polling.want());
            assert!(!polling.ended(at(now + 60)));
            assert_eq!(polling.arm(at(now)), None);
        }
        assert!(!polling.begin_due(at(60), at(60)), "the last look was at 6");
        assert_eq!(polling.arm(at(60)), Some(at(66)));
        assert!(!polling.begin_due(at(66), at(65)), "it went off early");
        assert_eq!(polling.arm(at(65)), Some(at(66)));
        assert!(polling.begin_due(at(66), at(66)));
        assert!(!polling.want(), "one is under way");
        assert!(polling.ended(at(126)) && !polling.ended(at(126)));
        assert_eq!(polling.arm(at(66)), Some(at(126)));
        // A wait may become shorter: the longer alarm sets no other when it goes off.
        assert!(polling.want() && !polling.ended(at(71)));
        assert_eq!(polling.arm(at(66)), Some(at(71)));
        assert!(polling.begin_due(at(71), at(71)) && !polling.ended(at(131)));
        assert_eq!(polling.arm(at(71)), Some(at(131)));
        assert!(!polling.begin_due(at(126), at(126)));
        assert_eq!(polling.arm(at(126)), None);
    }
}
