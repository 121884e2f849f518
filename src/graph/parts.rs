//! Parts of a fleet that nothing connects, each with all that it needs.
//!
//! In: a graph, and the names by which its objects may meet outside of it. Out: sets of objects; what becomes of the
//! objects of one set does not depend on the others. What several of them need, such as a Namespace, is in each of them.
//! It does not know what the sets are for.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Edge, Graph, Place};

impl Graph {
    /// The parts, by their first object: a part for each Cluster, together with the Clusters that it depends on or that
    /// depend on it, and one for whatever no Cluster needs. Each is a set of indices into the objects that the graph was
    /// built from. Objects that share one of their `names` are in one part.
    #[must_use]
    pub fn parts(&self, names: impl Fn(usize) -> Vec<String>) -> Vec<BTreeSet<usize>> {
        let needs = self.unit_needs(names);
        let in_cluster: BTreeSet<usize> = self.clusters().flatten().copied().collect();
        let mut sets = Sets::new(self.vertices.len());
        for members in self.clusters() {
            members
                .iter()
                .for_each(|member| sets.unite(members[0], *member));
        }
        let others = self.units().filter(|unit| !in_cluster.contains(unit));
        // What the members of clusters reach, each set by one of them; and what others do that reach no member.
        let (mut of_clusters, mut rest) = (BTreeMap::new(), BTreeSet::new());
        let mut held = BTreeSet::new();
        for unit in in_cluster.iter().copied().chain(others) {
            if held.contains(&unit) {
                continue;
            }
            let reached = closure(&needs, unit);
            let met: Vec<usize> = reached.intersection(&in_cluster).copied().collect();
            let Some(first) = met.first() else {
                rest.extend(reached);
                continue;
            };
            met.iter().for_each(|met| sets.unite(*first, *met));
            held.extend(reached.iter().copied());
            let of_cluster: &mut BTreeSet<usize> = of_clusters.entry(*first).or_default();
            of_cluster.extend(reached);
        }
        let mut parts: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (member, reached) in of_clusters {
            let part = parts.entry(sets.root(member)).or_default();
            part.extend(reached);
        }
        let parts = parts.into_values().chain([rest]);
        let objects = parts.map(|part| {
            part.into_iter()
                .filter_map(|unit| self.object(unit))
                .collect()
        });
        let mut parts: Vec<BTreeSet<usize>> = objects.collect();
        parts.retain(|part| !part.is_empty());
        parts.sort();
        parts
    }

    /// The vertices of namespaces, by name.
    fn namespaces(&self) -> HashMap<&str, usize> {
        let all = self.vertices.iter().enumerate();
        let all = all.filter(|(_, vertex)| vertex.id.is("", "Namespace"));
        all.map(|(at, vertex)| (vertex.id.name.as_str(), at))
            .collect()
    }

    fn is_outside(&self, at: usize) -> bool {
        self.vertices[at].place == Place::Outside
    }

    /// The top-level vertices.
    fn units(&self) -> impl Iterator<Item = usize> {
        (0..self.vertices.len()).filter(|at| self.object(*at).is_some())
    }

    /// The top-level vertex that a vertex is or is in; `None` for one outside the fleet.
    fn unit(&self, at: usize) -> Option<usize> {
        match self.vertices[at].place {
            Place::TopLevel(_) => Some(at),
            Place::Embedded(carrier) => Some(carrier),
            Place::Outside => None,
        }
    }

    /// The index of the object of a top-level vertex.
    fn object(&self, at: usize) -> Option<usize> {
        match self.vertices[at].place {
            Place::TopLevel(object) => Some(object),
            _ => None,
        }
    }

    /// What each top-level vertex needs, with what is in it: other top-level vertices. Those that share a name need each
    /// other, and who needs what the cluster must have needs the namespace of that.
    fn unit_needs(&self, names: impl Fn(usize) -> Vec<String>) -> Vec<Vec<usize>> {
        let mut needs = vec![Vec::new(); self.vertices.len()];
        let mut link = |from: usize, to: usize| {
            if from != to {
                needs[from].push(to);
            }
        };
        let namespaces = self.namespaces();
        for edge in &self.edges {
            let to = self.unit(edge.to).or_else(|| {
                let namespace = namespaces.get(self.vertices[edge.to].id.namespace.as_str());
                namespace.and_then(|namespace| self.unit(*namespace))
            });
            if let (Some(from), Some(to)) = (self.unit(edge.from), to) {
                link(from, to);
            }
        }
        let mut first: HashMap<String, usize> = HashMap::new();
        for unit in self.units() {
            let object = self.object(unit);
            for name in object.into_iter().flat_map(&names) {
                let other = *first.entry(name).or_insert(unit);
                link(unit, other);
                link(other, unit);
            }
        }
        needs
    }
}

/// A graph whose parts are taken out of it.
#[derive(Debug)]
pub struct Split<'a> {
    graph: &'a Graph,
    /// The vertex of each object.
    tops: HashMap<usize, usize>,
    /// The vertex that the cluster of each vertex is named after, for those that belong to one.
    clusters: HashMap<usize, usize>,
    /// The vertices of namespaces, by name.
    namespaces: HashMap<&'a str, usize>,
    /// What the cluster must have although nothing needs it.
    unneeded: Vec<usize>,
}

