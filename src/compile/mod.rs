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
mod compiled;
mod enforced;
pub mod explain;
mod fields;
mod foreign;
mod limits;
mod lost;
mod mark;
mod metadata;
mod misspelt;
mod once;
mod outliers;
mod pools;
pub mod select;
mod wrong;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use allow::Allowed;
use allow::Suppressions;
pub use compiled::Compiled;
use enforced::Enforced;
use lost::Lost;
use once::DocumentIndex;
pub(crate) use once::{nameless, without_numbers};
use outliers::Outliers;
use rayon::prelude::*;
use wrong::{
    duplicate, no_document, no_items, not_allowed_in_a_fleet, not_an_object, same_names,
    without_selector,
};

use crate::api::cluster_definition::{self, ClusterDefinition};
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::{self, CAPSTAN};
use crate::api::overlay::{self, Overlay, Patterns};
use crate::graph;
use crate::model::{
    Budget, Finding, Limit, Node, Object, ObjectId, Origin, Path, Segment, Severity, Span, Tree,
    Value, rule_id,
};
use crate::overlay::Overlays;
use crate::rules::{self, tenancy};
use crate::schema::strategic::ListKeys;
use crate::{expand, yaml};

/// Compiles the fleet in `tree` with its own overlays and those of `overlays`, without tenants.
#[must_use]
pub fn compile(tree: &Tree, overlays: &[Tree]) -> Compiled {
    compile_by(&FleetPolicy::default(), tree, overlays)
}

/// The same, with the tenants and rule settings of the Fleet document.
#[must_use]
pub fn compile_by(policy: &FleetPolicy, tree: &Tree, overlays: &[Tree]) -> Compiled {
    compile_within(policy, tree, overlays, Budget::default())
}

/// The same, with other limits than those of every tree.
#[must_use]
pub fn compile_within(
    policy: &FleetPolicy,
    tree: &Tree,
    overlays: &[Tree],
    budget: Budget,
) -> Compiled {
    let mut documents = Documents::within(budget, tree, overlays);
    documents.findings.extend(tenancy::files(policy, tree));
    documents.compile(policy, tree)
}

/// The definitions with their overlays merged, in order, valid or not.
fn merged(tree: &Tree, overlays: &[Tree]) -> Vec<Node> {
    let documents = Documents::of(tree, overlays);
    let lists = documents.list_keys();
    let overlays = Overlays::new(documents.overlays, lists).within(documents.budget);
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
    /// The findings (Y13) for files without documents.
    empty: Vec<Finding>,
    lost: Lost,
    budget: Arc<Budget>,
    patterns: Patterns,
    /// The finding for the limit that the tree exceeds. What follows is not read.
    over: Option<Finding>,
}

impl Documents {
    fn of(tree: &Tree, overlays: &[Tree]) -> Self {
        Self::within(Budget::default(), tree, overlays)
    }

    fn within(budget: Budget, tree: &Tree, overlays: &[Tree]) -> Self {
        let budget = Arc::new(budget);
        let mut documents = Self {
            patterns: Patterns::within(Arc::clone(&budget)),
            budget,
            ..Self::default()
        };
        documents.read_fleet(tree);
        for overlay in overlays {
            documents.read_overlays(overlay, tree);
        }
        documents
    }

    fn read_fleet(&mut self, tree: &Tree) {
        let files = self.read(tree, |_, _| true);
        let is_empty = files == 0 && tree.problems.is_empty();
        if is_empty && self.lost.documents.is_empty() {
            let finding = Finding::warning(
                "Y10",
                "the fleet is empty: found no document in any *.yaml, *.yml or *.json file",
            );
            self.findings.push(
                finding.help("check the path, and whether .capstanignore excludes the files"),
            );
        } else {
            self.findings.append(&mut self.empty);
        }
    }

