//! The graph of live objects, and the state of each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::found::{self, Presence};
use super::{Found, ObjectStatus, Phase};
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT, is_aso};
use crate::api::labels::PART_OF;
use crate::api::{aso, embedded};
use crate::apply::{self, Reasons};
use crate::graph::{self, Edge, Executor, Graph, Place, Vertex};
use crate::health::Live;
use crate::model::{Needed, Object, ObjectId, Origin, Span};

/// The `why` of an edge from an object to one it controls.
const CONTROLS: &str = "controls";

/// Everything that was found, as a graph. Objects are identified by index.
pub struct StatusGraph {
    pub(super) graph: Graph,
    statuses: Vec<ObjectStatus>,
    /// Per vertex: the id of the ApplySet that it is a member of; empty if none.
    sets: Vec<String>,
    /// The objects that carry the label of an ApplySet and are not its members, each with the id of the set.
    labelled: BTreeMap<ObjectId, String>,
    by_id: HashMap<ObjectId, usize>,
    /// The kinds, by group, of which some objects could not be read.
    pub(super) unread: BTreeSet<(String, String)>,
}

impl StatusGraph {
    /// Builds the graph.
    #[must_use]
    pub fn new(found: &Found) -> Self {
        let objects = found.top_level();
        let (graph, _) = graph::build(&objects);
        let mut status = Self {
            graph,
            statuses: Vec::new(),
            sets: Vec::new(),
            labelled: found.labelled.clone(),
            by_id: HashMap::new(),
            unread: found.unread(),
        };
        for (at, vertex) in status.graph.vertices.iter().enumerate() {
            status
                .by_id
                .entry(ObjectId::clone(&vertex.id))
                .or_insert(at);
        }
        status.add_dangling(&objects);
        status.add_controlled(found);
        status.statuses = status.statuses_of(found);
        status.add_gates();
        status.graph.edges.sort();
        let set = |vertex: &Vertex| {
            let live = found.objects.get(&vertex.id);
            let member = live.filter(|live| apply::is_applied(live));
            member
                .map_or("", |live| Live(live).label(PART_OF))
                .to_owned()
        };
        status.sets = status.graph.vertices.iter().map(set).collect();
        status
    }

    /// Takes in which objects cannot be applied: they failed, although what exists may be ready in an older form.
    pub fn fail(&mut self, reasons: &Reasons) {
        for reason in &reasons.first {
            let Some(id) = reason.id() else { continue };
            let status = ObjectStatus::refused(&reason.message);
            match self.by_id.get(&id).copied() {
                Some(at) if self.statuses[at].phase == Phase::Deleting => {}
                Some(at) => self.statuses[at] = status,
                None => self.add_absent(id, status),
            }
        }
    }

    fn add_absent(&mut self, id: ObjectId, status: ObjectStatus) {
        self.by_id.insert(id.clone(), self.graph.vertices.len());
        self.graph.vertices.push(Vertex {
            id: Arc::new(id),
            place: Place::Outside,
            origin: Origin::new(Span::top(&Arc::from(""))),
        });
        self.statuses.push(status);
        self.sets.push(String::new());
    }

    /// The state of an object.
    #[must_use]
    pub fn status(&self, at: usize) -> &ObjectStatus {
        &self.statuses[at]
    }

    /// The id of an object.
    #[must_use]
    pub fn id(&self, at: usize) -> &ObjectId {
        &self.graph.vertices[at].id
    }

    /// Every object, including those that are only referred to.
    pub fn ids(&self) -> impl Iterator<Item = (usize, &ObjectId)> {
        // An object that is embedded in two others appears twice in the graph.
        let first = |(at, id): &(usize, &ObjectId)| self.by_id.get(*id) == Some(at);
        let ids = self.graph.vertices.iter().map(|vertex| &*vertex.id);
        ids.enumerate().filter(first)
    }

    /// Whether Azure is working on an object: then it waits for nothing else, and others only repeat its state.
    pub(super) fn is_at_work(&self, at: usize) -> bool {
        let status = &self.statuses[at];
        let working = status.phase == Phase::Progressing && status.reason == aso::RECONCILING;
        working && is_aso(&self.id(at).group)
    }

