//! What connections, and those who make them, are found by.
//!
//! In: an object. Out: the cluster of a connection, the zones that it needs, and whether a Deployment makes connections. It
//! does not know which other objects there are.

use serde_json::Value;

use super::names::{CLUSTER, ROUTER, internal_zone, is_internal};
use crate::api::platform::{HYPERSHIFT, control_plane_namespace};
use crate::health::Live;
use crate::model::ObjectId;

/// The namespace and the name of HyperShift's operator, where `hypershift install` puts it.
const OPERATOR: (&str, &str) = ("hypershift", "operator");

/// The hosted cluster whose control plane is in the namespace of `live`.
///
/// # Errors
/// When its annotation names no such cluster, or the object is not the one of the router.
pub(super) fn cluster(live: Live<'_>) -> Result<ObjectId, String> {
    if live.name() != ROUTER {
        return Err(format!(
            "a cluster is connected by the object {ROUTER} in the namespace of its control plane, and by no other"
        ));
    }
    let named = live.annotation(CLUSTER);
    let parts = named
        .split_once('/')
        .filter(|(namespace, name)| ![*namespace, *name].contains(&"") && !name.contains('/'));
    let Some((namespace, name)) = parts else {
        return Err(format!(
            "the annotation {CLUSTER} must be NAMESPACE/NAME of a HostedCluster, and is '{named}'"
        ));
    };
    let home = control_plane_namespace(namespace, name);
    if home != live.namespace() {
        return Err(format!(
            "the annotation {CLUSTER} names the HostedCluster {named}, whose control plane is in the namespace {home}"
        ));
    }
    Ok(ObjectId::new(HYPERSHIFT, "HostedCluster", namespace, name))
}

/// The domain of the external names of a connection, lower-cased: as it is in DNS. Empty if there is none.
pub(super) fn external_domain(live: Live<'_>) -> String {
    live.text(&["spec", "baseDomain"]).to_ascii_lowercase()
}

/// The names of the DNS zones that a connection needs. The zones of internal names are their clusters' alone.
pub(super) fn zones(live: Live<'_>) -> Vec<String> {
    let Ok(cluster) = cluster(live) else {
        return Vec::new();
    };
    let external =
        Some(external_domain(live)).filter(|domain| !domain.is_empty() && !is_internal(domain));
    let internal = internal_zone(&cluster.name);
    std::iter::once(internal).chain(external).collect()
}

/// A zone in the resource group of a connection. Azure compares both without regard to case.
pub(crate) fn zone_key(live: Live<'_>, zone: &str) -> String {
    let [subscription, group] =
        ["subscriptionID", "resourceGroupName"].map(|field| live.text(&["spec", field]));
    format!("{subscription}/{group}/{zone}").to_ascii_lowercase()
}

/// Each zone that a connection needs.
pub(crate) fn zone_keys(live: Live<'_>) -> Vec<String> {
    let zones = zones(live).into_iter();
    zones.map(|zone| zone_key(live, &zone)).collect()
}

/// True for HyperShift's operator if it connects private clusters on Azure. Only where HyperShift installs it: anybody can
/// give a Deployment of a namespace of their own the same arguments.
pub(crate) fn is_private_platform(deployment: Live<'_>) -> bool {
    if (deployment.namespace(), deployment.name()) != OPERATOR {
        return false;
    }
    let path = ["spec", "template", "spec", "containers"];
    let containers = deployment.list(&path).iter();
    let mut lists = containers.flat_map(|one| [&one["args"], &one["command"]]);
    lists.any(|list| {
        let words: Vec<&str> = list
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let joined = words
            .iter()
            .any(|word| word.strip_prefix("--private-platform=") == Some("Azure"));
        joined
            || words
                .windows(2)
                .any(|two| two == ["--private-platform", "Azure"])
    })
}
