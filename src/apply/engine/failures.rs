//! Steps that are tried in vain until a person acts: the parent records why.

use std::collections::BTreeMap;

use super::super::steps::{Steps, payload};
use super::super::{Reason, Reasons};
use crate::api::labels;
use crate::model::Step;

/// What is said of the object of a step, with the file that it is written in.
pub(super) fn reason(step: &Step, why: &str) -> Reason {
    let payload = payload(step).json();
    let file = payload["metadata"]["annotations"][labels::SOURCE].as_str();
    Reason::new(&step.object, file.unwrap_or_default(), why)
}

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

    /// A step failed. A failure that may still pass by itself ends no other: what was known of the step stays until
    /// it succeeds, or fails in vain again.
    pub(super) fn failed(&mut self, at: usize, step: &Step, vain: Option<&str>) {
        if let Some(why) = vain {
            self.0.insert(at, reason(step, why));
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
