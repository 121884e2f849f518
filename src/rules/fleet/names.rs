//! F01 to F03: names that must be unique.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::kinds::{KEYVAULT, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::model::{Finding, ObjectId, Path, message};
use crate::rules::arm::{ArmId, POLICY, Resource, World};

/// F01: no two objects are the same resource in Azure, unless all but one only read it. Resources inside of
/// such a resource are not reported again.
pub(in crate::rules) fn a_resource_is_one_object(world: &World<'_>) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut again = Vec::new();
    for resource in world.all().filter(|resource| !resource.is_read_only()) {
        let Some(id) = world.name_of(resource) else {
            continue;
        };
        let key = id.clone().named_in(&resource.id.namespace);
        if let Some(before) = first.get(&key) {
            again.push((id, resource, *before));
        } else {
            first.insert(key, resource);
        }
    }
    let ids: BTreeSet<ArmId> = again.iter().map(|(id, ..)| id.clone()).collect();
    let outermost = again
        .into_iter()
        .filter(|(id, ..)| !ids.contains(&id.around()) || id.provider.is_empty());
    let finding = |(id, resource, before): (ArmId, &Resource<'_>, &Resource<'_>)| {
        let name = resource.azure_name();
        if let (Some(user), Some(other)) = (user_of_pool(resource), user_of_pool(before)) {
            return pool_serves_one(&id.group, resource, user, other);
        }
        let message = message!(
            "{resource} and {before} are the same resource in Azure, {id}",
            resource = resource.id,
            before = before.id,
            id
        );
        let finding = name.finding("F01", message);
        finding.help(format!(
            "set another azureName, or annotate the one that only reads it with `{POLICY}: skip`"
        ))
    };
    let mut findings: Vec<Finding> = outermost.map(finding).collect();
    // A pool has thirteen identities, and one finding is enough.
    findings.dedup();
    findings
}

/// The definition that uses an identity of a pool, as named by `managedIdentities`.
fn user_of_pool<'a>(resource: &Resource<'a>) -> Option<&'a ObjectId> {
    let identity = resource.id.is(MANAGED_IDENTITY, "UserAssignedIdentity");
    let definition = resource.carrier.definition.as_ref();
    definition.filter(|_| identity && resource.is_detached())
}

fn pool_serves_one(
    pool: &str,
    identity: &Resource<'_>,
    user: &ObjectId,
    other: &ObjectId,
) -> Finding {
    let (namespace, name) = (&other.namespace, &other.name);
    let message = message!(
        "{namespace}/{name} already uses the identities of `{pool}`: a pool serves only one cluster",
        namespace,
        name,
        pool
    );
    let finding = identity.azure_name().finding("F01", message);
    let help = "name a resource group with other identities, or remove managedIdentities";
    let field = Path::dotted("spec.managedIdentities.resourceGroup");
    finding.of(user).field(&field).help(help)
}

/// F02: clusters in the same location have different DNS prefixes.
pub(in crate::rules) fn domain_prefixes_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut findings = Vec::new();
    for cluster in world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") {
        let field = cluster.field("spec.properties.dns.baseDomainPrefix");
        let location = cluster.field("spec.location");
        let (Some(prefix), Some(location)) = (field.text(), location.text()) else {
            continue;
        };
        let key = (
            location.replace(' ', "").to_lowercase(),
            prefix.to_lowercase(),
        );
        let before = first.entry(key).or_insert(cluster);
        if before.id != cluster.id {
            let message = message!(
                "{before} in {location} already has the DNS prefix {prefix}",
                before = before.id,
                location,
                prefix
            );
            findings.push(
                field
                    .finding("F02", message)
                    .help("choose another prefix, or remove it"),
            );
        }
    }
    findings
}

/// F03: vault names are globally unique.
pub(in crate::rules) fn vault_names_are_apart(world: &World<'_>) -> Vec<Finding> {
    let mut first = BTreeMap::new();
    let mut findings = Vec::new();
    let vaults = world.of_kind(KEYVAULT, "Vault");
    for vault in vaults.filter(|vault| !vault.is_read_only()) {
        let field = vault.azure_name();
        let name = field.text().unwrap_or_default().to_lowercase();
        let before = first.entry(name).or_insert(vault);
        let apart = before.id != vault.id && world.name_of(before) != world.name_of(vault);
        if apart {
            let message = message!(
                "{before} already has this name, and vault names are globally unique",
                before = before.id
            );
            findings.push(field.finding("F03", message).help("set another azureName"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Object;

    fn reported(yaml: &str) -> Vec<String> {
        let (documents, findings) = crate::yaml::read(&Arc::from("test.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is sound");
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let found = |objects: &[Object]| a_resource_is_one_object(&World::of(objects));
        let findings = crate::rules::found_in(&objects, found).into_iter();
        let objects = findings.filter_map(|finding| finding.object);
        objects.map(|id| id.to_string()).collect()
    }

    /// A resource group, and a network in it.
    fn group(name: &str, namespace: &str) -> String {
        format!(
            "---\n{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{azureName: Shared}}}}\n---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: {name}-net, namespace: {namespace}}}, spec: {{azureName: net, owner: {{name: {name}}}}}}}\n"
        )
    }

    #[test]
    fn what_is_in_a_group_that_is_there_twice_is_not_told_again() {
        let twice = group("a", "one") + &group("b", "one");
        assert_eq!(reported(&twice), ["ResourceGroup/one/b"]);
        let own = twice.replacen("azureName: Shared", "azureName: own", 1);
        assert_eq!(reported(&own), [""; 0]);
        let elsewhere = group("a", "one") + &group("b", "two");
        assert_eq!(
            reported(&elsewhere),
            [""; 0],
            "another namespace may be another subscription"
        );
    }
}
