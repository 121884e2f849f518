//! F04 and F05: clusters that reach each other have networks of their own.

use std::collections::{BTreeSet, HashMap};

use ipnet::Ipv4Net;

use crate::api::kinds::{NETWORK, RED_HAT_OPENSHIFT};
use crate::model::Finding;
use crate::rules::arm::{ArmId, Field, Resource, World};
use crate::rules::cluster::network::{networks_of, overlap};

/// A range of addresses, what it is of and where it says so.
type Range<'a> = (Field<'a>, &'static str, Ipv4Net);

/// What a network is called: its name in Azure, and the namespace of who says so where the name has no
/// subscription. Two namespaces may mean two of them.
type Name = (ArmId, String);

fn name(id: ArmId, said_by: &Resource<'_>) -> Name {
    let namespace = match id.subscription.is_empty() {
        true => said_by.id.namespace.clone(),
        false => String::new(),
    };
    (id, namespace)
}

/// The virtual networks of a fleet, and which are peered.
struct Networks<'a> {
    by_name: HashMap<Name, &'a Resource<'a>>,
    /// In both directions.
    peers: HashMap<Name, BTreeSet<Name>>,
}

impl<'a> Networks<'a> {
    fn of(world: &'a World<'a>) -> Self {
        let networks = world.of_kind(NETWORK, "VirtualNetwork");
        let by_name =
            networks.filter_map(|network| Some((name(world.name_of(network)?, network), network)));
        let mut peers: HashMap<Name, BTreeSet<Name>> = HashMap::new();
        for peering in world.of_kind(NETWORK, "VirtualNetworksVirtualNetworkPeering") {
            if let Some((from, to)) = ends(world, peering) {
                let (from, to) = (name(from, peering), name(to, peering));
                peers.entry(from.clone()).or_default().insert(to.clone());
                peers.entry(to).or_default().insert(from);
            }
        }
        Self {
            by_name: by_name.collect(),
            peers,
        }
    }

    /// Those that are peered with a virtual network, in order.
    fn peers(&self, of: &Name) -> impl Iterator<Item = &Name> {
        self.peers.get(of).into_iter().flatten()
    }

    /// The ranges of a virtual network of the fleet.
    fn ranges(&self, of: &Name) -> Vec<Range<'a>> {
        let network = self.by_name.get(of);
        network.map(|network| ranges(network)).unwrap_or_default()
    }
}

/// What a peering connects.
fn ends(world: &World<'_>, peering: &Resource<'_>) -> Option<(ArmId, ArmId)> {
    let from = match peering.field("spec.owner.armId").text() {
        Some(text) => ArmId::parse(text).ok()?,
        None => world.name_of(world.owner(peering)?)?,
    };
    let remote = peering.field("spec.remoteVirtualNetwork.reference");
    Some((from, world.referred(peering, &remote)?))
}

fn ranges<'a>(network: &'a Resource<'a>) -> Vec<Range<'a>> {
    let prefixes = network.field("spec.addressSpace.addressPrefixes");
    let read = |field: Field<'a>| {
        let range = field.text()?.parse::<Ipv4Net>().ok()?;
        Some((field, "virtual", range))
    };
    prefixes.items().filter_map(read).collect()
}

/// F04: virtual networks that are peered do not overlap. The later one is pointed at.
pub(in crate::rules) fn peered_networks_are_apart(world: &World<'_>) -> Vec<Finding> {
    let networks = Networks::of(world);
    let mut before: HashMap<Name, Vec<&Resource<'_>>> = HashMap::new();
    let mut findings = Vec::new();
    for network in world.of_kind(NETWORK, "VirtualNetwork") {
        let Some(id) = world.name_of(network) else {
            continue;
        };
        let own = name(id, network);
        let peers = networks.peers(&own).filter_map(|peer| before.get(peer));
        for other in peers.flatten() {
            let all = overlaps(&ranges(network), &ranges(other));
            let first = all.into_iter().next();
            findings.extend(first.map(|((field, _, range), (there, _, taken))| {
                let message = format!(
                    "{} has {range}, which overlaps {taken} of {}{}, and the two are peered",
                    network.id,
                    other.id,
                    written(&there)
                );
                let help = "give one of them another range: Azure refuses the peering";
                field.finding("F04", message).help(help)
            }));
        }
        before.entry(own).or_default().push(network);
    }
    findings
}

