//! What an overlay brings is told once, at its line, with the clusters it is true of.
//!
//! In: findings in order, where the documents begin, and the objects. Out: the findings, of which those
//! at one place of an overlay that say the same of several clusters are one. What is in no cluster stays
//! one for each object. It does not know the rules.
//!
//! Two messages say the same when they differ in the clusters' names and in numbers only: versions,
//! networks, ids. Of one cluster, messages that differ stay apart.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::api::kinds::CAPSTAN;
use crate::api::{embedded, labels};
use crate::model::{Finding, Object, ObjectId, Position, Severity, Span};

/// Where the documents of all files begin, and whether each is an overlay.
#[derive(Debug, Default)]
pub(super) struct DocumentIndex(BTreeMap<Span, bool>);

impl DocumentIndex {
    /// Notes a document.
    pub(super) fn note(&mut self, begins: &Span, is_overlay: bool) {
        self.0.insert(begins.clone(), is_overlay);
    }

    /// Whether `span` is in an overlay: the last document that begins at it or before is one.
    fn in_overlay(&self, span: &Span) -> bool {
        let end = Position {
            line: u32::MAX,
            column: u32::MAX,
        };
        let at = Span {
            end,
            ..span.clone()
        };
        let before = self.0.range(..=at).next_back();
        before.is_some_and(|(begins, is_overlay)| *is_overlay && begins.path == span.path)
    }
}

/// The findings, those of overlays grouped.
pub(super) fn told_once(
    findings: Vec<Finding>,
    documents: &DocumentIndex,
    objects: &[Object],
) -> Vec<Finding> {
    // What is only good to know is told of the first who needs it, for all.
    let is_of_overlay = |finding: &Finding| {
        let span = finding.span.as_ref();
        let span = span.filter(|_| finding.severity != Severity::Info);
        span.is_some_and(|span| documents.in_overlay(span))
    };
    let ours: Vec<bool> = findings.iter().map(is_of_overlay).collect();
    if !ours.contains(&true) {
        return findings;
    }
    let clusters = Clusters::of(objects);
    let mut told: Vec<Told> = Vec::with_capacity(findings.len());
    let mut places: HashMap<Place, Vec<usize>> = HashMap::new();
    for (finding, ours) in findings.into_iter().zip(ours) {
        if !ours {
            told.push(Told::new(finding, None));
            continue;
        }
        let cluster = finding.object.as_ref().and_then(|id| clusters.find(id));
        let place = (finding.id, finding.severity, finding.span.clone());
        let same = places.entry(place).or_default();
        let known = &same[..same.len().min(MOST_KINDS)];
        let twin = known.iter().find(|at| told[**at].says(&finding, &cluster));
        match twin {
            Some(at) => told[*at].add(finding, cluster),
            None => {
                same.push(told.len());
                told.push(Told::new(finding, cluster));
            }
        }
    }
    told.into_iter().map(Told::done).collect()
}

/// How many different messages of one place are compared with: more are none of a rule's making.
const MOST_KINDS: usize = 100;

type Place = (&'static str, Severity, Option<Span>);
/// Namespace and name.
type Cluster = (String, String);

/// A finding, and what was said of each cluster.
struct Told {
    finding: Finding,
    name: String,
    said: BTreeMap<Cluster, String>,
}

impl Told {
    fn new(finding: Finding, cluster: Option<Cluster>) -> Self {
        let name = cluster.as_ref().map(|(_, name)| name.clone());
        let said = cluster.map(|cluster| (cluster, finding.message.clone()));
        Self {
            finding,
            name: name.unwrap_or_default(),
            said: said.into_iter().collect(),
        }
    }

    /// Whether `other` says the same, of another cluster or of this one again. What is in no cluster is
    /// told of each object, or nobody would know which.
    fn says(&self, other: &Finding, cluster: &Option<Cluster>) -> bool {
        let message = &self.finding.message;
        let Some((_, name)) = cluster else {
            let same = self.said.is_empty() && self.finding.object == other.object;
            return same && *message == other.message;
        };
        match cluster.as_ref().and_then(|cluster| self.said.get(cluster)) {
            Some(said) => *said == other.message,
            None => !self.said.is_empty() && same_words(message, &self.name, &other.message, name),
        }
    }

    fn add(&mut self, finding: Finding, cluster: Option<Cluster>) {
        self.said
            .extend(cluster.map(|cluster| (cluster, finding.message)));
    }

    fn done(self) -> Finding {
        let clusters = self.said.into_keys();
        let clusters = clusters.map(|(namespace, name)| format!("{namespace}/{name}"));
        Finding {
            clusters: clusters.collect(),
            ..self.finding
        }
    }
}

/// Which cluster an object is part of.
struct Clusters(HashMap<ObjectId, Cluster>);

impl Clusters {
    fn of(objects: &[Object]) -> Self {
        let parts = objects.iter().flat_map(|object| {
            let cluster = cluster(object);
            let embedded = embedded::ids(object).map(|(id, _)| id);
            let ids = std::iter::once(object.id.clone()).chain(embedded);
            ids.filter_map(move |id| Some((id, cluster.clone()?)))
        });
        Self(parts.collect())
    }

    fn find(&self, id: &ObjectId) -> Option<Cluster> {
        match id.is(CAPSTAN, "ClusterDefinition") {
            true => Some((id.namespace.clone(), id.name.clone())),
            false => self.0.get(id).cloned(),
        }
    }
}

/// The cluster that an object was made for, or says it belongs to.
fn cluster(object: &Object) -> Option<Cluster> {
    let labelled = || object.label(labels::CLUSTER_NAME);
    match &object.definition {
        Some(id) => Some((id.namespace.clone(), id.name.clone())),
        None => labelled().map(|name| (object.id.namespace.clone(), name.to_owned())),
    }
}

/// Whether two messages, each of a cluster of its own, differ in these names and in numbers only.
fn same_words(one: &str, of_one: &str, other: &str, of_other: &str) -> bool {
    let (mut left, mut right) = (one.split(' '), other.split(' '));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return true,
            (Some(one), Some(other)) if is_same(one, of_one, other, of_other) => {}
            _ => return false,
        }
    }
}

