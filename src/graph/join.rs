//! The graph of a fleet from those of its parts.
//!
//! In: the graphs of parts, which were built one by one. Out: the graph of all their objects, the same as if it had been built at
//! once. It does not know why an object belongs to a part: whatever depends on what, beside objects that any part may
//! need, is in one.

use std::sync::Arc;

use super::{Edge, Graph, Place, Vertex};
use crate::model::{ObjectId, QuickMap};

/// The graph of a part of a fleet.
#[derive(Debug, Default)]
pub struct Piece {
    /// Its graph.
    pub graph: Arc<Graph>,
    /// For each object that it was built from, the index among those of the fleet.
    pub objects: Vec<usize>,
}

/// The index in the joined graph of each vertex of a piece; `None` if it is not in the joined graph.
type Places = Vec<Option<usize>>;

/// Joins the graphs of all parts of a fleet that does not apply the objects `left_alone`.
#[must_use]
pub fn join(pieces: Vec<Piece>, left_alone: &[&ObjectId]) -> Graph {
    let (mut places, count) = place_objects(&pieces);
    let outside = place_outside(&pieces, left_alone, &mut places, count);
    let edges = pieces.iter().map(|piece| piece.graph.edges.len());
    let mut joined = Graph {
        edges: Vec::with_capacity(edges.sum()),
        vertices: Vec::with_capacity(count + outside.len()),
        ..Graph::default()
    };
    let mut vertices: Vec<Option<Vertex>> = vec![None; count];
    for (piece, places) in pieces.into_iter().zip(places) {
        let place = |at: usize| places[at];
        let graph = Arc::unwrap_or_clone(piece.graph);
        for (vertex, at) in graph.vertices.into_iter().zip(&places) {
            let of_fleet = match vertex.place {
                Place::TopLevel(object) => Place::TopLevel(piece.objects[object]),
                Place::Embedded(carrier) => Place::Embedded(place(carrier).unwrap_or_default()),
                Place::Outside => continue,
            };
            if let Some(at) = *at {
                vertices[at] = Some(Vertex {
                    place: of_fleet,
                    ..vertex
                });
            }
        }
        let edges = graph.edges.into_iter();
        joined.edges.extend(edges.filter_map(|edge| {
            let (from, to) = (place(edge.from)?, place(edge.to)?);
            Some(Edge { from, to, ..edge })
        }));
        let clusters = graph.clusters.into_iter();
        joined
            .clusters
            .extend(clusters.filter_map(|(root, members)| {
                let members = members.into_iter().filter_map(place);
                Some((place(root)?, members.collect()))
            }));
        joined.unlisted.extend(graph.unlisted);
    }
    joined.vertices.extend(vertices.into_iter().flatten());
    joined.vertices.extend(outside);
    joined.edges.sort();
    joined
}

/// The places of the objects and of what is embedded in them, and how many there are.
fn place_objects(pieces: &[Piece]) -> (Vec<Places>, usize) {
    let mut tops: Vec<(usize, usize, usize)> = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let vertices = piece.graph.vertices.iter().enumerate();
        tops.extend(vertices.filter_map(|(at, vertex)| match vertex.place {
            Place::TopLevel(object) => Some((piece.objects[object], number, at)),
            _ => None,
        }));
    }
    tops.sort_unstable();
    let lengths = pieces.iter().map(|piece| piece.graph.vertices.len());
    let mut places: Vec<Places> = lengths.map(|length| vec![None; length]).collect();
    let mut count = 0;
    for (_, number, top) in tops {
        let carried = pieces[number].graph.carried(top);
        for at in std::iter::once(top).chain(carried) {
            places[number][at] = Some(count);
            count += 1;
        }
    }
    (places, count)
}

/// Places the vertices that are outside of their parts: with those of the same objects in another part, or after all `count`
/// vertices of the fleet. Returns the latter: objects that are left alone, then others in the order in which they are needed.
fn place_outside(
    pieces: &[Piece],
    left_alone: &[&ObjectId],
    places: &mut [Places],
    count: usize,
) -> Vec<Vertex> {
    let ranks = left_alone.iter().enumerate();
    let ranks: QuickMap<&ObjectId, usize> = ranks.map(|(rank, id)| (*id, rank)).collect();
    // The first need of each, and the vertex that has it.
    let mut first: QuickMap<&ObjectId, ((usize, usize, usize), &Vertex)> = QuickMap::default();
    for (piece, places) in pieces.iter().zip(&*places) {
        let graph = &piece.graph;
        let is_outside = |at: usize| graph.vertices[at].place == Place::Outside;
        let needed = graph.edges.iter().filter(|edge| is_outside(edge.to));
        let needed = needed.map(|edge| (edge.to, places[edge.from].unwrap_or_default()));
        let alone = (0..places.len()).filter(|at| is_outside(*at));
        let alone = alone.filter(|at| ranks.contains_key(&*graph.vertices[*at].id));
        for (at, from) in needed.chain(alone.map(|at| (at, 0))) {
            let vertex = &graph.vertices[at];
            let order = match ranks.get(&*vertex.id) {
                Some(rank) => (0, *rank, 0),
                None => (1, from, at),
            };
            let known = first.entry(&*vertex.id).or_insert((order, vertex));
            if order < known.0 {
                *known = (order, vertex);
            }
        }
    }
    let mut found: QuickMap<&ObjectId, usize> = QuickMap::default();
    for (piece, places) in pieces.iter().zip(&*places) {
        for (vertex, place) in piece.graph.vertices.iter().zip(places) {
            if let (Place::TopLevel(_), Some(place)) = (vertex.place, place)
                && first.remove(&*vertex.id).is_some()
            {
                found.insert(&*vertex.id, *place);
            }
        }
    }
    let mut outside: Vec<_> = first.into_values().collect();
    outside.sort_unstable_by_key(|(order, _)| *order);
    for (number, (_, vertex)) in outside.iter().enumerate() {
        found.insert(&*vertex.id, count + number);
    }
    for (piece, places) in pieces.iter().zip(places) {
        for (vertex, place) in piece.graph.vertices.iter().zip(places) {
            if vertex.place == Place::Outside {
                *place = found.get(&*vertex.id).copied();
            }
        }
    }
    outside
        .into_iter()
        .map(|(_, vertex)| vertex.clone())
        .collect()
}