    /// Reads an overlay directory, which may hold only overlays. Files that are also in the fleet are skipped.
    fn read_overlays(&mut self, tree: &Tree, fleet: &Tree) {
        let (definitions, raw) = (self.definitions.len(), self.raw.len());
        self.read(tree, |path, text| fleet.files.get(path) != Some(text));
        self.findings.append(&mut self.empty);
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
        if !self.allows(Limit::Patterns, 0) || self.over.is_some() {
            return 0;
        }
        self.findings.extend(yaml::problems(tree));
        for path in tree.problems.keys() {
            self.lost.document(lost::nothing(&Span::top(path)));
        }
        let used = self.budget.used(Limit::Values);
        let foreign = foreign::of(&tree.files, &self.budget);
        // Files of other tools do not belong to the fleet.
        let is_other = |finding: &&Finding| finding.severity == Severity::Warning;
        let others = foreign.findings.iter().filter(is_other).count();
        let mut count = foreign.files.len() - others;
        self.foreign(foreign.findings, tree);
        let files = tree.files.iter().filter(|(path, text)| is_new(path, text));
        let all: Vec<_> = files.collect();
        let ours = all
            .iter()
            .filter(|(path, _)| !foreign.files.contains(*path));
        let files: Vec<_> = ours.copied().collect();
        let read = limits::read(&files, &self.budget);
        let Some(read) = read.filter(|_| self.budget.exceeded().is_none()) else {
            let finding = limits::too_many_values(&all, used, &self.budget);
            self.over.get_or_insert(finding);
            return count;
        };
        for ((path, text), file) in files.into_iter().zip(read) {
            self.suppressions.read(path, text);
            if !self.allows(Limit::Documents, file.documents.len() + file.broken.len()) {
                break;
            }
            let found = file.documents.len() + file.findings.len();
            if found == 0 {
                self.empty(path, text);
            }
            count += found;
            self.lost.values(&file.findings);
            self.findings.extend(file.findings);
            file.broken.into_iter().for_each(|node| self.broken(node));
            file.documents
                .into_iter()
                .for_each(|document| self.sort(document));
        }
        count
    }

    /// Counts what the tree has, and returns whether it may.
    fn allows(&mut self, limit: Limit, more: usize) -> bool {
        let is_allowed = self.budget.allows(limit, more as u64);
        if !is_allowed {
            let exceeded = limits::exceeded(limit, &self.budget);
            self.over.get_or_insert(exceeded);
        }
        is_allowed
    }

    /// Takes a file without any document. Nobody knows what an empty one contained.
    fn empty(&mut self, path: &Arc<str>, text: &[u8]) {
        let finding = no_document(path, text);
        if finding.severity == Severity::Error {
            self.lost.document(lost::nothing(&Span::top(path)));
        }
        self.empty.push(finding);
    }

    /// Takes the findings for files of other tools, which may describe objects when they are rendered.
    fn foreign(&mut self, findings: Vec<Finding>, tree: &Tree) {
        for finding in &findings {
            let span = finding.span.as_ref();
            let known = span.and_then(|span| tree.files.get_key_value(&span.path));
            let rendered = span.filter(|_| finding.severity == Severity::Error);
            rendered
                .into_iter()
                .for_each(|span| self.lost.document(lost::nothing(span)));
            if let Some((path, text)) = known {
                self.suppressions.read(path, text);
            }
        }
        self.findings.extend(findings);
    }

    /// Takes what was read of a document before an error of syntax.
    fn broken(&mut self, document: Node) {
        let of_ours = document.text(&["apiVersion"]).unwrap_or_default();
        let is_overlay =
            of_ours.starts_with(CAPSTAN) && document.text(&["kind"]) == Some("Overlay");
        self.documents.note(document.span(), is_overlay);
        match (is_overlay, document.get("kind").is_some()) {
            (true, _) => self
                .overlays
                .push(overlay::read_rest(&document, &mut self.patterns)),
            (_, true) => self.lost.document(document),
            // It may be an overlay.
            _ => self.lost.document(lost::nothing(document.span())),
        }
    }

