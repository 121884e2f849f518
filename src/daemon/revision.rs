//! A revision on its way into the cluster, and what applies it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::job::Prepared;
use crate::adapters::kubernetes::Input;
use crate::apply::{AppliedRevision, AppliedState};
use crate::apply::{Progress, PruneStatus, Report, State, Suspension, Tracker};
use crate::model::ObjectId;
use crate::reporting::Verdict;

/// A revision on its way into the cluster.
pub(super) struct Sync {
    /// Tells it from others, also of the same revision.
    pub(super) number: u64,
    pub(super) revision: String,
    pub(super) prepared: Prepared,
    /// How members fare that this revision does not have.
    pub(super) leaving: BTreeMap<ObjectId, PruneStatus>,
    /// The kinds of members that cannot be seen, and why.
    pub(super) unseen: BTreeMap<(String, String), String>,
    /// Which fields stay of objects although they are not applied any more.
    pub(super) staying: BTreeMap<ObjectId, String>,
    /// Whether everything was applied, and removed what was to be.
    pub(super) settled: bool,
    /// Why nothing can be done.
    pub(super) stuck: Option<String>,
    /// Since when the fleet is suspended.
    pub(super) suspended: Option<String>,
    /// What the cluster has of the fleet.
    pub(super) applied: AppliedState,
    pub(super) tracker: Tracker,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    /// Its pending check is to be published first, but no later than then; the alarm rings at that time.
    Announced {
        until: Instant,
        _alarm: AbortOnDropHandle<()>,
    },
    /// The cluster is being made ready for it.
    Preparing,
    /// It is being applied, or was, and is watched.
    Running(Run),
}

pub(super) struct Run {
    /// Whether a report is due already.
    pub(super) report_due: bool,
    pub(super) verdict: Verdict,
}

/// What applies one revision after the other; it ends when this is dropped.
pub(super) struct Runner {
    pub(super) inputs: UnboundedSender<Input>,
    pub(super) _task: AbortOnDropHandle<()>,
}

impl Sync {
    /// The revision that is applied, or about to be, and its plan: the one before, as long as the fleet is
    /// suspended and nothing of this one was applied.
    pub(super) fn applied(&self) -> Option<AppliedRevision> {
        let this = || (self.revision.clone(), Some(Arc::clone(&self.prepared.plan)));
        match &self.applied {
            AppliedState::This | AppliedState::Unwatched => Some(this()),
            _ if self.suspended.is_none() => Some(this()),
            AppliedState::Earlier(earlier) => Some(earlier.clone()),
            AppliedState::Unknown | AppliedState::Nothing => None,
        }
    }

    /// Something is applied or removed, so the fleet is not suspended; `false` when that was known.
    fn open(&mut self) -> bool {
        self.applied = AppliedState::This;
        self.suspended.take().is_some()
    }

    /// Nothing is done. Returns the earlier revision that is applied, if its plan is not known.
    pub(super) fn suspend(&mut self, suspension: Suspension) -> Option<String> {
        let Suspension { since, applied } = suspension;
        tracing::info!(since, "the fleet is suspended: nothing is applied");
        (self.suspended, self.stuck) = (Some(since), None);
        let is_known = match &self.applied {
            AppliedState::This | AppliedState::Unwatched => true,
            AppliedState::Earlier((earlier, _)) => applied.is_empty() || *earlier == applied,
            AppliedState::Unknown | AppliedState::Nothing => false,
        };
        match applied {
            _ if is_known => None,
            applied if applied.is_empty() => {
                self.applied = AppliedState::Nothing;
                None
            }
            applied if applied == self.revision => {
                self.applied = AppliedState::Unwatched;
                None
            }
            applied => {
                self.applied = AppliedState::Unknown;
                Some(applied)
            }
        }
    }

    /// Takes in what happened; `false` when nothing changed.
    pub(super) fn note(&mut self, report: Report) -> bool {
        if matches!(self.applied, AppliedState::Unknown) {
            self.applied = AppliedState::Nothing;
        }
        match report {
            Report::Object(progress) => {
                let is_news = self.stay(&progress);
                let is_change = self.tracker.note(&progress);
                if is_change {
                    tracing::debug!(object = %progress.object, state = ?progress.state, why = progress.message, "seen");
                }
                return is_change || is_news;
            }
            Report::Prune(id, leaving) => {
                // Of an empty fleet all are kept for one reason, which its check gives.
                if !self.prepared.is_empty() {
                    tracing::info!(object = %id, "no longer in the fleet: {leaving}");
                }
                self.open();
                self.leaving.insert(id, leaving);
            }
            Report::Unseen(kind, Some(why)) => {
                tracing::warn!(kind = kind.1, why, "not seen");
                self.unseen.insert(kind, why);
            }
            Report::Unseen(kind, None) => drop(self.unseen.remove(&kind)),
            Report::Suspended(suspension) => drop(self.suspend(suspension)),
            Report::Denied | Report::Recording(_) => return false,
            Report::Applied(..) => return self.open(),
            Report::Settled => {
                self.open();
                (self.settled, self.stuck) = (true, None);
            }
            Report::Begun => {
                self.open();
                self.stuck = None;
            }
            Report::Stuck(why) => {
                // It is tried every few seconds.
                if self.stuck.as_ref() == Some(&why) {
                    return false;
                }
                tracing::warn!(why, "nothing can be applied");
                self.stuck = Some(why);
            }
        }
        true
    }

    /// Notes the fields that stay of an object that was applied; `false` when that is not new.
    fn stay(&mut self, progress: &Progress) -> bool {
        let Progress {
            object, message, ..
        } = progress;
        if progress.state != State::Applied || self.staying.get(object) == Some(message) {
            return false;
        }
        if message.is_empty() {
            return self.staying.remove(object).is_some();
        }
        tracing::info!(%object, "fields that left the fleet stay: {message}");
        self.staying.insert(object.clone(), message.clone());
        true
    }

    /// Whether it has nothing to apply although the cluster has objects of the fleet.
    pub(super) fn is_emptied(&self) -> bool {
        self.prepared.is_empty() && !self.leaving.is_empty()
    }

    /// Whether something could not be done.
    pub(super) fn has_failed(&self, now: Timestamp) -> bool {
        self.stuck.is_some() || !self.tracker.summary(now).failed.is_empty()
    }
}