fn is_same(one: &str, of_one: &str, other: &str, of_other: &str) -> bool {
    one == other
        || without_numbers(one) == without_numbers(other)
        || without_numbers(&nameless(one, of_one)) == without_numbers(&nameless(other, of_other))
}

fn nameless<'w>(word: &'w str, name: &str) -> Cow<'w, str> {
    match !name.is_empty() && word.contains(name) {
        true => word.replace(name, "*").into(),
        false => word.into(),
    }
}

/// A text in which all numbers are alike: decimal or hexadecimal, and several with one sign between
/// them are one, as in versions, networks and ids.
pub(crate) fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric();
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_part(c) != is_part(first));
        let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
        match is_number(part) {
            true if plain.ends_with(['.', '/', ':', '-']) && is_list(&plain) => drop(plain.pop()),
            true => plain.push('#'),
            false => plain.push_str(part),
        }
        rest = after;
    }
    plain
}

/// Whether what was written ends in a number and one sign.
fn is_list(plain: &str) -> bool {
    plain.chars().rev().nth(1) == Some('#')
}

/// Hexadecimal ones may be without digits: those that names end in have six.
fn is_number(part: &str) -> bool {
    let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex && (part.len() >= 6 || part.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// What is said at one place of an overlay, each of a cluster, as `message: clusters`.
    fn once(said: &[(&str, &str)]) -> Vec<String> {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        let finding = |(name, message): &(&str, &str)| {
            let id = ObjectId::new(CAPSTAN, "ClusterDefinition", "n", *name);
            let finding = Finding::error("X01", *message);
            finding.at(&Span::new(&path, 5, 3, 2)).of(&id)
        };
        let told = told_once(said.iter().map(finding).collect(), &documents, &[]);
        let line =
            |finding: Finding| format!("{}: {}", finding.message, finding.clusters.join(" "));
        told.into_iter().map(line).collect()
    }

    #[test]
    fn names_and_numbers_are_no_difference() {
        let said = [
            ("one", "one of `one-mp1` has 10.0.0.0/16 at 4.20"),
            ("two", "one of `two-mp1` has 10.4.0.0/14 at 4.21.3"),
        ];
        let expected = ["one of `one-mp1` has 10.0.0.0/16 at 4.20: n/one n/two"];
        assert_eq!(once(&said), expected);
        let said = [("one", "`a` is missing"), ("two", "`b` is missing")];
        assert_eq!(once(&said).len(), 2, "another thing is missing");
    }

    #[test]
    fn what_differs_within_a_cluster_stays_apart() {
        let said = [
            ("one", "4 is more than 3"),
            ("one", "5 is more than 3"),
            ("one", "5 is more than 3"),
            ("two", "4 is more than 3"),
            ("two", "6 is more than 3"),
        ];
        let expected = [
            "4 is more than 3: n/one n/two",
            "5 is more than 3: n/one n/two",
        ];
        assert_eq!(once(&said), expected);
    }

    #[test]
    fn what_is_in_no_cluster_is_told_of_each_object() {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        let finding = |(kind, name): (&str, &str)| {
            let id = ObjectId::new(CAPSTAN, kind, "n", name);
            let finding = Finding::error("O02", "there is nothing at `/x`");
            finding.at(&Span::new(&path, 5, 3, 2)).of(&id)
        };
        let of = ["a", "b", "b", "one", "two"];
        let kinds = [
            "Plain",
            "Plain",
            "Plain",
            "ClusterDefinition",
            "ClusterDefinition",
        ];
        let findings = kinds.into_iter().zip(of).map(finding).collect();
        let told = told_once(findings, &documents, &[]).into_iter();
        let told = told.map(|one| (one.object.map(|id| id.name), one.clusters.join(" ")));
        let expected = [("a", ""), ("b", ""), ("one", "n/one n/two")];
        let expected = expected.map(|(name, of)| (Some(name.to_owned()), of.to_owned()));
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_document_that_is_no_overlay_is_left_alone() {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        documents.note(&Span::new(&path, 9, 1, 4), false);
        let at = |line| documents.in_overlay(&Span::new(&path, line, 1, 1));
        assert!(at(1) && at(8) && !at(9) && !at(99));
        assert!(!documents.in_overlay(&Span::top(&Arc::from("p.yaml"))));
    }

    #[test]
    fn numbers_are_alike() {
        for (text, plain) in [
            ("10.0.0.0/14, 4.21.3", "#, #"),
            ("3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10", "#"),
            ("kv-beefcd a bad face", "kv-# a bad face"),
            ("spec.nodePools[0].name", "spec.nodePools[#].name"),
            ("Standard_D4s_v3 ü1", "Standard_D4s_v3 ü1"),
        ] {
            assert_eq!(without_numbers(text), plain);
        }
    }
}
