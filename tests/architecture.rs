//! The dependency rules: which module may name which, what a pure module may not contain, that no files
//! of one module use each other in a circle, and that no type is spread over many files.
//!
//! It reads text: comments are cut off and `use` statements joined up to their `;`, so that
//! `use crate::{a, b}` counts for both. It does not see through re-exports.

#![allow(clippy::panic)]

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/logs.rs"]
mod logs;
#[path = "architecture/paths.rs"]
mod paths;
#[path = "architecture/spread.rs"]
mod spread;
#[path = "architecture/timers.rs"]
mod timers;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use circles::Files;

/// Who may name whom. A module that is not here may name everything below it: `daemon`
/// all but `cli` and the simulator, `cli` all.
const ARROWS: &[(&str, &str)] = &[
    ("kube_schema", ""),
    ("kube_sim", "kube_schema"),
    ("model", "kube_schema"),
    ("yaml", "model"),
    ("schema", "model kube_schema"),
    ("api", "model yaml schema kube_schema"),
    ("overlay", "model yaml schema api"),
    ("expand", "model api overlay"),
    ("graph", "model api"),
    ("health", "model api"),
    ("rules", "model schema kube_schema api graph"),
    ("plan", "model schema kube_schema api graph health rules"),
    ("admission", "model api rules plan"),
    ("install", "model api"),
    ("apply", "model kube_schema api graph health plan"),
    ("status", "model api graph health plan apply"),
    ("reconcile", "model api rules health"),
    (
        "compile",
        "model yaml schema kube_schema api overlay expand graph rules",
    ),
    ("reporting", "model api graph plan apply compile"),
    ("follow", "model graph plan apply compile reporting"),
    ("settings", "model yaml api"),
    ("adapters/admission", "model api admission"),
    ("adapters/git", "model"),
    (
        "adapters/kubernetes",
        "model kube_schema api health plan apply status reconcile",
    ),
    ("adapters/azure", "model api"),
    ("adapters/checks", "model"),
    ("adapters/http", "model"),
    ("provider", "model yaml schema api health"),
    ("adapters/service_provider", "model provider"),
    (
        "adapters/azure_sim",
        "model api health rules reconcile kube_sim",
    ),
];

/// The libraries of the workspace.
const CRATES: [&str; 2] = ["kube_schema", "kube_sim"];
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
    "admission",
    "install",
    "apply",
    "status",
    "reconcile",
    "reporting",
    "follow",
    "compile",
    "provider",
];

/// What a pure module may not contain.
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

/// Every module's source, comments and inline tests cut off.
fn modules() -> BTreeMap<String, Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut modules: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let name = file
            .strip_prefix(&root)
            .expect("below src")
            .to_string_lossy()
            .into_owned();
        let parts: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
        let module = match parts.as_slice() {
            ["adapters", "mod"] => continue,
            parts if parts.contains(&"tests") => continue,
            ["adapters", adapter, ..] => format!("adapters/{adapter}"),
            [module, ..] => (*module).to_owned(),
            [] => continue,
        };
        let text = fs::read_to_string(&file).expect("source is text");
        modules
            .entry(module)
            .or_default()
            .push((name, production(&text)));
    }
    modules
}

/// A source without its comments and inline tests. `#[cfg(test)]` takes away the line behind it
/// when that is whole (`mod tests;`), else the rest of the file: tests are at the end.
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

/// The modules named after `crate::` in `code`, those in braces included.
fn named(code: &str) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = CRATES
        .iter()
        .filter(|name| code.contains(&format!("{name}::")))
        .map(|name| (*name).to_owned())
        .collect();
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
                Some(module) => names.insert(module.to_owned()),
                None => false,
            };
        }
    }
    names
}

/// What comes before something that was found, and after it.
fn beside<'a>(code: &'a str, (at, found): (usize, &str)) -> (&'a str, &'a str) {
    let (before, from) = code.split_at_checked(at).expect("it was found");
    (before, from.strip_prefix(found).expect("it was found"))
}

/// The items at the top level of a brace group.
fn top_level_items(group: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.extend(group.get(start..at));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.extend(group.get(start..at));
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
        return !["cli", "kube_sim", "adapters/azure_sim"].contains(&to);
    }
    ARROWS
        .iter()
        .any(|(module, targets)| *module == from && targets.split(' ').any(|target| target == to))
}

