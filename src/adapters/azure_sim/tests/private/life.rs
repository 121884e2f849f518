//! The life of one private cluster.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::scene::*;
use crate::health::Live;

#[tokio::test(start_paused = true)]
async fn a_private_cluster_becomes_ready_and_leaves_nothing() {
    let scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    let ids = scene.azure.ids();
    let names = |part: &str| ids.iter().filter(|id| id.contains(part)).count();
    assert_eq!(names("/privateLinkServices/"), 1, "{ids:#?}");
    assert_eq!(names("/privateEndpoints/"), 1, "{ids:#?}");
    assert_eq!(names("/virtualNetworkLinks/"), 2, "{ids:#?}");
    assert_eq!(names("/A/"), 4, "{ids:#?}");
    // Nothing is in the namespace that HyperShift deletes.
    let home = scene.all();
    let mut there = home
        .iter()
        .map(Live)
        .filter(|live| live.namespace() == "clusters-one");
    assert!(there.all(|live| live.group() != "network.azure.com"));
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
    let left = scene.named("Secret");
    assert!(
        left.iter().all(|one| !one.starts_with("clusters")),
        "{left:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_address_that_changes_is_followed() {
    let scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}});
    scene
        .merge_status(&router_id("clusters", "one"), status)
        .await;
    scene
        .until("the new address is followed", |scene| {
            let connection = scene.connection("clusters", "one").unwrap();
            Live(&connection).text(&["spec", "loadBalancerIP"]) == "10.9.9.9"
        })
        .await;
    scene.until_ready("clusters", "one").await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_made_again_gets_an_endpoint_that_was_made_again() {
    let scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    let before = ["privateLinkServiceAlias", "privateEndpointIP"]
        .map(|field| scene.status("clusters", "one", field));
    scene
        .azure
        .lose(&scene.in_azure("/privateLinkServices/")[0]);
    scene
        .until("there is another service", |scene| {
            scene.status("clusters", "one", "privateLinkServiceAlias") != before[0]
        })
        .await;
    scene.until_ready("clusters", "one").await;
    assert_ne!(
        scene.status("clusters", "one", "privateEndpointIP"),
        before[1]
    );
}
