//! The pure front door: a tree of files becomes objects, their graph, and findings.
//!
//! ```text
//! files ─► documents ─► definitions ─► merged ─► expanded ─┐
//!              │                                           ├─► patched ─► graph ─► rules
//!              └──────────► raw objects ───────────────────┘
//! ```
//!
//! In: the fleet's [`Tree`] and those of overlay directories. Out: [`Compiled`]. A broken file gives
//! findings and never hides the others. It does not know where the trees came from.

mod allow;
mod enforced;
pub mod explain;
mod mark;
mod metadata;
mod once;
pub mod select;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use allow::Allowed;
use allow::Suppressions;
use enforced::Enforced;
use once::DocumentIndex;
pub(crate) use once::{nameless, without_numbers};
use rayon::prelude::*;

use crate::api::cluster_definition::{self, ClusterDefinition};
use crate::api::embedded;
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::{self, CAPSTAN};
use crate::api::overlay::Overlay;
use crate::graph::{self, Graph};
use crate::model::{
    Finding, Node, Object, ObjectId, Origin, Path, Severity, Span, Tree, Value, message,
};
use crate::overlay::Overlays;
use crate::rules::{self, tenancy};
use crate::schema::strategic::ListKeys;
use crate::{expand, yaml};

/// The result of compiling a tree.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The top-level objects, in the order of the files; ids are unique. Encrypted objects are excluded: they
    /// are neither applied nor removed.
    pub objects: Vec<Object>,
    /// What depends on what.
    pub graph: Arc<Graph>,
    /// The findings, by path, line and id.
    pub findings: Vec<Finding>,
    /// The warnings that a comment allows, in the same order; they are not in `findings`.
    pub allowed: Vec<Allowed>,
    /// How many definitions were read.
    pub definitions: usize,
}

impl Compiled {
    /// The number of findings with this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Whether any finding is an error, so that the tree must not be applied.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// The resources embedded in the objects, each with the version it is written in.
    #[must_use]
    pub fn embedded(&self) -> Vec<(ObjectId, String)> {
        self.objects.iter().flat_map(embedded::ids).collect()
    }
}

/// Compiles the fleet in `tree` with its own overlays and those of `overlays`, without tenants.
#[must_use]
pub fn compile(tree: &Tree, overlays: &[Tree]) -> Compiled {
    compile_by(&FleetPolicy::default(), tree, overlays)
}

/// The same, with the tenants and rule settings of the Fleet document.
#[must_use]
pub fn compile_by(policy: &FleetPolicy, tree: &Tree, overlays: &[Tree]) -> Compiled {
    let mut documents = Documents::of(tree, overlays);
    documents.findings.extend(tenancy::files(policy, tree));
    documents.compile(policy, tree)
}

/// The definitions with their overlays merged, in order, valid or not.
fn merged(tree: &Tree, overlays: &[Tree]) -> Vec<Node> {
    let documents = Documents::of(tree, overlays);
    let lists = documents.list_keys();
    let overlays = Overlays::new(documents.overlays, lists);
    let definitions = documents.definitions.into_par_iter();
    definitions.map(|node| overlays.merge(node).0).collect()
}

/// The documents of the trees, by type.
#[derive(Default)]
struct Documents {
    definitions: Vec<Node>,
    overlays: Vec<Overlay>,
    raw: Vec<Object>,
    findings: Vec<Finding>,
    documents: DocumentIndex,
    suppressions: Suppressions,
}

impl Documents {
    fn of(tree: &Tree, overlays: &[Tree]) -> Self {
        let mut documents = Self::default();
        documents.read_fleet(tree);
        for overlay in overlays {
            documents.read_overlays(overlay, tree);
        }
        documents
    }

    fn read_fleet(&mut self, tree: &Tree) {
        let files = self.read(tree, |_, _| true);
        if files == 0 && tree.problems.is_empty() {
            let finding = Finding::warning(
                "Y10",
                "the fleet is empty: found no document in any *.yaml, *.yml or *.json file",
            );
            self.findings.push(
                finding.help("check the path, and whether .capstanignore excludes the files"),
            );
        }
    }

