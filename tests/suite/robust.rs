//! Compiling any file terminates, and reports what is wrong instead of failing.
//!
//! The files we ship are damaged at random (always the same way) and compiled. A panic ends the test.

use std::path::{Path, PathBuf};

use capstan::compile::{Compiled, compile};
use capstan::model::Severity;

use crate::fleet::tree;
use crate::random::Random;

/// A stretch of `text`, up to `most` bytes long.
fn stretch(chance: &mut Random, text: &[u8], most: usize) -> std::ops::Range<usize> {
    let start = chance.below(text.len() + 1);
    start..(start + chance.below(most + 1)).min(text.len())
}

/// What mistakes and attacks are made of.
const PIECES: &[&str] = &[
    "null",
    "~",
    "[]",
    "{}",
    "''",
    "\"",
    "'*'",
    "*a",
    "&a ",
    "<<: *a\n",
    "- ",
    ": ",
    "? ",
    "|\n",
    "#",
    "---\n",
    "\n",
    "\t",
    "  ",
    "\r\n",
    "\0",
    "\u{feff}",
    "\u{2028}",
    "é\u{301}",
    "$patch: delete",
    "$patch: replace",
    "$setElementOrder/nodePools: [3, {}]",
    "nodePools: 3",
    "nodePools: [{name: '*'}]",
    "spec:",
    "metadata: null",
    "kind: List\nitems: [[]]\n",
    "properties: {a: {b: null}}",
    "patches: [{json6902: [{op: move, from: /spec, path: /spec/resources}]}]",
    "-9223372036854775808",
    "1e400",
    ".inf",
    "4.20",
    "!!binary ",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "x-name-that-is-much-longer-than-any-kubernetes-or-azure-name-may-ever-be-0123456789",
];

fn damage(text: &mut Vec<u8>, chance: &mut Random) {
    let at = stretch(chance, text, 12);
    let piece = PIECES[chance.below(PIECES.len())].as_bytes();
    match chance.below(6) {
        0 => text.drain(at).for_each(drop),
        1 => drop(text.splice(at, piece.iter().copied())),
        2 => drop(text.splice(at.start..at.start, piece.iter().copied())),
        3 => drop(text.splice(at, [u8::try_from(chance.below(256)).expect("a byte")])),
        4 => value(text, at.start, piece),
        _ => {
            let copied = text[stretch(chance, text, 200)].to_vec();
            drop(text.splice(at.start..at.start, copied));
        }
    }
}

/// Puts `piece` in the place of the value that follows the next colon, so that the file stays YAML.
fn value(text: &mut Vec<u8>, from: usize, piece: &[u8]) {
    let Some(colon) = text[from..].iter().position(|byte| *byte == b':') else {
        return;
    };
    let start = from + colon + 1;
    let ends = |byte: &u8| b",}]\n".contains(byte);
    let end = text[start..]
        .iter()
        .position(ends)
        .map_or(text.len(), |length| start + length);
    drop(text.splice(start..end, [b" ", piece].concat()));
}

/// The text of every file below `directory`.
fn texts(directory: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            texts(&path, found);
        } else {
            let text = std::fs::read(&path).expect("the file is readable");
            found.push((path, text));
        }
    }
}

fn shipped() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for directory in ["examples", "overlays"] {
        texts(&root.join(directory), &mut found);
    }
    found
}

/// Every finding can be fixed: it has a place, and help unless the message states what is required.
fn is_sound(compiled: &Compiled, text: &[u8]) {
    for finding in &compiled.findings {
        let shown = || format!("{finding:?}\n{}", String::from_utf8_lossy(text));
        let says = |word: &&str| finding.message.contains(*word);
        let wanted = ["must", "should", "supported values"].iter().any(says);
        let explained = finding.severity == Severity::Info || finding.help.is_some() || wanted;
        assert!(explained, "{}", shown());
        let placed = finding
            .span
            .as_ref()
            .is_some_and(|span| span.start.line > 0);
        assert!(placed || finding.id == "Y10", "{}", shown());
    }
}

#[test]
fn damaged_files_are_findings_and_never_the_end() {
    let mut chance = Random::new(1);
    let texts: Vec<_> = shipped()
        .into_iter()
        .filter(|(_, text)| text.len() < 4_000)
        .collect();
    let overlays = texts
        .iter()
        .map(|(path, text)| (path.to_string_lossy(), text));
    let overlays = tree(overlays.filter(|(path, _)| path.contains("overlays")));
    let mut expanded = 0;
    for round in 0..2_000 {
        let mut text = texts[round % texts.len()].1.clone();
        for _ in 0..=chance.below(3) {
            damage(&mut text, &mut chance);
        }
        let compiled = compile(
            &tree([("damaged.yaml", &text)]),
            std::slice::from_ref(&overlays),
        );
        is_sound(&compiled, &text);
        expanded += compiled.objects.len();
    }
    assert!(
        expanded > 700,
        "damage was so heavy that nothing was compiled: {expanded}"
    );
}
