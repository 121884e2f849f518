//! The work of a decision grows with the object, and no faster.

#![allow(clippy::needless_pass_by_value)]

use serde_json::{Value as Json, json};

use super::request::tests::review;
use super::{Request, decide};
use crate::api::fleet::FleetPolicy;
use crate::model::work::counted::steps;

const NETWORK: &str = "network.azure.com/v1api20240301";
const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";
const NET: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v";

/// A resource of an attacker by its number, or a list of resources by their size.
type Shape = fn(usize) -> Json;

fn resource(api_version: &str, kind: &str, at: usize, spec: Json) -> Json {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": format!("a{at}")}, "spec": spec})
}

/// Many resources that break rules, or that rules compare with each other.
const MANY: &[(&str, Shape)] = &[
    (
        "no metadata",
        |_| json!({"apiVersion": "a/v1", "kind": "A"}),
    ),
    ("misspelt", |at| {
        resource(
            NETWORK,
            "VirtualNetwork",
            at,
            json!({"locatoin": "uksouth", "ownr": {"name": "g"}}),
        )
    }),
    ("a field too many", |at| {
        resource(
            "keyvault.azure.com/v1api20230701",
            "Vault",
            at,
            json!({"more": 1}),
        )
    }),
    ("subnets", |at| {
        let range = format!("10.{}.{}.0/24", at / 250, at % 250);
        resource(
            NETWORK,
            "VirtualNetworksSubnet",
            at,
            json!({"addressPrefix": range, "owner": {"armId": NET}}),
        )
    }),
    ("one range", |at| {
        resource(
            NETWORK,
            "VirtualNetworksSubnet",
            at,
            json!({"addressPrefix": "10.0.0.0/24", "owner": {"armId": NET}}),
        )
    }),
    ("pools", |at| {
        let spec = json!({"owner": {"name": "c"}, "properties": {"replicas": 1, "version": {"id": "4.20.8"}}});
        match at {
            0 => {
                json!({"apiVersion": HCP, "kind": "HcpOpenShiftCluster", "metadata": {"name": "c"}, "spec": {}})
            }
            _ => resource(HCP, "HcpOpenShiftClustersNodePool", at, spec),
        }
    }),
    ("external auths", |at| match at {
        0 => {
            json!({"apiVersion": HCP, "kind": "HcpOpenShiftCluster", "metadata": {"name": "c"}, "spec": {}})
        }
        _ => resource(
            HCP,
            "HcpOpenShiftClustersExternalAuth",
            at,
            json!({"owner": {"name": "c"}}),
        ),
    }),
];

/// One resource with many items, or many fields.
const LARGE: &[(&str, Shape)] = &[
    ("ranges", |size| {
        let range = |at: usize| format!("10.{}.{}.0/24", at / 250, at % 250);
        let ranges: Vec<String> = (0..size).map(range).collect();
        let subnet = |at| {
            resource(
                NETWORK,
                "VirtualNetworksSubnet",
                at,
                json!({"addressPrefixes": ranges, "owner": {"armId": NET}}),
            )
        };
        json!([subnet(0), subnet(1)])
    }),
    ("items that repeat others", |size| {
        let item = json!({"name": "a", "more": 1});
        let spec = json!({"delegations": vec![item; size], "owner": {"armId": NET}});
        json!([resource(NETWORK, "VirtualNetworksSubnet", 0, spec)])
    }),
    ("missing fields", |size| {
        let item = json!({"x": 1});
        let spec = json!({"identity": {"userAssignedIdentities": vec![item; size]}});
        json!([resource(HCP, "HcpOpenShiftCluster", 0, spec)])
    }),
    ("unknown fields", |size| {
        let item = json!({"x": 1});
        let spec = json!({"properties": {"imageDigestMirrors": vec![item; size]}});
        json!([resource(HCP, "HcpOpenShiftCluster", 0, spec)])
    }),
    ("clients", |size| {
        let client = |at: usize| json!({"clientId": format!("c{at}"), "component": {"name": format!("n{at}"), "authClientNamespace": "x"}, "type": "Public"});
        let clients: Vec<Json> = (0..size).map(client).collect();
        let spec = json!({"owner": {"name": "c"}, "properties": {"clients": clients, "issuer": {"url": "x", "audiences": ["a"]}}});
        json!([resource(HCP, "HcpOpenShiftClustersExternalAuth", 0, spec)])
    }),
];

fn carrier(resources: &Json, subscription: &str) -> Json {
    json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
        "metadata": {"name": "c", "namespace": "ns", "uid": "u"}, "spec": {"resources": resources, "subscriptionID": subscription}})
}

/// The steps of a creation, and of a change of such an object.
fn taken(resources: &Json) -> [u64; 2] {
    let (old, new) = (carrier(resources, "a"), carrier(resources, "b"));
    let taken = |operation: &str, old: &Json| {
        let body = review(operation, old, &new).to_string();
        let request = Request::read(body.as_bytes()).expect("a review");
        steps(|| {
            let decision = decide(&request, &[], &FleetPolicy::default(), &|| false);
            assert!(decision.is_some());
        })
    };
    [taken("CREATE", &Json::Null), taken("UPDATE", &old)]
}

/// Sixteen times as much takes about sixteen times the steps: what compares all with all takes up to 256 times as many.
fn grows_no_faster(what: &str, resources: impl Fn(usize) -> Json) {
    let (few, many) = (taken(&resources(25)), taken(&resources(400)));
    for (few, many) in few.into_iter().zip(many) {
        assert!(many < 24 * few + 1_000, "{what}: {few} steps became {many}");
    }
}

#[test]
fn work_grows_with_the_number_of_resources_and_no_faster() {
    for (what, shape) in MANY {
        grows_no_faster(what, |count| (0..count).map(shape).collect());
    }
}

#[test]
fn work_grows_with_the_size_of_a_resource_and_no_faster() {
    for (what, resources) in LARGE {
        grows_no_faster(what, resources);
    }
}
