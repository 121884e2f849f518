//! K02 and K09: what a private vault needs around it, and who has to reach it.

use std::collections::{HashMap, HashSet};

use super::kept::{Kept, kept};
use crate::api::aro_control_plane::identity_ref;
use crate::api::kinds::NETWORK;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{ArmId, Field, Resource, World};

/// The beginning of the DNS zone of private vaults; its end differs between Azure's clouds.
const ZONE: &str = "privatelink.vaultcore.";

/// K02: the vault of a cluster that reads its key privately has a private endpoint in the cluster's network, with its
/// name in DNS, and no public access. What is missing may exist outside of the fleet.
pub(super) fn private_vaults_have_an_endpoint(world: &World<'_>) -> Vec<Finding> {
    let private = kept(world).filter(|one| one.visibility().text() == Some("Private"));
    let ways = Ways::of(world);
    let fault = |one: Kept<'_>| {
        let missing = missing(world, &ways, &one);
        let list = match missing.as_slice() {
            [] => return None,
            [one] => (*one).to_owned(),
            [all @ .., last] => format!("{} and {last}", all.join(", ")),
        };
        let message = message!(
            "the vault {vault} is to be reached privately, but the fleet lacks {list}",
            vault = one.vault_name,
            list
        );
        let help = "add what is missing; if it exists outside of the fleet, allow this warning with the reason";
        Some(one.visibility().finding("K02", message).help(help))
    };
    private.filter_map(fault).collect()
}

/// K09: with an identityRef the controllers create the key, and read it from then on, through the private endpoint. No file
/// says whether they reach it.
pub(super) fn private_vaults_are_reached_by_controllers(world: &World<'_>) -> Vec<Finding> {
    let private = kept(world).filter(|one| one.visibility().text() == Some("Private"));
    let asked = private.filter(|one| identity_ref(one.cluster.carrier).is_some());
    let warning = |one: Kept<'_>| {
        let message = message!(
            "with identityRef, the controllers create the key in the vault {vault} through its private endpoint, which they must reach",
            vault = one.vault_name
        );
        let help = "run them where they reach the endpoint and resolve its name, and allow this warning with that reason; or create the key yourself and set its version, without identityRef";
        one.visibility().finding("K09", message).help(help)
    };
    asked.map(warning).collect()
}

/// What leads to vaults privately.
struct Ways {
    /// The endpoints, by the names of the vaults that they connect to.
    endpoints: HashMap<String, Vec<Endpoint>>,
    /// The networks in which the names of private vaults are known.
    linked: HashSet<Option<ArmId>>,
}

#[derive(Clone)]
struct Endpoint {
    /// The network that it is in, if that can be resolved.
    network: Option<ArmId>,
    /// Whether it has a group of DNS zones.
    has_group: bool,
}

impl Ways {
    fn of(world: &World<'_>) -> Self {
        let groups = world.of_kind(NETWORK, "PrivateEndpointsPrivateDnsZoneGroup");
        let named: HashSet<&ObjectId> = groups
            .filter_map(|group| Some(&world.owner(group)?.id))
            .collect();
        let mut endpoints: HashMap<String, Vec<Endpoint>> = HashMap::new();
        for endpoint in world.of_kind(NETWORK, "PrivateEndpoint") {
            let subnet = endpoint.field("spec.subnet.reference");
            let one = Endpoint {
                network: world.referred(endpoint, &subnet).and_then(|id| id.parent()),
                has_group: named.contains(&endpoint.id),
            };
            for vault in reached(world, endpoint) {
                endpoints.entry(vault).or_default().push(one.clone());
            }
        }
        let links = world.of_kind(NETWORK, "PrivateDnsZonesVirtualNetworkLink");
        let links = links.filter(|link| is_of_zone(world, link));
        let to = |link: &Resource<'_>| {
            world.referred(link, &link.field("spec.virtualNetwork.reference"))
        };
        Self {
            endpoints,
            linked: links.map(to).collect(),
        }
    }
}

