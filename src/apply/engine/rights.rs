//! Steps that failed for missing rights. Each backs off for up to five minutes, since there may be ten
//! thousand; one of them at a time is tried every few seconds. Once one succeeds, somebody has changed the
//! credentials or a role, and all are tried at once.

use super::super::event::{Failure, FailureCause, RIGHTS, RetryTarget};
use super::super::steps::StepState;
use super::Engine;
use crate::model::ErrorClass;

impl Engine {
    /// A step failed. Unless the cluster did not answer, a failure for another reason shows that the
    /// rights suffice now.
    pub(super) fn note_rights(&mut self, at: usize, failure: &Failure) {
        match (failure.cause, failure.class) {
            (FailureCause::NoRights, _) => {}
            (_, ErrorClass::Transient) => return,
            _ => return self.regain_rights(at),
        }
        self.work.rights.lacking.insert(at);
        if !std::mem::replace(&mut self.work.rights.is_set, true) {
            self.wake_after(RIGHTS, |_| RetryTarget::Rights);
        }
    }

    /// Tries one of the steps that lack rights.
    pub(super) fn try_rights(&mut self) {
        // Somebody else may have put an object right meanwhile.
        let (rights, steps) = (&mut self.work.rights, &self.work.steps);
        let is_in_sync = |at: usize| steps.state(at) == StepState::InSync;
        rights.lacking.retain(|at| !is_in_sync(*at));
        self.work.rights.is_set = !self.work.rights.lacking.is_empty();
        if let Some(at) = self.work.rights.next(&self.work.steps) {
            self.work.steps.queue(at);
        }
        if self.work.rights.is_set {
            self.wake_after(RIGHTS, |_| RetryTarget::Rights);
        }
    }

    /// A step has the rights it needs: if it lacked them, the others that do are tried, too.
    pub(super) fn regain_rights(&mut self, at: usize) {
        if !self.work.rights.lacking.remove(&at) {
            return;
        }
        let waiting: Vec<usize> = self.work.rights.waiting(&self.work.steps).collect();
        self.work.rights.lacking.clear();
        for other in waiting {
            self.work.steps.queue(other);
        }
    }
}
