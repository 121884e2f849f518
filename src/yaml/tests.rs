#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{read, write};
use crate::model::{Finding, Node, Severity, Value};

fn parse(text: &str) -> (Vec<Node>, Vec<Finding>) {
    read(&Arc::from("f.yaml"), text.as_bytes())
}

/// The one document of a text that is without errors.
#[track_caller]
fn one(text: &str) -> Node {
    let (mut documents, findings) = parse(text);
    let mut errors = findings
        .iter()
        .filter(|one| one.severity == Severity::Error);
    assert_eq!(errors.next(), None, "{text}");
    assert_eq!(documents.len(), 1, "{text}");
    documents.remove(0)
}

#[track_caller]
fn value(text: &str, expected: &Json) {
    assert_eq!(one(text).to_json(), *expected, "{text}");
}

/// `id line:column message` of every finding.
fn read_findings(text: &str) -> Vec<String> {
    let say = |finding: &Finding| {
        let start = finding.span.as_ref().unwrap().start;
        assert!(finding.help.is_some(), "no help: {}", finding.message);
        format!(
            "{} {}:{} {}",
            finding.id, start.line, start.column, finding.message
        )
    };
    parse(text).1.iter().map(say).collect()
}

/// `line:column-line:column` of a value.
fn place(node: &Node) -> String {
    let (start, end) = (node.span().start, node.span().end);
    format!(
        "{}:{}-{}:{}",
        start.line, start.column, end.line, end.column
    )
}

