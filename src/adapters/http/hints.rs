//! Reasons to fetch that were not acted on yet: any number of them is one.

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::model::{Hint, Press, Rerun};

/// How many re-runs are remembered at most. Who asks for more gets the rest with the next push.
const MOST_RERUNS: usize = 100;
/// How many presses of buttons are remembered at most. Who pressed more has to press again.
const MOST_PRESSES: usize = 100;

/// The reasons between two fetches.
#[derive(Debug, Default)]
pub struct Hints {
    pending: Mutex<Option<Hint>>,
    arrived: Notify,
}

impl Hints {
    /// Adds one.
    pub fn leave(&self, rerun: Option<Rerun>) {
        let mut pending = self.pending.lock();
        let hint = pending.get_or_insert_default();
        if hint.reruns.len() < MOST_RERUNS {
            hint.reruns.extend(rerun);
        }
        self.arrived.notify_one();
    }

    /// Adds a press of a button.
    pub fn leave_press(&self, press: Press) {
        let mut pending = self.pending.lock();
        let hint = pending.get_or_insert_default();
        if hint.presses.len() < MOST_PRESSES {
            hint.presses.insert(press);
        }
        self.arrived.notify_one();
    }

    /// Adds all that another process, or an earlier attempt, was asked for.
    pub fn add(&self, hint: Hint) {
        self.leave(None);
        hint.reruns
            .into_iter()
            .for_each(|rerun| self.leave(Some(rerun)));
        hint.presses
            .into_iter()
            .for_each(|press| self.leave_press(press));
    }

    /// Waits for one. It carries all since the last.
    pub async fn next(&self) -> Hint {
        loop {
            if let Some(hint) = self.take() {
                return hint;
            }
            self.arrived.notified().await;
        }
    }

    fn take(&self) -> Option<Hint> {
        let mut pending = self.pending.lock();
        pending.take()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;
    use crate::model::Head;

    #[test]
    fn a_thousand_hints_are_one_with_all_reruns() {
        let hints = Hints::default();
        assert_eq!(hints.next().now_or_never(), None);
        let rerun = |at: usize| Rerun::all(Head::Commit(format!("{at:040x}")));
        for at in 0..1000 {
            hints.leave((at % 2 == 0).then(|| rerun(at / 100)));
        }
        let hint = hints.next().now_or_never().expect("one");
        assert_eq!(hint.reruns.len(), 10);
        assert_eq!(hints.next().now_or_never(), None);
        for at in 0..=MOST_RERUNS {
            hints.leave(Some(rerun(at)));
        }
        let hint = hints.next().now_or_never().expect("one");
        assert_eq!(hint.reruns.len(), MOST_RERUNS);
    }

    #[test]
    fn a_thousand_presses_of_one_button_are_one() {
        let hints = Hints::default();
        let press = |at: usize| Press {
            commit: at.to_string(),
            context: "capstan/prod/plan".to_owned(),
            app: 1,
            button: "b".to_owned(),
            login: "octocat".to_owned(),
        };
        for _ in 0..1000 {
            hints.leave_press(press(0));
        }
        hints.leave(None);
        let hint = hints.next().now_or_never().expect("one");
        assert_eq!(hint.presses, [press(0)].into());
        for at in 0..=MOST_PRESSES {
            hints.leave_press(press(at));
        }
        let hint = hints.next().now_or_never().expect("one");
        assert_eq!(hint.presses.len(), MOST_PRESSES);
        hints.leave_press(press(0));
        hints.add(hint.clone());
        assert_eq!(hints.next().now_or_never(), Some(hint));
        hints.add(Hint::default());
        assert_eq!(hints.next().now_or_never(), Some(Hint::default()));
    }
}
