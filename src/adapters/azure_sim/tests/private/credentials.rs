//! Credentials that reach too little, and Secrets with credentials that somebody deletes.

#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::scene::*;
use crate::api::azure_private_link_service::{DNS_AVAILABLE, ENDPOINT_AVAILABLE, SERVICE_CREATED};
use crate::api::labels::{LINK_CREDENTIAL, LINK_IDENTITY};

/// The Secret of the management side.
const OF_PLATFORM: &str = "capstan-private-link-aso-secret";
/// That of the cluster.
const OF_CLUSTER: &str = "one-private-link-aso-secret";

/// A scene with a cluster that has this annotation.
async fn scene_with(annotation: &str, value: &str) -> Scene {
    let scene = Scene::open().await;
    put(&scene, annotation, value).await;
    scene
}

async fn put(scene: &Scene, annotation: &str, value: &str) {
    let mut cluster = hosted("clusters", "one");
    cluster["metadata"]["annotations"] = json!({});
    cluster["metadata"]["annotations"][annotation] = json!(value);
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
}

fn by_hand() -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "by-hand", "namespace": "clusters"}})
}

async fn until_said(scene: &Scene, kind: &str, words: &[&str]) {
    scene
        .until(&format!("{kind} says {words:?}"), |scene| {
            let said = scene.said("clusters", "one", kind);
            words.iter().all(|word| said.contains(word))
        })
        .await;
}

async fn end(scene: &Scene) {
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_credential_of_the_platform_that_reaches_only_the_cluster_makes_nothing() {
    let mut scene = Scene::open().await;
    scene.stop();
    let secret = format!("{PLATFORM}/{OF_PLATFORM}");
    scene.azure.limit(&secret, &guest(""));
    scene.start();
    scene.cluster("clusters", "one").await;
    until_said(
        &scene,
        SERVICE_CREATED,
        &[
            "False PLSCreationFailed",
            "permission denied",
            "privateLinkServices",
        ],
    )
    .await;
    scene.wait(3600).await;
    let balancers = scene.in_azure("/loadBalancers/");
    assert_eq!(scene.azure.ids(), balancers);
    assert_eq!(balancers.len(), 1);
    scene.azure.limit(&secret, "");
    scene.until_ready("clusters", "one").await;
    end(&scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_credential_of_the_cluster_that_reaches_only_the_platform_makes_nothing() {
    let scene = Scene::open().await;
    let secret = format!("clusters/{OF_CLUSTER}");
    scene.azure.limit(&secret, &hub(""));
    put(&scene, LINK_IDENTITY, "capstan-system/management").await;
    until_said(
        &scene,
        ENDPOINT_AVAILABLE,
        &[
            "False PrivateEndpointCreationFailed",
            "permission denied",
            "privateEndpoints",
        ],
    )
    .await;
    scene.wait(3600).await;
    let ids = scene.azure.ids();
    assert!(ids.iter().all(|id| id.starts_with(&hub(""))), "{ids:#?}");
    assert!(
        scene
            .said("clusters", "one", SERVICE_CREATED)
            .starts_with("True")
    );
    scene.azure.limit(&secret, "");
    scene.until_ready("clusters", "one").await;
    end(&scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_credentials_never_worked_can_be_deleted() {
    let scene = Scene::open().await;
    for (secret, scope) in [
        (format!("{PLATFORM}/{OF_PLATFORM}"), guest("")),
        (format!("clusters/{OF_CLUSTER}"), hub("")),
    ] {
        scene.azure.limit(&secret, &scope);
    }
    put(&scene, LINK_IDENTITY, "capstan-system/management").await;
    until_said(&scene, SERVICE_CREATED, &["permission denied"]).await;
    end(&scene).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_ours_that_somebody_deletes_stays_for_as_long_as_it_is_used() {
    let scene = scene_with(LINK_IDENTITY, "capstan-system/management").await;
    scene.until_ready("clusters", "one").await;
    let secrets = [
        secret_id(PLATFORM, OF_PLATFORM),
        secret_id("clusters", OF_CLUSTER),
    ];
    for secret in &secrets {
        scene.delete(secret).await;
    }
    scene.wait(3600).await;
    assert!(scene.is_ready("clusters", "one"));
    // Azure Service Operator still has what it needs.
    for part in ["/privateLinkServices/", "/privateEndpoints/"] {
        scene.azure.lose(&scene.only(part));
        scene.wait(2 * 3600).await;
        scene.until_ready("clusters", "one").await;
    }
    end(&scene).await;
    assert!(scene.find(&secrets[1]).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_a_person_that_is_deleted_is_asked_for() {
    let scene = scene_with(LINK_CREDENTIAL, "by-hand").await;
    let missing = ["clusters/by-hand", "does not exist: create it"];
    until_said(&scene, ENDPOINT_AVAILABLE, &missing).await;
    assert!(scene.in_azure("/privateEndpoints/").is_empty());
    scene.put(&by_hand()).await;
    scene.until_ready("clusters", "one").await;
    // One that is held stays for as long as it is used.
    let before = scene.azure.deeds();
    let secret = secret_id("clusters", "by-hand");
    scene.delete(&secret).await;
    scene.wait(3600).await;
    assert!(scene.is_ready("clusters", "one"));
    assert!(scene.find(&secret).is_some());
    // Somebody takes the finalizer off.
    free(&scene).await;
    until_said(&scene, ENDPOINT_AVAILABLE, &missing).await;
    assert_eq!(scene.azure.deeds(), before);
    scene.put(&by_hand()).await;
    scene.until_ready("clusters", "one").await;
    assert_eq!(scene.azure.deeds(), before);
    scene.delete(&secret).await;
    end(&scene).await;
    assert!(scene.find(&secret).is_none());
}

/// Takes the finalizers off the Secret that a person made.
async fn free(scene: &Scene) {
    let none = json!({"metadata": {"finalizers": null}});
    scene.merge(&secret_id("clusters", "by-hand"), none).await;
}

#[tokio::test(start_paused = true)]
async fn a_deletion_without_its_secret_waits_for_it_and_says_so() {
    let scene = Scene::open().await;
    scene.put(&by_hand()).await;
    put(&scene, LINK_CREDENTIAL, "by-hand").await;
    scene.until_ready("clusters", "one").await;
    scene.delete(&secret_id("clusters", "by-hand")).await;
    free(&scene).await;
    scene.delete(&hosted_id("clusters", "one")).await;
    until_said(
        &scene,
        DNS_AVAILABLE,
        &[
            "False Deleting",
            "SecretNotFound",
            "clusters/by-hand does not exist",
        ],
    )
    .await;
    scene.wait(3600).await;
    assert_eq!(scene.in_azure("/privateEndpoints/").len(), 1);
    assert_eq!(scene.in_azure("/A/").len(), 4);
    // Nobody takes the service from the endpoint meanwhile.
    assert_eq!(scene.in_azure("/privateLinkServices/").len(), 1);
    scene.put(&by_hand()).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}
