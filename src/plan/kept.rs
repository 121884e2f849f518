//! Objects of a large fleet, as they are kept.
//!
//! In: an object, once it is compiled. Out: [`Kept`], which is a tenth of it; and [`Proposed`], which has the whole object where
//! somebody may ask for its lines. It does not know when objects are compiled.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::losses::ClusterPart;
use super::{ApplySet, Plan, apply, cluster, with_actions};
use crate::api::embedded;
use crate::graph::{Graph, Place};
use crate::health::Live;
use crate::model::{Action, EmbeddedId, Object, ObjectId, Payload};

/// An object as it is kept. The graph has its id, and those of the resources in it. Copies share what they have.
#[derive(Clone, Debug)]
pub struct Kept(Arc<KeptObject>);

#[derive(Debug)]
struct KeptObject {
    action: Arc<Action>,
    /// The versions of the resources in it.
    versions: Box<[Arc<str>]>,
    cluster: Option<Box<str>>,
    part: Option<ClusterPart>,
}

impl Kept {
    /// Keeps an object as a member of `set`.
    #[must_use]
    pub fn of(object: &Object, set: &ApplySet) -> Self {
        let versions = embedded::ids(object).map(|(_, version)| version);
        let (action, sent) = apply(object, set);
        Self(Arc::new(KeptObject {
            action: action.into(),
            versions: shared(versions).collect(),
            cluster: cluster(object).map(String::into_boxed_str),
            part: ClusterPart::of(&object.id, &sent),
        }))
    }

    /// The object as it is sent.
    #[must_use]
    pub fn payload(&self) -> &Payload {
        &self.0.action.payload
    }

    /// Its id. The graph has it, too; this unpacks the object.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        Live(&self.payload().json()).id()
    }

    /// The cluster that it belongs to, as `namespace/name`.
    #[must_use]
    pub fn cluster(&self) -> Option<&str> {
        self.0.cluster.as_deref()
    }

    /// Its cluster or node pool as it states it.
    #[must_use]
    pub fn part(&self) -> Option<&ClusterPart> {
        self.0.part.as_ref()
    }
}

/// Versions of which equal ones are one.
fn shared(versions: impl Iterator<Item = String>) -> impl Iterator<Item = Arc<str>> {
    let mut known: BTreeSet<Arc<str>> = BTreeSet::new();
    versions.map(move |version| match known.get(&*version) {
        Some(version) => Arc::clone(version),
        None => {
            let version: Arc<str> = version.into();
            known.insert(Arc::clone(&version));
            version
        }
    })
}

/// The plan of all objects, in the order that the graph was built from, and the resources that controllers create from them, with
/// versions.
#[must_use]
pub fn of_kept(kept: &[Kept], graph: &Graph) -> (Plan, Arc<[EmbeddedId]>) {
    let actions = kept.iter().map(|one| Arc::clone(&one.0.action));
    let actions: Vec<Arc<Action>> = actions.collect();
    let versions = kept.iter().flat_map(|one| one.0.versions.iter().cloned());
    let resources = graph
        .vertices
        .iter()
        .filter(|vertex| matches!(vertex.place, Place::Embedded(_)))
        .map(|vertex| Arc::clone(&vertex.id))
        .zip(versions)
        .collect();
    (with_actions(&actions, graph), resources)
}

/// An object of a revision that may be applied later.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// The kept form.
    pub kept: Kept,
    /// The object, if it is there already and would change.
    pub object: Option<Box<Object>>,
}

/// The objects that are there already.
pub struct Present<'a> {
    /// The hash of each.
    by_id: HashMap<&'a ObjectId, &'a str>,
    hashes: HashSet<&'a str>,
}

impl<'a> Present<'a> {
    /// Those of a plan that was applied; none without one.
    #[must_use]
    pub fn of(plan: Option<&'a Plan>) -> Self {
        let steps = plan.into_iter().flat_map(|plan| &plan.steps);
        let by_id = steps.map(|step| (&*step.object, step.action.payload.hash()));
        let by_id: HashMap<&ObjectId, &str> = by_id.collect();
        Self {
            hashes: by_id.values().copied().collect(),
            by_id,
        }
    }

    /// Compares an object with those that are there.
    #[must_use]
    pub fn propose(&self, object: &Object, set: &ApplySet) -> Proposed {
        let kept = Kept::of(object, set);
        let hash = self.by_id.get(&object.id);
        let differs = hash.is_some_and(|hash| *hash != kept.payload().hash());
        Proposed {
            object: differs.then(|| object.clone().into()),
            kept,
        }
    }

    /// The same for what was kept of an object; `None` if the whole object is needed.
    #[must_use]
    pub fn propose_again(&self, kept: &Kept) -> Option<Proposed> {
        // The hash covers the id, too: whatever has it is the same object.
        let is_same = self.hashes.contains(kept.payload().hash());
        let is_known = is_same || self.by_id.is_empty() || !self.by_id.contains_key(&kept.id());
        is_known.then(|| Proposed {
            kept: kept.clone(),
            object: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::against_none;

    fn objects(text: &str) -> Vec<Object> {
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), text.as_bytes());
        let objects = documents.into_iter();
        let objects = objects.filter_map(|node| Object::from_node(node, "n"));
        objects.collect()
    }

    #[test]
    fn what_is_kept_gives_the_same_plan() {
        let text = "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: b}, spec: {resources: [{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: group}}, {kind: Nothing}]}}
---
{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: c}, spec: {resources: [{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {name: network}}, {apiVersion: resources.azure.com/v2, kind: ResourceGroup, metadata: {name: other}}]}}
";
        let objects = objects(text);
        let (graph, _) = crate::graph::build(&objects);
        let set = ApplySet::new("test", "default");
        let kept = objects.iter().map(|object| Kept::of(object, &set));
        let (plan, resources) = of_kept(&kept.collect::<Vec<_>>(), &graph);
        assert_eq!(plan, against_none(&objects, &graph, &set));
        let expected = objects.iter().flat_map(embedded::ids);
        let expected = expected.map(|(id, version)| (id.into(), version.into()));
        assert_eq!(*resources, *expected.collect::<Vec<EmbeddedId>>());
        assert_eq!(resources.len(), 3);
    }

    #[test]
    fn only_an_object_that_would_change_is_kept_whole() {
        let config = |name: &str, value: &str| {
            let text = format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{a: {value}}}}}"
            );
            objects(&text).remove(0)
        };
        let set = ApplySet::new("test", "default");
        let there = [config("a", "x"), config("b", "x")];
        let (graph, _) = crate::graph::build(&there);
        let plan = against_none(&there, &graph, &set);
        let present = Present::of(Some(&plan));
        for (object, changes, is_known) in [
            (config("a", "x"), false, true),
            (config("a", "y"), true, false),
            (config("c", "x"), false, true),
        ] {
            let proposed = present.propose(&object, &set);
            assert_eq!(proposed.object.is_some(), changes, "{}", object.id);
            let again = present.propose_again(&proposed.kept);
            assert_eq!(again.is_some(), is_known, "{}", object.id);
        }
        let nothing = Present::of(None).propose_again(&Kept::of(&there[0], &set));
        assert!(nothing.is_some_and(|proposed| proposed.object.is_none()));
    }
}
