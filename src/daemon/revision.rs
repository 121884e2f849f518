//! A revision on its way into the cluster, and what applies it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::task::AbortOnDropHandle;

use super::job::Prepared;
use super::verdict::Verdict;
use crate::adapters::kubernetes::Assignment;
use crate::apply::{PruneStatus, Report, Tracker};
use crate::model::{CheckState, ObjectId};
use crate::plan::Plan;

/// A revision on its way into the cluster.
pub(super) struct Sync {
    /// Tells it from others, also of the same revision.
    pub(super) number: u64,
    pub(super) revision: String,
    pub(super) prepared: Prepared,
    /// How members fare that this revision does not have.
    pub(super) leaving: BTreeMap<ObjectId, PruneStatus>,
    /// Whether everything was applied, and removed what was to be.
    pub(super) settled: bool,
    /// Why nothing can be done.
    pub(super) stuck: Option<String>,
    /// Since when the fleet is suspended.
    pub(super) suspended: Option<String>,
    /// Whether anything of it was applied.
    pub(super) opened: bool,
    /// What was applied before, until this is.
    pub(super) earlier: Option<(String, Arc<Plan>)>,
    pub(super) tracker: Tracker,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    /// Its pending check is to be published first.
    Announced,
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
    pub(super) assignments: UnboundedSender<Assignment>,
    pub(super) _task: AbortOnDropHandle<()>,
}

impl Sync {
    /// The revision that is applied, or about to be, and its plan: the one before, as long as the fleet is
    /// suspended and nothing of this one was applied.
    pub(super) fn applied(&self) -> Option<(String, Arc<Plan>)> {
        match self.suspended.is_some() && !self.opened {
            true => self.earlier.clone(),
            false => Some((self.revision.clone(), Arc::clone(&self.prepared.plan))),
        }
    }

    /// Something is applied or removed, so the fleet is not suspended; `false` when that was known.
    fn open(&mut self) -> bool {
        (self.opened, self.earlier) = (true, None);
        self.suspended.take().is_some()
    }

    /// Takes in what happened; `false` when nothing changed.
    pub(super) fn note(&mut self, report: Report) -> bool {
        match report {
            Report::Object(progress) => {
                let is_change = self.tracker.note(&progress);
                if is_change {
                    tracing::debug!(object = %progress.object, state = ?progress.state, why = progress.message, "seen");
                }
                return is_change;
            }
            Report::Prune(id, leaving) => {
                // Of an empty fleet all are kept for one reason, which its check gives.
                if !self.prepared.is_empty() {
                    tracing::info!(object = %id, "no longer in the fleet: {leaving}");
                }
                self.open();
                self.leaving.insert(id, leaving);
            }
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
            Report::Suspended(since) => {
                tracing::info!(since, "the fleet is suspended: nothing is applied");
                (self.suspended, self.stuck) = (Some(since), None);
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

    /// Whether it has nothing to apply although the cluster has objects of the fleet.
    pub(super) fn is_emptied(&self) -> bool {
        self.prepared.is_empty() && !self.leaving.is_empty()
    }

    /// Whether something could not be done.
    pub(super) fn has_failed(&self, now: Timestamp) -> bool {
        self.stuck.is_some() || !self.tracker.summary(now).failed.is_empty()
    }

    /// Whether its check is still pending.
    pub(super) fn is_pending(&self) -> bool {
        match &self.stage {
            Stage::Announced | Stage::Preparing => true,
            Stage::Running(run) => run.verdict.state == CheckState::Pending,
        }
    }
}
