//! W04: subnets are inside of their network, and apart. C16: they are apart from pods and services.
//!
//! Each value is compared step by step, and left out of the next steps once it was reported.

use std::collections::{BTreeSet, HashMap, HashSet};

use ipnet::Ipv4Net;

use super::clusters::clusters;
use super::range::{Range, Ranges, read};
use super::{machines, nodes};
use crate::api::kinds::NETWORK;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{ArmId, Field, Resource, World};
use crate::rules::cidr::{self, edit_earlier, overlap, remark};
use crate::rules::cluster::network::{networks_of, overlapping};

/// W04, W09, W11 to W13 and C16: the ranges of networks and subnets.
pub(super) fn ranges_fit(world: &World<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut all = |kind| -> Vec<Ranges<'_>> {
        let resources = world.of_kind(NETWORK, kind);
        resources.map(|one| read(one, &mut findings)).collect()
    };
    let networks = all("VirtualNetwork");
    let mut subnets = all("VirtualNetworksSubnet");
    findings.extend(outside(world, &networks, &mut subnets));
    findings.extend(crossing(world, &mut subnets));
    let by_id: HashMap<&ObjectId, &Ranges<'_>> =
        subnets.iter().map(|one| (&one.of.id, one)).collect();
    for (cluster, pools) in clusters(world) {
        let users = || std::iter::once(cluster).chain(pools.iter().copied());
        let used = users().flat_map(|user| subnets_of(world, user));
        let ids: BTreeSet<&ObjectId> = used.collect();
        let used: Vec<_> = ids.iter().filter_map(|id| by_id.get(id).copied()).collect();
        findings.extend(inside_of_cluster(cluster, &used));
        findings.extend(nodes::without_address(world, cluster, &pools, &used));
        findings.extend(machines::outside(world, cluster, &pools, &used));
    }
    findings
}

/// The subnets of the fleet that a cluster or a pool uses.
fn subnets_of<'a>(world: &'a World<'a>, user: &'a Resource<'a>) -> Vec<&'a ObjectId> {
    let platform = user.field("spec.properties.platform");
    let names = ["subnetReference", "vnetIntegrationSubnetReference"];
    let found = names.map(|name| world.resolve(user, &platform.key(name)));
    found.into_iter().flatten().map(|one| &one.id).collect()
}

