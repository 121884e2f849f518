//! What a survey read from a cluster, and what it should read next.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::api::embedded;
use crate::api::kinds::{self, CAPI, CONTROL_PLANE, INFRASTRUCTURE, KINDS};
use crate::api::labels::{CLUSTER_NAME, PART_OF};
use crate::apply;
use crate::graph;
use crate::health::Live;
use crate::model::{Needed, Node, Object, ObjectId, Origin, Span};

/// Live objects, and what could not be read.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The objects. For Secrets and ConfigMaps, metadata is enough.
    pub objects: BTreeMap<ObjectId, Json>,
    /// The objects that carry the label of an ApplySet and are not its members, each with the id of the set.
    pub labelled: BTreeMap<ObjectId, String>,
    /// The objects looked up by name.
    pub asked: BTreeSet<ObjectId>,
    /// What could not be read.
    pub errors: Vec<ReadError>,
}

/// Objects that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The namespace; `None` for all.
    pub namespace: Option<String>,
    /// The name; `None` for all.
    pub name: Option<String>,
    /// The reason.
    pub reason: ReadErrorReason,
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadErrorReason {
    /// The cluster does not serve the kind.
    NotServed,
    /// Permission is missing: the verb and the resource.
    Denied(&'static str, String),
    /// The API server's error.
    Failed(String),
}

impl ReadError {
    fn covers(&self, id: &ObjectId) -> bool {
        let within =
            |part: &Option<String>, of: &str| part.as_deref().is_none_or(|part| part == of);
        id.is(&self.group, &self.kind)
            && within(&self.namespace, &id.namespace)
            && within(&self.name, &id.name)
    }
}

/// One line of text.
impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            kind,
            namespace,
            name,
            reason,
        } = self;
        let place = match (namespace.as_deref(), name.as_deref()) {
            (None, _) => "in all namespaces".to_owned(),
            (Some(""), _) => "of the cluster".to_owned(),
            (Some(namespace), _) => format!("in namespace {namespace}"),
        };
        let what = name
            .as_ref()
            .map_or_else(String::new, |name| format!(" {name}"));
        match reason {
            ReadErrorReason::NotServed if group.is_empty() => {
                write!(f, "{kind}: the cluster does not serve it")
            }
            ReadErrorReason::NotServed => {
                write!(f, "{kind} of {group}: the cluster does not serve it")
            }
            ReadErrorReason::Denied(verb, resource) => {
                write!(
                    f,
                    "{kind}{what}: no permission to {verb} {resource} {place}"
                )
            }
            ReadErrorReason::Failed(words) => write!(f, "{kind}{what} {place}: {words}"),
        }
    }
}

/// Whether an object exists.
pub(super) enum Presence<'a> {
    Live(&'a Json),
    Absent,
    NotServed,
    /// It was not looked up, or could not be.
    Unread,
}

impl Found {
    /// Adds a live object.
    pub fn insert(&mut self, live: Json) {
        let id = Live(&live).id();
        self.objects.insert(id, live);
    }

    /// Adds a live object with the label of an ApplySet. If it is not a member, only its name is kept: what it refers to,
    /// and what it belongs to, is no concern of the fleet.
    pub fn insert_labelled(&mut self, live: Json) {
        if apply::is_applied(&live) {
            return self.insert(live);
        }
        let set = Live(&live).label(PART_OF).to_owned();
        self.labelled.insert(Live(&live).id(), set);
    }

    /// Group and kind of the objects that the controllers of Cluster API, ASO and the ARO provider create for
    /// the objects found; empty if none of those has such a controller.
    #[must_use]
    pub fn made_kinds(&self) -> BTreeSet<(String, String)> {
        let known = |group: &str| {
            kinds::is_aso(group) || [CAPI, INFRASTRUCTURE, CONTROL_PLANE].contains(&group)
        };
        if !self.objects.keys().any(|id| known(&id.group)) {
            return BTreeSet::new();
        }
        let theirs = KINDS.iter();
        let theirs = theirs.map(|kind| (kind.group.to_owned(), kind.kind.to_owned()));
        let carried = self.carried().into_iter();
        let carried = carried.map(|id| (id.group, id.kind));
        theirs.chain(carried).collect()
    }

