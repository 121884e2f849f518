//! Reasons to fetch that were not acted on yet: any number of them is one.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::rerun::Rerun;

/// How many re-runs are remembered at most. Who asks for more gets the rest with the next push.
const MOST_RERUNS: usize = 100;

/// A reason to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The checks that somebody wants again.
    pub reruns: BTreeSet<Rerun>,
}

/// The reasons between two fetches.
#[derive(Debug, Default)]
pub struct Hints {
    pending: Mutex<Option<Hint>>,
    arrived: Notify,
}

impl Hints {
    /// Adds one.
    pub fn leave(&self, rerun: Option<Rerun>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let hint = pending.get_or_insert_default();
        if hint.reruns.len() < MOST_RERUNS {
            hint.reruns.extend(rerun);
        }
        self.arrived.notify_one();
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
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.take()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::super::rerun::Head;
    use super::*;

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
}
