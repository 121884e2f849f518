//! Definitions that differ from all others by a slip of the keyboard: in a label that overlays select by (O04), or in
//! their namespace (F07).
//!
//! In: definitions as written, overlays and plain objects. Out: findings, which replace those that are there only
//! because of the slip: an overlay that selects nothing, fields that it would set, and objects that are missing in
//! the wrong namespace. It does not know what overlays set, only whether they set a field.

use std::cell::LazyCell;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};

use crate::api::cluster_definition;
use crate::api::overlay::{Operator, Overlay};
use crate::model::{Finding, Node, Object, ObjectId, Path, Severity, Span, message, rule_id};

use super::lost::missing;

/// The definitions that differ.
#[derive(Debug, Default)]
pub(super) struct Outliers {
    labels: Vec<Label>,
    namespaces: Vec<Namespace>,
}

/// A label value that is one slip away from one that overlays ask for.
#[derive(Debug)]
struct Label {
    finding: Finding,
    definition: ObjectId,
    /// The selectors that would match the right value, and the fields that the overlay would set.
    meant: Vec<(Span, Option<Node>)>,
}

/// A namespace that no other definition has.
#[derive(Debug)]
struct Namespace {
    finding: Finding,
    definition: ObjectId,
}

impl Outliers {
    pub(super) fn of(definitions: &[Node], overlays: &[Overlay], raw: &[Object]) -> Self {
        let labels = |node| labels(node, definitions, overlays);
        Self {
            labels: definitions.iter().flat_map(labels).collect(),
            namespaces: namespaces(definitions, raw),
        }
    }

    /// Reports wrong labels instead of overlays that select nothing because of them. If the definition lacks fields
    /// that an overlay would set, the label is an error, and their findings move to `effects`.
    pub(super) fn blame_labels(
        &mut self,
        unused: &mut Vec<Finding>,
        findings: &mut Vec<Finding>,
        effects: &mut Vec<Finding>,
    ) {
        for label in &mut self.labels {
            let selects = |span: &Span| label.meant.iter().any(|(at, _)| at == span);
            unused.retain(|one| !one.span.as_ref().is_some_and(selects));
            let sets = |field: &Path| {
                let mut merges = label.meant.iter().filter_map(|(_, merge)| merge.as_ref());
                merges.any(|merge| merge.lookup(field).is_some())
            };
            let lacks = |one: &Finding| {
                missing(one).is_some_and(|(id, field)| id == label.definition && sets(&field))
            };
            let lacking: Vec<_> = findings.extract_if(.., |one| lacks(one)).collect();
            if !lacking.is_empty() {
                label.finding.severity = Severity::Error;
            }
            effects.extend(lacking);
            findings.push(label.finding.clone());
        }
    }

    /// Reports wrong namespaces, and removes what is only mentioned because of them.
    pub(super) fn blame_namespaces(self, findings: &mut Vec<Finding>) {
        for Namespace {
            finding,
            definition,
        } in self.namespaces
        {
            let place = finding.span.as_ref().map(|span| span.path.clone());
            let wrong = &definition.namespace;
            let is_mentioned = |one: &Finding| {
                let id = one.args.iter().find(|(name, _)| *name == "id");
                let mut parts = id.map_or("", |(_, id)| id).split('/');
                let (kind, namespace, name) = (parts.next(), parts.next(), parts.next());
                let is_wrong =
                    namespace == Some(wrong) || kind == Some("Namespace") && name == Some(wrong);
                one.id == rule_id::UNLISTED_DEPENDENCY
                    && is_wrong
                    && one.span.as_ref().map(|at| at.path.clone()) == place
            };
            findings.retain(|one| !is_mentioned(one));
            findings.push(finding);
        }
    }
}

