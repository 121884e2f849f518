//! Regular expressions as Go understands them, for a crate that differs in a few places.
//!
//! In: a pattern in the syntax of Go's `regexp`. Out: a [`Regex`] that matches the same texts, or
//! nothing. The differences: `\d`, `\w`, `\s` and `\b` are ASCII in Go, and a character class holds
//! `[`, `&`, `~` and `-` as they are.

use regex::Regex;

/// Compiles `text`; nothing when it cannot be.
pub(super) fn compile(text: &str) -> Option<Regex> {
    Regex::new(&translate(text)).ok()
}

fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match (c, in_class) {
            ('\\', _) => {
                let escaped = rest[1..].chars().next();
                taken += escaped.map_or(0, char::len_utf8);
                out.push_str(&escape(escaped, in_class));
            }
            ('[', false) => {
                in_class = true;
                taken = class_opening(rest);
                out.push_str(&rest[..taken].replace(']', "\\]"));
            }
            ('[', true) => match posix_class(rest) {
                Some(length) => {
                    taken = length;
                    out.push_str(&rest[..length]);
                }
                None => out.push_str("\\["),
            },
            (']', true) => {
                in_class = false;
                out.push(']');
            }
            ('&' | '~', true) => out.extend(['\\', c]),
            _ => out.push(c),
        }
        rest = &rest[taken..];
    }
    out
}

/// How much of `rest` opens a class: right after `[` or `[^`, a `]` is an ordinary character.
fn class_opening(rest: &str) -> usize {
    let caret = if rest[1..].starts_with('^') { 2 } else { 1 };
    caret + usize::from(rest[caret..].starts_with(']'))
}

/// The length of `[:name:]` at the beginning of `rest`.
fn posix_class(rest: &str) -> Option<usize> {
    let name = rest.strip_prefix("[:")?;
    let end = name.find(":]")?;
    name[..end]
        .chars()
        .all(|c| c.is_ascii_alphabetic() || c == '^')
        .then_some(end + 4)
}

fn escape(escaped: Option<char>, in_class: bool) -> String {
    match (escaped, in_class) {
        (Some('d'), false) => "[0-9]".into(),
        (Some('d'), true) => "0-9".into(),
        (Some('D'), _) => "[^0-9]".into(),
        (Some('w'), false) => "[0-9A-Za-z_]".into(),
        (Some('w'), true) => "0-9A-Za-z_".into(),
        (Some('W'), _) => "[^0-9A-Za-z_]".into(),
        (Some('s'), false) => r"[\t\n\f\r ]".into(),
        (Some('s'), true) => r"\t\n\f\r ".into(),
        (Some('S'), _) => r"[^\t\n\f\r ]".into(),
        (Some('b'), false) => r"(?-u:\b)".into(),
        (Some('B'), false) => r"(?-u:\B)".into(),
        (Some(c), _) => format!("\\{c}"),
        (None, _) => "\\".into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().is_match(text)
    }

    #[test]
    fn classes_are_ascii_as_in_go() {
        assert!(matches(r"^\d+$", "42"));
        assert!(!matches(r"^\d+$", "٤٢"));
        assert!(matches(r"^[\w.-]+$", "a_b.c-d"));
        assert!(!matches(r"^[\w.-]+$", "ä"));
        assert!(matches(r"^[^\s]+$", "ab"));
        assert!(!matches(r"^[^\s]+$", "a b"));
    }

    #[test]
    fn a_class_holds_brackets_and_ampersands_as_they_are() {
        assert!(matches("^[[]$", "["));
        assert!(matches("^[]a]+$", "a]"));
        assert!(matches("^[^]]$", "a"));
        assert!(matches("^[a&&b]+$", "&b"));
        assert!(matches("^[[:alpha:]_]+$", "a_b"));
        assert!(!matches("^[[:alpha:]_]+$", "a1"));
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_none() {
        assert!(compile("(?=look)").is_none());
        assert!(compile("(").is_none());
    }
}