    /// Reads an overlay directory, which may hold only overlays. Files that are also in the fleet are skipped.
    fn read_overlays(&mut self, tree: &Tree, fleet: &Tree) {
        let (definitions, raw) = (self.definitions.len(), self.raw.len());
        self.read(tree, |path, text| fleet.files.get(path) != Some(text));
        let strangers = self
            .definitions
            .drain(definitions..)
            .map(|node| node.origin.clone());
        let strangers = strangers
            .chain(self.raw.drain(raw..).map(|object| object.origin))
            .collect::<Vec<_>>();
        let finding = |origin: Origin| {
            Finding::error(
                "Y12",
                "an overlay directory may contain only documents of kind Overlay",
            )
            .at(origin.span())
            .help("move this document into the fleet")
        };
        self.findings.extend(strangers.into_iter().map(finding));
    }

    /// Reads every document of the new files, and returns their number.
    fn read(&mut self, tree: &Tree, is_new: impl Fn(&str, &Arc<[u8]>) -> bool) -> usize {
        self.findings.extend(yaml::problems(tree));
        let mut count = 0;
        let files = tree.files.iter().filter(|(path, text)| is_new(path, text));
        let files: Vec<_> = files.collect();
        let read = files.par_iter().map(|(path, text)| yaml::read(path, text));
        let read: Vec<_> = read.collect();
        for ((path, text), (documents, findings)) in files.into_iter().zip(read) {
            self.suppressions.read(path, text);
            count += documents.len() + findings.len();
            self.findings.extend(findings);
            documents
                .into_iter()
                .for_each(|document| self.sort(document));
        }
        count
    }

    fn sort(&mut self, document: Node) {
        let (Some(api_version), Some(kind)) =
            (document.text(&["apiVersion"]), document.text(&["kind"]))
        else {
            return self.findings.push(not_an_object(&document));
        };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_overlay = (group, kind) == (CAPSTAN, "Overlay");
        self.documents.note(document.span(), is_overlay);
        match (group, kind) {
            (CAPSTAN, "ClusterDefinition") => self.definitions.push(document),
            (CAPSTAN, "Overlay") => {
                let (overlay, findings) = crate::api::overlay::read(&document);
                self.findings.extend(findings);
                self.overlays.extend(overlay);
            }
            (CAPSTAN, _) => self.findings.push(not_allowed_in_a_fleet(&document, kind)),
            _ if is_list(&document) => self.flatten(document),
            _ => self.raw_object(document),
        }
    }

    fn flatten(&mut self, mut list: Node) {
        let items = match &mut list.value {
            Value::Map(map) => map.remove("items"),
            _ => None,
        };
        match items {
            Some(Node {
                value: Value::List(items),
                ..
            }) => items.into_iter().for_each(|item| self.sort(item)),
            Some(Node {
                value: Value::Null, ..
            }) => {}
            other => self.findings.push(no_items(&list, other.as_ref())),
        }
    }

    fn raw_object(&mut self, document: Node) {
        if document
            .text(&["metadata", "name"])
            .is_none_or(str::is_empty)
        {
            return self.findings.push(not_an_object(&document));
        }
        let Some(mut object) = Object::from_node(document, "") else {
            return;
        };
        if kinds::is_cluster_scoped(&object.id) {
            object.id.namespace.clear();
        } else if object.id.namespace.is_empty() {
            "default".clone_into(&mut object.id.namespace);
        }
        mark::mark(&mut object);
        self.raw.push(object);
    }

    /// Removes the namespace of objects whose kind the fleet itself defines as cluster-scoped.
    fn clear_namespaces(&mut self) {
        let wide: HashSet<(String, String)> = self.raw.iter().filter_map(cluster_wide).collect();
        for object in &mut self.raw {
            if wide.contains(&(object.id.group.clone(), object.id.kind.clone())) {
                object.id.namespace.clear();
            }
        }
    }

