//! H16 and H17: the subnets for the addresses of Private Link Services, in the management cluster's network.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::Ipv4Net;

use super::connection::{is_private, nat_subnet};
use super::fleet::facing;
use super::parts::{Hosted, Parts};
use crate::api::labels::NAT_SUBNET_RANGE;
use crate::model::{Finding, message};
use crate::rules::cidr;

/// The range of a subnet to create, with its cluster.
type Range<'a> = (Ipv4Net, Hosted<'a>);

/// H16: subnets to create have names and ranges of their own.
pub(super) fn nat_subnets_are_apart(parts: &Parts<'_>) -> Vec<Finding> {
    let mut of_subnet: BTreeMap<String, Vec<Hosted<'_>>> = BTreeMap::new();
    let mut existing: Vec<(String, Hosted<'_>)> = Vec::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        let Some((_, subnet)) = nat_subnet(cluster) else {
            continue;
        };
        let subnet = subnet.to_lowercase();
        if cluster.annotation(NAT_SUBNET_RANGE).is_some() {
            of_subnet.entry(subnet).or_default().push(cluster);
        } else {
            existing.push((subnet, cluster));
        }
    }
    let mut of_network: BTreeMap<&str, Vec<Range<'_>>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (subnet, clusters) in &of_subnet {
        // H01 reports two clusters whose control planes have one namespace.
        let namespace = |one: Hosted<'_>| format!("{}-{}", one.namespace(), one.name());
        let twice = facing(clusters, namespace).into_iter();
        findings.extend(twice.filter_map(|(one, other)| same_subnet(one, other)));
        let network = subnet.rsplit_once("/subnets/").map(|(network, _)| network);
        let first = clusters.iter().find_map(|one| Some((range(*one)?, *one)));
        if let (Some(network), Some(first)) = (network, first) {
            of_network.entry(network).or_default().push(first);
        }
    }
    let pairs = of_network.into_values().flat_map(overlapping);
    findings.extend(pairs.filter_map(|(one, other)| same_range(one, other)));
    findings.extend(borrowed(&existing, &of_subnet));
    findings
}

