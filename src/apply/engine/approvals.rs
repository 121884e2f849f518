//! What people approved: asked for once it is known what was applied before. Until the first answer nothing is removed,
//! and the end of the assignment waits; the rest is applied. What nobody approved stops only itself: that loss does not
//! happen, or neither half of that rename, and everything else does.
//!
//! In: an answer. Out: the question, and another round of decisions. It does not know where approvals come from.

use super::super::event::Command;
use super::super::{ApprovalsAnswer, ApprovalsRequest};
use super::{Approvals, Engine};

impl Engine {
    /// Asks what people approved since the revision `applied`. What they approved since another one does not count.
    pub(super) fn ask_approvals(&mut self, applied: String) {
        let number = self.number();
        let request = ApprovalsRequest { number, applied };
        // The parent is read again after a failure: answers to a second question could not be told from those to the first.
        if self.asked() == Some(&request) {
            return;
        }
        self.work.guard.approvals.clear();
        self.work.approvals = Approvals::Asked(request.clone());
        self.command(Command::AskApprovals(request));
    }

    /// Takes in the newest answer. What an earlier one allowed, and was not sent yet, is judged again.
    pub(super) fn approved(&mut self, answer: ApprovalsAnswer) {
        if self.asked() != Some(&answer.request) {
            return;
        }
        self.work.guard.approvals = answer.approvals;
        self.work.approvals = Approvals::Answered(answer.request);
        self.work.removals.judge_again();
    }

    const fn asked(&self) -> Option<&ApprovalsRequest> {
        match &self.work.approvals {
            Approvals::Unasked => None,
            Approvals::Asked(request) | Approvals::Answered(request) => Some(request),
        }
    }

    /// Whether what people approved is known.
    pub(super) const fn knows_approvals(&self) -> bool {
        matches!(self.work.approvals, Approvals::Answered(_))
    }
}
