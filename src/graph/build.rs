//! From objects to vertices and edges.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::outside::Elsewhere;
use super::references::{self, Named, Reference};
use super::{Edge, Executor, Graph, Place, Vertex, cycles};
use crate::api::embedded;
use crate::api::fleet::OutsideObject;
use crate::api::kinds::{AUTHORIZATION, CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::api::platform::Platform;
use crate::model::{
    Finding, Needed, Object, ObjectId, Origin, QuickMap, QuickSet, Severity, message, rule_id,
};

/// Builds the graph of `objects` (top-level, unique ids) with its findings: R01 for dangling references, R04 for
/// objects that the cluster must have, R02 for cycles.
#[must_use]
pub fn build(objects: &[Object]) -> (Graph, Vec<Finding>) {
    build_beside(objects, &[], &[])
}

/// The same for a fleet with objects `left_alone` that it does not apply: the cluster must have them, whether anything
/// refers to them or not. Objects that its Fleet document says are `outside` are not missing.
#[must_use]
pub fn build_beside(
    objects: &[Object],
    left_alone: &[Object],
    outside: &[OutsideObject],
) -> (Graph, Vec<Finding>) {
    let left_alone: Vec<&Object> = left_alone.iter().collect();
    let (graph, mut findings, elsewhere) = build_part(objects, &left_alone, outside, &[]);
    findings.extend(elsewhere.unneeded());
    (graph, findings)
}

/// The same for a part of a fleet, beside objects of other parts that it may refer to. What it has to do with `outside` is
/// returned, as other parts may refer to the same.
#[must_use]
pub fn build_part(
    objects: &[Object],
    left_alone: &[&Object],
    outside: &[OutsideObject],
    environment: &[&Object],
) -> (Graph, Vec<Finding>, Elsewhere) {
    let parts: Vec<Part> = objects
        .par_iter()
        .enumerate()
        .flat_map_iter(Part::all)
        .collect();
    let mut builder = Builder::new(&parts);
    let beside = builder.graph.vertices.len();
    for object in environment {
        builder.vertex(&Part::beside(object), Place::Outside);
    }
    builder.beside = beside..builder.graph.vertices.len();
    builder.elsewhere = Elsewhere::of(outside, &builder.by_id);
    for object in left_alone {
        builder.outside_vertex(object.id.clone(), object.origin.clone());
    }
    for (at, part) in parts.into_iter().enumerate() {
        builder.link(at, part);
    }
    builder.graph.edges.sort();
    builder.clusters();
    let mirrors = builder.mirrors();
    let Builder {
        mut graph,
        mut findings,
        elsewhere,
        ..
    } = builder;
    graph.edges.sort();
    graph.edges.dedup_by(|a, b| {
        a.from == b.from && a.to == b.to && a.until == b.until && a.executor == b.executor
    });
    findings.extend(cycles::findings(&graph));
    // Cluster and MachinePool copy from each other; as nobody waits for a copy, that is no cycle.
    graph.edges.extend(mirrors);
    graph.edges.sort();
    // It may be kept for long.
    graph.vertices.shrink_to_fit();
    graph.edges.shrink_to_fit();
    (graph, findings, elsewhere)
}

/// What the graph needs to know of an object or of a resource embedded in one.
struct Part {
    id: ObjectId,
    origin: Origin,
    /// Its place among the objects; `None` for an embedded resource.
    index: Option<usize>,
    /// Whether it was expanded from a definition.
    expanded: bool,
    references: Vec<Reference>,
    /// Parts of its depends-on annotation that are no object references.
    unreadable: Vec<(String, Origin)>,
    /// The ConfigMaps and Secrets that it creates.
    makes: Vec<ObjectId>,
    /// The group and kind that it defines.
    defines: Option<(String, String)>,
}

impl Part {
    /// An object that others may refer to, without its own references.
    fn beside(object: &Object) -> Self {
        Self {
            id: object.id.clone(),
            origin: object.origin.clone(),
            index: None,
            expanded: object.definition.is_some(),
            references: Vec::new(),
            unreadable: Vec::new(),
            makes: Vec::new(),
            defines: custom_kind(object),
        }
    }

    /// The object and the resources embedded in it.
    fn all((index, object): (usize, &Object)) -> Vec<Self> {
        let is_expanded = object.definition.is_some();
        let mut whole = Self::of(object.into(), Some(index), is_expanded);
        whole.defines = custom_kind(object);
        let carried = embedded::nodes(object);
        let carried = carried.map(|(id, _, node)| {
            let resource = Named::embedded(&id, node);
            Self::of(resource, None, is_expanded)
        });
        std::iter::once(whole).chain(carried).collect()
    }

    fn of(object: Named<'_>, index: Option<usize>, expanded: bool) -> Self {
        let unreadable = references::unreadable(object);
        let mut references = references::of(object);
        // An embedded resource is in the namespace of its carrier.
        references.retain(|reference| index.is_some() || !reference.to.is("", "Namespace"));
        Self {
            id: object.id.clone(),
            origin: object.origin.clone(),
            index,
            expanded,
            references,
            unreadable: unreadable
                .map(|(text, origin)| (text.to_owned(), origin.clone()))
                .collect(),
            makes: references::made_by(object.id, object.node, None),
            defines: None,
        }
    }
}

#[derive(Default)]
struct Builder {
    graph: Graph,
    by_id: QuickMap<ObjectId, usize>,
    /// ConfigMaps and Secrets that an object of the fleet makes.
    made: QuickMap<ObjectId, usize>,
    /// Definitions of custom kinds in the fleet.
    crds: QuickMap<(String, String), usize>,
    /// The names there are, by group, kind and namespace.
    names: QuickMap<[String; 3], Vec<String>>,
    /// Who copies its readiness from whom.
    mirrored: Vec<(usize, usize)>,
    /// The reasons of edges: hundreds of edges have the same.
    reasons: QuickSet<Arc<str>>,
    /// The vertices that other parts of the fleet have.
    beside: Range<usize>,
    elsewhere: Elsewhere,
    findings: Vec<Finding>,
}

impl Builder {
    fn new(parts: &[Part]) -> Self {
        let mut builder = Self::default();
        let mut carrier = 0;
        for part in parts {
            let place = match part.index {
                Some(index) => {
                    carrier = builder.graph.vertices.len();
                    Place::TopLevel(index)
                }
                None => Place::Embedded(carrier),
            };
            builder.vertex(part, place);
        }
        builder
    }

    fn vertex(&mut self, part: &Part, place: Place) {
        let at = self.graph.vertices.len();
        let (id, origin) = (part.id.clone(), part.origin.clone());
        for made in &part.makes {
            self.made.entry(made.clone()).or_insert(at);
        }
        if let Some(custom) = &part.defines {
            self.crds.insert(custom.clone(), at);
        }
        self.by_id.entry(id.clone()).or_insert(at);
        let names = self.names.entry(family(&id)).or_default();
        names.push(id.name.clone());
        let id = Arc::new(id);
        self.graph.vertices.push(Vertex { id, place, origin });
    }

    /// Adds edges for the references of the part at `from`.
    fn link(&mut self, from: usize, part: Part) {
        let custom = (part.id.group, part.id.kind);
        if let Some(&crd) = self.crds.get(&custom) {
            self.edge(from, crd, Needed::Ready, "CustomResourceDefinition");
        }
        for (text, origin) in part.unreadable {
            let message = message!("depends-on: `{text}` is not an object reference", text);
            let finding = Finding::error(rule_id::MISSING_REFERENCE, message)
                .at(origin.span())
                .of(&self.graph.vertices[from].id);
            let help =
                "write group/namespaces/NAMESPACE/Kind/NAME, with an empty group for core kinds";
            self.findings.push(finding.help(help));
        }
        for reference in part.references {
            let ranked = references::sync_rank(&reference.to).is_some();
            let mirrors = Platform::of(&reference.to).is_some_and(|it| it.mirrors);
            if let Some(&to) = self.by_id.get(&reference.to) {
                // An object of Cluster API is ready only once those are there that refer to it, and whether an object outside is
                // ready nobody knows.
                let until = match mirrors || self.is_outside(to) {
                    true => Needed::Applied,
                    false => reference.until,
                };
                self.edge(from, to, until, &reference.why);
                if ranked && reference.why.ends_with("Ref") {
                    self.mirrored.push((from, to));
                }
            } else if let Some(&maker) = self.made.get(&reference.to) {
                self.edge(from, maker, Needed::Ready, &reference.why);
            } else if self.elsewhere.has(&reference.to) {
                let to = self.outside_vertex(reference.to, reference.origin);
                self.edge(from, to, Needed::Applied, &reference.why);
            } else if references::may_be_outside(&reference.to) {
                self.outside(from, &reference);
            } else if !(part.expanded && mirrors) {
                // A definition in `phase: Infrastructure` names a control plane that comes with a
                // later commit.
                self.dangling(from, &reference);
            }
        }
    }

    /// Who reports only what others have reached: Cluster API what its references name, a Cluster its pools
    /// (facts/aro-controllers.md §3), and an AROCluster the endpoint of its control plane. That is up with the
    /// HCP cluster, before the other resources of the AROControlPlane are.
    fn mirrors(&self) -> Vec<Edge> {
        let id = |at: usize| &self.graph.vertices[at].id;
        let mut mirrored = self.mirrored.clone();
        for members in self.graph.clusters() {
            let of = |group: &str, kind: &str| -> Vec<usize> {
                let found = members.iter().copied();
                found.filter(|at| id(*at).is(group, kind)).collect()
            };
            let pools = of(CAPI, "MachinePool");
            for root in of(CAPI, "Cluster") {
                mirrored.extend(pools.iter().map(|pool| (root, *pool)));
            }
            for aro in of(INFRASTRUCTURE, "AROCluster") {
                let planes = of(CONTROL_PLANE, "AROControlPlane");
                mirrored.extend(planes.into_iter().map(|plane| (aro, plane)));
            }
        }
        let why: Arc<str> = "its status is copied".into();
        let mut edges: Vec<Edge> = mirrored
            .into_iter()
            .map(|(from, to)| Edge {
                from,
                to: self.hcp(to).unwrap_or(to),
                until: Needed::Ready,
                executor: Executor::Nobody,
                why: Arc::clone(&why),
                any: false,
            })
            .collect();
        edges.sort();
        edges.dedup();
        edges
    }

    /// The HCP cluster in an AROControlPlane.
    fn hcp(&self, plane: usize) -> Option<usize> {
        let mut carried = self.graph.carried(plane);
        carried.find(|at| {
            self.graph.vertices[*at]
                .id
                .is(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster")
        })
    }

    fn edge(&mut self, from: usize, to: usize, until: Needed, why: &str) {
        let place = |at: usize| self.graph.vertices[at].place;
        let embedded = |at| matches!(place(at), Place::Embedded(_));
        let executor = if embedded(from) || embedded(to) {
            Executor::Controller
        } else {
            Executor::Sync
        };
        let why = self.reason(why);
        self.graph.edges.push(Edge {
            from,
            to,
            until,
            executor,
            why,
            any: false,
        });
    }

    fn reason(&mut self, why: &str) -> Arc<str> {
        if let Some(known) = self.reasons.get(why) {
            return Arc::clone(known);
        }
        let why: Arc<str> = why.into();
        self.reasons.insert(Arc::clone(&why));
        why
    }

    /// Adds an object that the cluster must have, after all objects of the fleet.
    fn outside_vertex(&mut self, id: ObjectId, origin: Origin) -> usize {
        let at = self.graph.vertices.len();
        self.by_id.insert(id.clone(), at);
        let (id, place) = (Arc::new(id), Place::Outside);
        self.graph.vertices.push(Vertex { id, place, origin });
        at
    }

    fn is_outside(&self, at: usize) -> bool {
        self.graph.vertices[at].place == Place::Outside && !self.beside.contains(&at)
    }

    fn outside(&mut self, from: usize, reference: &Reference) {
        let (id, origin) = (reference.to.clone(), reference.origin.clone());
        let user = &self.graph.vertices[from].id;
        let finding = Finding::info(
            rule_id::UNLISTED_DEPENDENCY,
            message!(
                "{id} is not in the fleet, so it must exist in the cluster",
                id
            ),
        )
        .at(origin.span())
        .of(user);
        let elsewhere = format!("nothing to do if {id} is created elsewhere; {user} uses it");
        let finding = match self.slip(&id) {
            Some(name) => Finding {
                severity: Severity::Warning,
                ..finding.help(format!(
                    "did you mean `{name}`, which is in the fleet? otherwise, {elsewhere}"
                ))
            },
            None => finding.help(elsewhere),
        };
        self.findings.push(finding);
        self.graph.unlisted.insert(id.clone());
        let to = self.outside_vertex(id, origin);
        self.edge(from, to, Needed::Applied, &reference.why);
    }

    /// The identity of the fleet whose name differs from this one's by one slip of the keyboard.
    fn slip(&self, id: &ObjectId) -> Option<&str> {
        let is_identity = id.is(INFRASTRUCTURE, "AzureClusterIdentity");
        let names = self.names.get(&family(id)).filter(|_| is_identity)?;
        let names = names.iter().map(String::as_str);
        let mut near = names.filter(|name| strsim::damerau_levenshtein(name, &id.name) == 1);
        near.next()
    }

    /// The group in which the fleet has an object of this kind and name.
    fn other_group(&self, id: &ObjectId) -> Option<&str> {
        let same = self
            .names
            .iter()
            .filter(|([group, kind, namespace], names)| {
                (kind, namespace) == (&id.kind, &id.namespace)
                    && *group != id.group
                    && names.contains(&id.name)
            });
        same.map(|([group, ..], _)| group.as_str()).min()
    }

    fn dangling(&mut self, from: usize, reference: &Reference) {
        let Reference {
            to, why, origin, ..
        } = reference;
        if let (Some(at), Some(group)) = (&reference.group, self.other_group(to)) {
            let message = message!(
                "{why} names {to} of the group `{wrong}`, which is not in the fleet",
                why,
                to,
                wrong = to.group
            );
            let finding = Finding::error(rule_id::MISSING_REFERENCE, message).at(at.span());
            let finding = finding.of(&self.graph.vertices[from].id);
            let help = format!("did you mean the group `{group}`?");
            self.findings.push(finding.help(help));
            return;
        }
        let names = self.names.get(&family(to)).into_iter().flatten();
        let near = names.map(|name| (strsim::jaro(name, &to.name), name));
        let near = near.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
        let help = match near {
            Some((_, name)) => format!(
                "did you mean `{name}`? It has the most similar name of kind {} in namespace {}",
                to.kind, to.namespace
            ),
            None => format!(
                "correct the name, or add {to} to the fleet; if something else applies it, add it to `outside` in the Fleet document"
            ),
        };
        let finding = Finding::error(
            rule_id::MISSING_REFERENCE,
            message!("{why} names {to}, which is not in the fleet", why, to),
        );
        let object = &self.graph.vertices[from].id;
        self.findings
            .push(finding.at(origin.span()).of(object).help(help));
    }

    /// The order within each cluster, and the gates between its embedded resources.
    fn clusters(&mut self) {
        self.graph.clusters = self.graph.find_clusters();
        for members in self.graph.clusters.clone().into_values() {
            let rank = |at: usize| references::sync_rank(&self.graph.vertices[at].id);
            let mut ranked: Vec<(Option<usize>, usize)> =
                members.into_iter().map(|at| (rank(at), at)).collect();
            ranked.sort_unstable();
            for &(own, from) in &ranked {
                // Sorted by rank, those before are at the start.
                for &(_, to) in ranked.iter().take_while(|(rank, _)| *rank < own) {
                    self.edge(from, to, Needed::Applied, "order within a cluster");
                }
            }
            let members: Vec<usize> = ranked.into_iter().map(|(_, at)| at).collect();
            self.gates(&members);
        }
    }

    fn gates(&mut self, members: &[usize]) {
        let carried: Vec<usize> = members
            .iter()
            .flat_map(|at| self.graph.carried(*at).collect::<Vec<_>>())
            .collect();
        let of = |group, kind| -> Vec<usize> {
            carried
                .iter()
                .copied()
                .filter(|at| self.graph.vertices[*at].id.is(group, kind))
                .collect()
        };
        let roles = of(AUTHORIZATION, "RoleAssignment");
        let hcp = of(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
        let pools = of(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool");
        let auths = of(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersExternalAuth");
        let mut add = |from: &[usize], to: &[usize], why: &str, any: bool| {
            let why: Arc<str> = why.into();
            for &from in from {
                let edge = |&to| Edge {
                    from,
                    to,
                    until: Needed::Ready,
                    executor: Executor::Controller,
                    why: Arc::clone(&why),
                    any,
                };
                self.graph.edges.extend(to.iter().map(edge));
            }
        };
        add(&hcp, &roles, ROLES_GATE, false);
        add(&pools, &hcp, "HCP cluster ready", false);
        add(&auths, &pools, "one node pool ready", true);
    }
}

/// The `why` of the edges that open `settle` after their target is ready.
pub(super) const ROLES_GATE: &str = "role assignments in force";

/// The group, kind and namespace, within which names can be confused.
fn family(id: &ObjectId) -> [String; 3] {
    [id.group.clone(), id.kind.clone(), id.namespace.clone()]
}

fn custom_kind(object: &Object) -> Option<(String, String)> {
    if !object
        .id
        .is("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        return None;
    }
    let spec = object.node.get("spec")?;
    Some((
        spec.text(&["group"])?.to_owned(),
        spec.text(&["names", "kind"])?.to_owned(),
    ))
}
