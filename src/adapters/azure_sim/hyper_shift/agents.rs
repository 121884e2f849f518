//! The machines of a NodePool on the Agent platform: Agents of the namespace that its HostedCluster names.
//!
//! In: a NodePool, its HostedCluster and the Agents. Out: which of them are bound to the pool, which are free for it, and
//! the writes that bind and release them. It does not know who registers Agents. Two pools may take the same Agent at
//! once: the one that wrote first looks for another then.

use serde_json::{Value, json};

use super::names;
use crate::api::kinds::AGENT_INSTALL;
use crate::health::Live;
use crate::reconcile::outcome::{Need, Write, patch_of};
use crate::reconcile::world::{GroupKind, Parent, World};

/// The field in which an Agent names the cluster that it is bound to.
const BOUND: &[&str] = &["spec", "clusterDeploymentName", "name"];

/// The Agents of a pool.
pub(super) struct Agents<'a> {
    pool: Live<'a>,
    cluster: Live<'a>,
    /// The namespace of the Agents.
    pub(super) namespace: &'a str,
    /// The cluster serves the kind.
    pub(super) is_served: bool,
    /// Those that are bound to the pool.
    pub(super) bound: Vec<Live<'a>>,
    /// Those that it may take.
    pub(super) free: Vec<Live<'a>>,
}

/// The kind Agent.
fn kind() -> GroupKind {
    GroupKind::new(AGENT_INSTALL, "Agent")
}

impl<'a> Agents<'a> {
    /// The Agents of a pool; `None` on another platform.
    pub(super) fn of(world: World<'a>, pool: Live<'a>, cluster: Live<'a>) -> Option<Self> {
        if pool.text(&["spec", "platform", "type"]) != "Agent" {
            return None;
        }
        let namespace = cluster.text(&["spec", "platform", "agent", "agentNamespace"]);
        let parent = Parent::new(AGENT_INSTALL, "Agent", namespace, namespace);
        let (mut bound, mut free) = (Vec::new(), Vec::new());
        for agent in world.below(&parent).filter(|agent| !agent.is_deleting()) {
            let is_bound = !agent.text(BOUND).is_empty();
            if is_bound && agent.annotation(names::NODE_POOL) == names::path(pool) {
                bound.push(agent);
            } else if !is_bound && agent.flag(&["spec", "approved"]) && matches(pool, agent) {
                free.push(agent);
            }
        }
        Some(Self {
            pool,
            cluster,
            namespace,
            is_served: !world.is_unserved(&kind()),
            bound,
            free,
        })
    }

    /// All Agents of the namespace.
    pub(super) fn need(&self) -> Need {
        Need::below(AGENT_INSTALL, "Agent", self.namespace, self.namespace)
    }

    /// Binds as many as are wanted, or releases those beyond.
    pub(super) fn bind(&self, wanted: usize) -> Vec<Write> {
        let missing = wanted.saturating_sub(self.bound.len());
        let taken = self.free.iter().take(missing);
        let taken = taken.map(|agent| Write::Apply(self.binding(*agent)));
        let left = self.bound.iter().skip(wanted);
        // What is left out of an apply goes.
        let left = left.map(|agent| Write::Apply(patch_of(*agent)));
        taken.chain(left).collect()
    }

    fn binding(&self, agent: Live<'_>) -> Value {
        let mut patch = patch_of(agent);
        patch["metadata"]["annotations"] = json!({names::NODE_POOL: names::path(self.pool)});
        patch["spec"] = json!({"clusterDeploymentName": {
            "name": names::infra_id(self.cluster),
            "namespace": names::control_plane_namespace(self.cluster),
        }});
        patch
    }

    /// Says that there are too few for so many nodes.
    pub(super) fn shortage(&self, wanted: usize) -> String {
        let (bound, namespace) = (self.bound.len(), self.namespace);
        let reason = if self.is_served {
            format!(
                "namespace {namespace} has no other one that is approved, not bound, and matches the agentLabelSelector"
            )
        } else {
            format!("the cluster does not serve the kind Agent of {AGENT_INSTALL}")
        };
        format!("{bound} of {wanted} Agents are bound: {reason}")
    }
}

/// The selector of a pool. Without one it takes any Agent.
fn selector(pool: Live<'_>) -> Live<'_> {
    let selector = pool.at(&["spec", "platform", "agent", "agentLabelSelector"]);
    Live(selector.unwrap_or(&Value::Null))
}

fn matches(pool: Live<'_>, agent: Live<'_>) -> bool {
    let selector = selector(pool);
    let label = |key: &str| agent.at(&["metadata", "labels", key])?.as_str();
    let equal = selector.at(&["matchLabels"]).and_then(Value::as_object);
    let mut equal = equal.into_iter().flatten();
    let mut rules = selector.list(&["matchExpressions"]).iter().map(Live);
    equal.all(|(key, value)| label(key) == value.as_str())
        && rules.all(|rule| {
            let value = label(rule.text(&["key"]));
            let is_listed =
                value.is_some_and(|value| rule.list(&["values"]).iter().any(|one| one == value));
            match rule.text(&["operator"]) {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// Labels that the selector of a pool matches.
pub(super) fn labels(pool: Live<'_>) -> Value {
    let selector = selector(pool);
    let equal = selector.at(&["matchLabels"]).cloned();
    let mut labels = equal.unwrap_or_else(|| json!({}));
    for rule in selector.list(&["matchExpressions"]).iter().map(Live) {
        let key = rule.text(&["key"]);
        match rule.text(&["operator"]) {
            "In" => labels[key] = rule.list(&["values"]).first().cloned().unwrap_or_default(),
            "Exists" if labels.get(key).is_none() => labels[key] = json!(""),
            _ => {}
        }
    }
    labels
}
