//! The graph of a fleet from those of its parts.
//!
//! In: the graphs of parts, which were built one by one. Out: the graph of all their objects, the same as if it had been built at
//! once. It does not know why an object belongs to a part: whatever depends on what, beside objects that any part may
//! need, is in one.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Graph, Place, Vertex};
use crate::model::{ObjectId, Origin, QuickMap};

/// The graph of a part of a fleet.
#[derive(Clone, Debug, Default)]
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
    let joints = Joints::of(&pieces, left_alone);
    joints.join(pieces)
}

/// The graph of a fleet, and what it was joined from. Copies share both.
#[derive(Clone, Debug)]
pub struct Joined {
    graph: Arc<Graph>,
    pieces: Arc<[Piece]>,
    left_alone: Arc<[ObjectId]>,
    joints: Arc<Joints>,
}

/// The places of pieces in their joined graph.
#[derive(Debug)]
struct Joints {
    /// By piece.
    places: Vec<Places>,
    /// The number of vertices that are objects of the fleet or in one.
    count: usize,
    /// The vertices after those, each with the number of the piece that it is from.
    outside: Vec<(usize, Vertex)>,
}

impl Joined {
    /// The same as [`join`], to be joined again.
    #[must_use]
    pub fn of(pieces: Vec<Piece>, left_alone: &[&ObjectId]) -> Self {
        let joints = Joints::of(&pieces, left_alone);
        Self {
            graph: joints.join(pieces.clone()).into(),
            pieces: pieces.into(),
            left_alone: left_alone.iter().copied().cloned().collect(),
            joints: joints.into(),
        }
    }

    /// The same as [`Self::of`]. It joins the graph anew only if more than the origins in the pieces differ.
    #[must_use]
    pub fn again(&self, pieces: Vec<Piece>, left_alone: &[&ObjectId]) -> Self {
        match self.with_pieces(&pieces, left_alone) {
            Some(graph) => Self {
                graph,
                pieces: pieces.into(),
                ..self.clone()
            },
            None => Self::of(pieces, left_alone),
        }
    }

    /// The graph of the fleet.
    #[must_use]
    pub const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The graph with the origins of these pieces; `None` if they differ in anything else.
    fn with_pieces(&self, pieces: &[Piece], left_alone: &[&ObjectId]) -> Option<Arc<Graph>> {
        let has_same_objects = |(before, now): (&Piece, &Piece)| before.objects == now.objects;
        let are_same = self.pieces.len() == pieces.len()
            && left_alone.iter().copied().eq(&*self.left_alone)
            && self.pieces.iter().zip(pieces).all(has_same_objects);
        if !are_same {
            return None;
        }
        let mut moved = Vec::new();
        for (number, (before, now)) in self.pieces.iter().zip(pieces).enumerate() {
            if !Arc::ptr_eq(&before.graph, &now.graph) {
                moved.extend(self.moved(number, &before.graph, &now.graph)?);
            }
        }
        if moved.is_empty() {
            return Some(Arc::clone(&self.graph));
        }
        let mut graph = Graph::clone(&self.graph);
        for (at, origin) in moved {
            graph.vertices[at].origin = origin.clone();
        }
        Some(graph.into())
    }

    /// The new origins that a piece with another graph gives to vertices of the joined graph, by their indices; `None` if the graphs of
    /// the piece differ in anything else.
    fn moved<'g>(
        &self,
        number: usize,
        before: &Graph,
        now: &'g Graph,
    ) -> Option<Vec<(usize, &'g Origin)>> {
        if !now.is_like(before) {
            return None;
        }
        let joints = &*self.joints;
        let is_from_it = |at: usize| {
            let outside = at.checked_sub(joints.count);
            outside.is_some_and(|outside| joints.outside[outside].0 == number)
        };
        let has_it = |vertex: &Vertex, at: usize| match vertex.place {
            Place::TopLevel(_) | Place::Embedded(_) => true,
            Place::Outside => is_from_it(at),
        };
        let mut moved = Vec::new();
        let vertices = before.vertices.iter().zip(&now.vertices);
        for ((before, now), at) in vertices.zip(&joints.places[number]) {
            if let Some(at) = at.filter(|at| before.origin != now.origin && has_it(now, *at)) {
                moved.push((at, &now.origin));
            }
        }
        Some(moved)
    }
}

impl Graph {
    /// Returns true if it differs from another one in nothing but origins.
    fn is_like(&self, other: &Self) -> bool {
        let is_same =
            |(one, other): (&Vertex, &Vertex)| one.place == other.place && one.id == other.id;
        self.vertices.len() == other.vertices.len()
            && self.vertices.iter().zip(&other.vertices).all(is_same)
            && self.edges == other.edges
            && self.clusters == other.clusters
            && self.unlisted == other.unlisted
    }
}

impl Joints {
    fn of(pieces: &[Piece], left_alone: &[&ObjectId]) -> Self {
        let (mut places, count) = place_objects(pieces);
        let outside = place_outside(pieces, left_alone, &mut places, count);
        Self {
            places,
            count,
            outside,
        }
    }