fn missing(world: &World<'_>, ways: &Ways, one: &Kept<'_>) -> Vec<&'static str> {
    let subnet = one
        .cluster
        .field("spec.properties.platform.subnetReference");
    let network = world
        .referred(one.cluster, &subnet)
        .and_then(|id| id.parent());
    let endpoints = ways.endpoints.get(&one.vault_name).into_iter().flatten();
    let endpoints = endpoints.filter(|endpoint| is_in(network.as_ref(), endpoint.network.as_ref()));
    let (mut no_endpoint, mut no_group) = (true, true);
    for endpoint in endpoints {
        no_endpoint = false;
        no_group &= !endpoint.has_group;
    }
    let mut links = ways.linked.iter();
    let linked = links.any(|to| is_in(network.as_ref(), to.as_ref()));
    let is_open = one.vault.is_some_and(|vault| {
        let access = vault.field("spec.properties.publicNetworkAccess");
        !access
            .text()
            .is_some_and(|text| text.eq_ignore_ascii_case("Disabled"))
    });
    let parts = [
        (is_open, "`publicNetworkAccess: Disabled` of the vault"),
        (
            no_endpoint,
            "a PrivateEndpoint for it in the cluster's virtual network",
        ),
        (
            no_group,
            "a PrivateEndpointsPrivateDnsZoneGroup of that endpoint",
        ),
        (
            !linked,
            "a PrivateDnsZonesVirtualNetworkLink from the private DNS zone of key vaults (`privatelink.vaultcore.…`) to the network",
        ),
    ];
    parts
        .into_iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, what)| what)
        .collect()
}

/// Whether two networks are the same, where one that cannot be resolved counts as the same.
fn is_in(network: Option<&ArmId>, other: Option<&ArmId>) -> bool {
    let (Some(network), Some(other)) = (network, other) else {
        return true;
    };
    network.shares_subscription(other)
        && (&network.group, &network.provider, &network.parts)
            == (&other.group, &other.provider, &other.parts)
}

/// The names of the vaults that an endpoint connects to.
pub(in crate::rules) fn reached(world: &World<'_>, endpoint: &Resource<'_>) -> HashSet<String> {
    let lists = [
        "privateLinkServiceConnections",
        "manualPrivateLinkServiceConnections",
    ];
    let lists = lists.map(|name| endpoint.field("spec").key(name));
    let connections = lists.iter().flat_map(Field::items);
    let vaults = connections.filter_map(|connection| {
        let to = connection.key("privateLinkServiceReference");
        let to = world.referred(endpoint, &to);
        let is_vaults = |group: Field<'_>| {
            let group = group.text().unwrap_or_default();
            group.eq_ignore_ascii_case("vault")
        };
        let groups = connection.key("groupIds");
        let vault = to.filter(|id| id.kind() == "microsoft.keyvault/vaults")?;
        groups
            .items()
            .any(is_vaults)
            .then(|| vault.name().to_owned())
    });
    vaults.collect()
}

