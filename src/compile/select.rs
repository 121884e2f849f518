//! A part of a fleet, by labels.
//!
//! In: a fleet and a label selector. Out: the selected definitions and raw objects, and the findings that may
//! concern them. The fleet is always checked as a whole, so selecting makes no finding: it leaves out those
//! that are in a document that is not selected and that would be there without the selected ones, too. What
//! two clusters share, a broken file and a broken overlay are therefore reported for either. It does not know
//! what the selection is for.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::compiled::{Checked, Compiled};
use super::documents::Documents;
use super::order::sort;
use super::{compile_by, whole};
use crate::api::fleet::FleetPolicy;
use crate::api::overlay::Selector;
use crate::api::{cluster_definition, embedded};
use crate::graph::{self, Graph, Place};
use crate::model::{Finding, Node, Object, ObjectId, Position, Span, Tree, Value};
use crate::rules::tenancy;

/// How much of a fleet is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only what matches.
    Exact,
    /// Also the objects that it needs, directly or not.
    WithNeeds,
}

/// A part of a fleet.
#[derive(Debug, Default)]
pub struct Selected {
    /// Its objects and their graph, the number of its definitions, and the findings that may concern it.
    pub compiled: Compiled,
    /// The findings that concern only the rest of the fleet.
    pub others: Vec<Finding>,
    /// The namespaces that the rest of the fleet makes.
    pub namespaces: BTreeSet<String>,
    /// Whether any document matches.
    pub is_empty: bool,
}

/// Compiles the whole fleet, and selects from it.
#[must_use]
pub fn select(
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    selector: &Selector,
    extent: Extent,
) -> Selected {
    let all = compile_by(policy, tree, overlays);
    if all.is_stopped() {
        return Selected {
            compiled: all,
            ..Selected::default()
        };
    }
    let mut documents = Documents::of(tree, overlays);
    documents.clear_namespaces();
    let choice = Choice::of(&documents, selector);
    let only = |wanted: bool| {
        let mut documents = Documents::of(tree, overlays);
        let keeps = |node: &Node| chosen(selector, node) == wanted;
        documents.definitions.retain(&keeps);
        documents.raw.retain(|object| keeps(&object.node));
        documents.findings.extend(tenancy::files(policy, tree));
        whole::compile(documents, policy, tree)
    };
    let (ours, rest) = (only(true), only(false));
    let concerns = |finding: &Finding, rest: &dyn Fn(&Finding) -> bool| {
        !(choice.is_elsewhere(finding) && rest(finding))
    };
    let mut places: HashMap<_, Vec<&Finding>> = HashMap::new();
    for finding in &rest.findings {
        let place = (finding.id, finding.span.as_ref());
        places.entry(place).or_default().push(finding);
    }
    let in_rest = |finding: &Finding| {
        let same = places.get(&(finding.id, finding.span.as_ref()));
        // A suggestion, and the warning that it makes of a hint, may come from what is only in the selection.
        let is_same = |other: &&Finding| {
            let help = finding.help.clone();
            let severity = finding.severity;
            Finding {
                help,
                severity,
                ..(*other).clone()
            } == *finding
        };
        same.is_some_and(|same| same.iter().any(is_same))
    };
    let (mut findings, others): (Vec<Finding>, Vec<Finding>) = all
        .checked
        .findings
        .into_iter()
        .partition(|finding| concerns(finding, &in_rest));
    let common = common(ours.checked.findings, &findings, &others);
    findings.extend(common);
    sort(&mut findings);
    let mut allowed = all.checked.allowed;
    allowed.retain(|one| {
        let mut rest = rest.allowed.iter().map(|other| &other.finding);
        let in_rest = rest.any(|other| *other == one.finding);
        concerns(&one.finding, &|_| in_rest)
    });
    let needed = match extent {
        Extent::Exact => BTreeSet::new(),
        Extent::WithNeeds => needed(&all.graph, |at| choice.has(&all.objects[at])),
    };
    let is_selected = |at: usize, object: &Object| needed.contains(&at) || choice.has(object);
    let (objects, namespaces) = divided(all.objects, is_selected);
    let checked = Checked {
        findings,
        allowed,
        definitions: choice.definitions.len(),
        unread: ours.checked.unread,
        object_count: objects.len(),
        embedded_count: embedded::count(&objects),
    };
    Selected {
        others,
        namespaces,
        is_empty: choice.definitions.is_empty() && choice.raw.is_empty(),
        compiled: Compiled {
            graph: Arc::new(graph::build(&objects).0),
            objects,
            checked,
        },
    }
}

