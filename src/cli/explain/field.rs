//! A field as people write it: `spec.nodePools[0].version`, `spec.nodePools[mp1]`,
//! `metadata.annotations[x.y/z]`, or a JSON pointer.
//!
//! In: the words and the object. Out: the path, or what is wrong with it and the most similar name.

use crate::model::cut::until;
use crate::model::{Node, Path, Segment, Value};
use kube_schema::nearest;

/// How many names of fields are shown.
const SHOWN: usize = 12;

/// The path that `text` means in `root`. A key that holds dots may be written as it is.
///
/// # Errors
/// When there is no such field.
pub(super) fn resolve(root: &Node, text: &str) -> anyhow::Result<Path> {
    let step = match text.starts_with('/') {
        true => token,
        false => part,
    };
    let (mut node, mut path, mut rest) = (root, Path::default(), text);
    while !rest.is_empty() {
        let (word, found, after) = step(node, rest);
        let Some((segment, child)) = found else {
            anyhow::bail!("{}", missing(node, &path, &word));
        };
        path.0.push(segment);
        (node, rest) = (child, after);
    }
    Ok(path)
}

/// The name of one step of the path, the node it leads to, and the rest of the path.
type Step<'n, 't> = (String, Option<(Segment, &'n Node)>, &'t str);

/// The next token of a JSON pointer (RFC 6901).
fn token<'n, 't>(node: &'n Node, rest: &'t str) -> Step<'n, 't> {
    let (token, after) = until(rest.strip_prefix('/').unwrap_or(rest), |c| c == '/');
    let word = token.replace("~1", "/").replace("~0", "~");
    let found = child(node, &word);
    (word, found, after)
}

/// The next part of a path with dots and brackets.
fn part<'n, 't>(node: &'n Node, rest: &'t str) -> Step<'n, 't> {
    if let Some((word, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let word = word.trim_matches(['"', '\'']);
        return (word.to_owned(), child(node, word), after);
    }
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let keys = node.as_map().into_iter().flat_map(|map| map.iter());
    let fits = |key: &&str| {
        let after = rest.strip_prefix(key);
        after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '[']))
    };
    let longest = keys.map(|(key, _)| key.name.as_ref()).filter(fits);
    let end = longest.map(str::len).max();
    // A path that ends in a dot has an empty part.
    let end = end.or_else(|| rest.find(['.', '[']).filter(|end| *end > 0));
    let end = end.and_then(|end| rest.split_at_checked(end));
    let (word, after) = end.unwrap_or((rest, ""));
    (word.to_owned(), child(node, word), after)
}

/// The child named `word`: a key, an index, or the name of an item.
fn child<'n>(node: &'n Node, word: &str) -> Option<(Segment, &'n Node)> {
    match &node.value {
        Value::Map(map) => Some((Segment::Key(word.to_owned()), map.get(word)?)),
        Value::List(items) => {
            let named = || items.iter().position(|item| name(item) == Some(word));
            let at = word.parse().ok().or_else(named)?;
            Some((Segment::Index(at), items.get(at)?))
        }
        _ => None,
    }
}

fn name(item: &Node) -> Option<&str> {
    item.text(&["name"])
        .or_else(|| item.text(&["metadata", "name"]))
}

/// The error that `node`, at `path`, has no `word`.
fn missing(node: &Node, path: &Path, word: &str) -> String {
    let place = match path.0.is_empty() {
        true => "the object".to_owned(),
        false => format!("`{path}`"),
    };
    let known: Vec<String> = match &node.value {
        Value::Map(map) => map.iter().map(|(key, _)| key.name.to_string()).collect(),
        Value::List(items) => {
            let items = items.iter().enumerate();
            let called = items.map(|(at, item)| name(item).map_or(at.to_string(), str::to_owned));
            called.collect()
        }
        _ => return format!("{place} is a single value and has no `{word}`"),
    };
    if let Some(near) = nearest(word, known.iter().map(String::as_str)) {
        return format!("{place} has no `{word}`; did you mean `{near}`?");
    }
    let more = match known.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = &known[..known.len().min(SHOWN)];
    match shown {
        [] => format!("{place} is empty and has no `{word}`"),
        shown => format!("{place} has no `{word}`, only {}{more}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;

    fn found(text: &str) -> String {
        let yaml = b"metadata: {annotations: {x.y/z: 1, x: {y/z: 2}, a/b~c: 3}}\nspec:\n  pools: [{name: mp1, size: 2}, {metadata: {name: mp2}}]\n  empty: {}\n";
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml);
        match resolve(&documents[0], text) {
            Ok(path) => path.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_field_may_be_written_in_several_ways() {
        for (text, path) in [
            ("", ""),
            ("spec.pools[0].size", "spec.pools[0].size"),
            (".spec.pools.0.size", "spec.pools[0].size"),
            ("spec.pools[mp1].size", "spec.pools[0].size"),
            ("spec.pools['mp2']", "spec.pools[1]"),
            ("/spec/pools/1/metadata", "spec.pools[1].metadata"),
            ("metadata.annotations[x.y/z]", "metadata.annotations[x.y/z]"),
            ("metadata.annotations.x.y/z", "metadata.annotations[x.y/z]"),
            (
                "/metadata/annotations/a~1b~0c",
                "metadata.annotations[a/b~c]",
            ),
        ] {
            assert_eq!(found(text), path, "{text}");
        }
    }

    #[test]
    fn a_mistake_is_reported_with_the_most_similar_name() {
        for (text, message) in [
            ("spce", "the object has no `spce`; did you mean `spec`?"),
            (
                "spec.pools[mp3]",
                "`spec.pools` has no `mp3`; did you mean `mp1`?",
            ),
            (
                "spec.pools[7].size",
                "`spec.pools` has no `7`, only mp1, mp2",
            ),
            (
                "spec.pools[mp1].size.x",
                "`spec.pools[0].size` is a single value and has no `x`",
            ),
            (
                "/spec/nothing",
                "`spec` has no `nothing`, only pools, empty",
            ),
            ("spec.empty.x", "`spec.empty` is empty and has no `x`"),
            (
                "spec..pools",
                "`spec` has no `.pools`; did you mean `pools`?",
            ),
            ("spec.", "`spec` has no ``, only pools, empty"),
            ("spec[", "`spec` has no `[`, only pools, empty"),
        ] {
            assert_eq!(found(text), message, "{text}");
        }
    }
}
