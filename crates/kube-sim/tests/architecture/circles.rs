//! Circles of imports.
//!
//! In: which file imports which. Out: for each file in a circle the shortest one through it, each
//! circle once. It does not know how imports were found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::source::Source;

/// The circles of a crate, as `a.rs -> b.rs -> a.rs`, each from its first file on.
pub(crate) fn circles(source: &Source) -> Vec<String> {
    let imports = source.imports();
    let found = imports.keys().filter_map(|start| shortest(&imports, start));
    let texts: BTreeSet<String> = found.map(|circle| text(&circle)).collect();
    texts.into_iter().collect()
}

/// The shortest way from a file back to it.
fn shortest<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    start: &'a str,
) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(file) = queue.pop_front() {
        for next in imports.get(file).into_iter().flatten().copied() {
            if next == start {
                let mut way = vec![file];
                while let Some(previous) = before.get(way[way.len() - 1]) {
                    way.push(previous);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next) {
                before.insert(next, file);
                queue.push_back(next);
            }
        }
    }
    None
}

/// A circle as text, from its first file on.
fn text(circle: &[&str]) -> String {
    let first = circle.iter().enumerate().min_by_key(|(_, file)| **file);
    let mut files = circle.to_vec();
    files.rotate_left(first.map_or(0, |(at, _)| at));
    files.push(files[0]);
    files.join(" -> ")
}
