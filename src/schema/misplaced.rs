//! Known fields in the wrong place, and other violations that one mistake causes together.
//!
//! In: a schema and its violations. Out: the violations that are reported, with where misplaced fields belong. It
//! does not know how they are reported.

use std::collections::{HashMap, HashSet};

use kube_schema::{ListKind, Path, Schema, Segment, Violation, ViolationKind};

use crate::model::{Node, Position, work};

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
    // Fields of one map with homes in the same maps are reported together.
    let mut together: HashMap<(Vec<Segment>, Vec<Vec<Segment>>), usize> = HashMap::new();
    for violation in unique {
        let homes = homes(schema, &violation);
        let own = last_name(&violation.path).unwrap_or_default().to_owned();
        if !homes.is_empty() {
            let maps = homes.iter().map(|home| above(home).to_vec());
            let key = (above(&violation.path).to_vec(), maps.collect());
            let at = *together.entry(key).or_insert(reported.len());
            if let Some(other) = reported.get_mut(at) {
                other.names.push(own);
                continue;
            }
        }
        reported.push(Reported {
            violation,
            homes,
            names: vec![own],
            is_missed: false,
        });
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
    // By each place that a misplaced field would fill, and each map around it.
    let mut missed: HashMap<Vec<Segment>, Path> = HashMap::new();
    for one in reported.iter().filter(|one| !one.homes.is_empty()) {
        for (name, home) in one
            .names
            .iter()
            .flat_map(|name| one.homes.iter().map(move |home| (name, home)))
        {
            let place = Path(above(home).to_vec()).key(name.as_str());
            let steps = of_any_item(&place.0);
            for depth in 0..=steps.len() {
                let cause = missed.entry(steps[..depth].to_vec());
                cause.or_insert_with(|| one.violation.path.clone());
            }
        }
    }
    let mut found: HashSet<Path> = HashSet::new();
    reported.retain(|one| {
        let is_missing = one.violation.kind == ViolationKind::Missing;
        let steps = || of_any_item(&one.violation.path.0);
        let cause = is_missing.then(|| missed.get(&steps())).flatten();
        found.extend(cause.cloned());
        cause.is_none()
    });
    for one in &mut reported {
        one.is_missed = found.contains(&one.violation.path);
    }
    reported
}

/// A path with the first item for each item of a list.
fn of_any_item(path: &[Segment]) -> Vec<Segment> {
    let steps = path.iter().map(|step| match step {
        Segment::Index(_) => Segment::Index(0),
        key @ Segment::Key(_) => key.clone(),
    });
    steps.collect()
}

/// The violations without those of items that are reported as duplicates, and of the items that they repeat. Items
/// without a key are no duplicates.
fn without_twins(schema: &Schema, node: &Node, mut found: Vec<Violation>) -> Vec<Violation> {
    let keys = |one: &Violation| match &schema.at(&Path(above(&one.path).to_vec()))?.list {
        ListKind::Map(keys) if one.kind == ViolationKind::Other => Some(keys),
        _ => None,
    };
    let missing: HashSet<Path> = found
        .iter()
        .filter(|one| one.kind == ViolationKind::Missing)
        .map(|one| one.path.clone())
        .collect();
    let lacks = |item: &Path, keys: &[String]| {
        let key = |name: &String| missing.contains(&item.key(name.as_str()));
        keys.iter().any(key)
    };
    found.retain(|one| !keys(one).is_some_and(|keys| lacks(&one.path, keys)));
    // The lists with items that repeat others, and the keys of these.
    let mut repeated: HashMap<Path, (&[String], HashSet<String>)> = HashMap::new();
    for one in &found {
        if let (Some(keys), Some(item)) = (keys(one), node.lookup(&one.path)) {
            let list = repeated.entry(Path(above(&one.path).to_vec()));
            let (_, known) = list.or_insert((keys, HashSet::new()));
            known.insert(key_of(item, keys));
        }
    }
    let twins = repeated.iter().flat_map(|(list, (keys, known))| {
        let items = node
            .lookup(list)
            .and_then(Node::as_list)
            .unwrap_or_default();
        let items = items.iter().enumerate();
        let twins = items.filter(|(_, item)| known.contains(&key_of(item, keys)));
        twins.map(|(index, _)| list.index(index))
    });
    let twins: HashSet<Path> = twins.collect();
    found.retain(|one| one.kind != ViolationKind::Missing || !is_within(&one.path, &twins));
    found
}

/// Returns true if `path` or a part of it that it begins with is one of `paths`.
pub(super) fn is_within(path: &Path, paths: &HashSet<Path>) -> bool {
    let mut start = path.clone();
    loop {
        if paths.contains(&start) {
            return true;
        }
        if start.0.pop().is_none() {
            return false;
        }
    }
}

/// The values by which a list tells its items apart, as one text.
fn key_of(item: &Node, keys: &[String]) -> String {
    work::step();
    let values = keys.iter().map(|name| item.get(name).map(Node::to_json));
    let values = values.map(|value| value.map_or_else(|| "-".to_owned(), |one| one.to_string()));
    values.collect::<Vec<_>>().join("\n")
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