/// The clusters that use a subnet which is created for another one, and which goes with that. The later one of the two is reported,
/// and each one once.
fn borrowed(
    existing: &[(String, Hosted<'_>)],
    of_subnet: &BTreeMap<String, Vec<Hosted<'_>>>,
) -> Vec<Finding> {
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for (subnet, user) in existing {
        let Some(maker) = of_subnet.get(subnet).and_then(|makers| makers.first()) else {
            continue;
        };
        let place = |one: &Hosted<'_>| one.object.origin.span().clone();
        if place(user) > place(maker) {
            findings.extend(made_for(*user, *maker));
        } else if reported.insert(subnet) {
            findings.extend(used_by(*maker, *user));
        }
    }
    findings
}

fn made_for(user: Hosted<'_>, maker: Hosted<'_>) -> Option<Finding> {
    let (path, subnet) = nat_subnet(user)?;
    let message = message!(
        "the NAT subnet {subnet} is made for {maker}, and goes with it",
        subnet,
        maker = maker.object.id
    );
    let help = "name an existing subnet that is no cluster's, or write `natSubnet` with a range of its own";
    Some(user.error("H16", &path, message).help(help))
}

fn used_by(maker: Hosted<'_>, user: Hosted<'_>) -> Option<Finding> {
    let (path, subnet) = nat_subnet(maker)?;
    let message = message!(
        "the new NAT subnet {subnet} would be that of {user}, too, and go with this cluster",
        subnet,
        user = user.object.id
    );
    let help =
        "name an existing subnet that is no cluster's for the other cluster, or give it a new one";
    Some(maker.error("H16", &path, message).help(help))
}

/// A range that is not valid is reported by H08.
fn range(cluster: Hosted<'_>) -> Option<Ipv4Net> {
    let (_, written) = cluster.annotation(NAT_SUBNET_RANGE)?;
    cidr::read(written.as_str()?).ok()
}

/// Each range that overlaps others, with one of these. Two ranges that overlap are one in the other, so the widest one before a range
/// is compared alone.
fn overlapping(mut ranges: Vec<Range<'_>>) -> Vec<(Range<'_>, Range<'_>)> {
    ranges.sort_by_key(|(net, _)| (net.network(), net.prefix_len()));
    let mut pairs = Vec::new();
    let mut wide: Option<(Range<'_>, bool)> = None;
    for range in ranges {
        match &mut wide {
            Some((around, is_reported)) if around.0.contains(&range.0) => {
                if !*is_reported {
                    pairs.push((*around, range));
                    *is_reported = true;
                }
                pairs.push((range, *around));
            }
            _ => wide = Some((range, false)),
        }
    }
    pairs
}

fn same_subnet(one: Hosted<'_>, other: Hosted<'_>) -> Option<Finding> {
    let (path, subnet) = nat_subnet(one)?;
    let message = message!(
        "{other} asks for the same new NAT subnet, {subnet}",
        other = other.object.id,
        subnet
    );
    let help = "name another subnet for one of them, or remove the range of one if they share an existing subnet";
    Some(one.error("H16", &path, message).help(help))
}

fn same_range((net, one): Range<'_>, (taken, other): Range<'_>) -> Option<Finding> {
    let (path, _) = one.annotation(NAT_SUBNET_RANGE)?;
    let message = message!(
        "the range {net} of the NAT subnet overlaps {taken} of {other}, in the same virtual network",
        net,
        taken,
        other = other.object.id
    );
    let help = "choose a range of the network that no other subnet has";
    Some(one.error("H16", &path, message).help(help))
}

/// H17: subnets for Private Link Services are where the Fleet document says that the management cluster's network is. Capstan's identity
/// there must not touch other networks.
pub(super) fn nat_subnets_are_in_the_management_network(parts: &Parts<'_>) -> Vec<Finding> {
    let Some(management) = parts.management else {
        return Vec::new();
    };
    let subscription = &management.subscription_id;
    let group = management.network_resource_group();
    let place = format!("/subscriptions/{subscription}/resourceGroups/{group}/").to_lowercase();
    let private = parts.clusters().filter(|one| is_private(*one));
    let outside = private.filter_map(|cluster| {
        let (path, subnet) = nat_subnet(cluster)?;
        let is_inside = subnet.to_lowercase().starts_with(&place);
        let message = message!(
            "the NAT subnet {subnet} is not in the resource group {group} of the subscription {subscription}, where the Fleet document has the management cluster's network",
            subnet,
            group,
            subscription
        );
        let help = "name a subnet of a virtual network there, or change `privateLink.management` in the Fleet document";
        (!is_inside).then(|| cluster.error("H17", &path, message).help(help))
    });
    outside.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{findings_of, messages_of};
    use super::*;
    use crate::api::fleet::{FleetPolicy, IdentityName, Management};

    /// A private cluster with a subnet, and its range if it is to be created.
    fn cluster(id: &str, subnet: &str, range: &str) -> String {
        let (namespace, name) = id.split_once('/').expect("a namespace and a name");
        let annotations = match range {
            "" => String::new(),
            range => format!(", annotations: {{{NAT_SUBNET_RANGE}: {range}}}"),
        };
        format!(
            "---\n{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: {name}, namespace: {namespace}{annotations}}}, spec: {{platform: {{azure: {{topology: Private, private: {{type: PrivateLink, privateLink: {{natSubnetID: {subnet}}}}}}}}}}}}}\n"
        )
    }

    #[test]
    fn ranges_of_one_network_are_apart() {
        let found = |clusters: &[(&str, &str, &str)]| {
            let texts = clusters
                .iter()
                .map(|(id, subnet, range)| cluster(id, subnet, range));
            messages_of(nat_subnets_are_apart, &texts.collect::<String>())
        };
        let apart = [
            ("a/one", "/n/hub/subnets/a", "10.9.0.0/24"),
            ("a/two", "/n/hub/subnets/b", "10.9.1.0/24"),
            ("a/three", "/n/other/subnets/c", "10.9.0.0/24"),
            ("a/four", "/n/hub/subnets/d", ""),
            ("a/five", "/n/hub/subnets/d", ""),
            ("a/six", "/n/hub/subnets/e", "10.9.0.1/24"),
        ];
        assert_eq!(found(&apart), [""; 0]);
        let overlap = |net: &str, taken: &str, of: &str| {
            format!(
                "the range {net} of the NAT subnet overlaps {taken} of HostedCluster/a/{of}, in the same virtual network"
            )
        };
        let found = found(&[
            ("a/one", "/n/HUB/subnets/a", "10.9.1.0/24"),
            ("a/two", "/n/hub/subnets/b", "10.9.0.0/16"),
            ("a/three", "/n/hub/subnets/c", "10.9.1.128/25"),
            ("a/four", "/n/hub/subnets/d", "10.10.0.0/24"),
        ]);
        let expected = [
            overlap("10.9.0.0/16", "10.9.1.0/24", "one"),
            overlap("10.9.1.0/24", "10.9.0.0/16", "two"),
            overlap("10.9.1.128/25", "10.9.0.0/16", "two"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_new_subnet_is_asked_for_once() {
        let first = cluster("a/one", "/n/hub/subnets/nat", "10.9.0.0/24");
        let found = |other: &str| findings_of(nat_subnets_are_apart, &format!("{first}{other}"));
        let twice = found(&cluster("b/two", "/n/HUB/subnets/Nat", "10.9.0.0/24"));
        assert_eq!(twice.len(), 2);
        assert!(
            twice[0].contains("HostedCluster/b/two asks for the same new NAT subnet"),
            "{twice:?}"
        );
        assert!(
            twice[1].ends_with("subnet, /n/HUB/subnets/Nat"),
            "{twice:?}"
        );
        // Its control plane would have the same namespace.
        let named = cluster("a-one/b", "/n/hub/subnets/x", "10.8.0.0/24")
            + &cluster("a/one-b", "/n/hub/subnets/x", "10.8.0.0/24");
        assert_eq!(found(&named), [""; 0]);
    }

    #[test]
    fn a_new_subnet_is_of_no_other_cluster() {
        let maker = cluster("a/one", "/n/hub/subnets/a-one-pls-nat", "10.9.0.0/24");
        let user = |name: &str| cluster(name, "/n/HUB/subnets/A-one-pls-nat", "");
        let found = |texts: &[String]| findings_of(nat_subnets_are_apart, &texts.concat());
        let apart = cluster("b/two", "/n/hub/subnets/b-two-pls-nat", "");
        assert_eq!(found(&[maker.clone(), apart]), [""; 0]);
        let after = found(&[maker.clone(), user("b/two"), user("b/three")]);
        assert_eq!(after.len(), 2, "{after:?}");
        for (found, start) in after.iter().zip(["H16 4:", "H16 6:"]) {
            let end = "the NAT subnet /n/HUB/subnets/A-one-pls-nat is made for HostedCluster/a/one, and goes with it";
            assert!(found.starts_with(start) && found.ends_with(end), "{found}");
        }
        let before = found(&[user("b/two"), user("b/three"), maker]);
        assert_eq!(before.len(), 1, "{before:?}");
        let end = "the new NAT subnet /n/hub/subnets/a-one-pls-nat would be that of HostedCluster/b/two, too, and go with this cluster";
        assert!(
            before[0].starts_with("H16 6:") && before[0].ends_with(end),
            "{before:?}"
        );
    }

    #[test]
    fn a_subnet_is_in_the_management_network_if_the_fleet_has_one() {
        let found = |group: &str, network_group: Option<&str>, subnet: &str| {
            let objects = crate::rules::objects_in(&cluster("a/one", subnet, ""));
            let management = Management {
                subscription_id: "3F0C".to_owned(),
                resource_group: group.to_owned(),
                network_resource_group: network_group.map(str::to_owned),
                identity_ref: IdentityName {
                    name: "link".to_owned(),
                    namespace: None,
                },
            };
            let policy = FleetPolicy {
                management: Some(management),
                ..FleetPolicy::default()
            };
            let parts = Parts::of(&Vec::from_iter(&objects), &policy);
            nat_subnets_are_in_the_management_network(&parts).len()
        };
        let subnet = "/subscriptions/3f0c/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/hub/subnets/nat";
        assert_eq!(found("NET", None, subnet), 0);
        assert_eq!(found("mgmt", Some("Net"), subnet), 0);
        assert_eq!(found("mgmt", None, subnet), 1);
        assert_eq!(found("net", Some("other"), subnet), 1);
        assert_eq!(found("ne", None, subnet), 1);
        assert_eq!(found("net", None, &subnet.replace("3f0c", "4f0c")), 1);
        let text = cluster("a/one", subnet, "");
        let none = messages_of(nat_subnets_are_in_the_management_network, &text);
        assert_eq!(none, [""; 0]);
    }
}