/// F05: the networks inside of clusters that reach each other do not overlap. The later one is pointed at,
/// with the first that it overlaps.
pub(in crate::rules) fn clusters_in_reach_are_apart(world: &World<'_>) -> Vec<Finding> {
    let networks = Networks::of(world);
    let mut before: HashMap<Name, Vec<(usize, &Resource<'_>)>> = HashMap::new();
    let mut findings = Vec::new();
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    for (at, cluster) in clusters.enumerate() {
        let subnet = cluster.field("spec.properties.platform.subnetReference");
        let network = world.referred(cluster, &subnet).and_then(|id| id.parent());
        let Some(network) = network.filter(|id| !id.subscription.is_empty()) else {
            continue;
        };
        let own = name(network, cluster);
        let reached = std::iter::once(&own).chain(networks.peers(&own));
        let all = reached.flat_map(|there| {
            let others = before.get(there).into_iter().flatten();
            others.map(move |(at, other)| (*at, *other, there))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(at, ..)| *at);
        let first = all
            .into_iter()
            .find_map(|(_, other, there)| compared(&networks, (cluster, &own), (other, there)));
        findings.extend(first);
        before.entry(own).or_default().push((at, cluster));
    }
    findings
}

/// What is wrong between a cluster and another that it reaches, each with its virtual network.
fn compared(
    networks: &Networks<'_>,
    (cluster, own): (&Resource<'_>, &Name),
    (other, there): (&Resource<'_>, &Name),
) -> Option<Finding> {
    let reach = match own == there {
        true => "is in the same virtual network",
        false => "is in a virtual network that is peered with its own",
    };
    let all = |cluster, network| {
        let outside = match own == there {
            true => Vec::new(),
            false => networks.ranges(network),
        };
        let inside = networks_of(cluster).into_iter();
        inside.chain(outside).collect::<Vec<_>>()
    };
    told(
        cluster,
        other,
        &all(cluster, own),
        &all(other, there),
        reach,
    )
}

fn told(
    cluster: &Resource<'_>,
    other: &Resource<'_>,
    own: &[Range<'_>],
    theirs: &[Range<'_>],
    reach: &str,
) -> Option<Finding> {
    let mut all = overlaps(own, theirs);
    // Two virtual networks are another rule's.
    all.retain(|((_, one, _), (_, another, _))| (*one, *another) != ("virtual", "virtual"));
    let ((field, called, range), (there, others, taken)) = all.first()?;
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more of their networks overlap)"),
    };
    let message = format!(
        "the {called} network {range} of {} overlaps the {others} network {taken} of {}{}, which {reach}{more}",
        cluster.id,
        other.id,
        written(there)
    );
    let help = "give one of them other networks, if anything in the one is to reach the other: they cannot be changed later";
    Some(field.finding("F05", message).help(help))
}

/// The pairs of ranges that have addresses in common.
fn overlaps<'a>(own: &[Range<'a>], theirs: &[Range<'a>]) -> Vec<(Range<'a>, Range<'a>)> {
    let pairs = own.iter();
    let pairs = pairs.flat_map(|one| theirs.iter().map(move |other| (one, other)));
    pairs
        .filter(|(one, other)| overlap(&one.2, &other.2))
        .map(|(one, other)| (one.clone(), other.clone()))
        .collect()
}

/// Where a field is written, for people.
fn written(field: &Field<'_>) -> String {
    let place = field.node.map(|node| format!(" ({})", node.span()));
    place.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Object;

    /// A network, and a cluster in it with these networks of its own.
    fn cluster(name: &str, network: &str, range: &str, inside: &str) -> String {
        let subnet = format!(
            "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/{network}/subnets/x"
        );
        format!(
            "---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: {name}}}, spec: {{azureName: {network}, owner: {{armId: /subscriptions/S/resourceGroups/G}}, addressSpace: {{addressPrefixes: [{range}]}}}}}}\n---\n{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: {name}}}, spec: {{properties: {{network: {{{inside}}}, platform: {{subnetReference: {{armId: {subnet}}}}}}}}}}}\n"
        )
    }

    /// From `one` to `two`, by name or by its name in Azure.
    fn peering(by_name: bool) -> String {
        let to = match by_name {
            true => "group: network.azure.com, kind: VirtualNetwork, name: two",
            false => {
                "armId: /subscriptions/s/resourceGroups/g/providers/microsoft.network/virtualnetworks/net-2"
            }
        };
        format!(
            "---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksVirtualNetworkPeering, metadata: {{name: p}}, spec: {{owner: {{name: one}}, remoteVirtualNetwork: {{reference: {{{to}}}}}}}}}\n"
        )
    }

    fn said(yaml: &str) -> Vec<String> {
        let (documents, findings) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test\'s YAML is sound");
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let world = World::of(&objects);
        let rules = [peered_networks_are_apart, clusters_in_reach_are_apart];
        let findings = rules.into_iter().flat_map(|rule| rule(&world));
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn only_those_that_reach_each_other_are_compared() {
        let one = cluster("one", "net-1", "10.1.0.0/16", "podCidr: 10.128.0.0/14");
        let same = cluster("two", "net-2", "10.1.128.0/17", "podCidr: 10.128.0.0/14");
        let apart = cluster("two", "net-2", "10.2.0.0/16", "podCidr: 10.132.0.0/14");
        assert_eq!(said(&(one.clone() + &same)), [""; 0]);
        for by_name in [true, false] {
            let told = said(&(one.clone() + &same + &peering(by_name)));
            assert_eq!(told.len(), 2, "{told:#?}");
            assert!(told[0].contains("F04 VirtualNetwork/default/two has 10.1.128.0/17, which overlaps 10.1.0.0/16 of VirtualNetwork/default/one (a.yaml:2:"), "{told:#?}");
            assert!(told[1].contains("F05 the pod network 10.128.0.0/14 of HcpOpenShiftCluster/default/two overlaps the pod network 10.128.0.0/14 of HcpOpenShiftCluster/default/one (a.yaml:4:"), "{told:#?}");
            assert_eq!(said(&(one.clone() + &apart + &peering(by_name))), [""; 0]);
        }
    }

    #[test]
    fn what_has_one_name_in_unknown_subscriptions_is_told_apart_by_namespace() {
        let network = |namespace: &str, name: &str, range: &str| {
            format!(
                "---\n{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}-g, namespace: {namespace}}}, spec: {{azureName: g}}}}\n---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{owner: {{name: {name}-g}}, addressSpace: {{addressPrefixes: [{range}]}}}}}}\n"
            )
        };
        let a = network("a", "one", "10.1.0.0/16") + &network("a", "two", "10.2.0.0/16");
        let peering = peering(true).replace("{name: p}", "{name: p, namespace: a}");
        let same = network("b", "two", "10.1.0.0/16");
        assert_eq!(said(&format!("{a}{same}{peering}")), [""; 0]);
        let wrong = a.replace("10.2.0.0", "10.1.0.0");
        assert_eq!(said(&(wrong + &peering)).len(), 1);
    }

    #[test]
    fn one_s_pods_are_not_where_the_other_s_network_is() {
        let one = cluster("one", "net-1", "10.1.0.0/16", "podCidr: 10.2.0.0/15");
        let two = cluster("two", "net-2", "10.2.0.0/16", "serviceCidr: 172.30.0.0/16");
        let told = said(&(one + &two + &peering(true)));
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].contains("F05 the virtual network 10.2.0.0/16 of HcpOpenShiftCluster/default/two overlaps the pod network 10.2.0.0/15"), "{told:#?}");
    }

    #[test]
    fn clusters_of_one_network_are_told_once_each() {
        let inside = "machineCidr: 10.0.0.0/16, podCidr: 10.128.0.0/14";
        let of = |name: &str| cluster(name, "net-1", "10.1.0.0/16", inside);
        let told = said(&(of("one") + &of("two") + &of("three")));
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(
            told.iter().all(|one| one.contains("default/one (")
                && one.contains("in the same virtual network (1 more")),
            "{told:#?}"
        );
    }
}
