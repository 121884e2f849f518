//! What HostedClusters of different parts of a fleet are compared by.

use super::connection::{is_private, nat_subnet, network};
use super::fleet::{group, location};
use super::parts::{Hosted, Parts};
use crate::api::fleet::FleetPolicy;
use crate::model::Object;
use crate::rules::links::LinkSets;

/// Adds the links of the hosted clusters and node pools among `objects`.
pub(in crate::rules) fn links(objects: &[&Object], links: &mut LinkSets) {
    let policy = FleetPolicy::default();
    let parts = Parts::of(objects, &policy);
    for cluster in parts.clusters() {
        of_cluster(cluster, links);
    }
    for subnet in parts.subnets_of_nodes() {
        links.offer("nodes in", subnet);
    }
}

fn of_cluster(cluster: Hosted<'_>, links: &mut LinkSets) {
    // H01.
    let namespace = format!("{}-{}", cluster.namespace(), cluster.name());
    links.share("namespace of a control plane", namespace);
    // H09 and H10.
    if let Some(network) = network(cluster) {
        links.share("hosted network", network);
    }
    if !is_private(cluster) {
        return;
    }
    // H15 and H11.
    links.share("hosted group", (group(cluster), cluster.name()));
    links.count("private links", location(cluster));
    // H08 and H16.
    if let Some((_, subnet)) = nat_subnet(cluster) {
        let subnet = subnet.to_lowercase();
        if let Some((network, _)) = subnet.rsplit_once("/subnets/") {
            links.share("network of NAT subnets", network);
        }
        links.share("NAT subnet", &subnet);
        links.want("nodes in", &subnet);
    }
}
