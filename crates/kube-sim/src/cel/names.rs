//! Field names as rules write them.
//!
//! In a rule every field name must be an identifier of CEL, so Kubernetes escapes some other characters
//! and CEL's reserved words. In: a name. Out: its escaped or unescaped form.
//! Source: k8s.io/apiserver `pkg/cel/escaping.go`.

use std::borrow::Cow;

/// CEL's reserved words. A field `namespace` is written `__namespace__`.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

const ESCAPES: [(&str, &str); 4] = [
    ("__", "underscores"),
    (".", "dot"),
    ("-", "dash"),
    ("/", "slash"),
];

/// The field `name` as rules write it; `None` when they cannot.
pub(super) fn escape(name: &str) -> Option<Cow<'_, str>> {
    let first = name.chars().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__").into());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.chars().all(plain) && !name.contains("__") {
        return Some(name.into());
    }
    let mut out = String::with_capacity(name.len() + 16);
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let mut escapes = ESCAPES.iter();
        match escapes.find_map(|(text, word)| Some((word, rest.strip_prefix(text)?))) {
            Some((word, after)) => {
                out.extend(["__", word, "__"]);
                rest = after;
            }
            None if plain(c) => {
                out.push(c);
                rest = rest.strip_prefix(c)?;
            }
            None => return None,
        }
    }
    Some(out.into())
}

/// The field that a rule calls `name`; `None` when that contains an unknown escape.
pub(super) fn unescape(name: &str) -> Option<Cow<'_, str>> {
    if !name.contains("__") {
        return Some(name.into());
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let Some((word, after)) = escape_at(rest) else {
            let c = rest.chars().next()?;
            out.push(c);
            rest = rest.strip_prefix(c)?;
            continue;
        };
        match ESCAPES.iter().find(|(_, known)| *known == word) {
            Some((text, _)) => out.push_str(text),
            None if RESERVED.contains(&word) && word.len() + 4 == name.len() => out.push_str(word),
            None => return None,
        }
        rest = after;
    }
    Some(out.into())
}

/// The word of `__word__` at the beginning of `text`, and what follows.
fn escape_at(text: &str) -> Option<(&str, &str)> {
    let (word, after) = text.strip_prefix("__")?.split_once('_')?;
    let after = after.strip_prefix('_')?;
    (!word.is_empty()).then_some((word, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_into_rules_and_back() {
        for (name, written) in [
            ("size", "size"),
            ("a_b", "a_b"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
            ("my-field", "my__dash__field"),
            (
                "app.kubernetes.io/name",
                "app__dot__kubernetes__dot__io__slash__name",
            ),
            ("_x", "_x"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(written));
            assert_eq!(unescape(written).as_deref(), Some(name));
        }
    }

    #[test]
    fn what_is_no_identifier_cannot_be_written() {
        for name in ["", "1a", "a b", "$ref", "é"] {
            assert_eq!(escape(name), None, "{name}");
        }
        assert_eq!(unescape("a__nothing__b"), None);
        assert_eq!(unescape("a__in__b"), None);
    }
}
