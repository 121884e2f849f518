//! From objects to vertices and edges.

use std::borrow::Cow;
use std::collections::HashMap;

use super::references::{self, Reference};
use super::{Edge, Executor, Graph, Place, Vertex, cycles};
use crate::api::embedded;
use crate::api::kinds::{AUTHORIZATION, RED_HAT_OPENSHIFT};
use crate::model::{Finding, Needed, Object, ObjectId, Origin, message};

/// Builds the graph of `objects` (top-level, unique ids) with its findings: R01 for dangling references, R04 for
/// objects that the cluster must have, R02 for cycles.
#[must_use]
pub fn build(objects: &[Object]) -> (Graph, Vec<Finding>) {
    build_beside(objects, &[])
}

/// The same for a fleet with objects `outside` that it does not apply: the cluster must have them, whether anything
/// refers to them or not.
#[must_use]
pub fn build_beside(objects: &[Object], outside: &[Object]) -> (Graph, Vec<Finding>) {
    let mut builder = Builder::new(objects);
    for object in outside {
        builder.outside_vertex(object.id.clone(), object.origin.clone());
    }
    for (at, object) in std::mem::take(&mut builder.objects).iter().enumerate() {
        builder.link(at, object);
    }
    builder.graph.edges.sort();
    builder.clusters();
    let Builder {
        mut graph,
        mut findings,
        ..
    } = builder;
    graph.edges.sort();
    graph.edges.dedup_by(|a, b| {
        a.from == b.from && a.to == b.to && a.until == b.until && a.executor == b.executor
    });
    findings.extend(cycles::findings(&graph));
    (graph, findings)
}

struct Builder<'a> {
    /// Per vertex, outside ones excepted: the object itself.
    objects: Vec<Cow<'a, Object>>,
    graph: Graph,
    by_id: HashMap<ObjectId, usize>,
    /// ConfigMaps and Secrets that an object of the fleet makes.
    made: HashMap<ObjectId, usize>,
    /// Definitions of custom kinds in the fleet.
    crds: HashMap<(String, String), usize>,
    /// The names there are, by group, kind and namespace.
    names: HashMap<[String; 3], Vec<String>>,
    findings: Vec<Finding>,
}

impl<'a> Builder<'a> {
    fn new(objects: &'a [Object]) -> Self {
        let mut builder = Self {
            objects: Vec::new(),
            graph: Graph::default(),
            by_id: HashMap::new(),
            made: HashMap::new(),
            crds: HashMap::new(),
            names: HashMap::new(),
            findings: Vec::new(),
        };
        for (index, object) in objects.iter().enumerate() {
            let carrier = builder.vertex(Cow::Borrowed(object), Place::TopLevel(index));
            for (_, resource) in embedded::resources(object) {
                builder.vertex(Cow::Owned(resource), Place::Embedded(carrier));
            }
        }
        builder
    }

    fn vertex(&mut self, object: Cow<'a, Object>, place: Place) -> usize {
        let at = self.graph.vertices.len();
        let (id, origin) = (object.id.clone(), object.origin.clone());
        for made in references::made_by(&object.id, &object.node, None) {
            self.made.entry(made).or_insert(at);
        }
        if let Some(custom) = custom_kind(&object) {
            self.crds.insert(custom, at);
        }
        self.by_id.entry(id.clone()).or_insert(at);
        let names = self.names.entry(family(&id)).or_default();
        names.push(id.name.clone());
        self.graph.vertices.push(Vertex { id, place, origin });
        self.objects.push(object);
        at
    }