    /// The objects that carry the label of `set` and are not its members.
    pub(super) fn labelled(&self, set: &str) -> impl Iterator<Item = &ObjectId> {
        let labelled = self.labelled.iter().filter(move |(_, of)| *of == set);
        labelled.map(|(id, _)| id)
    }

    /// The ApplySet of a top-level object; empty if none.
    pub(super) fn set(&self, at: usize) -> &str {
        match self.graph.vertices[at].place {
            Place::TopLevel(_) => &self.sets[at],
            _ => "",
        }
    }

    /// Adds vertices for references to objects that were not found and that no controller creates.
    fn add_dangling(&mut self, objects: &[Object]) {
        let carried = objects.iter().flat_map(embedded::resources);
        let carried: Vec<Object> = carried.map(|(_, object)| object).collect();
        let all = || objects.iter().chain(&carried);
        let made = all().flat_map(|object| graph::makes(&object.id, &object.node));
        let made: BTreeSet<ObjectId> = made.collect();
        for object in all() {
            let Some(from) = self.by_id.get(&object.id).copied() else {
                continue;
            };
            for (to, until, why) in found::names(object) {
                if !self.by_id.contains_key(&to) && !made.contains(&to) {
                    let at = self.graph.vertices.len();
                    self.by_id.insert(to.clone(), at);
                    self.graph.vertices.push(Vertex {
                        id: Arc::new(to.clone()),
                        place: Place::Outside,
                        origin: object.origin.clone(),
                    });
                }
                let dangling = self.by_id.get(&to).copied();
                let dangling =
                    dangling.filter(|at| self.graph.vertices[*at].place == Place::Outside);
                if let Some(at) = dangling {
                    self.edge(from, at, until, &why);
                }
            }
        }
    }

    /// An object waits for the objects that it controls, according to their owner references.
    fn add_controlled(&mut self, found: &Found) {
        let uid = |(id, live)| Some((Live(live).uid(), self.by_id.get(id).copied()?));
        let by_uid: HashMap<&str, usize> = found.objects.iter().filter_map(uid).collect();
        let mut edges = Vec::new();
        for (at, vertex) in self.graph.vertices.iter().enumerate() {
            let live = found.objects.get(&vertex.id).map(Live);
            let owners = live.map_or(&[][..], |live| live.list(&["metadata", "ownerReferences"]));
            let controller = owners
                .iter()
                .map(Live)
                .find(|owner| owner.flag(&["controller"]));
            let owner = controller.and_then(|owner| by_uid.get(owner.text(&["uid"])));
            if let (Some(owner), Place::TopLevel(_)) = (owner, vertex.place) {
                edges.push((*owner, at));
            }
        }
        for (owner, at) in edges {
            self.edge(owner, at, Needed::Ready, CONTROLS);
        }
    }

    /// Dependencies that no field names (DESIGN §6): a Cluster waits for all its parts, an AROCluster for the
    /// endpoint from the control plane, an HCP cluster for its infrastructure.
    fn add_gates(&mut self) {
        let clusters: Vec<Vec<usize>> = self.graph.clusters().map(<[usize]>::to_vec).collect();
        for members in clusters {
            let of = |group: &str, kind: &str| {
                let mut members = members.iter().copied();
                members.find(|at| self.id(*at).is(group, kind))
            };
            let root = of(CAPI, "Cluster");
            let aro = of(INFRASTRUCTURE, "AROCluster");
            let plane = of(CONTROL_PLANE, "AROControlPlane");
            for part in members.iter().filter(|at| Some(**at) != root) {
                if let Some(root) = root {
                    self.edge(root, *part, Needed::Ready, CONTROLS);
                }
            }
            if let (Some(aro), Some(plane)) = (aro, plane) {
                self.edge(aro, plane, Needed::Ready, "endpoint");
                self.add_infrastructure(aro, plane);
            }
        }
    }

