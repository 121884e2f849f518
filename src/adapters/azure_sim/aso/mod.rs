//! Azure Service Operator with Azure behind it.
//!
//! In: any ASO resource, its owner and what it refers to. Out: the marks, condition and status that
//! ASO would write, after the time the kind typically takes (facts/aro-rules.md §1.3–§1.8). What Azure
//! does is remembered where ASO remembers it, in the poller annotation, so that a restart goes on
//! where it stopped. It does not know which controller made the resource.

mod arm;
mod deletion;
mod gate;
mod marks;
mod outputs;
mod policy;
mod status;

#[cfg(test)]
mod tests;

use jiff::Timestamp;

use super::failure::Failure;
use crate::api::labels::RESOURCE_ID;
use crate::api::{aso, kinds, timeline};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::controller::Controller;
use crate::reconcile::outcome::Outcome;
use crate::reconcile::world::{GroupKind, World};
use marks::{Marks, Operation};
use policy::{Policy, policy};

/// ASO's field manager.
const MANAGER: &str = "azureserviceoperator-controller";
/// The message of ASO while it works.
const AT_WORK: &str = "The resource is in the process of being reconciled by the operator";

/// The one controller that looks after every kind.
pub(super) fn controllers(failures: &[Failure], kinds: &[GroupKind]) -> Vec<Controller> {
    let failures = failures.to_vec();
    vec![Controller {
        manager: MANAGER,
        watches: kinds.to_vec(),
        handles: |id: &ObjectId| kinds::is_aso(&id.group),
        reconcile: Box::new(move |world, live, now| reconcile(world, live, now, &failures)),
    }]
}

fn reconcile(world: World<'_>, live: Live<'_>, now: Timestamp, failures: &[Failure]) -> Outcome {
    if live.is_deleting() {
        return deletion::reconcile(world, live, now);
    }
    let failure = failures.iter().find(|failure| hits(failure, live));
    match Operation::of(live) {
        Some(operation) if operation.is_about(live) => run(world, live, now, &operation, failure),
        _ if is_settled(live, failure) => Outcome::default(),
        _ => begin(world, live, now),
    }
}

fn hits(failure: &Failure, live: Live<'_>) -> bool {
    let elsewhere = failure.namespace.as_deref();
    failure.kind == live.kind()
        && failure.name == live.name()
        && elsewhere.is_none_or(|namespace| namespace == live.namespace())
}

/// Whether the condition about this spec is final: it succeeded, or Azure refused it. Waiting for
/// something else is not final.
fn is_settled(live: Live<'_>, failure: Option<&Failure>) -> bool {
    let Some(ready) = live.condition(aso::READY).filter(|c| live.is_current(*c)) else {
        return false;
    };
    // A failure may be configured with a reason that means waiting; then it counts once Azure was asked.
    let asked = !live.annotation(RESOURCE_ID).is_empty();
    let as_configured = asked && failure.is_some_and(|failure| failure.reason == ready.reason());
    let working = ready.severity() == aso::INFO || gate::REASONS.contains(&ready.reason());
    ready.is_true() || as_configured || !working
}

/// Starts work in Azure, or reports what it waits for.
fn begin(world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
    let gate = gate::check(world, live);
    let mut outcome = Outcome {
        needs: gate.needs,
        ..Outcome::default()
    };
    if let Some((reason, message)) = gate.blocked {
        let condition = NewCondition::no(reason, message).severe(aso::WARNING);
        outcome.maybe(Marks::of(live).kept_owners().write());
        outcome.maybe(status::report(live, now, condition, None));
        return outcome;
    }
    if status::is_broken(live) {
        outcome.maybe(status::report(live, now, status::refuse_update(live), None));
        return outcome;
    }
    let operation = Operation::starting(live, now);
    outcome.wake_at(due(live, &operation, None));
    let marks = Marks::of(live)
        .owned_by(gate.owner)
        .id(arm::id(world, live));
    outcome.maybe(marks.operation(operation).write());
    let condition = NewCondition::no(aso::RECONCILING, AT_WORK).severe(aso::INFO);
    outcome.maybe(status::report(
        live,
        now,
        condition,
        Some(status::starting(live)),
    ));
    outcome
}

/// Goes on with the work in Azure until its time is over.
fn run(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    operation: &Operation,
    failure: Option<&Failure>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let due = due(live, operation, failure);
    if now < due {
        let condition = NewCondition::no(aso::RECONCILING, AT_WORK).severe(aso::INFO);
        outcome.maybe(status::report(
            live,
            now,
            condition,
            Some(status::starting(live)),
        ));
        outcome.wake_at(due);
        return outcome;
    }
    match failure {
        Some(failure) => {
            let message = format!("Azure refused the request: {}", failure.reason);
            let condition =
                NewCondition::no(&failure.reason, message).severe(aso::severity(&failure.reason));
            outcome.maybe(status::report(live, now, condition, Some("Failed")));
        }
        None => {
            outcome.writes.extend(outputs::writes(live));
            let id = arm::id(world, live);
            outcome.maybe(status::succeeds(live, now, &id));
        }
    }
    outcome.maybe(Marks::of(live).kept_owners().write());
    outcome
}

/// When the work is over. A failure shows at half time.
fn due(live: Live<'_>, operation: &Operation, failure: Option<&Failure>) -> Timestamp {
    let id = live.id();
    let whole = match (policy(live), status::exists(live)) {
        (Policy::Skip, _) => std::time::Duration::ZERO,
        (_, true) => timeline::update(&id),
        (_, false) => timeline::creation(&id),
    };
    let time = if failure.is_some() { whole / 2 } else { whole };
    operation.start.checked_add(time).unwrap_or(Timestamp::MAX)
}
