//! Text that does not belong in a file: the markers of an unresolved merge, and comments and trailing commas in
//! JSON.
//!
//! In: the text of a file. Out: the same text with those parts blanked, so that the rest can be read and
//! keeps its place, and findings. Of a conflict, the first side is kept. It does not know YAML.

use std::borrow::Cow;
use std::sync::Arc;

use super::syntax::{end_of, number};
use crate::model::{Finding, Span, rule_id};

/// The text without markers and without what JSON does not have, and findings about them.
pub(super) fn without_markers<'t>(path: &Arc<str>, text: &'t str) -> (Cow<'t, str>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut text = Cow::Borrowed(text);
    if text.contains("<<<<<<<") || text.contains(">>>>>>>") {
        text = without_conflicts(path, &text, &mut findings).into();
    }
    if path.ends_with(".json") {
        let comments = comments(&text);
        findings.extend(
            comments
                .first()
                .map(|at| comment(path, text.get(..at.start).unwrap_or_default())),
        );
        for at in comments {
            let blank = blank(text.get(at.clone()).unwrap_or_default());
            text.to_mut().replace_range(at, &blank);
        }
        let comma = trailing_comma(&text);
        findings
            .extend(comma.map(|at| no_trailing_comma(path, text.get(..at).unwrap_or_default())));
    }
    (text, findings)
}

/// The part of a conflict that a line is in.
#[derive(PartialEq)]
enum Side {
    None,
    First,
    /// The common ancestor or the second side.
    Other,
}

fn without_conflicts(path: &Arc<str>, text: &str, findings: &mut Vec<Finding>) -> String {
    let mut side = Side::None;
    let mut kept = String::with_capacity(text.len());
    for (line, at) in text.split_inclusive('\n').zip(1..) {
        let marker = |sign: &str| {
            let rest = line.strip_prefix(sign);
            rest.is_some_and(|rest| rest.trim_end().is_empty() || rest.starts_with(' '))
        };
        let (begins, ends) = (marker("<<<<<<<"), marker(">>>>>>>"));
        if begins || ends && side == Side::None {
            findings.push(conflict(path, at));
        }
        let inside = side != Side::None;
        let is_marker = begins || ends || inside && (marker("|||||||") || marker("======="));
        side = match (begins, ends, is_marker) {
            (true, ..) => Side::First,
            (_, true, _) => Side::None,
            (_, _, true) => Side::Other,
            _ => side,
        };
        match is_marker || side == Side::Other {
            true => kept += &blank(line),
            false => kept += line,
        }
    }
    kept
}

/// Spaces for everything but line ends.
fn blank(text: &str) -> String {
    let blank = |byte| match byte {
        b'\n' | b'\r' => char::from(byte),
        _ => ' ',
    };
    text.bytes().map(blank).collect()
}

/// Where `//` and `/* */` begin and end, outside of strings.
fn comments(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut comments = Vec::new();
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = text.as_bytes().get(at) {
        let rest = &text.as_bytes()[at..];
        let length = match byte {
            b'\\' if quoted => 2,
            b'"' => {
                quoted = !quoted;
                1
            }
            b'/' if !quoted && begins_token(text, at) => {
                let length = length_of_comment(rest);
                comments.extend((length > 1).then(|| at..at + length));
                length
            }
            _ => 1,
        };
        at += length;
    }
    comments
}

/// The first comma outside of strings with nothing but a closing bracket after it. YAML reads it without complaint.
fn trailing_comma(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped, mut comma) = (false, false, None);
    text.char_indices().find_map(|(at, c)| {
        let closes = !quoted && matches!(c, '}' | ']');
        let trailing = comma.filter(|_| closes);
        comma = match c {
            ',' if !quoted => Some(at),
            c if c.is_whitespace() => comma,
            _ => None,
        };
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        trailing
    })
}

/// Whether what begins at `at` is not the rest of a word, such as a URL.
fn begins_token(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_none_or(|c| c.is_whitespace() || ",{}[]\"".contains(c))
}