#[test]
fn every_key_and_value_knows_its_place() {
    let text = "\
a: 1
b:
  c: \"é x\"
  d: |
    foo
l:
- x
-   z: ü # comment
f: {a: 1, b: [1, 22]}
e:
";
    let node = one(text);
    assert_eq!(place(&node), "1:1-1:2");
    let (key, _) = node.as_map().unwrap().entry("b").unwrap();
    assert_eq!(key.origin.span().to_string(), "f.yaml:2:1");
    let at = |path: &str| place(node.lookup(&crate::model::Path::dotted(path)).unwrap());
    assert_eq!(at("a"), "1:4-1:5");
    assert_eq!(at("b"), "3:3-3:4", "a block map is opened by its first key");
    assert_eq!(at("b.c"), "3:6-3:11");
    assert_eq!(at("b.d"), "5:5-6:1");
    assert_eq!(at("f"), "9:4-9:5", "a map in braces is opened by its brace");
    assert_eq!(at("e"), "10:1-10:2", "an empty value points at its key");
    let list = node.get("l").unwrap();
    assert_eq!(place(list), "7:3-7:4");
    assert_eq!(
        place(list.as_list().unwrap()[1].get("z").unwrap()),
        "8:8-8:9"
    );
    let inner = node.at(&["f", "b"]).unwrap().as_list().unwrap();
    assert_eq!(place(&inner[1]), "9:18-9:20");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_shift_nothing() {
    let node = one("\u{feff}a: 1\r\nb: x\r\n");
    assert_eq!(place(node.get("a").unwrap()), "1:4-1:5");
    assert_eq!(place(node.get("b").unwrap()), "2:4-2:5");
    assert_eq!(node.text(&["b"]), Some("x"));
}

#[test]
fn scalars_are_read_as_kubernetes_tools_read_them() {
    value(
        "[no, on, y, 010, 0644, 0o17, 1_000, 0x1f, ~, !!null , 2026-01-31, 12:30, 1.5]",
        &json!([
            false,
            true,
            true,
            8,
            420,
            15,
            1000,
            31,
            null,
            null,
            "2026-01-31",
            "12:30",
            1.5
        ]),
    );
    value(r#"['no', "010", '~', ""]"#, &json!(["no", "010", "~", ""]));
    value(
        "a: |\n  on\nb: >-\n  010\n",
        &json!({"a": "on\n", "b": "010"}),
    );
    value(
        "[!!str 010, !!int \"5\", !!float 3, !thing 1]",
        &json!(["010", 5, 3, "1"]),
    );
    value(
        "on: 1\n010: 2\n'010': 3\n4.20: 4\n",
        &json!({"true": 1, "8": 2, "010": 3, "4.2": 4}),
    );
}

#[test]
fn a_number_keeps_its_text() {
    let node = one("v: 4.20");
    assert_eq!(
        node.get("v").unwrap().value,
        Value::Float(4.2, "4.20".into())
    );
}

#[test]
fn anchors_aliases_and_merge_keys_bring_their_values_with_their_places() {
    let text = "\
base: &base {image: x, size: 1}
more: &more {size: 2, zone: z}
one: {<<: *base, size: 3}
two:
  name: m
  <<: [*base, *more]
again: *base
quoted: {'<<': 1}
*more : 5
";
    let (documents, findings) = parse(text);
    assert_eq!(findings[0].message, "a key cannot be a map or a list");
    let node = &documents[0];
    let json = node.to_json();
    assert_eq!(json["one"], json!({"image": "x", "size": 3}));
    assert_eq!(
        json["two"],
        json!({"name": "m", "image": "x", "size": 1, "zone": "z"})
    );
    assert_eq!(json["again"], json!({"image": "x", "size": 1}));
    assert_eq!(json["quoted"], json!({"<<": 1}));
    assert_eq!(place(node.at(&["two", "zone"]).unwrap()), "2:29-2:30");
    assert_eq!(place(node.at(&["one", "size"]).unwrap()), "3:24-3:25");
}

#[test]
fn streams_hold_many_documents_and_empty_ones_are_dropped() {
    let (documents, findings) =
        parse("---\n---\na: 1\n---\n# nothing\n---\nnull\n---\nb: 2\n...\n");
    assert_eq!(findings, []);
    let json: Vec<Json> = documents.iter().map(Node::to_json).collect();
    assert_eq!(json, [json!({"a": 1}), json!({"b": 2})]);
    assert_eq!(parse("").0, []);
    assert_eq!(parse("# only a comment\n").0, []);
}

#[test]
fn json_is_read_with_tabs_and_escapes() {
    value(
        "{\n\t\"a\": [1, 2.50, \"x\\/\\u00e9\\ud83d\\ude00\"],\n\t\"b\":{\"c\":null}\n}\n",
        &json!({"a": [1, 2.5, "x/é😀"], "b": {"c": null}}),
    );
}

#[test]
fn faults_are_named_where_they_are() {
    let table = [
        ("a:\n\tb: 1\n", "Y01 2:1 a tab is used for indentation"),
        ("a: x\n \tb: 2\n", "Y01 2:2 a tab is used for indentation"),
        (
            "a:\n  b: 1\n c: 2\n",
            "Y01 3:2 this indentation matches no open map or list",
        ),
        ("a: b: c\n", "Y01 1:5 a `:` cannot stand here"),
        ("a\nb: 1\n", "Y01 1:1 this line has no `:` after its key"),
        (
            "- a\nb: 1\n",
            "Y01 2:1 this list item does not start with `- `",
        ),
        ("a: - b\n", "Y01 1:4 a list cannot start here"),
        (
            "a: *nope\n",
            "Y01 1:4 this alias refers to an anchor that is not defined above it",
        ),
        (
            "a: &x [*x]\n",
            "Y01 1:8 this alias refers to a value that contains it",
        ),
        (
            "a: 1\nb: \"foo\nc: 2\n",
            "Y01 2:4 this quote is not closed properly",
        ),
        (
            "  a: 1\nb: 2\n",
            "Y01 2:1 this line is not part of the document above it",
        ),
        ("a: 'x\n", "Y01 1:4 this quote is not closed properly"),
        (
            "a: {b: \"x}\nc: {d: \"y\"}\n",
            "Y01 1:8 this quote is not closed properly",
        ),
        (
            "a: # it's\n  'x\nb: 'y'\n",
            "Y01 2:3 this quote is not closed properly",
        ),
        (
            "a: 'it's'\n",
            "Y01 1:8 there is text after the closing quote",
        ),
        (
            "a: 1\n{{- if .Values.b }}\nb: 2\n",
            "Y01 2:1 this line is a template, and templates are not expanded",
        ),
        ("a: {b: 1\n", "Y01 1:4 this bracket is never closed"),
        ("a: [\n  1\nb: 2\n", "Y01 3:2 a `:` cannot stand here"),
        (
            "a: }\n",
            "Y01 1:4 this closing bracket has no matching opening bracket",
        ),
        (
            "a: @x\n",
            "Y01 1:4 unquoted text cannot start with this character",
        ),
        ("a: .inf\n", "Y01 1:4 JSON cannot represent this number"),
        ("a: 1\n: 2\n", "Y01 2:1 there is no key before this `:`"),
        ("{{ x }}: 1\n", "Y01 1:2 a key cannot be a map or a list"),
        (
            "<<: 1\n",
            "Y01 1:5 the value of `<<` must be a map or a list of maps",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(
            read_findings(text).first().map(String::as_str),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn one_line_has_one_fault() {
    let found = read_findings("a: {{ x }}: y, {{ z }}: 1}\n");
    assert_eq!(found, ["Y01 1:5 a key cannot be a map or a list"]);
    let found = read_findings("a: {{ x }}\nb: [1\n");
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn all_duplicate_keys_are_found_and_the_first_value_stays() {
    let text = "a: 1\nb: {x: 1, x: 2}\na: 3\n\"a\": 4\n";
    assert_eq!(
        read_findings(text),
        [
            "Y02 2:11 duplicate key `x`; first used on line 2",
            "Y02 3:1 duplicate key `a`; first used on line 1",
            "Y02 4:1 duplicate key `a`; first used on line 1",
        ]
    );
    assert_eq!(parse(text).0[0].to_json(), json!({"a": 1, "b": {"x": 1}}));
}

#[test]
fn a_doubled_line_leaves_the_value_below_it() {
    let (documents, findings) = parse("a:\na:\n  b: 1\n");
    assert_eq!(documents[0].to_json(), json!({"a": {"b": 1}}));
    assert_eq!(findings.len(), 1);
}

#[test]
fn a_document_that_goes_on_is_broken() {
    let file = super::read_file(&Arc::from("f.yaml"), b"  a: 1\nb: 2\n");
    assert_eq!((file.documents.len(), file.broken.len()), (0, 1));
}

#[test]
fn a_broken_document_leaves_the_others_alone() {
    let text = "a: 1\n---\nb: [1\n---\nc: 3\n---\nd: &x 1\n---\ne: *x\n";
    let (documents, _) = parse(text);
    let json: Vec<Json> = documents.iter().map(Node::to_json).collect();
    assert_eq!(
        json,
        [
            json!({"a": 1}),
            json!({"c": 3}),
            json!({"d": 1}),
            json!({"e": null})
        ]
    );
    assert_eq!(
        read_findings(text),
        [
            "Y01 3:4 this bracket is never closed",
            "Y01 9:4 this alias refers to an anchor that is not defined above it",
        ]
    );
}

#[test]
fn text_that_is_not_utf8_is_a_finding() {
    let (documents, findings) = read(&Arc::from("f.yaml"), b"a: 1\nb: \xe9\xff\n");
    assert_eq!(documents, []);
    assert_eq!(findings[0].id, "Y08");
    assert_eq!(findings[0].span.as_ref().unwrap().to_string(), "f.yaml:2:4");
}

#[test]
fn depth_has_a_limit_whatever_it_is_made_of() {
    let lists = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read_findings(&lists(Node::MAX_DEPTH)), [""; 0]);
    assert!(read_findings(&lists(Node::MAX_DEPTH + 1))[0].starts_with("Y05 1:65 "));
    let chain = format!(
        "- &a {}\n- {}*a{}\n",
        lists(40),
        "[".repeat(40),
        "]".repeat(40)
    );
    assert!(read_findings(&chain)[0].starts_with("Y05 2:43 "));
    let indented: String = (0..200).map(|depth| " ".repeat(depth) + "a:\n").collect();
    assert!(read_findings(&indented)[0].starts_with("Y05 65:65 "));
    for opening in ["[", "{a: ", "- ", "? ", "[{"] {
        let text = opening.repeat(10_000) + "\n---\nafter: 1\n";
        let (documents, findings) = parse(&text);
        assert_eq!(findings.len(), 1, "{opening}");
        assert_eq!(
            documents.last().map(Node::to_json),
            Some(json!({"after": 1})),
            "{opening}"
        );
    }
}

#[test]
fn an_alias_bomb_is_refused_before_it_is_built() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{before}]\n");
    }
    text += "---\nafter: 1\n";
    let (documents, findings) = parse(&text);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].id, "Y06");
    assert!(findings[0].message.contains(&Node::MAX_COPIES.to_string()));
    assert_eq!(documents.len(), 1);
}

#[test]
fn a_file_full_of_faults_is_read_in_no_time() {
    let mut text = "a: 1\n".repeat(60_000);
    text += &(0..60_000)
        .map(|n| format!("k{n}: 1\n"))
        .collect::<String>();
    let (documents, findings) = parse(&text);
    assert_eq!(findings.len(), 100);
    assert_eq!(documents[0].as_map().unwrap().len(), 60_001);
}

/// A small generator of numbers that look random (xorshift), the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    fn text(&mut self, parts: &[&str], most: usize) -> String {
        (0..self.next(most))
            .map(|_| parts[self.next(parts.len())])
            .collect()
    }
}