/// The objects that are selected, and the namespaces among the others.
fn divided(
    objects: Vec<Object>,
    is_selected: impl Fn(usize, &Object) -> bool,
) -> (Vec<Object>, BTreeSet<String>) {
    let objects = objects.into_iter().enumerate();
    let (selected, rest): (Vec<_>, Vec<_>) =
        objects.partition(|(at, object)| is_selected(*at, object));
    let selected = selected.into_iter().map(|(_, object)| object).collect();
    let rest = rest.into_iter().map(|(_, object)| object.id);
    let namespaces = rest.filter(|id| id.is("", "Namespace"));
    (selected, namespaces.map(|id| id.name).collect())
}

/// Those of the selection that are reported elsewhere: what many have in common is reported at the first of them.
fn common(ours: Vec<Finding>, selected: &[Finding], others: &[Finding]) -> Vec<Finding> {
    let is_common = |one: &Finding| {
        let same = |other: &Finding| {
            !one.args.is_empty() && (one.id, &one.args) == (other.id, &other.args)
        };
        !selected.iter().any(same) && others.iter().any(same)
    };
    ours.into_iter().filter(is_common).collect()
}

fn chosen(selector: &Selector, document: &Node) -> bool {
    selector.matches(|key| document.text(&["metadata", "labels", key]))
}

/// What a selector selects.
struct Choice {
    definitions: HashSet<ObjectId>,
    raw: HashSet<ObjectId>,
    /// Where the other documents are, if their labels can be read.
    elsewhere: Vec<Span>,
}

impl Choice {
    fn of(documents: &Documents, selector: &Selector) -> Self {
        let definitions = documents.definitions.iter();
        let definitions = definitions.map(|node| (cluster_definition::id(node), node));
        let raw = documents.raw.iter();
        let raw = raw.map(|object| (object.id.clone(), &object.node));
        let all = definitions.clone().chain(raw.clone());
        let elsewhere = all
            .filter(|(_, node)| !chosen(selector, node) && labels_are_read(node))
            .map(|(_, node)| extent(node))
            .collect();
        Self {
            definitions: definitions
                .filter(|(_, node)| chosen(selector, node))
                .map(|(id, _)| id)
                .collect(),
            raw: raw
                .filter(|(_, node)| chosen(selector, node))
                .map(|(id, _)| id)
                .collect(),
            elsewhere,
        }
    }

    fn has(&self, object: &Object) -> bool {
        match &object.definition {
            Some(definition) => self.definitions.contains(definition),
            None => self.raw.contains(&object.id),
        }
    }

    /// Whether a finding is in a document that is not selected, or in an overlay and about others only.
    fn is_elsewhere(&self, finding: &Finding) -> bool {
        let ours = |cluster: &String| {
            let mut ours = self.definitions.iter().chain(&self.raw);
            ours.any(|id| format!("{}/{}", id.namespace, id.name) == *cluster)
        };
        if !finding.clusters.is_empty() {
            return !finding.clusters.iter().any(ours);
        }
        let within = |span: &Span| {
            let holds = |place: &Span| {
                place.path == span.path && place.start <= span.start && span.start < place.end
            };
            self.elsewhere.iter().any(holds)
        };
        finding.span.as_ref().is_some_and(within)
    }
}

