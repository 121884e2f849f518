//! The health of a live object (DESIGN §8).
//!
//! In: an object as the API server sent it. Out: a [`Health`]. Generic objects follow kstatus; the
//! kinds of Azure Service Operator, Cluster API, the ARO provider and HyperShift follow their own rules, which
//! require a true condition about the newest spec: an object without a status is progressing, never
//! ready. Those rules are a table, which [`export`] writes for other engines.
//!
//! It does not know the time, other objects, or what waits for the object.

mod answers;
mod aro;
mod aso;
mod capi;
mod cause;
mod core;
mod deletion;
pub mod export;
mod help;
mod hyper_shift;
mod kstatus;
mod live;
mod pod;
mod private_link;
mod rule;
mod table;
mod workload;

use serde_json::Value;

use crate::model::{Health, HealthState};

use answers::{from_condition, progressing};
pub use cause::Cause;
pub use deletion::{held, is_failure, obstacle};
pub use help::{causes, help};
pub use live::{Condition, Live};

/// The health of a live object.
#[must_use]
pub fn health(object: &Value) -> Health {
    let live = Live(object);
    if live.kind().is_empty() {
        return Health::new(HealthState::Unknown, "", "");
    }
    if live.is_deleting() {
        return Health::new(HealthState::Progressing, "Deleting", "being deleted");
    }
    match table::clauses(live.group(), live.kind()) {
        Some(clauses) => rule::decide(clauses, live),
        None => kstatus::health(live),
    }
}

#[cfg(test)]
mod tests;
