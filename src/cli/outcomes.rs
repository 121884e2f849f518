//! What became of each object of an apply.
//!
//! In: what is reported of objects. Out: lines to print, in which objects that failed for one reason are counted,
//! and a closing count. It does not know: how lines are printed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::approvals;
use crate::apply::{Outcome, PruneStatus, Summary};
use crate::model::{ObjectId, Step};
use crate::plan::approvals::Approval;

/// How long failures with one message are collected before they are printed.
const CALM: Duration = Duration::from_millis(500);

/// A line to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// What became of an object.
    Data(String),
    /// What went wrong, or is under way.
    Message(String),
}

/// What became of each object so far.
#[derive(Default)]
pub(super) struct Outcomes {
    /// The objects to apply.
    planned: BTreeSet<Arc<ObjectId>>,
    applied: BTreeMap<ObjectId, Outcome>,
    removed: BTreeSet<ObjectId>,
    /// All that left the fleet, or is to.
    left: BTreeSet<ObjectId>,
    /// The clusters and pools that stay until somebody approves their loss.
    unapproved: BTreeSet<String>,
    /// The message of each failure that was noted.
    failures: BTreeMap<ObjectId, String>,
    /// Those that were not printed, by message, and when the last one came.
    fresh: BTreeMap<String, (Instant, Vec<ObjectId>)>,
    lines: Vec<Line>,
}

impl Outcomes {
    pub(super) fn of(steps: &[Step]) -> Self {
        Self {
            planned: steps.iter().map(|step| Arc::clone(&step.object)).collect(),
            ..Self::default()
        }
    }

    /// Something that a person should know.
    pub(super) fn note(&mut self, message: String) {
        self.lines.push(Line::Message(message));
    }

    /// An object of the plan is as it was asked for.
    pub(super) fn applied(&mut self, id: ObjectId, outcome: Outcome) {
        self.lines.push(Line::Data(line(outcome.word(), &id)));
        self.applied.insert(id, outcome);
    }

    /// The state of a member that leaves the fleet changed.
    pub(super) fn leaves(&mut self, id: ObjectId, status: &PruneStatus) {
        let line = match status {
            PruneStatus::Gone => Line::Data(line("removed", &id)),
            PruneStatus::Released => Line::Data(line("released", &id)),
            PruneStatus::Held(why) => Line::Message(format!("{}: {why}", line("kept", &id))),
            PruneStatus::Unapproved(why) => {
                self.unapproved.insert(why.unit.to_string());
                Line::Message(format!("{}: {why}", line("kept", &id)))
            }
            other => Line::Message(format!("{id}: {other}")),
        };
        self.lines.push(line);
        self.left.insert(id.clone());
        if *status == PruneStatus::Gone {
            self.removed.insert(id);
        }
    }

    /// Whether something stays until somebody approves its loss.
    pub(super) fn is_unapproved(&self) -> bool {
        !self.unapproved.is_empty()
    }

    /// What to say of the approved clusters of which none left the fleet.
    pub(super) fn unused(&self, approvals: &[Approval]) -> Vec<String> {
        approvals::unused(approvals, self.left.iter())
    }

    /// Notes new failures.
    pub(super) fn failed(&mut self, summary: &Summary) {
        for (id, why) in &summary.failed {
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            if self.failures.get(id) != Some(&why) {
                self.failures.insert(id.clone(), why.clone());
                let now = Instant::now();
                let fresh = self.fresh.entry(why).or_insert((now, Vec::new()));
                fresh.0 = now;
                fresh.1.push(id.clone());
            }
        }
    }

    /// The lines to print now: `all`, or those that nothing more is likely to be added to.
    pub(super) fn lines(&mut self, all: bool) -> Vec<Line> {
        let (applied, mut lines) = (&self.applied, std::mem::take(&mut self.lines));
        self.fresh.retain(|why, (last, objects)| {
            let calm = all || last.elapsed() >= CALM;
            if calm {
                let refused =
                    |id: &ObjectId| self.planned.contains(id) && !applied.contains_key(id);
                let (refused, failed): (Vec<&ObjectId>, Vec<_>) =
                    objects.iter().partition(|id| refused(id));
                for (word, objects) in [("refused", refused), ("failed", failed)] {
                    lines.extend(several(word, &objects, why).map(Line::Message));
                }
            }
            !calm
        });
        lines
    }

