//! The graph of a fleet from those of its parts.
//!
//! In: the graphs of parts, which were built one by one. Out: the graph of all their objects, the same as if it had been built at
//! once. It does not know why an object belongs to a part: whatever depends on what, beside objects that any part may
//! need, is in one.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Graph, Place, Vertex};
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

/// The order among the vertices outside of all parts: objects that are left alone come first.
type Rank = (u8, usize, usize);

/// Joins the graphs of all parts of a fleet that does not apply the objects `left_alone`.
#[must_use]
pub fn join(pieces: Vec<Piece>, left_alone: &[&ObjectId]) -> Graph {
    let (mut places, count) = place_objects(&pieces);
    let outside = place_outside(&pieces, left_alone, &mut places, count);
    let moved = pieces.into_par_iter().zip(&places);
    let moved: Vec<Graph> = moved
        .map(|(piece, places)| piece.moved_to(places))
        .collect();
    let edges = moved.iter().map(|graph| graph.edges.len());
    let mut joined = Graph {
        edges: Vec::with_capacity(edges.sum()),
        vertices: Vec::with_capacity(count + outside.len()),
        ..Graph::default()
    };
    let mut vertices: Vec<Option<Vertex>> = vec![None; count];
    for (graph, places) in moved.into_iter().zip(places) {
        for (vertex, at) in graph.vertices.into_iter().zip(places) {
            if let Some(at) = at.filter(|_| vertex.place != Place::Outside) {
                vertices[at] = Some(vertex);
            }
        }
        joined.edges.extend(graph.edges);
        joined.clusters.extend(graph.clusters);
        joined.unlisted.extend(graph.unlisted);
    }
    joined.vertices.extend(vertices.into_iter().flatten());
    joined.vertices.extend(outside);
    joined.edges.sort();
    joined
}

impl Piece {
    /// Its graph with the indices of the joined graph. The vertices stay in their order.
    fn moved_to(self, places: &Places) -> Graph {
        let mut graph = Arc::unwrap_or_clone(self.graph);
        for vertex in &mut graph.vertices {
            vertex.place = match vertex.place {
                Place::TopLevel(object) => Place::TopLevel(self.objects[object]),
                Place::Embedded(carrier) => Place::Embedded(places[carrier].unwrap_or_default()),
                Place::Outside => Place::Outside,
            };
        }
        graph.edges.retain_mut(|edge| {
            let ends = places[edge.from].zip(places[edge.to]);
            (edge.from, edge.to) = ends.unwrap_or_default();
            ends.is_some()
        });
        let clusters = std::mem::take(&mut graph.clusters).into_iter();
        let clusters = clusters.filter_map(|(root, members)| {
            let members = members.into_iter().filter_map(|at| places[at]);
            Some((places[root]?, members.collect()))
        });
        graph.clusters = clusters.collect();
        graph
    }

    /// The vertices outside of it that the joined graph needs, each with its rank among all.
    fn outside(&self, places: &Places, ranks: &QuickMap<&ObjectId, usize>) -> Vec<(Rank, &Vertex)> {
        let graph = &*self.graph;
        let mut first: QuickMap<usize, usize> = QuickMap::default();
        for edge in &graph.edges {
            if graph.vertices[edge.to].place == Place::Outside {
                let from = places[edge.from].unwrap_or_default();
                let first = first.entry(edge.to).or_insert(from);
                *first = from.min(*first);
            }
        }
        let vertices = graph.vertices.iter().enumerate();
        let outside = vertices.filter(|(_, vertex)| vertex.place == Place::Outside);
        let ranked = outside.filter_map(|(at, vertex)| {
            let rank = match ranks.get(&*vertex.id) {
                Some(rank) => (0, *rank, 0),
                None => (1, *first.get(&at)?, at),
            };
            Some((rank, vertex))
        });
        ranked.collect()
    }
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
    let outside: Vec<Vec<(Rank, &Vertex)>> = pieces
        .par_iter()
        .zip(&*places)
        .map(|(piece, places)| piece.outside(places, &ranks))
        .collect();
    // The first need of each, and the vertex that has it.
    let mut first: QuickMap<&ObjectId, (Rank, &Vertex)> = QuickMap::default();
    for (rank, vertex) in outside.into_iter().flatten() {
        let known = first.entry(&*vertex.id).or_insert((rank, vertex));
        if rank < known.0 {
            *known = (rank, vertex);
        }
    }
    let inside: Vec<(&ObjectId, usize)> = pieces
        .par_iter()
        .zip(&*places)
        .flat_map_iter(|(piece, places)| {
            let vertices = piece.graph.vertices.iter().zip(places);
            let tops = vertices.filter(|(vertex, _)| matches!(vertex.place, Place::TopLevel(_)));
            let wanted = tops.filter(|(vertex, _)| first.contains_key(&*vertex.id));
            wanted.filter_map(|(vertex, place)| Some((&*vertex.id, (*place)?)))
        })
        .collect();
    let mut found: QuickMap<&ObjectId, usize> = QuickMap::default();
    for (id, place) in inside {
        if first.remove(id).is_some() {
            found.insert(id, place);
        }
    }
    let mut outside: Vec<_> = first.into_values().collect();
    outside.sort_unstable_by_key(|(order, _)| *order);
    for (number, (_, vertex)) in outside.iter().enumerate() {
        found.insert(&*vertex.id, count + number);
    }
    pieces.par_iter().zip(places).for_each(|(piece, places)| {
        for (vertex, place) in piece.graph.vertices.iter().zip(places) {
            if vertex.place == Place::Outside {
                *place = found.get(&*vertex.id).copied();
            }
        }
    });
    outside
        .into_iter()
        .map(|(_, vertex)| vertex.clone())
        .collect()
}
