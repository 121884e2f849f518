//! Changes in the life of a private cluster: some are followed, and some disturb nothing.

#![allow(clippy::unwrap_used)]

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::scene::*;
use crate::adapters::azure_sim::Deed;
use crate::health::Live;

const OTHER: &str = "c0ffee00-52a4-4b6b-9a51-2f1f0d9c7a12";

async fn ready() -> Scene {
    let scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    scene
}

fn nodes(scene: &Scene) -> i64 {
    let pool = scene.find(&pool_id("clusters", "one")).unwrap();
    Live(&pool).number(&["status", "replicas"]).unwrap_or(0)
}

#[tokio::test(start_paused = true)]
async fn a_topology_that_changes_disturbs_nothing() {
    let scene = ready().await;
    let before = (scene.azure.deeds(), scene.connection("clusters", "one"));
    for topology in ["PublicAndPrivate", "Private"] {
        let change = json!({"spec": {"platform": {"azure": {"topology": topology}}}});
        scene.merge(&hosted_id("clusters", "one"), change).await;
        for _ in 0..30 {
            scene.wait(60).await;
            assert!(scene.is_ready("clusters", "one"), "{topology}");
            assert_eq!(nodes(&scene), 2, "{topology}");
        }
        let plane = scene.find(&plane_id("clusters", "one")).unwrap();
        assert_eq!(plane["spec"]["platform"]["azure"]["topology"], topology);
    }
    let after = (scene.azure.deeds(), scene.connection("clusters", "one"));
    assert_eq!(after, before);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_leaves_the_connection_alone() {
    let scene = ready().await;
    let before = (scene.azure.deeds(), scene.connection("clusters", "one"));
    let image = json!({"spec": {"release": {"image": "quay.io/openshift-release-dev/ocp-release:4.17.4-multi"}}});
    for id in [hosted_id("clusters", "one"), pool_id("clusters", "one")] {
        scene.merge(&id, image.clone()).await;
    }
    scene
        .until("the nodes run the new release", |scene| {
            assert!(scene.is_connected("clusters", "one"));
            let pool = scene.find(&pool_id("clusters", "one")).unwrap();
            Live(&pool).text(&["status", "version"]) == "4.17.4"
        })
        .await;
    scene.until_ready("clusters", "one").await;
    let after = (scene.azure.deeds(), scene.connection("clusters", "one"));
    assert_eq!(after, before);
}

/// The subscriptions that may connect to the only service, if all lists agree.
fn allowed(scene: &Scene) -> Vec<String> {
    let service = scene
        .azure
        .get(&scene.only("/privateLinkServices/"))
        .unwrap();
    let [seen, approved] =
        ["visibility", "autoApproval"].map(|list| service[list]["subscriptions"].clone());
    if seen != approved {
        return Vec::new();
    }
    serde_json::from_value(seen).unwrap()
}

#[tokio::test(start_paused = true)]
async fn subscriptions_come_and_go() {
    let scene = ready().await;
    let alias = scene.status("clusters", "one", "privateLinkServiceAlias");
    let more = "d0ffee00-52a4-4b6b-9a51-2f1f0d9c7a13";
    let steps: [(Value, &[&str]); 4] = [
        (json!([OTHER.to_uppercase()]), &[SUBSCRIPTION, OTHER]),
        (json!([more, OTHER]), &[SUBSCRIPTION, OTHER, more]),
        (json!([SUBSCRIPTION, more]), &[SUBSCRIPTION, more]),
        (Value::Null, &[SUBSCRIPTION]),
    ];
    for (wanted, expected) in steps {
        let link = json!({"additionalAllowedSubscriptions": wanted});
        let change = json!({"spec": {"platform": {"azure": {"private": {"privateLink": link}}}}});
        scene.merge(&hosted_id("clusters", "one"), change).await;
        scene
            .until("Azure has the subscriptions", |scene| {
                allowed(scene) == expected
            })
            .await;
        scene.until_ready("clusters", "one").await;
    }
    assert_eq!(
        scene.status("clusters", "one", "privateLinkServiceAlias"),
        alias
    );
    // Nothing is left to write.
    let written = scene.front.written();
    scene.wait(3600).await;
    assert_eq!(scene.front.written(), written);
}

/// Pauses a cluster, gives its router another address, and waits.
async fn change_while_paused(scene: &Scene, until: &str) {
    let cluster = hosted_id("clusters", "one");
    scene
        .merge(&cluster, json!({"spec": {"pausedUntil": until}}))
        .await;
    scene.wait(60).await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}});
    scene
        .merge_status(&router_id("clusters", "one"), status)
        .await;
    let before = (
        scene.azure.deeds(),
        scene.connection("clusters", "one"),
        scene.front.written(),
    );
    scene.wait(5400).await;
    let after = (
        scene.azure.deeds(),
        scene.connection("clusters", "one"),
        scene.front.written(),
    );
    assert_eq!(after, before);
}

async fn follows(scene: &Scene) {
    scene
        .until("the new address is followed", |scene| {
            let connection = scene.connection("clusters", "one").unwrap();
            Live(&connection).text(&["spec", "loadBalancerIP"]) == "10.9.9.9"
        })
        .await;
    scene.until_ready("clusters", "one").await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_lasts_until_somebody_ends_it() {
    let scene = ready().await;
    change_while_paused(&scene, "true").await;
    let over = json!({"spec": {"pausedUntil": null}});
    scene.merge(&hosted_id("clusters", "one"), over).await;
    follows(&scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_lasts_until_its_time() {
    let scene = ready().await;
    let until = scene.clock.now() + SignedDuration::from_hours(2);
    change_while_paused(&scene, &until.to_string()).await;
    follows(&scene).await;
    assert!(scene.clock.now() > until);
}

#[tokio::test(start_paused = true)]
async fn the_shape_of_the_proposal_works_as_well() {
    let scene = Scene::open().await;
    let mut cluster = hosted("clusters", "one");
    let azure = &mut cluster["spec"]["platform"]["azure"];
    for field in ["topology", "private"] {
        azure.as_object_mut().unwrap().remove(field);
    }
    azure["endpointAccess"] = json!("Private");
    azure["privateConnectivity"] = json!({
        "natSubnetID": hub("virtualNetworks/hub/subnets/nat"),
        "allowedSubscriptions": [OTHER],
    });
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
    scene.until_ready("clusters", "one").await;
    assert_eq!(allowed(&scene), [SUBSCRIPTION, OTHER]);
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_subnet_that_was_made_for_a_cluster_goes_after_the_service() {
    let scene = Scene::open().await;
    let cluster = hosted_with_subnet("clusters", "one");
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
    scene.until_ready("clusters", "one").await;
    let subnet = scene.only("/subnets/");
    assert_eq!(
        subnet,
        hub("virtualNetworks/hub/subnets/clusters-one-pls-nat")
    );
    let service = scene.only("/privateLinkServices/");
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
    let went = |id: &str| {
        let gone = Deed::Deleted(id.to_owned());
        scene.azure.deeds().iter().position(|deed| *deed == gone)
    };
    assert!(went(&service).is_some());
    assert!(went(&service) < went(&subnet));
}
