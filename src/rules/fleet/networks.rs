//! F04 and F05: the networks of clusters that can reach each other do not overlap.

use std::collections::{BTreeSet, HashMap};

use ipnet::Ipv4Net;

use crate::api::kinds::{NETWORK, RED_HAT_OPENSHIFT};
use crate::model::{Finding, message};
use crate::rules::arm::{ArmId, Field, Resource, World};
use crate::rules::cidr::{self, edit_earlier, overlap, remark};
use crate::rules::cluster::network::networks_of;

/// A range of addresses, with its field and its name in messages.
type Range<'a> = (Field<'a>, &'static str, Ipv4Net);

/// The name of a network, as in [`ArmId::named_in`].
type Name = (ArmId, String);

fn name(id: ArmId, said_by: &Resource<'_>) -> Name {
    id.named_in(&said_by.id.namespace)
}

/// The virtual networks of a fleet, and their peerings.
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

    /// The peers of a virtual network, in order.
    fn peers(&self, of: &Name) -> impl Iterator<Item = &Name> {
        self.peers.get(of).into_iter().flatten()
    }

    /// The ranges of a virtual network of the fleet.
    fn ranges(&self, of: &Name) -> Vec<Range<'a>> {
        let network = self.by_name.get(of);
        network.map(|network| ranges(network)).unwrap_or_default()
    }
}

/// The two networks of a peering.
pub(in crate::rules) fn ends(world: &World<'_>, peering: &Resource<'_>) -> Option<(ArmId, ArmId)> {
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
        let range = cidr::of(&field)?;
        Some((field, "virtual", range))
    };
    prefixes.items().filter_map(read).collect()
}

/// F04: peered virtual networks do not overlap. The finding points at the later one.
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
        for &other in peers.flatten() {
            let first = first_pair(ranges(network), &ranges(other));
            findings.extend(first.map(|(own, theirs)| {
                let (own, theirs) = match edit_earlier(&theirs.0, &own.0) {
                    true => ((theirs, other), (own, network)),
                    false => ((own, network), (theirs, other)),
                };
                let (((field, _, range), network), ((there, _, taken), other)) = (own, theirs);
                let (place, remark) = (written(&there), remark(&there));
                let message = message!(
                    "{network} has {range}, which overlaps {taken}{remark} of its peer {other}{place}",
                    network = network.id,
                    range,
                    taken,
                    other = other.id
                );
                let help = "give one of them another range: Azure rejects the peering";
                field.finding("F04", message).help(help)
            }));
        }
        before.entry(own).or_default().push(network);
    }
    findings
}

/// F05: the internal networks of clusters that can reach each other do not overlap. The finding points at the
/// later cluster, and names the first one that it overlaps; if only the first one's network was written by a
/// person, it is the other way round.
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

