//! When the forge is asked again how commits came in.
//!
//! In: that a question begins or ends. Out: how long to pause before it, longer each time. It does not know what is asked.

use std::time::Duration;

/// The first pause; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How far asking is.
pub(super) struct Asking {
    is_under_way: bool,
    pause: Duration,
}

impl Default for Asking {
    fn default() -> Self {
        Self {
            is_under_way: false,
            pause: FIRST_PAUSE,
        }
    }
}

impl Asking {
    /// Returns true if a question waits or is being answered.
    pub(super) const fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Begins a question, and returns how long to pause before it.
    pub(super) fn begin(&mut self) -> Duration {
        let pause = self.pause;
        self.is_under_way = true;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// Ends a question. If nothing `is_open`, the next one comes as soon as the first did.
    pub(super) const fn end(&mut self, is_open: bool) {
        self.is_under_way = false;
        if !is_open {
            self.pause = FIRST_PAUSE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_five_minutes_until_there_is_an_answer() {
        let mut asking = Asking::default();
        let mut pauses = Vec::new();
        for _ in 0..7 {
            assert!(!asking.is_under_way());
            pauses.push(asking.begin().as_secs());
            assert!(asking.is_under_way());
            asking.end(true);
        }
        assert_eq!(pauses, [15, 30, 60, 120, 240, 300, 300]);
        asking.begin();
        asking.end(false);
        assert_eq!(asking.begin().as_secs(), 15);
    }
}
