//! Instances: the clusters that the provider made, as git and the hub have them.
//!
//! In: the files of a tree, and objects of the hub. Out: each instance once, with where it is. It does not know how it is doing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;

use super::labels;
use super::proposal::Review;
use super::request::{Dialect, Request, is_instance_id};
use crate::api::labels::{PART_OF, REQUEST, REQUEST_KEY, REQUESTED_AT, REQUESTED_VERSION};
use crate::health::Live;
use crate::model::{Node, Tree};
use crate::yaml;

/// What the provider wrote on a definition or a HostedCluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The ID of the instance.
    pub id: String,
    /// The name of its cluster.
    pub name: String,
    /// The namespace of its cluster.
    pub namespace: String,
    /// The request, unless somebody else made the cluster.
    pub request: Option<Request>,
    /// The time of the request.
    pub requested_at: Option<String>,
    /// The version that was asked for.
    pub version: Option<String>,
    /// The digest of the request's `Idempotency-Key`.
    pub key: Option<String>,
}

impl Stored {
    /// Reads the labels and annotations of an object; `None` if it is of no instance.
    #[must_use]
    pub fn of(object: &Json) -> Option<Self> {
        let id = labels::instance(object).filter(|id| is_instance_id(id))?;
        let metadata = &object["metadata"];
        let annotation = |key: &str| metadata["annotations"][key].as_str().map(str::to_owned);
        let sent: Option<Json> =
            annotation(REQUEST).and_then(|text| serde_json::from_str(&text).ok());
        let request = sent.and_then(|sent| Request::recall(&sent, Dialect::of(&sent)));
        Some(Self {
            id: id.to_owned(),
            name: metadata["name"].as_str()?.to_owned(),
            namespace: metadata["namespace"]
                .as_str()
                .unwrap_or("default")
                .to_owned(),
            version: annotation(REQUESTED_VERSION)
                .or_else(|| Some(request.as_ref()?.version.clone())),
            request,
            requested_at: annotation(REQUESTED_AT),
            key: annotation(REQUEST_KEY),
        })
    }
}

impl Stored {
    /// Its namespace and its name, `namespace/name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// An instance that a file defines.
#[derive(Clone, Debug, PartialEq)]
pub struct Defined {
    /// The instance, as the file has it.
    pub stored: Stored,
    /// The file, from the root of the repository.
    pub path: Arc<str>,
    /// True if the file holds nothing else, and no other file defines the instance.
    pub is_alone: bool,
}

/// The clusters that the files of a tree define.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeIndex {
    /// Those of instances, by ID; the first file counts.
    pub instances: BTreeMap<String, Defined>,
    /// The place of every cluster, by namespace and name, valid or not.
    pub names: BTreeMap<(String, String), String>,
}

impl TreeIndex {
    /// Reads the files of a tree.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        let mut index = Self::default();
        for (path, text) in &tree.files {
            let (documents, _) = yaml::read(path, text);
            let count = documents.len();
            for document in &documents {
                let items = document.get("items").and_then(Node::as_list);
                let is_alone = count == 1 && items.is_none();
                for node in items.unwrap_or_default().iter().chain([document]) {
                    index.note(path, node, is_alone);
                }
            }
        }
        index
    }

    /// The same after an earlier tree: an instance whose file is there and cannot be read is as it was. Nobody removed it.
    #[must_use]
    pub fn after(tree: &Tree, before: Option<&Self>) -> Self {
        let mut index = Self::of(tree);
        let lost = before.into_iter().flat_map(|before| &before.instances);
        let lost = lost.filter(|(id, _)| !index.instances.contains_key(*id));
        let broken = lost.filter(|(_, defined)| {
            let text = tree.files.get(&defined.path);
            text.is_some_and(|text| !yaml::read(&defined.path, text).1.is_empty())
        });
        let broken: Vec<(String, Defined)> =
            broken.map(|(id, one)| (id.clone(), one.clone())).collect();
        index.instances.extend(broken);
        index
    }

    fn note(&mut self, path: &Arc<str>, node: &Node, is_alone: bool) {
        let kind = node.text(&["kind"]);
        let is_cluster = matches!(kind, Some("ClusterDefinition" | "HostedCluster"));
        let name = node.at(&["metadata", "name"]);
        let (true, Some(name)) = (is_cluster, name) else {
            return;
        };
        let namespace = node.text(&["metadata", "namespace"]).unwrap_or("default");
        let key = (
            namespace.to_owned(),
            name.as_str().unwrap_or_default().to_owned(),
        );
        self.names
            .entry(key)
            .or_insert_with(|| name.span().to_string());
        let stored = Stored::of(&node.to_json());
        let stored = stored.filter(|_| kind == Some("ClusterDefinition"));
        if let Some(stored) = stored {
            let defined = Defined {
                path: Arc::clone(path),
                is_alone,
                stored,
            };
            self.instances
                .entry(defined.stored.id.clone())
                // Whoever copied a definition has to say which of them is meant.
                .and_modify(|first| first.is_alone = false)
                .or_insert(defined);
        }
    }
}