    /// Adds edges for the references of the object at `from`.
    fn link(&mut self, from: usize, object: &Object) {
        let custom = (object.id.group.clone(), object.id.kind.clone());
        if let Some(&crd) = self.crds.get(&custom) {
            self.edge(from, crd, Needed::Ready, "CustomResourceDefinition");
        }
        for (text, origin) in references::unreadable(object) {
            let message = message!("depends-on: `{text}` is not an object reference", text);
            let finding = Finding::error("R01", message)
                .at(origin.span())
                .of(&object.id);
            let help =
                "write group/namespaces/NAMESPACE/Kind/NAME, with an empty group for core kinds";
            self.findings.push(finding.help(help));
        }
        let embedded = matches!(self.graph.vertices[from].place, Place::Embedded(_));
        for reference in references::of(object) {
            // An embedded resource is in the namespace of its carrier.
            if embedded && reference.to.is("", "Namespace") {
                continue;
            }
            let ranked = references::sync_rank(&reference.to).is_some();
            if let Some(&to) = self.by_id.get(&reference.to) {
                let until = if ranked {
                    Needed::Applied
                } else {
                    reference.until
                };
                self.edge(from, to, until, &reference.why);
                if ranked && reference.why.ends_with("Ref") {
                    self.mirror(from, to);
                }
            } else if let Some(&maker) = self.made.get(&reference.to) {
                self.edge(from, maker, Needed::Ready, &reference.why);
            } else if references::may_be_outside(&reference.to) {
                self.outside(from, &reference);
            } else if !(ranked && object.definition.is_some()) {
                // A definition in `phase: Infrastructure` names a control plane that comes with a
                // later commit.
                self.dangling(&object.id, &reference);
            }
        }
    }

    /// Cluster API copies readiness from the infrastructure and control plane that an object names.
    fn mirror(&mut self, from: usize, to: usize) {
        let (until, executor) = (Needed::Ready, Executor::Controller);
        let why = "status".to_owned();
        self.graph.edges.push(Edge {
            from,
            to,
            until,
            executor,
            why,
            any: false,
        });
    }

    fn edge(&mut self, from: usize, to: usize, until: Needed, why: &str) {
        let place = |at: usize| self.graph.vertices[at].place;
        let embedded = |at| matches!(place(at), Place::Embedded(_));
        let executor = if embedded(from) || embedded(to) {
            Executor::Controller
        } else {
            Executor::Sync
        };
        self.graph.edges.push(Edge {
            from,
            to,
            until,
            executor,
            why: why.to_owned(),
            any: false,
        });
    }

    /// Adds an object that the cluster must have, after all objects of the fleet.
    fn outside_vertex(&mut self, id: ObjectId, origin: Origin) -> usize {
        let at = self.graph.vertices.len();
        self.by_id.insert(id.clone(), at);
        let place = Place::Outside;
        self.graph.vertices.push(Vertex { id, place, origin });
        at
    }

    fn outside(&mut self, from: usize, reference: &Reference) {
        let (id, origin) = (reference.to.clone(), reference.origin.clone());
        let user = &self.graph.vertices[from].id;
        let finding = Finding::info(
            "R04",
            message!(
                "{id} is not in the fleet, so it must exist in the cluster",
                id
            ),
        )
        .at(origin.span())
        .of(user)
        .help(format!(
            "nothing to do if {id} is created elsewhere; {user} uses it"
        ));
        self.findings.push(finding);
        let to = self.outside_vertex(id, origin);
        self.edge(from, to, Needed::Applied, &reference.why);
    }

    fn dangling(&mut self, object: &ObjectId, reference: &Reference) {
        let Reference {
            to, why, origin, ..
        } = reference;
        let names = self.names.get(&family(to)).into_iter().flatten();
        let near = names.map(|name| (strsim::jaro(name, &to.name), name));
        let near = near.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
        let help = match near {
            Some((_, name)) => format!(
                "did you mean `{name}`? It has the most similar name of kind {} in namespace {}",
                to.kind, to.namespace
            ),
            None => format!("add {to} to the fleet, or correct the name"),
        };
        let finding = Finding::error(
            "R01",
            message!("{why} names {to}, which is not in the fleet", why, to),
        );
        self.findings
            .push(finding.at(origin.span()).of(object).help(help));
    }

    /// The order within each Cluster API cluster, and the gates between its embedded resources.
    fn clusters(&mut self) {
        self.graph.clusters = self.graph.find_clusters();
        for mut members in self.graph.clusters.clone() {
            let rank = |at: &usize| references::sync_rank(&self.graph.vertices[*at].id);
            members.sort_by_key(|at| (rank(at), *at));
            let mut order = Vec::new();
            for &from in &members {
                order.extend(
                    members
                        .iter()
                        .filter(|to| rank(to) < rank(&from))
                        .map(|&to| (from, to)),
                );
            }
            for (from, to) in order {
                self.edge(from, to, Needed::Applied, "order within a cluster");
            }
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
            for &from in from {
                let edge = |&to| Edge {
                    from,
                    to,
                    until: Needed::Ready,
                    executor: Executor::Controller,
                    why: why.to_owned(),
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
