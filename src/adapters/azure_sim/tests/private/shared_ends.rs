//! The ends of zones that several clusters share, or that are not ours.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::scene::*;
use crate::adapters::azure_sim::Deed;
use crate::api::azure_private_link_service::DNS_AVAILABLE;

/// The number of deletions of resources with both parts in their IDs.
fn deleted(scene: &Scene, part: &str, end: &str) -> usize {
    let deeds = scene.azure.deeds();
    let deleted = deeds.iter().filter(|deed| match deed {
        Deed::Deleted(id) => id.contains(part) && id.contains(end),
        Deed::Created(_) | Deed::Updated(_) => false,
    });
    deleted.count()
}

#[tokio::test(start_paused = true)]
async fn of_two_clusters_that_go_at_once_one_takes_the_zone_with_it() {
    let stage = Stage::new().await;
    for other in ["clusters", "others"] {
        for order in [[0, 1], [1, 0]] {
            let mut scene = stage.scene(azure());
            scene.start();
            let both = [("clusters", "one"), (other, "two")];
            for (namespace, name) in both {
                scene.cluster(namespace, name).await;
            }
            for (namespace, name) in both {
                scene.until_ready(namespace, name).await;
            }
            for place in order {
                let (namespace, name) = both[place];
                scene.delete(&hosted_id(namespace, name)).await;
            }
            for (namespace, name) in both {
                scene.until_gone(namespace, name).await;
            }
            assert_eq!(scene.azure.ids(), Vec::<String>::new());
            let case = format!("{other} {order:?}");
            let zone = "/privateDnsZones/ext.example.com";
            assert_eq!(deleted(&scene, zone, "/virtualNetworkLinks/"), 1, "{case}");
            let below = ["/virtualNetworkLinks/", "/A/"].map(|end| deleted(&scene, zone, end));
            let all = deleted(&scene, zone, "");
            assert_eq!(all, 1 + below.iter().sum::<usize>(), "{case}");
            assert_eq!(below[1], 4, "{case}");
        }
    }
}

fn azure() -> crate::adapters::azure_sim::Azure {
    crate::adapters::azure_sim::Azure::bare().recording()
}

#[tokio::test(start_paused = true)]
async fn a_zone_of_the_customer_is_never_ours() {
    let scene = Scene::open().await;
    let zones = [
        ("ext.example.com", "BaseDomain"),
        ("one.hypershift.local", ""),
    ];
    for (name, part) in zones {
        let zone = guest(&format!("privateDnsZones/{name}"));
        let link = format!("{zone}/virtualNetworkLinks/theirs");
        let state = json!({"etag": "theirs", "tags": {"owner": "somebody"}});
        let linked =
            json!({"etag": "theirs", "virtualNetwork": {"id": guest("virtualNetworks/theirs")}});
        scene.azure.put(&zone, state.clone());
        scene.azure.put(&link, linked);
        scene.cluster("clusters", "one").await;
        let expected = format!("False {part}DNSZoneCreationFailed");
        scene
            .until("the condition says so", |scene| {
                let said = scene.said("clusters", "one", DNS_AVAILABLE);
                said.starts_with(&expected) && said.contains("does not belong to this cluster")
            })
            .await;
        scene.wait(2 * 3600).await;
        assert_eq!(scene.azure.get(&zone), Some(state.clone()));
        scene.delete(&hosted_id("clusters", "one")).await;
        scene.until_gone("clusters", "one").await;
        assert_eq!(scene.azure.ids(), [zone.as_str(), link.as_str()]);
        assert_eq!(scene.azure.get(&zone), Some(state));
        scene.azure.delete(&zone);
    }
}
