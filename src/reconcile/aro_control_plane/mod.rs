//! The controller of AROControlPlane (facts/aro-controllers.md §3.2 and §3.4).
//!
//! In: an AROControlPlane, its Cluster and AROCluster, the role assignments, the key, the node pools.
//! Out: its embedded HCP cluster and external authentication applied when each may be, and its status.

mod encryption;
mod status;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::encryption::Key;
use self::status::{EXTERNAL_AUTH, HCP};
use super::conditions::{Conditions, NewCondition};
use super::links;
use super::outcome::{self, Need, Outcome, unfinalize};
use super::resources::{self, Ledger};
use super::settings::Settings;
use super::world::{Parent, World};
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::kinds::{AUTHORIZATION, RED_HAT_OPENSHIFT};
use crate::health::Live;

const FINALIZER: &str = "arocontrolplanes/finalizer";
const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";
/// Reason of `HcpClusterReady` while the role assignments reach all of Azure.
const SETTLING: &str = "WaitingForRoleAssignments";

/// What to do about an AROControlPlane.
pub(super) fn reconcile(
    world: World<'_>,
    live: Live<'_>,
    now: Timestamp,
    settings: Settings,
) -> Outcome {
    let mut outcome = Outcome::default();
    let id = links::owner(live, "Cluster");
    let ledger = Ledger {
        world,
        owner: live,
        cluster: id.as_ref().map_or("", |id| &id.name),
        first_apply: settings.first_apply,
        now,
    };
    if live.is_deleting() {
        return take_down(&ledger);
    }
    let Some(id) = id.clone() else {
        return outcome;
    };
    outcome.need(id.clone());
    let cluster = world.get(&id).present();
    let Some(cluster) = cluster.filter(|cluster| !links::is_paused(*cluster, live)) else {
        return outcome;
    };
    let items = resources::wanted(live);
    resources::mark(&ledger, FINALIZER, &items, Value::Null, &mut outcome);
    let infrastructure = links::infrastructure(cluster);
    infrastructure
        .clone()
        .into_iter()
        .for_each(|id| outcome.need(id));
    let infrastructure = infrastructure.and_then(|id| world.get(&id).present());
    let built = infrastructure.filter(|infrastructure| is_built(*infrastructure));
    match built {
        Some(infrastructure) => provision(&ledger, infrastructure, settings.settle, outcome),
        None => outcome,
    }
}

/// Whether the infrastructure is ready, if there is any.
fn is_built(infrastructure: Live<'_>) -> bool {
    let empty = infrastructure.list(&["spec", "resources"]).is_empty();
    empty || infrastructure.holds(c::RESOURCES_READY)
}

/// The infrastructure is ready: waits for the key and for the role assignments to settle, then applies
/// what may be applied.
fn provision(
    ledger: &Ledger<'_>,
    infrastructure: Live<'_>,
    settle: Duration,
    mut outcome: Outcome,
) -> Outcome {
    let Ledger {
        world,
        owner: live,
        now,
        ..
    } = *ledger;
    let mut items = resources::wanted(live);
    let mut conditions = Conditions::of(live, now);
    let Some(hcp) = items.iter().position(|item| Live(item).kind() == HCP) else {
        return outcome;
    };
    let spec = Live(&items[hcp]);
    let key = encryption::find(world, live, spec, infrastructure, now, &mut outcome);
    let version = match key {
        Key::NotAsked => None,
        Key::Awaited(condition) => {
            conditions.set(c::ENCRYPTION_KEY_READY, condition);
            return hold(live, conditions, outcome);
        }
        Key::Ready(version, condition) => {
            conditions.set(c::ENCRYPTION_KEY_READY, condition);
            version
        }
    };
    let made = world
        .get(&resources::id(live, &items[hcp]))
        .present()
        .is_some();
    let opens = settled(world, infrastructure, settle, &mut outcome);
    if !made && opens > now {
        outcome.wake_at(opens);
        let message = "Waiting for role assignments to reach all of Azure";
        conditions.set(c::HCP_CLUSTER_READY, NewCondition::no(SETTLING, message));
        return hold(live, conditions, outcome);
    }
    shape(live, &mut items, hcp, version);
    defer_auth(world, live, &mut items, &mut conditions, &mut outcome);
    let entries = resources::reconcile(ledger, &items, &mut outcome);
    let status = status::of(world, live, &entries, conditions, &mut outcome);
    outcome.maybe(outcome::status(live, status));
    outcome
}

