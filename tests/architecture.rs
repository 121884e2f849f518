//! The wall between the rooms: which room may name which, and what a pure room may not say.
//!
//! It reads text: comments are cut off and `use` statements joined up to their `;`, so that
//! `use crate::{a, b}` counts for both. It does not see through re-exports.

#![allow(clippy::panic)]

#[path = "architecture/timers.rs"]
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Who may name whom (DESIGN §13). A room that is not here may name everything below it: `daemon`
/// all but `cli` and the simulator, `cli` all.
const ARROWS: &[(&str, &str)] = &[
    ("model", ""),
    ("yaml", "model"),
    ("schema", "model"),
    ("api", "model yaml schema"),
    ("overlay", "model yaml schema api"),
    ("expand", "model api overlay"),
    ("graph", "model api"),
    ("health", "model api"),
    ("rules", "model schema api graph"),
    ("plan", "model schema api graph health rules"),
    ("apply", "model schema api graph health plan"),
    ("status", "model api graph health plan apply"),
    ("reconcile", "model api rules health plan"),
    (
        "compile",
        "model yaml schema api overlay expand graph rules",
    ),
    ("settings", "model yaml api"),
    ("adapters/git", "model"),
    (
        "adapters/kubernetes",
        "model schema api health plan apply status",
    ),
    ("adapters/azure", "model api"),
    ("adapters/checks", "model"),
    ("adapters/http", "model"),
    ("adapters/service_provider", "model api health"),
    ("adapters/sim", "model schema"),
    ("adapters/azure_sim", "model api health rules"),
];

/// What takes values and returns values.
const PURE: &[&str] = &[
    "model",
    "yaml",
    "schema",
    "api",
    "overlay",
    "expand",
    "graph",
    "rules",
    "health",
    "plan",
    "apply",
    "status",
    "reconcile",
    "compile",
];

/// What a pure room may not say.
const EFFECTS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "tokio",
    "kube::Client",
    "git2",
    "::now(",
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(dir)
        .expect("src is readable")
        .map(|e| e.expect("entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Every room's source, comments and inline tests cut off.
fn rooms() -> BTreeMap<String, Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut rooms: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let name = file
            .strip_prefix(&root)
            .expect("below src")
            .to_string_lossy()
            .into_owned();
        let parts: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
        let room = match parts.as_slice() {
            ["adapters", "mod"] => continue,
            parts if parts.contains(&"tests") => continue,
            ["adapters", adapter, ..] => format!("adapters/{adapter}"),
            [room, ..] => (*room).to_owned(),
            [] => continue,
        };
        let text = fs::read_to_string(&file).expect("source is text");
        rooms
            .entry(room)
            .or_default()
            .push((name, production(&text)));
    }
    rooms
}

/// A source without its comments and inline tests. `#[cfg(test)]` takes away the line behind it
/// when that is whole (`mod tests;`), else the rest of the file: tests stand at the end.
fn production(text: &str) -> String {
    let mut parts = text.split("#[cfg(test)]\n");
    let mut code = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
        if !first.ends_with(';') {
            break;
        }
        code.push_str(rest);
    }
    let without_comment = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    code.lines()
        .map(without_comment)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The rooms named after `crate::` in `code`, those in braces included.
fn named(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let statement = rest.split(';').next().unwrap_or_default();
        let firsts: Vec<&str> = match statement.strip_prefix('{') {
            Some(group) => top_level_items(group),
            None => vec![statement],
        };
        for first in firsts {
            let mut parts = first.split("::").map(|part| {
                part.trim()
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap_or_default()
            });
            match parts.next() {
                Some("adapters") => {
                    names.insert(format!("adapters/{}", parts.next().unwrap_or_default()))
                }
                Some(room) => names.insert(room.to_owned()),
                None => false,
            };
        }
    }
    names
}

/// The items of a brace group that stand at its own level.
fn top_level_items(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn allowed(from: &str, to: &str) -> bool {
    if from == to || matches!(from, "main" | "lib" | "cli") {
        return true;
    }
    if from == "daemon" {
        return !["cli", "adapters/sim", "adapters/azure_sim"].contains(&to);
    }
    ARROWS
        .iter()
        .any(|(room, targets)| *room == from && targets.split(' ').any(|target| target == to))
}

#[test]
fn rooms_name_only_the_rooms_they_may() {
    let rooms = rooms();
    let known: BTreeSet<&str> = rooms.keys().map(String::as_str).collect();
    let mut faults = Vec::new();
    for (room, files) in &rooms {
        for (file, code) in files {
            let targets = named(code);
            for target in targets
                .iter()
                .filter(|target| known.contains(target.as_str()))
            {
                if !allowed(room, target) {
                    faults.push(format!("src/{file}: {room} may not name {target}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn arrows_point_one_way() {
    let below = |room: &str| ARROWS.iter().position(|(name, _)| *name == room);
    for (at, (room, targets)) in ARROWS.iter().enumerate() {
        for target in targets.split(' ').filter(|target| !target.is_empty()) {
            let target_at =
                below(target).unwrap_or_else(|| panic!("{room} names an unknown room {target}"));
            assert!(target_at < at, "{room} -> {target} points upward");
        }
    }
}

#[test]
fn pure_rooms_have_no_effects() {
    let mut faults = Vec::new();
    for (room, files) in rooms()
        .iter()
        .filter(|(room, _)| PURE.contains(&room.as_str()))
    {
        for (file, code) in files {
            for effect in EFFECTS.iter().filter(|effect| code.contains(**effect)) {
                faults.push(format!("src/{file}: the pure room {room} says {effect}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_settings_reads_the_environment_and_only_the_ui_prints() {
    let mut faults = Vec::new();
    for (room, files) in &rooms() {
        for (file, code) in files {
            if room != "settings" && code.contains("env::var") {
                faults.push(format!("src/{file}: reads the environment"));
            }
            if file != "cli/ui.rs"
                && ["println!", "print!(", "io::stdout", "io::stderr"]
                    .iter()
                    .any(|p| code.contains(p))
            {
                faults.push(format!("src/{file}: prints"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_room_is_a_drawer() {
    for (room, files) in rooms() {
        for (file, _) in files {
            let drawer = file
                .split(['/', '.'])
                .find(|part| ["util", "utils", "common", "helpers", "misc"].contains(part));
            assert!(drawer.is_none(), "src/{file}: {room} has a drawer");
        }
    }
}

#[test]
fn the_wall_sees_planted_faults() {
    assert!(named("use crate::{model::Span, adapters::{git, sim}};").contains("model"));
    assert!(named("use crate::yaml::read;").contains("yaml"));
    assert!(named("let x = crate::adapters::git::read();").contains("adapters/git"));
    assert!(production("#[cfg(test)]\nmod stage;\nuse crate::yaml;").contains("crate::yaml"));
    assert!(!production("#[cfg(test)]\nmod tests {\n use crate::yaml;\n}").contains("crate::yaml"));
    assert!(!allowed("model", "yaml"));
    assert!(!allowed("adapters/git", "adapters/checks"));
    assert!(!allowed("daemon", "adapters/sim"));
    assert!(!allowed("daemon", "adapters/azure_sim"));
}