    /// The keys of keyed lists: those of the table, and those of the tree's CRDs.
    fn list_keys(&self) -> ListKeys {
        let mut lists = ListKeys::default();
        let definitions = self.raw.iter().filter(|object| defines_a_kind(object));
        definitions.for_each(|object| lists.learn(&object.node));
        lists
    }

    fn compile(mut self, policy: &FleetPolicy, tree: &Tree) -> Compiled {
        self.clear_namespaces();
        let enforced = Enforced::of(&self.overlays);
        let mut overlays = Overlays::new(std::mem::take(&mut self.overlays), self.list_keys());
        let mut objects = Vec::new();
        let mut first = HashMap::new();
        let definitions = std::mem::take(&mut self.definitions);
        let count = definitions.len();
        definitions.iter().for_each(|node| overlays.note(node));
        let made = definitions.into_par_iter();
        let made = made.map(|node| Made::of(node, &overlays, &enforced));
        for (definition, made) in made.collect::<Vec<_>>() {
            let expanded = self.keep(made, &mut first);
            if expanded.is_empty() {
                overlays.without_objects(&definition);
            }
            objects.extend(expanded);
        }
        // Encrypted objects are not applied, so patches do not have to fit them.
        let raw = std::mem::take(&mut self.raw).into_iter();
        let (mut encrypted, raw): (Vec<_>, Vec<_>) = raw.partition(rules::is_encrypted);
        objects.extend(raw);
        self.findings.extend(overlays.patch(&mut objects));
        self.findings.extend(overlays.unused());
        objects.append(&mut encrypted);
        let objects = self.unique(objects);
        self.findings.extend(rules::check(&objects, policy));
        self.findings.extend(tenancy::objects(policy, &objects));
        let (encrypted, objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(rules::is_encrypted);
        let metadata = objects.par_iter().flat_map_iter(metadata::findings);
        self.findings.par_extend(metadata);
        let (graph, findings) = graph::build_beside(&objects, &encrypted);
        self.findings.extend(findings);
        self.findings
            .extend(tenancy::overlays(policy, tree, overlays.reached()));
        sort(&mut self.findings);
        let findings = once::group(self.findings, &self.documents, &objects);
        let (mut findings, allowed) = self.suppressions.settle(findings);
        sort(&mut findings);
        Compiled {
            objects,
            graph: Arc::new(graph),
            findings,
            allowed,
            definitions: count,
        }
    }

    /// Keeps the objects of a definition: none if it is broken or a duplicate.
    fn keep(&mut self, made: Made, first: &mut HashMap<ObjectId, Span>) -> Vec<Object> {
        self.findings.extend(made.of_definition);
        let Some((id, here)) = made.name else {
            return Vec::new();
        };
        if let Some(first) = first.get(&id) {
            self.findings.push(duplicate(&id, &here, first));
            return Vec::new();
        }
        first.insert(id, here);
        self.findings.extend(made.of_objects);
        made.objects
    }

    /// Keeps the first of objects with the same id.
    fn unique(&mut self, objects: Vec<Object>) -> Vec<Object> {
        let mut first: HashMap<ObjectId, Span> = HashMap::new();
        let mut kept = Vec::with_capacity(objects.len());
        for object in objects {
            if let Some(span) = first.get(&object.id) {
                self.findings
                    .push(duplicate(&object.id, object.origin.span(), span));
            } else {
                first.insert(object.id.clone(), object.origin.span().clone());
                kept.push(object);
            }
        }
        kept
    }
}

/// The result of compiling one definition alone.
struct Made {
    /// The id of the definition and where it is; `None` if it cannot be read.
    name: Option<(ObjectId, Span)>,
    of_definition: Vec<Finding>,
    objects: Vec<Object>,
    of_objects: Vec<Finding>,
}

impl Made {
    /// Merges the overlays into the definition and expands it. Returns the merged definition, too.
    fn of(node: Node, overlays: &Overlays, enforced: &Enforced) -> (Node, Self) {
        let id = cluster_definition::id(&node);
        let (merged, findings) = overlays.merge(node);
        let findings = findings.into_iter().map(|found| found.of(&id));
        let mut of_definition: Vec<Finding> = findings.collect();
        let (definition, findings) = cluster_definition::read(&merged);
        of_definition.extend(findings);
        of_definition.extend(metadata::of_annotations(&id, &merged));
        let expanded = definition.as_ref().map(expand::expand);
        let (objects, mut of_objects) = expanded.unwrap_or_default();
        of_objects.extend(enforced.findings(&objects));
        let name = |read: ClusterDefinition| (read.id, read.origin.span().clone());
        let made = Self {
            name: definition.map(name),
            of_definition,
            objects,
            of_objects,
        };
        (merged, made)
    }
}

/// Sorts findings by path, line and id, and removes duplicates.
fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup();
}