/// Whether all labels of a document are texts: a label that is not may be meant to match.
fn labels_are_read(document: &Node) -> bool {
    match document.at(&["metadata", "labels"]) {
        None => true,
        Some(labels) => labels
            .as_map()
            .is_some_and(|map| map.iter().all(|(_, value)| value.as_str().is_some())),
    }
}

/// From the first character of a document to its last.
fn extent(document: &Node) -> Span {
    fn end(node: &Node) -> Position {
        let below = match &node.value {
            Value::Map(map) => map.iter().map(|(_, value)| end(value)).max(),
            Value::List(list) => list.iter().map(end).max(),
            _ => None,
        };
        below.map_or(node.span().end, |below| below.max(node.span().end))
    }
    let end = end(document);
    Span {
        end,
        ..document.span().clone()
    }
}

/// The indices of the top-level objects that those chosen need, directly or not.
fn needed(graph: &Graph, chosen: impl Fn(usize) -> bool) -> BTreeSet<usize> {
    let top_level = |at: usize| match graph.vertices[at].place {
        Place::TopLevel(object) => Some((at, object)),
        Place::Embedded(owner) => match graph.vertices[owner].place {
            Place::TopLevel(object) => Some((owner, object)),
            _ => None,
        },
        Place::Outside => None,
    };
    let all = (0..graph.vertices.len()).filter_map(top_level);
    let mut open: Vec<usize> = all
        .filter(|(_, object)| chosen(*object))
        .map(|(at, _)| at)
        .collect();
    let mut needed = BTreeSet::new();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    while let Some(vertex) = open.pop() {
        let parts = std::iter::once(vertex).chain(graph.carried(vertex));
        for edge in parts.flat_map(|part| graph.needs(part)) {
            if let Some((at, object)) = top_level(edge.to)
                && seen.insert(at)
            {
                needed.insert(object);
                open.push(at);
            }
        }
    }
    needed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, env: &str, more: &str) -> String {
        format!(
            "apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: {name}, namespace: clusters, labels: {{env: {env}}}}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  version: {{id: \"4.20\"}}
  nodePools: [{{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}}]
{more}"
        )
    }

    fn selected(files: &[(&str, String)], selector: &str, extent: Extent) -> Selected {
        let file = |(path, text): &(&str, String)| (Arc::from(*path), Arc::from(text.as_bytes()));
        let tree = Tree {
            files: files.iter().map(file).collect(),
            ..Tree::default()
        };
        let selector = selector.parse().expect("a selector");
        select(&FleetPolicy::default(), &tree, &[], &selector, extent)
    }

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_definition_is_selected_with_all_its_objects() {
        let files = [
            ("a.yaml", definition("one", "prod", "")),
            ("b.yaml", definition("two", "dev", "  vmsize: x\n")),
        ];
        let prod = selected(&files, "env=prod", Extent::Exact);
        assert_eq!(prod.compiled.definitions, 1);
        let of_one = |object: &Object| object.definition.as_ref().is_some_and(|d| d.name == "one");
        assert!(prod.compiled.objects.len() == 5 && prod.compiled.objects.iter().all(of_one));
        assert!(!prod.compiled.has_errors());
        assert_eq!(ids(&prod.others), ["S01"]);
        let dev = selected(&files, "env in (dev)", Extent::Exact);
        assert!(dev.compiled.has_errors(), "its mistake is not hidden");
        assert!(selected(&files, "env=test", Extent::Exact).is_empty);
    }

    #[test]
    fn what_two_share_is_reported_to_both() {
        let group = "  managedIdentities: {mode: Create}\n  properties: {platform: {managedResourceGroup: same}}\n";
        let files = [
            ("a.yaml", definition("one", "prod", group)),
            ("b.yaml", definition("two", "dev", group)),
        ];
        for selector in ["env=prod", "env=dev"] {
            let found = selected(&files, selector, Extent::Exact);
            assert!(ids(&found.compiled.findings).contains(&"C27"), "{selector}");
        }
    }

    #[test]
    fn broken_files_and_overlays_may_concern_the_selection() {
        let overlay = |env: &str| {
            format!(
                "{{apiVersion: capstan.dev/v1alpha1, kind: Overlay, metadata: {{name: o}}, spec: {{selector: {{matchLabels: {{env: {env}}}}}, merge: {{network: {{podCIDR: 10.0.0.0/8}}}}}}}}\n"
            )
        };
        let mut files = vec![
            ("a.yaml", definition("one", "prod", "")),
            ("b.yaml", definition("two", "dev", "")),
            ("c.yaml", definition("three", "dev", "") + "---\n{a: b}\n"),
            ("d.yaml", definition("four", "4", "  vmsize: x\n")),
            ("o.yaml", overlay("dev")),
        ];
        let found = selected(&files, "env=prod", Extent::Exact);
        let errors = found.compiled.findings.iter();
        let errors: Vec<&str> = errors
            .filter(|finding| finding.severity == crate::model::Severity::Error)
            .map(|finding| finding.id)
            .collect();
        assert!(
            errors.contains(&"Y09"),
            "a document without a kind: {errors:?}"
        );
        assert!(errors.contains(&"S01"), "a label that is a number");
        let in_overlay = |finding: &Finding| {
            let span = finding.span.as_ref();
            span.is_some_and(|span| &*span.path == "o.yaml")
        };
        assert!(!found.compiled.findings.iter().any(in_overlay));
        assert!(
            found.others.iter().any(in_overlay),
            "the overlay is not for prod"
        );
        files[4] = ("o.yaml", overlay("prod"));
        let found = selected(&files, "env=prod", Extent::Exact);
        assert!(found.compiled.findings.iter().any(in_overlay));
    }

    #[test]
    fn what_all_have_in_common_is_reported_of_the_selection() {
        let files = [
            ("a.yaml", definition("one", "prod", "")),
            ("b.yaml", definition("two", "dev", "")),
        ];
        for (selector, path) in [("env=prod", "a.yaml"), ("env=dev", "b.yaml")] {
            let found = selected(&files, selector, Extent::Exact)
                .compiled
                .checked
                .findings;
            assert_eq!(ids(&found), ["R04", "R04"], "namespace and identity");
            let places = found.iter().filter_map(|finding| finding.span.as_ref());
            assert!(places.clone().count() == 2 && places.clone().all(|span| &*span.path == path));
        }
    }

    #[test]
    fn a_suggestion_from_the_selection_leaves_a_finding_where_it_is() {
        let identity = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: cluster-identity, namespace: clusters, labels: {env: prod}}
