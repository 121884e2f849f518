//! D12, D13 and D15: what the controllers set in the resources that they apply. They stop at another value.

use super::parts::{Parts, carried, finding};
use crate::api::aro_control_plane::identity_ref;
use crate::api::kinds::CAPI;
use crate::api::{embedded, labels};
use crate::model::{Finding, Message, Node, Object, ObjectId, Path, Severity, message};

const CLUSTER: &str = "HcpOpenShiftCluster";
const POOL: &str = "HcpOpenShiftClustersNodePool";
const AUTH: &str = "HcpOpenShiftClustersExternalAuth";

/// D12 and D13: owners and the version of the key are those that the controllers set.
pub(super) fn owners_are_those_that_controllers_set(parts: &Parts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for plane in parts.planes() {
        findings.extend(another_name(parts, plane));
        findings.extend(auth_of_another(parts, plane));
        findings.extend(fixed_version(plane));
    }
    let pools = parts.pools();
    findings.extend(pools.filter_map(|pool| pool_of_another(parts, pool)));
    findings
}

/// The name of a resource.
fn name_of(resource: &Node) -> &str {
    resource.text(&["metadata", "name"]).unwrap_or_default()
}

/// D12: the cluster in Azure has the name of its Cluster, which the controllers set as the owner of its node pools.
fn another_name(parts: &Parts<'_>, plane: &Object) -> Option<Finding> {
    let cluster = parts.user(plane)?;
    let (path, hcp) = carried(plane, CLUSTER).next()?;
    let (name, wanted) = (name_of(hcp), &*cluster.id.name);
    let message = message!(
        "the {CLUSTER} {name} must have the name of its Cluster, {wanted}: the controllers make that the owner of the node pools",
        name,
        wanted
    );
    let help = format!("set metadata.name to {wanted}; azureName gives the name in Azure");
    let field = path.key("metadata").key("name");
    (name != wanted).then(|| finding("D12", plane, &field, message).help(help))
}

/// The field with the owner that a resource names, and the owner, if the fleet has it: R01 reports others.
fn named_owner<'a>(
    parts: &Parts<'_>,
    namespace: &str,
    (path, resource): (&Path, &'a Node),
) -> Option<(Path, &'a str)> {
    let name = resource.text(&["spec", "owner", "name"])?;
    let mut planes = parts
        .planes()
        .filter(|plane| plane.id.namespace == namespace);
    let is_there = planes.any(|plane| {
        carried(plane, CLUSTER)
            .next()
            .is_some_and(|(_, hcp)| name_of(hcp) == name)
    });
    let field = path.key("spec").key("owner").key("name");
    is_there.then_some((field, name))
}

/// D12: the owner of a node pool is the cluster of its MachinePool.
fn pool_of_another(parts: &Parts<'_>, pool: &Object) -> Option<Finding> {
    let wanted = parts.cluster_of_pool(pool)?;
    let (path, node_pool) = carried(pool, POOL).next()?;
    if node_pool.text(&["spec", "owner", "name"]) == Some(wanted) {
        return None;
    }
    let namespace = &pool.id.namespace;
    let (field, name) = named_owner(parts, namespace, (&path, node_pool))?;
    // It is reported there, or R01 reports that there is no such Cluster.
    let cluster = ObjectId::new(CAPI, "Cluster", namespace.as_str(), wanted);
    if is_misnamed(parts, namespace, wanted, name) || !parts.has(&cluster) {
        return None;
    }
    let message = message!(
        "the owner of {node_pool} is {name}, but its MachinePool belongs to {wanted}: the controller stops",
        node_pool = name_of(node_pool),
        name,
        wanted
    );
    Some(wrong_owner("D12", pool, &field, message, wanted))
}

fn wrong_owner(
    id: &'static str,
    carrier: &Object,
    field: &Path,
    message: Message,
    wanted: &str,
) -> Finding {
    let help = format!("write {wanted}, or remove owner: the controller sets it");
    finding(id, carrier, field, message).help(help)
}

/// Whether the Cluster of this name has a cluster in Azure of the other name.
fn is_misnamed(parts: &Parts<'_>, namespace: &str, cluster: &str, name: &str) -> bool {
    parts.planes().any(|plane| {
        let user = parts.user(plane).map(|user| &user.id);
        let is_its = user.is_some_and(|id| id.namespace == namespace && id.name == cluster);
        is_its
            && carried(plane, CLUSTER)
                .next()
                .is_some_and(|(_, hcp)| name_of(hcp) == name)
    })
}

/// D13: the owner of an external auth is the cluster beside it.
fn auth_of_another(parts: &Parts<'_>, plane: &Object) -> Option<Finding> {
    let (_, hcp) = carried(plane, CLUSTER).next()?;
    let (path, auth) = carried(plane, AUTH).next()?;
    let wanted = name_of(hcp);
    let (field, name) = named_owner(parts, &plane.id.namespace, (&path, auth))?;
    if name == wanted {
        return None;
    }
    let message = message!(
        "the owner of {auth} is {name}, but the control plane carries {wanted}: the controller stops",
        auth = name_of(auth),
        name,
        wanted
    );
    Some(wrong_owner("D13", plane, &field, message, wanted))
}

