//! C13 to C16 and C18: the networks of a cluster, and the networks that may reach it.

use std::collections::HashMap;

use ipnet::Ipv4Net;

use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, ObjectId, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::cidr::{self, edit_earlier, overlap, remark};

/// The field of each network, and its name in messages.
const NETWORKS: [(&str, &str); 3] = [
    ("machineCidr", "machine"),
    ("serviceCidr", "service"),
    ("podCidr", "pod"),
];

/// The valid sizes of a node's part of the pod network.
const HOST_PREFIXES: std::ops::RangeInclusive<i64> = 23..=26;

/// C13: each network is an IPv4 network in its canonical form.
pub(in crate::rules) fn networks_are_canonical(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let network = cluster.field("spec.properties.network");
    let fault = |(name, _): (&str, &str)| {
        let field = network.key(name);
        let text = field.text()?;
        let why = cidr::read(text).err()?;
        let message = message!("{name} {text:?} {why}", name = field.name(), text);
        Some(field.finding("C13", message).help(cidr::instead(text)))
    };
    NETWORKS.into_iter().filter_map(fault).collect()
}

/// C14: `23 <= hostPrefix <= 26`.
pub(in crate::rules) fn host_prefix_in_range(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = cluster.field("spec.properties.network.hostPrefix");
    let out = field
        .number()
        .filter(|prefix| !HOST_PREFIXES.contains(prefix));
    let finding = |prefix| {
        let message = message!("hostPrefix {prefix} is not between 23 and 26", prefix);
        let help = "write 23 (512 addresses for each node), 24, 25 or 26 (64 addresses)";
        field.finding("C14", message).help(help)
    };
    out.map(finding).into_iter().collect()
}

/// The valid networks inside of a cluster, each with its field and its name in messages.
pub(in crate::rules) fn networks_of<'a>(
    cluster: &'a Resource<'a>,
) -> Vec<(Field<'a>, &'static str, Ipv4Net)> {
    let network = cluster.field("spec.properties.network");
    let read = |(name, called): (&str, &'static str)| {
        let field = network.key(name);
        let net = cidr::of(&field)?;
        Some((field, called, net))
    };
    NETWORKS.into_iter().filter_map(read).collect()
}

/// C15: the three networks do not overlap. A network that overlaps both others is reported once.
pub(in crate::rules) fn networks_are_apart(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    overlapping(cluster)
        .into_iter()
        .map(|(_, one)| one)
        .collect()
}

/// The networks that Azure gives a cluster where it names none (facts/aro-rules.md §2.2).
const DEFAULTS: [&str; 3] = ["10.0.0.0/16", "172.30.0.0/16", "10.128.0.0/14"];

/// The valid networks inside of a cluster, with the default for each that is absent.
fn networks_and_defaults<'a>(cluster: &'a Resource<'a>) -> Vec<(Field<'a>, &'static str, Ipv4Net)> {
    let network = cluster.field("spec.properties.network");
    let with_default = |((name, called), default): ((&str, &'static str), &str)| {
        let field: Field<'a> = network.key(name);
        let net = match field.is_given() {
            true => cidr::of(&field),
            false => default.parse().ok(),
        };
        Some((field, called, net?))
    };
    let all = NETWORKS.into_iter().zip(DEFAULTS);
    all.filter_map(with_default).collect()
}

/// The networks of a cluster that C15 reports.
pub(in crate::rules) fn overlapping<'a>(cluster: &'a Resource<'a>) -> Vec<(&'static str, Finding)> {
    let nets = networks_and_defaults(cluster);
    let mut found: Vec<(&'static str, Finding)> = Vec::new();
    for (at, later) in nets.iter().enumerate() {
        for earlier in nets[..at].iter().filter(|one| overlap(&one.2, &later.2)) {
            let ((field, called, net), (rest, other, taken)) =
                match edit_earlier(&earlier.0, &later.0) {
                    true => (earlier, later),
                    false => (later, earlier),
                };
            if found.iter().any(|(known, _)| known == called) {
                continue;
            }
            let remark = remark(rest);
            let message = message!(
                "the {called} network {net} overlaps the {other} network {taken}{remark}",
                called,
                net,
                other,
                taken
            );
            let name = field.name();
            let help = format!("give {name} a network apart from {taken}");
            found.push((called, field.finding("C15", message).help(help)));
        }
    }
    found
}

/// The number of nodes that a pool may have.
pub(in crate::rules) fn most_nodes(pool: &Resource<'_>) -> i64 {
    let properties = pool.field("spec.properties");
    let most = properties.key("autoScaling").key("max").number();
    let most = most.or_else(|| properties.key("replicas").number());
    most.unwrap_or_default()
}

/// C16: the pod network has room for all nodes that the pools may have.
pub(in crate::rules) fn networks_are_roomy(world: &World<'_>) -> Vec<Finding> {
    let mut nodes: HashMap<&ObjectId, i64> = HashMap::new();
    for pool in world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool") {
        let Some(cluster) = world.owner(pool) else {
            continue;
        };
        let count = nodes.entry(&cluster.id).or_default();
        *count = count.saturating_add(most_nodes(pool));
    }
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    let found = clusters.filter_map(|cluster| {
        let nodes = nodes.get(&cluster.id).copied().unwrap_or_default();
        room_for(cluster, nodes)
    });
    found.collect()
}

