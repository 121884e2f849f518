//! Pauses of clusters.

use serde_json::{Value, json};

use super::scene::*;
use crate::model::ObjectId;

const NOTHING: [String; 0] = [];

/// Until when a cluster is paused, whether it is, and when to look again.
fn cases() -> Vec<(Value, bool, Option<&'static str>)> {
    vec![
        (json!("true"), true, None),
        (json!("True"), true, None),
        (json!("1"), true, None),
        (
            json!("2026-01-02T00:00:00Z"),
            true,
            Some("2026-01-02T00:00:00Z"),
        ),
        (
            json!("2026-01-01T03:00:00+02:00"),
            true,
            Some("2026-01-01T01:00:00Z"),
        ),
        (json!("2025-12-31T00:00:00Z"), false, None),
        (json!("2026-01-01T00:00:00Z"), false, None),
        (json!("false"), false, None),
        (json!("tomorrow"), false, None),
        (json!(""), false, None),
        (json!(true), false, None),
        (json!(null), false, None),
    ]
}

fn pause(scene: &mut Scene, id: &ObjectId, until: &Value) {
    scene.edit(id, |one| one["spec"]["pausedUntil"] = until.clone());
}

#[test]
fn a_router_of_a_control_plane_that_is_paused_is_not_described() {
    for (until, is_paused, wake) in cases() {
        let mut scene = Scene::one();
        pause(&mut scene, &plane_id("clusters", "one"), &until);
        let outcome = scene.observe();
        assert_eq!(outcome.writes.is_empty(), is_paused, "{until}");
        let woken = outcome.wake.map(|wake| wake.to_string());
        assert_eq!(woken.as_deref(), wake, "{until}");
    }
}

#[test]
fn nothing_is_made_for_a_cluster_that_is_paused() {
    for (until, is_paused, wake) in cases() {
        let mut scene = Scene::one();
        pause(&mut scene, &hosted_id("clusters", "one"), &until);
        let outcome = scene.observe();
        scene.perform("capstan-private-link-observer", outcome);
        for outcome in [scene.provide(), scene.connect()] {
            assert_eq!(outcome.writes.is_empty(), is_paused, "{until}");
            let woken = outcome.wake.map(|wake| wake.to_string());
            assert_eq!(woken.as_deref(), wake, "{until}");
            // The end of a pause without an end is a change of the cluster.
            let need = crate::reconcile::outcome::Need::Object(hosted_id("clusters", "one"));
            assert!(outcome.needs.contains(&need));
        }
    }
}

#[test]
fn a_pause_that_ends_is_over() {
    let mut scene = Scene::one();
    pause(
        &mut scene,
        &hosted_id("clusters", "one"),
        &json!("2026-01-01T01:00:00Z"),
    );
    scene.wait(3599);
    assert_eq!(scene.named("PrivateLinkService"), NOTHING);
    scene.wait(1);
    scene.assert_connected("clusters", "one");
}

#[test]
fn what_is_deleted_is_deleted_in_spite_of_a_pause() {
    let mut scene = Scene::connected();
    pause(&mut scene, &hosted_id("clusters", "one"), &json!("true"));
    pause(&mut scene, &plane_id("clusters", "one"), &json!("true"));
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert!(scene.azure.is_empty());
}
