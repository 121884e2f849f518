//! Reasons to fetch that were not acted on yet: any number of them is one.

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::model::{Head, Hint, Press, Rerun};

/// How many re-runs are remembered at most. Who asks for more gets the rest with the next push.
const MOST_RERUNS: usize = 100;
/// The longest text of a re-run or a press, in bytes. Names of checks have 255 at most on GitHub; whoever knows the secret may send more.
const MOST_TEXT: usize = 256;
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
            hint.reruns.extend(rerun.filter(is_short_rerun));
        }
        self.arrived.notify_one();
    }

    /// Adds a press of a button.
    pub fn leave_press(&self, press: Press) {
        let mut pending = self.pending.lock();
        let hint = pending.get_or_insert_default();
        if hint.presses.len() < MOST_PRESSES && is_short_press(&press) {
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

fn is_short_rerun(rerun: &Rerun) -> bool {
    let commit = match &rerun.head {
        Head::Commit(commit) => commit.as_str(),
        Head::PullRequest(_) => "",
    };
    let context = rerun.context.as_deref().unwrap_or_default();
    commit.len().max(context.len()) <= MOST_TEXT
}

fn is_short_press(press: &Press) -> bool {
    let texts = [&press.commit, &press.context, &press.button, &press.login];
    texts.iter().all(|text| text.len() <= MOST_TEXT)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn what_is_long_is_a_reason_to_fetch_and_takes_no_memory() {
        let hints = Hints::default();
        let (long, most) = ("a".repeat(MOST_TEXT + 1), "a".repeat(MOST_TEXT));
        let rerun = |commit: &str, context: &str| Rerun {
            context: Some(context.to_owned()),
            ..Rerun::all(Head::Commit(commit.to_owned()))
        };
        hints.leave(Some(rerun(&long, "c")));
        hints.leave(Some(rerun("1", &long)));
        let press = |button: &str| Press {
            commit: "1".to_owned(),
            context: "c".to_owned(),
            app: 1,
            button: button.to_owned(),
            login: "octocat".to_owned(),
        };
        hints.leave_press(press(&long));
        assert_eq!(hints.next().now_or_never(), Some(Hint::default()));
        hints.leave(Some(rerun(&most, &most)));
        hints.leave_press(press(&most));
        let hint = hints.next().now_or_never().expect("one");
        assert_eq!((hint.reruns.len(), hint.presses.len()), (1, 1));
    }

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
