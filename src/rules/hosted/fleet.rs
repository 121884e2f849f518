//! H09, H11 and H15: what only one cluster of a network or a resource group can have, and only so many clusters of a management cluster.

use std::collections::BTreeMap;

use super::connection::{is_private, network};
use super::parts::{Hosted, Parts};
use super::zones::zone;
use crate::model::{Finding, Path, message};

/// The most Private Link Services of a subscription in a region (Azure's limits).
const LIMIT: usize = 1_000;
/// The number from which a warning says how many there are.
pub(in crate::rules) const NEAR: usize = 900;

/// H09: a network takes one private zone of a name: that of a cluster's name, and that of a domain.
pub(super) fn names_are_apart_in_a_network(parts: &Parts<'_>) -> Vec<Finding> {
    let mut named: BTreeMap<(String, &str), Vec<Hosted<'_>>> = BTreeMap::new();
    let mut zones: BTreeMap<(String, String), Vec<Hosted<'_>>> = BTreeMap::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        let Some(network) = network(cluster) else {
            continue;
        };
        let same = named.entry((network.clone(), cluster.name())).or_default();
        same.push(cluster);
        // Of clusters with one name, the first stands for their zone.
        let base = cluster.text("spec.dns.baseDomain").map(str::to_lowercase);
        let zone = zone(cluster).map(|(_, zone)| zone).or(base);
        if let Some(zone) = zone.filter(|_| same.len() == 1) {
            zones.entry((network, zone)).or_default().push(cluster);
        }
    }
    let mut findings = Vec::new();
    for clusters in named.values() {
        let pairs = facing(clusters, |one| &one.object.id).into_iter();
        findings.extend(pairs.map(|(one, other)| same_name(one, other)));
    }
    for ((_, zone), clusters) in &zones {
        let pairs = facing(clusters, group).into_iter();
        findings.extend(pairs.map(|(one, other)| same_zone(one, other, zone)));
    }
    findings
}

/// Each of several clusters that must have one `key` in common, with the first one that has another; none if all have the same.
pub(super) fn facing<'a, K: PartialEq>(
    clusters: &[Hosted<'a>],
    key: impl Fn(Hosted<'a>) -> K,
) -> Vec<(Hosted<'a>, Hosted<'a>)> {
    let Some(first) = clusters.first() else {
        return Vec::new();
    };
    let has_first = |one: &Hosted<'a>| key(*one) == key(*first);
    let Some(other) = clusters.iter().find(|one| !has_first(one)) else {
        return Vec::new();
    };
    let pair = |one: &Hosted<'a>| (*one, if has_first(one) { *other } else { *first });
    clusters.iter().map(pair).collect()
}

fn same_name(one: Hosted<'_>, other: Hosted<'_>) -> Finding {
    let message = message!(
        "{other} has the same name in the same network, where both would have the private zone {name}.hypershift.local",
        other = other.object.id,
        name = one.name()
    );
    let help = "give one of them another name, or another network";
    one.error("H09", &Path::dotted("metadata.name"), message)
        .help(help)
}

fn same_zone(one: Hosted<'_>, other: Hosted<'_>, zone: &str) -> Finding {
    let message = message!(
        "{other} has the private zone {zone} in the same network from another resource group: Azure links a network to one zone of a name, so the names of one of the clusters would not be found",
        other = other.object.id,
        zone
    );
    let help = "put both into one resource group, or use another domain or network for one of them";
    let path = Path::dotted("spec.platform.azure.resourceGroup");
    one.error("H09", &path, message).help(help)
}

/// H15: a resource group has one private zone of a name, that of a cluster's name.
pub(super) fn names_are_apart_in_a_group(parts: &Parts<'_>) -> Vec<Finding> {
    let mut named: BTreeMap<_, Vec<Hosted<'_>>> = BTreeMap::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        if let [Some(subscription), Some(group)] = group(cluster) {
            let key = (subscription, group, cluster.name());
            named.entry(key).or_default().push(cluster);
        }
    }
    let mut findings = Vec::new();
    for ((_, group, name), clusters) in &named {
        // H09 reports those of one network.
        let pairs = facing(clusters, network).into_iter();
        let pairs = pairs.filter(|(one, other)| one.object.id != other.object.id);
        findings.extend(pairs.map(|(one, other)| {
            let message = message!(
                "{other} has the same name in the same resource group {group}, where both would have the private zone {name}.hypershift.local",
                other = other.object.id,
                group,
                name
            );
            let help = "give one of them another name, or another resource group";
            one.error("H15", &Path::dotted("metadata.name"), message)
                .help(help)
        }));
    }
    findings
}

/// The subscription and resource group of a cluster, in lower case.
pub(super) fn group(cluster: Hosted<'_>) -> [Option<String>; 2] {
    [
        "spec.platform.azure.subscriptionID",
        "spec.platform.azure.resourceGroup",
    ]
    .map(|path| cluster.text(path).map(str::to_lowercase))
}