    /// Adds the `candidates` that are embedded in an object found, or that it owns, directly or through another
    /// candidate.
    pub fn adopt(&mut self, mut candidates: Vec<Json>) {
        let carried = self.carried();
        let uid = |live: &Json| Live(live).uid().to_owned();
        let mut owners: BTreeSet<String> = self.objects.values().map(uid).collect();
        loop {
            let (ours, others): (Vec<Json>, Vec<Json>) = candidates.into_iter().partition(|live| {
                let live = Live(live);
                let named = live.list(&["metadata", "ownerReferences"]).iter();
                let mut named = named.map(|owner| Live(owner).text(&["uid"]));
                carried.contains(&live.id()) || named.any(|uid| owners.contains(uid))
            });
            if ours.is_empty() {
                return;
            }
            owners.extend(ours.iter().map(uid));
            ours.into_iter().for_each(|live| self.insert(live));
            candidates = others;
        }
    }

    /// References that have not been looked up yet.
    #[must_use]
    pub fn wanted(&self) -> BTreeSet<ObjectId> {
        let all = self.all();
        let made = all.iter();
        let made = made.flat_map(|object| graph::makes(&object.id, &object.node));
        let made: BTreeSet<ObjectId> = made.collect();
        let there: BTreeSet<&ObjectId> = all.iter().map(|object| &object.id).collect();
        let named = all.iter().flat_map(names).map(|(id, ..)| id);
        named
            .filter(|id| !there.contains(id) && !made.contains(id) && !self.asked.contains(id))
            .collect()
    }

    /// The top-level objects, for a graph. An object embedded in another one is part of that.
    pub(super) fn top_level(&self) -> Vec<Object> {
        let carried = self.carried();
        self.read(|id| !carried.contains(id))
    }

    /// The objects embedded in others.
    fn carried(&self) -> BTreeSet<ObjectId> {
        let owners = self.read(embedded::carries);
        let carried = owners.iter().flat_map(embedded::ids);
        carried.map(|(id, _)| id).collect()
    }

    /// All objects, and those that are embedded in them.
    fn all(&self) -> Vec<Object> {
        let mut all = self.top_level();
        let carried = all.iter().flat_map(embedded::resources);
        let carried: Vec<Object> = carried.map(|(_, object)| object).collect();
        all.extend(carried);
        all
    }

    fn read(&self, which: impl Fn(&ObjectId) -> bool) -> Vec<Object> {
        let origin = Origin::new(Span::top(&Arc::from("")));
        let objects = self.objects.iter().filter(|(id, _)| which(id));
        objects
            .filter_map(|(_, live)| readable(live, &origin))
            .collect()
    }

    /// The kinds, by group, of which some objects could not be read.
    pub(super) fn unread(&self) -> BTreeSet<(String, String)> {
        let unread = self
            .errors
            .iter()
            .filter(|error| error.reason != ReadErrorReason::NotServed);
        unread
            .map(|error| (error.group.clone(), error.kind.clone()))
            .collect()
    }

    pub(super) fn presence(&self, id: &ObjectId) -> Presence<'_> {
        if let Some(live) = self.objects.get(id) {
            return Presence::Live(live);
        }
        match self.errors.iter().find(|error| error.covers(id)) {
            Some(error) if error.reason == ReadErrorReason::NotServed => Presence::NotServed,
            Some(_) => Presence::Unread,
            None => Presence::Absent,
        }
    }
}

/// The references of `object`: those in its fields, and the Cluster that it is a part of.
pub(super) fn names(object: &Object) -> Vec<(ObjectId, Needed, String)> {
    let mut names = graph::names(object);
    let is_part = [INFRASTRUCTURE, CONTROL_PLANE].contains(&object.id.group.as_str());
    if let Some(cluster) = object.label(CLUSTER_NAME).filter(|_| is_part) {
        let id = ObjectId::new(CAPI, "Cluster", object.id.namespace.as_str(), cluster);
        names.push((id, Needed::Applied, CLUSTER_NAME.to_owned()));
    }
    names
}

/// The part of a live object that holds its identity and its references.
fn readable(live: &Json, origin: &Origin) -> Option<Object> {
    let mut part = json!({});
    for key in ["apiVersion", "kind", "metadata", "spec"] {
        if let Some(value) = live.get(key) {
            part[key] = value.clone();
        }
    }
    Object::from_node(Node::from_json(&part, origin), "")
}
