//! The controller of AROControlPlane (facts/aro-controllers.md §3.2 and §3.4).
//!
//! In: an AROControlPlane, its Cluster and AROCluster, the role assignments, the key, the node pools, the kubeconfig.
//! Out: its embedded HCP cluster and external authentication applied when each may be, the kubeconfig in Cluster API's
//! form, and its status; on deletion, external authentication, then node pools awaited, then the HCP cluster.
//!
//! What is not applied yet, since something else comes first, keeps the conditions at the generation that was applied.

mod certificate;
mod deletion;
mod encryption;
mod external_auth;
mod gates;
mod kubeconfig;
mod mutators;
mod named_key;
mod names;
mod observed;
mod recreation;
mod rotation;
mod secrets;
mod status;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::encryption::Around;
use self::mutators::Wanted;
use self::names::{EXTERNAL_AUTH, FINALIZER, HCP};
use self::observed::Stage;
pub(crate) use self::recreation::heeds_trailer;
use super::Settings;
use super::conditions::{Conditions, NewCondition, Typed};
use super::course::Course;
use super::credentials::{self, Parts};
use super::handover;
use super::links;
use super::orphan;
use super::outcome::{Need, Outcome};
use super::resources::{self, Ledger};
use super::scope::Scope;
use super::world::World;
use crate::api::conditions as c;
use crate::api::kinds::{INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::health::Live;

/// What to do about an AROControlPlane.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: &Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    handover::take_off_note(live, &mut outcome);
    let scope = Scope::of(world, live, &mut outcome);
    let ledger = Ledger::new((world, live, now), scope.name, settings);
    let belonging = (&scope.membership, scope.is_paused);
    let conditions = match Course::of(&ledger, belonging, status::held, &mut outcome) {
        Course::Rest => return outcome,
        Course::Delete(ledger, conditions) => {
            deletion::proceed(&ledger, &scope.membership, conditions, &mut outcome);
            return outcome;
        }
        Course::Provision(conditions) => conditions,
    };
    match scope.cluster {
        Err(missing) => {
            let missing = orphan::left_over(&ledger, missing, &mut outcome);
            refuse(live, conditions, (c::READY, missing), &mut outcome);
        }
        Ok(cluster) if cluster.is_deleting() => {
            deletion::begin(&ledger, conditions, &mut outcome);
        }
        Ok(cluster) => match wrong(live, cluster) {
            Some(wrong) => {
                let items = live.list(&["spec", "resources"]);
                resources::resume(&ledger, items, &mut outcome);
                refuse(live, conditions, wrong, &mut outcome);
            }
            None => provision(&ledger, cluster, settings, conditions, &mut outcome),
        },
    }
    outcome
}

/// What a person has to change before anything can be done, and the condition that says so.
fn wrong(live: Live<'_>, cluster: Live<'_>) -> Option<Typed> {
    let refuse = |reason, message: &str| {
        let condition = NewCondition::no(reason, message);
        Some((c::HCP_CLUSTER_READY, condition))
    };
    let infrastructure = links::infrastructure(cluster);
    if !infrastructure.is_some_and(|id| id.is(INFRASTRUCTURE, "AROCluster")) {
        return refuse(c::UNSUPPORTED_INFRASTRUCTURE, c::NO_ARO_CLUSTER);
    }
    let list = live.list(&["spec", "resources"]);
    let clusters = list.iter().enumerate();
    let clusters: Vec<String> = clusters
        .filter(|(_, item)| Live(item).kind() == HCP)
        .map(|(place, item)| format!("spec.resources[{place}] ({})", Live(item).name()))
        .collect();
    match clusters.len() {
        0 => {
            let nameless = list.iter().position(|item| Live(item).kind().is_empty());
            let hint = nameless.map(|place| format!("; spec.resources[{place}]: {}", c::NO_KIND));
            let message = format!("{}{}", c::NO_HCP_CLUSTER, hint.unwrap_or_default());
            refuse(c::HCP_CLUSTER_INVALID, &message)
        }
        1 => None,
        _ => {
            let message = format!(
                "an AROControlPlane has one HcpOpenShiftCluster, and this one has {}: move all but one to control planes of their own",
                clusters.join(" and ")
            );
            refuse(c::HCP_CLUSTER_INVALID, &message)
        }
    }
}

