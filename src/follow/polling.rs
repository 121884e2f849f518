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
}

/// What is done about the next look.
#[derive(Debug)]
enum Look {
    /// It comes after the wait with this number.
    Waiting(u64),
    /// One is under way, which the wait with this number ended.
    UnderWay {
        number: u64,
        /// Another is wanted at once.
        is_wanted: bool,
    },
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
            look: Look::Waiting(0),
        }
    }

    /// A look is wanted now. Returns true if it begins; if another is under way, it comes after that.
    pub(crate) const fn want(&mut self) -> bool {
        match &mut self.look {
            Look::Waiting(number) => {
                self.look = Look::UnderWay {
                    number: *number,
                    is_wanted: false,
                };
                true
            }
            Look::UnderWay { is_wanted, .. } => {
                *is_wanted = true;
                false
            }
        }
    }

    /// The wait with this number is over. Returns true if a look begins.
    pub(crate) const fn wait_ended(&mut self, number: u64) -> bool {
        match self.look {
            Look::Waiting(current) if current == number => self.want(),
            _ => false,
        }
    }

    /// The look under way ended. Returns the number of the wait for the next; `None` if that begins at once.
    pub(crate) const fn ended(&mut self) -> Option<u64> {
        match &mut self.look {
            Look::UnderWay {
                number: _,
                is_wanted: wanted @ true,
            } => {
                *wanted = false;
                None
            }
            Look::UnderWay { number, .. } | Look::Waiting(number) => {
                let next = *number + 1;
                self.look = Look::Waiting(next);
                Some(next)
            }
        }
    }

    /// The same for a directory: a webhook announces a push, and not when the directory has it.
    pub(crate) const fn of_directory(interval: Duration) -> Self {
        Self {
            unannounced: true,
            ..Self::new(interval)
        }
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
        self.hinted = false;
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
}