    /// An HCP cluster that has not been created waits for everything that is embedded in the AROCluster.
    fn add_infrastructure(&mut self, aro: usize, plane: usize) {
        let unmade = |at: &usize| {
            let hcp = self.id(*at).is(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
            hcp && self.statuses[*at].phase == Phase::NotMade
        };
        let unmade: Vec<usize> = self.graph.carried(plane).filter(unmade).collect();
        let parts: Vec<usize> = self.graph.carried(aro).collect();
        for hcp in unmade {
            for part in &parts {
                self.edge(hcp, *part, Needed::Ready, "infrastructure");
            }
        }
    }

    fn edge(&mut self, from: usize, to: usize, until: Needed, why: &str) {
        self.graph.edges.push(Edge {
            from,
            to,
            until,
            executor: Executor::Controller,
            why: why.into(),
            any: false,
        });
    }

    fn statuses_of(&self, found: &Found) -> Vec<ObjectStatus> {
        let status = |vertex: &Vertex| match (found.presence(&vertex.id), vertex.place) {
            (Presence::Absent, Place::Embedded(owner)) => {
                let owner = &self.graph.vertices[owner].id;
                ObjectStatus::not_made(owner, found.objects.get(owner))
            }
            (Presence::Absent, _) if !found.asked.contains(&vertex.id) => {
                ObjectStatus::of(&Presence::Unread)
            }
            (presence, _) => ObjectStatus::of(&presence),
        };
        self.graph.vertices.iter().map(status).collect()
    }

    /// What an object still waits for, as far as known.
    pub(super) fn unmet(&self, at: usize) -> Vec<usize> {
        let status = &self.statuses[at];
        let carried = self.graph.carried(at);
        match status.phase {
            Phase::Ready | Phase::Unknown | Phase::Missing | Phase::NotServed => Vec::new(),
            _ if self.is_at_work(at) => Vec::new(),
            Phase::Deleting => {
                let controlled = self.graph.needs(at).filter(|edge| &*edge.why == CONTROLS);
                let parts = controlled.map(|edge| edge.to).chain(carried);
                parts.filter(|at| self.is_there(*at)).collect()
            }
            _ => {
                let all = self.graph.needs(at);
                let all = all.filter(|edge| !edge.any && !self.is_shortcut(edge));
                let open = all.filter(|edge| !self.is_met(edge));
                let open = open.map(|edge| edge.to).chain(self.any_of(at));
                let open = open.chain(self.owner_needs(at));
                let unready =
                    |at: &usize| !matches!(self.statuses[*at].phase, Phase::Ready | Phase::Unknown);
                open.chain(carried.filter(unready)).collect()
            }
        }
    }

    /// A copy of the status of an embedded resource: the way there through the object that carries it is reported.
    fn is_shortcut(&self, edge: &Edge) -> bool {
        let embedded = matches!(self.graph.vertices[edge.to].place, Place::Embedded(_));
        embedded && edge.executor == Executor::Nobody
    }

    /// What must exist before the parent resource of an embedded object can create it.
    fn owner_needs(&self, at: usize) -> Vec<usize> {
        match (self.graph.vertices[at].place, self.statuses[at].phase) {
            (Place::Embedded(owner), Phase::NotMade) => {
                let needs = self.graph.needs(owner);
                let open = needs.filter(|edge| edge.until == Needed::Applied && !self.is_met(edge));
                open.map(|edge| edge.to).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Alternatives of which one is enough, if none exists.
    fn any_of(&self, at: usize) -> Vec<usize> {
        let any: Vec<&Edge> = self.graph.needs(at).filter(|edge| edge.any).collect();
        match any.iter().any(|edge| self.is_met(edge)) {
            true => Vec::new(),
            false => any.iter().map(|edge| edge.to).collect(),
        }
    }

    fn is_met(&self, edge: &Edge) -> bool {
        match self.statuses[edge.to].phase {
            Phase::Ready | Phase::Unknown => true,
            Phase::Deleting | Phase::Missing | Phase::NotServed | Phase::NotMade => false,
            _ => edge.until == Needed::Applied,
        }
    }

    fn is_there(&self, at: usize) -> bool {
        let phase = self.statuses[at].phase;
        !matches!(
            phase,
            Phase::Missing | Phase::NotServed | Phase::NotMade | Phase::Unknown
        )
    }
}
