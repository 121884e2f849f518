//! Requests of earlier assignments: a step waits for those about its object.

use super::super::event::{Applied, Failure};
use super::Engine;
use crate::health::Live;
use crate::model::ObjectId;

impl Engine {
    /// The assignment is about to be replaced: takes down what it has under way.
    pub(super) fn await_late(&mut self) {
        let number = self.number();
        let (steps, removals) = (&self.work.steps, &self.work.removals);
        let applies = steps.under_way();
        let applies = applies.map(|(at, object)| ((number, at), object.clone()));
        self.late.applies.extend(applies);
        let removals = removals.under_way().map(|id| (number, id.clone()));
        self.late.removals.extend(removals);
    }

    /// Whether the object of a step has to wait for a request of an earlier assignment.
    pub(super) fn is_late(&self, at: usize) -> bool {
        self.late.are_about(self.work.steps.object(at))
    }

    /// Takes in the answer to an apply of an earlier assignment. An object that has left the fleet since is now
    /// a member, perhaps before a watch reports it. For an object that is still in the fleet, the step's own
    /// apply decides.
    pub(super) fn answered_late(
        &mut self,
        number: u64,
        at: usize,
        answer: Result<Applied, Failure>,
    ) {
        let object = self.late.applies.remove(&(number, at));
        if let Ok(Applied { live, .. }) = answer {
            let id = Live(&live).id();
            if self.work.steps.of(&id).is_none() {
                self.seen(&id, &live);
            }
        }
        self.go_on(object);
    }

    /// A removal of an earlier assignment was answered; the watch reports what became of the object.
    pub(super) fn removed_late(&mut self, number: u64, id: ObjectId) {
        self.late.removals.remove(&(number, id.clone()));
        self.go_on(Some(id));
    }

    /// Queues the step that waits for this, if nothing else is under way about its object.
    fn go_on(&mut self, object: Option<ObjectId>) {
        let object = object.filter(|object| !self.late.are_about(object));
        if let Some(at) = object.and_then(|object| self.work.steps.of(&object)) {
            self.work.steps.queue_after_late(at);
        }
    }
}
