//! Somebody changes or deletes what is ours.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::health::Live;
use crate::model::ObjectId;

/// Our objects, each with a change of it, and a field that the change hits.
fn changes() -> [(&'static str, Value, &'static [&'static str]); 7] {
    [
        (
            "PrivateLinkService",
            json!({"spec": {"enableProxyProtocol": true}}),
            &["spec"],
        ),
        (
            "VirtualNetworksSubnet",
            json!({"spec": {"addressPrefix": "10.250.0.0/24"}}),
            &["spec"],
        ),
        (
            "PrivateEndpoint",
            json!({"spec": {"tags": null}}),
            &["spec"],
        ),
        (
            "PrivateDnsZone",
            json!({"spec": {"tags": {"capstan.dev_hosted-cluster": "x"}}}),
            &["spec"],
        ),
        (
            "PrivateDnsZonesVirtualNetworkLink",
            json!({"spec": {"registrationEnabled": true}}),
            &["spec"],
        ),
        (
            "PrivateDnsZonesARecord",
            json!({"spec": {"aRecords": [{"ipv4Address": "10.0.0.1"}]}}),
            &["spec"],
        ),
        (
            "ConfigMap",
            json!({"data": {"privateEndpointIP": "10.0.0.1"}}),
            &["data"],
        ),
    ]
}

/// Everything of a kind in the namespaces of ours.
fn of_kind(scene: &Scene, kind: &str) -> Vec<Value> {
    let mut all = scene.all();
    all.retain(|one| {
        let live = Live(one);
        let is_output = kind != "ConfigMap" || live.name().ends_with("-pe");
        live.kind() == kind && is_output && ["clusters", PLATFORM].contains(&live.namespace())
    });
    all
}

/// A cluster with a subnet of its own.
async fn ready() -> Scene {
    let scene = Scene::open().await;
    let cluster = hosted_with_subnet("clusters", "one");
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
    scene.until_ready("clusters", "one").await;
    scene
}

fn at(scene: &Scene, id: &ObjectId, path: &[&str]) -> Option<Value> {
    let found = scene.find(id)?;
    Live(&found).at(path).cloned()
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changes_is_as_it_was_again() {
    let scene = ready().await;
    for (kind, change, path) in changes() {
        let all = of_kind(&scene, kind);
        assert!(!all.is_empty(), "{kind}");
        for one in all {
            let (id, wanted) = (Live(&one).id(), Live(&one).at(path).cloned());
            scene.merge(&id, change.clone()).await;
            assert_ne!(at(&scene, &id, path), wanted, "{id}: it changes something");
            scene
                .until(&format!("{id} is as it was"), |scene| {
                    at(scene, &id, path) == wanted
                })
                .await;
            scene.until_ready("clusters", "one").await;
            let uid = scene.find(&id).map(|live| Live(&live).uid().to_owned());
            assert_eq!(uid.as_deref(), Some(Live(&one).uid()), "{id}");
        }
    }
    assert_eq!(scene.in_azure("/privateLinkServices/").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_somebody_deletes_is_made_again() {
    let scene = ready().await;
    for (kind, _, path) in changes() {
        for one in of_kind(&scene, kind) {
            let id = Live(&one).id();
            // Another endpoint has another address.
            let has_address = kind == "PrivateDnsZonesARecord" || kind == "ConfigMap";
            let wanted = at(&scene, &id, path);
            let uid = scene
                .find(&id)
                .map(|live| Live(&live).uid().to_owned())
                .unwrap();
            scene.delete(&id).await;
            if kind == "VirtualNetworksSubnet" {
                // Azure keeps it for the service, and the cluster stays as it is.
                scene.wait(3600).await;
                assert!(scene.is_ready("clusters", "one"));
                assert_eq!(scene.in_azure("/subnets/").len(), 1);
                continue;
            }
            scene
                .until(&format!("{id} is made again"), |scene| {
                    let found = scene.find(&id).unwrap_or_default();
                    let is_new = ![uid.as_str(), ""].contains(&Live(&found).uid());
                    is_new && (has_address || Live(&found).at(path).cloned() == wanted)
                })
                .await;
            scene.until_ready("clusters", "one").await;
        }
    }
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}