/// The proposals that wait for a merge, by the ID of the instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposals {
    /// New definitions.
    pub additions: BTreeMap<String, (Stored, Review)>,
    /// Removals.
    pub removals: BTreeMap<String, Review>,
}

/// The objects of one hosted cluster on the hub.
#[derive(Clone, Debug, PartialEq)]
pub struct Hosted {
    /// The HostedCluster.
    pub cluster: Arc<Json>,
    /// Its NodePools, in the order of their names.
    pub pools: Vec<Arc<Json>>,
}

impl Hosted {
    /// The ID of the ApplySet of the fleet that manages it, if one does.
    #[must_use]
    pub fn set(&self) -> Option<&str> {
        self.cluster["metadata"]["labels"][PART_OF].as_str()
    }

    /// Its namespace and its name, `namespace/name`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let live = Live(&self.cluster);
        format!("{}/{}", live.namespace(), live.name())
    }

    /// Returns true if it is being deleted.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.cluster["metadata"]["deletionTimestamp"].is_string()
    }
}

/// An instance, with all that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// The request.
    pub stored: Stored,
    /// The file that defines it on the followed branch, if one does.
    pub file: Option<Arc<str>>,
    /// What its definition waits for if it has no file yet, else what the removal of its file waits for.
    pub review: Option<Review>,
    /// Its objects on the hub.
    pub hosted: Option<Hosted>,
    /// Other clusters on the hub that carry its ID, `namespace/name`: somebody copied labels.
    pub twins: Vec<String>,
    /// True if it is not on the hub, and another cluster has its name there.
    pub is_taken: bool,
}

impl Instance {
    /// An instance that is known from its request alone.
    #[must_use]
    pub const fn new(stored: Stored) -> Self {
        Self {
            stored,
            file: None,
            review: None,
            hosted: None,
            twins: Vec::new(),
            is_taken: false,
        }
    }

    /// Takes a cluster with the ID of the instance. Of several, the one with the name of the file counts, else the oldest.
    fn take(&mut self, hosted: &Hosted) {
        let Some(held) = &self.hosted else {
            self.hosted = Some(hosted.clone());
            return;
        };
        let is_named = |one: &Hosted| one.full_name() == self.stored.full_name();
        let age = |one: &Hosted| {
            one.cluster["metadata"]["creationTimestamp"]
                .as_str()
                .map(str::to_owned)
        };
        let is_better = match (self.file.is_some(), is_named(hosted), is_named(held)) {
            (true, new, old) if new != old => new,
            _ => age(hosted) < age(held),
        };
        let other = if is_better { held } else { hosted }.full_name();
        self.twins.push(other);
        if is_better {
            self.hosted = Some(hosted.clone());
        }
    }
}

/// Joins what git defines, what is proposed to it, and what the hub has, by the ID of the instance, in the order of names.
#[must_use]
pub fn join(tree: &TreeIndex, proposals: &Proposals, hub: &[Hosted]) -> Vec<Instance> {
    let mut instances: BTreeMap<String, Instance> = BTreeMap::new();
    for (id, defined) in &tree.instances {
        let instance = Instance {
            file: Some(Arc::clone(&defined.path)),
            review: proposals.removals.get(id).cloned(),
            ..Instance::new(defined.stored.clone())
        };
        instances.insert(id.clone(), instance);
    }
    for (id, (stored, review)) in &proposals.additions {
        // One that was merged is in the tree.
        instances.entry(id.clone()).or_insert_with(|| Instance {
            review: Some(review.clone()),
            ..Instance::new(stored.clone())
        });
    }
    for hosted in hub {
        let Some(stored) = Stored::of(&hosted.cluster) else {
            continue;
        };
        let instance = instances
            .entry(stored.id.clone())
            .or_insert_with(|| Instance::new(stored.clone()));
        instance.take(hosted);
        if instance.file.is_none() && instance.review.is_none() && !instance.twins.is_empty() {
            // The one that counts may be another than the first.
            let counts = instance.hosted.as_ref();
            instance.stored = counts
                .and_then(|one| Stored::of(&one.cluster))
                .unwrap_or(stored);
        }
    }
    let names: BTreeSet<String> = hub.iter().map(Hosted::full_name).collect();
    for instance in instances.values_mut() {
        instance.is_taken =
            instance.hosted.is_none() && names.contains(&instance.stored.full_name());
    }
    let mut all: Vec<Instance> = instances.into_values().collect();
    all.sort_by(|one, other| {
        let key = |it: &Instance| (it.stored.name.clone(), it.stored.id.clone());
        key(one).cmp(&key(other))
    });
    all
}

#[cfg(test)]
mod tests;
