//! Private clusters that share a resource group, a network and a domain.

use super::scene::*;

#[tokio::test(start_paused = true)]
async fn twenty_clusters_never_touch_each_other() {
    let scene = Scene::open().await;
    let names: Vec<(&str, String)> = (0..20)
        .map(|number| {
            (
                if number % 2 == 0 {
                    "clusters"
                } else {
                    "others"
                },
                format!("c{number}"),
            )
        })
        .collect();
    for (namespace, name) in &names {
        scene.cluster(namespace, name).await;
    }
    for (namespace, name) in &names {
        scene.until_ready(namespace, name).await;
    }
    assert_eq!(
        scene.in_azure("privateDnsZones/ext.example.com").len(),
        2 + 2 * names.len()
    );
    let (gone, stay) = names.split_at(names.len() - 3);
    for (namespace, name) in gone {
        scene.delete(&hosted_id(namespace, name)).await;
    }
    scene
        .until("the others are gone", |scene| {
            gone.iter()
                .all(|(namespace, name)| scene.find(&hosted_id(namespace, name)).is_none())
        })
        .await;
    for (namespace, name) in stay {
        assert!(scene.is_connected(namespace, name));
    }
    assert_eq!(
        scene.in_azure("privateDnsZones/ext.example.com").len(),
        2 + 2 * stay.len()
    );
    for (namespace, name) in stay {
        scene.delete(&hosted_id(namespace, name)).await;
    }
    scene
        .until("all are gone", |scene| {
            stay.iter()
                .all(|(namespace, name)| scene.find(&hosted_id(namespace, name)).is_none())
        })
        .await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}