/// The labels of a definition that are probably misspelt: nothing else has the value or asks for it, and another
/// definition, or the definition's name or path, has the value that an overlay asks for.
fn labels(node: &Node, definitions: &[Node], overlays: &[Overlay]) -> Vec<Label> {
    let id = cluster_definition::id(node);
    let map = node.at(&["metadata", "labels"]).and_then(Node::as_map);
    let entries = map.into_iter().flat_map(|map| map.iter());
    let label = |(key, value): (&crate::model::Key, &Node)| {
        let (key, text) = (&*key.name, value.as_str()?);
        let wanted = wanted(overlays, key);
        let near = || wanted.iter().copied().find(|near| is_slip(text, near));
        let right = near().filter(|_| !wanted.contains(text))?;
        let has =
            |node: &&Node, value: &str| node.text(&["metadata", "labels", key]) == Some(value);
        let others = || {
            definitions
                .iter()
                .filter(|other| other.span() != node.span())
        };
        let is_shared = others().any(|other| has(&other, text));
        let is_right = others().any(|other| has(&other, right)) || {
            let words = |value| has_word(&id.name, value) || has_word(&value_path(node), value);
            words(right) && !words(text)
        };
        let meant = |name: &str| match name == key {
            true => Some(right),
            false => node.text(&["metadata", "labels", name]),
        };
        let meant = overlays
            .iter()
            .filter(|overlay| overlay.selector.matches(meant));
        let meant = meant.map(|one| (one.selector_origin.span().clone(), one.merge.clone()));
        (is_right && !is_shared).then(|| Label {
            finding: misspelt(&id, value, key, text, right),
            definition: id.clone(),
            meant: meant.collect(),
        })
    };
    entries.filter_map(label).collect()
}

fn value_path(node: &Node) -> String {
    node.span().path.to_string()
}

/// The values of a label that selectors ask for.
fn wanted<'o>(overlays: &'o [Overlay], key: &str) -> BTreeSet<&'o str> {
    let of = |overlay: &'o Overlay| {
        let selector = &overlay.selector;
        let equal = selector.match_labels.get(key).into_iter();
        let requirements = selector.match_expressions.iter();
        let listed = requirements.filter(|one| one.key == key && one.operator == Operator::In);
        equal
            .chain(listed.flat_map(|one| &one.values))
            .map(String::as_str)
            .collect::<Vec<_>>()
    };
    overlays.iter().flat_map(of).collect()
}

fn misspelt(id: &ObjectId, at: &Node, key: &str, text: &str, right: &str) -> Finding {
    let message = message!(
        "no overlay and no other definition has the label `{key}: {text}`",
        key,
        text
    );
    let field = Path::dotted("metadata.labels").key(key);
    let finding = Finding::warning("O04", message).at(at.span());
    let help = format!("did you mean `{key}: {right}`, which overlays select?");
    finding.of(id).field(&field).help(help)
}

/// The definitions whose namespace was forgotten, while others have one, or is one slip away from another one.
fn namespaces(definitions: &[Node], raw: &[Object]) -> Vec<Namespace> {
    let is_readable = |node: &&Node| {
        let metadata = node.get("metadata").and_then(Node::as_map);
        let namespace = metadata.map(|map| map.get("namespace"));
        namespace.is_some_and(|node| node.is_none_or(|node| node.as_str().is_some()))
    };
    let definitions: Vec<&Node> = definitions.iter().filter(is_readable).collect();
    let written = |node: &&Node| node.text(&["metadata", "namespace"]).map(str::to_owned);
    let all: Vec<Option<String>> = definitions.iter().map(written).collect();
    let made = raw.iter().filter(|object| object.id.is("", "Namespace"));
    let made: BTreeSet<&str> = made.map(|object| &*object.id.name).collect();
    let used: BTreeSet<&str> = all.iter().flatten().map(String::as_str).collect();
    let forgotten = all.iter().filter(|one| one.is_none()).count();
    let others = all.len() - forgotten;
    let knows_default = used.contains("default") || made.contains("default");
    let is_forgotten = !knows_default && others > 0 && forgotten <= others;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for name in all.iter().flatten() {
        *counts.entry(name).or_default() += 1;
    }
    let is_certain = |name: &str| made.contains(name) || counts.get(name).is_some_and(|n| *n > 1);
    // Few fleets need it.
    let known = LazyCell::new(|| Rests::of(used.union(&made).copied()));
    let find = |(node, own): (&Node, &Option<String>)| {
        let finding = match own {
            None => is_forgotten.then(|| without_namespace(node, &used))?,
            Some(own) if is_certain(own) => return None,
            Some(own) => {
                let near = known.near(own).filter(|one| is_slip(own, one));
                let right = near.min_by_key(|one| (!used.contains(one), *one))?;
                is_certain(right).then(|| other_namespace(node, own, right))?
            }
        };
        let definition = cluster_definition::id(node);
        Some(Namespace {
            finding: finding.of(&definition),
            definition,
        })
    };
    definitions.into_iter().zip(&all).filter_map(find).collect()
}

