//! C12, C17, C19, C20, C30, C39, C40 and C45: fields with few allowed values, and numbers.

use crate::api::arm_version::ArmVersion;
use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording::{one_of, out_of};

/// A finding if a required text is missing.
pub(super) fn missing(id: &'static str, field: &Field<'_>) -> Option<Finding> {
    let name = field.name();
    let (why, help) = match field.text() {
        Some("") => ("is empty", format!("write a value for {name}")),
        Some(_) => return None,
        None if field.is_given() => ("must be a string", "put it in quotes".to_owned()),
        None => ("is missing", format!("add {name}")),
    };
    Some(field.finding(id, message!("{name} {why}", name)).help(help))
}

/// The API version whose rules apply to a resource: its own, or the newest known one (C49).
pub(super) fn arm_version(resource: &Resource<'_>) -> ArmVersion {
    let newest = ArmVersion::ALL.last().copied().unwrap_or_default();
    ArmVersion::from_aso(&resource.version).unwrap_or(newest)
}

fn property(
    id: &'static str,
    cluster: &Resource<'_>,
    name: &str,
    allowed: &[&str],
) -> Vec<Finding> {
    let field = cluster.field(format!("spec.properties.{name}"));
    one_of(&field, id, allowed).into_iter().collect()
}

/// C12: the network type is a known one.
pub(in crate::rules) fn network_type(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let allowed = ["OVNKubernetes", "Other"];
    property("C12", cluster, "network.networkType", &allowed)
}

/// C17: the API is public or private, and private only if the API version has an integration subnet.
pub(in crate::rules) fn visibility(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field("spec.properties.api.visibility");
    let without_subnet = !arm_version(cluster).has_integration_subnet();
    if field.text() == Some("Private") && without_subnet {
        let message = message!(
            "a private API needs an integration subnet, which API version {version} does not have",
            version = cluster.version
        );
        let help = "use 2025-12-23-preview or later";
        return vec![field.finding("C17", message).help(help)];
    }
    property("C17", cluster, "api.visibility", &["Public", "Private"])
}

/// C19: ingress is public or private.
pub(in crate::rules) fn ingress_type(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    property("C19", cluster, "ingress.type", &["Public", "Private"])
}

/// C20: the only cryptographic restriction is FIPS.
pub(in crate::rules) fn crypto_restrictions(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    property("C20", cluster, "cryptoRestrictions", &["None", "FIPS"])
}

/// C30: outbound traffic goes through a load balancer.
pub(in crate::rules) fn outbound_type(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    property("C30", cluster, "platform.outboundType", &["LoadBalancer"])
}

/// C45: the image registry is on or off.
pub(in crate::rules) fn registry_state(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let allowed = ["Enabled", "Disabled"];
    property("C45", cluster, "clusterImageRegistry.state", &allowed)
}

/// C39: `0 <= nodeDrainTimeoutMinutes <= 10080`.
pub(in crate::rules) fn drain_limit(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field("spec.properties.nodeDrainTimeoutMinutes");
    out_of(&field, "C39", 0..=10_080, "").into_iter().collect()
}

/// C40: the numbers of the autoscaler are in range.
pub(in crate::rules) fn autoscaling(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    const RANGES: [(&str, i64, i64); 3] = [
        ("maxNodesTotal", 0, 500),
        ("maxPodGracePeriodSeconds", 1, i64::MAX),
        ("maxNodeProvisionTimeSeconds", 1, i64::MAX),
    ];
    let block = cluster.field("spec.properties.autoscaling");
    let ranges = RANGES
        .iter()
        .filter_map(|(name, least, most)| out_of(&block.key(name), "C40", *least..=*most, ""));
    let threshold = block.key("podPriorityThreshold");
    let zero = (threshold.number() == Some(0)).then(|| {
        let message = "podPriorityThreshold is 0, which Azure reads as no value and rejects";
        let help = "write any other number, such as -10, or remove it: the default is -10";
        threshold.finding("C40", message).help(help)
    });
    ranges.chain(zero).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn numbers_are_in_azures_ranges() {
        let drain = |minutes: i64| {
            let spec = format!("{{properties: {{nodeDrainTimeoutMinutes: {minutes}}}}}");
            findings_of(drain_limit, &spec).len()
        };
        assert_eq!([-1, 0, 10_080, 10_081].map(drain), [1, 0, 0, 1]);
        for (fields, faults) in [
            ("maxNodesTotal: 0", 0),
            ("maxNodesTotal: 500", 0),
            ("maxNodesTotal: 501", 1),
            ("maxNodesTotal: -1", 1),
            ("maxPodGracePeriodSeconds: -1", 1),
            ("maxPodGracePeriodSeconds: 1", 0),
            ("maxNodeProvisionTimeSeconds: 0", 1),
            ("podPriorityThreshold: 0", 1),
            ("podPriorityThreshold: -10", 0),
        ] {
            let spec = format!("{{properties: {{autoscaling: {{{fields}}}}}}}");
            assert_eq!(findings_of(autoscaling, &spec).len(), faults, "{fields}");
        }
    }

    #[test]
    fn a_wrong_value_is_reported_with_the_right_ones() {
        let spec = "{properties: {ingress: {type: Disabled}}}";
        let expected = "type must be Public or Private, not \"Disabled\"";
        assert_eq!(findings_of(ingress_type, spec), [expected]);
        assert_eq!(findings_of(ingress_type, "{}"), [] as [&str; 0]);
    }
}
