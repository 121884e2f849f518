//! H09 and H11: what only one cluster of a network can have, and only so many clusters of a management cluster.

use std::collections::BTreeMap;

use super::connection::{is_private, network, zone};
use super::parts::{Hosted, Parts};
use crate::model::{Finding, Path, message};

/// The most Private Link Services of a subscription in a region (Azure's limits).
const LIMIT: usize = 1_000;
/// The number from which a warning says how many there are.
const NEAR: usize = 900;

/// H09: a network takes one private zone of a name: that of a cluster's name, and that of a domain.
pub(super) fn names_are_apart_in_a_network(parts: &Parts<'_>) -> Vec<Finding> {
    let mut named: BTreeMap<(String, &str), Hosted<'_>> = BTreeMap::new();
    let mut zones: BTreeMap<(String, String), Hosted<'_>> = BTreeMap::new();
    let mut findings = Vec::new();
    for cluster in parts.clusters().filter(|one| is_private(*one)) {
        let Some(network) = network(cluster) else {
            continue;
        };
        let first = named
            .entry((network.clone(), cluster.name()))
            .or_insert(cluster);
        if first.object.id != cluster.object.id {
            let message = message!(
                "{first} has the same name in the same network, where both would have the private zone {name}.hypershift.local",
                first = first.object.id,
                name = cluster.name()
            );
            let help = "give one of them another name, or another network";
            findings.push(
                cluster
                    .error("H09", &Path::dotted("metadata.name"), message)
                    .help(help),
            );
            continue;
        }
        let base = cluster.text("spec.dns.baseDomain").map(str::to_lowercase);
        let Some(zone) = zone(cluster).map(|(_, zone)| zone).or(base) else {
            continue;
        };
        let first = zones.entry((network, zone.clone())).or_insert(cluster);
        if group(*first) != group(cluster) {
            let message = message!(
                "{first} has the private zone {zone} in the same network from another resource group, and a network takes one zone of a name",
                first = first.object.id,
                zone
            );
            let help = "use one resource group or another domain for one of them";
            let path = "spec.platform.azure.resourceGroup";
            findings.push(
                cluster
                    .error("H09", &Path::dotted(path), message)
                    .help(help),
            );
        }
    }
    findings
}

/// The subscription and resource group of a cluster, in lower case.
fn group(cluster: Hosted<'_>) -> [Option<String>; 2] {
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
        let location = cluster
            .text("spec.platform.azure.location")
            .unwrap_or_default();
        let location = location.replace(' ', "").to_lowercase();
        of_region.entry(location).or_default().push(cluster);
    }
    of_region
        .iter()
        .filter_map(|(location, clusters)| crowded(location, clusters))
        .collect()
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
                "H09 4:85 HostedCluster/a/c has the same name in the same network, where both would have the private zone c.hypershift.local"
            ]
        );
        let zone = found(cluster("b", "d", "h", "/net"));
        assert_eq!(zone.len(), 1);
        assert!(
            zone[0].contains("has the private zone example.com in the same network"),
            "{zone:?}"
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
