//! Steps that are tried in vain until a person acts: the parent records why.

use std::collections::BTreeMap;

use super::super::steps::{Steps, payload};
use super::super::{Reason, Reasons};
use super::Engine;
use crate::api::labels;
use crate::model::ErrorClass;

/// The steps that are tried in vain, each with its reason.
#[derive(Debug, Default)]
pub(super) struct Failures(BTreeMap<usize, Reason>);

impl Failures {
    /// What an earlier process found out holds until its step was tried again.
    pub(super) fn restore(&mut self, before: &Reasons, steps: &Steps) {
        if before.is_empty() {
            return;
        }
        for (at, step) in steps.plan().steps.iter().enumerate() {
            if let Some(reason) = before.about(&step.object) {
                self.0.insert(at, reason.clone());
            }
        }
    }

    /// A step does not fail any more.
    pub(super) fn ended(&mut self, at: usize) {
        self.0.remove(&at);
    }

    /// What the parent keeps of them.
    pub(super) fn reasons(&self) -> Reasons {
        Reasons::of(self.0.values())
    }
}

impl Engine {
    /// A step failed. A cluster that does not answer says nothing about the step: what was known of it stays.
    pub(super) fn note_failure(&mut self, at: usize, class: ErrorClass, in_vain: bool, why: &str) {
        if in_vain {
            let step = self.work.steps.step(at);
            let payload = payload(step).json();
            let file = payload["metadata"]["annotations"][labels::SOURCE].as_str();
            let reason = Reason::new(&step.object, file.unwrap_or_default(), why);
            self.work.failures.0.insert(at, reason);
        } else if class != ErrorClass::Transient {
            self.work.failures.ended(at);
        }
    }
}