const PARTS: &[&str] = &[
    "a",
    "b: ",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "\n    ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "&a ",
    "*a",
    "<<: ",
    "|\n",
    ">-\n",
    "#",
    "!",
    "!!str ",
    "%YAML 1.2\n",
    "---\n",
    "...\n",
    "? ",
    "0",
    "~",
    "é",
    "\u{feff}",
    "\0",
    "\r",
    "\\",
    "@",
    "`",
    "\u{2028}",
    "😀",
];

#[test]
fn no_text_makes_the_reader_panic_and_no_broken_text_passes_in_silence() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..6_000 {
        let text = numbers.text(PARTS, 40);
        let lines = u32::try_from(text.split(['\n', '\r']).count()).unwrap();
        let (_, findings) = parse(&text);
        for finding in findings {
            let span = finding.span.unwrap();
            assert!(
                span.start <= span.end && span.start.line <= lines,
                "{span:?} in {text:?}"
            );
        }
    }
    for _ in 0..3_000 {
        let bytes: Vec<u8> = (0..numbers.next(60))
            .map(|_| u8::try_from(numbers.next(256)).unwrap())
            .collect();
        let (documents, findings) = read(&Arc::from("f.yaml"), &bytes);
        assert!(documents.is_empty() || std::str::from_utf8(&bytes).is_ok());
        assert!(findings.len() <= 100);
    }
}

