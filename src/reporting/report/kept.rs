//! Losses that wait for an approval since an earlier revision: the candidate does not cause them, and may approve them.
//!
//! In: those losses, what is approved, and the clusters and pools of the candidate. Out: text, and a part of the title. It
//! does not know what the candidate itself loses.

use std::collections::BTreeSet;

use super::account::Loss;
use super::asking::{meaning, noun, trailers};
use super::parts::list;
use crate::plan::approvals::{Approvals, Verb, What};
use crate::plan::losses::Unit;

/// What a candidate makes of the losses that wait.
pub(super) struct Waiting<'a> {
    /// Those that go on waiting.
    open: Vec<&'a What>,
    /// Those that happen once the candidate is merged.
    approved: Vec<&'a What>,
    /// Those whose cluster or pool the candidate has again.
    returned: Vec<&'a What>,
}

impl<'a> Waiting<'a> {
    /// Sorts `waiting` by what is approved, and by the clusters and pools of the candidate.
    pub(super) fn of(
        waiting: &'a BTreeSet<What>,
        approvals: &Approvals,
        units: &BTreeSet<Unit>,
    ) -> Self {
        let is_back = |what: &&What| what.loss().is_some_and(|(_, unit)| units.contains(unit));
        let (returned, gone): (Vec<_>, Vec<_>) = waiting.iter().partition(is_back);
        let is_approved = |what: &&What| approvals.given.iter().any(|one| one.what == **what);
        let (approved, open) = gone.into_iter().partition(is_approved);
        Self {
            open,
            approved,
            returned,
        }
    }

    /// The approvals that count for one of them, or would.
    pub(super) fn asked(&self) -> impl Iterator<Item = &What> {
        self.open.iter().chain(&self.approved).copied()
    }

    /// `; approves 1 earlier loss`; empty if it approves none.
    pub(super) fn title(&self) -> String {
        match self.approved.len() {
            0 => String::new(),
            1 => "; approves 1 earlier loss".to_owned(),
            count => format!("; approves {count} earlier losses"),
        }
    }

    /// The paragraphs about them; empty without any.
    pub(super) fn text(&self) -> String {
        self.waits() + &self.goes() + &self.stays()
    }

    fn waits(&self) -> String {
        let lines = lines(&self.open, |verb, unit| {
            let (what, noun) = (noun(unit), verb.noun());
            format!("{what} {unit} is kept: its {noun} needs approval")
        });
        let open: Vec<What> = self.open.iter().copied().cloned().collect();
        let (waits, these) = match open.len() {
            0 => return String::new(),
            1 => ("1 loss waits".to_owned(), "this line"),
            count => (format!("{count} losses wait"), "these lines"),
        };
        format!(
            "{waits} for approval since an earlier revision, and not because of this commit:\n\n{lines}\nTo approve it here, end the message of a commit and of a merge or a squash in {these}:\n\n{}\n",
            trailers(&open)
        )
    }

    fn goes(&self) -> String {
        let lines = lines(&self.approved, |verb, unit| match verb {
            Verb::Delete | Verb::Release => meaning(&Loss {
                unit: unit.clone(),
                verb,
                renamed: None,
                is_deleted: verb == Verb::Delete,
                nodes: 0,
                is_approved: true,
            }),
            Verb::Rename | Verb::Recreate => format!("the {} of {unit}", verb.noun()),
        });
        match lines.is_empty() {
            true => String::new(),
            false => format!(
                "Approved, and done once this is merged, although it left the fleet with an earlier revision:\n\n{lines}\n"
            ),
        }
    }

    fn stays(&self) -> String {
        let lines = lines(&self.returned, |_, unit| format!("{} {unit}", noun(unit)));
        match lines.is_empty() {
            true => String::new(),
            false => format!(
                "Kept in the cluster since an earlier revision, so that this commit takes it back and makes no new one:\n\n{lines}\n"
            ),
        }
    }
}

/// A line for each; empty for none.
fn lines(losses: &[&What], line: impl Fn(Verb, &Unit) -> String) -> String {
    let losses = losses.iter().filter_map(|what| what.loss());
    let lines: Vec<String> = losses.map(|(verb, unit)| line(verb, unit)).collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()),
    }
}
