//! A lab with machines for the Agent platform, which nobody boots in a rehearsal.
//!
//! In: NodePools on the Agent platform, and the Agents that there are. Out: the Agents that a pool lacks, approved and
//! with the labels that it selects by, in the namespace where it looks for them. It does not know who binds them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::agents::{self, Agents};
use super::{names, node_pool};
use crate::api::kinds::AGENT_INSTALL;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::world::World;

/// So many machines a lab has for one pool.
const MOST: usize = 500;

/// Makes the Agents that a NodePool lacks.
pub(super) fn reconcile(world: World<'_>, live: Live<'_>, _now: Timestamp) -> Outcome {
    let mut outcome = Outcome::default();
    let cluster = node_pool::cluster(live);
    let found = world.get(&cluster).present();
    outcome.need(cluster);
    let agents = found.and_then(|cluster| Agents::of(world, live, cluster));
    let Some(agents) = agents.filter(|_| !live.is_deleting()) else {
        return outcome;
    };
    outcome.needs.push(agents.need());
    let there = agents.bound.len() + agents.free.len();
    let missing = node_pool::wanted(live).min(MOST).saturating_sub(there);
    if missing == 0 || !agents.is_served || agents.namespace.is_empty() {
        return outcome;
    }
    let namespace = names::namespace(agents.namespace);
    if world.get(&namespace).is_absent() {
        let metadata = json!({"name": agents.namespace});
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        outcome.write(Write::Apply(home));
    }
    outcome.need(namespace);
    let id = |number: usize| {
        let name = format!("{}-{}-{number}", live.namespace(), live.name());
        ObjectId::new(AGENT_INSTALL, "Agent", agents.namespace, name)
    };
    // Some names may be taken by machines that others use.
    let ids = (0..2 * MOST).map(id).filter(|id| world.get(id).is_absent());
    for id in ids.take(missing) {
        outcome.write(Write::Apply(agent(&id, agents::labels(live))));
    }
    outcome
}

/// A machine that waits for a cluster.
fn agent(id: &ObjectId, labels: Value) -> Value {
    let mut agent = json!({
        "apiVersion": names::api_version(AGENT_INSTALL),
        "kind": id.kind,
        "metadata": {"name": id.name, "namespace": id.namespace},
        "spec": {"approved": true, "role": "worker", "hostname": id.name},
    });
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        agent["metadata"]["labels"] = labels;
    }
    agent
}