/// W04: the ranges of subnets that are not inside of their network.
fn outside(world: &World<'_>, networks: &[Ranges<'_>], subnets: &mut [Ranges<'_>]) -> Vec<Finding> {
    let by_id: HashMap<&ObjectId, &Ranges<'_>> =
        networks.iter().map(|one| (&one.of.id, one)).collect();
    let mut findings = Vec::new();
    // Defaults of subnets that do not fit the range that a person wrote for their network.
    let mut defaults: Vec<(&Ranges<'_>, Vec<String>)> = Vec::new();
    let mut places: HashMap<&ObjectId, usize> = HashMap::new();
    let mut wholes: HashMap<&ObjectId, cidr::Networks> = HashMap::new();
    for subnet in subnets {
        let owner = world.owner(subnet.of);
        let Some(&network) = owner.and_then(|owner| by_id.get(&owner.id)) else {
            continue;
        };
        let whole = wholes.entry(&network.of.id);
        let whole = whole.or_insert_with(|| indexed(&network.sound));
        let has = |range: &Range<'_>| whole.contain(&range.net);
        // It may be in a range that was reported.
        let Some(whole) = network.sound.first().filter(|_| network.complete) else {
            continue;
        };
        let (inside, outside): (Vec<_>, Vec<_>) = subnet.sound.drain(..).partition(has);
        subnet.sound = inside;
        for range in outside {
            if !edit_earlier(&whole.field, &range.field) {
                findings.push(not_inside(&range, network));
                continue;
            }
            let text = range.net.to_string();
            let place = *places.entry(&network.of.id).or_insert(defaults.len());
            match defaults.get_mut(place) {
                Some((_, ranges)) => ranges.push(text),
                None => defaults.push((network, vec![text])),
            }
        }
    }
    let defaults = defaults.into_iter();
    findings.extend(defaults.filter_map(|(network, ranges)| too_far(network, &ranges)));
    findings
}

fn not_inside(range: &Range<'_>, network: &Ranges<'_>) -> Finding {
    let whole: Vec<_> = network
        .sound
        .iter()
        .map(|one| one.net.to_string())
        .collect();
    let first = network.sound.first();
    let remark = first.map_or("", |first| remark(&first.field));
    let message = message!(
        "the subnet {range} is not inside of its virtual network, {whole}{remark}",
        range = range.net,
        whole = whole.join(", "),
    );
    let finding = range.field.finding("W04", message);
    finding.help("choose a range inside of the network, or give the network another range")
}

/// A network whose range was written, with subnets that still have the default ones.
fn too_far(network: &Ranges<'_>, subnets: &[String]) -> Option<Finding> {
    let whole = network.sound.first()?;
    let what = match subnets.len() {
        1 => "subnet",
        _ => "subnets",
    };
    let message = message!(
        "the default {what} {subnets} are not inside of the virtual network {whole}",
        subnets = subnets.join(" and "),
        whole = whole.net
    );
    let help = "set subnetCIDR and integrationSubnetCIDR to ranges inside of the network, too";
    Some(whole.field.finding("W04", message).help(help))
}

/// The ranges, numbered in order.
fn indexed(ranges: &[Range<'_>]) -> cidr::Networks {
    let mut networks = cidr::Networks::default();
    for (number, range) in ranges.iter().enumerate() {
        networks.add(&range.net, number);
    }
    networks
}

/// The subnets of one virtual network that were looked at.
#[derive(Default)]
struct Seen {
    /// Their ranges, each with its subnet.
    ranges: cidr::Networks,
    /// The first of the objects that are one subnet, which F01 reports.
    firsts: HashMap<ArmId, usize>,
    /// The same, by object.
    first_of: HashMap<usize, usize>,
    /// The ranges by such a first object.
    known: HashSet<(usize, Ipv4Net)>,
}

/// W04: the ranges of subnets of one network that overlap. The finding points at the later one.
fn crossing(world: &World<'_>, subnets: &mut [Ranges<'_>]) -> Vec<Finding> {
    let mut seen: HashMap<(ArmId, String), Seen> = HashMap::new();
    let mut findings = Vec::new();
    for at in 0..subnets.len() {
        let (firsts, rest) = subnets.split_at_mut(at);
        let Some(later) = rest.first_mut() else { break };
        let Some(id) = world.name_of(later.of) else {
            continue;
        };
        let Some(network) = id.parent() else { continue };
        let seen = seen
            .entry(network.named_in(&later.of.id.namespace))
            .or_default();
        let first = *seen.firsts.entry(id).or_insert(at);
        seen.first_of.insert(at, first);
        findings.extend(apart(firsts, later, first, seen));
        for range in &later.sound {
            if seen.known.insert((first, range.net)) {
                seen.ranges.add(&range.net, at);
            }
        }
    }
    findings
}

/// Takes the ranges that overlap from a subnet and from those before it. `own` is the first object that is this subnet.
fn apart<'a>(
    earlier: &mut [Ranges<'a>],
    later: &mut Ranges<'a>,
    own: usize,
    seen: &mut Seen,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let of = later.of;
    later.sound.retain(|two| {
        for number in seen.ranges.overlapping(&two.net) {
            let is_own = seen.first_of.get(&number) == Some(&own);
            let Some(other) = earlier.get_mut(number).filter(|_| !is_own) else {
                continue;
            };
            let crosses_it = |one: &Range<'_>| overlap(&one.net, &two.net);
            while let Some(place) = other.sound.iter().position(crosses_it) {
                let one = &other.sound[place];
                if !edit_earlier(&one.field, &two.field) {
                    findings.push(crosses(two, one, other.of));
                    return false;
                }
                findings.push(crosses(one, two, of));
                seen.ranges.remove(&one.net, number);
                other.sound.remove(place);
            }
        }
        true
    });
    findings
}

fn crosses(range: &Range<'_>, other: &Range<'_>, of: &Resource<'_>) -> Finding {
    let remark = remark(&other.field);
    let message = message!(
        "the subnet {range} overlaps {taken}{remark} of {other}, in the same virtual network",
        range = range.net,
        taken = other.net,
        other = of.id
    );
    let finding = range.field.finding("W04", message);
    finding.help("choose a range that no other subnet of the network has")
}

/// C16: the pod and service networks of a cluster overlap none of its subnets.
fn inside_of_cluster(cluster: &Resource<'_>, subnets: &[&Ranges<'_>]) -> Vec<Finding> {
    let reported = overlapping(cluster);
    let is_new =
        |called: &str| called != "machine" && reported.iter().all(|(known, _)| *known != called);
    let networks = networks_of(cluster);
    let networks = networks.iter().filter(|(_, called, _)| is_new(called));
    let mut findings = Vec::new();
    let mut known = HashSet::new();
    for (field, called, net) in networks {
        let called = format!("the {called} network");
        let ranges = subnets.iter().flat_map(|subnet| {
            let ranges = subnet.sound.iter();
            ranges.map(move |range| (range, subnet.of))
        });
        let hit = ranges.filter(|(range, _)| overlap(&range.net, net));
        let (theirs, own): (Vec<_>, Vec<_>) =
            hit.partition(|(range, _)| edit_earlier(&range.field, field));
        for (range, _) in theirs {
            if !known.insert(range.net) {
                continue;
            }
            let remark = remark(field);
            let message = message!(
                "the subnet {range} overlaps {called} {net}{remark} of {cluster}",
                range = range.net,
                called,
                net,
                cluster = cluster.id
            );
            findings.push(into_cluster(&range.field, message));
        }
        if let Some(((range, subnet), more)) = own.split_first() {
            let more = match more.len() {
                0 => String::new(),
                1 => ", and 1 more subnet".to_owned(),
                more => format!(", and {more} more subnets"),
            };
            let remark = remark(&range.field);
            let message = message!(
                "{called} {net} overlaps {range}{remark} of {subnet}{more}",
                called,
                net,
                range = range.net,
                subnet = subnet.id
            );
            findings.push(into_cluster(field, message));
        }
    }
    findings
}

