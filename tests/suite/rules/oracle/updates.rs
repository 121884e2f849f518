//! The updates of facts/aro-rules.md §5 that can be judged from two revisions of a fleet: what Azure fixes
//! when it makes a thing. Those that depend on what runs (C07, C08, C10, N04 to N07) are not among them.

use super::super::fixture::{DEFINITION, changed, overlay};
use super::{AUTH, CLUSTER, Case, KEY, KEY_VERSION, POOL, VISIBILITY, at, defined_in};

/// How often U01 is reported when the field becomes `to` after having been `from`, over the fleet `base`.
fn refused(base: &str, kind: &'static str, names: &str, from: &str, to: &str) -> usize {
    let text = |value: &str| {
        let Case { kind, patch } = at(kind, names, value);
        overlay(kind, &patch)
    };
    let found = changed(base, &text(from), &text(to));
    found.iter().filter(|found| found.ends_with(" U01")).count()
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
