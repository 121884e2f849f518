//! C13 to C15: the networks of a cluster.

use ipnet::Ipv4Net;

use crate::model::Finding;
use crate::rules::arm::{Field, Resource, World};

/// The field of each network, and what messages call it.
const NETWORKS: [(&str, &str); 3] = [
    ("machineCidr", "machine"),
    ("serviceCidr", "service"),
    ("podCidr", "pod"),
];

/// C13: each network is an IPv4 network in its canonical form.
pub(in crate::rules) fn networks_are_canonical(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let network = cluster.field("spec.properties.network");
    let fault = |(name, _): (&str, &str)| {
        let field = network.key(name);
        let text = field.text()?;
        let why = match text.parse::<Ipv4Net>() {
            Ok(net) if net.network() == net.addr() => return None,
            Ok(net) => format!("has bits after its prefix; the network is {}", net.trunc()),
            Err(_) if text.parse::<ipnet::Ipv6Net>().is_ok() => "is not IPv4".to_owned(),
            Err(_) => "is no network such as 10.128.0.0/14".to_owned(),
        };
        Some(field.finding("C13", format!("{name} {text:?} {why}")))
    };
    NETWORKS.into_iter().filter_map(fault).collect()
}

/// C14: `23 <= hostPrefix <= 26`.
pub(in crate::rules) fn host_prefix_in_range(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let field = cluster.field("spec.properties.network.hostPrefix");
    let out = field.number().filter(|prefix| !(23..=26).contains(prefix));
    let say = |prefix| {
        field.finding(
            "C14",
            format!("hostPrefix {prefix} is not between 23 and 26"),
        )
    };
    out.map(say).into_iter().collect()
}

/// C15: the three networks are pairwise apart.
pub(in crate::rules) fn networks_are_apart(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let network = cluster.field("spec.properties.network");
    let read =
        |(name, called): (&str, &'static str)| -> Option<(Field<'_>, &'static str, Ipv4Net)> {
            let field = network.key(name);
            let net = field.text()?.parse::<Ipv4Net>().ok()?;
            Some((field, called, net))
        };
    let nets: Vec<_> = NETWORKS.into_iter().filter_map(read).collect();
    let mut findings = Vec::new();
    for (at, (field, called, net)) in nets.iter().enumerate() {
        for (_, other, before) in &nets[..at] {
            if net.contains(before) || before.contains(net) {
                let message =
                    format!("the {called} network {net} overlaps the {other} network {before}");
                findings.push(field.finding("C15", message));
            }
        }
    }
    findings
}
