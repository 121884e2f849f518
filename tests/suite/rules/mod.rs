//! Every rule of the book is held to its examples: what breaks it is found at the marked lines and
//! nowhere else, what keeps it is not found at all.

mod stage;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use capstan::compile::compile;
use capstan::model::{Severity, Tree};
use capstan::rules::book::{self, Example};

use crate::real;
use stage::{DEFINITION, by_arm_id, by_hand, found, marked};

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

#[test]
fn the_base_has_no_faults() {
    for base in [DEFINITION, &by_hand(), &by_arm_id()] {
        assert_eq!(found(base, "", ""), BTreeSet::new(), "{base}");
    }
}

#[test]
fn every_rule_keeps_to_its_examples() {
    let mut wrong = String::new();
    for page in book::pages() {
        for (number, example) in page.examples.iter().enumerate() {
            let text = around(example);
            let (expected, found) = (marked(&text), found(DEFINITION, &text, page.id));
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
