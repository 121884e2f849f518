//! The controller of AROMachinePool (facts/aro-controllers.md §3.3 and §3.4).
//!
//! In: an AROMachinePool, its MachinePool, Cluster and control plane, and the nodes of the workload cluster. Out: the
//! embedded node pool applied once the HCP cluster is ready, the provider ids of its nodes, the replicas of a MachinePool
//! that Azure scales, those of a node pool that its MachinePool scales, and the status; on deletion, external authentication awaited, then the node pool deleted.
//!
//! Node pools wait for the condition `HcpClusterReady`, not for the control plane to be ready: its kubeconfig may need a
//! node. Neither a pause nor a deletion waits for anything of the control plane's.

mod deletion;
mod family;
mod heir;
mod names;
mod nodes;
mod observed;
mod replicas;
mod status;
#[cfg(test)]
mod tests;
mod wanted;

use jiff::Timestamp;
use serde_json::json;

use self::family::Family;
use self::names::FINALIZER;
use self::observed::{Observed, Stage};
use self::wanted::Wanted;
use super::Settings;
use super::conditions::{Conditions, Typed};
use super::course::Course;
use super::credentials::{self, Parts};
use super::handover;
use super::links;
use super::outcome::{Need, Outcome};
use super::resources::{self, Ledger};
use super::world::World;
use crate::api::conditions as c;
use crate::health::Live;

/// What to do about an AROMachinePool.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: &Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    handover::take_off_note(live, &mut outcome);
    let family = Family::of(world, live, &mut outcome);
    let ledger = Ledger::new((world, live, now), family.name, settings);
    let belonging = (&family.membership, family.is_paused(live));
    let conditions = match Course::of(&ledger, belonging, status::held, &mut outcome) {
        Course::Rest => return outcome,
        Course::Delete(ledger, conditions) => {
            deletion::proceed(&ledger, &family, conditions, &mut outcome);
            return outcome;
        }
        Course::Provision(conditions) => conditions,
    };
    match (family.pool, family.cluster) {
        // Cluster API deletes the MachinePool next.
        (_, Some(cluster)) if cluster.is_deleting() => {}
        (Some(pool), Some(cluster)) => {
            let parts = (pool, cluster);
            provision(&ledger, &family, parts, conditions, &mut outcome);
        }
        _ => observed::refuse(
            live,
            conditions,
            (c::READY, family.missing(live)),
            &mut outcome,
        ),
    }
    outcome
}

/// Applies what may be applied, and reports how far it is.
fn provision(
    ledger: &Ledger<'_>,
    family: &Family<'_>,
    (pool, cluster): (Live<'_>, Live<'_>),
    mut conditions: Conditions,
    outcome: &mut Outcome,
) {
    let (world, live) = (ledger.world, ledger.owner);
    let mut wanted = match Wanted::of(live, family.hcp) {
        Ok(wanted) => wanted,
        Err(wrong) => {
            let items = live.list(&["spec", "resources"]);
            resources::resume(ledger, items, outcome);
            return observed::refuse(live, conditions, wrong, outcome);
        }
    };
    let overruled = wanted.overrules(pool);
    wanted.scale(pool);
    let id = resources::id(live, wanted.node_pool().0);
    outcome.need(id.clone());
    let made = world.get(&id).present();
    let hcp = family.hcp_cluster(world, live, outcome);
    let nodes = nodes::find(world, live, cluster, (hcp, wanted.node_pool()), outcome);
    let spec = json!({"providerIDList": nodes.ids});
    resources::mark(ledger, FINALIZER, &wanted.items, spec, outcome);
    let scales = wanted.scales();
    let open = replicas::claim(pool, scales).and_then(|()| family.gate());
    let open = open.and_then(|()| credential(ledger, family, cluster, &mut conditions, outcome));
    let stage = match open {
        Ok(credential) => {
            let ledger = &Ledger {
                credential: &credential,
                ..*ledger
            };
            Stage::Applied(resources::reconcile(ledger, &wanted.items, outcome))
        }
        Err(why) => {
            resources::resume(ledger, &wanted.items, outcome);
            Stage::Held(why)
        }
    };
    outcome
        .writes
        .extend(replicas::writes(pool, scales, nodes.ids.len()));
    let observed = Observed {
        stage,
        wanted: wanted.node_pool(),
        made,
        pool,
        nodes: &nodes,
        overruled,
    };
    observed::report(live, &observed, conditions, outcome);
}

/// The Secret with the credential of the cluster; empty if Azure Service Operator chooses. Only the other objects of the
/// cluster report on it.
fn credential(
    ledger: &Ledger<'_>,
    family: &Family<'_>,
    cluster: Live<'_>,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) -> Result<String, Typed> {
    let id = links::infrastructure(cluster);
    let infrastructure = id.as_ref().and_then(|id| ledger.world.get(id).present());
    outcome.needs.extend(id.map(Need::Object));
    let parts = Parts {
        plane: family.plane,
        infrastructure,
    };
    let used = credentials::of(ledger, parts, conditions, outcome);
    conditions.remove(c::IDENTITY_READY);
    match used {
        Ok(true) => Ok(credentials::secret_name(ledger.cluster)),
        Ok(false) => Ok(String::new()),
        Err((_, why)) => Err((c::NODE_POOL_READY, why)),
    }
}
