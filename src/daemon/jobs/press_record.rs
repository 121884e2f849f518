//! The approvals that people gave with the button of a check, kept across restarts.
//!
//! In: presses. Out: the same, also in the next process. A file that cannot be read holds none: then somebody has to
//! press again. It does not know which of them count.

use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::record_file;
use crate::plan::approvals::Pressed;

/// How many are kept, the newest. Each is of no use once its commit was applied.
const MOST: usize = 100;

/// See the module.
pub(super) struct PressRecord {
    path: PathBuf,
    presses: Mutex<Vec<Pressed>>,
}

#[derive(Default, Serialize, Deserialize)]
struct Contents {
    approvals: Vec<Pressed>,
}

impl PressRecord {
    /// What the file holds, if there is one.
    pub(super) fn open(path: PathBuf) -> Self {
        let contents: Contents = record_file::read(&path).unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), %error, "cannot read the approvals that were given with a button: they do not count; press Approve again where it is still there");
            Contents::default()
        });
        Self {
            path,
            presses: Mutex::new(contents.approvals),
        }
    }

    /// All of them, the oldest first.
    pub(super) fn all(&self) -> Vec<Pressed> {
        self.presses.lock().clone()
    }

    /// Adds one, in place of an earlier one of the same commit for the same losses.
    pub(super) fn add(&self, press: Pressed) {
        let mut held = self.presses.lock();
        held.retain(|one| (&one.commit, &one.losses) != (&press.commit, &press.losses));
        held.push(press);
        let extra = held.len().saturating_sub(MOST);
        held.drain(..extra);
        self.save(&held);
    }

    /// Another revision than before is going to be applied.
    pub(super) fn takes_up(&self, revision: &str) {
        let mut held = self.presses.lock();
        let mut is_change = false;
        for press in held.iter_mut().filter(|press| press.commit != revision) {
            is_change |= std::mem::take(&mut press.is_applied);
        }
        if is_change {
            self.save(&held);
        }
    }

    fn save(&self, presses: &[Pressed]) {
        let contents = Contents {
            approvals: presses.to_vec(),
        };
        if let Err(error) = record_file::write(&self.path, contents) {
            tracing::warn!(path = %self.path.display(), %error, "cannot record the approvals that were given with a button: a restart forgets them; make the directory writable");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jiff::Timestamp;

    use super::*;
    use crate::plan::approvals::How;

    fn press(commit: &str, cluster: &str) -> Pressed {
        Pressed {
            commit: commit.to_owned(),
            losses: [format!("delete {cluster}")].into(),
            login: "octocat".to_owned(),
            how: How::Button,
            at: Timestamp::UNIX_EPOCH,
            is_applied: true,
        }
    }

    #[test]
    fn what_was_pressed_is_known_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/approvals.json");
        let record = PressRecord::open(path.clone());
        assert_eq!(record.all(), []);
        for (commit, cluster) in [
            ("a", "c/one"),
            ("b", "c/one"),
            ("a", "c/two"),
            ("a", "c/one"),
        ] {
            record.add(press(commit, cluster));
        }
        let expected = [
            press("b", "c/one"),
            press("a", "c/two"),
            press("a", "c/one"),
        ];
        assert_eq!(record.all(), expected);
        assert_eq!(PressRecord::open(path.clone()).all(), expected);
        record.takes_up("b");
        let applied = |record: &PressRecord| {
            let all = record.all().into_iter();
            all.map(|press| press.is_applied).collect::<Vec<_>>()
        };
        assert_eq!(applied(&record), [true, false, false]);
        assert_eq!(applied(&PressRecord::open(path)), [true, false, false]);
    }

    #[test]
    fn the_oldest_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approvals.json");
        let record = PressRecord::open(path.clone());
        for at in 0..MOST + 3 {
            record.add(press(&at.to_string(), "c/one"));
        }
        let all = PressRecord::open(path).all();
        assert_eq!((all.len(), &*all[0].commit), (MOST, "3"));
    }

    #[test]
    fn a_file_that_cannot_be_read_approves_nothing_and_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("approvals.json");
        for text in [
            "",
            "{",
            r#"{"v":2,"approvals":[]}"#,
            r#"{"v":1,"approvals":[{}]}"#,
        ] {
            std::fs::write(&path, text).unwrap();
            let record = PressRecord::open(path.clone());
            assert_eq!(record.all(), [], "{text}");
            record.add(press("a", "c/one"));
            assert_eq!(PressRecord::open(path.clone()).all().len(), 1);
        }
    }
}
