//! Types whose methods stand in many files.
//!
//! In: the source of `src`, comments and tests cut off. Out: types with the files that have an inherent `impl` of them, if
//! these are more than two. Where everything edits one struct, nobody can say what it may be.

use std::collections::{BTreeMap, BTreeSet};

/// More files than these are too many.
const MOST: usize = 2;

/// Types that were spread when this was first counted. The list may only shrink: a type that is gathered again leaves it.
const SPREAD: &[&str] = &[
    "adapters/checks::AzureDevOps",
    "adapters/git::Mirror",
    "adapters/kubernetes::Runtime",
    "apply::Engine",
    "graph::Graph",
    "overlay::Entry",
    "overlay::Overlays",
    "plan::Changes",
    "rules::Judge",
    "status::StatusGraph",
];

/// The faults in a source, given as module, file and code.
pub(super) fn faults<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<String> {
    let found = spread(sources);
    let known: BTreeSet<&str> = SPREAD.iter().copied().collect();
    let new = found
        .iter()
        .filter(|(name, _)| !known.contains(name.as_str()));
    let new = new.map(|(name, files)| {
        let files: Vec<&str> = files.iter().copied().collect();
        format!(
            "{name} has methods in {}: {}",
            files.len(),
            files.join(", ")
        )
    });
    let gone = known.iter().filter(|name| !found.contains_key(**name));
    let gone = gone.map(|name| format!("{name} is no longer spread: take it off the list"));
    new.chain(gone).collect()
}

/// Every type that is spread over too many files, as `module::Type`.
fn spread<'a>(
    sources: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> BTreeMap<String, BTreeSet<&'a str>> {
    let mut types: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (module, file, code) in sources {
        for name in code.lines().filter_map(implemented) {
            let name = format!("{module}::{name}");
            types.entry(name).or_default().insert(file);
        }
    }
    types.retain(|_, files| files.len() > MOST);
    types
}

/// The type of an inherent `impl` that begins in this line.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(parameters) => parameters.get(after_brackets(parameters)?..)?,
        None => rest,
    };
    let rest = rest.strip_prefix(' ')?;
    if rest.contains(" for ") {
        return None;
    }
    let path = rest.split(['<', ' ']).next()?;
    path.rsplit("::").next()
}

/// The place behind the bracket that ends the parameters whose opening bracket is cut off.
fn after_brackets(parameters: &str) -> Option<usize> {
    let mut depth = 1;
    parameters.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    })
}

#[test]
fn spread_types_are_found() {
    let sources = [
        ("a", "a/one.rs", "impl Desk {"),
        (
            "a",
            "a/two.rs",
            "impl<'a> super::Desk<'a> {\nimpl Clone for Desk {",
        ),
        ("a", "a/three.rs", "impl<T: Into<U>> Desk<T> {"),
        ("a", "a/four.rs", "impl Display for Desk {\nimpl Chair {"),
        ("b", "b/mod.rs", "impl Desk {"),
    ];
    let found = spread(sources.into_iter());
    let files: Vec<&str> = found["a::Desk"].iter().copied().collect();
    assert_eq!(files, ["a/one.rs", "a/three.rs", "a/two.rs"]);
    assert_eq!(found.len(), 1);
}