#[test]
fn what_is_written_is_read_back_the_same_here_and_by_serde_yaml() {
    let parts = [
        "a", " ", "\n", "\t", ":", ": ", "- ", "#", " #", "'", "\"", "\\", "0", "1", ".", "-", "é",
        "😀", "on", "~", "{", "]", ",", "&", "*", "!", "%", "@", "`", "\r", "\0", "\u{7f}",
        "\u{85}", "\u{2028}", "|", ">", "?", "=", "<<", "...", "---", "\u{feff}",
    ];
    let mut numbers = Numbers(7);
    for _ in 0..4_000 {
        let (key, text) = (numbers.text(&parts, 4), numbers.text(&parts, 12));
        let document = json!({"k": {key: text}, "l": [text]});
        let stream = write(std::slice::from_ref(&document));
        assert_eq!(one(&stream).to_json(), document, "{stream}");
        let other: Json = serde_yaml::from_str(&stream).unwrap();
        assert_eq!(other, document, "{stream}");
    }
}

#[test]
fn input_free_of_traps_is_read_as_serde_yaml_reads_it() {
    let texts = [
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  k: |\n    a\n\n    b\n  l: >\n    a\n    b\n\n    c\n",
        "a: [1, -2, 3.5, true, null, 'x', \"y\\n\", plain text]\nb: {c: {d: []}, e: {}}\n",
        "- a: 1\n  b: 2\n-\n  - x\n  - - z\n- |+\n  kept\n\n- >-\n  a\n   b\n",
        "a: &x\n  b: 1\nc: *x\nd: 'it''s'\ne: multi\n  line\n  text\n",
        "# c\n---\n\"q\": 1 # c\n? k\n: v\n",
    ];
    for text in texts {
        let expected: Json = serde_yaml::from_str(text).unwrap();
        value(text, &expected);
    }
}

