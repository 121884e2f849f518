//! Which file of a module uses which other, and whether they use each other in a circle.
//!
//! In: the source of `src`, comments and tests cut off. Out: groups of files that cannot be read
//! one after the other, each with the imports that close it.
//!
//! A file uses another when a path in it leads to an item that the other defines. Paths are followed
//! as the compiler follows them: `super::`, `self::` and `crate::`, submodules, what the file imports,
//! and re-exports, so that an import through `mod.rs` counts for the file behind it. A `pub use` alone
//! uses nothing: it is a sign at the door. It does not see methods: an `impl` block in one file uses
//! the file of its type, and callers of its methods use only the type.

use std::collections::{BTreeMap, BTreeSet};

/// Where a module is, from the root of the crate.
type ModulePath = Vec<String>;

/// One file: a module, its code and what it imports.
struct File {
    name: String,
    /// What `use` brings in.
    imports: Vec<Import>,
    /// Other paths, each with all its parts.
    paths: Vec<Vec<String>>,
    /// Every word outside of `use`.
    words: BTreeSet<String>,
}

struct Import {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

/// All files by the modules that they are.
pub(super) struct Files {
    files: BTreeMap<ModulePath, File>,
    /// Every module, those without a file of their own included.
    modules: BTreeSet<ModulePath>,
}

/// Per file: the files of the same module that it uses, and which items of them.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

impl Files {
    /// Reads the pairs of name below `src` and code.
    pub(super) fn read<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let files: BTreeMap<_, _> = sources
            .map(|(name, code)| (module_path(name), File::read(name, code)))
            .collect();
        let whole = files.keys().map(Vec::as_slice);
        let modules = whole.flat_map(|path| (0..=path.len()).map(|end| path[..end].to_vec()));
        Self {
            modules: modules.collect(),
            files,
        }
    }

    /// Which file uses which.
    pub(super) fn uses(&self) -> Uses {
        let mut edges = Uses::new();
        for (module, file) in &self.files {
            let used = edges.entry(file.name.clone()).or_default();
            let imported = file
                .imports
                .iter()
                .filter(|import| !import.is_public || file.words.contains(&import.name))
                .map(|import| &import.path);
            for path in imported.chain(&file.paths) {
                let Some((target, item)) = self.resolve(module, path, 0) else {
                    continue;
                };
                if target != *module && top(&target) == top(module) {
                    let target = self.files[&target].name.clone();
                    used.entry(target).or_default().insert(item);
                }
            }
        }
        edges
    }

    /// The module that defines what `path` in `from` names, and the item's name; `None` for modules
    /// themselves and for what other crates define.
    fn resolve(&self, from: &[String], path: &[String], depth: u8) -> Option<(ModulePath, String)> {
        if depth > 8 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let mut at: ModulePath = match first.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from.split_last()?.1.to_vec(),
            name => match self.child(from, name) {
                Some(child) => child,
                None => {
                    let import = self.import(from, name)?;
                    let whole: Vec<String> = import.path.iter().chain(rest).cloned().collect();
                    return self.resolve(from, &whole, depth + 1);
                }
            },
        };
        for (index, part) in rest.iter().enumerate() {
            if part == "super" {
                at.pop();
            } else if let Some(child) = self.child(&at, part) {
                at = child;
            } else if let Some(import) = self.import(&at, part) {
                let rest = &rest[index + 1..];
                let whole: Vec<String> = import.path.iter().chain(rest).cloned().collect();
                return self.resolve(&at, &whole, depth + 1);
            } else if self.files.contains_key(&at) {
                return Some((at, part.clone()));
            } else {
                return None;
            }
        }
        None
    }

    fn child(&self, module: &[String], name: &str) -> Option<ModulePath> {
        let mut path = module.to_vec();
        path.push(name.to_owned());
        self.modules.contains(&path).then_some(path)
    }

    fn import(&self, module: &[String], name: &str) -> Option<&Import> {
        let imports = &self.files.get(module)?.imports;
        imports.iter().find(|import| import.name == name)
    }
}

