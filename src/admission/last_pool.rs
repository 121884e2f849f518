//! The deletion of the last AROMachinePool of a cluster that stays (D14; facts/aro-controllers.md §2).
//!
//! In: the pool, and what the cluster has around it. Out: a finding, if it is the last one. A pool that is being
//! deleted does not count: otherwise the last two could go one after the other.

use serde_json::Value as Json;

use super::queries::cluster;
use super::request::is_ending;
use crate::api::capi::DELETE_FOR_MOVE;
use crate::api::kinds::CAPI;
use crate::model::{Finding, ObjectId, message};

const HELP: &str = "add another pool first, or delete the Cluster; if the owner MachinePool was deleted, see https://capz.sigs.k8s.io/topics/managedcluster.html";

/// The finding about the deletion of `pool` beside `around`.
pub(super) fn finding(pool: &Json, id: &ObjectId, around: &[Json]) -> Option<Finding> {
    let name = cluster(pool)?;
    if pool["metadata"]["annotations"][DELETE_FOR_MOVE].is_string() {
        return None;
    }
    let named = |kind: &str, name: &str| {
        let is_it = |one: &&Json| one["kind"] == kind && one["metadata"]["name"] == name;
        around.iter().find(is_it)
    };
    let owner = named("Cluster", name)?;
    let namespace = named("Namespace", &id.namespace);
    let is_leaving = is_ending(Some(owner)) || is_ending(namespace);
    let is_other = |one: &&Json| {
        let is_pool = one["kind"] == "AROMachinePool" && cluster(one) == Some(name);
        is_pool && one["metadata"]["name"] != *id.name && !is_ending(Some(one))
    };
    if is_leaving || around.iter().any(|one| is_other(&one)) {
        return None;
    }
    let owner = ObjectId::new(CAPI, "Cluster", &*id.namespace, name);
    let message = message!(
        "ARO Cluster must have at least one system pool: this is the last AROMachinePool of {owner}, which stays",
        owner
    );
    Some(Finding::error("D14", message).of(id).help(HELP))
}
