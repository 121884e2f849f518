//! W01 to W03, W05 and W06: what the service expects of the subnets of a cluster. Azure does not check any of it
//! when the cluster is created.

use std::collections::{BTreeMap, HashSet};

use super::clusters::clusters;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{ArmId, Field, Resource, World};
use crate::rules::cidr::edit_earlier;
use crate::rules::cluster::platform::{names_network, network_is_at_hand};
use crate::rules::cluster::reference::name_in;

const NODES: &str = "spec.properties.platform.subnetReference";
const INTEGRATION: &str = "spec.properties.platform.vnetIntegrationSubnetReference";
/// The service that the integration subnet is delegated to, as ARM writes it.
const SERVICE: &str = "Microsoft.RedHatOpenShift/hcpOpenShiftClusters";

/// W01: no nodes are in the integration subnet.
pub(super) fn integration_subnet_is_dedicated(world: &World<'_>) -> Vec<Finding> {
    let shared = |(cluster, pools): (&Resource<'_>, Vec<&Resource<'_>>)| {
        let own = cluster.field(INTEGRATION);
        let id = world.referred(cluster, &own)?;
        let is_shared = |user: &Resource<'_>| {
            let nodes = world.referred(user, &user.field(NODES));
            nodes.is_some_and(|nodes| is_same(&nodes, &id))
        };
        let pool = pools.into_iter().find(|pool| is_shared(pool));
        let (user, field) = match pool {
            _ if is_shared(cluster) => (cluster, own),
            Some(pool) => (pool, pool.field(NODES)),
            None => return None,
        };
        let message = message!(
            "the nodes of {user} are in the integration subnet of {cluster}",
            user = user.id,
            cluster = cluster.id
        );
        let help = "use another subnet: only Azure may have addresses in the integration subnet";
        Some(name_in(&field).finding("W01", message).help(help))
    };
    clusters(world).into_iter().filter_map(shared).collect()
}

/// Whether both are the same, where a subscription is unknown too.
fn is_same(one: &ArmId, other: &ArmId) -> bool {
    let mut same = one.clone();
    if one.shares_subscription(other) {
        let subscription = &mut same.parts_mut().subscription;
        subscription.clone_from(&other.subscription);
    }
    same == *other
}

/// The subnets of clusters that the fleet makes, by id.
struct Subnets<'a> {
    integration: BTreeMap<&'a ObjectId, &'a Resource<'a>>,
    nodes: BTreeMap<&'a ObjectId, &'a Resource<'a>>,
}

impl<'a> Subnets<'a> {
    /// All but those that are both, which W01 reports.
    fn of(world: &'a World<'a>) -> Self {
        let named = |user, reference| {
            let subnet = made(world, user, reference)?;
            Some((&subnet.id, subnet))
        };
        let (mut integration, mut nodes) = (BTreeMap::new(), BTreeMap::new());
        for (cluster, pools) in clusters(world) {
            integration.extend(named(cluster, INTEGRATION));
            let users = std::iter::once(cluster).chain(pools);
            nodes.extend(users.filter_map(|user| named(user, NODES)));
        }
        let both = |id: &&ObjectId, _: &mut &Resource<'_>| !nodes.contains_key(id);
        let shared: HashSet<_> = integration.keys().copied().collect();
        integration.retain(both);
        nodes.retain(|id, _| !shared.contains(id));
        Self { integration, nodes }
    }
}

/// The subnet that a reference names, unless the fleet only reads it.
fn made<'a>(
    world: &'a World<'a>,
    user: &Resource<'_>,
    reference: &'static str,
) -> Option<&'a Resource<'a>> {
    let subnet = world.resolve(user, &user.field(reference));
    subnet.filter(|subnet| !subnet.is_read_only())
}

/// W02: the integration subnet is delegated to the service.
pub(super) fn integration_subnet_is_delegated(world: &World<'_>) -> Vec<Finding> {
    let fault = |subnet: &Resource<'_>| {
        let delegations = subnet.field("spec.delegations");
        let is_ours = |one: Field<'_>| {
            let service = one.key("serviceName");
            service
                .text()
                .is_some_and(|text| text.eq_ignore_ascii_case(SERVICE))
        };
        let help = format!("add `delegations: [{{name: hcp, serviceName: {SERVICE}}}]`");
        let message = message!("the integration subnet is not delegated to {SERVICE}");
        let delegated = delegations.items().any(is_ours);
        (!delegated).then(|| delegations.finding("W02", message).help(help))
    };
    let subnets = Subnets::of(world).integration.into_values();
    subnets.filter_map(fault).collect()
}

/// W03: the integration subnet has no network security group.
pub(super) fn integration_subnet_has_no_security_group(world: &World<'_>) -> Vec<Finding> {
    let fault = |subnet: &Resource<'_>| {
        let group = subnet.field("spec.networkSecurityGroup");
        let message = "the integration subnet has a network security group";
        let help = "remove it: the service requires a subnet without one";
        group
            .is_given()
            .then(|| group.finding("W03", message).help(help))
    };
    let subnets = Subnets::of(world).integration.into_values();
    subnets.filter_map(fault).collect()
}