/// Reports why nothing is applied, and leaves the rest of the status as it is.
fn hold(live: Live<'_>, conditions: Conditions, mut outcome: Outcome) -> Outcome {
    let mut status = status::held(live);
    status["conditions"] = conditions.into_value();
    outcome.maybe(outcome::status(live, status));
    outcome
}

fn take_down(ledger: &Ledger<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    let live = ledger.owner;
    let left = resources::remove(ledger, |_| true, &mut outcome);
    if left.is_empty() {
        outcome.maybe(unfinalize(live, FINALIZER));
    } else {
        let mut status = status::held(live);
        status["ready"] = json!(false);
        status["resources"] = resources::listed(&left);
        outcome.maybe(outcome::status(live, status));
    }
    outcome
}

/// When the last role assignment of the infrastructure is `settle` old.
fn settled(
    world: World<'_>,
    infrastructure: Live<'_>,
    settle: Duration,
    outcome: &mut Outcome,
) -> Timestamp {
    let items = infrastructure.list(&["spec", "resources"]).iter();
    let assignments = items.filter(|item| Live(item).group() == AUTHORIZATION);
    let mut last = Timestamp::UNIX_EPOCH;
    for item in assignments {
        let id = resources::id(infrastructure, item);
        let ready = world
            .get(&id)
            .present()
            .and_then(|live| live.condition(c::READY));
        let since = ready.and_then(|ready| ready.since().parse::<Timestamp>().ok());
        last = since.map_or(last, |since| last.max(since));
        outcome.need(id);
    }
    last.checked_add(settle).unwrap_or(Timestamp::MAX)
}

/// Fills in what the controller sets: the key's version, where the kubeconfig goes, and the owner of the
/// external authentication.
fn shape(live: Live<'_>, items: &mut [Value], hcp: usize, version: Option<String>) {
    let name = Live(&items[hcp]).name().to_owned();
    let secrets = ["spec", "operatorSpec", "secrets"];
    let asked = |secret: &str| {
        let path = [&secrets[..], &[secret]].concat();
        Live(&items[hcp]).at(&path).is_some()
    };
    if !asked("adminCredentials") && !asked("userCredentials") {
        let cluster = links::owner(live, "Cluster").map_or_else(String::new, |id| id.name);
        let place = json!({"name": format!("{cluster}-kubeconfig"), "key": "value"});
        put(
            &mut items[hcp],
            &secrets,
            json!({"adminCredentials": place}),
        );
    }
    if let Some(version) = version {
        let path = [KMS.as_slice(), &["activeKey", "version"]].concat();
        put(&mut items[hcp], &path, json!(version));
    }
    let auths = items
        .iter_mut()
        .filter(|item| Live(item).kind() == EXTERNAL_AUTH);
    for auth in auths.filter(|item| Live(item).at(&["spec", "owner"]).is_none()) {
        put(auth, &["spec", "owner"], json!({"name": name}));
    }
}

/// Sets the value at a path, creating missing maps.
fn put(under: &mut Value, path: &[&str], value: Value) {
    let Some((key, rest)) = path.split_first() else {
        *under = value;
        return;
    };
    if !under.is_object() {
        *under = json!({});
    }
    if let Some(map) = under.as_object_mut() {
        put(map.entry(*key).or_insert(Value::Null), rest, value);
    }
}

/// Takes out external authentication that does not exist yet, until a node pool of this cluster is
/// ready.
fn defer_auth(
    world: World<'_>,
    live: Live<'_>,
    items: &mut Vec<Value>,
    conditions: &mut Conditions,
    outcome: &mut Outcome,
) {
    let hcp = items.iter().find(|item| Live(item).kind() == HCP);
    let hcp = hcp.map_or("", |hcp| Live(hcp).name());
    let pools = Parent::new(RED_HAT_OPENSHIFT, NODE_POOL, live.namespace(), hcp);
    let has_ready_pool = world.below(&pools).any(|pool| pool.holds(c::READY));
    outcome.needs.push(Need::Below(pools));
    if has_ready_pool {
        return;
    }
    let before = items.len();
    items.retain(|item| {
        let made = world.get(&resources::id(live, item)).present().is_some();
        made || Live(item).kind() != EXTERNAL_AUTH
    });
    if items.len() < before {
        let condition = NewCondition::no(c::WAITING_FOR_NODE_POOL, c::EXTERNAL_AUTH_DEFERRED);
        conditions.set(c::EXTERNAL_AUTH_READY, condition);
    }
}
