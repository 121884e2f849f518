//! What depends on what: references, order, cycles and the critical path.
//!
//! In: the objects of a fleet, top-level ones with the resources embedded in them. Out: a [`Graph`]
//! of vertices and edges, and findings about references to nothing (R01, R04), cycles (R02) and
//! entries of `outside` without effect (R05).
//!
//! ```text
//! objects ─► references (who names whom) ─► Graph ─► cycles, schedule ─► text, dot
//! ```
//!
//! It does not know how anything is applied, or whether a cluster exists.

mod build;
mod clusters;
mod cycles;
mod draw;
mod join;
mod outside;
mod parts;
mod references;
mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Needed, Node, Object, ObjectId, Origin};
use references::Named;

pub use build::{build, build_beside, build_part};
pub use draw::{dot, in_force, text};
pub use join::{Joined, Piece, join};
pub use outside::Elsewhere;
pub use parts::Split;
pub use schedule::{Pace, Schedule, Timing, about, critical_path, minutes, waits_for_roles};

/// Where the object of a vertex is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A document of its own; the index into the objects the graph was built from.
    TopLevel(usize),
    /// In `spec.resources` of the vertex with this index.
    Embedded(usize),
    /// Not in the fleet: the cluster must supply it.
    Outside,
}

/// One object of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Vertex {
    /// The object. Copies share it.
    pub id: Arc<ObjectId>,
    /// Where it is written.
    pub place: Place,
    /// The place that findings point at.
    pub origin: Origin,
}

/// Who waits on an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Executor {
    /// Our sync: the dependent is not applied before.
    Sync,
    /// The controllers: the dependent is applied at once and they wait.
    Controller,
    /// Nobody: the dependent starts without it, and reports that it is ready when this is.
    Nobody,
}

/// `from` needs `to`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The dependent vertex.
    pub from: usize,
    /// The vertex it depends on.
    pub to: usize,
    /// How far `to` must have come.
    pub until: Needed,
    /// Who waits.
    pub executor: Executor,
    /// Why, in a word or two: the field or gate that makes the edge. Copies share it.
    pub why: Arc<str>,
    /// Whether one of all such edges of `from` is enough (external auth needs *a* ready node pool).
    pub any: bool,
}

/// The dependency graph of a fleet. Vertices are in the order of the objects, embedded ones after
/// the object that carries them, outside ones last. Edges are sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// The objects.
    pub vertices: Vec<Vertex>,
    /// What needs what.
    pub edges: Vec<Edge>,
    /// The clusters, by the vertices that they are named after.
    clusters: BTreeMap<usize, Vec<usize>>,
    /// The objects outside that nothing names but the objects that use them.
    unlisted: BTreeSet<ObjectId>,
}

impl Graph {
    /// The edges that leave `vertex`: what it needs.
    pub fn needs(&self, vertex: usize) -> impl Iterator<Item = &Edge> {
        let start = self.edges.partition_point(|edge| edge.from < vertex);
        self.edges[start..]
            .iter()
            .take_while(move |edge| edge.from == vertex)
    }

    /// Per Cluster, in order: the top-level vertices that belong to it, itself included, sorted.
    pub fn clusters(&self) -> impl ExactSizeIterator<Item = &[usize]> {
        self.clusters.values().map(Vec::as_slice)
    }

    /// The vertices embedded in `vertex`.
    pub fn carried(&self, vertex: usize) -> impl Iterator<Item = usize> {
        (vertex + 1..self.vertices.len())
            .take_while(move |at| self.vertices[*at].place == Place::Embedded(vertex))
    }

    /// Whether an object is used, is not in the fleet, and is not listed as applied by something else.
    #[must_use]
    pub fn is_unlisted(&self, id: &ObjectId) -> bool {
        self.unlisted.contains(id)
    }

    /// The vertices of objects the cluster must supply.
    pub fn outside(&self) -> impl Iterator<Item = &Vertex> {
        self.vertices
            .iter()
            .filter(|vertex| vertex.place == Place::Outside)
    }
}

/// The references of `object` in the order of its fields: the object, how far it must have come, and the field
/// that names it.
#[must_use]
pub fn names(object: &Object) -> Vec<(ObjectId, Needed, String)> {
    names_in(&object.id, &object.node)
}

/// The same, of an object or an embedded resource with this id and content.
#[must_use]
pub fn names_in(id: &ObjectId, node: &Node) -> Vec<(ObjectId, Needed, String)> {
    let named = references::of(Named::embedded(id, node)).into_iter();
    named
        .map(|reference| (reference.to, reference.until, reference.why))
        .collect()
}

/// The ConfigMaps and Secrets that the object `id` with the content `node` creates once it is ready.
#[must_use]
pub fn makes(id: &ObjectId, node: &Node) -> Vec<ObjectId> {
    references::made_by(id, node, None)
}

#[cfg(test)]
mod tests;
