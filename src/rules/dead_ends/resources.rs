//! D01, D02 and D17: what a machine pool and a control plane must carry, once, and what nothing can carry.

use super::parts::{Parts, carried, finding};
use crate::api::kinds::{self, RED_HAT_OPENSHIFT};
use crate::api::{embedded, suppliers};
use crate::model::{Finding, Node, Object, Path, message};

const CLUSTER: &str = "HcpOpenShiftCluster";
const POOL: &str = "HcpOpenShiftClustersNodePool";

/// D01: a machine pool carries one node pool. V01 reports one that carries nothing.
pub(super) fn pools_carry_a_node_pool(parts: &Parts<'_>) -> Vec<Finding> {
    let pools = parts.pools();
    pools.flat_map(|pool| not_one("D01", pool, POOL)).collect()
}

/// D02: a control plane carries one cluster.
pub(super) fn planes_carry_a_cluster(parts: &Parts<'_>) -> Vec<Finding> {
    let planes = parts.planes();
    let faults = planes.flat_map(|plane| not_one("D02", plane, CLUSTER));
    faults.collect()
}

/// D17: what is carried says when it is ready, as the resources of Azure Service Operator do. The kinds of Kubernetes
/// itself have no condition `Ready`.
pub(super) fn what_is_carried_becomes_ready(parts: &Parts<'_>) -> Vec<Finding> {
    let faults = parts.objects.iter().flat_map(|carrier| {
        let silent = embedded::items(carrier).iter().enumerate();
        silent.filter_map(move |(at, item)| never_ready(carrier, at, item))
    });
    faults.collect()
}

fn never_ready(carrier: &Object, at: usize, item: &Node) -> Option<Finding> {
    // V02 reports what is not whole.
    item.text(&["metadata", "name"])?;
    let (version, kind) = (item.text(&["apiVersion"])?, item.text(&["kind"])?);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let is_silent = suppliers::is_built_in(group) && kind != "Pod";
    let message = message!(
        "the {kind} never has the condition Ready, so {carrier} waits for it forever",
        kind,
        carrier = carrier.id
    );
    let path = Path::dotted("spec.resources").index(at).key("kind");
    let help = "make it an object of its own, in a document beside this one";
    is_silent.then(|| finding("D17", carrier, &path, message).help(help))
}

/// Findings if `object` carries no resource of this kind, or more than one.
fn not_one(id: &'static str, object: &Object, kind: &'static str) -> Vec<Finding> {
    let none = lacking(id, object, kind).into_iter();
    none.chain(further(id, object, kind)).collect()
}

/// A finding for each resource of this kind after the first.
fn further(id: &'static str, object: &Object, kind: &'static str) -> Vec<Finding> {
    let mut all = carried(object, kind);
    let Some((_, first)) = all.next() else {
        return Vec::new();
    };
    let first = first.text(&["metadata", "name"]).unwrap_or_default();
    let carrier = &object.id.kind;
    let owner = if kind == POOL {
        "MachinePool"
    } else {
        "Cluster"
    };
    let finding = |(path, _): (Path, &Node)| {
        // The webhook recognizes a finding by its arguments: which one is the first may change.
        let message = message!(
            "an {carrier} has one {kind}, and this one already has {first:?}",
            carrier,
            kind,
            item = first
        );
        let help = format!("move it to an {carrier} and a {owner} of its own, or remove it");
        finding(id, object, &path, message).help(help)
    };
    all.map(finding).collect()
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
        one.kind == kind || meant.is_some_and(|(_, meant)| meant == kind)
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
    fn a_second_resource_of_the_kind_is_pointed_at() {
        let second = "resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftCluster, metadata: {name: d}}, ";
        let found = findings_of(&CLUSTER[2].replace("resources: [", second));
        let message =
            "an AROControlPlane has one HcpOpenShiftCluster, and this one already has \"d\"";
        let of_it = found.iter().find(|one| one.starts_with("D02"));
        assert!(of_it.is_some_and(|one| one.ends_with(message)), "{found:?}");
        let second = "resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftClustersNodePool, metadata: {name: q}}, ";
        let found = findings_of(&CLUSTER[3].replace("resources: [", second));
        assert!(found.iter().any(|one| one.starts_with("D01")), "{found:?}");
    }

    #[test]
    fn kinds_of_kubernetes_are_not_carried() {
        let with = |version: &str| {
            let second =
                format!("resources: [{{apiVersion: {version}, kind: X, metadata: {{name: x}}}}, ");
            let found = findings_of(&CLUSTER[2].replace("resources: [", &second));
            found.iter().any(|one| one.starts_with("D17"))
        };
        for version in ["v1", "apps/v1", "rbac.authorization.k8s.io/v1"] {
            assert!(with(version), "{version}");
        }
        for version in [
            "keyvault.azure.com/v1",
            "cert-manager.io/v1",
            "gateway.networking.k8s.io/v1",
        ] {
            assert!(!with(version), "{version}");
        }
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
