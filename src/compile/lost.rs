//! One cause gives one finding: what is missing only because something else cannot be read is not reported.
//!
//! In: what could not be read, and findings. Out: the findings without those that it causes. It compares ids,
//! places and arguments, never messages, and hides nothing unless an error stays.

use std::collections::{BTreeMap, HashSet};

use super::fields;
use crate::api::cluster_definition;
use crate::api::kinds::CAPSTAN;
use crate::api::overlay::Overlay;
use crate::model::{
    Finding, Node, ObjectId, Origin, Path, Segment, Severity, Span, Value, rule_id,
};

/// What could not be read.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// What was read of documents that are neither overlays nor complete.
    pub(super) documents: Vec<Node>,
    /// The names of definitions whose overlays are incomplete: expansion has defaults instead, and its findings
    /// about these point here.
    pub(super) names: HashSet<Span>,
    /// Where definitions have errors that they are read in spite of: what else is found there is not reported.
    pub(super) reported: HashSet<Span>,
    /// What the rest causes.
    pub(super) effects: Vec<Finding>,
    /// Where a value could not be read and nothing stands for it, such as an alias without an anchor.
    unread: HashSet<Span>,
    /// The fields of plain objects and definitions that have no value for that reason.
    fields: Vec<(ObjectId, Path)>,
}

impl Lost {
    /// Adds what was read of a document, unless it has fields and none of an object's.
    pub(super) fn document(&mut self, broken: Node) {
        let is_object = ["apiVersion", "kind"]
            .iter()
            .any(|name| broken.get(name).is_some());
        if is_object || broken.as_map().is_none_or(|map| map.is_empty()) {
            self.documents.push(broken);
        }
    }

    /// Notes values that could not be read.
    pub(super) fn values(&mut self, findings: &[Finding]) {
        let unread = findings
            .iter()
            .filter(|finding| finding.id == rule_id::UNREADABLE_FILE);
        self.unread
            .extend(unread.filter_map(|one| one.span.clone()));
    }

    /// The fields of a document whose values could not be read.
    pub(super) fn fields_of(&self, document: &Node) -> Vec<Path> {
        let mut fields = Vec::new();
        if !self.unread.is_empty() {
            self.collect(document, &Path::default(), &mut fields);
        }
        fields
    }

    fn collect(&self, node: &Node, at: &Path, fields: &mut Vec<Path>) {
        match &node.value {
            Value::Null if self.unread.contains(node.span()) => fields.push(at.clone()),
            Value::Map(map) => map.iter().for_each(|(key, node)| {
                self.collect(node, &at.key(key.name.clone()), fields);
            }),
            Value::List(items) => items.iter().zip(0..).for_each(|(item, index)| {
                self.collect(item, &at.index(index), fields);
            }),
            _ => {}
        }
    }

    /// Notes the fields of an object or of a definition whose values could not be read.
    pub(super) fn note(&mut self, id: &ObjectId, document: &Node) {
        let fields = self.fields_of(document).into_iter();
        self.fields.extend(fields.map(|field| (id.clone(), field)));
    }

    /// The fields of a definition whose values could not be read. Without its labels, overlays may set all of them.
    pub(super) fn of_definition(&self, id: &ObjectId) -> Vec<Path> {
        let its = self.fields.iter().filter(|(of, _)| of == id);
        let labels = Path::dotted("metadata.labels");
        let field = |(_, field): &(ObjectId, Path)| match field.0.starts_with(&labels.0) {
            true => Path::default(),
            false => field.clone(),
        };
        its.map(field).collect()
    }

    /// Returns true if all values of a definition could be read.
    pub(super) fn is_whole(&self, definition: &Node) -> bool {
        self.fields.is_empty() || {
            let id = cluster_definition::id(definition);
            self.of_definition(&id).is_empty()
        }
    }

