//! Rules age: what each version of Azure's API asks for, and what becomes of one that is not known yet.

use std::collections::BTreeSet;

use super::super::fixture::{by_hand, found, overlay};
use super::{CLUSTER, at, defined_in};

/// The fleet written by hand in this version of the API.
fn written_in(version: &str) -> String {
    by_hand().replace(
        "redhatopenshift.azure.com/v1api20260630preview",
        &format!("redhatopenshift.azure.com/{version}"),
    )
}

/// The versions with an integration subnet.
const NEWER: [&str; 3] = [
    "2025-12-23-preview",
    "2026-06-30-preview",
    "2026-09-01-preview",
];

fn as_set(marks: &[&str]) -> BTreeSet<String> {
    marks.iter().map(|mark| (*mark).to_owned()).collect()
}

#[test]
fn each_version_has_its_own_rules() {
    let over = |version: &str, names: &str, value: &str| {
        found(
            &defined_in(version),
            &overlay(CLUSTER, &at(CLUSTER, names, value).patch),
            "",
        )
    };
    let private = |version| over(version, "api.visibility", "Private");
    assert_eq!(private("2024-06-10-preview"), as_set(&["11 C17"]));
    for version in NEWER {
        assert_eq!(private(version), as_set(&[]), "{version}");
    }
    let without_subnet = |version| over(version, "platform.vnetIntegrationSubnetReference", "null");
    assert_eq!(without_subnet("2024-06-10-preview"), as_set(&[]));
    for version in NEWER {
        assert_eq!(
            without_subnet(version),
            as_set(&["elsewhere C50"]),
            "{version}"
        );
    }
}

#[test]
fn an_unknown_version_is_held_to_the_newest_rules_with_one_warning() {
    let wrong = overlay(
        CLUSTER,
        &at(CLUSTER, "platform.vnetIntegrationSubnetReference", "null").patch,
    );
    let newer = written_in("v20270101preview");
    assert_eq!(found(&newer, "", ""), as_set(&["elsewhere C49"]));
    assert_eq!(
        found(&newer, &wrong, ""),
        as_set(&["elsewhere C50", "elsewhere C49"])
    );
    let findings = super::super::fixture::compiled(&[("base.yaml", &newer)])
        .checked
        .findings;
    let reported = findings.iter().filter(|finding| finding.id == "C49");
    let reported: Vec<_> = reported.map(|finding| finding.severity).collect();
    assert_eq!(
        reported,
        [capstan::model::Severity::Warning],
        "once for all resources"
    );
    // Both ways of writing a version that is known.
    for known in [
        "v20260630preview",
        "v1api20260630preview",
        "v20260901preview",
        "v1api20260901preview",
    ] {
        assert_eq!(found(&written_in(known), "", ""), as_set(&[]), "{known}");
    }
}