/// Whether a link is part of the DNS zone of private vaults.
fn is_of_zone(world: &World<'_>, link: &Resource<'_>) -> bool {
    if let Some(text) = link.field("spec.owner.armId").text() {
        return ArmId::parse(text).is_ok_and(|id| id.name().starts_with(ZONE));
    }
    world.owner(link).is_some_and(|zone| {
        let name = zone.azure_name();
        let name = name.text().unwrap_or_default().to_lowercase();
        name.starts_with(ZONE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_fleet;

    const CLUSTER: &str = "{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {name: c}, spec: {properties: {platform: {subnetReference: {armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes}}, etcd: {dataEncryption: {customerManaged: {kms: {vaultName: My-Vault, visibility: Private, activeKey: {name: k}}}}}}}}\n";
    const VAULT: &str = "---\n{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {azureName: my-vault, owner: {armId: /subscriptions/s/resourceGroups/g}, properties: {publicNetworkAccess: Disabled}}}\n";
    const ENDPOINT: &str = "---\n{apiVersion: network.azure.com/v1api20240301, kind: PrivateEndpoint, metadata: {name: e}, spec: {owner: {armId: /subscriptions/s/resourceGroups/g}, subnet: {reference: {armId: /subscriptions/S/resourceGroups/G/providers/Microsoft.Network/virtualNetworks/Net/subnets/ends}}, privateLinkServiceConnections: [{name: v, groupIds: [vault], privateLinkServiceReference: {group: keyvault.azure.com, kind: Vault, name: v}}]}}\n";
    const GROUP: &str = "---\n{apiVersion: network.azure.com/v1api20240301, kind: PrivateEndpointsPrivateDnsZoneGroup, metadata: {name: z}, spec: {owner: {name: e}}}\n";
    const ZONED: &str = "---\n{apiVersion: network.azure.com/v1api20240601, kind: PrivateDnsZone, metadata: {name: zone}, spec: {azureName: privatelink.vaultcore.azure.net, owner: {armId: /subscriptions/s/resourceGroups/g}}}\n---\n{apiVersion: network.azure.com/v1api20240601, kind: PrivateDnsZonesVirtualNetworkLink, metadata: {name: link}, spec: {owner: {name: zone}, virtualNetwork: {reference: {armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/net}}}}\n";

    /// What a fleet lacks, by a word of each.
    fn lacks(parts: &[&str]) -> Vec<&'static str> {
        let yaml = [CLUSTER, &parts.concat()].concat();
        let found = findings_of_fleet(private_vaults_have_an_endpoint, &yaml).concat();
        assert!(!found.contains("azure.net"), "zones differ: {found}");
        let words = [
            "publicNetworkAccess",
            "PrivateEndpoint for",
            "ZoneGroup",
            "NetworkLink",
        ];
        words
            .into_iter()
            .filter(|word| found.contains(word))
            .collect()
    }

    #[test]
    fn a_private_vault_has_an_endpoint_and_a_name() {
        assert_eq!(lacks(&[VAULT, ENDPOINT, GROUP, ZONED]), [""; 0]);
        let open = VAULT.replace("Disabled", "Enabled");
        assert_eq!(
            lacks(&[&open, ENDPOINT, GROUP, ZONED]),
            ["publicNetworkAccess"]
        );
        let (no_endpoint, rest) = (["PrivateEndpoint for", "ZoneGroup"], [VAULT, GROUP, ZONED]);
        assert_eq!(lacks(&rest), no_endpoint);
        let away = ENDPOINT.replace("virtualNetworks/Net", "virtualNetworks/Other");
        assert_eq!(lacks(&[&away, &rest.concat()]), no_endpoint);
        let wrong = ENDPOINT.replace("[vault]", "[blob]");
        assert_eq!(lacks(&[&wrong, &rest.concat()]), no_endpoint);
        assert_eq!(lacks(&[VAULT, ENDPOINT, ZONED]), ["ZoneGroup"]);
        assert_eq!(lacks(&[VAULT, ENDPOINT, GROUP]), ["NetworkLink"]);
    }

    #[test]
    fn issue_15_controllers_that_create_the_key_reach_the_vault() {
        let found = |identity: &str, visibility: &str| {
            let yaml = format!(
                "{{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {{name: c}}, spec: {{{identity}, resources: [{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: c}}, spec: {{properties: {{etcd: {{dataEncryption: {{customerManaged: {{kms: {{vaultName: v, visibility: {visibility}, activeKey: {{name: k}}}}}}}}}}}}}}}}]}}}}"
            );
            findings_of_fleet(private_vaults_are_reached_by_controllers, &yaml).len()
        };
        let identity = "identityRef: {name: i}";
        assert_eq!(found(identity, "Private"), 1);
        assert_eq!(found(identity, "Public"), 0);
        assert_eq!(
            found("subscriptionID: s", "Private"),
            0,
            "a person creates it"
        );
    }

    #[test]
    fn a_zone_from_elsewhere_is_linked() {
        let zoned = ZONED.replace(
            "owner: {name: zone}",
            "owner: {armId: /subscriptions/t/resourceGroups/dns/providers/Microsoft.Network/privateDnsZones/PrivateLink.vaultcore.azure.net}",
        );
        assert_eq!(lacks(&[VAULT, ENDPOINT, GROUP, &zoned]), [""; 0]);
        let other = zoned.replace("PrivateLink.vaultcore", "privatelink.blob.core");
        assert_eq!(lacks(&[VAULT, ENDPOINT, GROUP, &other]), ["NetworkLink"]);
    }
}
