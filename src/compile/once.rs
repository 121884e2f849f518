//! A problem in an overlay is reported once, at its line, with the clusters that it affects.
//!
//! In: findings in order, where the documents begin, and the objects. Out: the findings, with those of one
//! rule at one place of an overlay grouped into one if they are about the same thing in several clusters.
//! Findings about objects outside of any cluster are not grouped. It does not know the rules, and does not
//! look at messages.
//!
//! Two findings are about the same thing if their arguments differ only in the clusters' names and in
//! numbers: versions, networks, ids. Within one cluster, findings with different arguments stay apart.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::api::kinds::CAPSTAN;
use crate::api::{embedded, labels};
use crate::model::cut;
use crate::model::{Arg, Finding, Object, ObjectId, Position, Severity, Span};

/// Where the documents of all files begin, and whether each is an overlay.
#[derive(Debug, Default)]
pub(super) struct DocumentIndex(BTreeMap<Span, bool>);

impl DocumentIndex {
    /// Notes a document.
    pub(super) fn note(&mut self, begins: &Span, is_overlay: bool) {
        self.0.insert(begins.clone(), is_overlay);
    }

    /// Whether a finding is in an overlay.
    pub(super) fn has(&self, finding: &Finding) -> bool {
        finding
            .span
            .as_ref()
            .is_some_and(|span| self.in_overlay(span))
    }