/// W05: the subnet of a cluster has the cluster's network security group.
pub(super) fn nodes_have_the_clusters_security_group(world: &World<'_>) -> Vec<Finding> {
    let mut subnets = Subnets::of(world).nodes;
    let mut groups = HashSet::new();
    let fault = |(cluster, _): (&Resource<'_>, _)| {
        let subnet = made(world, cluster, NODES)?;
        let reference = cluster.field("spec.properties.platform.networkSecurityGroupReference");
        let wanted = world.referred(cluster, &reference)?;
        // C28 and C29 report other clusters with the same subnet or the same group.
        let is_first = subnets.remove(&subnet.id).is_some() & groups.insert(wanted.clone());
        // C23 and C24 report a group that the cluster cannot use.
        let faults = [names_network, network_is_at_hand].map(|rule| rule(world, cluster));
        let is_usable = faults.iter().all(Vec::is_empty);
        (is_first && is_usable)
            .then(|| another_group(world, subnet, cluster, &reference, &wanted))?
    };
    clusters(world).into_iter().filter_map(fault).collect()
}

/// A finding if the subnet does not have the group that its cluster wants.
fn another_group(
    world: &World<'_>,
    subnet: &Resource<'_>,
    cluster: &Resource<'_>,
    reference: &Field<'_>,
    wanted: &ArmId,
) -> Option<Finding> {
    let help = "name the same group in the subnet's networkSecurityGroup and in the cluster's networkSecurityGroupReference";
    let group = subnet.field("spec.networkSecurityGroup.reference");
    if !group.is_given() {
        let message = message!(
            "the subnet of {cluster} has no network security group, but the cluster uses {wanted}",
            cluster = cluster.id,
            wanted = wanted.name()
        );
        return Some(group.finding("W05", message).help(help));
    }
    let own = world.referred(subnet, &group)?;
    let message = message!(
        "{cluster} uses the network security group {wanted}, but its subnet has {own}",
        cluster = cluster.id,
        wanted = wanted.name(),
        own = own.name()
    );
    let (earlier, later) = (name_in(&group), name_in(reference));
    let field = match edit_earlier(&earlier, &later) {
        true => earlier,
        false => later,
    };
    (!is_same(&own, wanted)).then(|| field.finding("W05", message).help(help))
}

/// W06: subnets of nodes are not delegated.
pub(super) fn node_subnets_are_not_delegated(world: &World<'_>) -> Vec<Finding> {
    let fault = |subnet: &Resource<'_>| {
        let field = subnet.field("spec.delegations");
        let service = field.items().next()?.key("serviceName");
        let service = service.text().unwrap_or_default();
        let message = message!("the subnet of the nodes is delegated to {service}", service);
        let help = "remove the delegation: it reserves the subnet for another service";
        Some(field.finding("W06", message).help(help))
    };
    let subnets = Subnets::of(world).nodes.into_values();
    subnets.filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::networks::RULES;
    use crate::rules::{FleetRule, findings_of_fleet};

    const GROUP: &str = "networkSecurityGroup: {reference: {group: network.azure.com, kind: NetworkSecurityGroup, name: g}}";
    const OURS: &str =
        "delegations: [{name: d, serviceName: microsoft.redhatopenshift/hcpopenshiftclusters}]";

    /// The ids of what is found for a cluster with nodes in the subnet `nodes`, and `i` for its integration.
    fn ids(nodes: &str, integration: &str, reference: &str) -> Vec<String> {
        let subnet = |name: &str, spec: &str| {
            format!(
                "---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksSubnet, metadata: {{name: {name}}}, spec: {{owner: {{armId: /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v}}, {spec}}}}}\n"
            )
        };
        let named = |kind: &str, name: &str| {
            format!("{{group: network.azure.com, kind: {kind}, name: {name}}}")
        };
        let of_subnet = |name| named("VirtualNetworksSubnet", name);
        let cluster = format!(
            "---\n{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: one}}, spec: {{properties: {{platform: {{networkSecurityGroupReference: {}, subnetReference: {}, vnetIntegrationSubnetReference: {}}}}}}}}}\n",
            named("NetworkSecurityGroup", "g"),
            of_subnet("nodes"),
            of_subnet(reference)
        );
        let groups = ["g", "h"].map(|name| {
            format!(
                "---\n{{apiVersion: network.azure.com/v1api20201101, kind: NetworkSecurityGroup, metadata: {{name: {name}}}, spec: {{owner: {{armId: /subscriptions/s/resourceGroups/g}}}}}}\n"
            )
        });
        let yaml = cluster + &subnet("nodes", nodes) + &subnet("i", integration) + &groups.concat();
        let found = RULES
            .iter()
            .flat_map(|rule: &FleetRule| findings_of_fleet(*rule, &yaml));
        found.map(|one| one.chars().take(3).collect()).collect()
    }

    #[test]
    fn subnets_are_what_the_service_expects() {
        let none = "azureName: a";
        assert_eq!(ids(GROUP, OURS, "i"), [""; 0]);
        assert_eq!(ids(GROUP, none, "i"), ["W02"]);
        let both = format!("{GROUP}, {OURS}");
        assert_eq!(ids(GROUP, &both, "i"), ["W03"]);
        assert_eq!(ids(none, OURS, "i"), ["W05"]);
        assert_eq!(
            ids(&GROUP.replace("name: g", "name: h"), OURS, "i"),
            ["W05"]
        );
        assert_eq!(ids(&both, OURS, "i"), ["W06"]);
        assert_eq!(
            ids(GROUP, OURS, "nodes"),
            ["W01"],
            "and nothing that follows from it"
        );
    }

    #[test]
    fn references_name_a_subnet_in_any_case_and_with_a_subscription_or_without() {
        let id = |text: &str| ArmId::parse(text).expect("an id");
        let subnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n";
        assert!(is_same(&id(subnet), &id(&subnet.to_uppercase())));
        let mut unknown = id(subnet);
        unknown.parts_mut().subscription.clear();
        assert!(is_same(&unknown, &id(subnet)));
        assert!(!is_same(&id(subnet), &id(&subnet.replace("/s/", "/t/"))));
    }
}