fn into_cluster(field: &Field<'_>, message: crate::model::Message) -> Finding {
    let help = "keep subnets apart from the pods and services of their cluster: neither can be changed later";
    field.finding("C16", message).help(help)
}

#[cfg(test)]
mod tests {
    use super::ranges_fit;
    use crate::rules::findings_of_fleet;

    fn reported(yaml: &str) -> Vec<String> {
        findings_of_fleet(ranges_fit, yaml)
    }

    /// A network with these ranges on line 2, and subnets with these from line 4 on, every second line.
    fn network(ranges: &str, subnets: &[&str]) -> String {
        let mut text = format!(
            "---\n{{spec: {{addressSpace: {{addressPrefixes: [{ranges}]}}, owner: {{armId: /subscriptions/s/resourceGroups/g}}}}, apiVersion: network.azure.com/v1api20201101, kind: VirtualNetwork, metadata: {{name: net}}}}\n"
        );
        for (at, subnet) in subnets.iter().enumerate() {
            text += &format!(
                "---\n{{spec: {{{subnet}, owner: {{name: net}}}}, apiVersion: network.azure.com/v1api20201101, kind: VirtualNetworksSubnet, metadata: {{name: s{at}}}}}\n"
            );
        }
        text
    }

    #[test]
    fn each_wrong_range_is_reported_once() {
        for (ranges, subnet, expected) in [
            ("10.0.0.0/16", "addressPrefix: 10.0.1.0/24", None),
            (
                "10.0.0.0/16",
                "addressPrefix: 10.0.1.1/24",
                Some("W12 4:24"),
            ),
            ("10.0.0.0/16", "addressPrefix: 7", Some("W12 4:24")),
            (
                "10.0.0.0/16",
                "addressPrefixes: [10.0.1.0/24, hello]",
                Some("W12 4:40"),
            ),
            (
                "10.0.0.0/16",
                "addressPrefix: 10.0.1.0/30",
                Some("W09 4:24"),
            ),
            (
                "10.0.0.0/16",
                "addressPrefix: 10.1.1.0/30",
                Some("W09 4:24"),
            ),
            (
                "10.0.0.0/16",
                "addressPrefix: 10.1.1.0/24",
                Some("W04 4:24"),
            ),
            ("10.0.0.0/16", "addressPrefix: 10.0.0.0/8", Some("W04 4:24")),
            (
                "10.0.0.0/16, 10.1.0.0/16",
                "addressPrefix: 10.1.1.0/24",
                None,
            ),
            ("0.0.0.0/0", "addressPrefix: 10.1.1.0/24", Some("W09 2:42")),
            ("hello", "addressPrefix: 10.1.1.0/24", Some("W12 2:42")),
            (
                "'fd00::/48'",
                "addressPrefix: 10.1.1.0/24",
                Some("W12 2:42"),
            ),
            (
                "10.0.0.0/16, 'fd00::/48'",
                "addressPrefixes: [10.0.1.0/24, 'fd00::/64']",
                None,
            ),
            (
                "10.0.0.0/16, 10.1.0.1/16",
                "addressPrefix: 10.1.1.0/24",
                Some("W12 2:55"),
            ),
        ] {
            let found = reported(&network(ranges, &[subnet]));
            let places: Vec<_> = found
                .iter()
                .map(|one| one.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(
                places,
                Vec::from_iter(expected),
                "{ranges} {subnet}: {found:?}"
            );
        }
    }

    #[test]
    fn subnets_of_one_network_are_apart() {
        let subnets = [
            "addressPrefix: 10.0.1.0/24",
            "addressPrefix: 10.0.2.0/24",
            "addressPrefixes: [10.0.3.0/24, 10.0.0.0/22]",
            "addressPrefix: 10.0.3.128/25",
        ];
        let yaml = network("10.0.0.0/16", &subnets);
        assert_eq!(
            reported(&yaml),
            [
                "W04 8:40 the subnet 10.0.0.0/22 overlaps 10.0.1.0/24 of VirtualNetworksSubnet/default/s0, in the same virtual network",
                "W04 10:24 the subnet 10.0.3.128/25 overlaps 10.0.3.0/24 of VirtualNetworksSubnet/default/s2, in the same virtual network",
            ]
        );
        let apart = yaml.replace("name: s3}", "name: s3, namespace: other}");
        assert_eq!(
            reported(&apart).len(),
            1,
            "it is in no network that the fleet has"
        );
    }

    #[test]
    fn two_objects_for_one_subnet_are_not_two_subnets() {
        let same = "addressPrefix: 10.0.1.0/24, azureName: one";
        assert_eq!(reported(&network("10.0.0.0/16", &[same, same])), [""; 0]);
    }

    /// A cluster in the first subnet, with these networks.
    fn cluster(networks: &str) -> String {
        format!(
            "---\n{{spec: {{properties: {{network: {{{networks}}}, platform: {{subnetReference: {{group: network.azure.com, kind: VirtualNetworksSubnet, name: s0}}}}}}}}, apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: one}}}}\n"
        )
    }

    #[test]
    fn subnets_are_apart_from_pods_and_services() {
        let net = network("10.0.0.0/8", &["addressPrefix: 10.0.1.0/24"]);
        for (networks, expected) in [
            ("podCidr: 10.128.0.0/14", None),
            ("machineCidr: 10.0.0.0/16", None),
            // C15 reports the overlap with the default machine network.
            ("podCidr: 10.0.0.0/14", None),
            (
                "podCidr: 10.0.0.0/14, machineCidr: 192.168.0.0/16",
                Some("C16 6:41"),
            ),
            ("podCidr: 10.0.0.1/14", None),
            ("podCidr: 10.0.0.0/14, machineCidr: 10.0.0.0/16", None),
        ] {
            let found = reported(&(net.clone() + &cluster(networks)));
            let places: Vec<_> = found
                .iter()
                .filter(|one| !one.starts_with("W11"))
                .map(|one| one.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(places, Vec::from_iter(expected), "{networks}: {found:?}");
        }
    }

    #[test]
    fn the_subnets_of_nodes_are_in_the_machine_network() {
        let net = network("10.0.0.0/8", &["addressPrefix: 10.0.1.0/24"]);
        for (machines, expected) in [
            ("10.0.0.0/16", [""; 0].as_slice()),
            ("192.168.0.0/16", &["W11 4:24"]),
            ("nonsense", &[]),
        ] {
            let found = reported(&(net.clone() + &cluster(&format!("machineCidr: {machines}"))));
            let places: Vec<_> = found.iter().filter_map(|one| one.get(..8)).collect();
            assert_eq!(places, expected, "{machines}: {found:?}");
        }
    }

    #[test]
    fn nodes_need_addresses() {
        let pool = |size: &str| {
            format!(
                "---\n{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftClustersNodePool, metadata: {{name: p}}, spec: {{owner: {{name: one}}, properties: {{{size}}}}}}}\n"
            )
        };
        let fleet = |prefix: &str, size: &str| {
            let subnet = format!("addressPrefix: {prefix}");
            network("10.0.0.0/16", &[&subnet]) + &cluster("hostPrefix: 23") + &pool(size)
        };
        let expected = "W13 4:24 the subnet 10.0.1.0/28 has room for 11 nodes, but the node pools in it may have 12";
        assert_eq!(
            reported(&fleet("10.0.1.0/28", "autoScaling: {max: 12}")),
            [expected]
        );
        assert_eq!(reported(&fleet("10.0.1.0/28", "replicas: 11")), [""; 0]);
        assert_eq!(reported(&fleet("10.0.1.1/28", "replicas: 99")).len(), 1);
    }
}
