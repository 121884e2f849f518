//! Azure Service Operator with Azure behind it.
//!
//! In: any ASO resource, its owner and what it refers to, and what exists in Azure. Out: the marks, condition and status
//! that ASO would write, after the time the kind typically takes (facts/aro-rules.md §1.3–§1.8), and what that changes in
//! Azure. What Azure is at is remembered where ASO remembers it, in annotations of the resource, so that a restart goes
//! on where it stopped. It does not know which controller made the resource.

mod arm;
mod credential;
mod deletion;
mod external_auth;
mod gate;
mod marks;
mod outputs;
mod policy;
mod skip;
mod status;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use super::aro;
use super::azure::Azure;
use super::failure::Failure;
use super::network;
use crate::api::{aso, kinds, timeline};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::controller::Controller;
use crate::reconcile::outcome::{Need, Outcome, Write, covers};
use crate::reconcile::world::{GroupKind, World};
use marks::{Marks, Operation};
use policy::{Policy, policy};

/// ASO's field manager.
const MANAGER: &str = "azureserviceoperator-controller";
/// How often ASO compares with Azure what has not changed.
const SYNC: Duration = Duration::from_secs(3600);
/// The message of ASO while it works.
const AT_WORK: &str = "The resource is in the process of being reconciled by the operator";

/// The message of ASO while a connection is not approved.
const UNAPPROVED: &str = "The connection to the private link service is not approved";

/// Azure waits for the secret of an external authentication's client.
const AWAITING_SECRET: &str = "AwaitingSecret";

/// The one controller that looks after every kind.
pub(super) fn controllers(
    failures: &[Failure],
    kinds: &[GroupKind],
    azure: &Azure,
) -> Vec<Controller> {
    let (failures, azure) = (failures.to_vec(), azure.clone());
    let aso = Aso { failures, azure };
    vec![Controller {
        manager: MANAGER,
        watches: kinds.to_vec(),
        handles: |id: &ObjectId| kinds::is_aso(&id.group),
        reconcile: Box::new(move |world, live, now| aso.reconcile(world, live, now)),
    }]
}

/// The operator.
struct Aso {
    failures: Vec<Failure>,
    azure: Azure,
}

impl Aso {
    fn reconcile(&self, world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
        aro::pass(&self.azure, now);
        if live.is_deleting() {
            return deletion::reconcile(&self.azure, world, live, now);
        }
        let failure = self.failures.iter().find(|failure| failure.hits(live));
        match Operation::of(live) {
            // What somebody deleted in Azure is asked for again, whatever was asked before.
            Some(operation)
                if operation.is_about(live)
                    && !is_settled(live, failure)
                    && !self.azure.is_lost(&arm::id(world, live)) =>
            {
                self.run(world, live, now, &operation, failure)
            }
            _ if policy(live) == Policy::Skip => skip::look(&self.azure, world, live, now),
            _ if is_settled(live, failure) => self.keep(world, live, now),
            _ => self.begin(world, live, now),
        }
    }

    /// Starts work in Azure, or reports what it waits for.
    fn begin(&self, world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
        let gate = gate::check(world, live);
        let mut outcome = Outcome {
            needs: gate.needs,
            ..Outcome::default()
        };
        let blocked = gate
            .blocked
            .or_else(|| credential::missing(world, live, &mut outcome));
        if let Some((reason, message)) = blocked {
            let condition = NewCondition::no(reason, message).severe(aso::WARNING);
            outcome.maybe(status::report(live, now, condition, None));
            return outcome;
        }
        if status::is_broken(live) {
            outcome.maybe(status::report(live, now, status::refuse_update(live), None));
            return outcome;
        }
        let operation = Operation::starting(live, now);
        let until = due(live, &operation, None);
        let id = arm::id(world, live);
        let marks = Marks::of(live).owned_by(gate.owner).id(id.clone());
        if let Some(refusal) = self.refusal(live, &id, now) {
            let severity = aso::severity(refusal.code);
            match severity {
                aso::ERROR => outcome.maybe(marks.operation(operation).write()),
                _ => outcome.wake_at(now + deletion::RETRY),
            }
            let condition = NewCondition::no(refusal.code, refusal.message).severe(severity);
            outcome.maybe(status::report(live, now, condition, None));
            return outcome;
        }
        outcome.wake_at(until);
        self.azure.begin(&id, until);
        outcome.maybe(marks.operation(operation).write());
        outcome.maybe(working(live, now, status::starting(live)));
        outcome
    }

    /// Why Azure refuses to create or update a resource. A newer spec takes the place of the one that Azure is at, where ASO
    /// would ask again once Azure is done.
    fn refusal(&self, live: Live<'_>, id: &str, now: Timestamp) -> Option<aro::Refusal> {
        let before = Operation::of(live).filter(|before| now < due(live, before, None));
        match before {
            Some(_) => None,
            None => credential::denied(&self.azure, live, id)
                .or_else(|| aro::refuse_put(&self.azure, id, now))
                .or_else(|| network::refuse_put(&self.azure, live, id)),
        }
    }