    fn sort(&mut self, mut document: Node) {
        if !self.allows(Limit::Patterns, 0) {
            return;
        }
        self.findings.extend(fields::correct(&mut document));
        self.findings.extend(misspelt::correct(&mut document));
        let (Some(api_version), Some(kind)) =
            (document.text(&["apiVersion"]), document.text(&["kind"]))
        else {
            self.findings.push(not_an_object(&document));
            return match fields::as_overlay(&document) {
                Some(overlay) => self.sort(overlay),
                None => self.lost.document(document),
            };
        };
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_overlay = (group, kind) == (CAPSTAN, "Overlay");
        self.documents.note(document.span(), is_overlay);
        match (group, kind) {
            (CAPSTAN, "ClusterDefinition") => {
                self.lost
                    .note(&cluster_definition::id(&document), &document);
                self.definitions.push(document);
            }
            (CAPSTAN, "Overlay") => {
                let (mut overlay, findings) = overlay::read_within(&document, &mut self.patterns);
                let unread = self.lost.fields_of(&document);
                unread.iter().for_each(|field| overlay.lose(field));
                self.findings.extend(findings);
                self.overlays.push(overlay);
            }
            (CAPSTAN, _) => {
                self.findings.push(not_allowed_in_a_fleet(&document, kind));
                self.lost.document(document);
            }
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
            }) => {
                if self.allows(Limit::Documents, items.len()) {
                    items.into_iter().for_each(|item| self.sort(item));
                }
            }
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
            self.findings.push(not_an_object(&document));
            return self.lost.document(document);
        }
        let Some(mut object) = Object::from_node(document, "") else {
            return;
        };
        if kinds::is_cluster_scoped(&object.id) {
            object.id.namespace.clear();
        } else if object.id.namespace.is_empty() {
            "default".clone_into(&mut object.id.namespace);
        }
        self.lost.note(&object.id, &object.node);
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

    fn patch(&mut self, overlays: &mut Overlays, objects: &mut [Object]) {
        self.findings.extend(overlays.patch(objects));
        // A patch may add resources.
        self.findings.extend(misspelt::correct_kinds(objects));
    }

    fn compile(mut self, policy: &FleetPolicy, tree: &Tree) -> Compiled {
        self.allows(Limit::Patterns, 0);
        if let Some(over) = self.over {
            return Compiled::stopped(over);
        }
        self.findings.extend(misspelt::correct_kinds(&mut self.raw));
        self.findings.extend(same_names(&self.overlays));
        self.findings.extend(without_selector(&self.overlays));
        self.clear_namespaces();
        let enforced = Enforced::of(&self.overlays);
        let mut outliers = Outliers::of(&self.definitions, &self.overlays, &self.raw);
        let mut overlays = Overlays::new(std::mem::take(&mut self.overlays), self.list_keys())
            .within(Arc::clone(&self.budget));
        let documents = self.definitions.iter().chain(&self.lost.documents);
        if !overlays.weigh(documents) {
            return self.stop(None);
        }
        let mut objects = Vec::new();
        let mut first = HashMap::new();
        let mut unread = 0;
        let definitions = std::mem::take(&mut self.definitions);
        let count = definitions.len();
        definitions.iter().for_each(|node| overlays.note(node));
        let broken = self.lost.documents.iter();
        broken.for_each(|node| overlays.without(node));
        let made = definitions.into_par_iter();
        let made = made.map(|node| {
            let made = Made::of(node, &overlays, &enforced, &self.lost);
            self.budget.exceeded().is_none().then_some(made)
        });
        let Some(made) = made.collect::<Option<Vec<_>>>() else {
            return self.stop(None);
        };
        for (definition, made) in made {
            if made.lacks_labels {
                overlays.without(&lost::nothing(definition.span()));
            }
            unread += usize::from(made.name.is_none());
            let is_broken = !made.reported.is_empty();
            let expanded = self.keep(made, &mut first);
            if is_broken || expanded.is_empty() {
                overlays.without_objects(&definition);
            }
            objects.extend(expanded);
        }
        // Encrypted objects are not applied, so patches do not have to fit them.
        let raw = std::mem::take(&mut self.raw).into_iter();
        let (mut encrypted, raw): (Vec<_>, Vec<_>) = raw.partition(rules::is_encrypted);
        objects.extend(raw);
        self.patch(&mut overlays, &mut objects);
        if self.budget.exceeded().is_some() {
            return self.stop(overlays.stopped_at());
        }
        let mut unused = overlays.unused();
        let effects = &mut self.lost.effects;
        outliers.blame_labels(&mut unused, &mut self.findings, effects);
        let blamed = lost::blame(overlays.idle(), &mut unused, &mut self.findings);
        self.lost.effects.extend(blamed);
        self.findings.append(&mut unused);
        objects.append(&mut encrypted);
        let objects = self.unique(objects);
        self.findings.extend(rules::check(&objects, policy));
        self.findings.extend(tenancy::objects(policy, &objects));
        let (encrypted, objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(rules::is_encrypted);
        let metadata = objects.par_iter().flat_map_iter(metadata::findings);
        self.findings.par_extend(metadata);
        let (graph, findings) = graph::build_beside(&objects, &encrypted, &policy.outside);
        // What cannot be read may refer to what the Fleet document names.
        let whole = !self
            .findings
            .iter()
            .any(|found| found.severity == Severity::Error);
        let findings = findings
            .into_iter()
            .filter(|found| whole || found.id != rule_id::UNNEEDED_OUTSIDE);
        self.findings.extend(findings);
        self.findings
            .extend(tenancy::overlays(policy, tree, overlays.reached()));
        outliers.blame_namespaces(&mut self.findings);
        sort(&mut self.findings);
        let findings = self.lost.settle(self.findings);
        let findings = once::group(findings, &self.documents, &objects);
        let (findings, allowed) = self.suppressions.settle(findings);
        let mut findings = rules::joined(findings);
        sort(&mut findings);
        // A mistake in an overlay may be behind others.
        findings.sort_by_key(|finding| !self.documents.has(finding));
        Compiled {
            objects,
            graph: Arc::new(graph),
            findings,
            allowed,
            definitions: count,
            unread,
        }
    }

    /// The result for the limit that is exceeded.
    fn stop(self, at: Option<&Span>) -> Compiled {
        let limit = self.budget.exceeded();
        let finding = limit.map(|limit| limits::exceeded(limit, &self.budget));
        let finding = finding.map(|finding| match at {
            Some(span) => finding.at(span),
            None => finding,
        });
        finding.map_or_else(Compiled::default, Compiled::stopped)
    }

    /// Keeps the objects of a definition: none if it is broken or a duplicate.
    fn keep(&mut self, made: Made, first: &mut HashMap<ObjectId, Span>) -> Vec<Object> {
        self.findings.extend(made.of_definition);
        self.lost.effects.extend(made.effects);
        self.lost.names.extend(made.incomplete);
        self.lost.reported.extend(made.reported);
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
    /// Findings about what overlays that cannot be read may set.
    effects: Vec<Finding>,
    /// The place of its name, if there are such overlays, or if it is only read as far as it can be.
    incomplete: Option<Span>,
    /// The places of its errors, if it is only read as far as it can be.
    reported: Vec<Span>,
    /// True if nobody knows which overlays select it.
    lacks_labels: bool,
}

impl Made {
    /// Merges the overlays into the definition and expands it. Returns the merged definition, too.
    fn of(node: Node, overlays: &Overlays, enforced: &Enforced, unread: &Lost) -> (Node, Self) {
        let id = cluster_definition::id(&node);
        let mut lost = overlays.lost(&node);
        let own = unread.of_definition(&id);
        lost.extend(own.iter().cloned());
        let written = pools::names(&node);
        let (merged, findings) = overlays.merge(node);
        let findings = findings.into_iter().map(|found| found.of(&id));
        let mut of_definition: Vec<Finding> = findings.collect();
        let (definition, findings) = cluster_definition::read(&merged);
        of_definition.extend(findings);
        of_definition.extend(metadata::of_definition(&id, &merged));
        let lacks_labels = lost::lacks_labels(&of_definition) || own.contains(&Path::default());
        lost.extend(lacks_labels.then(Path::default));
        pools::explain(&written, &merged, &mut of_definition);
        let (effects, of_definition): (Vec<_>, Vec<_>) = of_definition
            .into_iter()
            .partition(|finding| lost::explains(&lost, finding));
        let is_whole = definition.is_some();
        // Without names and labels, nobody knows what it makes and which overlays select it.
        let is_known = !of_definition.iter().any(is_of_names);
        let rest = || cluster_definition::read_rest(&merged);
        let definition = definition.or_else(|| rest().filter(|_| is_known));
        let is_rest = !is_whole && definition.is_some();
        let spans = of_definition.iter().filter(|_| is_rest);
        let reported = spans.filter_map(|finding| finding.span.clone()).collect();
        let expanded = definition
            .as_ref()
            .filter(|definition| overlays.allow(expand::weight(definition)))
            .map(expand::expand);
        let (objects, mut of_objects) = expanded.unwrap_or_default();
        of_objects.extend(enforced.findings(&objects));
        let name = |read: ClusterDefinition| (read.id, read.origin.span().clone());
        let name = definition.map(name);
        let made = Self {
            incomplete: name
                .as_ref()
                .filter(|_| is_rest || !lost.is_empty())
                .map(|(_, span)| span.clone()),
            name,
            of_definition,
            objects,
            of_objects,
            effects,
            reported,
            lacks_labels,
        };
        (merged, made)
    }
}

/// Returns true for an error in the names of objects: in the metadata, or in the name of a node pool.
fn is_of_names(finding: &Finding) -> bool {
    let [metadata, pools] = ["metadata", "spec.nodePools"].map(Path::dotted);
    let is_name = |field: &Path| {
        let is_last = |last: &Segment| *last == Segment::Key("name".to_owned());
        field.0.starts_with(&metadata.0)
            || field.0.starts_with(&pools.0) && field.0.last().is_some_and(is_last)
    };
    finding.severity == Severity::Error && finding.field.as_ref().is_some_and(is_name)
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

/// Returns true if a document is a list of objects, with `items` or without. Other kinds may end in `List`, too: those
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

#[cfg(test)]
mod tests;