impl<'a> Split<'a> {
    /// Of this graph.
    #[must_use]
    pub fn of(graph: &'a Graph) -> Self {
        let tops = graph.units().filter_map(|at| Some((graph.object(at)?, at)));
        let clusters = graph.clusters.iter();
        let clusters =
            clusters.flat_map(|(root, members)| members.iter().map(move |at| (*at, *root)));
        let mut is_needed = vec![false; graph.vertices.len()];
        graph
            .edges
            .iter()
            .for_each(|edge| is_needed[edge.to] = true);
        let unneeded = (0..is_needed.len()).filter(|at| !is_needed[*at] && graph.is_outside(*at));
        Self {
            graph,
            tops: tops.collect(),
            clusters: clusters.collect(),
            namespaces: graph.namespaces(),
            unneeded: unneeded.collect(),
        }
    }

    /// The graph of some of the objects, by their indices: a part with all that it needs. Its indices count only those
    /// objects. What the cluster must have although nothing needs it is in the graph of its namespace; if the fleet does
    /// not have that, in the graph of the first object, or of none.
    #[must_use]
    pub fn part(&self, objects: &BTreeSet<usize>) -> Graph {
        let graph = self.graph;
        let tops = objects.iter().filter_map(|object| self.tops.get(object));
        let own = tops.flat_map(|top| std::iter::once(*top).chain(graph.carried(*top)));
        let own: BTreeSet<usize> = own.collect();
        let edges: Vec<&Edge> = own.iter().flat_map(|at| graph.needs(*at)).collect();
        let kept: BTreeSet<usize> = own
            .iter()
            .copied()
            .chain(self.outside(objects, &edges))
            .collect();
        let places: HashMap<usize, usize> = objects.iter().copied().zip(0..).collect();
        let now: HashMap<usize, usize> = kept.iter().copied().zip(0..).collect();
        let vertex = |at: &usize| {
            let mut vertex = graph.vertices[*at].clone();
            vertex.place = match vertex.place {
                Place::TopLevel(object) => Place::TopLevel(places[&object]),
                Place::Embedded(carrier) => Place::Embedded(now[&carrier]),
                Place::Outside => Place::Outside,
            };
            vertex
        };
        let moved = |at: &usize| now.get(at).copied();
        let edges = edges.into_iter().filter_map(|edge| {
            let (from, to) = (moved(&edge.from)?, moved(&edge.to)?);
            Some(Edge {
                from,
                to,
                ..edge.clone()
            })
        });
        let clusters = own.iter().filter_map(|at| self.clusters.get(at));
        let clusters: BTreeSet<&usize> = clusters.collect();
        let members = |root: &usize| {
            let members = graph.clusters[root].iter().filter_map(moved);
            Some((moved(root)?, members.collect()))
        };
        let ids = kept.iter().map(|at| &*graph.vertices[*at].id);
        let unlisted = ids.filter(|id| graph.is_unlisted(id)).cloned();
        Graph {
            unlisted: unlisted.collect(),
            vertices: kept.iter().map(vertex).collect(),
            edges: edges.collect(),
            clusters: clusters.into_iter().filter_map(members).collect(),
        }
    }

    /// The vertices that the cluster must have for these objects with these edges, with their namespaces.
    fn outside(&self, objects: &BTreeSet<usize>, edges: &[&Edge]) -> BTreeSet<usize> {
        let graph = self.graph;
        let namespace = |at: usize| {
            self.namespaces
                .get(graph.vertices[at].id.namespace.as_str())
                .copied()
        };
        let here = |at: &usize| match namespace(*at).and_then(|namespace| graph.object(namespace)) {
            Some(namespace) => objects.contains(&namespace),
            None => objects.contains(&0) || objects.is_empty(),
        };
        let unneeded = self.unneeded.iter().copied().filter(here);
        let named = edges
            .iter()
            .map(|edge| edge.to)
            .filter(|at| graph.is_outside(*at));
        let kept: BTreeSet<usize> = named.chain(unneeded).collect();
        let theirs = kept.iter().filter_map(|at| namespace(*at));
        let theirs: Vec<usize> = theirs.filter(|at| graph.is_outside(*at)).collect();
        kept.into_iter().chain(theirs).collect()
    }
}

/// `start` and what it needs, directly or not.
fn closure(needs: &[Vec<usize>], start: usize) -> BTreeSet<usize> {
    let (mut reached, mut open) = (BTreeSet::from([start]), vec![start]);
    while let Some(at) = open.pop() {
        open.extend(needs[at].iter().filter(|next| reached.insert(**next)));
    }
    reached
}