#[test]
fn a_nul_byte_is_one_finding_that_thinks_of_utf_16() {
    let text = "a: 1\nb: 'x'\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let files = [
        ([b"\xff\xfe", &*little].concat(), "f.yaml:1:4"),
        ([b"\xfe\xff", &*big].concat(), "f.yaml:1:3"),
        (little, "f.yaml:1:2"),
        (big, "f.yaml:1:1"),
        (b"a: 1\nb: \"x\0y\"\n".to_vec(), "f.yaml:2:6"),
    ];
    for (bytes, place) in files {
        let (documents, findings) = read(&Arc::from("f.yaml"), &bytes);
        assert_eq!(documents, []);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].id, "Y08");
        let message = "the file contains a NUL byte; is it UTF-16?";
        assert_eq!(findings[0].message, message);
        assert_eq!(findings[0].help.as_deref(), Some("save the file as UTF-8"));
        assert_eq!(findings[0].span.as_ref().unwrap().to_string(), place);
    }
}

/// `line:column text`, with a `!` for those that follow something on their line.
fn comments(text: &str) -> Vec<String> {
    let say = |comment: &super::Comment| {
        let start = comment.span.start;
        let behind = if comment.is_alone { "" } else { "!" };
        format!("{}:{}{} {behind}", start.line, start.column, comment.text)
    };
    let found = super::comments(&Arc::from("f.yaml"), text.as_bytes());
    found
        .iter()
        .map(|one| say(one).trim_end().to_owned())
        .collect()
}

#[test]
fn comments_differ_from_strings_that_look_like_them() {
    let text = "\
# top
a: \"x # no\" # one
b: 'y # no'
c: y#no
d: |
  # no
  z # no
e: >- # two
  # no
\t
f: plain # three
   # four
g: [1, # five
  2] # sechs ü
h: {\"k\": \"\\\" # no\"} # seven
- # broken
---
i: 1 # eight
";
    let expected = [
        "1:1 top",
        "2:13 one !",
        "8:7 two !",
        "11:10 three !",
        "12:4 four",
        "13:8 five !",
        "14:6 sechs ü !",
        "15:21 seven !",
        "18:6 eight !",
    ];
    assert_eq!(comments(text), expected);
    assert_eq!(
        comments("\u{feff}# a\r\nb: c # d\r\n"),
        ["1:1 a", "2:6 d !"]
    );
    let many = format!("a:\n{}- b\n", "  # c\n".repeat(500));
    assert_eq!(comments(&many).len(), 500);
    assert_eq!(super::comments(&Arc::from("f.yaml"), b"\xff # a"), []);
}

#[test]
fn binary_is_decoded_and_its_faults_are_found() {
    let path = Arc::from("a.yaml");
    let text = "a: !!binary aGVsbG8=\nb: !!binary |\n  aGVs\n  bG8=\nc: !!binary \"aGVsbG8=\"\n";
    let (documents, findings) = read(&path, text.as_bytes());
    assert_eq!(findings, []);
    let hello = serde_json::json!({"a": "hello", "b": "hello", "c": "hello"});
    assert_eq!(documents[0].to_json(), hello);
    let (_, findings) = read(&path, b"a: b\nc: !!binary hunter2!\n");
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(
        (
            finding.id,
            finding.span.as_ref().map(|span| span.start.line)
        ),
        ("Y01", Some(2))
    );
    assert!(!format!("{finding:?}").contains("hunter"));
}