    /// Goes on with the work in Azure until its time is over.
    fn run(
        &self,
        world: World<'_>,
        live: Live<'_>,
        now: Timestamp,
        operation: &Operation,
        failure: Option<&Failure>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let due = due(live, operation, failure);
        if now < due {
            outcome.maybe(working(live, now, status::starting(live)));
            outcome.wake_at(due);
            return outcome;
        }
        let id = arm::id(world, live);
        match failure {
            Some(failure) => {
                let severity = aso::severity(&failure.reason);
                let message = format!("Azure refused the request: {}", failure.reason);
                let condition = NewCondition::no(&failure.reason, message).severe(severity);
                match status::fails_halfway(live) {
                    true => self.azure.put(&id, status::failed(&self.azure, live, &id)),
                    false => self.azure.abandon(&id),
                }
                outcome.maybe(status::report(live, now, condition, Some("Failed")));
            }
            None => {
                if let Some(secret) = external_auth::awaited(&self.azure, world, live) {
                    outcome.need(secret);
                    outcome.maybe(working(live, now, AWAITING_SECRET));
                    return outcome;
                }
                let state = outputs::state(&self.azure, live, &id);
                outcome.writes.extend(outputs::writes(live, now, &state));
                self.azure.put(&id, state.clone());
                if network::is_approved(&state) {
                    outcome.maybe(status::succeeds(live, now, state));
                } else {
                    outcome.wake_at(now + deletion::RETRY);
                    let condition = NewCondition::no(aso::RECONCILING, UNAPPROVED);
                    let condition = condition.severe(aso::INFO);
                    outcome.maybe(status::ends(live, now, state, condition));
                }
            }
        }
        outcome
    }

    /// Azure has what the spec asks for. Writes the kubeconfig again if somebody deleted it, and some time before its token
    /// expires. Azure may be another one than before: it is as the objects of the cluster report it. What went with its
    /// owner comes back after its owner.
    fn keep(&self, world: World<'_>, live: Live<'_>, now: Timestamp) -> Outcome {
        let mut outcome = Outcome::default();
        let id = arm::id(world, live);
        if live.holds(aso::READY) && self.azure.is_lost(&id) {
            return self.begin(world, live, now);
        }
        if network::is_known(live) {
            outcome.wake_at(now + SYNC);
            self.give(world, live, &id, &mut outcome);
        }
        if live.holds(aso::READY) && !self.azure.has(&id) {
            let owner = gate::owner(live);
            let stays = |owner: Live<'_>| owner.holds(aso::READY) && !owner.is_deleting();
            let has_owner = owner
                .as_ref()
                .is_none_or(|id| world.get(id).present().is_some_and(stays));
            if has_owner {
                self.azure.put(&id, outputs::state(&self.azure, live, &id));
            }
            outcome.needs.extend(owner.map(Need::Object));
        }
        if let Some(secret) = outputs::kubeconfig(live, now) {
            let id = Live(&secret).id();
            let held = world.get(&id);
            let renewal = held.present().and_then(outputs::renewal);
            if held.is_absent() || renewal.is_some_and(|time| time <= now) {
                outcome.write(Write::Apply(secret));
            } else if let Some(time) = renewal {
                outcome.wake_at(time);
            }
            outcome.need(id);
        }
        outcome
    }

    /// Writes the ConfigMaps again that somebody deleted or changed.
    fn give(&self, world: World<'_>, live: Live<'_>, id: &str, outcome: &mut Outcome) {
        let Some(state) = self.azure.get(id).filter(|_| live.holds(aso::READY)) else {
            return;
        };
        for map in outputs::config_maps(live, &state) {
            let id = Live(&map).id();
            let held = world.get(&id);
            if !held.present().is_some_and(|held| covers(held.0, &map)) {
                outcome.write(Write::Apply(map));
            }
            outcome.need(id);
        }
    }
}

/// Says that Azure is at work, in this provisioning state.
fn working(live: Live<'_>, now: Timestamp, state: &str) -> Option<Write> {
    let condition = NewCondition::no(aso::RECONCILING, AT_WORK).severe(aso::INFO);
    status::report(live, now, condition, Some(state))
}

/// Whether the condition about this spec is final: it succeeded, or Azure refused it. Waiting for
/// something else is not final, and neither is what was only looked at.
fn is_settled(live: Live<'_>, failure: Option<&Failure>) -> bool {
    let Some(ready) = live.condition(aso::READY).filter(|c| live.is_current(*c)) else {
        return false;
    };
    // A failure may be configured with a reason that means waiting; then it counts once Azure was asked.
    let as_configured = failure.is_some_and(|failure| failure.reason == ready.reason());
    // A conflict passes: the operator may have lost the answer to what it began itself.
    let waits = ready.reason() == aro::CONFLICT
        || gate::REASONS.contains(&ready.reason())
        || network::is_known(live) && ready.severity() == aso::WARNING;
    let working = ready.severity() == aso::INFO || waits;
    marks::was_asked(live) && (ready.is_true() || as_configured || !working)
}

/// When the work is over. A failure shows at half time.
fn due(live: Live<'_>, operation: &Operation, failure: Option<&Failure>) -> Timestamp {
    let id = live.id();
    let whole = match status::exists(live) {
        true => timeline::update(&id),
        false => timeline::creation(&id),
    };
    let time = if failure.is_some() { whole / 2 } else { whole };
    operation.start.checked_add(time).unwrap_or(Timestamp::MAX)
}
