//! Node pools that people write by hand.

use super::*;

const CLUSTER: &str = "---\n{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one, namespace: c}}\n";

/// A pool as Cluster API has it, with this policy.
fn machines(name: &str, policy: &str) -> String {
    format!(
        "---\n{{apiVersion: cluster.x-k8s.io/v1beta2, kind: MachinePool, metadata: {{name: {name}, namespace: c, annotations: {{capstan.dev/deletion-policy: {policy}}}}}, spec: {{clusterName: one, template: {{spec: {{clusterName: one, infrastructureRef: {{apiGroup: infrastructure.cluster.x-k8s.io, kind: AROMachinePool, name: {name}}}}}}}}}}}\n"
    )
}

/// Its other half, with two nodes.
fn nodes(name: &str, policy: &str) -> String {
    format!(
        "---\n{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROMachinePool, metadata: {{name: {name}, namespace: c, annotations: {{capstan.dev/deletion-policy: {policy}}}, labels: {{cluster.x-k8s.io/cluster-name: one}}}}, spec: {{resources: [{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftClustersNodePool, metadata: {{name: one-{name}}}, spec: {{azureName: {name}, owner: {{name: one}}, location: uksouth, properties: {{replicas: 2, version: {{id: 4.20.17}}, platform: {{vmSize: Standard_D8s_v3}}}}}}}}]}}}}\n"
    )
}

/// The account of a change, without regard to findings of the files.
fn title(old: &str, new: &str) -> (String, String) {
    let set = ApplySet::new("f", "default");
    let old = compiled(old);
    let before = plan::against_none(&old.objects, &old.graph, &set);
    let mut new = compiled(new);
    new.findings.clear();
    let approvals = Approvals::default();
    let check = merged(&set, &new, Some(("o", Some(&before))), None, &approvals);
    (check.title, check.summary)
}

/// Cluster API deletes the other half, which has the nodes, with the MachinePool.
#[test]
fn nodes_are_counted_although_the_object_that_has_them_stays() {
    let stays = [CLUSTER, &*nodes("workers", "Delete")].concat();
    let (title, text) = title(&(stays.clone() + &machines("workers", "Delete")), &stays);
    assert!(
        title.contains("needs approval: 1 pool deleted (2 nodes)"),
        "{title}"
    );
    let line = "- node pool c/one/workers is deleted: its 2 nodes and what runs on them go\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn a_renamed_pool_that_is_released_keeps_its_nodes() {
    let of = |name: &str| [machines(name, "Orphan"), nodes(name, "Orphan")].concat();
    let (title, text) = title(
        &(CLUSTER.to_owned() + &of("workers")),
        &(CLUSTER.to_owned() + &of("others")),
    );
    assert_eq!(title, "needs approval: 1 pool renamed");
    let line = "- node pool c/one/workers is renamed to c/one/others: new nodes are made; the old pool goes on running in Azure; nobody manages, patches or deletes it\n";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("nodes and what runs on them go"), "{text}");
}
