//! The mistakes that everybody makes: each gives one finding that names its cause at its line, or is accepted.
//!
//! `fleet/` is a fleet without mistakes: two clusters that need the overlay `prod`, and one that does not. The
//! text files hold the cases:
//!
//! ```text
//! # a missing colon
//! error Y01 clusters/one.yaml:8 has no `:`
//! clusters/one.yaml
//! -  location: uksouth
//! +  location uksouth
//! ```
//!
//! The first line names the case. The second says what is found: severity, id, place, and a part of the message
//! or of the help; or `accepted`. The rest is the mistake: a file and its changed lines, without which new lines
//! go to its end, or one of the [`Change`]s to a whole file.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use capstan::adapters::git::directory;
use capstan::compile::Compiled;
use capstan::model::{Finding, Problem, Tree};

use crate::corpus;

const CASES: [(&str, &str); 5] = [
    ("files.txt", include_str!("files.txt")),
    ("yaml.txt", include_str!("yaml.txt")),
    ("documents.txt", include_str!("documents.txt")),
    ("fields.txt", include_str!("fields.txt")),
    ("overlays.txt", include_str!("overlays.txt")),
];

/// A mistake and what is expected of it.
struct Case<'t> {
    name: &'t str,
    expected: &'t str,
    changes: Vec<Change<'t>>,
}

enum Change<'t> {
    /// Replaces lines, or adds some at the end.
    Lines {
        file: &'t str,
        old: Vec<&'t str>,
        new: Vec<&'t str>,
    },
    /// `bom FILE`, `rename FILE TO` and others.
    File(Vec<&'t str>),
}

fn cases(text: &str) -> impl Iterator<Item = Case<'_>> {
    let cases = text.split("\n# ").skip(1);
    cases.map(|case| {
        let mut lines = case.lines();
        let (name, expected) = (lines.next(), lines.next());
        Case {
            name: name.expect("a name"),
            expected: expected.expect("what is found"),
            changes: changes(lines),
        }
    })
}

fn changes<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<Change<'t>> {
    let mut changes: Vec<Change<'t>> = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        match (
            line.split_at_checked(1).unwrap_or_default(),
            changes.last_mut(),
        ) {
            (("-", line), Some(Change::Lines { old, .. })) => old.push(line),
            (("+", line), Some(Change::Lines { new, .. })) => new.push(line),
            _ => changes.push(match line.contains(' ') {
                true => Change::File(line.split(' ').collect()),
                false => Change::Lines {
                    file: line,
                    old: Vec::new(),
                    new: Vec::new(),
                },
            }),
        }
    }
    changes
}

/// The fleet with the mistake, as it is read from a directory.
fn fleet(case: &Case<'_>) -> Tree {
    let sound = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/mistakes/fleet");
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    for (path, text) in corpus::tree(&sound).files {
        let path = root.join(&*path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("created");
        fs::write(path, text).expect("written");
    }
    let mut unreadable = Vec::new();
    for change in &case.changes {
        match change {
            Change::Lines { file, old, new } => replace(&root.join(file), old, new),
            // Nothing is unreadable to root, who may run the tests.
            Change::File(words) if words[0] == "unreadable" => unreadable.push(words[1]),
            Change::File(words) => change_file(root, words),
        }
    }
    let mut tree = directory::read(root).expect("readable");
    for file in unreadable {
        let reason = Problem::Unreadable("permission denied".into());
        tree.files.remove(file).expect("a file");
        tree.problems.insert(Arc::from(file), reason);
    }
    tree
}

fn replace(file: &Path, old: &[&str], new: &[&str]) {
    let lines = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect();
    let (old, new): (String, String) = (lines(old), lines(new));
    let text = fs::read_to_string(file).unwrap_or_default();
    let text = match old.is_empty() {
        true => text + &new,
        false => {
            assert_eq!(text.matches(&old).count(), 1, "{old:?} in {text}");
            text.replace(&old, &new)
        }
    };
    fs::write(file, text).expect("written");
}

fn change_file(root: &Path, words: &[&str]) {
    let file = root.join(words[1]);
    let text = || fs::read_to_string(&file).expect("a file");
    let write = |text: Vec<u8>| fs::write(&file, text).expect("written");
    match words {
        ["bom", _] => write(format!("\u{feff}{}", text()).into()),
        ["crlf", _] => write(text().replace('\n', "\r\n").into()),
        ["utf16", _] => write(text().encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ["empty", _] => write(Vec::new()),
        ["rename", _, to] => fs::rename(&file, root.join(to)).expect("renamed"),
        ["link", _, to] => {
            let _ = fs::remove_file(&file);
            std::os::unix::fs::symlink(to, &file).expect("linked");
        }
        _ => panic!("unknown change {words:?}"),
    }
}

/// Whether exactly what is expected was found.
fn is_as_expected(expected: &str, compiled: &Compiled) -> bool {
    let (words, finding) = match (expected, compiled.findings.as_slice()) {
        ("accepted", found) => return found.is_empty(),
        (expected, [finding]) => (expected.splitn(4, ' ').collect::<Vec<_>>(), finding),
        _ => return false,
    };
    let [severity, id, place, part] = words.as_slice() else {
        panic!("{expected:?} is not `severity id place part of the message`");
    };
    let (said, help) = (&finding.message, finding.help.as_deref());
    severity_of(finding) == *severity
        && finding.id == *id
        && place_of(finding) == *place
        && (said.contains(part) || help.is_some_and(|help| help.contains(part)))
}

fn severity_of(finding: &Finding) -> String {
    format!("{:?}", finding.severity).to_lowercase()
}

fn place_of(finding: &Finding) -> String {
    let span = finding.span.as_ref();
    span.map_or_else(String::new, |span| {
        format!("{}:{}", span.path, span.start.line)
    })
}

#[test]
fn the_fleet_has_no_mistakes() {
    let case = Case {
        name: "none",
        expected: "accepted",
        changes: Vec::new(),
    };
    assert_eq!(crate::fleet::compiled(&fleet(&case), &[]).findings, []);
}

#[test]
fn every_mistake_is_found_once_and_at_its_line() {
    let (mut wrong, mut count) = (String::new(), 0);
    for (file, text) in CASES {
        for case in cases(text) {
            let compiled = crate::fleet::compiled(&fleet(&case), &[]);
            count += 1;
            if is_as_expected(case.expected, &compiled) {
                continue;
            }
            wrong += &format!("{file}: {}\n  expected {}\n", case.name, case.expected);
            for finding in &compiled.findings {
                let severity = severity_of(finding);
                wrong += &format!("  found {severity} {finding}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 40, "only {count} cases");
}
