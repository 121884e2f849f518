//! What is found, as people and programs read it.

use std::sync::Arc;

use capstan::compile::{Compiled, compile};
use capstan::model::{Finding, Severity, Tree};

/// A fleet of these files.
fn tree<'t>(files: impl IntoIterator<Item = (&'t str, String)>) -> Tree {
    let files = files.into_iter();
    let files = files.map(|(path, text)| (Arc::from(path), Arc::from(text.into_bytes())));
    Tree {
        files: files.collect(),
        ..Tree::default()
    }
}

/// A sound definition of a cluster, with `more` in its spec.
fn definition(name: &str, more: &str) -> String {
    format!(
        "\
apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata: {{name: {name}, namespace: clusters, labels: {{env: prod}}}}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {{name: cluster-identity}}
  version: {{id: \"4.20\"}}
  nodePools:
  - {{name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}}
  {more}
"
    )
}

fn overlay(spec: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {{name: base}}\nspec:\n{spec}"
    )
}

/// Three clusters, and an overlay on them.
fn with_overlay(spec: &str) -> Compiled {
    let files = [
        ("a.yaml", definition("one", "")),
        ("b.yaml", definition("two", "")),
        (
            "c.yaml",
            definition("three", "network: {machineCIDR: 10.5.0.0/16}"),
        ),
        ("o.yaml", overlay(spec)),
    ];
    compile(&tree(files), &[])
}

/// `place id message` of what is not only good to know, and the clusters.
fn told(compiled: &Compiled) -> Vec<(String, String)> {
    let findings = compiled.findings.iter();
    let grave = findings.filter(|finding| finding.severity != Severity::Info);
    let tell = |finding: &Finding| {
        let place = finding.span.as_ref().expect("a place");
        let said = format!("{place} {} {}", finding.id, finding.message);
        (said, finding.clusters.join(" "))
    };
    grave.map(tell).collect()
}

const ALL: &str = "clusters/one clusters/three clusters/two";

#[test]
fn what_an_overlay_brings_is_told_once_with_the_clusters_it_hits() {
    let compiled = with_overlay(
        "  precedence: Enforced\n  merge:\n    nodePools: [{name: '*', vmSize: Standard_X1}]\n",
    );
    let [(said, clusters)] = told(&compiled).try_into().expect("one finding");
    assert!(said.starts_with("o.yaml:7:37 N11 "), "{said}");
    assert_eq!(clusters, ALL);
}

#[test]
fn names_and_numbers_make_no_second_finding_of_it() {
    let compiled = with_overlay("  merge:\n    network: {podCIDR: 10.0.0.0/8}\n");
    let told = told(&compiled);
    let machine: Vec<_> = told
        .iter()
        .filter(|(said, _)| said.contains("overlaps the machine network"))
        .collect();
    assert_eq!(machine.len(), 1, "{told:#?}");
    assert_eq!(machine[0].1, ALL);
}

#[test]
fn a_patch_that_fails_on_many_objects_is_told_once() {
    let patch = "  patches:\n  - target: {kind: AROMachinePool}\n    json6902: [{op: remove, path: /none}]\n";
    let compiled = with_overlay(patch);
    let expected = "o.yaml:7:16 O02 there is nothing at `/none`".to_owned();
    assert_eq!(told(&compiled), [(expected, ALL.to_owned())]);
}

#[test]
fn findings_of_definitions_stay_one_for_each() {
    let bad = |name| definition(name, "tags: {}").replace("_D4s", "_X1");
    let compiled = compile(&tree([("a.yaml", bad("one")), ("b.yaml", bad("two"))]), &[]);
    let told = told(&compiled);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().all(|(_, clusters)| clusters.is_empty()));
}