    /// The graph of the pieces that these are of.
    fn join(&self, pieces: Vec<Piece>) -> Graph {
        let moved = pieces.into_par_iter().zip(&self.places);
        let moved: Vec<Graph> = moved
            .map(|(piece, places)| piece.moved_to(places))
            .collect();
        let edges = moved.iter().map(|graph| graph.edges.len());
        let mut joined = Graph {
            edges: Vec::with_capacity(edges.sum()),
            vertices: Vec::with_capacity(self.count + self.outside.len()),
            ..Graph::default()
        };
        let mut vertices: Vec<Option<Vertex>> = vec![None; self.count];
        for (graph, places) in moved.into_iter().zip(&self.places) {
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
        let outside = self.outside.iter().map(|(_, vertex)| vertex.clone());
        joined.vertices.extend(outside);
        joined.edges.sort();
        joined
    }
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
/// vertices of the fleet. Returns the latter, each with the number of the piece that it is from: objects that are left alone, then
/// others in the order in which they are needed.
fn place_outside(
    pieces: &[Piece],
    left_alone: &[&ObjectId],
    places: &mut [Places],
    count: usize,
) -> Vec<(usize, Vertex)> {
    let ranks = left_alone.iter().enumerate();
    let ranks: QuickMap<&ObjectId, usize> = ranks.map(|(rank, id)| (*id, rank)).collect();
    let outside: Vec<Vec<(Rank, &Vertex)>> = pieces
        .par_iter()
        .zip(&*places)
        .map(|(piece, places)| piece.outside(places, &ranks))
        .collect();
    // The first need of each, and the vertex that has it.
    let mut first: QuickMap<&ObjectId, (Rank, usize, &Vertex)> = QuickMap::default();
    let outside = outside.into_iter().enumerate();
    for (number, (rank, vertex)) in
        outside.flat_map(|(number, all)| all.into_iter().map(move |one| (number, one)))
    {
        let known = first.entry(&*vertex.id).or_insert((rank, number, vertex));
        if rank < known.0 {
            *known = (rank, number, vertex);
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
    outside.sort_unstable_by_key(|(order, ..)| *order);
    for (number, (.., vertex)) in outside.iter().enumerate() {
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
        .map(|(_, number, vertex)| (number, vertex.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::build;
    use crate::model::Object;

    /// A cluster with an identity that the fleet does not have, this far down in its file.
    fn cluster(name: &str, identity: &str, lines: usize) -> Arc<Graph> {
        let text = format!(
            "{}{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {{name: {name}}}, spec: {{identityRef: {{name: {identity}}}, resources: [{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}}}}}]}}}}",
            "\n".repeat(lines)
        );
        let (documents, _) = crate::yaml::read(&Arc::from(name), text.as_bytes());
        let objects = documents.into_iter();
        let objects = objects.filter_map(|node| Object::from_node(node, "n"));
        build(&objects.collect::<Vec<_>>()).0.into()
    }

    fn pieces(graphs: &[(usize, Arc<Graph>)]) -> Vec<Piece> {
        let piece = |(object, graph): &(usize, Arc<Graph>)| Piece {
            graph: Arc::clone(graph),
            objects: vec![*object],
        };
        graphs.iter().map(piece).collect()
    }

    #[test]
    fn a_graph_is_joined_again_as_if_it_was_the_first_time() {
        let (one, two) = (cluster("one", "i", 0), cluster("two", "i", 0));
        let both = [(0, Arc::clone(&one)), (1, Arc::clone(&two))];
        let last = Joined::of(pieces(&both), &[]);
        let outside = last.graph().outside().map(|vertex| &*vertex.id.name);
        assert_eq!(outside.collect::<Vec<_>>(), ["i", "n"]);
        let moved = |lines| cluster("one", "i", lines);
        for (what, graphs, is_shared) in [
            ("the same", both.to_vec(), true),
            ("equal", vec![(0, moved(0)), (1, Arc::clone(&two))], true),
            ("moved", vec![(0, moved(3)), (1, Arc::clone(&two))], false),
            (
                "the other moved",
                vec![(0, Arc::clone(&one)), (1, cluster("two", "i", 1))],
                false,
            ),
            (
                "another need",
                vec![(0, cluster("one", "j", 0)), (1, Arc::clone(&two))],
                false,
            ),
            (
                "another order",
                vec![(1, Arc::clone(&one)), (0, Arc::clone(&two))],
                false,
            ),
            ("one less", vec![(0, Arc::clone(&one))], false),
        ] {
            let again = last.again(pieces(&graphs), &[]);
            let expected = Joined::of(pieces(&graphs), &[]);
            assert_eq!(again.graph(), expected.graph(), "{what}");
            assert_eq!(
                Arc::ptr_eq(again.graph(), last.graph()),
                is_shared,
                "{what}"
            );
            // The next change is compared with this one.
            let back = again.again(pieces(&both), &[]);
            assert_eq!(back.graph(), last.graph(), "{what}");
        }
        let identity = ObjectId::new(
            "infrastructure.cluster.x-k8s.io",
            "AzureClusterIdentity",
            "n",
            "i",
        );
        let left_alone = last.again(pieces(&both), &[&identity]);
        let expected = Joined::of(pieces(&both), &[&identity]);
        assert_eq!(left_alone.graph(), expected.graph());
    }
}