#[test]
fn modules_name_only_the_modules_they_may() {
    let modules = modules();
    let known: BTreeSet<&str> = modules.keys().map(String::as_str).collect();
    let mut faults = Vec::new();
    for (module, files) in &modules {
        for (file, code) in files {
            let targets = named(code);
            for target in targets.iter().filter(|target| {
                known.contains(target.as_str()) || CRATES.contains(&target.as_str())
            }) {
                if !allowed(module, target) {
                    faults.push(format!("src/{file}: {module} may not name {target}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// An arrow that is left behind by a module says nothing, and the next module of its name would inherit it.
#[test]
fn arrows_are_of_modules_that_exist() {
    let modules = modules();
    let missing: Vec<&str> = ARROWS
        .iter()
        .flat_map(|(module, targets)| [*module].into_iter().chain(targets.split(' ')))
        .chain(PURE.iter().copied())
        .filter(|name| !name.is_empty() && !CRATES.contains(name))
        .filter(|name| !modules.contains_key(*name))
        .collect();
    assert!(missing.is_empty(), "there is no module {missing:?}");
}

#[test]
fn no_type_has_its_methods_in_many_files() {
    let modules = modules();
    let sources = modules.iter().flat_map(|(module, files)| {
        let sources = files.iter();
        sources.map(|(file, code)| (module.as_str(), file.as_str(), code.as_str()))
    });
    let faults = spread::faults(sources);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn literal_paths_lead_to_fields() {
    let modules = modules();
    let sources: Vec<(&str, &str)> = modules
        .values()
        .flatten()
        .map(|(file, code)| (file.as_str(), code.as_str()))
        .collect();
    let faults = paths::faults(&sources);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let counted = paths::counted(&sources);
    assert!(
        counted["literals"] > 250 && counted["expand"] > 50,
        "{counted:?}"
    );
}

/// The map of docs/architecture.md has a line for every module, and for no other.
#[test]
fn the_map_has_every_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(root.join(path)).expect("it is text");
    let declared = |text: &str| {
        let items = text
            .lines()
            .map(|line| line.trim_start_matches("pub(crate) "));
        let items = items.filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
        let names = items.map(|name| name.trim_end_matches(';').to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let mut expected = declared(&read("src/lib.rs"));
    expected.extend(declared(&read("src/adapters/mod.rs")));
    let docs = read("docs/architecture.md");
    let map = docs.split("## The modules").nth(1).expect("a map");
    let map = map.split("```").nth(1).expect("a map");
    let names = map.lines().filter_map(|line| {
        let entry = line.trim_start_matches([' ', '│', '├', '└', '─']);
        let name = entry.split(' ').next()?;
        name.starts_with(char::is_lowercase)
            .then(|| name.to_owned())
    });
    // The first line is the language of the block.
    let found: BTreeSet<String> = names.filter(|name| name.trim() != "text").collect();
    assert_eq!(found, expected);
}

#[test]
fn arrows_point_one_way() {
    let below = |module: &str| ARROWS.iter().position(|(name, _)| *name == module);
    for (at, (module, targets)) in ARROWS.iter().enumerate() {
        for target in targets.split(' ').filter(|target| !target.is_empty()) {
            let target_at = below(target)
                .unwrap_or_else(|| panic!("{module} names an unknown module {target}"));
            assert!(target_at < at, "{module} -> {target} points upward");
        }
    }
}

#[test]
fn pure_modules_have_no_effects() {
    let mut faults = Vec::new();
    for (module, files) in modules()
        .iter()
        .filter(|(module, _)| PURE.contains(&module.as_str()))
    {
        for (file, code) in files {
            for effect in EFFECTS.iter().filter(|effect| code.contains(**effect)) {
                faults.push(format!(
                    "src/{file}: the pure module {module} contains {effect}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The fuzzer compiles the pure modules in a package of its own, last in the gate: a crate that is missing there
/// would be found half an hour too late.
#[test]
fn the_fuzzer_has_every_crate_that_the_pure_modules_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path| fs::read_to_string(root.join(path)).expect("it is text");
    let modules = modules();
    let fuzzer = read("tests/fuzz/src/lib.rs");
    let compiled = fuzzer.lines().filter_map(|line| {
        let module = line.strip_prefix("pub mod ")?.trim_end_matches(';');
        modules.get(module)
    });
    let code: String = compiled.flatten().map(|(_, code)| code.as_str()).collect();
    let named = |name: &String| {
        let path = format!("{}::", name.replace('-', "_"));
        let before = |found| beside(code.as_str(), found).0.chars().next_back();
        let is_whole = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':');
        code.match_indices(&path)
            .any(|found| before(found).is_none_or(is_whole))
    };
    let there = dependencies(&read("tests/fuzz/Cargo.toml"));
    let needed: BTreeSet<String> = dependencies(&read("Cargo.toml"))
        .into_iter()
        .filter(named)
        .collect();
    assert!(needed.contains("regex"), "{needed:?}");
    let missing: Vec<&String> = needed.difference(&there).collect();
    assert!(
        missing.is_empty(),
        "add to tests/fuzz/Cargo.toml: {missing:?}"
    );
}

/// The names below `[dependencies]` in the text of a `Cargo.toml`.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split_once(" = "));
    names.map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn only_settings_reads_the_environment_and_only_the_ui_prints() {
    let mut faults = Vec::new();
    for (module, files) in &modules() {
        for (file, code) in files {
            if module != "settings" && code.contains("env::var") {
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
fn log_lines_have_no_debug_form() {
    let modules = modules();
    let sources = modules.values().flatten();
    let faults = logs::faults(sources.map(|(file, code)| (file.as_str(), code.as_str())));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rules_are_looked_for_by_constants() {
    let is_id = |text: &str| {
        let mut letters = text.chars();
        letters.next().is_some_and(|c| c.is_ascii_uppercase())
            && letters
                .by_ref()
                .take(2)
                .filter(char::is_ascii_digit)
                .count()
                == 2
            && letters.next() == Some('"')
    };
    let mut faults = Vec::new();
    for (file, code) in modules().values().flatten() {
        for compared in ["== \"", "!= \"", "contains(&\""] {
            let mut found = code.match_indices(compared);
            if found.any(|found| is_id(beside(code, found).1)) {
                faults.push(format!("src/{file}: compares with the id of a rule"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The table of reasons declares a constant with each row, so that a reason by a constant is documented.
#[test]
fn controllers_give_reasons_by_constants() {
    let calls = ["::yes(", "::no(", "::unknown(", "::either("];
    let is_literal = |code: &str| code.trim_start().starts_with('"');
    let mut faults = Vec::new();
    for (file, code) in &modules()["reconcile"] {
        for call in calls.map(|call| format!("NewCondition{call}")) {
            let mut found = code.match_indices(&call);
            if found.any(|found| is_literal(beside(code, found).1)) {
                faults.push(format!("src/{file}: {call} with a literal"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let declared = ["src/api/conditions/mod.rs", "src/api/conditions/keys.rs"];
    for file in declared {
        let text = fs::read_to_string(file).expect("it is readable");
        assert!(
            !text.contains("/// Reason"),
            "{file} has a reason without a row"
        );
    }
}

#[test]
fn no_module_is_a_catch_all() {
    for (module, files) in modules() {
        for (file, _) in files {
            let catch_all = file
                .split(['/', '.'])
                .find(|part| ["util", "utils", "common", "helpers", "misc"].contains(part));
            assert!(catch_all.is_none(), "src/{file}: {module} has a catch-all");
        }
    }
}

#[test]
fn files_of_one_module_use_each_other_in_no_circle() {
    let modules = modules();
    let sources = modules.values().flatten();
    let files = Files::read(sources.map(|(name, code)| (name.as_str(), code.as_str())));
    let uses = files.uses();
    let circles = circles::circles(&uses);
    let describe = |circle: &BTreeSet<String>| circles::describe(&uses, circle);
    let faults: Vec<String> = circles.iter().map(describe).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_dependency_rules_find_planted_faults() {
    assert!(named("use crate::{model::Span, adapters::{git, azure_sim}};").contains("model"));
    assert!(named("use crate::yaml::read;").contains("yaml"));
    assert!(named("let x = crate::adapters::git::read();").contains("adapters/git"));
    assert!(production("#[cfg(test)]\nmod stage;\nuse crate::yaml;").contains("crate::yaml"));
    assert!(!production("#[cfg(test)]\nmod tests {\n use crate::yaml;\n}").contains("crate::yaml"));
    assert!(!allowed("model", "yaml"));
    assert!(!allowed("adapters/git", "adapters/checks"));
    assert!(!allowed("daemon", "kube_sim"));
    assert!(!allowed("daemon", "adapters/azure_sim"));
    assert!(named("use kube_sim::Server;").contains("kube_sim"));
}

#[test]
fn circles_are_found_behind_re_exports() {
    let circle = |files: &[(&str, &str)]| {
        let uses = Files::read(files.iter().copied()).uses();
        let circles = circles::circles(&uses);
        circles.into_iter().flatten().collect::<Vec<_>>()
    };
    let a = "use super::b::Two;\npub struct One(Two);";
    let b = "pub struct Two;\nfn one() -> crate::x::One {}";
    let door = "mod a;\nmod b;\npub use a::One;";
    let files = [("x/mod.rs", door), ("x/a.rs", a), ("x/b.rs", b)];
    assert_eq!(circle(&files), ["x/a.rs", "x/b.rs"]);
    let files = [
        ("x/mod.rs", door),
        ("x/a.rs", "pub struct One;"),
        ("x/b.rs", b),
    ];
    assert_eq!(circle(&files), [""; 0], "a re-export alone uses nothing");
    let front = "mod a;\nfn f() { a::g() }\nstruct S;";
    let files = [
        ("x/mod.rs", front),
        ("x/a.rs", "use super::{self as x, S};"),
    ];
    assert_eq!(
        circle(&files),
        ["x/a.rs", "x/mod.rs"],
        "a module has items of its own"
    );
}
