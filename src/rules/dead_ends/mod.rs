//! D: what a hand-written cluster runs into with the controllers, and what they report badly or not at all
//! (facts/aro-2026-09-01.md §4).
//!
//! In: the objects of a fleet. Out: findings. Definitions are expanded without dead ends; an overlay may lead into one,
//! and the finding then points into the overlay.
//!
//! It does not know: references to objects that are not there (R01), and what the webhooks reject (V). The last pool of
//! a cluster (D14) is a rule about changes, in `plan`.

mod credentials;
mod owners;
mod parts;
mod providers;
mod references;
mod replicas;
mod resources;

use crate::model::{Finding, Object};
use parts::Parts;

/// A rule for the objects of Cluster API in a fleet.
type Check = for<'a> fn(&Parts<'a>) -> Vec<Finding>;

/// The rules of dead ends, by id.
const RULES: &[Check] = &[
    resources::pools_carry_a_node_pool,
    resources::planes_carry_a_cluster,
    references::clusters_name_their_parts,
    references::parts_are_named,
    references::parts_have_one_user,
    replicas::one_manages_the_replicas,
    owners::owners_are_those_that_controllers_set,
    owners::pools_have_the_label_of_their_cluster,
    resources::what_is_carried_becomes_ready,
    credentials::infrastructure_agrees,
    providers::clusters_are_made_by_something,
    providers::other_providers_are_named,
];

/// The findings of all rules for `objects`.
pub(super) fn check(objects: &[Object], environment: &[&Object]) -> Vec<Finding> {
    let parts = Parts::of(objects, environment);
    RULES.iter().flat_map(|rule| rule(&parts)).collect()
}

/// The findings for YAML documents, as `id line:column message`.
#[cfg(test)]
fn findings_of(yaml: &str) -> Vec<String> {
    let path = std::sync::Arc::from("test.yaml");
    let (documents, findings) = crate::yaml::read(&path, yaml.as_bytes());
    assert_eq!(findings, [], "the test's YAML is valid");
    let objects = documents.into_iter();
    let objects: Vec<_> = objects
        .filter_map(|document| Object::from_node(document, "ns"))
        .collect();
    let say = |finding: Finding| {
        let start = finding.span.expect("a rule points somewhere").start;
        let (id, message) = (finding.id, finding.message);
        format!("{id} {}:{} {message}", start.line, start.column)
    };
    let found = super::found_in(&objects, |objects| check(objects, &[]));
    found.into_iter().map(say).collect()
}

/// A cluster by hand, one object a line, with one pool.
#[cfg(test)]
const CLUSTER: [&str; 5] = [
    "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c}, spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: c}, controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: AROControlPlane, name: c}}}",
    "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {name: c}}",
    "{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {name: c}, spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftCluster, metadata: {name: c}}, {apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftClustersExternalAuth, metadata: {name: ea}}]}}",
    "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROMachinePool, metadata: {name: p, labels: {cluster.x-k8s.io/cluster-name: c}}, spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftClustersNodePool, metadata: {name: p}, spec: {}}]}}",
    "{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {name: p}, spec: {clusterName: c, template: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROMachinePool, name: p}}}}}",
];

/// The ids of what is found in that cluster with these words replaced. An object with no words left is left out.
#[cfg(test)]
fn ids(replaced: &[(&str, &str)]) -> Vec<String> {
    let mut lines = CLUSTER.map(str::to_owned);
    for (from, to) in replaced {
        let before = lines.clone();
        for line in &mut lines {
            *line = line.replace(from, to);
        }
        assert_ne!(before, lines, "{from:?} is in the fleet");
    }
    let found = findings_of(&lines.join("\n---\n"));
    let ids = found.iter().filter_map(|one| one.split(' ').next());
    ids.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_cluster_has_no_dead_ends() {
        assert_eq!(ids(&[]), [""; 0]);
    }
}
