//! D09 to D11: who sets the number of nodes.

use super::parts::{Parts, carried, finding};
use crate::api::labels;
use crate::model::{Finding, Node, Object, Path, message};

/// D09 to D11: with autoscaling, the provider's controller sets the replicas of the MachinePool, and marks it so.
pub(super) fn one_manages_the_replicas(parts: &Parts<'_>) -> Vec<Finding> {
    let pools = parts
        .pools()
        .filter_map(|pool| Some((pool, parts.user(pool)?)));
    pools
        .flat_map(|(pool, machine_pool)| match scales(pool) {
            true => [foreign(machine_pool), written(pool, machine_pool)],
            false => [marked(machine_pool), None],
        })
        .flatten()
        .collect()
}

fn node_pool(pool: &Object) -> Option<&Node> {
    let mut all = carried(pool, "HcpOpenShiftClustersNodePool");
    all.next().map(|(_, one)| one)
}

/// Whether the node pool that a machine pool carries has autoscaling.
fn scales(pool: &Object) -> bool {
    let bounds = node_pool(pool).and_then(|one| one.at(&["spec", "properties", "autoScaling"]));
    let bounds = bounds.and_then(Node::as_map);
    bounds.is_some_and(|bounds| !bounds.is_empty())
}

fn manager() -> Path {
    Path::dotted("metadata.annotations").key(labels::REPLICAS_MANAGED_BY)
}

/// D09: another manager than the provider's controller.
fn foreign(machine_pool: &Object) -> Option<Finding> {
    let other = machine_pool.annotation(labels::REPLICAS_MANAGED_BY)?;
    let ours = labels::REPLICAS_MANAGED_BY_ARO;
    let message = message!(
        "the replicas of {machine_pool} are managed by {other}, but its node pool has autoscaling: the controller refuses that and tries again for ever",
        machine_pool = machine_pool.id,
        other
    );
    let help = "remove the annotation, or autoScaling from the node pool";
    (other != ours).then(|| finding("D09", machine_pool, &manager(), message).help(help))
}

/// D10: marked as managed by the provider's controller, without autoscaling.
fn marked(machine_pool: &Object) -> Option<Finding> {
    let manager_named = machine_pool.annotation(labels::REPLICAS_MANAGED_BY)?;
    let message = message!(
        "{machine_pool} has the annotation of a node pool with autoscaling, but its node pool has none: the controller removes it each time",
        machine_pool = machine_pool.id
    );
    let help = "remove the annotation: the controller sets it where it belongs";
    (manager_named == labels::REPLICAS_MANAGED_BY_ARO)
        .then(|| finding("D10", machine_pool, &manager(), message).help(help))
}

/// D11: a number of replicas beside autoscaling. With the annotation, Capstan leaves the number to the controller; N17
/// reports a number on the node pool itself.
fn written(pool: &Object, machine_pool: &Object) -> Option<Finding> {
    let field = Path::dotted("spec.replicas");
    machine_pool.node.lookup(&field)?;
    let own = node_pool(pool).and_then(|one| one.at(&["spec", "properties", "replicas"]));
    let has_own = own.and_then(Node::as_int).is_some_and(|own| own >= 1);
    if has_own
        || machine_pool
            .annotation(labels::REPLICAS_MANAGED_BY)
            .is_some()
    {
        return None;
    }
    let message = message!(
        "the node pool of {machine_pool} has autoscaling, so the controller sets replicas to the number of nodes, and each apply sets it back",
        machine_pool = machine_pool.id
    );
    let help = "remove replicas from the MachinePool: autoScaling has the bounds";
    Some(finding("D11", machine_pool, &field, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::ids;

    #[test]
    fn the_controller_sets_the_replicas_under_autoscaling() {
        let scales = (
            "name: p}, spec: {}",
            "name: p}, spec: {properties: {autoScaling: {max: 3}}}",
        );
        let fixed = (
            "name: p}, spec: {}",
            "name: p}, spec: {properties: {autoScaling: {}}}",
        );
        let managed = |by| {
            (
                "MachinePool, metadata: {name: p}",
                match by {
                    "" => "MachinePool, metadata: {name: p, annotations: {}}",
                    "aro-hcp" => {
                        "MachinePool, metadata: {name: p, annotations: {cluster.x-k8s.io/replicas-managed-by: aro-hcp}}"
                    }
                    _ => {
                        "MachinePool, metadata: {name: p, annotations: {cluster.x-k8s.io/replicas-managed-by: keda}}"
                    }
                },
            )
        };
        let replicas = ("clusterName: c, ", "clusterName: c, replicas: 2, ");
        assert_eq!(ids(&[scales, managed("")]), [""; 0]);
        assert_eq!(ids(&[scales, managed("aro-hcp")]), [""; 0]);
        assert_eq!(ids(&[scales, managed("keda")]), ["D09"]);
        assert_eq!(ids(&[fixed, managed("keda")]), [""; 0]);
        assert_eq!(ids(&[fixed, managed("aro-hcp")]), ["D10"]);
        assert_eq!(ids(&[scales, replicas]), ["D11"]);
        assert_eq!(ids(&[fixed, replicas]), [""; 0]);
    }
}
