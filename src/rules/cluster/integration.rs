//! C26 and C50 to C52: the subnet through which Azure reaches the nodes, what needs it, and the tag that goes
//! without it (facts/aro-2026-09-01.md §1.2).

use super::encryption::KMS;
use super::fields::arm_version;
use super::reference::names_something;
use crate::model::{Finding, message};
use crate::rules::arm::{Field, Resource, World};

/// The reference to the subnet.
pub(super) const SUBNET: &str = "vnetIntegrationSubnetReference";
/// The tag that goes without it, in any case.
pub(super) const TAG: &str = "aro-hcp.experimental.cluster.disable-swift";

fn subnet<'a>(cluster: &'a Resource<'a>) -> Field<'a> {
    cluster.field("spec.properties.platform").key(SUBNET)
}

/// The tag and its value. Azure ignores it in subscriptions without the feature.
fn tag<'a>(world: &World<'_>, cluster: &'a Resource<'a>) -> Option<(&'a str, Field<'a>)> {
    let tags = cluster.field("spec.tags");
    let mut tags = tags.entries().filter(|_| world.experimental);
    tags.find(|(key, _)| key.eq_ignore_ascii_case(TAG))
}

/// Whether a cluster has no integration subnet, and a tag allows that.
pub(super) fn is_disabled(world: &World<'_>, cluster: &Resource<'_>) -> bool {
    let is_on = tag(world, cluster).is_some_and(|(_, value)| value.text() == Some("true"));
    is_on && subnet(cluster).node.is_none()
}

/// C26: the reference to the integration subnet names one. C50: a cluster has one, unless a tag disables it.
pub(in crate::rules) fn integration_subnet_is_given(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = subnet(cluster);
    let has_one = names_something(&field) || is_disabled(world, cluster);
    if has_one || !arm_version(cluster).has_integration_subnet() {
        return Vec::new();
    }
    let (id, message) = match field.node {
        Some(_) => ("C26", message!("{SUBNET} names no subnet")),
        None => (
            "C50",
            message!("{SUBNET} is missing: Azure reaches the nodes through it"),
        ),
    };
    let help = "name a subnet of the cluster's virtual network that is delegated to Microsoft.RedHatOpenShift/hcpOpenShiftClusters";
    vec![field.finding(id, message).help(help)]
}

/// C17 and C51: a private API and a private vault need the integration subnet, even if a tag disables it.
pub(in crate::rules) fn private_endpoints_are_reached(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    if !is_disabled(world, cluster) {
        return Vec::new();
    }
    let vault = cluster.field(KMS).key("visibility");
    let api = cluster.field("spec.properties.api.visibility");
    let needs = [
        ("C17", api, "a private API"),
        ("C51", vault, "a private key vault"),
    ];
    let private = needs
        .into_iter()
        .filter(|(_, field, _)| field.text() == Some("Private"));
    let finding = |(id, field, what): (&'static str, Field<'_>, &str)| {
        let message = message!(
            "{what} needs an integration subnet, and the cluster has none",
            what
        );
        let help = format!("write `Public`, or name a subnet in {SUBNET} and remove the tag {TAG}");
        field.finding(id, message).help(help)
    };
    private.map(finding).collect()
}

