//! Known fields in the wrong place, and other violations that one mistake causes together.
//!
//! In: a schema and its violations. Out: the violations that are reported, with where misplaced fields belong. It
//! does not know how they are reported.

use kube_schema::{ListKind, Path, Schema, Segment, Violation, ViolationKind};

use crate::model::{Node, Position};

/// The deepest place that is looked at.
const MAX_DEPTH: usize = 12;
/// Names that stand in many places: a place with one of them is probably not what is meant.
const COMMON: [&str; 7] = ["name", "namespace", "id", "key", "value", "kind", "group"];

/// A violation that is reported.
#[derive(Debug)]
pub(super) struct Reported {
    pub(super) violation: Violation,
    /// Where an unknown field belongs; empty if its name is not known. List items have the index 0.
    pub(super) homes: Vec<Path>,
    /// Its own name and those of the unknown fields below it in the same map that belong there, too.
    pub(super) names: Vec<String>,
    /// Whether a required field is missing in such a place.
    pub(super) is_missed: bool,
}

/// The violations, with one for all fields that belong in the same other place, without missing fields that are
/// misplaced, and with one for an item whose key is missing or not unique.
pub(super) fn grouped(schema: &Schema, node: &Node, violations: Vec<Violation>) -> Vec<Reported> {
    let mut unique = without_twins(schema, node, violations);
    let is_unknown = |one: &Violation| matches!(one.kind, ViolationKind::UnknownField { .. });
    unique.sort_by_key(|one| match is_unknown(one) {
        true => (false, line(node, &one.path)),
        false => (true, None),
    });
    let mut reported: Vec<Reported> = Vec::with_capacity(unique.len());
    for violation in unique {
        let homes = homes(schema, &violation);
        let own = last_name(&violation.path).unwrap_or_default().to_owned();
        let same = |other: &&mut Reported| {
            above(&other.violation.path) == above(&violation.path)
                && !homes.is_empty()
                && same_places(&other.homes, &homes)
        };
        match reported.iter_mut().find(same) {
            Some(other) => other.names.push(own),
            None => reported.push(Reported {
                violation,
                homes,
                names: vec![own],
                is_missed: false,
            }),
        }
    }
    without_missed(reported)
}

/// Where an unknown field is written.
fn line(node: &Node, path: &Path) -> Option<Position> {
    let map = node.lookup(&Path(above(path).to_vec()))?.as_map()?;
    let (key, _) = map.entry(last_name(path)?)?;
    Some(key.origin.span().start)
}

/// The violations without missing fields that are there in another place.
fn without_missed(mut reported: Vec<Reported>) -> Vec<Reported> {
    let mut missed = Vec::new();
    for one in reported.iter_mut().filter(|one| !one.homes.is_empty()) {
        let places = one.names.iter().flat_map(|name| {
            let at = |home: &Path| Path(above(home).to_vec()).key(name.as_str());
            one.homes.iter().map(at)
        });
        missed.extend(places.map(|place| (place, one.violation.path.clone())));
    }
    let is_missing = |one: &Reported| one.violation.kind == ViolationKind::Missing;
    let mut found = Vec::new();
    reported.retain(|one| {
        let its = |(place, _): &&(Path, Path)| {
            let missing = &one.violation.path.0;
            let depth = missing.len().min(place.0.len());
            is_missing(one) && same_steps(&place.0[..depth], missing)
        };
        let cause = missed.iter().find(its);
        found.extend(cause.map(|(_, cause)| cause.clone()));
        cause.is_none()
    });
    for one in &mut reported {
        one.is_missed = found.contains(&one.violation.path);
    }
    reported
}

