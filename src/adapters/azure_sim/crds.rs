//! CustomResourceDefinitions of other people's kinds, as far as the simulator needs them.
//!
//! In: the tables of kinds. Out: one definition for each of Cluster API's and Azure Service Operator's, and for each of
//! HyperShift's.
//! They are permissive: what the real ones check beyond the few required fields is checked where
//! fleets are validated, against the real schemas. It does not know the kinds of the ARO provider.

use serde_json::{Value, json};

use crate::api::crds;
use crate::api::kinds::{CAPI, KINDS, Kind, PRIVATE_LINK, is_aso};
use crate::api::platform::HYPERSHIFT;

/// The definitions, in the table's order.
#[must_use]
pub fn foreign() -> Vec<Value> {
    let ours = |kind: &&Kind| kind.group == CAPI || is_aso(kind.group);
    KINDS.iter().filter(ours).map(definition).collect()
}

/// The definitions of HyperShift's kinds, of those of the hub that it uses, and of those that connect private clusters.
#[must_use]
pub fn hyper_shift() -> Vec<Value> {
    let kinds = super::hyper_shift::KINDS.iter().chain(PRIVATE_LINK);
    let connection = std::iter::once(crds::private_links());
    kinds.map(definition).chain(connection).collect()
}

/// The definitions of what a service provider looks for on a hub: releases, OpenShift Virtualization, and ACM.
#[must_use]
pub fn hub() -> Vec<Value> {
    let definition_of = |kind: &Kind| {
        let mut definition = definition(kind);
        if HUB_WIDE.contains(&kind.kind) {
            definition["spec"]["scope"] = json!("Cluster");
        }
        definition
    };
    HUB.iter().map(definition_of).collect()
}

/// The kinds of a hub, besides those that the lab needs.
const HUB: [Kind; 3] = [
    Kind {
        group: "hive.openshift.io",
        kind: "ClusterImageSet",
        plural: "clusterimagesets",
        versions: &["v1"],
    },
    Kind {
        group: "cluster.open-cluster-management.io",
        kind: "ManagedCluster",
        plural: "managedclusters",
        versions: &["v1"],
    },
    Kind {
        group: "kubevirt.io",
        kind: "VirtualMachineInstance",
        plural: "virtualmachineinstances",
        versions: &["v1"],
    },
];
/// Those of them without a namespace.
const HUB_WIDE: [&str; 2] = ["ClusterImageSet", "ManagedCluster"];

/// The releases of a simulated hub.
#[must_use]
pub fn image_sets() -> Vec<Value> {
    const VERSIONS: [&str; 6] = [
        "4.15.59", "4.16.52", "4.17.43", "4.18.27", "4.19.18", "4.20.17",
    ];
    let sets = VERSIONS.iter().map(|version| {
        json!({
            "apiVersion": "hive.openshift.io/v1",
            "kind": "ClusterImageSet",
            "metadata": {"name": format!("img{version}-multi-appsub")},
            "spec": {"releaseImage": format!("quay.io/openshift-release-dev/ocp-release:{version}-multi")},
        })
    });
    sets.collect()
}

/// A permissive definition of one kind: every version served, the newest stored.
#[must_use]
pub fn definition(kind: &Kind) -> Value {
    let newest = kind.versions.last();
    let versions = kind.versions.iter().map(|version| {
        json!({
            "name": version,
            "served": true,
            "storage": Some(version) == newest,
            "schema": {"openAPIV3Schema": schema(kind)},
            "subresources": {"status": {}},
        })
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", kind.plural, kind.group)},
        "spec": {
            "group": kind.group,
            "names": {
                "kind": kind.kind,
                "listKind": format!("{}List", kind.kind),
                "plural": kind.plural,
                "singular": kind.kind.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": versions.collect::<Vec<_>>(),
        },
    })
}

fn schema(kind: &Kind) -> Value {
    let open = |required: &[&str]| {
        let mut schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    };
    json!({
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": open(required(kind)),
            "status": status(kind),
        },
    })
}

/// The status. Several controllers report conditions of HyperShift's kinds, each its own.
fn status(kind: &Kind) -> Value {
    let mut status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    if kind.group == HYPERSHIFT {
        let item = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "required": ["type"], "properties": {"type": {"type": "string"}}});
        status["properties"]["conditions"] = json!({"type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]});
    }
    status
}

/// The fields of `spec` that ASO requires (facts/aro-rules.md §1.2 and §2.1).
fn required(kind: &Kind) -> &'static [&'static str] {
    match kind.kind {
        _ if !is_aso(kind.group) => &[],
        "ResourceGroup" => &["location"],
        "PrivateDnsZonesVirtualNetworkLink"
        | "PrivateDnsZonesARecord"
        | "VirtualNetworksSubnet"
        | "RoleAssignment"
        | "HcpOpenShiftClustersExternalAuth" => &["owner"],
        _ => &["location", "owner"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_foreign_kind_has_one_stored_version() {
        let all = foreign();
        assert_eq!(all.len(), KINDS.len() - 4);
        for definition in all {
            let versions = definition["spec"]["versions"].as_array().cloned();
            let versions = versions.unwrap_or_default();
            let stored = versions.iter().filter(|version| version["storage"] == true);
            assert_eq!(stored.count(), 1, "{definition}");
            assert!(versions.iter().all(|version| version["served"] == true));
        }
    }
}