spec: {type: WorkloadIdentity, clientID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10, tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31, allowedNamespaces: {}}
";
        let slip = definition("two", "dev", "").replace("cluster-identity", "cluster-identitx");
        let files = [
            ("a.yaml", definition("one", "prod", "")),
            ("b.yaml", slip),
            ("c.yaml", identity.to_owned()),
        ];
        let found = selected(&files, "env=prod", Extent::Exact);
        let here = |finding: &&Finding| {
            let span = finding.span.as_ref();
            span.is_some_and(|span| &*span.path == "b.yaml")
        };
        let other = found.others.iter().find(here).expect("the slip");
        let help = other.help.as_deref().unwrap_or_default();
        assert!(
            help.starts_with("did you mean `cluster-identity`"),
            "{help}"
        );
        assert_eq!(found.compiled.findings.iter().find(here), None);
    }

    #[test]
    fn what_the_selection_needs_can_be_part_of_it() {
        let objects = "\
{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: clusters, labels: {env: prod}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: clusters}}
";
        let files = [("a.yaml", objects.to_owned())];
        let names = |extent| {
            let found = selected(&files, "env=prod", extent).compiled.objects;
            let names = found.iter().map(|object| object.id.name.clone());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Extent::Exact), "a");
        assert_eq!(names(Extent::WithNeeds), "clusters a");
        let rest = |extent| selected(&files, "env=prod", extent).namespaces;
        assert_eq!(rest(Extent::Exact), ["clusters".to_owned()].into());
        assert!(rest(Extent::WithNeeds).is_empty());
    }
}
