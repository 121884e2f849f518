//! Where each member is that the plan no longer has.
//!
//! ```text
//! Pending ─► Reading ─► Pending ─► Queued ─► Removing ─► Accepted ─► (gone)
//!    ▲          └─────────► BackingOff ◄────────┘
//!    └──────────────────────────┘
//! ```
//!
//! They are judged in rounds, since the decision about one depends on the others: a round begins when
//! something happened, no request is under way, and all their references are known.
//!
//! In: what happened to a member that leaves. Out: its state. It does not know: what is decided, and why.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;

use super::PruneStatus;
use super::event::Removal;
use crate::model::ObjectId;
use crate::plan::losses::Likeness;

/// Where a member that leaves is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemovalState {
    /// It is judged in the next round.
    Pending,
    /// It is being read, for what it refers to.
    Reading,
    /// It is removed in this round.
    Queued(Removal),
    /// The object with this uid is being removed.
    Removing { uid: String },
    /// The cluster took the removal of the object with this uid; a watch reports when it is gone.
    Accepted { uid: String },
    /// A request failed; it is judged again then.
    BackingOff { until: Timestamp },
    /// It left while a request was under way, or backed off; `returned` when it came back since.
    Left { returned: bool },
}

impl RemovalState {
    /// Whether no other member is judged before the outcome of this one is known.
    const fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Reading | Self::Removing { .. } | Self::BackingOff { .. } | Self::Left { .. }
        )
    }
}

/// What is read of a member that leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traits {
    /// What it refers to.
    pub(crate) refers: Vec<ObjectId>,
    /// By what a cluster or a pool is recognised under another name.
    pub(crate) likeness: Option<Likeness>,
}

/// A member that leaves.
#[derive(Clone, Debug)]
struct Entry {
    /// What is read of it, once that is known.
    traits: Option<Traits>,
    state: RemovalState,
}

/// The members that leave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Removals {
    entries: BTreeMap<ObjectId, Entry>,
    /// What was reported of each last.
    reported: BTreeMap<ObjectId, PruneStatus>,
    /// Those that are removed in this round, in order.
    round: VecDeque<ObjectId>,
    /// How many are busy.
    busy: usize,
    /// Whether something happened that may change the decisions.
    stirred: bool,
}

impl Removals {
    /// A member leaves.
    pub(crate) fn add(&mut self, id: &ObjectId) {
        let entry = self.entries.entry(id.clone()).or_insert(Entry {
            traits: None,
            state: RemovalState::Pending,
        });
        if let RemovalState::Left { returned } = &mut entry.state {
            *returned = true;
        }
        self.stirred = true;
    }

    /// Something happened that may change the decisions.
    pub(crate) const fn stir(&mut self) {
        self.stirred = true;
    }

    /// Lets go of what was decided and not sent yet.
    pub(crate) fn judge_again(&mut self) {
        while self.next().is_some() {}
        self.stirred = true;
    }

    /// Whether no member leaves.
    pub(crate) fn is_empty(&self) -> bool {
        !self.entries.values().any(is_leaving)
    }

    /// Where a member that leaves is.
    pub(crate) fn state(&self, id: &ObjectId) -> Option<&RemovalState> {
        self.entries.get(id).map(|entry| &entry.state)
    }

    /// How many requests are under way, or backed off.
    pub(crate) const fn busy(&self) -> usize {
        self.busy
    }

    /// Whether all that leave stay for now, and nothing is under way.
    pub(crate) fn are_calm(&self) -> bool {
        let held = |id: &ObjectId| self.reported.get(id).is_some_and(PruneStatus::is_kept);
        let mut leaving = self.entries.iter().filter(|(_, entry)| is_leaving(entry));
        self.busy == 0 && leaving.all(|(id, _)| held(id))
    }

    /// The members that stay until a person acts, each with the reason.
    pub(crate) fn held(&self) -> impl Iterator<Item = (&ObjectId, String)> {
        let leaving = self.entries.iter().filter(|(_, entry)| is_leaving(entry));
        leaving.filter_map(|(id, _)| match self.reported.get(id) {
            Some(PruneStatus::Held(why)) => Some((id, why.clone())),
            Some(PruneStatus::Unapproved(loss)) => Some((id, loss.to_string())),
            _ => None,
        })
    }