    /// The findings without those that something unreadable causes. With no error left among them, all.
    pub(super) fn settle(self, findings: Vec<Finding>) -> Vec<Finding> {
        let unreadable = findings
            .iter()
            .filter(|finding| finding.id == rule_id::UNREADABLE_FILE);
        let unreadable: HashSet<_> = unreadable.filter_map(line).collect();
        let numbers = findings
            .iter()
            .filter(|finding| finding.id == rule_id::UNQUOTED_VERSION);
        let numbers: HashSet<_> = numbers.filter_map(|one| one.span.clone()).collect();
        let is_effect = |finding: &Finding| {
            let shape = finding.id.starts_with('S');
            let at = || line(finding).is_some_and(|line| unreadable.contains(&line));
            let is_of_number = finding.id != rule_id::UNQUOTED_VERSION
                && finding
                    .span
                    .as_ref()
                    .is_some_and(|span| numbers.contains(span));
            shape && at()
                || is_of_number
                || self.is_of_field(finding)
                || self.is_of_default(finding)
                || self.is_of_reported(finding)
                || self.is_of_document(finding)
        };
        let (effects, mut causes): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_effect);
        if !causes.iter().any(is_error) {
            causes.extend(effects.into_iter().chain(self.effects));
        }
        causes
    }

    /// Whether it is about a field that only seems to be missing.
    fn is_of_field(&self, finding: &Finding) -> bool {
        let its = |(of, field): &(ObjectId, Path)| {
            finding.object.as_ref() == Some(of) && explains(std::slice::from_ref(field), finding)
        };
        self.fields.iter().any(its)
    }

    fn is_of_default(&self, finding: &Finding) -> bool {
        let is_name = finding.field.as_ref() == Some(&Path::dotted("metadata.name"));
        let span = finding.span.as_ref();
        let is_wrong = finding.severity != Severity::Info;
        // A definition that is there twice is so whatever it says.
        let is_twice =
            finding.id == rule_id::DEFINED_TWICE && finding.object.as_ref().is_some_and(is_ours);
        is_wrong && !is_name && !is_twice && span.is_some_and(|span| self.names.contains(span))
    }

    /// Whether it is about a value of a definition that is reported already, after expansion; or information, which can
    /// wait until all definitions can be read.
    fn is_of_reported(&self, finding: &Finding) -> bool {
        if finding.severity == Severity::Info {
            return !self.reported.is_empty();
        }
        let is_after = !finding.object.as_ref().is_some_and(is_ours);
        let span = finding.span.as_ref();
        is_after && span.is_some_and(|span| self.reported.contains(span))
    }

    /// Whether it is about a reference to a document that could not be read.
    fn is_of_document(&self, finding: &Finding) -> bool {
        let target = match finding.id {
            rule_id::MISSING_REFERENCE => "to",
            rule_id::UNLISTED_DEPENDENCY => "id",
            _ => return false,
        };
        let mut args = finding.args.iter();
        let target = args
            .find(|(name, _)| *name == target)
            .map(|(_, id)| id.as_str());
        let target = target.unwrap_or_default();
        // What is only mentioned stays unless the object is known to be broken.
        let is_known =
            |node: &Node| finding.id == rule_id::MISSING_REFERENCE || node.get("kind").is_some();
        let mut documents = self.documents.iter().filter(|node| is_known(node));
        documents.any(|node| may_be(node, target))
    }
}

fn is_ours(id: &ObjectId) -> bool {
    id.group == CAPSTAN
}

fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

fn line(finding: &Finding) -> Option<(std::sync::Arc<str>, u32)> {
    let span = finding.span.as_ref()?;
    Some((span.path.clone(), span.start.line))
}