/// The length of the comment that the text begins with; 1 if there is none.
fn length_of_comment(text: &[u8]) -> usize {
    let end = |sign: &[u8]| text.windows(sign.len()).position(|part| part == sign);
    match text {
        [b'/', b'/', ..] => end(b"\n").unwrap_or(text.len()),
        [b'/', b'*', ..] => end(b"*/").map_or(text.len(), |end| end + 2),
        _ => 1,
    }
}

fn conflict(path: &Arc<str>, line: usize) -> Finding {
    Finding::error(rule_id::UNREADABLE_FILE, "this file has an unresolved merge conflict")
        .at(&Span::new(path, number(line), 1, 7))
        .help("keep the lines that are right, and remove the others and the lines that begin with `<<<<<<<`, `=======` and `>>>>>>>`")
}

fn comment(path: &Arc<str>, before: &str) -> Finding {
    let at = end_of(before);
    Finding::error(rule_id::UNREADABLE_FILE, "JSON has no comments")
        .at(&Span::new(path, at.line, at.column, 2))
        .help("remove it, or begin it with `#` in a YAML file")
}

fn no_trailing_comma(path: &Arc<str>, before: &str) -> Finding {
    let at = end_of(before);
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "JSON has no comma after the last entry",
    )
    .at(&Span::new(path, at.line, at.column, 1))
    .help("remove the comma")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> (String, Vec<String>) {
        let (text, findings) = without_markers(&Arc::from(path), text);
        let place = |finding: &Finding| finding.span.as_ref().expect("a span").to_string();
        (text.into_owned(), findings.iter().map(place).collect())
    }

    #[test]
    fn the_first_side_of_a_conflict_is_kept() {
        let text = "a\n<<<<<<< HEAD\nb\n||||||| base\nc\n=======\nd\n>>>>>>> x\ne\n";
        let (kept, places) = read("f.yaml", text);
        let lines: Vec<&str> = kept.lines().map(str::trim).collect();
        assert_eq!(lines, ["a", "", "b", "", "", "", "", "", "e"]);
        assert_eq!(places, ["f.yaml:2:1"]);
    }

    #[test]
    fn a_marker_that_was_left_is_found() {
        for (text, place) in [
            ("a\n>>>>>>> x\nb\n", "f.yaml:2:1"),
            ("<<<<<<< HEAD\nb\n", "f.yaml:1:1"),
        ] {
            assert_eq!(read("f.yaml", text).1, [place]);
        }
    }

    #[test]
    fn other_text_is_left_alone() {
        for text in ["a\n=======\nb\n", "  <<<<<<< x\n", "<<: *a\n", ">>>>>>>>\n"] {
            assert_eq!(read("f.yaml", text), (text.to_owned(), Vec::new()));
        }
        let text = "{\"a\": \"// b \\\" /* c\", d: https://e, f: s://g}";
        assert_eq!(read("f.json", text), (text.to_owned(), Vec::new()));
    }

    #[test]
    fn comments_of_json_are_blanked() {
        let (kept, places) = read("f.json", "{ // é\n\"a\": 1, /* b\n*/ \"c\": 2}//");
        assert_eq!(kept, "{      \n\"a\": 1,     \n   \"c\": 2}  ");
        assert_eq!(places, ["f.json:1:3"]);
    }

    #[test]
    fn a_trailing_comma_of_json_is_found() {
        for (text, place) in [
            ("{\"a\": [1, 2,\n]}", "f.json:1:12"),
            ("{\"a\": \",}\",\n // why\n}", "f.json:2:2"),
        ] {
            let places = read("f.json", text).1;
            assert_eq!(places.first().map(String::as_str), Some(place), "{text}");
        }
        let comma = "{\"a\": \",\\\",}\", \"b\": [1, 2]}";
        assert_eq!(read("f.json", comma).1, [] as [String; 0]);
        assert_eq!(read("f.yaml", "a: [1, 2,]").1, [] as [String; 0]);
    }
}
