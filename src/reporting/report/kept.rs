//! Losses that wait for an approval since an earlier revision: the candidate does not cause them, and may approve them.
//!
//! In: those losses, what is approved, and the clusters and pools of the candidate. Out: text, and a part of the title. It
//! does not know what the candidate itself loses.

use std::collections::BTreeSet;

use super::account::Loss;
use super::asking::{Trailers, kept, meaning, noun, trailers};
use super::parts::{counted, list};
use crate::apply::Unapproved;
use crate::plan::approvals::{Approvals, Verb, What};
use crate::plan::losses::Unit;

/// What a candidate makes of the losses that wait.
pub(super) struct Waiting<'a> {
    /// Those that go on waiting.
    open: Vec<&'a Unapproved>,
    /// Those that happen once the candidate is merged.
    approved: Vec<&'a Unapproved>,
    /// Those whose cluster or pool the candidate has again.
    returned: Vec<&'a Unapproved>,
}

impl<'a> Waiting<'a> {
    /// Sorts `waiting` by what is approved, and by the clusters and pools of the candidate. What is among the losses of the
    /// candidate is told there.
    pub(super) fn of(
        waiting: &'a BTreeSet<Unapproved>,
        lost: &[Loss],
        approvals: &Approvals,
        units: &BTreeSet<Unit>,
    ) -> Self {
        let waiting = waiting.iter();
        let waiting = waiting.filter(|loss| lost.iter().all(|own| own.unit != loss.unit));
        let (returned, gone): (Vec<_>, Vec<_>) =
            waiting.partition(|loss| units.contains(&loss.unit));
        let is_approved = |loss: &&Unapproved| {
            let what = loss.what();
            approvals.given.iter().any(|one| one.what == what)
        };
        let (approved, open) = gone.into_iter().partition(is_approved);
        Self {
            open,
            approved,
            returned,
        }
    }

    /// The approvals that count for one of them, or would.
    pub(super) fn asked(&self) -> impl Iterator<Item = What> {
        self.open
            .iter()
            .chain(&self.approved)
            .map(|loss| loss.what())
    }

    /// The clusters and pools that wait.
    pub(super) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.open
            .iter()
            .chain(&self.approved)
            .map(|loss| &loss.unit)
    }

    /// Returns true if the candidate has a cluster or a pool again: its files are compared with nothing.
    pub(super) fn is_blind(&self) -> bool {
        !self.returned.is_empty()
    }

    /// `; takes 1 cluster back, and what changes of it is not known; approves 1 earlier loss`; empty if it does neither.
    pub(super) fn title(&self) -> String {
        let is_pool = |loss: &&&Unapproved| loss.unit.pool.is_some();
        let pools = self.returned.iter().filter(is_pool).count();
        let back = [
            (self.returned.len() - pools, "cluster"),
            (pools, "node pool"),
        ];
        let back = back.into_iter().filter(|(count, _)| *count > 0);
        let back: Vec<String> = back.map(|(count, noun)| counted(count, noun)).collect();
        let back = match back.is_empty() {
            true => String::new(),
            false => format!(
                "; takes {} back, and what changes of it is not known",
                back.join(" and ")
            ),
        };
        match self.approved.len() {
            0 => back,
            1 => back + "; approves 1 earlier loss",
            count => format!("{back}; approves {count} earlier losses"),
        }
    }

    /// The paragraphs about them; empty without any.
    pub(super) fn text(&self, trailers: Trailers) -> String {
        self.waits(trailers) + &self.goes() + &self.stays()
    }

    fn waits(&self, way: Trailers) -> String {
        let lines = lines(&self.open, kept);
        let open: Vec<What> = self.open.iter().map(|loss| loss.what()).collect();
        let (waits, these) = match open.len() {
            0 => return String::new(),
            1 => ("1 loss waits".to_owned(), "this line"),
            count => (format!("{count} losses wait"), "these lines"),
        };
        let how = match way {
            Trailers::Count | Trailers::CountIfSigned => format!(
                "To approve it here, end the message of a commit and of a merge or a squash in {these}:\n\n{}",
                trailers(&open)
            ),
            Trailers::AreVoid => {
                "The sync check of the applied revision says how to approve it.\n".to_owned()
            }
        };
        format!(
            "{waits} for approval since an earlier revision, and not because of this commit:\n\n{lines}\n{how}\n"
        )
    }

    fn goes(&self) -> String {
        let lines = lines(&self.approved, |loss| match loss.verb {
            Verb::Delete | Verb::Release => meaning(&Loss {
                unit: loss.unit.clone(),
                verb: loss.verb,
                renamed: None,
                is_deleted: loss.verb == Verb::Delete,
                is_in_azure: true,
                nodes: 0,
                is_approved: true,
            }),
            Verb::Rename | Verb::Recreate => format!("the {} of {}", loss.verb.noun(), loss.unit),
        });
        match lines.is_empty() {
            true => String::new(),
            false => format!(
                "Approved, and done once this is merged, although it left the fleet with an earlier revision:\n\n{lines}\n"
            ),
        }
    }

    fn stays(&self) -> String {
        let lines = lines(&self.returned, |loss| {
            format!("{} {}", noun(&loss.unit), loss.unit)
        });
        match lines.is_empty() {
            true => String::new(),
            false => format!(
                "Kept in the cluster since an earlier revision, so that this commit takes it back and makes no new one. This plan does not know what its files change of it, such as a pool that they leave out; `capstan plan --against live` does:\n\n{lines}\n"
            ),
        }
    }
}

/// A line for each; empty for none.
fn lines(losses: &[&Unapproved], line: impl Fn(&Unapproved) -> String) -> String {
    let lines: Vec<String> = losses.iter().map(|loss| line(loss)).collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()),
    }
}
