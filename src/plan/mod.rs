//! What to do: steps with predecessors, and what they mean for people.
//!
//! In: objects and their graph. Out: a [`Plan`], which is plain data and prints without a cluster; the
//! class of each change.
//!
//! It does not know: how a step is carried out.

mod applyset;
pub mod approvals;
mod change;
mod diff;
mod estimate;
mod identity;
mod kept;
pub mod losses;
mod second_owners;
mod secret_data;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::api::kinds::{self, CAPI, INFRASTRUCTURE};
use crate::api::labels;
use crate::graph::{Executor, Graph, Place};
use crate::model::{Action, Change, Object, ObjectId, Payload, Predecessor, Step, hex};

pub use applyset::ApplySet;
pub use change::{
    Consequence, Edit, RefusedVersion, Remedy, Rolled, Withheld, consequences, gate, heaviest,
    is_looked_at, would_be,
};
pub use diff::{
    Changes, Entry, FieldChange, Group, Line, Shown, ValueChange, beside, changed_word, cluster,
    differences, is_same, owns_resources,
};
pub use estimate::estimate;
pub use identity::IdentityUse;
pub use kept::{Kept, Present, Proposed, of_kept};
pub use second_owners::second_owners;
pub use text::{counts, text, word};

/// The field manager of a sync.
pub const MANAGER: &str = "capstan";

/// What to apply to a cluster, as steps in apply order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The steps; predecessors point backward.
    pub steps: Vec<Step>,
    /// What the plan touches.
    pub impact: Impact,
    /// What the fleet names and does not apply: what its objects refer to, and what is encrypted.
    pub outside: BTreeSet<ObjectId>,
}

/// Counts for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Steps by what they change.
    pub changes: BTreeMap<Change, usize>,
    /// Clusters touched.
    pub clusters: usize,
    /// Nodes that are replaced, and of how many clusters.
    pub rolled: Rolled,
    /// Resources that controllers create from applied objects.
    pub embedded: usize,
}

/// The plan for a cluster that has nothing yet: every object is created.
#[must_use]
pub fn against_none(objects: &[Object], graph: &Graph, set: &ApplySet) -> Plan {
    let actions = objects.par_iter().map(|object| apply(object, set).0.into());
    with_actions(&actions.collect::<Vec<_>>(), graph)
}

/// The same, but drops each object once its step exists, since a large fleet has many of both.
#[must_use]
pub fn into_plan(objects: Vec<Object>, graph: &Graph, set: &ApplySet) -> Plan {
    let objects = objects.into_par_iter();
    let actions = objects.map(|object| apply(&object, set).0.into());
    with_actions(&actions.collect::<Vec<_>>(), graph)
}

/// The plan of the objects' actions, in the order of the objects.
fn with_actions(actions: &[Arc<Action>], graph: &Graph) -> Plan {
    let order = graph.apply_order();
    let mut step_of = vec![None; graph.vertices.len()];
    let steps = order.iter().enumerate();
    steps.for_each(|(step, vertex)| step_of[*vertex] = Some(step));
    let steps: Vec<Step> = order
        .par_iter()
        .filter_map(|vertex| match graph.vertices[*vertex].place {
            Place::TopLevel(index) => Some((*vertex, index)),
            _ => None,
        })
        .map(|(vertex, index)| Step {
            object: Arc::clone(&graph.vertices[vertex].id),
            action: Arc::clone(&actions[index]),
            change: Change::Create,
            after: predecessors(graph, vertex, &step_of),
        })
        .collect();
    let embedded = graph
        .vertices
        .iter()
        .filter(|vertex| matches!(vertex.place, Place::Embedded(_)))
        .count();
    let changes = BTreeMap::from([(Change::Create, steps.len())]);
    let impact = Impact {
        changes,
        clusters: graph.clusters().len(),
        rolled: Rolled::default(),
        embedded,
    };
    let outside = graph.outside();
    let outside = outside.map(|vertex| ObjectId::clone(&vertex.id)).collect();
    Plan {
        steps,
        impact,
        outside,
    }
}

fn predecessors(graph: &Graph, vertex: usize, step_of: &[Option<usize>]) -> Vec<Predecessor> {
    let sync = graph
        .needs(vertex)
        .filter(|edge| edge.executor == Executor::Sync);
    let mut after: Vec<Predecessor> = sync
        .filter_map(|edge| {
            Some(Predecessor {
                step: step_of[edge.to]?,
                until: edge.until,
            })
        })
        .collect();
    after.sort();
    after.dedup();
    after
}

/// The action that applies an object, and the object as it is sent.
fn apply(object: &Object, set: &ApplySet) -> (Action, Json) {
    let force = object.annotation(labels::FORCE_CONFLICTS) == Some("true");
    let (payload, sent) = sent(object, set);
    let action = Action {
        payload,
        manager: MANAGER.to_owned(),
        force,
        left: left_to_others(object),
    };
    (action, sent)
}

/// The fields that are left to others once the object exists: those that its annotation lists, and those
/// that controllers are known to write.
fn left_to_others(object: &Object) -> Vec<String> {
    let listed = object.annotation(labels::IGNORE).unwrap_or_default();
    let listed = listed
        .split(',')
        .map(str::trim)
        .filter(|part| part.starts_with('/'));
    let scaled = object.annotation(labels::REPLICAS_MANAGED_BY).is_some();
    let known: &[&str] = match (object.id.group.as_str(), object.id.kind.as_str()) {
        (CAPI, "Cluster") | (INFRASTRUCTURE, "AROCluster") => &["/spec/controlPlaneEndpoint"],
        (INFRASTRUCTURE, "AROMachinePool") => &["/spec/providerIDList"],
        (CAPI, "MachinePool") if scaled => &["/spec/replicas", "/spec/providerIDList"],
        (CAPI, "MachinePool") => &["/spec/providerIDList"],
        _ => &[],
    };
    listed
        .chain(known.iter().copied())
        .map(|pointer| secret_data::pointer(&object.id, pointer))
        .collect()
}

