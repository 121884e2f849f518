//! The documents of a fleet and of its overlay directories, by type.
//!
//! In: the fleet's [`Tree`] and those of overlay directories. Out: definitions, overlays and plain objects, and findings for what
//! is none of these. It does not know what becomes of them.

use std::collections::HashSet;
use std::sync::Arc;

use super::allow::Suppressions;
use super::compiled::Checked;
use super::limits::{self, Read};
use super::lost::{self, Lost};
use super::once::DocumentIndex;
use super::outlines::{File, Outline, Outlines};
use super::wrong::{no_document, no_items, not_allowed_in_a_fleet, not_an_object};
use super::{fields, foreign, mark, misspelt};
use crate::api::cluster_definition;
use crate::api::kinds::{self, CAPSTAN};
use crate::api::overlay::{self, Overlay, Patterns};
use crate::model::{
    Budget, Cost, Finding, Limit, Node, Object, Origin, Severity, Span, Tree, Value,
};
use crate::schema::strategic::ListKeys;
use crate::yaml;

/// The documents of the trees, by type.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) definitions: Vec<Node>,
    pub(super) overlays: Vec<Overlay>,
    pub(super) raw: Vec<Object>,
    pub(super) findings: Vec<Finding>,
    pub(super) documents: DocumentIndex,
    pub(super) suppressions: Suppressions,
    /// The findings (Y13) for files without documents.
    empty: Vec<Finding>,
    pub(super) lost: Lost,
    pub(super) budget: Arc<Budget>,
    /// The outlines that were taken instead of files.
    pub(super) taken_outlines: Outlines,
    /// The outlines of files that were read, if the fleet is to be remembered.
    pub(super) new_outlines: Option<Outlines>,
    patterns: Patterns,
    /// The finding for the limit that the tree exceeds. What follows is not read.
    pub(super) over: Option<Finding>,
}

impl Documents {
    pub(super) fn of(tree: &Tree, overlays: &[Tree]) -> Self {
        Self::within(Budget::default(), tree, overlays)
    }

    pub(super) fn within(budget: Budget, tree: &Tree, overlays: &[Tree]) -> Self {
        Self::new(budget).read_all(tree, overlays, &Outlines::default())
    }

    /// The same, but does not read files whose outlines are `known`. If `remembers`, it makes outlines of the files that it reads.
    pub(super) fn again(
        budget: Budget,
        (known, remembers): (&Outlines, bool),
        tree: &Tree,
        overlays: &[Tree],
    ) -> Self {
        let documents = Self {
            new_outlines: remembers.then(Outlines::default),
            ..Self::new(budget)
        };
        documents.read_all(tree, overlays, known)
    }

    fn new(budget: Budget) -> Self {
        let budget = Arc::new(budget);
        Self {
            patterns: Patterns::within(Arc::clone(&budget)),
            budget,
            ..Self::default()
        }
    }

    fn read_all(mut self, tree: &Tree, overlays: &[Tree], known: &Outlines) -> Self {
        self.read_fleet(tree, known);
        for overlay in overlays {
            self.read_overlays(overlay, tree);
        }
        self
    }

    fn read_fleet(&mut self, tree: &Tree, known: &Outlines) {
        let files = self.read(tree, known, |_, _| true);
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
        self.read(tree, &Outlines::default(), |path, text| {
            fleet.files.get(path) != Some(text)
        });
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
    fn read(
        &mut self,
        tree: &Tree,
        known: &Outlines,
        is_new: impl Fn(&str, &Arc<[u8]>) -> bool,
    ) -> usize {
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
        let read = limits::read(&files, known, &self.budget);
        let Some(read) = read.filter(|_| self.budget.exceeded().is_none()) else {
            let finding = limits::too_many_values(&all, used, &self.budget);
            self.over.get_or_insert(finding);
            return count;
        };
        for (file, read) in files.into_iter().zip(read) {
            let found = match read {
                Read::Outline(outline) => self.take_outline(file, outline),
                Read::Whole { file: whole, cost } => self.take_file(file, whole, cost),
            };
            let Some(found) = found else { break };
            count += found;
        }
        count
    }

    /// Takes the definition of a file that was read before, and returns 1; `None` if there may be no more documents.
    fn take_outline(&mut self, file: File<'_>, outline: &Arc<Outline>) -> Option<usize> {
        if !self.allows(Limit::Documents, 1) {
            return None;
        }
        if self.allows(Limit::Patterns, 0) {
            let definition = &outline.definition;
            self.documents.note(definition.span(), false);
            self.definition(definition.clone());
            self.taken_outlines.insert(file, Arc::clone(outline));
        }
        Some(1)
    }

    /// Takes the documents and findings of a file, and returns their number; `None` if there may not be so many documents.
    fn take_file(&mut self, (path, text): File<'_>, file: yaml::File, cost: Cost) -> Option<usize> {
        let before = self.findings.len();
        let has_suppressions = self.suppressions.read(path, text);
        if !self.allows(Limit::Documents, file.documents.len() + file.broken.len()) {
            return None;
        }
        let found = file.documents.len() + file.findings.len();
        if found == 0 {
            self.empty(path, text);
        }
        let is_remembered = self.new_outlines.is_some() && !has_suppressions;
        let outline = is_remembered.then(|| Outline::new(&file, cost));
        self.lost.values(&file.findings);
        self.findings.extend(file.findings);
        file.broken.into_iter().for_each(|node| self.broken(node));
        file.documents
            .into_iter()
            .for_each(|document| self.sort(document));
        // With a finding, a field or a kind may have been corrected.
        let outline = outline.flatten().filter(|_| self.findings.len() == before);
        if let Some((outlines, outline)) = self.new_outlines.as_mut().zip(outline) {
            outlines.insert((path, text), outline.into());
        }
        Some(found)
    }

    /// Counts what the tree has, and returns whether it may.
    pub(super) fn allows(&mut self, limit: Limit, more: usize) -> bool {
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
            (CAPSTAN, "ClusterDefinition") => self.definition(document),
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

    fn definition(&mut self, document: Node) {
        self.lost
            .note(&cluster_definition::id(&document), &document);
        self.definitions.push(document);
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
    pub(super) fn clear_namespaces(&mut self) {
        let wide: HashSet<(String, String)> = self.raw.iter().filter_map(cluster_wide).collect();
        for object in &mut self.raw {
            if wide.contains(&(object.id.group.clone(), object.id.kind.clone())) {
                object.id.namespace.clear();
            }
        }
    }

    /// The keys of keyed lists: those of the table, and those of the tree's CRDs.
    pub(super) fn list_keys(&self) -> ListKeys {
        let mut lists = ListKeys::default();
        let definitions = self.raw.iter().filter(|object| defines_a_kind(object));
        definitions.for_each(|object| lists.learn(&object.node));
        lists
    }

    /// The result for the limit that is exceeded.
    pub(super) fn stopped(&self, at: Option<&Span>) -> Checked {
        let limit = self.budget.exceeded();
        let finding = limit.map(|limit| limits::exceeded(limit, &self.budget));
        let finding = finding.map(|finding| match at {
            Some(span) => finding.at(span),
            None => finding,
        });
        finding.map_or_else(Checked::default, Checked::stopped)
    }
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
