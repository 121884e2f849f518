//! C01, C02, C11, C21 and C22: where a cluster is, and what it and its parts are called.

use std::sync::OnceLock;

use regex::Regex;

use super::fields::missing;
use crate::model::Finding;
use crate::rules::arm::{Resource, World};

/// C01: a cluster is somewhere.
pub(in crate::rules) fn location(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let fault = missing("C01", &cluster.field("spec.location"));
    fault
        .map(|finding| finding.help("write an Azure region such as uksouth"))
        .into_iter()
        .collect()
}

/// C02: the name in Azure is one that Azure and ASO take.
pub(in crate::rules) fn name(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let azure = cluster.field("spec.azureName");
    let (field, name) = match azure.text() {
        Some(name) => (azure, name),
        None => (cluster.field("metadata.name"), cluster.id.name.as_str()),
    };
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    let last = name
        .bytes()
        .last()
        .is_some_and(|b| b.is_ascii_alphanumeric());
    let expanded = cluster.carrier.definition.is_some() && name == cluster.id.name;
    // X01 says already which name of a definition is too long.
    let length = (3..=54).contains(&name.len()) || expanded && name.len() > 54;
    if first && last && length && name.bytes().all(inner) {
        return Vec::new();
    }
    let message = format!("{name:?} cannot be the name of a cluster in Azure");
    let help =
        "use 3 to 54 letters, digits and `-`, with a letter first and a letter or digit last";
    vec![field.finding("C02", message).help(help)]
}

/// C11: the prefix of the domain is a short label.
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
    let message = format!("baseDomainPrefix {text:?} cannot begin the name of a domain");
    let help = "use at most 15 lower-case letters, digits and `-`, with a letter first and no `-` at the end";
    vec![field.finding("C11", message).help(help)]
}

/// C21: the resource group that Azure manages is named.
pub(in crate::rules) fn managed_group(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern =
        PATTERN.get_or_init(|| Regex::new(r"^[\p{L}\p{N}_\-.()]{0,89}[\p{L}\p{N}_\-()]$").ok());
    let field = cluster.field("spec.properties.platform.managedResourceGroup");
    // X01 says already which name of a definition is too long.
    let expanded = cluster.carrier.definition.is_some();
    let told = |name: &str| expanded && name.len() > 90 && name.starts_with("capz_node_");
    let help = "name a resource group that does not exist yet: Azure makes it, and makes up a new name at every write when there is none";
    if let Some(finding) = missing("C21", &field) {
        return vec![finding.help(help)];
    }
    let name = field.text().unwrap_or_default();
    if told(name)
        || pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(name))
    {
        return Vec::new();
    }
    let message = format!("managedResourceGroup {name:?} cannot be the name of a resource group");
    let help = "use at most 90 letters, digits, `_`, `-`, `.`, `(` and `)`, and no `.` at the end";
    vec![field.finding("C21", message).help(help)]
}

/// C22: the managed resource group is not that of the cluster.
pub(in crate::rules) fn managed_group_is_apart(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = cluster.field("spec.properties.platform.managedResourceGroup");
    let own = world.name_of(cluster).map(|id| id.group);
    let name = field.text().map(str::to_lowercase);
    if name.is_none() || own != name {
        return Vec::new();
    }
    let message = "managedResourceGroup is the resource group that the cluster itself is in";
    let help = "name another one, which Azure makes and keeps for itself";
    vec![field.finding("C22", message).help(help)]
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    #[test]
    fn names_are_those_that_azure_and_aso_both_take() {
        let faults = |text: &str| said(name, &format!("{{azureName: {text:?}}}")).len();
        for text in ["abc", "my-cluster-1", "MyCluster", &"a".repeat(54)] {
            assert_eq!(faults(text), 0, "{text}");
        }
        let long = "a".repeat(55);
        for text in ["", "a", "$", "-garbage", "1cluster", "my-cluster-", &long] {
            assert_eq!(faults(text), 1, "{text}");
        }
    }

    #[test]
    fn domains_begin_with_a_label() {
        let faults = |text: &str| {
            let spec = format!("{{properties: {{dns: {{baseDomainPrefix: {text:?}}}}}}}");
            said(domain_prefix, &spec).len()
        };
        let bad = ["Invalid-Name", "0badlabel", "this-domain-is-too-long", "a-"];
        assert_eq!(bad.map(faults), [1; 4]);
        assert_eq!(["a", "a-1", "fifteen-letters"].map(faults), [0; 3]);
    }

    #[test]
    fn managed_groups_have_names_of_resource_groups() {
        let faults = |text: &str| {
            let spec = format!("{{properties: {{platform: {{managedResourceGroup: {text:?}}}}}}}");
            said(managed_group, &spec).len()
        };
        for text in ["valid.name(test)", &"x".repeat(90), "grüße"] {
            assert_eq!(faults(text), 0, "{text}");
        }
        for text in ["invalid-name.", "invalid$name", &"x".repeat(91), ""] {
            assert_eq!(faults(text), 1, "{text}");
        }
        assert_eq!(said(managed_group, "{}").len(), 1);
    }
}