/// The object as JSON, as far as it is the file's.
fn own_fields(object: &Object) -> Json {
    let mut json = secret_data::encoded(object).to_json();
    if kinds::is_aggregated(object)
        && let Some(fields) = json.as_object_mut()
    {
        fields.remove("rules");
    }
    json
}

/// The object as it is sent: with the ApplySet label and the sha256 of itself without that hash.
#[must_use]
pub fn payload(object: &Object, set: &ApplySet) -> Payload {
    sent(object, set).0
}

fn sent(object: &Object, set: &ApplySet) -> (Payload, Json) {
    let mut sent = own_fields(object);
    let namespace = object.id.namespace.as_str();
    let namespace = (!namespace.is_empty()).then(|| json!(namespace));
    set_in(&mut sent, &["metadata", "namespace"], namespace);
    let label = ["metadata", "labels", labels::PART_OF];
    set_in(&mut sent, &label, Some(json!(set.id())));
    let hash = hex(&Sha256::digest(sent.to_string()));
    let annotation = ["metadata", "annotations", labels::APPLIED];
    set_in(&mut sent, &annotation, Some(json!(hash)));
    let cluster = object.label(labels::CLUSTER_NAME).unwrap_or_default();
    (Payload::new(&sent, &hash, cluster), sent)
}

/// The object as JSON, with its namespace: as it is sent, without what [`payload`] adds.
#[must_use]
pub fn placed(object: &Object) -> Json {
    let mut json = own_fields(object);
    if let Some(metadata) = json["metadata"].as_object_mut() {
        metadata.insert("namespace".to_owned(), json!(object.id.namespace));
    }
    json
}

/// Sets or removes the value under a chain of keys. A value that is not a map stays as it is: the API server
/// will reject it.
fn set_in(json: &mut Json, keys: &[&str], value: Option<Json>) {
    let Some((key, rest)) = keys.split_first() else {
        return;
    };
    if json.is_null() {
        *json = json!({});
    }
    let Some(map) = json.as_object_mut() else {
        return;
    };
    match (rest, value) {
        ([], Some(value)) => drop(map.insert((*key).to_owned(), value)),
        ([], None) => drop(map.remove(*key)),
        (rest, value) => set_in(map.entry(*key).or_insert(Json::Null), rest, value),
    }
}

impl Plan {
    /// The steps by wave: each wave needs only earlier ones. For reading; execution has no waves.
    #[must_use]
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut wave_of: Vec<usize> = Vec::new();
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let wave = step
                .after
                .iter()
                .map(|before| wave_of[before.step] + 1)
                .max()
                .unwrap_or(0);
            wave_of.push(wave);
            waves.resize(waves.len().max(wave + 1), Vec::new());
            waves[wave].push(at);
        }
        waves
    }

    /// The step that is about `id`.
    #[must_use]
    pub fn step(&self, id: &ObjectId) -> Option<usize> {
        self.steps.iter().position(|step| *step.object == *id)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn sent(yaml: &str) -> Json {
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
        let object = documents
            .into_iter()
            .find_map(|node| Object::from_node(node, ""));
        let object = object.expect("one object");
        payload(&object, &ApplySet::new("test", "default")).json()
    }

    #[test]
    fn marks_are_added_to_what_is_there() {
        let sent = sent(
            "{apiVersion: v1, kind: X, metadata: {name: a, labels: {l: v}, annotations: null}}",
        );
        assert_eq!(sent["metadata"]["labels"]["l"], "v");
        assert!(sent["metadata"]["labels"][labels::PART_OF].is_string());
        assert!(sent["metadata"]["annotations"][labels::APPLIED].is_string());
        assert_eq!(sent["metadata"].get("namespace"), None);
    }

    /// Whoever sends an empty list takes the rights of whoever has the role away until they are filled again.
    #[test]
    fn rules_that_the_control_plane_fills_are_not_sent() {
        let role = |kind: &str, rule: &str| {
            sent(&format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: a}}, aggregationRule: {rule}, rules: []}}"
            ))
        };
        let selectors = "{clusterRoleSelectors: []}";
        assert_eq!(role("ClusterRole", selectors).get("rules"), None);
        assert!(role("ClusterRole", "null").get("rules").is_some());
        assert!(role("Role", selectors).get("rules").is_some());
    }

    #[test]
    fn labels_that_are_no_map_are_sent_as_they_are() {
        let sent = sent("{apiVersion: v1, kind: X, metadata: {name: a, labels: hello}}");
        assert_eq!(sent["metadata"]["labels"], "hello");
    }

    #[test]
    fn waves_are_for_reading() {
        let applied = |step: &usize| (*step, crate::model::Needed::Applied);
        let step = |after: &[usize]| {
            let after: Vec<_> = after.iter().map(applied).collect();
            Step::bare(ObjectId::new("", "ConfigMap", "", ""), &after)
        };
        let plan = Plan {
            steps: vec![step(&[]), step(&[0]), step(&[]), step(&[1, 2])],
            ..Plan::default()
        };
        assert_eq!(plan.waves(), [vec![0, 2], vec![1], vec![3]]);
    }
}