/// Disjoint sets of vertices.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The smallest vertex of the set.
    fn root(&mut self, at: usize) -> usize {
        let mut root = at;
        while self.0[root] != root {
            root = self.0[root];
        }
        self.0[at] = root;
        root
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::build;
    use crate::model::Object;

    fn objects(yaml: &str) -> Vec<Object> {
        let (documents, findings) = crate::yaml::read(&Arc::from("fleet.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is sound");
        let objects = documents.into_iter();
        objects
            .filter_map(|one| Object::from_node(one, ""))
            .collect()
    }

    /// A Cluster with its AROCluster, which embeds a resource group; `more` is of the metadata of the Cluster.
    fn cluster(name: &str, group: &str, more: &str) -> String {
        format!(
            "---
{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: ns{more}}}, spec: {{infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: {name}}}}}}}
---
{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {{name: {name}, namespace: ns}}, spec: {{identityRef: {{kind: AzureClusterIdentity, name: id}}, resources: [{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {group}}}}}]}}}}
"
        )
    }

    const NAMESPACE: &str = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: ns}}\n";

    fn after(kind: &str, name: &str) -> String {
        let depends = "config.kubernetes.io/depends-on";
        format!(", annotations: {{{depends}: cluster.x-k8s.io/namespaces/ns/{kind}/{name}}}")
    }

    fn config(name: &str, more: &str) -> String {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: ns{more}}}}}\n"
        )
    }

    /// The parts of a fleet as the names of their objects.
    fn parts(yaml: &str) -> Vec<String> {
        let objects = objects(yaml);
        let graph = build(&objects).0;
        let names = |at: usize| {
            let embedded = crate::api::embedded::ids(&objects[at]).map(|(id, _)| id);
            let ids = std::iter::once(objects[at].id.clone()).chain(embedded);
            ids.map(|id| id.to_string()).collect()
        };
        let name = |object: &usize| {
            let id = &objects[*object].id;
            format!("{}/{}", id.kind, id.name)
        };
        let parts = graph.parts(names);
        let shown = parts
            .iter()
            .map(|part| part.iter().map(name).collect::<Vec<_>>().join(" "));
        shown.collect()
    }

    #[test]
    fn each_cluster_is_a_part_with_what_it_shares_and_the_rest_is_one() {
        let fleet = [
            NAMESPACE,
            &cluster("a", "a-rg", ""),
            &config("x", ""),
            &cluster("b", "b-rg", ""),
            &config("z", ""),
        ];
        let expected = [
            "Namespace/ns Cluster/a AROCluster/a",
            "Namespace/ns ConfigMap/x ConfigMap/z",
            "Namespace/ns Cluster/b AROCluster/b",
        ];
        assert_eq!(parts(&fleet.concat()), expected);
    }

    #[test]
    fn clusters_that_depend_on_each_other_are_one_part() {
        let fleet = [
            cluster("a", "a-rg", ""),
            cluster("b", "b-rg", &after("Cluster", "a")),
        ];
        assert_eq!(
            parts(&fleet.concat()),
            ["Cluster/a AROCluster/a Cluster/b AROCluster/b"]
        );
    }

    #[test]
    fn what_depends_on_a_cluster_is_in_its_part_and_joins_two() {
        let (a, b) = (cluster("a", "a-rg", ""), cluster("b", "b-rg", ""));
        let one = [&a, &b, &config("x", &after("Cluster", "b"))]
            .map(String::as_str)
            .concat();
        let expected = [
            "Cluster/a AROCluster/a",
            "Cluster/b AROCluster/b ConfigMap/x",
        ];
        assert_eq!(parts(&one), expected);
        let both =
            after("Cluster", "b").replace("/b}", "/b,cluster.x-k8s.io/namespaces/ns/Cluster/a}");
        let both = both
            .replace("depends-on: ", "depends-on: '")
            .replace('}', "'}");
        let both = [&a, &b, &config("x", &both)].map(String::as_str).concat();
        assert_eq!(
            parts(&both),
            ["Cluster/a AROCluster/a Cluster/b AROCluster/b ConfigMap/x"]
        );
    }

    #[test]
    fn clusters_with_the_same_resource_are_one_part() {
        let fleet = [cluster("a", "rg", ""), cluster("b", "rg", "")].concat();
        assert_eq!(
            parts(&fleet),
            ["Cluster/a AROCluster/a Cluster/b AROCluster/b"]
        );
    }

    #[test]
    fn the_graph_of_a_part_is_that_of_its_objects() {
        let fleet = [
            NAMESPACE,
            &cluster("a", "a-rg", ""),
            &cluster("b", "b-rg", ""),
        ]
        .concat();
        let objects = objects(&fleet);
        let graph = build(&objects).0;
        for part in graph.parts(|_| Vec::new()) {
            let alone: Vec<Object> = part.iter().map(|at| objects[*at].clone()).collect();
            let (alone, part) = (build(&alone).0, Split::of(&graph).part(&part));
            let vertices = |graph: &Graph| -> Vec<_> {
                let all = graph.vertices.iter();
                all.map(|vertex| (vertex.id.clone(), vertex.place))
                    .collect()
            };
            assert_eq!(vertices(&part), vertices(&alone));
            assert_eq!(part.edges, alone.edges);
            assert_eq!(part.clusters, alone.clusters);
            assert!(
                part.vertices
                    .iter()
                    .any(|vertex| vertex.place == Place::Outside)
            );
        }
    }
}
