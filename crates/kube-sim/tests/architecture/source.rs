//! The files of a crate, and which of them each one imports.
//!
//! In: Rust files. Out: for each file the files that it names. It reads tokens and does not know types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What a path within a crate starts with.
const PLACES: [&str; 3] = ["crate", "self", "super"];

/// A module of a crate, as the names that lead to it.
type Module = Vec<String>;

/// What a file holds that matters here.
struct File {
    name: String,
    /// Each path that the file mentions, from the first name on.
    paths: Vec<Vec<String>>,
    /// What a name brought in by a `use` refers to.
    imported: BTreeMap<String, Vec<String>>,
}

/// The files of a crate by module.
pub(crate) struct Source {
    files: BTreeMap<Module, File>,
}

impl Source {
    /// Reads the files below `root`, without tests.
    pub(crate) fn read(root: &Path) -> Self {
        let mut texts = Vec::new();
        collect(root, root, &mut texts);
        Self::of(
            texts
                .iter()
                .map(|(name, text)| (name.as_str(), text.as_str())),
        )
    }

    /// The crate of these files.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let files = texts.map(|(name, text)| (module(name), file(name, text)));
        Self {
            files: files.collect(),
        }
    }

    /// For each file the files that it imports.
    pub(crate) fn imports(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut imports = BTreeMap::new();
        for (module, file) in &self.files {
            let named = file.paths.iter().chain(file.imported.values());
            let targets = named.filter_map(|path| self.target(module, path, 0));
            let others = targets.filter(|target| *target != file.name);
            imports.insert(file.name.as_str(), others.collect());
        }
        imports
    }

    /// The file that defines what `path` names within `module`; none when it is of another crate.
    fn target(&self, module: &[String], path: &[String], depth: usize) -> Option<&str> {
        let (first, mut rest) = path.split_first()?;
        let mut place = module.to_vec();
        match first.as_str() {
            "crate" => place.clear(),
            "self" => {}
            "super" => {
                place.pop();
            }
            _ => {
                place.push(first.clone());
                self.files.get(&place)?;
            }
        }
        while let Some((next, after)) = rest.split_first() {
            if next == "super" {
                place.pop();
                rest = after;
                continue;
            }
            let mut child = place.clone();
            child.push(next.clone());
            if !self.files.contains_key(&child) {
                break;
            }
            (place, rest) = (child, after);
        }
        let file = self.files.get(&place)?;
        // A file that only passes a name on does not count.
        let elsewhere = rest.first().and_then(|name| file.imported.get(name));
        elsewhere
            .filter(|_| depth < 8)
            .and_then(|path| self.target(&place, path, depth + 1))
            .or(Some(&file.name))
    }
}

fn collect(root: &Path, folder: &Path, into: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap();
        if name.ends_with("tests") || name.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, into);
        } else if name.ends_with(".rs") {
            into.push((name.to_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The module that a file is: `lib.rs` none, `a/mod.rs` `a`, `a/b.rs` `a::b`.
fn module(name: &str) -> Module {
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let stem = stem.strip_suffix("mod").unwrap_or(stem);
    let names = stem.split('/').filter(|part| !matches!(*part, "" | "lib"));
    names.map(ToOwned::to_owned).collect()
}

fn file(name: &str, text: &str) -> File {
    let tokens = without_tests(&tokens(text));
    let mut file = File {
        name: name.to_owned(),
        paths: Vec::new(),
        imported: BTreeMap::new(),
    };
    let mut rest = &tokens[..];
    while let Some((token, after)) = rest.split_first() {
        rest = match token.as_str() {
            "use" => tree(after, &[], &mut file),
            // `pub(in super::super)` limits the visibility of an item; it is not a dependency.
            "in" if after
                .first()
                .is_some_and(|next| PLACES.contains(&next.as_str())) =>
            {
                let end = after.iter().position(|token| token == ")");
                &after[end.unwrap_or_default()..]
            }
            token if is_name(token) => path(rest, &mut file),
            _ => after,
        };
    }
    file
}

/// Reads a path in an expression or a type.
fn path<'a>(tokens: &'a [String], file: &mut File) -> &'a [String] {
    let mut names = vec![tokens[0].clone()];
    let mut rest = &tokens[1..];
    while let [colons, name, after @ ..] = rest
        && colons == "::"
        && is_name(name)
    {
        names.push(name.clone());
        rest = after;
    }
    if names.len() > 1 {
        file.paths.push(names);
    }
    rest
}

/// Reads a tree of imports below `prefix`, up to the `,`, `;` or `}` that ends it.
fn tree<'a>(tokens: &'a [String], prefix: &[String], file: &mut File) -> &'a [String] {
    let mut names = prefix.to_vec();
    let mut rest = tokens;
    let mut alias = None;
    while let Some((token, after)) = rest.split_first() {
        match token.as_str() {
            "," | ";" | "}" => break,
            "{" => {
                rest = after;
                while let Some((token, after)) = rest.split_first() {
                    rest = match token.as_str() {
                        "}" => return after,
                        "," => after,
                        _ => tree(rest, &names, file),
                    };
                }
                return rest;
            }
            "as" => {
                alias = after.first().cloned();
                rest = after.get(1..).unwrap_or_default();
                continue;
            }
            "self" if !names.is_empty() => {}
            name if is_name(name) => names.push(name.to_owned()),
            "*" => {
                file.paths.push(names.clone());
                return after;
            }
            _ => {}
        }
        rest = after;
    }
    if let Some(name) = alias.or_else(|| names.last().cloned()) {
        file.imported.insert(name, names);
    }
    rest
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::` and single signs; no comments, no texts.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = literal(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
            let end = end.unwrap_or(rest.len());
            tokens.extend(rest.get(..end).map(str::to_owned));
            end
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                tokens.extend(rest.get(..length).map(str::to_owned));
            }
            length
        };
        rest = rest.get(length..).expect("a whole token");
    }
    tokens
}

/// The length of the text or character that `rest` starts with; none for a lifetime.
fn literal(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest);
    let prefix = rest.len() - start.len();
    if let Some(raw) = start.strip_prefix('r') {
        let from = raw.trim_start_matches('#');
        let signs = raw.len() - from.len();
        let body = from.strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(signs));
        let length = body.find(&end).map_or(body.len(), |at| at + end.len());
        return Some(rest.len() - body.len() + length);
    }
    let quote = start.chars().next()?;
    let is_character =
        quote == '\'' && (start.starts_with("'\\") || start.chars().nth(2) == Some(quote));
    if quote != '"' && !is_character {
        return None;
    }
    let mut signs = start.char_indices().skip(1);
    while let Some((at, sign)) = signs.next() {
        match sign {
            '\\' => drop(signs.next()),
            sign if sign == quote => return Some(prefix + at + 1),
            _ => {}
        }
    }
    None
}

/// The tokens without items under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        let end = (at + MARK.len()).min(tokens.len());
        if tokens[at..end] != MARK {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        at = end;
        while at < tokens.len() {
            match tokens[at].as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 && matches!(tokens[at - 1].as_str(), "}" | ";") {
                break;
            }
        }
    }
    kept
}