    /// `2 created, 1 updated, 5 unchanged, 1 removed, 3 not applied`.
    pub(super) fn tally(&self) -> String {
        let of = |wanted: Outcome| {
            let all = self.applied.values();
            (
                all.filter(|outcome| **outcome == wanted).count(),
                wanted.word(),
            )
        };
        let missing = self.planned.len().saturating_sub(self.applied.len());
        let counts = [
            of(Outcome::Created),
            of(Outcome::Updated),
            of(Outcome::Unchanged),
            (self.removed.len(), "removed"),
            (missing, "not applied"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match counts.as_slice() {
            [] => "no object was applied".to_owned(),
            counts => counts.join(", "),
        }
    }
}

fn line(word: &str, id: &ObjectId) -> String {
    format!("{word:<9}  {id}")
}

/// One line for all objects with one message.
fn several(word: &str, objects: &[&ObjectId], why: &str) -> Option<String> {
    let (first, others) = objects.split_first()?;
    Some(match others.len() {
        0 => format!("{}: {why}", line(word, first)),
        others => format!("{word:<9}  {} objects, such as {first}: {why}", others + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", "ns", name)
    }

    fn summary(failed: &[(&str, &str)]) -> Summary {
        let failed = failed
            .iter()
            .map(|(name, why)| (id(name), (*why).to_owned()));
        Summary {
            ready: 0,
            total: 9,
            stage: String::new(),
            left: Duration::ZERO,
            failed: failed.collect(),
            terminal: false,
        }
    }

    fn texts(lines: Vec<Line>) -> Vec<String> {
        let text = |line| match line {
            Line::Data(text) | Line::Message(text) => text,
        };
        lines.into_iter().map(text).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_for_one_reason_is_one_line() {
        let steps = ["a", "b", "c", "d"].map(|name| Step::bare(id(name), &[]));
        let mut outcomes = Outcomes::of(&steps);
        outcomes.applied(id("d"), Outcome::Created);
        let missing = "the cluster does not serve it:\n  install it";
        outcomes.failed(&summary(&[("a", missing), ("d", "Quota: none left")]));
        assert_eq!(texts(outcomes.lines(false)), ["created    ConfigMap/ns/d"]);
        tokio::time::advance(Duration::from_millis(300)).await;
        outcomes.failed(&summary(&[("a", missing), ("b", missing)]));
        tokio::time::advance(Duration::from_millis(300)).await;
        let failed = "failed     ConfigMap/ns/d: Quota: none left";
        assert_eq!(texts(outcomes.lines(false)), [failed]);
        let refused = "refused    2 objects, such as ConfigMap/ns/a: the cluster does not serve it: install it";
        assert_eq!(texts(outcomes.lines(true)), [refused]);
        outcomes.failed(&summary(&[("b", missing)]));
        assert!(outcomes.lines(true).is_empty(), "it was printed");
        assert_eq!(outcomes.tally(), "1 created, 3 not applied");
    }

    #[test]
    fn what_leaves_is_named() {
        let mut outcomes = Outcomes::default();
        outcomes.leaves(id("a"), &PruneStatus::Gone);
        outcomes.leaves(id("b"), &PruneStatus::Held("its policy is Keep".to_owned()));
        outcomes.leaves(id("c"), &PruneStatus::Deleting("being deleted".to_owned()));
        let lines = texts(outcomes.lines(false));
        let kept = "kept       ConfigMap/ns/b: its policy is Keep";
        let deleted = "ConfigMap/ns/c: being deleted";
        assert_eq!(lines, ["removed    ConfigMap/ns/a", kept, deleted]);
        assert_eq!(outcomes.tally(), "1 removed");
    }
}