    /// The members about whose removal a request is under way.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &ObjectId> {
        let removing = |entry: &Entry| matches!(entry.state, RemovalState::Removing { .. });
        let entries = self.entries.iter();
        entries
            .filter(move |(_, entry)| removing(entry))
            .map(|(id, _)| id)
    }

    /// Begins a round, if it is time for one.
    pub(crate) fn begin_round(&mut self) -> bool {
        let begins = self.stirred && self.round.is_empty() && self.busy == 0;
        if begins {
            self.stirred = false;
        }
        begins
    }

    /// Those whose references are not known yet.
    pub(crate) fn unread(&self) -> Vec<ObjectId> {
        let unread = |(_, entry): &(&ObjectId, &Entry)| is_leaving(entry) && entry.traits.is_none();
        let unread = self.entries.iter().filter(unread);
        unread.map(|(id, _)| id.clone()).collect()
    }

    /// All that leave, each with what it refers to.
    pub(crate) fn references(&self) -> BTreeMap<ObjectId, Vec<ObjectId>> {
        let leaving = self.entries.iter().filter(|(_, entry)| is_leaving(entry));
        let refers = |entry: &Entry| {
            let traits = entry.traits.as_ref();
            traits
                .map(|traits| traits.refers.clone())
                .unwrap_or_default()
        };
        leaving
            .map(|(id, entry)| (id.clone(), refers(entry)))
            .collect()
    }

    /// Moves it to another state.
    pub(crate) fn enter(&mut self, id: &ObjectId, state: RemovalState) {
        let Some(entry) = self.entries.get_mut(id) else {
            return;
        };
        self.busy -= usize::from(entry.state.is_busy());
        self.busy += usize::from(state.is_busy());
        if matches!(state, RemovalState::Queued(_)) {
            self.round.push_back(id.clone());
        }
        entry.state = state;
    }

    /// Takes the next one that is removed in this round.
    pub(crate) fn next(&mut self) -> Option<(ObjectId, Removal)> {
        while let Some(id) = self.round.pop_front() {
            if let Some(RemovalState::Queued(removal)) = self.state(&id) {
                let removal = *removal;
                self.enter(&id, RemovalState::Pending);
                return Some((id, removal));
            }
        }
        None
    }

    /// Notes what is read of a member that leaves.
    pub(crate) fn read(&mut self, id: &ObjectId, traits: Traits) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.traits = Some(traits);
        }
    }

    /// The members that leave.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = &ObjectId> {
        let leaving = self.entries.iter().filter(|(_, entry)| is_leaving(entry));
        leaving.map(|(id, _)| id)
    }

    /// By what the clusters and pools that leave are recognised.
    pub(crate) fn likenesses(&self) -> impl Iterator<Item = &Likeness> {
        let leaving = self.entries.values().filter(|entry| is_leaving(entry));
        leaving.filter_map(|entry| entry.traits.as_ref()?.likeness.as_ref())
    }

    /// A request about it was answered, or its back-off has passed: it is judged again, unless it is
    /// gone. Returns whether the answer is about an object that still leaves.
    pub(crate) fn ended(&mut self, id: &ObjectId) -> bool {
        self.stirred = true;
        let left = match self.state(id) {
            Some(RemovalState::Left { returned }) => Some(*returned),
            Some(_) => None,
            None => return false,
        };
        self.enter(id, RemovalState::Pending);
        if left == Some(false) {
            self.entries.remove(id);
        }
        left.is_none()
    }

    /// A request about an object may have had no effect: it is sent again when its turn comes.
    pub(crate) fn doubt(&mut self, id: &ObjectId) {
        self.stirred = true;
        let unknown = String::new();
        match self.state(id) {
            Some(RemovalState::Accepted { .. }) => self.enter(id, RemovalState::Pending),
            Some(RemovalState::Removing { .. }) => {
                self.enter(id, RemovalState::Removing { uid: unknown });
            }
            _ => {}
        }
    }

    /// An object has left; `true` if it was one of those that leave.
    pub(crate) fn left(&mut self, id: &ObjectId) -> bool {
        self.stirred = true;
        let Some(entry) = self.entries.get_mut(id) else {
            return false;
        };
        let was_leaving = is_leaving(entry);
        entry.traits = None;
        if entry.state.is_busy() {
            entry.state = RemovalState::Left { returned: false };
        } else {
            self.entries.remove(id);
        }
        was_leaving
    }

    /// Notes what is reported of an object; `true` when that is new.
    pub(crate) fn report(&mut self, id: &ObjectId, status: &PruneStatus) -> bool {
        let before = self.reported.insert(id.clone(), status.clone());
        before.as_ref() != Some(status)
    }
}

/// Whether it has not left.
fn is_leaving(entry: &Entry) -> bool {
    entry.state != RemovalState::Left { returned: false }
}
