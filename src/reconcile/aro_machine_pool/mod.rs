//! The controller of AROMachinePool (facts/aro-controllers.md §3.3 and §3.4).
//!
//! In: an AROMachinePool, its MachinePool, Cluster and control plane. Out: the embedded node pool
//! applied once the HCP cluster is ready, the provider ids of its nodes, and its status.

mod nodes;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions::{Conditions, NewCondition};
use super::links;
use super::outcome::{self, Outcome, Write, apply, patch_of, unfinalize};
use super::resources::{self, Entry, Ledger};
use super::settings::Settings;
use super::world::World;
use crate::api::conditions as c;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::api::labels::{CLUSTER_NAME, REPLICAS_MANAGED_BY, REPLICAS_MANAGED_BY_ARO};
use crate::health::Live;
use crate::model::ObjectId;

const FINALIZER: &str = "aromachinepool/finalizer";
const HCP: &str = "HcpOpenShiftCluster";
const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";

/// What to do about an AROMachinePool.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    let cluster_name = live.label(CLUSTER_NAME);
    let ledger = Ledger {
        world,
        owner: live,
        cluster: cluster_name,
        first_apply: settings.first_apply,
        now,
    };
    let Some(pool_id) = links::owner(live, "MachinePool") else {
        return abandoned(&ledger);
    };
    outcome.need(pool_id.clone());
    let pool = world.get(&pool_id).present();
    let cluster_id = pool.and_then(|pool| links::owner(pool, "Cluster"));
    cluster_id
        .clone()
        .into_iter()
        .for_each(|id| outcome.need(id));
    let cluster = cluster_id.and_then(|id| world.get(&id).present());
    if live.is_deleting() {
        return take_down(&ledger, cluster, outcome);
    }
    let (Some(pool), Some(cluster)) = (pool, cluster) else {
        return outcome;
    };
    let plane_id = links::control_plane(cluster);
    plane_id.clone().into_iter().for_each(|id| outcome.need(id));
    let plane = plane_id.and_then(|id| world.get(&id).present());
    let open = plane.is_some_and(|plane| plane.holds(c::HCP_CLUSTER_READY));
    match open && !links::is_paused(cluster, live) {
        true => provision(&ledger, (pool, cluster), outcome),
        false => outcome,
    }
}

/// Without an owner there is nothing to do but to release it.
fn abandoned(ledger: &Ledger<'_>) -> Outcome {
    match ledger.owner.is_deleting() {
        true => take_down(ledger, None, Outcome::default()),
        false => Outcome::default(),
    }
}

/// With its cluster the node pool is deleted anyway; alone it is deleted first.
fn take_down(ledger: &Ledger<'_>, cluster: Option<Live<'_>>, mut outcome: Outcome) -> Outcome {
    let with_cluster = cluster.is_some_and(Live::is_deleting);
    if with_cluster || resources::remove(ledger, |_| true, &mut outcome).is_empty() {
        outcome.maybe(unfinalize(ledger.owner, FINALIZER));
    }
    outcome
}

fn provision(
    ledger: &Ledger<'_>,
    (pool, cluster): (Live<'_>, Live<'_>),
    mut outcome: Outcome,
) -> Outcome {
    let Ledger {
        world,
        owner: live,
        now,
        ..
    } = *ledger;
    let ledger = &Ledger {
        cluster: cluster.name(),
        ..*ledger
    };
    let mut items = resources::wanted(live);
    let is_node_pool = |item: &&mut Value| Live(item).kind() == NODE_POOL;
    let Some(item) = items.iter_mut().find(is_node_pool) else {
        return outcome;
    };
    item["spec"]["owner"] = json!({"name": cluster.name()});
    let scales = scales_itself(Live(item));
    let node_pool = world.get(&resources::id(live, item)).present();
    let hcp = ObjectId::new(RED_HAT_OPENSHIFT, HCP, live.namespace(), cluster.name());
    outcome.need(hcp.clone());
    let hcp = world.get(&hcp).present();
    let nodes = nodes::find(world, live, cluster, (hcp, Live(item)), &mut outcome).ids;
    let spec = json!({"providerIDList": nodes});
    resources::mark(ledger, FINALIZER, &items, spec, &mut outcome);
    let entries = resources::reconcile(ledger, &items, &mut outcome);
    let status = status(live, now, &entries, node_pool, nodes.len());
    outcome.maybe(outcome::status(live, status));
    if scales {
        outcome.maybe(take_replicas(pool, nodes.len()));
    }
    outcome
}

fn scales_itself(node_pool: Live<'_>) -> bool {
    let scaling = node_pool.at(&["spec", "properties", "autoScaling"]);
    let fields = scaling.and_then(Value::as_object);
    fields.is_some_and(|fields| !fields.is_empty())
}

/// Takes over the replicas of the MachinePool, unless another does.
fn take_replicas(pool: Live<'_>, nodes: usize) -> Option<Write> {
    let manager = pool.annotation(REPLICAS_MANAGED_BY);
    if !["", REPLICAS_MANAGED_BY_ARO].contains(&manager) {
        return None;
    }
    let mut patch = patch_of(pool);
    patch["metadata"]["annotations"] = json!({REPLICAS_MANAGED_BY: REPLICAS_MANAGED_BY_ARO});
    if nodes > 0 {
        patch["spec"] = json!({"replicas": nodes});
    }
    apply(pool, patch)
}

fn status(
    live: Live<'_>,
    now: Timestamp,
    entries: &[Entry],
    node_pool: Option<Live<'_>>,
    nodes: usize,
) -> Value {
    let mut conditions = Conditions::of(live, now);
    let defaults = [
        (
            c::NODE_POOL_READY,
            "HcpOpenShiftClustersNodePool is not yet ready",
        ),
        (
            c::ARO_MACHINE_POOL_READY,
            "ARO machine pool is not yet ready",
        ),
    ];
    for (kind, default) in defaults {
        let missing = NewCondition::no(c::NODE_POOL_NOT_FOUND, c::NODE_POOL_MISSING);
        conditions.set(kind, resources::reported(node_pool, missing, default));
    }
    conditions.set(c::AGENT_POOLS_READY, NewCondition::yes(c::SUCCEEDED, ""));
    let text = |path: &[&str]| node_pool.map_or("", |pool| pool.text(path));
    let state = text(&["status", "properties", "provisioningState"]);
    let works = ["Succeeded", "Updating"].contains(&state);
    let done = !entries.is_empty() && entries.iter().all(|entry| entry.ready);
    let was = live.flag(&["status", "initialization", "provisioned"]);
    let mut status = json!({
        "ready": works,
        "replicas": nodes,
        "initialization": {"provisioned": was || done},
        "resources": resources::listed(entries),
        "conditions": conditions.into_value(),
    });
    let fields = [
        ("id", text(&["status", "id"])),
        ("provisioningState", state),
        ("version", text(&["status", "properties", "version", "id"])),
    ];
    for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        status[field] = json!(value);
    }
    status
}
