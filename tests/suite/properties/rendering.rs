//! What is written reads as what was written, down to the byte.

use std::sync::Arc;

use capstan::compile::{Compiled, compile};
use capstan::model::Node;
use capstan::yaml;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use super::hold;
use super::values::{anything, joined};
use crate::fleet::tree;

fn read(text: &str) -> Vec<Json> {
    let (nodes, findings) = yaml::read(&Arc::from("a.yaml"), text.as_bytes());
    assert_eq!(findings, [], "{text}");
    nodes.iter().map(Node::to_json).collect()
}

#[test]
fn any_values_are_written_as_what_they_are() {
    // A document of nothing is none.
    let value = anything().prop_filter("something", |value| !value.is_null());
    hold(1_000, &vec(value, 1..3), |values| {
        let text = yaml::write(&values);
        let again = read(&text);
        prop_assert_eq!(&again, &values, "{}", text);
        prop_assert_eq!(yaml::write(&again), text);
        Ok(())
    });
}

/// A definition that asks for this or that.
fn definition() -> impl Strategy<Value = Json> {
    let pool = (
        select(&["np1", "np2"][..]),
        select(vec![
            json!({"replicas": 3}),
            json!({"autoscaling": {"min": 2, "max": 9}}),
            json!({}),
        ]),
        select(vec![
            json!({}),
            json!({"osDisk": {"sizeGiB": 256}}),
            json!({"properties": {"labels": [{"key": "on", "value": "4.20"}]}}),
        ]),
    );
    let more = vec(select(asked()), 0..5);
    (pool, more).prop_map(|((name, size, rest), more)| {
        let pool = json!({"name": name, "version": "4.20.17", "vmSize": "Standard_D4s_v3"});
        let pool = joined(joined(pool, size), rest);
        let spec = json!({
            "location": "uksouth", "version": {"id": "4.20"}, "nodePools": [pool],
            "identityRef": {"name": "cluster-identity"},
            "subscriptionID": "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
            "tenantID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31",
        });
        let spec = more.into_iter().fold(spec, joined);
        json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "ClusterDefinition", "spec": spec,
            "metadata": {"name": "one", "namespace": "clusters", "labels": {"env": "on"}},
        })
    })
}

/// Parts of a definition's spec.
fn asked() -> Vec<Json> {
    vec![
        json!({"tags": {"a": "null", "b": "1e3", "c": "é: #"}}),
        json!({"api": {"visibility": "Private", "authorizedCIDRs": ["10.0.0.0/8"]}}),
        json!({"network": {"hostPrefix": 24, "podCIDR": "10.132.0.0/14"}}),
        json!({"externalAuth": {"clientID": "0x1f"}}),
        json!({"managedIdentities": {"mode": "Shared", "resourceGroup": "msi-pool-07"}}),
        json!({"armAPIVersion": "2026-06-30-preview"}),
        json!({"armAPIVersion": "2026-09-01-preview"}),
        json!({"nameSuffix": "123456"}),
        json!({"deletionPolicy": "Delete"}),
        json!({"etcd": {"encryption": {"keyOfficerPrincipalID": "8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31"}}}),
        json!({"properties": {"nodeDrainTimeoutMinutes": 30, "clusterImageRegistry": null}}),
    ]
}

/// Overlays on it.
fn overlays() -> impl Strategy<Value = Vec<Json>> {
    let spec = vec![
        json!({"merge": {"nodePools": [{"name": "*", "osDisk": {"sizeGiB": 512}}]}}),
        json!({"precedence": "Enforced", "merge": {"version": {"channelGroup": "fast"}, "tags": null}}),
        json!({"patches": [{"target": {"kind": "ARO.*"}, "patch": {"metadata": {"annotations": {"x": "~"}}}}]}),
        json!({"patches": [{"target": {"kind": "Vault"}, "json6902": [{"op": "add", "path": "/spec/tags", "value": {"n": "y"}}]}]}),
        json!({"merge": {"nodePools": [{"name": "np3", "version": "4.20.17", "vmSize": "Standard_D8s_v3"}]}}),
    ];
    vec(select(spec), 0..3).prop_map(|specs| {
        let overlay = |(at, spec): (usize, Json)| json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Overlay", "metadata": {"name": format!("o{at}")}, "spec": spec});
        specs.into_iter().enumerate().map(overlay).collect()
    })
}

/// The fleet that this file is, and what it renders.
fn rendered(text: &str) -> (Compiled, String) {
    let compiled = compile(&tree([("a.yaml", text)]), &[]);
    let objects: Vec<Json> = compiled
        .objects
        .iter()
        .map(|object| object.node.to_json())
        .collect();
    let text = yaml::write(&objects);
    (compiled, text)
}

#[test]
fn what_a_fleet_renders_is_a_fleet_that_renders_itself() {
    hold(60, &(definition(), overlays()), |(definition, overlays)| {
        let mut documents = vec![definition];
        documents.extend(overlays);
        let (compiled, text) = rendered(&yaml::write(&documents));
        prop_assert!(!compiled.has_errors(), "{:?}", compiled.findings);
        prop_assert!(compiled.objects.len() >= 5);
        prop_assert!(yaml::write(&read(&text)) == text, "{}", text);
        // As plain objects they get a deletion policy; after that nothing changes.
        let (plain, text) = rendered(&text);
        prop_assert!(!plain.has_errors(), "{:?}", plain.findings);
        let (_, again) = rendered(&text);
        prop_assert!(again == text, "{}", again);
        Ok(())
    });
}
