//! A cluster that is written for the previous contract of Cluster API: one warning for each object, and as ready in
//! the end as any other.

use capstan::adapters::azure_sim::Options;
use capstan::cli::Rehearsal;
use capstan::model::Severity;
use capstan::plan::ApplySet;

use super::fixture::{by_hand, compiled};
use crate::real;

/// The same manifests in v1beta1: references have `apiVersion` instead of `apiGroup`.
fn older(manifests: &str) -> String {
    let lines = manifests.lines().map(|line| {
        if line == "apiVersion: cluster.x-k8s.io/v1beta2" {
            return line.replace("v1beta2", "v1beta1");
        }
        match line.split_once("apiGroup: ") {
            Some((before, group)) => format!("{before}apiVersion: {group}/v1beta2"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// The ids of the errors and warnings, in order.
fn reported(manifests: &str) -> Vec<&'static str> {
    let findings = compiled(&[("a.yaml", manifests)])
        .checked
        .findings
        .into_iter();
    let counts = findings.filter(|finding| finding.severity != Severity::Info);
    let mut ids: Vec<_> = counts.map(|finding| finding.id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn the_previous_contract_is_a_warning_and_nothing_else() {
    let manifests = older(&by_hand());
    assert_eq!(reported(&manifests), ["S07", "S07"], "{manifests}");
    for sample in ["2025-12-23", "2026-09-01"] {
        let path = format!("samples/aro-hcp-{sample}/aro.yaml");
        let Some(file) = real::shared(&path) else {
            continue;
        };
        let text = std::fs::read_to_string(file).expect("readable");
        let mut expected = reported(&text);
        expected.extend(["S07", "S07"]);
        expected.sort_unstable();
        assert_eq!(reported(&older(&text)), expected, "{sample}");
    }
}

#[test]
fn a_cluster_of_the_previous_contract_rehearses_to_ready() {
    let compiled = compiled(&[("a.yaml", &older(&by_hand()))]);
    let set = ApplySet::new("test", "default");
    let held = Rehearsal::hold(&compiled, &set, &Options::default(), |server| server);
    let rehearsal = held.expect("it runs");
    assert!(rehearsal.is_ready(), "{}", rehearsal.text(&compiled.graph));
}
