//! Every rule of the book is held to its examples: what breaks it is found at the marked lines and
//! nowhere else, what keeps it is not found at all.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use capstan::api::fleet::Terms;
use capstan::compile::{compile, compile_by};
use capstan::model::{Severity, Tree};
use capstan::rules::book::{self, Example};

use crate::real;

/// A fleet without faults, of one cluster.
const BASE: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {name: one, namespace: clusters}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: \"4.20\"}
  externalAuth: {clientID: app}
  nodePools:
  - {name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}
";

/// What an example stands in, as somebody would write it.
fn around(example: &Example) -> String {
    let overlay = |part: &str| {
        format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {{name: example}}\nspec:\n{part}"
        )
    };
    let indented = |by: usize| {
        let lines = example.yaml.lines();
        lines.fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{:by$}{line}", "");
            text
        })
    };
    match example.of {
        "documents" => example.yaml.to_owned(),
        "spec" => overlay(&format!("  merge:\n{}", indented(4))),
        kind => {
            let of_steps = example.yaml.starts_with("- op:");
            let patch = if of_steps { "json6902" } else { "patch" };
            overlay(&format!(
                "  patches:\n  - target: {{kind: {kind}}}\n    {patch}:\n{}",
                indented(6)
            ))
        }
    }
}

/// What a Fleet document with this in its spec says of rules.
fn terms(fleet: &str) -> Terms {
    let spec = fleet.replace('\n', "\n  ");
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: example}}\nspec:\n  source: {{git: {{url: u}}}}\n  {spec}\n"
    );
    let (documents, _) = capstan::yaml::read(&Arc::from("fleet.yaml"), text.as_bytes());
    let (fleet, findings) = capstan::api::fleet::read(&documents[0]);
    assert_eq!(findings, [], "{text}");
    Terms::from(&fleet.expect("a Fleet document"))
}

/// The findings in `text` as `line id`, without what is only good to know.
fn found(text: &str, fleet: &str) -> BTreeSet<String> {
    let files = [("base.yaml", BASE), ("example.yaml", text)];
    let files = files.map(|(path, text)| (Arc::from(path), Arc::from(text.as_bytes())));
    let tree = Tree {
        files: files.into(),
        ..Tree::default()
    };
    let findings = compile_by(&terms(fleet), &tree, &[]).findings.into_iter();
    let findings = findings.filter(|finding| finding.severity != Severity::Info);
    let told = findings.map(|finding| {
        let span = finding
            .span
            .as_ref()
            .map(|span| (&*span.path, span.start.line));
        match span {
            Some(("example.yaml", line)) => format!("{line} {}", finding.id),
            Some(("base.yaml", _)) => format!("elsewhere {}", finding.id),
            _ => format!("elsewhere: {finding}"),
        }
    });
    told.collect()
}

/// The ids in comments at the ends of lines. A line `# elsewhere: ID` says that the finding points at
/// the base: where something is missing, or where what was there no longer fits.
fn marked(text: &str) -> BTreeSet<String> {
    let lines = text.lines().enumerate();
    let marks = lines.filter_map(|(at, line)| Some((at + 1, line.rsplit_once(" # ")?.1)));
    let placed = |(line, ids): (usize, &str)| match ids.strip_prefix("elsewhere: ") {
        Some(ids) => ("elsewhere".to_owned(), ids.to_owned()),
        None => (line.to_string(), ids.to_owned()),
    };
    let mut all = BTreeSet::new();
    for (place, ids) in marks.map(placed) {
        all.extend(ids.split(", ").map(|id| format!("{place} {id}")));
    }
    all
}

#[test]
fn the_base_has_no_faults() {
    assert_eq!(found("", ""), BTreeSet::new());
}

#[test]
fn every_rule_keeps_to_its_examples() {
    let mut wrong = String::new();
    for page in book::pages() {
        for (number, example) in page.examples.iter().enumerate() {
            let text = around(example);
            let (expected, found) = (marked(&text), found(&text, example.fleet));
            let own = expected
                .iter()
                .any(|mark| mark.ends_with(&format!(" {}", page.id)));
            if found != expected || own != example.breaks {
                let _ = writeln!(
                    wrong,
                    "{} example {number}: expected {expected:?}, found {found:?} in\n{text}",
                    page.id
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_secret_is_told_and_its_value_is_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n}\nstringData: {password: hunter2}\n";
    std::fs::write(directory.path().join("secret.yaml"), secret).expect("written");
    for format in ["text", "json"] {
        let mut command = assert_cmd::Command::cargo_bin("capstan").expect("built");
        let output = command
            .args(["validate", "--format", format])
            .arg(directory.path())
            .output()
            .expect("it runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("P01") && said.contains("password"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn credentials_beside_a_cluster_are_found() {
    let Some(file) = real::shared("samples/credentials-in-git/credentials.yaml") else {
        return;
    };
    let text: Arc<[u8]> = Arc::from(std::fs::read(file).expect("readable"));
    let tree = Tree {
        files: [(Arc::from("credentials.yaml"), text)].into(),
        ..Tree::default()
    };
    let findings = compile(&tree, &[]).findings.into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    let told: Vec<_> = errors
        .map(|finding| (finding.id, finding.object.expect("an object").name))
        .collect();
    let name = |name: &str| ("P01", name.to_owned());
    assert_eq!(
        told,
        [name("cluster-identity-secret"), name("aso-credential")]
    );
}
