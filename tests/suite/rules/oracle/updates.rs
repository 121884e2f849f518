//! The updates of facts/aro-rules.md §5 that can be judged from two revisions of a fleet: what Azure fixes
//! when it makes a thing, and the versions that it takes after one another. What depends on what runs (C08, C10) is not
//! among them.

use super::super::fixture::{DEFINITION, changed, overlay};
use super::{AUTH, CLUSTER, Case, KEY, KEY_VERSION, POOL, VISIBILITY, at, defined_in};

/// How often U01 is reported when the field becomes `to` after having been `from`, over the fleet `base`.
fn refused(base: &str, kind: &'static str, names: &str, from: &str, to: &str) -> usize {
    let found = updated(base, kind, names, from, to);
    found.iter().filter(|id| *id == "U01").count()
}

/// The ids that are reported then.
fn updated(base: &str, kind: &'static str, names: &str, from: &str, to: &str) -> Vec<String> {
    let text = |value: &str| {
        let Case { kind, patch } = at(kind, names, value);
        overlay(kind, &patch)
    };
    let found = changed(base, &text(from), &text(to)).into_iter();
    let id = |found: String| found.rsplit(' ').next().unwrap_or_default().to_owned();
    found.map(id).collect()
}

#[test]
fn what_azure_fixes_stays() {
    for (kind, names, from, to) in [
        (CLUSTER, "spec.location", "uksouth", "ukwest"),
        (CLUSTER, "spec.azureName", "abc", "abd"),
        (CLUSTER, "network.podCidr", "10.128.0.0/14", "10.132.0.0/14"),
        (CLUSTER, "network.hostPrefix", "23", "24"),
        (CLUSTER, "platform.managedResourceGroup", "a", "b"),
        (CLUSTER, "platform.outboundType", "LoadBalancer", "Other"),
        (CLUSTER, "api.visibility", "Public", "Private"),
        (CLUSTER, "ingress.type", "Public", "Private"),
        (CLUSTER, "cryptoRestrictions", "None", "FIPS"),
        (CLUSTER, "clusterImageRegistry.state", "Enabled", "Disabled"),
        (CLUSTER, "dns.baseDomainPrefix", "shop-1", "shop-2"),
        (CLUSTER, VISIBILITY, "Public", "Private"),
        (CLUSTER, KEY, "a", "b"),
        (
            POOL,
            "platform.vmSize",
            "Standard_D4s_v3",
            "Standard_D8s_v3",
        ),
        (POOL, "platform.osDisk.sizeGiB", "64", "128"),
        (POOL, "autoRepair", "true", "false"),
        (AUTH, "spec.azureName", "one-ea", "two-ea"),
    ] {
        let times = refused(DEFINITION, kind, names, from, to);
        assert_eq!(times, 1, "{names} becomes {to}");
    }
    let older = defined_in("2025-12-23-preview");
    assert_eq!(refused(&older, CLUSTER, KEY_VERSION, "a", "b"), 1);
}

#[test]
fn what_azure_lets_change_may() {
    for (kind, names, from, to) in [
        (CLUSTER, "version.id", "\"4.20\"", "\"4.21\""),
        (CLUSTER, "version.channelGroup", "stable", "fast"),
        (CLUSTER, "api.authorizedCidrs", "[10.0.0.1]", "[10.0.0.2]"),
        (CLUSTER, "autoscaling.maxNodesTotal", "10", "20"),
        (CLUSTER, "nodeDrainTimeoutMinutes", "10", "20"),
        (CLUSTER, "spec.location", "uksouth", "UK South"),
        (POOL, "replicas", "1", "2"),
        (POOL, "version.id", "4.20.17", "4.20.18"),
        (
            POOL,
            "labels",
            "[{key: a, value: b}]",
            "[{key: a, value: c}]",
        ),
        (
            AUTH,
            "issuer.url",
            "https://a.example.com",
            "https://b.example.com",
        ),
        (AUTH, "issuer.audiences", "[app]", "[app, cli]"),
        (AUTH, "claim.mappings.username.claim", "oid", "email"),
    ] {
        let times = refused(DEFINITION, kind, names, from, to);
        assert_eq!(times, 0, "{names} becomes {to}");
    }
}

#[test]
fn a_key_is_rotated_where_the_api_knows_that() {
    for version in ["2026-06-30-preview", "2026-09-01-preview"] {
        let newer = defined_in(version);
        assert_eq!(refused(&newer, CLUSTER, KEY_VERSION, "a", "b"), 1);
        let newer = newer.replace("id: \"4.20\"", "id: \"4.22\"");
        assert_eq!(refused(&newer, CLUSTER, KEY_VERSION, "a", "b"), 0);
    }
}

#[test]
fn a_control_plane_goes_up_one_minor_version_at_a_time() {
    // C04 is about 5.0 without the feature for experimental releases.
    for (from, to, expected) in [
        ("4.21", "4.20", &["U05"][..]),
        ("4.20", "4.21", &[]),
        ("4.20", "4.22", &["U05"]),
        ("4.20", "4.23", &["N08", "U05"]),
        ("4.22", "5.0", &["C04"]),
        ("4.23", "5.1", &["C04"]),
        ("4.21", "5.0", &["C04", "U05"]),
        ("4.22", "5.1", &["C04", "U05"]),
        ("4.21", "6.0", &["C04", "U05"]),
        ("4.21", "four", &["C03"]),
    ] {
        let quoted = |version: &str| format!("\"{version}\"");
        let mut found = updated(
            DEFINITION,
            CLUSTER,
            "version.id",
            &quoted(from),
            &quoted(to),
        );
        found.sort();
        assert_eq!(found, expected, "{from} {to}");
    }
}

#[test]
fn a_node_pool_goes_up_two_minor_versions_at_a_time_and_down() {
    let newer = DEFINITION.replace("id: \"4.20\"", "id: \"4.23\"");
    let older = DEFINITION.replace("id: \"4.20\"", "id: \"4.22\"");
    for (base, from, to, expected) in [
        // N04 and N05 are N08: a pool fits its cluster.
        (&newer, "4.22.8", "4.24.0", &["N08", "U02"][..]),
        (&newer, "4.21.8", "4.20.8", &["N08", "U02"]),
        (&older, "4.21.8", "4.22.8", &["U02"]),
        (&newer, "4.20.8", "4.23.0", &["U06"]),
        (&newer, "4.21.8", "4.23.0", &["U02"]),
        (&newer, "4.23.0", "4.21.8", &["U02"]),
        (&newer, "4.20.8", "5.0.0", &["N08", "U06"]),
        (&newer, "4.20.8", "four", &["N02", "U02"]),
    ] {
        let mut found = updated(base, POOL, "version.id", from, to);
        found.sort();
        assert_eq!(found, expected, "{from} {to}");
    }
}