/// H11: a region of the management cluster's subscription has room for the Private Link Services of all clusters.
pub(super) fn private_links_are_few(parts: &Parts<'_>) -> Vec<Finding> {
    let mut of_region: BTreeMap<String, Vec<Hosted<'_>>> = BTreeMap::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        of_region
            .entry(location(cluster))
            .or_default()
            .push(cluster);
    }
    of_region
        .iter()
        .filter_map(|(location, clusters)| crowded(location, clusters))
        .collect()
}

/// The region of a cluster, in lower case.
pub(super) fn location(cluster: Hosted<'_>) -> String {
    let location = cluster.text("spec.platform.azure.location");
    let location = location.unwrap_or_default();
    location.replace(' ', "").to_lowercase()
}

fn crowded(location: &str, clusters: &[Hosted<'_>]) -> Option<Finding> {
    const ACCESS: &str = "spec.platform.azure";
    let count = clusters.len();
    let help = "use a management cluster in another subscription for new clusters";
    if count > LIMIT {
        let message = message!(
            "{count} private clusters in {location}, and a subscription has {LIMIT} Private Link Services in a region",
            count,
            location
        );
        return Some(
            clusters
                .get(LIMIT)?
                .error("H11", &Path::dotted(ACCESS), message)
                .help(help),
        );
    }
    let message = message!(
        "{count} private clusters in {location}, of {LIMIT} Private Link Services that a subscription has in a region",
        count,
        location
    );
    let at = clusters.get(NEAR - 1)?;
    Some(at.warning("H11", &Path::dotted(ACCESS), message).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    fn cluster(namespace: &str, name: &str, group: &str, network: &str) -> String {
        format!(
            "---\n{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{dns: {{baseDomain: example.com}}, platform: {{azure: {{topology: Private, location: uksouth, subscriptionID: s, resourceGroup: {group}, vnetID: {network}}}}}}}}}\n"
        )
    }

    #[test]
    fn a_network_takes_one_zone_of_a_name() {
        let first = cluster("a", "c", "g", "/net");
        let found =
            |other: String| findings_of(names_are_apart_in_a_network, &format!("{first}{other}"));
        assert_eq!(found(cluster("a", "d", "G", "/NET")), [""; 0]);
        assert_eq!(found(cluster("b", "c", "g", "/other")), [""; 0]);
        let named = found(cluster("b", "c", "h", "/NET"));
        assert_eq!(
            named,
            [
                "H09 2:85 HostedCluster/b/c has the same name in the same network, where both would have the private zone c.hypershift.local",
                "H09 4:85 HostedCluster/a/c has the same name in the same network, where both would have the private zone c.hypershift.local"
            ]
        );
        let zone = found(cluster("b", "d", "h", "/net"));
        assert_eq!(zone.len(), 2);
        for (found, other) in zone.iter().zip(["b/d", "a/c"]) {
            let expected = format!(
                "HostedCluster/{other} has the private zone example.com in the same network"
            );
            assert!(found.contains(&expected), "{zone:?}");
        }
        let three = cluster("b", "d", "g", "/net") + &cluster("b", "e", "h", "/net");
        let three = found(three);
        let others: Vec<_> = three
            .iter()
            .filter_map(|one| one.split("HostedCluster/").nth(1)?.split(' ').next())
            .collect();
        assert_eq!(others, ["b/e", "b/e", "a/c"]);
    }

    #[test]
    fn a_resource_group_takes_one_cluster_of_a_name() {
        let first = cluster("a", "c", "g", "/net");
        let found =
            |other: String| findings_of(names_are_apart_in_a_group, &format!("{first}{other}"));
        assert_eq!(found(cluster("b", "d", "g", "/other")), [""; 0]);
        assert_eq!(found(cluster("b", "c", "h", "/other")), [""; 0]);
        let public = cluster("b", "c", "g", "/other").replace("Private", "Public");
        assert_eq!(found(public), [""; 0]);
        assert_eq!(
            found(cluster("b", "c", "g", "/NET")),
            [""; 0],
            "H09 reports it"
        );
        let named = found(cluster("b", "c", "G", "/other"));
        assert_eq!(
            named,
            [
                "H15 2:85 HostedCluster/b/c has the same name in the same resource group g, where both would have the private zone c.hypershift.local",
                "H15 4:85 HostedCluster/a/c has the same name in the same resource group g, where both would have the private zone c.hypershift.local"
            ]
        );
    }

    #[test]
    fn nine_hundred_private_clusters_are_many_and_more_than_a_thousand_too_many() {
        let found = |count: usize| {
            let all: String = (0..count)
                .map(|number| cluster("a", &format!("c{number}"), "g", "/net"))
                .collect();
            findings_of(private_links_are_few, &all)
        };
        assert_eq!(found(899), [""; 0]);
        assert!(found(900)[0].starts_with("H11 1800:"));
        assert!(found(1_001)[0].contains("1001 private clusters"));
    }
}
