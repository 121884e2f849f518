//! What is found in the fleets that we show, in the real ones beside the repository and in the proposal's
//! own samples: looked through by hand once, and since then the same. What breaks a rule of Azure's is
//! written with the words that Azure would refuse it with. With `CAPSTAN_WRITE=1` in the environment the
//! file is rewritten; read the diff.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use capstan::compile::compile;
use capstan::rules::book;

use crate::corpus::{line, tree};
use crate::real;

const REVIEWED: &str = "tests/suite/rules/reviewed.txt";

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Each fleet, by what it is called in the file; none when it is not there.
fn fleets() -> Vec<(&'static str, Option<PathBuf>)> {
    vec![
        ("examples/fleet", Some(here("examples/fleet"))),
        ("examples/quickstart", Some(here("examples/quickstart"))),
        (
            "proposal-cluster",
            Some(here("tests/corpus/proposal-cluster")),
        ),
        (
            "proposal-identities",
            Some(here("tests/corpus/proposal-identities")),
        ),
        (
            "proposal-without-identity",
            Some(here("tests/corpus/proposal-without-identity")),
        ),
        (
            "samples/aro-hcp-2025-12-23",
            real::shared("samples/aro-hcp-2025-12-23"),
        ),
        (
            "samples/aro-hcp-2026-09-01",
            real::shared("samples/aro-hcp-2026-09-01"),
        ),
        (
            "samples/credentials-in-git",
            real::shared("samples/credentials-in-git"),
        ),
    ]
}

/// What is found in a fleet, with the overlays that we ship when it is an example of ours.
fn listed(fleet: &Path) -> String {
    let is_fleet = fleet.ends_with("examples/fleet");
    let overlays = is_fleet.then(|| tree(&here("overlays")));
    let compiled = compile(&tree(fleet), overlays.as_slice());
    let mut out = String::new();
    for finding in &compiled.findings {
        out += &line(finding);
        if let Some(source) = source(finding.id) {
            let _ = writeln!(out, "    {source}");
        }
    }
    out
}

/// Azure's documentation of one of its rules.
fn source(id: &str) -> Option<&'static str> {
    let page = book::find(id).filter(|_| id.starts_with(['C', 'E', 'N']))?;
    page.text.lines().find(|line| line.starts_with("Source: "))
}

#[test]
fn what_is_found_was_looked_through() {
    let file = here(REVIEWED);
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    let expected = |name: &str| {
        let (_, rest) = reviewed.split_once(&format!("== {name}\n"))?;
        Some(rest.split("== ").next().unwrap_or_default().to_owned())
    };
    let mut all = String::new();
    let mut wrong = String::new();
    for (name, fleet) in fleets() {
        let known = expected(name).unwrap_or_default();
        let listed = fleet.map_or_else(|| known.clone(), |fleet| listed(&fleet));
        if listed != known {
            let _ = writeln!(wrong, "{name}: reviewed\n{known}found\n{listed}");
        }
        let _ = write!(all, "== {name}\n{listed}");
    }
    if std::env::var_os("CAPSTAN_WRITE").is_some() {
        std::fs::write(file, all).expect("writable");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}