/// The violations without those of items that are reported as duplicates, and of the items that they repeat. Items
/// without a key are no duplicates.
fn without_twins(schema: &Schema, node: &Node, mut found: Vec<Violation>) -> Vec<Violation> {
    let keys = |one: &Violation| match &schema.at(&Path(above(&one.path).to_vec()))?.list {
        ListKind::Map(keys) if one.kind == ViolationKind::Other => Some(keys),
        _ => None,
    };
    let missing: Vec<Path> = found
        .iter()
        .filter(|one| one.kind == ViolationKind::Missing)
        .map(|one| one.path.clone())
        .collect();
    let lacks = |item: &Path, keys: &[String]| {
        let key = |name: &String| missing.contains(&item.key(name.as_str()));
        keys.iter().any(key)
    };
    found.retain(|one| !keys(one).is_some_and(|keys| lacks(&one.path, keys)));
    let same = |one: &Violation, keys: &[String]| {
        let key = |item: &Node| {
            let values = keys.iter().map(|name| item.get(name).map(Node::to_json));
            values.collect::<Vec<_>>()
        };
        let list = Path(above(&one.path).to_vec());
        let items = node
            .lookup(&list)
            .and_then(Node::as_list)
            .unwrap_or_default();
        let own = node.lookup(&one.path).map(key);
        let twins = (0..).zip(items).filter(|(_, item)| Some(key(item)) == own);
        twins
            .map(|(index, _)| list.index(index))
            .collect::<Vec<_>>()
    };
    let twins: Vec<Path> = found
        .iter()
        .filter_map(|one| Some(same(one, keys(one)?)))
        .flatten()
        .collect();
    let is_of_twin = |path: &Path| twins.iter().any(|twin| path.0.starts_with(&twin.0));
    found.retain(|one| one.kind != ViolationKind::Missing || !is_of_twin(&one.path));
    found
}

/// The nearest places that the schema has for the name of an unknown field: at most two, or nobody would be helped.
fn homes(schema: &Schema, violation: &Violation) -> Vec<Path> {
    let (ViolationKind::UnknownField { nearest: None }, Some(name)) =
        (&violation.kind, last_name(&violation.path))
    else {
        return Vec::new();
    };
    let mut places = Vec::new();
    collect(schema, name, &mut Vec::new(), &mut places);
    // At the top, the name of the document is meant.
    let metadata = Path::dotted("metadata").key(name);
    if violation.path.0.len() == 1 && places.contains(&metadata) {
        return vec![metadata];
    }
    if COMMON.contains(&name) && places.len() > 2 {
        return Vec::new();
    }
    let far = |place: &Path| distance(above(&violation.path), above(place));
    let least = places.iter().map(far).min();
    places.retain(|place| Some(far(place)) == least);
    match places.len() {
        1 | 2 => places,
        _ => Vec::new(),
    }
}

fn collect(schema: &Schema, name: &str, at: &mut Vec<Segment>, places: &mut Vec<Path>) {
    if at.len() > MAX_DEPTH {
        return;
    }
    for (field, below) in &schema.properties {
        at.push(Segment::Key(field.clone()));
        if field == name {
            places.push(Path(at.clone()));
        }
        collect(below, name, at, places);
        at.pop();
    }
    if let Some(items) = &schema.items {
        at.push(Segment::Index(0));
        collect(items, name, at, places);
        at.pop();
    }
}

/// How many steps lead from one map up and down to another.
fn distance(from: &[Segment], to: &[Segment]) -> usize {
    let is_key = |step: &&Segment| matches!(step, Segment::Key(_));
    let shared = from.iter().zip(to).take_while(|(a, b)| same_step(a, b));
    let shared = shared.filter(|(step, _)| is_key(step)).count();
    let length = |path: &[Segment]| path.iter().filter(is_key).count();
    length(from) + length(to) - 2 * shared
}

/// Whether two paths are the same but for the items of lists.
fn same_steps(one: &[Segment], other: &[Segment]) -> bool {
    let mut steps = one.iter().zip(other);
    one.len() == other.len() && steps.all(|(one, other)| same_step(one, other))
}

/// Whether fields with these homes belong in the same maps.
fn same_places(one: &[Path], other: &[Path]) -> bool {
    let same = |(one, other): (&Path, &Path)| above(one) == above(other);
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn same_step(one: &Segment, other: &Segment) -> bool {
    one == other || matches!((one, other), (Segment::Index(_), Segment::Index(_)))
}

fn above(path: &Path) -> &[Segment] {
    path.0.split_last().map_or(&[], |(_, above)| above)
}

fn last_name(path: &Path) -> Option<&str> {
    match path.0.last()? {
        Segment::Key(name) => Some(name),
        Segment::Index(_) => None,
    }
}
