//! The record of approvals that are given once: with a button, or with an annotation; and of the commits with approvals
//! that came too late for a revision, since the forge had not said yet how they came in.
//!
//! In: what people approved, and which revision is applied. Out: the same after a restart, from a text. A text that cannot
//! be read holds none: then somebody has to approve again. It does not know where the text is kept, or what counts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::approval::Approvals;
use super::buttons::Pressed;

/// The version of the texts that this program writes.
const VERSION: u32 = 1;
/// How many of each are kept, of presses the newest. Each is of no use once its commit was applied.
const MOST: usize = 100;
/// How many bytes of losses are kept. Whatever else the parent holds has room beside them.
const MOST_BYTES: usize = 128 << 10;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ApprovalRecord {
    /// The oldest first.
    #[serde(default)]
    approvals: Vec<Pressed>,
    /// By commit, the revision that it counted for in the end.
    #[serde(default, alias = "commits")]
    late: BTreeMap<String, Option<String>>,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    v: u32,
    #[serde(flatten)]
    record: T,
}

impl ApprovalRecord {
    /// Reads a text of [`Self::text`], or one of the files that held a part of it.
    ///
    /// # Errors
    /// If it is damaged, or of another version.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let read = serde_json::from_str(text).map_err(|error| error.to_string());
        let Versioned { v, mut record }: Versioned<Self> = read?;
        if v != VERSION {
            return Err(format!("it is of version {v}"));
        }
        record.trim();
        Ok(record)
    }

    /// The text to keep.
    pub(crate) fn text(&self) -> String {
        let (v, record) = (VERSION, self);
        serde_json::to_string(&Versioned { v, record }).unwrap_or_default()
    }

    /// Adds what only `earlier` has, an earlier process: it is older than the rest.
    pub(crate) fn take_over(&mut self, earlier: Self) {
        for (commit, counted) in &earlier.late {
            let late = self.late.entry(commit.clone());
            late.or_insert_with(|| counted.clone());
        }
        self.share(earlier);
    }

    /// Adds the approvals that only `other` has: another process may serve the fleet for a while. What is late there may be
    /// done here.
    pub(crate) fn share(&mut self, other: Self) {
        let mut others = other.approvals;
        others.retain(|one| !self.approvals.iter().any(|own| own.is_same(one)));
        self.approvals.splice(..0, others);
        self.approvals.sort_by_key(|press| press.at);
        self.trim();
    }

    /// Lists what people approved, the oldest first.
    pub(crate) fn approvals(&self) -> &[Pressed] {
        &self.approvals
    }

    /// Adds an approval, in place of an earlier one of the same commit for the same losses.
    pub(crate) fn add(&mut self, press: Pressed) {
        self.approvals.retain(|one| !one.is_same(&press));
        self.approvals.push(press);
        self.trim();
    }

    /// Notes that `revision` is going to be applied.
    pub(crate) fn take_up(&mut self, revision: &str) {
        let others = self.approvals.iter_mut();
        for press in others.filter(|press| press.commit != revision) {
            press.is_applied = false;
        }
    }

    /// Lists the late commits that may count for `revision` after `applied`. What counted for `applied` is done.
    pub(crate) fn late(&mut self, applied: &str, revision: &str) -> Vec<String> {
        let is_done =
            |counted: &Option<String>| applied != revision && counted.as_deref() == Some(applied);
        self.late.retain(|_, counted| !is_done(counted));
        self.late.keys().cloned().collect()
    }

    /// Takes in what counts for `revision`, and what waits for the forge.
    pub(crate) fn note(&mut self, revision: &str, approvals: &Approvals) {
        for commit in approvals.unattributed() {
            if self.late.len() < MOST {
                self.late.insert(commit.clone(), None);
            }
        }
        for approval in &approvals.given {
            if let Some(counted) = self.late.get_mut(&approval.commit) {
                *counted = Some(revision.to_owned());
            }
        }
        for (approval, _) in &approvals.doubted {
            if approvals.unattributed().all(|one| *one != approval.commit) {
                self.late.remove(&approval.commit);
            }
        }
    }

    /// Drops what is too much, the oldest first.
    fn trim(&mut self) {
        let mut room = MOST_BYTES;
        let newest = self.approvals.iter().rev().take(MOST);
        let kept = newest.take_while(|press| {
            let size: usize = press.losses.iter().map(String::len).sum();
            let is_room = size <= room;
            room = room.saturating_sub(size);
            is_room
        });
        let extra = self.approvals.len() - kept.count();
        self.approvals.drain(..extra);
        while self.late.len() > MOST {
            self.late.pop_last();
        }
    }
}