/// The overlap of a cluster with another one that it can reach, each with its virtual network.
fn compared(
    networks: &Networks<'_>,
    (cluster, own): (&Resource<'_>, &Name),
    (other, there): (&Resource<'_>, &Name),
) -> Option<Finding> {
    let reach = match own == there {
        true => "in the same virtual network",
        false => "in a peered virtual network",
    };
    let all = |cluster, network| {
        let outside = match own == there {
            true => Vec::new(),
            false => networks.ranges(network),
        };
        let inside = networks_of(cluster).into_iter();
        inside.chain(outside).collect::<Vec<_>>()
    };
    first_overlap(
        cluster,
        other,
        &all(cluster, own),
        &all(other, there),
        reach,
    )
}

fn first_overlap(
    cluster: &Resource<'_>,
    other: &Resource<'_>,
    own: &[Range<'_>],
    theirs: &[Range<'_>],
    reach: &str,
) -> Option<Finding> {
    let all = overlaps(own, theirs);
    let (one, another) = all.first()?;
    let (own, theirs) = match edit_earlier(&another.0, &one.0) {
        true => ((another, other), (one, cluster)),
        false => ((one, cluster), (another, other)),
    };
    let (((field, called, range), cluster), ((there, others, taken), other)) = (own, theirs);
    let more = match all.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more of their networks overlap)"),
    };
    let (place, remark) = (written(there), remark(there));
    let message = message!(
        "the {called} network {range} of {cluster} overlaps the {others} network {taken}{remark} of {other}{place}, which is {reach}{more}",
        called,
        range,
        cluster = cluster.id,
        others,
        taken,
        other = other.id
    );
    let help = "if they need to reach each other, give one of them other networks: networks cannot be changed later";
    Some(field.finding("F05", message).help(help))
}

/// The pairs of ranges that overlap. F04 compares virtual networks with each other.
fn overlaps<'a>(own: &[Range<'a>], theirs: &[Range<'a>]) -> Vec<(Range<'a>, Range<'a>)> {
    let inside = |one: &&Range<'a>| one.1 != "virtual";
    let pairs = own.iter().flat_map(|one| {
        let theirs = theirs.iter();
        let theirs = theirs.filter(move |other| inside(&one) || inside(other));
        theirs.map(move |other| (one, other))
    });
    pairs
        .filter(|(one, other)| overlap(&one.2, &other.2))
        .map(|(one, other)| (one.clone(), other.clone()))
        .collect()
}

/// The first range that overlaps one of others, with that one.
fn first_pair<'a>(own: Vec<Range<'a>>, theirs: &[Range<'a>]) -> Option<(Range<'a>, Range<'a>)> {
    let mut known = cidr::Networks::default();
    for (number, (_, _, net)) in theirs.iter().enumerate() {
        known.add(net, number);
    }
    own.into_iter().find_map(|one| {
        let first = known.overlapping(&one.2).into_iter().next()?;
        Some((one, theirs[first].clone()))
    })
}

/// Where a field is written, in parentheses.
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

    fn findings_of(yaml: &str) -> Vec<String> {
        let (documents, findings) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test\'s YAML is sound");
        let objects = documents.into_iter();
        let objects: Vec<Object> = objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect();
        let found = |objects: &[Object]| {
            let world = World::of(objects);
            let rules = [peered_networks_are_apart, clusters_in_reach_are_apart];
            rules.into_iter().flat_map(|rule| rule(&world)).collect()
        };
        let findings = crate::rules::found_in(&objects, found).into_iter();
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn only_clusters_that_can_reach_each_other_are_compared() {
        let one = cluster("one", "net-1", "10.1.0.0/16", "podCidr: 10.128.0.0/14");
        let same = cluster("two", "net-2", "10.1.128.0/17", "podCidr: 10.128.0.0/14");
        let apart = cluster("two", "net-2", "10.2.0.0/16", "podCidr: 10.132.0.0/14");
        assert_eq!(findings_of(&(one.clone() + &same)), [""; 0]);
        for by_name in [true, false] {
            let reported = findings_of(&(one.clone() + &same + &peering(by_name)));
            assert_eq!(reported.len(), 2, "{reported:#?}");
            assert!(reported[0].contains("F04 VirtualNetwork/default/two has 10.1.128.0/17, which overlaps 10.1.0.0/16 of its peer VirtualNetwork/default/one (a.yaml:2:"), "{reported:#?}");
            assert!(reported[1].contains("F05 the pod network 10.128.0.0/14 of HcpOpenShiftCluster/default/two overlaps the pod network 10.128.0.0/14 of HcpOpenShiftCluster/default/one (a.yaml:4:"), "{reported:#?}");
            assert_eq!(
                findings_of(&(one.clone() + &apart + &peering(by_name))),
                [""; 0]
            );
        }
    }

    #[test]
    fn equal_names_in_unknown_subscriptions_are_distinguished_by_namespace() {
        let network = |namespace: &str, name: &str, range: &str| {
            format!(
                "---\n{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}-g, namespace: {namespace}}}, spec: {{azureName: g}}}}\n---\n{{apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{owner: {{name: {name}-g}}, addressSpace: {{addressPrefixes: [{range}]}}}}}}\n"
            )
        };
        let a = network("a", "one", "10.1.0.0/16") + &network("a", "two", "10.2.0.0/16");
        let peering = peering(true).replace("{name: p}", "{name: p, namespace: a}");
        let same = network("b", "two", "10.1.0.0/16");
        assert_eq!(findings_of(&format!("{a}{same}{peering}")), [""; 0]);
        let wrong = a.replace("10.2.0.0", "10.1.0.0");
        assert_eq!(findings_of(&(wrong + &peering)).len(), 1);
    }

    #[test]
    fn one_clusters_pods_do_not_overlap_the_others_network() {
        let one = cluster("one", "net-1", "10.1.0.0/16", "podCidr: 10.2.0.0/15");
        let two = cluster("two", "net-2", "10.2.0.0/16", "serviceCidr: 172.30.0.0/16");
        let reported = findings_of(&(one + &two + &peering(true)));
        assert_eq!(reported.len(), 1, "{reported:#?}");
        assert!(reported[0].contains("F05 the virtual network 10.2.0.0/16 of HcpOpenShiftCluster/default/two overlaps the pod network 10.2.0.0/15"), "{reported:#?}");
    }

    #[test]
    fn each_cluster_of_a_shared_network_is_reported_once() {
        let inside = "machineCidr: 10.0.0.0/16, podCidr: 10.128.0.0/14";
        let of = |name: &str| cluster(name, "net-1", "10.1.0.0/16", inside);
        let reported = findings_of(&(of("one") + &of("two") + &of("three")));
        assert_eq!(reported.len(), 2, "{reported:#?}");
        assert!(
            reported.iter().all(|one| one.contains("default/one (")
                && one.contains("in the same virtual network (1 more")),
            "{reported:#?}"
        );
    }
}