/// D13: with an identity, the controllers set the version of the key. Another one stops them, and after a rotation of
/// the key every written one is another one: a warning, since it may be right today.
fn fixed_version(plane: &Object) -> Option<Finding> {
    identity_ref(plane)?;
    let (path, hcp) = carried(plane, CLUSTER).next()?;
    let field = embedded::KMS
        .iter()
        .fold(Path::default(), |path, key| path.key(*key));
    let field = field.key("activeKey").key("version");
    let version = hcp.lookup(&field)?.as_str()?;
    let mut whole = path;
    whole.0.extend(field.0);
    let message = message!(
        "with identityRef, the controllers set the version of the key, and stop if the cluster has another than {version}",
        version
    );
    let help = "remove the version, unless the key is never rotated";
    let finding = finding("D13", plane, &whole, message).help(help);
    // C43 reports others.
    (1..=255).contains(&version.len()).then_some(Finding {
        severity: Severity::Warning,
        ..finding
    })
}

/// D15: a machine pool has the label of its cluster. D06 reports one that no MachinePool names.
pub(super) fn pools_have_the_label_of_their_cluster(parts: &Parts<'_>) -> Vec<Finding> {
    let fault = |pool: &Object| {
        let name = parts.cluster_of_pool(pool)?;
        let field = Path::dotted("metadata.labels").key(labels::CLUSTER_NAME);
        let message = message!(
            "{pool} has no label {label}: until Cluster API sets it, the last pool of a cluster can be deleted",
            pool = pool.id,
            label = labels::CLUSTER_NAME
        );
        let help = format!("add `{}: {name}` to metadata.labels", labels::CLUSTER_NAME);
        let finding = finding("D15", pool, &field, message).help(help);
        pool.label(labels::CLUSTER_NAME)
            .is_none()
            .then_some(finding)
    };
    parts.pools().filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{CLUSTER, findings_of, ids};

    #[test]
    fn owners_are_the_cluster() {
        let misnamed = (
            "kind: HcpOpenShiftCluster, metadata: {name: c}",
            "kind: HcpOpenShiftCluster, metadata: {name: hcp}",
        );
        assert_eq!(ids(&[misnamed]), ["D12"]);
        let owned = |by: &'static str| ("name: p}, spec: {}", by);
        assert_eq!(ids(&[owned("name: p}, spec: {owner: {name: c}}")]), [""; 0]);
        assert_eq!(
            ids(&[misnamed, owned("name: p}, spec: {owner: {name: hcp}}")]),
            ["D12"]
        );
        let elsewhere = ("clusterName: c,", "clusterName: x,");
        let owned_by_c = owned("name: p}, spec: {owner: {name: c}}");
        assert_eq!(ids(&[elsewhere, owned_by_c]), [""; 0], "R01 reports it");
        let gone = owned("name: p}, spec: {owner: {name: x}}");
        assert_eq!(ids(&[gone]), [""; 0], "R01 reports it");
        let auth = (
            "metadata: {name: ea}",
            "metadata: {name: ea}, spec: {owner: {name: c}}",
        );
        assert_eq!(ids(&[auth]), [""; 0]);
    }

    #[test]
    fn nothing_belongs_to_another_cluster() {
        let second = CLUSTER[..3].iter().map(|line| {
            line.replace("name: c", "name: d")
                .replace("name: ea", "name: eb")
        });
        let pool = CLUSTER[3].replace("name: p}, spec: {}", "name: p}, spec: {owner: {name: d}}");
        let auth = CLUSTER[2].replace("{name: ea}", "{name: ea}, spec: {owner: {name: d}}");
        let lines = [CLUSTER[0], CLUSTER[1], &auth, &pool, CLUSTER[4]].map(str::to_owned);
        let fleet: Vec<String> = lines.into_iter().chain(second).collect();
        let found = findings_of(&fleet.join("\n---\n"));
        let ids: Vec<_> = found.iter().filter_map(|one| one.get(..3)).collect();
        assert_eq!(ids, ["D13", "D12"], "{found:?}");
    }

    #[test]
    fn a_version_beside_an_identity_may_be_another_one() {
        let spec = "metadata: {name: c}, spec: {properties: {etcd: {dataEncryption: {customerManaged: {kms: {activeKey: {version: v1}}}}}}}}, {apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftClustersExternalAuth";
        let from = "metadata: {name: c}}, {apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftClustersExternalAuth";
        assert_eq!(ids(&[(from, spec)]), [""; 0]);
        let identity = (
            "spec: {resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftCluster,",
            "spec: {identityRef: {name: i}, resources: [{apiVersion: redhatopenshift.azure.com/v1, kind: HcpOpenShiftCluster,",
        );
        assert_eq!(ids(&[(from, spec), identity]), ["D13"]);
    }

    #[test]
    fn a_pool_has_its_label() {
        let without = (
            "metadata: {name: p, labels: {cluster.x-k8s.io/cluster-name: c}}",
            "metadata: {name: p}",
        );
        assert_eq!(ids(&[without]), ["D15"]);
    }
}