/// Whether what was read of a document may be the object `Kind/namespace/name`, or may make it.
fn may_be(broken: &Node, target: &str) -> bool {
    let (kind, name) = (broken.text(&["kind"]), broken.text(&["metadata", "name"]));
    let mut parts = target.splitn(3, '/');
    let (Some(its_kind), Some(_), Some(its_name)) = (parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_ours = broken
        .text(&["apiVersion"])
        .is_some_and(|text| text.starts_with(CAPSTAN));
    let same_kind = kind.is_none_or(|kind| is_ours || kind == its_kind);
    same_kind && name.is_none_or(|name| name == its_name || is_ours && its_name.starts_with(name))
}

/// The document of which nothing was read.
pub(super) fn nothing(span: &Span) -> Node {
    Node::new(Value::Null, &Origin::new(span.clone()))
}

/// Whether a field of a definition is missing only because overlays could not be read that may set it.
pub(super) fn explains(lost: &[Path], finding: &Finding) -> bool {
    let field = finding
        .field
        .as_ref()
        .filter(|_| finding.id == rule_id::MISSING_FIELD);
    field.is_some_and(|field| lost.iter().any(|lost| covers(lost, field)))
}

/// Whether one of the paths leads through the other, in whichever items of lists.
fn covers(lost: &Path, field: &Path) -> bool {
    let same = |(one, other): (&Segment, &Segment)| match (one, other) {
        (Segment::Index(_), Segment::Index(_)) => true,
        _ => one == other,
    };
    lost.0.iter().zip(&field.0).all(same)
}

/// Whether the labels of a definition are wrong, so that nobody knows which overlays select it.
pub(super) fn lacks_labels(findings: &[Finding]) -> bool {
    let labels = Path::dotted("metadata.labels");
    findings.iter().any(|finding| {
        let field = finding.field.as_ref();
        let is_theirs = |field: &Path| {
            covers(field, &labels)
                || finding.id == rule_id::UNKNOWN_FIELD && fields::may_hold_labels(field)
        };
        is_error(finding) && field.is_some_and(is_theirs)
    })
}

/// Blames missing fields of definitions on overlays that select nothing, if such an overlay sets all that a
/// definition lacks. The overlay's finding becomes an error with these definitions. Returns what it hides.
pub(super) fn blame<'o>(
    idle: impl Iterator<Item = &'o Overlay>,
    unused: &mut [Finding],
    findings: &mut Vec<Finding>,
) -> Vec<Finding> {
    let mut lacking: BTreeMap<ObjectId, Vec<Path>> = BTreeMap::new();
    for finding in findings
        .iter()
        .filter(|finding| finding.id == rule_id::MISSING_FIELD)
    {
        if let Some((id, field)) = missing(finding) {
            lacking.entry(id).or_default().push(field);
        }
    }
    let mut hidden = Vec::new();
    for overlay in idle {
        let Some(merge) = &overlay.merge else {
            continue;
        };
        let sets = |field: &Path| merge.lookup(field).is_some();
        let needs = |(_, fields): &(&ObjectId, &Vec<Path>)| fields.iter().all(sets);
        let needing: Vec<ObjectId> = lacking
            .iter()
            .filter(needs)
            .map(|(id, _)| id.clone())
            .collect();
        let at = overlay.selector_origin.span();
        let its = |finding: &&mut Finding| finding.span.as_ref() == Some(at);
        let Some(finding) = unused.iter_mut().find(its).filter(|_| !needing.is_empty()) else {
            continue;
        };
        finding.severity = Severity::Error;
        finding.message += ", and definitions lack the fields that it sets";
        let name = |id: &ObjectId| format!("{}/{}", id.namespace, id.name);
        finding.clusters = needing.iter().map(name).collect();
        let is_blamed = |one: &Finding| missing(one).is_some_and(|(id, _)| needing.contains(&id));
        hidden.extend(findings.extract_if(.., |one| is_blamed(one)));
        needing.iter().for_each(|id| drop(lacking.remove(id)));
    }
    hidden
}

/// The definition that lacks a field, and the field below its spec.
pub(super) fn missing(finding: &Finding) -> Option<(ObjectId, Path)> {
    let id = finding
        .object
        .as_ref()
        .filter(|_| finding.id == rule_id::MISSING_FIELD)?;
    let spec = Segment::Key("spec".to_owned());
    let (first, below) = finding.field.as_ref()?.0.split_first()?;
    let is_ours = id.is(CAPSTAN, "ClusterDefinition");
    (is_ours && *first == spec && !below.is_empty()).then(|| (id.clone(), Path(below.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_field_covers_what_is_above_and_below_it() {
        for (lost, field, expected) in [
            ("", "spec.location", true),
            ("spec.version.id", "spec.version", true),
            ("spec.version", "spec.version.id", true),
            ("spec.version", "spec.location", false),
        ] {
            assert_eq!(covers(&Path::dotted(lost), &Path::dotted(field)), expected);
        }
        let pool = |at| Path::dotted("spec.nodePools").index(at).key("vmSize");
        assert!(covers(&pool(0), &pool(1)));
    }

    #[test]
    fn nothing_is_hidden_without_an_error() {
        let effect = Finding::error("S03", "missing");
        let lost = Lost {
            effects: vec![effect.clone()],
            ..Lost::default()
        };
        assert_eq!(lost.settle(Vec::new()), [effect]);
    }
}