#[cfg(test)]
mod tests {
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

    fn again(record: &ApprovalRecord) -> ApprovalRecord {
        ApprovalRecord::read(&record.text()).expect("it is its own")
    }

    #[test]
    fn what_was_approved_is_known_after_a_restart() {
        let mut record = ApprovalRecord::default();
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
        assert_eq!(again(&record).approvals(), expected);
        record.take_up("b");
        let applied = |record: ApprovalRecord| {
            let all = record.approvals.into_iter();
            all.map(|press| press.is_applied).collect::<Vec<_>>()
        };
        assert_eq!(applied(again(&record)), [true, false, false]);
    }

    #[test]
    fn the_oldest_go() {
        let mut record = ApprovalRecord::default();
        for at in 0..MOST + 3 {
            record.add(press(&at.to_string(), "c/one"));
        }
        let all = again(&record);
        assert_eq!(
            (all.approvals.len(), &*all.approvals[0].commit),
            (MOST, "3")
        );
        // However long they are.
        for at in 0..3 {
            let long = format!("c/{}", "x".repeat(MOST_BYTES / 2 - 10));
            record.add(press(&at.to_string(), &long));
        }
        let all = again(&record);
        assert_eq!((all.approvals.len(), &*all.approvals[0].commit), (2, "1"));
        assert!(record.text().len() < MOST_BYTES + 1_000);
    }

    #[test]
    fn a_text_that_cannot_be_read_approves_nothing() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[]",
            "null",
            &deep,
            r#"{"approvals":[]}"#,
            r#"{"v":2,"approvals":[]}"#,
            r#"{"v":1,"approvals":[{}]}"#,
            r#"{"v":1,"late":[]}"#,
            r#"{"v":1,"approvals":[{"commit":"a","losses":["x"],"login":"o","at":"never"}]}"#,
        ] {
            assert!(ApprovalRecord::read(text).is_err(), "{text}");
        }
        let many: BTreeMap<String, Option<String>> =
            (0..1_000).map(|at| (at.to_string(), None)).collect();
        let text = serde_json::json!({"v": 1, "late": many}).to_string();
        let read = ApprovalRecord::read(&text).expect("it is of this version");
        assert_eq!(read.late.len(), MOST);
    }

    #[test]
    fn what_earlier_processes_recorded_is_added() {
        let old = [
            r#"{"v":1,"approvals":[{"commit":"a","losses":["delete c/one"],"login":"octocat","at":"1970-01-01T00:00:00Z","is_applied":true}]}"#,
            r#"{"v":1,"commits":{"l":null,"m":"a"}}"#,
        ];
        let mut record = ApprovalRecord::default();
        let later = Pressed {
            at: Timestamp::MAX,
            ..press("b", "c/one")
        };
        record.add(later.clone());
        for text in old {
            let earlier = ApprovalRecord::read(text).expect("a file of before");
            record.take_over(earlier.clone());
            record.take_over(earlier);
        }
        assert_eq!(record.approvals(), [press("a", "c/one"), later]);
        assert_eq!(record.late("a", "b"), ["l"], "the other is done");
        // Only a restart brings it back.
        let earlier = ApprovalRecord::read(old[1]).expect("a file of before");
        record.share(earlier);
        assert_eq!(record.late("a", "b"), ["l"]);
    }
}
