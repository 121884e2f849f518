//! Clusters that are none of our controllers' business.

use serde_json::json;

use super::scene::*;
use crate::health::{Live, health};

#[tokio::test(start_paused = true)]
async fn a_fleet_without_private_clusters_is_left_alone() {
    let scene = Scene::open().await;
    let mut public = hosted("clusters", "public");
    let azure = &mut public["spec"]["platform"]["azure"];
    azure["topology"] = json!("Public");
    azure["private"] = json!(null);
    let mut virt = hosted("clusters", "virt");
    virt["spec"]["platform"] = json!({"type": "KubeVirt", "kubevirt": {}});
    let mut nodes = pool("clusters", "virt");
    nodes["spec"]["platform"] = json!({"type": "KubeVirt", "kubevirt": {}});
    for object in [public, pool("clusters", "public"), virt, nodes] {
        scene.put(&object).await;
    }
    for name in ["public", "virt"] {
        scene
            .until(&format!("{name} is ready"), |scene| {
                [hosted_id("clusters", name), pool_id("clusters", name)]
                    .iter()
                    .all(|id| scene.find(id).is_some_and(|live| health(&live).is_ready()))
            })
            .await;
        scene.delete(&hosted_id("clusters", name)).await;
        scene
            .until(&format!("{name} is gone"), |scene| {
                scene.find(&hosted_id("clusters", name)).is_none()
            })
            .await;
    }
    assert_eq!(scene.front.written(), 0);
    assert_eq!(scene.connections(), Vec::<String>::new());
    assert!(scene.named("AzurePrivateLinkService").is_empty());
    assert_eq!(scene.azure.deeds(), []);
    let all = scene.all();
    let by_us = all.iter().map(Live).filter(|live| {
        let managers = live.list(&["metadata", "managedFields"]).iter();
        let mut managers = managers.map(|entry| Live(entry).text(&["manager"]));
        managers.any(|manager| manager.starts_with("capstan"))
    });
    assert_eq!(by_us.count(), 0);
}
