//! How the kinds of Cluster API point at one another.
//!
//! In: an object with references. Out: ids, owner references, and whether it is paused.

use serde_json::{Value, json};

use super::outcome::{Need, Write, apply, patch_of};
use super::world::World;
use crate::api::capi::{self, PAUSED};
use crate::api::kinds::CAPI;
use crate::api::labels::{ARO_CLUSTER_FINALIZER, CLUSTER_NAME};
use crate::health::Live;
use crate::model::ObjectId;

/// The object that a reference of group, kind and name at `path` points at.
pub(crate) fn referenced(live: Live<'_>, path: &[&str]) -> Option<ObjectId> {
    let reference = Live(live.at(path)?);
    let [group, version] = ["apiGroup", "apiVersion"].map(|part| reference.text(&[part]));
    let group = capi::group(Some(group), Some(version)).unwrap_or_default();
    let [kind, name] = ["kind", "name"].map(|part| reference.text(&[part]));
    let complete = !kind.is_empty() && !name.is_empty();
    complete.then(|| ObjectId::new(group, kind, live.namespace(), name))
}

/// The reference to an owner of a kind of Cluster API's.
fn reference<'a>(live: Live<'a>, kind: &str) -> Option<Live<'a>> {
    let mut owners = live.list(&["metadata", "ownerReferences"]).iter().map(Live);
    owners.find(|owner| owner.kind() == kind && owner.group() == CAPI)
}

/// The owner of a kind of Cluster API's.
pub(crate) fn owner(live: Live<'_>, kind: &str) -> Option<ObjectId> {
    let name = reference(live, kind)?.text(&["name"]);
    Some(ObjectId::new(CAPI, kind, live.namespace(), name))
}

/// Its uid; empty if there is none.
pub(crate) fn owner_uid<'a>(live: Live<'a>, kind: &str) -> &'a str {
    reference(live, kind).map_or("", |owner| owner.text(&["uid"]))
}

/// The infrastructure that a Cluster points at.
pub(crate) fn infrastructure(cluster: Live<'_>) -> Option<ObjectId> {
    referenced(cluster, &["spec", "infrastructureRef"])
}

/// The control plane that a Cluster points at.
pub(crate) fn control_plane(cluster: Live<'_>) -> Option<ObjectId> {
    referenced(cluster, &["spec", "controlPlaneRef"])
}

/// In place of the private key of an authority, in base64: Cluster API wants one, and nobody has it but Azure.
pub(crate) const NO_KEY: &str = "cGxhY2Vob2xkZXI=";

/// The Secret with the admin kubeconfig of a Cluster, by Cluster API's contract.
pub(crate) fn kubeconfig(cluster: Live<'_>) -> ObjectId {
    let name = format!("{}-kubeconfig", cluster.name());
    ObjectId::new("", "Secret", cluster.namespace(), name)
}

/// The nodes of a Cluster's workload cluster.
pub(crate) fn nodes(cluster: Live<'_>) -> Need {
    Need::Nodes {
        cluster: cluster.id(),
        kubeconfig: kubeconfig(cluster),
    }
}

/// An owner reference to `owner`.
pub(crate) fn owned_by(owner: Live<'_>, controller: bool) -> Value {
    let mut reference = json!({
        "apiVersion": owner.text(&["apiVersion"]),
        "kind": owner.kind(),
        "name": owner.name(),
        "uid": owner.uid(),
    });
    if controller {
        reference["controller"] = json!(true);
        reference["blockOwnerDeletion"] = json!(true);
    }
    reference
}

/// Makes `owner` the controller of what it points at, and names the cluster both belong to.
pub(crate) fn adopt(
    world: World<'_>,
    part: &ObjectId,
    owner: Live<'_>,
    cluster: &str,
) -> Option<Write> {
    let part = world
        .get(part)
        .present()
        .filter(|part| !part.is_deleting())?;
    let mut patch = patch_of(part);
    patch["metadata"]["ownerReferences"] = json!([owned_by(owner, true)]);
    patch["metadata"]["labels"] = json!({CLUSTER_NAME: cluster});
    apply(part, patch)
}

/// Whether controllers are to leave the object alone.
pub(crate) fn is_paused(cluster: Live<'_>, live: Live<'_>) -> bool {
    let marked = live.at(&["metadata", "annotations", PAUSED]).is_some();
    cluster.flag(&["spec", "paused"]) || marked
}

/// Returns true if a deleted AROCluster stays until its controller has let go of what belongs to the cluster. One that its controller
/// has not seen yet is gone at once.
pub(crate) fn is_infrastructure_held(infrastructure: Live<'_>) -> bool {
    let finalizers = infrastructure.list(&["metadata", "finalizers"]);
    finalizers.iter().any(|held| held == ARO_CLUSTER_FINALIZER)
}