/// C52: the tag is exactly `true` or `false`, and a cluster with the subnet does not disable it.
pub(in crate::rules) fn tag_fits_the_subnet(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let Some((key, value)) = tag(world, cluster) else {
        return Vec::new();
    };
    let (message, help) = match value.text() {
        Some("true") if subnet(cluster).is_given() => (
            message!(
                "the tag {key} is true, but the cluster has an integration subnet",
                key
            ),
            "remove the tag; a cluster has the subnet from its creation on, or never",
        ),
        Some("true" | "false") => return Vec::new(),
        Some(text) => (
            message!(
                "the tag {key} must be exactly true or false, not {text:?}",
                key,
                text
            ),
            "write \"true\" or \"false\", in quotes",
        ),
        None => (
            message!("the tag {key} must be a string", key),
            "write \"true\" or \"false\", in quotes",
        ),
    };
    vec![value.finding("C52", message).help(help)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Object;
    use crate::rules::ResourceRule;

    const RULES: [ResourceRule; 3] = [
        integration_subnet_is_given,
        private_endpoints_are_reached,
        tag_fits_the_subnet,
    ];
    const GIVEN: &str = "platform: {vnetIntegrationSubnetReference: {armId: /x}}";
    const OPEN: &str = "platform: {}";

    /// The ids of the findings for a cluster with these properties and this tag.
    fn found(version: &str, experimental: bool, properties: &str, tag: &str) -> Vec<&'static str> {
        let yaml = format!(
            "apiVersion: redhatopenshift.azure.com/{version}\nkind: HcpOpenShiftCluster\nmetadata: {{name: one}}\nspec: {{tags: {{{tag}}}, properties: {{{properties}}}}}\n"
        );
        let path = std::sync::Arc::from("test.yaml");
        let (mut documents, findings) = crate::yaml::read(&path, yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is sound");
        let objects = [Object::from_node(documents.remove(0), "default").expect("an object")];
        let mut world = World::of(&objects);
        world.experimental = experimental;
        let cluster = world.all().next().expect("a cluster");
        let found = RULES.iter().flat_map(|rule| rule(&world, cluster));
        found.map(|finding| finding.id).collect()
    }

    fn now(experimental: bool, properties: &str, tag: &str) -> Vec<&'static str> {
        found("v1api20251223preview", experimental, properties, tag)
    }

    #[test]
    fn only_the_tag_with_the_feature_goes_without_the_subnet() {
        let tag = |value: &str| format!("{TAG}: {value}");
        let upper = format!("{}: \"true\"", TAG.to_uppercase());
        for (experimental, properties, tag, expected) in [
            (false, GIVEN, String::new(), &[][..]),
            (false, OPEN, String::new(), &["C50"]),
            (true, OPEN, String::new(), &["C50"]),
            (false, OPEN, tag("\"true\""), &["C50"]),
            (true, OPEN, tag("\"false\""), &["C50"]),
            (true, OPEN, tag("\"true\""), &[]),
            (true, OPEN, upper, &[]),
            (true, GIVEN, tag("\"true\""), &["C52"]),
            (true, GIVEN, tag("\"false\""), &[]),
            (false, GIVEN, tag("\"yes\""), &[]),
            (true, GIVEN, tag("\"TRUE\""), &["C52"]),
            (true, GIVEN, tag("\" true \""), &["C52"]),
            (true, GIVEN, tag("\"\""), &["C52"]),
            (true, GIVEN, tag("true"), &["C52"]),
            (true, OPEN, tag("\"yes\""), &["C50", "C52"]),
        ] {
            let found = now(experimental, properties, &tag);
            assert_eq!(found, expected, "{experimental} {properties} {tag}");
        }
        assert_eq!(found("v1api20240610preview", false, OPEN, ""), [""; 0]);
    }

    #[test]
    fn a_reference_that_names_nothing_is_not_absent() {
        for reference in ["null", "{}", "{armId: \"\"}"] {
            let properties = format!("platform: {{{SUBNET}: {reference}}}");
            assert_eq!(now(false, &properties, ""), ["C26"], "{reference}");
        }
    }

    #[test]
    fn what_is_private_needs_the_subnet_whatever_the_tag_says() {
        let api = "api: {visibility: Private}";
        let kms = "etcd: {dataEncryption: {customerManaged: {kms: {visibility: Private}}}}";
        let tag = format!("{TAG}: \"true\"");
        assert_eq!(now(true, api, &tag), ["C17"]);
        assert_eq!(now(true, kms, &tag), ["C51"]);
        assert_eq!(now(true, &format!("{api}, {kms}"), &tag), ["C17", "C51"]);
        // The missing subnet is the cause.
        assert_eq!(now(false, kms, &tag), ["C50"]);
        assert_eq!(now(true, &format!("{kms}, {GIVEN}"), ""), [""; 0]);
    }
}
