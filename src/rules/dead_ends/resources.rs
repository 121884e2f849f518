//! D01 and D02: what a machine pool and a control plane must carry.

use super::parts::{Parts, finding};
use crate::api::embedded;
use crate::api::kinds::{self, RED_HAT_OPENSHIFT};
use crate::model::{Finding, Object, Path, message};

/// D01: a machine pool carries a node pool. V01 reports one that carries nothing.
pub(super) fn pools_carry_a_node_pool(parts: &Parts<'_>) -> Vec<Finding> {
    let kind = "HcpOpenShiftClustersNodePool";
    let faults = parts.pools().filter_map(|pool| lacking("D01", pool, kind));
    faults.collect()
}

/// D02: a control plane carries a cluster.
pub(super) fn planes_carry_a_cluster(parts: &Parts<'_>) -> Vec<Finding> {
    let kind = "HcpOpenShiftCluster";
    let faults = parts
        .planes()
        .filter_map(|plane| lacking("D02", plane, kind));
    faults.collect()
}

/// A finding if `object` carries resources, but none of this kind. It points at one that is probably meant.
fn lacking(id: &'static str, object: &Object, kind: &str) -> Option<Finding> {
    let items = embedded::items(object);
    let known: Vec<_> = embedded::ids(object).map(|(id, _)| id).collect();
    // V02 reports the others.
    let is_whole = !items.is_empty() && known.len() == items.len();
    if !is_whole || known.iter().any(|one| one.is(RED_HAT_OPENSHIFT, kind)) {
        return None;
    }
    let list = Path::dotted("spec.resources");
    let is_meant = |one: &&crate::model::ObjectId| {
        let meant = kinds::meant(&one.group, &one.kind);
        one.kind == kind || meant == Some(kind)
    };
    let meant = known.iter().position(|one| is_meant(&one));
    let field = meant.map_or_else(|| list.clone(), |at| list.index(at));
    let carrier = &object.id.kind;
    let message = message!(
        "this {carrier} carries no {kind} of {RED_HAT_OPENSHIFT}, so its controller gives up",
        carrier,
        kind
    );
    let help = match meant.and_then(|at| known.get(at)) {
        Some(wrong) => format!(
            "did you mean {kind} of {RED_HAT_OPENSHIFT} instead of {} of {}?",
            wrong.kind, wrong.group
        ),
        None => format!("add a {kind} to spec.resources"),
    };
    Some(finding(id, object, &field, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::{CLUSTER, findings_of, ids};

    #[test]
    fn a_carrier_carries_the_kind_that_its_controller_needs() {
        assert_eq!(
            ids(&[("kind: HcpOpenShiftClustersNodePool", "kind: Other")]),
            ["D01"]
        );
        assert_eq!(
            ids(&[("kind: HcpOpenShiftCluster,", "kind: Other,")]),
            ["D02"]
        );
        let none = CLUSTER[3].replace("resources: [", "resources: [], was: [");
        assert_eq!(findings_of(&none).len(), 1, "V01 reports it, here only D06");
    }

    #[test]
    fn the_resource_that_is_meant_is_pointed_at() {
        let slip = CLUSTER[2].replace("kind: HcpOpenShiftCluster,", "kind: HcpOpenshiftCluster,");
        let found = findings_of(&slip);
        assert!(found[0].starts_with("D02 1:"), "{found:?}");
        let column = slip
            .find("{apiVersion: redhatopenshift")
            .expect("it is there")
            + 1;
        assert!(
            found[0].starts_with(&format!("D02 1:{column} ")),
            "{found:?}"
        );
    }
}
