//! The ends of a private cluster that nobody planned. In none of them anything of ours is left in Azure.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::scene::*;
use crate::adapters::azure_sim::Deed;
use crate::api::azure_private_link_service::{ENDPOINT_AVAILABLE, LOAD_BALANCER_AVAILABLE};
use crate::api::labels::LINK_IDENTITY;
use crate::health::Live;

async fn ready() -> Scene {
    let scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    scene
}

/// Everything in Azure but the load balancers, which are not ours.
fn left(scene: &Scene) -> Vec<String> {
    let mut ids = scene.azure.ids();
    ids.retain(|id| !id.contains("/loadBalancers/"));
    ids
}

#[tokio::test(start_paused = true)]
async fn the_namespace_of_the_cluster_is_deleted_with_everything_in_it() {
    for identity in ["", "capstan-system/management"] {
        let scene = Scene::open().await;
        let mut cluster = hosted("clusters", "one");
        if !identity.is_empty() {
            cluster["metadata"]["annotations"] = json!({});
            cluster["metadata"]["annotations"][LINK_IDENTITY] = json!(identity);
        }
        scene.put(&cluster).await;
        scene.put(&pool("clusters", "one")).await;
        scene.until_ready("clusters", "one").await;
        scene.delete(&namespace_id("clusters")).await;
        scene
            .until("the namespaces are gone", |scene| {
                ["clusters", "clusters-one"]
                    .iter()
                    .all(|name| scene.find(&namespace_id(name)).is_none())
            })
            .await;
        assert_eq!(scene.azure.ids(), Vec::<String>::new(), "{identity}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_control_plane_that_is_deleted_comes_back_and_is_connected_again() {
    for what in [plane_id("clusters", "one"), namespace_id("clusters-one")] {
        let scene = ready().await;
        let before = scene.connection("clusters", "one").unwrap();
        scene.delete(&what).await;
        scene
            .until("there is another connection", |scene| {
                let connection = scene.connection("clusters", "one").unwrap_or_default();
                ![Live(&before).uid(), ""].contains(&Live(&connection).uid())
            })
            .await;
        scene.until_ready("clusters", "one").await;
        for part in ["/privateLinkServices/", "/privateEndpoints/"] {
            assert_eq!(scene.in_azure(part).len(), 1, "{what}");
        }
        scene.delete(&hosted_id("clusters", "one")).await;
        scene.until_gone("clusters", "one").await;
        assert_eq!(scene.azure.ids(), Vec::<String>::new(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn parts_that_are_deleted_before_the_cluster_take_nothing_with_them() {
    let parts = [
        plane_id("clusters", "one"),
        namespace_id("clusters-one"),
        connection_id("clusters", "one"),
        router_id("clusters", "one"),
    ];
    for what in parts {
        let scene = ready().await;
        scene.delete(&what).await;
        scene.delete(&hosted_id("clusters", "one")).await;
        scene.until_gone("clusters", "one").await;
        assert_eq!(scene.azure.ids(), Vec::<String>::new(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_forced_away_leaves_its_connection_until_the_control_plane_goes() {
    let scene = ready().await;
    let before = left(&scene);
    let cluster = hosted_id("clusters", "one");
    scene.delete(&cluster).await;
    scene
        .merge(&cluster, json!({"metadata": {"finalizers": null}}))
        .await;
    scene.wait(2 * 3600).await;
    assert!(scene.find(&cluster).is_none());
    assert_eq!(left(&scene), before);
    for kind in [LOAD_BALANCER_AVAILABLE, ENDPOINT_AVAILABLE] {
        let said = scene.said("clusters", "one", kind);
        let expected = "False HostedClusterNotFound";
        assert!(
            said.starts_with(expected) && said.contains("clusters/one"),
            "{said}"
        );
    }
    scene.delete(&namespace_id("clusters-one")).await;
    scene
        .until("the control plane is gone", |scene| {
            scene.find(&namespace_id("clusters-one")).is_none()
        })
        .await;
    assert_eq!(left(&scene), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_of_somebody_else_is_rejected_and_stays() {
    let scene = ready().await;
    let service = scene.only("/privateLinkServices/");
    let state = scene.azure.get(&service).unwrap();
    let foreign = format!(
        "/subscriptions/{PARTNER}/resourceGroups/theirs/providers/Microsoft.Network/privateEndpoints/theirs"
    );
    let connection = json!({
        "etag": state["etag"],
        "privateLinkServiceId": service,
        "privateLinkServiceConnectionState": {"status": "Approved"},
    });
    let endpoint = json!({"etag": "theirs", "manualPrivateLinkServiceConnections": [connection]});
    scene.azure.put(&foreign, endpoint);
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), [foreign.as_str()]);
    let state = scene.azure.get(&foreign).unwrap();
    let connection = &state["manualPrivateLinkServiceConnections"][0];
    let status = &connection["privateLinkServiceConnectionState"]["status"];
    // Azure deletes no service that has other connections.
    assert_eq!(*status, "Rejected");
    let deleted = scene.azure.deeds();
    assert!(deleted.contains(&Deed::Deleted(service)));
}

const PARTNER: &str = "0123abcd-52a4-4b6b-9a51-2f1f0d9c7a14";