fn order(finding: &Finding) -> impl Ord {
    let Finding {
        id, span, object, ..
    } = finding;
    (span, *id, &finding.args, &finding.field, object)
}

fn defines_a_kind(object: &Object) -> bool {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    object.id.is(group, kind)
}

/// The group and kind that a CRD defines as cluster-scoped.
fn cluster_wide(object: &Object) -> Option<(String, String)> {
    let spec = object.node.get("spec").filter(|_| defines_a_kind(object))?;
    let wide = spec.text(&["scope"]) == Some("Cluster");
    let (group, kind) = (spec.text(&["group"])?, spec.text(&["names", "kind"])?);
    wide.then(|| (group.to_owned(), kind.to_owned()))
}

/// Whether a document is a list of objects, with `items` or without. Other kinds may end in `List`, too: those
/// objects have a name, or `items` that are not a list.
fn is_list(document: &Node) -> bool {
    let [version, kind] = ["apiVersion", "kind"].map(|field| document.text(&[field]));
    let lists = || {
        let items = document.get("items").and_then(Node::as_list);
        items.is_some() && document.at(&["metadata", "name"]).is_none()
    };
    (version, kind) == (Some("v1"), Some("List"))
        || kind.is_some_and(|kind| kind.ends_with("List")) && lists()
}

/// A list without valid `items`.
fn no_items(list: &Node, items: Option<&Node>) -> Finding {
    let finding = match items {
        Some(items) => {
            let message = "`items` must be a list: its objects were not read";
            Finding::error("S02", message).at(items.span())
        }
        None => {
            Finding::error("S03", "`items` is missing: this list has no objects").at(list.span())
        }
    };
    let help = "write each object below `items:`, after `- `; for an empty list, write `items: []`";
    finding.field(&Path::dotted("items")).help(help)
}

fn not_an_object(document: &Node) -> Finding {
    let missing: Vec<&str> = ["apiVersion", "kind", "metadata.name"]
        .into_iter()
        .filter(|field| {
            let text = document.lookup(&Path::dotted(field)).and_then(Node::as_str);
            text.is_none_or(str::is_empty)
        })
        .collect();
    let missing = missing.join(", no ");
    let message = message!(
        "this document is not a Kubernetes object: it has no {missing}",
        missing
    );
    Finding::error("Y09", message)
        .at(document.span())
        .help("add the missing fields, or exclude the file with .capstanignore")
}

fn not_allowed_in_a_fleet(document: &Node, kind: &str) -> Finding {
    let at = document.get("kind").unwrap_or(document);
    let help =
        "a fleet may contain ClusterDefinition and Overlay documents and plain Kubernetes objects";
    let message = match kind {
        "Fleet" => "a Fleet document may not be in the tree it describes: a pull request must not be able to extend its own tenancy".into(),
        _ => message!("the kind `{kind}` of {CAPSTAN} is not allowed in a fleet", kind),
    };
    Finding::error("Y12", message).at(at.span()).help(help)
}

fn duplicate(id: &ObjectId, second: &Span, first: &Span) -> Finding {
    let message = message!("duplicate {id}: it is also defined at {first}", id);
    Finding::error("R03", message)
        .at(second)
        .of(id)
        .help("remove or rename one of them")
}

#[cfg(test)]
mod tests;
