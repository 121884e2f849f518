//! Whatever a file holds, reading and compiling it ends with findings that can be mended.

use std::sync::Arc;

use capstan::compile::compile;
use capstan::model::{Finding, Node};
use capstan::yaml;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::hold;
use crate::fleet::tree;

/// What YAML is made of, and what it is broken with.
const PIECES: &[&str] = &[
    "a: ",
    "b: ",
    "- ",
    "? ",
    ": ",
    "\n",
    "\n  ",
    "\n    ",
    "\r\n",
    "\t",
    " ",
    "{",
    "}",
    "[",
    "]",
    ", ",
    "'",
    "\"",
    "&a ",
    "*a",
    "&b ",
    "*b",
    "<<: *a\n",
    "<<: [*a, *b]\n",
    "!!str ",
    "!!map ",
    "!!binary ",
    "!x ",
    "|\n  ",
    ">-\n  ",
    "|9",
    "#",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "%TAG ! x\n",
    "~",
    "null",
    "1e400",
    "-.inf",
    ".nan",
    "0x",
    "99999999999999999999",
    "4.20",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "é\u{301}",
    "\0",
    "\\x",
    "\\u12",
    "a: 1\na: 2\n",
    "[[[[[[[[[[[[[[[[",
    "- - - - - - - -",
    "$patch: delete",
    "apiVersion: capstan.dev/v1alpha1\n",
    "kind: ClusterDefinition\n",
    "kind: Overlay\n",
    "kind: List\n",
    "metadata: {name: a}\n",
    "spec:\n  ",
    "items: ",
    "merge: ",
    "patches: ",
    "apiVersion: v1\n",
];

fn is_sound(finding: &Finding) -> Result<(), TestCaseError> {
    prop_assert!(!finding.message.is_empty());
    if let Some(span) = &finding.span {
        prop_assert!(
            span.start.line > 0 && span.start.column > 0 && span.start <= span.end,
            "{finding:?}"
        );
    }
    Ok(())
}

/// Reads and compiles `text`; what was read is written so that it reads the same.
fn holds(text: &[u8]) -> Result<(), TestCaseError> {
    let path = Arc::from("a.yaml");
    let (documents, findings) = yaml::read(&path, text);
    findings.iter().try_for_each(is_sound)?;
    let values: Vec<_> = documents.iter().map(Node::to_json).collect();
    let written = yaml::write(&values);
    let (again, findings) = yaml::read(&path, written.as_bytes());
    prop_assert_eq!(findings, [], "{}", written);
    let again: Vec<_> = again.iter().map(Node::to_json).collect();
    prop_assert_eq!(again, values, "{}", written);
    let compiled = compile(&tree([(&path, text)]), &[]);
    compiled.findings.iter().try_for_each(is_sound)
}

#[test]
fn any_bytes_are_a_file() {
    hold(500, &vec(any::<u8>(), 0..200), |text| holds(&text));
    hold(500, &"\\PC{0,80}", |text| holds(text.as_bytes()));
}

#[test]
fn pieces_of_yaml_in_any_order_are_a_file() {
    let text = vec(select(PIECES), 0..40).prop_map(|pieces| pieces.concat());
    hold(1_500, &text, |text| holds(text.as_bytes()));
}