/// The groups of files of one module that use each other in a circle.
pub(super) fn circles(edges: &Uses) -> Vec<BTreeSet<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> = edges
        .keys()
        .map(|file| (file, reachable(edges, file)))
        .collect();
    let mutual = |file: &String| -> BTreeSet<String> {
        let others = reach[file].iter();
        let back = others.filter(|other| reach.get(*other).is_some_and(|r| r.contains(file)));
        back.map(|other| (*other).clone()).collect()
    };
    let groups: BTreeSet<_> = edges.keys().map(mutual).collect();
    groups.into_iter().filter(|group| group.len() > 1).collect()
}

/// The imports between the files of a group, one a line.
pub(super) fn describe(edges: &Uses, group: &BTreeSet<String>) -> String {
    let mut lines = Vec::new();
    for file in group {
        for (target, items) in edges[file].iter().filter(|(to, _)| group.contains(*to)) {
            let items: Vec<_> = items.iter().map(String::as_str).collect();
            lines.push(format!(
                "  src/{file} uses {} of src/{target}",
                items.join(", ")
            ));
        }
    }
    lines.join("\n")
}

impl File {
    fn read(name: &str, code: &str) -> Self {
        let (mut imports, mut rest) = (Vec::new(), String::new());
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            let Some((is_public, tree)) = use_of(line) else {
                rest.push_str(line);
                rest.push('\n');
                continue;
            };
            let mut tree = tree.to_owned();
            while !tree.contains(';') {
                tree.push_str(lines.next().unwrap_or(";").trim());
            }
            let tree = tree.split(';').next().unwrap_or_default();
            leaves(tree, &[], &mut |path, name| {
                imports.push(Import {
                    path,
                    name,
                    is_public,
                });
            });
        }
        let rest: String = rest
            .lines()
            .filter(|line| !(line.contains("mod ") && line.trim_end().ends_with(';')))
            .map(|line| format!("{line}\n"))
            .collect();
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let words = rest.split(|c| !word(c)).map(str::to_owned).collect();
        let paths = rest
            .split(|c| !word(c) && c != ':')
            .map(|path| path.trim_matches(':'))
            .filter(|path| path.contains("::"))
            .map(|path| path.split("::").map(str::to_owned).collect())
            .collect();
        Self {
            name: name.to_owned(),
            imports,
            paths,
            words,
        }
    }
}

/// The tree of a `use` that begins on this line, and whether it is a re-export.
fn use_of(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    let (visibility, tree) = match line.strip_prefix("use ") {
        Some(tree) => ("", tree),
        None => line.split_once(" use ")?,
    };
    let is_public = visibility.starts_with("pub");
    (visibility.is_empty() || is_public).then_some((is_public, tree))
}

/// Calls `found` with the path and the name of every leaf of a `use` tree.
fn leaves(tree: &str, before: &[String], found: &mut impl FnMut(Vec<String>, String)) {
    let tree = tree.trim();
    let mut path = before.to_vec();
    if let Some((prefix, group)) = tree.split_once('{') {
        path.extend(parts(prefix));
        super::top_level_items(group)
            .into_iter()
            .for_each(|item| leaves(item, &path, found));
        return;
    }
    let (whole, name) = tree.split_once(" as ").unwrap_or((tree, ""));
    path.extend(parts(whole).filter(|part| before.is_empty() || part != "self"));
    let last = path.last().cloned().unwrap_or_default();
    let name = if name.is_empty() {
        last
    } else {
        name.trim().to_owned()
    };
    found(path, name);
}

fn parts(path: &str) -> impl Iterator<Item = String> {
    path.split("::")
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
}

fn module_path(name: &str) -> ModulePath {
    let mut parts: Vec<String> = name
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

fn top(module: &[String]) -> &[String] {
    let depth = match module.first().map(String::as_str) {
        Some("adapters") => 2,
        _ => 1,
    };
    &module[..module.len().min(depth)]
}

fn reachable<'a>(edges: &'a Uses, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        for target in edges.get(file).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(target) {
                open.push(target);
            }
        }
    }
    seen
}