fn room_for(cluster: &Resource<'_>, nodes: i64) -> Option<Finding> {
    let network = cluster.field("spec.properties.network");
    let field = network.key("podCidr");
    let pods = cidr::of(&field)?;
    let prefix = network.key("hostPrefix").number().unwrap_or(23);
    // C14 reports any other prefix.
    HOST_PREFIXES.contains(&prefix).then_some(())?;
    let bits = prefix - i64::from(pods.prefix_len());
    let room = match u32::try_from(bits) {
        Ok(bits) => 1_i64.checked_shl(bits)?,
        Err(_) => 0,
    };
    let message = message!(
        "{name} {pods} has room for {room} nodes with hostPrefix {prefix}, but the node pools may have {nodes}",
        name = field.name(),
        pods,
        room,
        prefix,
        nodes
    );
    let help = "use a larger network or a longer hostPrefix: neither can be changed later";
    (room < nodes).then(|| field.finding("C16", message).help(help))
}

/// C18: the authorized networks of the API are IPv4 addresses and networks, and there is at least one.
pub(in crate::rules) fn authorized_networks(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let list = cluster.field("spec.properties.api.authorizedCidrs");
    let wrong = list.items().filter_map(|item| {
        let text = item.text()?;
        let (why, help) = unfit(text)?;
        let message = message!("{item} {text:?} {why}", item = item.name(), text);
        Some(item.finding("C18", message).help(help))
    });
    amount(&list).into_iter().chain(wrong).collect()
}

/// A finding if there are no authorized networks, or too many.
fn amount(list: &Field<'_>) -> Option<Finding> {
    const MOST: usize = 500;
    let name = list.name();
    let (message, help) = match list.node?.as_list()?.len() {
        0 => (
            message!("{name} is empty, so nobody could reach the API", name),
            "list 1 to 500 addresses and networks, or remove it to allow everybody",
        ),
        1..=MOST => return None,
        count => (
            message!("{name} has {count} items, more than {MOST}", name, count),
            "combine adjacent addresses into networks",
        ),
    };
    Some(list.finding("C18", message).help(help))
}

/// Why a text is neither an address nor a network, and what to write instead.
fn unfit(text: &str) -> Option<(String, String)> {
    let trimmed = text.trim();
    if trimmed != text && !trimmed.is_empty() {
        return Some((
            "has spaces around it".to_owned(),
            format!("write {trimmed}"),
        ));
    }
    if let Ok(net) = format!("{text}/32").parse::<Ipv4Net>() {
        let address = net.addr().to_string();
        let wrong = || (cidr::LEADING_ZERO.to_owned(), format!("write {address}"));
        return (address != text).then(wrong);
    }
    let why = cidr::read(text).err()?;
    if text.parse::<Ipv4Net>().is_ok() {
        return Some((why, cidr::instead(text)));
    }
    let why = "is neither an IPv4 address nor an IPv4 network";
    let help = "write an address such as 203.0.113.7 or a network such as 203.0.113.0/24";
    Some((why.to_owned(), help.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    fn faults(list: &str) -> usize {
        let spec = format!("{{properties: {{api: {{authorizedCidrs: {list}}}}}}}");
        findings_of(authorized_networks, &spec).len()
    }

    #[test]
    fn absent_networks_have_defaults() {
        for (network, faults) in [
            ("{}", 0),
            ("{podCidr: 10.0.0.0/16}", 1),
            ("{machineCidr: 10.128.0.0/16}", 1),
            ("{serviceCidr: 10.0.1.0/24}", 1),
            ("{podCidr: 10.0.0.0/16, machineCidr: 10.1.0.0/16}", 0),
            ("{podCidr: 10.0.0.0/16, machineCidr: null}", 1),
        ] {
            let spec = format!("{{properties: {{network: {network}}}}}");
            let found = findings_of(networks_are_apart, &spec);
            assert_eq!(found.len(), faults, "{network}: {found:?}");
            let has_default = |message: &String| message.ends_with("(the default)");
            assert!(found.iter().all(has_default), "{found:?}");
        }
    }

    #[test]
    fn authorized_networks_are_ipv4_addresses_and_networks() {
        for good in ["192.168.1.1", "10.0.0.0/8"] {
            assert_eq!(faults(&format!("[{good:?}]")), 0, "{good}");
        }
        for bad in [
            "",
            " 10.0.0.0/16",
            "10.0.0.0/16 ",
            "10.0. 0.0/16",
            "10.0.0.0/33",
            "10.0.0.1/16",
            "2001:db8::1",
            "010.0.0.1",
            "192.168.001.1",
            "010.0.0.0/8",
            "10.0.0.0/08",
        ] {
            assert_eq!(faults(&format!("[{bad:?}]")), 1, "{bad}");
        }
        let many = |count: usize| faults(&format!("[{}]", vec!["10.0.0.1"; count].join(", ")));
        assert_eq!([0, 1, 500, 501].map(many), [1, 0, 0, 1]);
        assert_eq!(findings_of(authorized_networks, "{}"), [] as [&str; 0]);
    }
}