/// Reports why nothing is done; the rest of the status stays.
fn refuse(live: Live<'_>, mut conditions: Conditions, why: Typed, outcome: &mut Outcome) {
    let (kind, why) = why;
    let mut status = status::held(live);
    conditions.set(kind, why);
    if kind == c::HCP_CLUSTER_READY {
        status["ready"] = json!(false);
    }
    if kind != c::READY {
        conditions.summarize(false, &[kind]);
    }
    status::write(live, status, conditions, outcome);
}

/// Applies what may be applied, and reports how far it is.
fn provision(
    ledger: &Ledger<'_>,
    cluster: Live<'_>,
    settings: &Settings,
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let items = ledger.owner.list(&["spec", "resources"]);
    resources::mark(ledger, FINALIZER, items, Value::Null, outcome);
    look_at(ledger, items, outcome);
    let stage = match prepare(ledger, cluster, settings, &mut conditions, outcome) {
        Ok((items, uses_secret)) => {
            let secret = credentials::secret_name(ledger.cluster);
            let credential = if uses_secret { secret.as_str() } else { "" };
            let ledger = &Ledger {
                credential,
                ..*ledger
            };
            Stage::Applied(resources::reconcile(ledger, &items, outcome))
        }
        Err(why) => {
            resources::resume(ledger, items, outcome);
            Stage::Held(why)
        }
    };
    observed::report(ledger, stage, conditions, outcome);
}

/// Needs what the status is about, whether it may be applied or not: nothing is reported before these kinds are synced.
fn look_at(ledger: &Ledger<'_>, items: &[Value], outcome: &mut Outcome) {
    let is_reported = |item: &&Value| {
        let item = Live(item);
        item.group() == RED_HAT_OPENSHIFT && [HCP, EXTERNAL_AUTH].contains(&item.kind())
    };
    for item in items.iter().filter(is_reported) {
        outcome.need(resources::id(ledger.owner, item));
    }
}

/// The resources as they are to be applied, and whether they name the Secret with the cluster's credential; or the
/// condition that says what comes first.
fn prepare(
    ledger: &Ledger<'_>,
    cluster: Live<'_>,
    settings: &Settings,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Result<(Vec<Value>, bool), Typed> {
    let id = links::infrastructure(cluster);
    outcome.needs.extend(id.clone().map(Need::Object));
    let found = id.as_ref().and_then(|id| ledger.world.get(id).present());
    let parts = Parts {
        plane: Some(ledger.owner),
        infrastructure: found,
    };
    let uses_secret = credentials::of(ledger, parts, conditions, outcome)?;
    let mut wanted = Wanted::of(ledger)?;
    let key = named_key::needed(ledger, &wanted, found)?;
    let name = id.map_or_else(String::new, |id| id.to_string());
    let infrastructure = gates::infrastructure(&name, found)?;
    let applied = gates::made(ledger);
    let opens = match applied.filter(|hcp| !gates::is_probe(*hcp)) {
        Some(_) => Timestamp::UNIX_EPOCH,
        None => gates::opens(ledger, infrastructure, settings.settle, outcome),
    };
    let around = Around {
        wanted: &wanted,
        infrastructure,
        applied,
        opens,
    };
    match encryption::version(ledger, key, around, outcome)? {
        None => conditions.remove(c::ENCRYPTION_KEY_READY),
        Some((key, condition)) => {
            wanted.set_key(key)?;
            conditions.set(c::ENCRYPTION_KEY_READY, condition);
        }
    }
    gates::settled(ledger, opens, outcome)?;
    let items = gates::without_early_auth(ledger, wanted.items, conditions, outcome);
    Ok((items, uses_secret))
}