    /// Whether a finding is grouped with others. Information is reported at the first object that needs it, for all.
    pub(super) fn groups(&self, finding: &Finding) -> bool {
        finding.severity != Severity::Info && self.has(finding)
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

/// The findings, with those in overlays grouped.
pub(super) fn group(
    findings: Vec<Finding>,
    documents: &DocumentIndex,
    clusters: &Clusters,
) -> Vec<Finding> {
    let is_grouped = |finding: &Finding| documents.groups(finding);
    let ours: Vec<bool> = findings.iter().map(is_grouped).collect();
    let mut groups: Vec<Group> = Vec::with_capacity(findings.len());
    let mut places: HashMap<Place, Vec<usize>> = HashMap::new();
    for (finding, ours) in findings.into_iter().zip(ours) {
        if !ours {
            groups.push(Group::new(finding, None));
            continue;
        }
        let cluster = finding.object.as_ref().and_then(|id| clusters.find(id));
        let place = (finding.id, finding.severity, finding.span.clone());
        let same = places.entry(place).or_default();
        let known = &same[..same.len().min(MOST_KINDS)];
        let twin = known
            .iter()
            .find(|at| groups[**at].includes(&finding, &cluster));
        match twin {
            Some(at) => groups[*at].add(&finding, cluster),
            None => {
                same.push(groups.len());
                groups.push(Group::new(finding, cluster));
            }
        }
    }
    groups.into_iter().map(Group::done).collect()
}

/// How many groups of one rule and place a finding is compared with. No rule makes more.
const MOST_KINDS: usize = 100;

type Place = (&'static str, Severity, Option<Span>);
/// Namespace and name.
type Cluster = (String, String);

/// A finding, and its subject in each cluster that it affects.
struct Group {
    finding: Finding,
    /// The name of the cluster that `finding` is about; empty if there is none.
    name: String,
    subjects: BTreeMap<Cluster, Vec<Arg>>,
}

impl Group {
    fn new(finding: Finding, cluster: Option<Cluster>) -> Self {
        let name = cluster.as_ref().map(|(_, name)| name.clone());
        let subject = cluster.map(|cluster| (cluster, finding.subject().into_owned()));
        Self {
            finding,
            name: name.unwrap_or_default(),
            subjects: subject.into_iter().collect(),
        }
    }

    /// Whether `other` is about the same thing, in another cluster or in this one again. Findings about
    /// different objects outside of any cluster stay apart, or nobody would know which objects they are.
    fn includes(&self, other: &Finding, cluster: &Option<Cluster>) -> bool {
        let (own, others) = (self.finding.subject(), other.subject());
        let Some(cluster) = cluster else {
            let same = self.subjects.is_empty() && self.finding.object == other.object;
            return same && other.object.is_some() && own == others;
        };
        match self.subjects.get(cluster) {
            Some(subject) => **subject == *others,
            None => !self.subjects.is_empty() && alike(&own, &self.name, &others, &cluster.1),
        }
    }

    fn add(&mut self, finding: &Finding, cluster: Option<Cluster>) {
        let subject = cluster.map(|cluster| (cluster, finding.subject().into_owned()));
        self.subjects.extend(subject);
    }

    fn done(self) -> Finding {
        if self.subjects.is_empty() {
            return self.finding;
        }
        let clusters = self.subjects.into_keys();
        let clusters = clusters.map(|(namespace, name)| format!("{namespace}/{name}"));
        Finding {
            clusters: clusters.collect(),
            ..self.finding
        }
    }
}

/// Which cluster each object is part of.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters(HashMap<ObjectId, Cluster>);

impl Clusters {
    /// The clusters of the objects that findings are about which are grouped; of none if there are no such findings.
    pub(super) fn behind<'f>(
        findings: impl IntoIterator<Item = &'f Finding>,
        documents: &DocumentIndex,
        objects: &[Object],
    ) -> Self {
        let mut grouped = findings
            .into_iter()
            .filter(|finding| documents.groups(finding))
            .filter_map(|finding| finding.object.as_ref())
            .peekable();
        if grouped.peek().is_none() {
            return Self::default();
        }
        let all = Self::of(objects);
        let known = grouped.filter_map(|id| Some((id.clone(), all.0.get(id)?.clone())));
        Self(known.collect())
    }

    /// Adds those of other objects.
    pub(super) fn add(&mut self, others: &Self) {
        let others = others.0.iter();
        self.0
            .extend(others.map(|(id, cluster)| (id.clone(), cluster.clone())));
    }

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

/// The cluster that an object was made for, or that its label names.
fn cluster(object: &Object) -> Option<Cluster> {
    let labelled = || object.label(labels::CLUSTER_NAME);
    match &object.definition {
        Some(id) => Some((id.namespace.clone(), id.name.clone())),
        None => labelled().map(|name| (object.id.namespace.clone(), name.to_owned())),
    }
}

/// Whether the arguments of two findings, each in a cluster of its own, differ only in the clusters' names
/// and in numbers.
fn alike(one: &[Arg], of_one: &str, other: &[Arg], of_other: &str) -> bool {
    let same = |(one, other): (&Arg, &Arg)| {
        one.0 == other.0 && is_same(&one.1, of_one, &other.1, of_other)
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn is_same(one: &str, of_one: &str, other: &str, of_other: &str) -> bool {
    one == other
        || without_numbers(one) == without_numbers(other)
        || without_numbers(&nameless(one, of_one)) == without_numbers(&nameless(other, of_other))
}

/// A value without the name of its cluster.
pub(crate) fn nameless<'v>(value: &'v str, name: &str) -> Cow<'v, str> {
    if name.is_empty() || !value.contains(name) {
        return value.into();
    }
    value.replace(name, "*").into()
}

/// A value with `#` for every number, decimal or hexadecimal. Numbers with one separator between them are
/// one number, as in versions, networks and ids.
pub(crate) fn without_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric();
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (part, after) = cut::until(rest, |c| is_part(c) != is_part(first));
        match is_number(part) {
            true if plain.ends_with(['.', '/', ':', '-']) && is_list(&plain) => drop(plain.pop()),
            true => plain.push('#'),
            false => plain.push_str(part),
        }
        rest = after;
    }
    plain
}

/// Whether the text so far ends in a number and one separator.
fn is_list(plain: &str) -> bool {
    plain.chars().rev().nth(1) == Some('#')
}

/// Hexadecimal numbers without a digit need six letters: the suffixes of names have six.
fn is_number(part: &str) -> bool {
    let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex && (part.len() >= 6 || part.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Path, message};

    /// Groups findings at one place of an overlay, given as pairs of a cluster and an argument. Returns
    /// `argument: clusters` for each group.
    fn grouped(found: &[(&str, &str)]) -> Vec<String> {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        let finding = |(name, size): &(&str, &str)| {
            let id = ObjectId::new(CAPSTAN, "ClusterDefinition", "n", *name);
            let finding = Finding::error("X01", message!("wrong", size));
            finding.at(&Span::new(&path, 5, 3, 2)).of(&id)
        };
        let grouped = group(
            found.iter().map(finding).collect(),
            &documents,
            &Clusters::default(),
        );
        let line = |finding: Finding| {
            let size = finding.args.into_iter().map(|(_, value)| value);
            format!(
                "{}: {}",
                size.collect::<String>(),
                finding.clusters.join(" ")
            )
        };
        grouped.into_iter().map(line).collect()
    }

    #[test]
    fn names_and_numbers_do_not_matter() {
        for (one, two) in [
            ("one-mp1", "two-mp1"),
            ("10.0.0.0/16", "10.4.0.0/14"),
            ("4.20", "4.21.3"),
            ("one-mp1 4.20", "two-mp1 4.21"),
        ] {
            let expected = [format!("{one}: n/one n/two")];
            assert_eq!(grouped(&[("one", one), ("two", two)]), expected);
        }
        assert_eq!(grouped(&[("one", "a"), ("two", "b")]).len(), 2);
    }

    #[test]
    fn words_do_not_matter() {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        let finding = |(name, text): (&str, &str)| {
            let id = ObjectId::new(CAPSTAN, "ClusterDefinition", "n", name);
            let finding = Finding::error("X01", text).at(&Span::new(&path, 5, 3, 2));
            finding.of(&id).field(&Path::dotted("spec.tags"))
        };
        let found = [("one", "is wrong"), ("two", "cannot be used")].map(finding);
        let grouped = group(found.into(), &documents, &Clusters::default());
        assert_eq!(grouped.len(), 1);
        assert_eq!(grouped[0].clusters, ["n/one", "n/two"]);
    }

    #[test]
    fn different_arguments_within_a_cluster_stay_apart() {
        let found = [
            ("one", "4"),
            ("one", "5"),
            ("one", "5"),
            ("two", "4"),
            ("two", "6"),
        ];
        assert_eq!(grouped(&found), ["4: n/one n/two", "5: n/one n/two"]);
    }

    #[test]
    fn findings_outside_of_clusters_are_reported_for_each_object() {
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
        let grouped = group(findings, &documents, &Clusters::default()).into_iter();
        let grouped = grouped.map(|one| (one.object.map(|id| id.name), one.clusters.join(" ")));
        let expected = [("a", ""), ("b", ""), ("one", "n/one n/two")];
        let expected = expected.map(|(name, of)| (Some(name.to_owned()), of.to_owned()));
        assert_eq!(grouped.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_overlays_are_in_an_overlay() {
        let path = Arc::from("o.yaml");
        let mut documents = DocumentIndex::default();
        documents.note(&Span::new(&path, 1, 1, 4), true);
        documents.note(&Span::new(&path, 9, 1, 4), false);
        let at = |line| documents.in_overlay(&Span::new(&path, line, 1, 1));
        assert!(at(1) && at(8) && !at(9) && !at(99));
        assert!(!documents.in_overlay(&Span::top(&Arc::from("p.yaml"))));
    }

    #[test]
    fn every_number_becomes_the_same_sign() {
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
