//! C01, C02, C11, C21 and C22: the location of a cluster, and the names of it and its parts.

use super::fields::missing;
use crate::model::{Finding, message};
use crate::rules::arm::{Resource, World};
use crate::rules::azure_name::{self, Limits};

/// C01: a cluster has a location.
pub(in crate::rules) fn location(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = missing("C01", &cluster.field("spec.location"));
    fault
        .map(|finding| finding.help("write an Azure region such as uksouth"))
        .into_iter()
        .collect()
}

const NAMES: Limits = Limits {
    id: "C02",
    most: 54,
    least_in_older: 3,
};

/// C02: the Azure name is valid in Azure and ASO.
pub(in crate::rules) fn name(world: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    azure_name::fault(&NAMES, world, cluster)
        .into_iter()
        .collect()
}

/// C11: the domain prefix is a short DNS label.
pub(in crate::rules) fn domain_prefix(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field("spec.properties.dns.baseDomainPrefix");
    let Some(text) = field.text().filter(|text| !text.is_empty()) else {
        return Vec::new();
    };
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let first = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    let whole = text.bytes().all(|byte| lower(byte) || byte == b'-') && !text.ends_with('-');
    if first && whole && text.len() <= 15 {
        return Vec::new();
    }
    let message = message!(
        "{name} {text:?} is not a valid DNS label",
        name = field.name(),
        text
    );
    let help = "use at most 15 lower-case letters, digits and `-`; start with a letter and do not end with `-`";
    vec![field.finding("C11", message).help(help)]
}

/// C21: the managed resource group has a valid name.
pub(in crate::rules) fn managed_group(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field("spec.properties.platform.managedResourceGroup");
    let help = "name a resource group that does not exist yet: Azure creates it, and without a name generates a new one at every write";
    if let Some(finding) = missing("C21", &field) {
        return vec![finding.help(help)];
    }
    let name = field.text().unwrap_or_default();
    if is_group_name(name) {
        return Vec::new();
    }
    let message = message!(
        "managedResourceGroup {name:?} is not a valid name for a resource group",
        name
    );
    let help =
        "use at most 90 letters, digits, `_`, `-`, `.`, `(` and `)`, and do not end with `.`";
    vec![field.finding("C21", message).help(help)]
}

/// Whether a resource group can have this name: 1 to 90 characters, by Azure's naming rules.
fn is_group_name(name: &str) -> bool {
    let fits = |char: char| char.is_alphanumeric() || "_-.()".contains(char);
    (1..=90).contains(&name.chars().count()) && name.chars().all(fits) && !name.ends_with('.')
}

/// C22: the managed resource group is not the cluster's own.
pub(in crate::rules) fn managed_group_is_apart(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = cluster.field("spec.properties.platform.managedResourceGroup");
    let own = world.name_of(cluster).map(|id| id.group.clone());
    let name = field.text().map(str::to_lowercase);
    if name.is_none() || own != name {
        return Vec::new();
    }
    let message = "managedResourceGroup is the cluster's own resource group";
    let help = "name another one, which Azure creates and manages";
    vec![field.finding("C22", message).help(help)]
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    #[test]
    fn names_are_valid_in_azure_and_aso() {
        let faults = |text: &str| findings_of(name, &format!("{{azureName: {text:?}}}")).len();
        for text in ["abc", "my-cluster-1", "MyCluster", &"a".repeat(54)] {
            assert_eq!(faults(text), 0, "{text}");
        }
        let long = "a".repeat(55);
        for text in ["", "a", "$", "-garbage", "1cluster", "my-cluster-", &long] {
            assert_eq!(faults(text), 1, "{text}");
        }
    }

    #[test]
    fn domains_start_with_a_label() {
        let faults = |text: &str| {
            let spec = format!("{{properties: {{dns: {{baseDomainPrefix: {text:?}}}}}}}");
            findings_of(domain_prefix, &spec).len()
        };
        let bad = ["Invalid-Name", "0badlabel", "this-domain-is-too-long", "a-"];
        assert_eq!(bad.map(faults), [1; 4]);
        assert_eq!(["a", "a-1", "fifteen-letters"].map(faults), [0; 3]);
    }

    #[test]
    fn managed_groups_have_valid_names() {
        let faults = |text: &str| {
            let spec = format!("{{properties: {{platform: {{managedResourceGroup: {text:?}}}}}}}");
            findings_of(managed_group, &spec).len()
        };
        for text in ["valid.name(test)", &"x".repeat(90), "grüße"] {
            assert_eq!(faults(text), 0, "{text}");
        }
        for text in ["invalid-name.", "invalid$name", &"x".repeat(91), ""] {
            assert_eq!(faults(text), 1, "{text}");
        }
        assert_eq!(findings_of(managed_group, "{}").len(), 1);
    }
}