fn without_namespace(node: &Node, used: &BTreeSet<&str>) -> Finding {
    let name = node.nearest(&Path::dotted("metadata.name"));
    let used: Vec<&str> = used.iter().copied().collect();
    let help = match used.as_slice() {
        [one] => format!("add `namespace: {one}`, or write `namespace: default` if that is meant"),
        _ => "add `namespace`, or write `namespace: default` if that is meant".to_owned(),
    };
    let others = used.join("`, `");
    let message = message!(
        "the namespace is missing, so it is `default`; other definitions are in `{others}`",
        others
    );
    let field = Path::dotted("metadata.namespace");
    Finding::warning("F07", message)
        .at(name.span())
        .field(&field)
        .help(help)
}

fn other_namespace(node: &Node, own: &str, right: &str) -> Finding {
    let field = Path::dotted("metadata.namespace");
    let message = message!(
        "no other definition is in the namespace `{own}`, and the fleet does not contain it",
        own
    );
    let finding = Finding::warning("F07", message).at(node.nearest(&field).span());
    finding
        .field(&field)
        .help(format!("did you mean `{right}`?"))
}

/// Whether one of two names is probably a misspelling of the other. Names that differ in numbers are counted, as
/// `uks1` and `uks2`.
fn is_slip(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    let is_long = one.len().min(other.len()) >= 3;
    is_long && letters(one) != letters(other) && strsim::damerau_levenshtein(one, other) == 1
}

/// Names by what is left of them without one character, as hashes. Two names that are one slip apart have such a rest in common, or
/// one is a rest of the other.
struct Rests<'n> {
    state: RandomState,
    names: Vec<&'n str>,
    /// Hashes with indices of names, sorted.
    rests: Vec<(u64, usize)>,
}

impl<'n> Rests<'n> {
    /// One more character than a namespace may have. Longer names are not compared.
    const LONGEST: usize = 64;

    fn of(names: impl Iterator<Item = &'n str>) -> Self {
        let mut known = Self {
            state: RandomState::default(),
            names: names.collect(),
            rests: Vec::new(),
        };
        let names = known.names.iter().enumerate();
        let rests = names.flat_map(|(at, name)| known.hashes(name).map(move |hash| (hash, at)));
        known.rests = rests.collect();
        known.rests.sort_unstable();
        known
    }

    /// The names that may be one slip apart from this one, some of them several times.
    fn near(&self, name: &str) -> impl Iterator<Item = &'n str> {
        self.hashes(name).flat_map(|hash| {
            let start = self.rests.partition_point(|(other, _)| *other < hash);
            self.rests[start..]
                .iter()
                .take_while(move |(other, _)| *other == hash)
                .map(|(_, at)| self.names[*at])
        })
    }

    /// The hashes of a name, and of what is left of it without each of its characters.
    fn hashes(&self, name: &str) -> impl Iterator<Item = u64> {
        let is_short = name.len() <= Self::LONGEST;
        let characters: Vec<char> = name.chars().filter(|_| is_short).collect();
        let count = if is_short { characters.len() + 1 } else { 0 };
        (0..count).map(move |without| {
            let rest: String = characters
                .iter()
                .enumerate()
                .filter(|(at, _)| *at != without)
                .map(|(_, character)| character)
                .collect();
            self.state.hash_one(rest)
        })
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|part| part == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_short_names_are_no_slips() {
        for (one, other) in [
            ("prdo", "prod"),
            ("pro", "prod"),
            ("dve", "dev"),
            ("cluster", "clusters"),
        ] {
            assert!(is_slip(one, other), "{one} {other}");
            let known = Rests::of([other, "others"].into_iter());
            assert!(known.near(one).any(|near| near == other), "{one} {other}");
        }
        for (one, other) in [
            ("prod", "prod"),
            ("uks1", "uks2"),
            ("dev", "dev2"),
            ("a", "b"),
            ("test", "prod"),
        ] {
            assert!(!is_slip(one, other), "{one} {other}");
        }
    }
}
