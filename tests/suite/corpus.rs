//! Tiny fleets with what is found in them and what they become: `tests/corpus/<case>/`.
//!
//! A case is a directory of fleet files beside `expected.txt`: the findings, then the plan. With
//! `CAPSTAN_WRITE=1` in the environment the expectations are rewritten; read the diff.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capstan::compile::Compiled;
use capstan::model::{Finding, Tree};
use capstan::plan::{ApplySet, against_none};

const EXPECTED: &str = "expected.txt";

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The files of a fleet below `root`.
pub(crate) fn tree(root: &Path) -> Tree {
    let mut tree = Tree::default();
    files(root, root, &mut tree);
    tree
}

fn files(dir: &Path, root: &Path, tree: &mut Tree) {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir)
        .expect("readable")
        .map(|entry| entry.expect("entry").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, root, tree);
        } else if Tree::reads(path.to_str().expect("UTF-8")) {
            let name = path
                .strip_prefix(root)
                .expect("below")
                .to_str()
                .expect("UTF-8")
                .to_owned();
            tree.files.insert(
                Arc::from(name),
                Arc::from(fs::read(&path).expect("readable")),
            );
        }
    }
}

/// A finding in one line.
pub(crate) fn line(finding: &Finding) -> String {
    let span = finding.span.as_ref();
    let place = span.map_or_else(|| "-".to_owned(), ToString::to_string);
    let (severity, id) = (finding.severity, finding.id);
    format!("{severity:?} {id} {place} {}\n", finding.message)
}

fn report(compiled: &Compiled) -> String {
    let mut out = String::new();
    for finding in &compiled.findings {
        out += &line(finding);
        if let Some(help) = &finding.help {
            let _ = writeln!(out, "    help: {help}");
        }
    }
    let _ = writeln!(out, "--");
    let plan = against_none(
        &compiled.objects,
        &compiled.graph,
        &ApplySet::new("case", "default"),
    );
    for step in &plan.steps {
        let _ = writeln!(out, "{}", step.object);
    }
    let _ = writeln!(out, "{} embedded", plan.impact.embedded);
    out
}

#[test]
fn every_case_has_the_expected_findings() {
    let bless = std::env::var_os("CAPSTAN_WRITE").is_some();
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus())
        .expect("readable")
        .map(|entry| entry.expect("entry").path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 12, "the corpus has lost cases");
    let mut faults = Vec::new();
    for case in cases {
        let report = report(&crate::fleet::compiled(&tree(&case), &[]));
        let expected = case.join(EXPECTED);
        if bless {
            fs::write(&expected, &report).expect("writable");
        }
        let wanted = fs::read_to_string(&expected).unwrap_or_default();
        if wanted != report {
            faults.push(format!(
                "== {}\n-- expected\n{wanted}-- found\n{report}",
                case.display()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
