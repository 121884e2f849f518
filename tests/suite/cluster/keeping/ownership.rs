//! Whose an object is that is there already.

use capstan::apply::State;
use serde_json::json;

use super::fixture::{Fixture, Revision, annotated, map, prove, revision, theirs};

#[test]
fn what_is_not_ours_is_left_alone_and_the_others_go_on() {
    prove("not_ours", &async |fixture: &Fixture| {
        fixture
            .apply_as("kubectl", &theirs("a", &json!({"k": "theirs"})))
            .await;
        let mut kept = fixture.begin(&(map("a", "ours") + &map("b", "v")), &revision("1"));
        let progress = kept.until("a", State::Failed).await;
        assert!(progress.terminal, "somebody must do something");
        assert!(
            progress.message.contains("last written by kubectl"),
            "{}",
            progress.message
        );
        assert!(
            progress.message.contains("capstan.dev/adopt"),
            "{}",
            progress.message
        );
        kept.until_so(async || fixture.config_map("b").await.is_some())
            .await;
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"]["k"], "theirs");
    });
}

#[test]
fn another_fleet_s_object_is_left_alone_whatever_is_asked() {
    prove("another_fleet_s", &async |fixture: &Fixture| {
        drop(fixture.keep(&map("a", "one"), &revision("1")).await);
        let adopting = annotated("a", "two", "{capstan.dev/adopt: \"true\"}");
        let second = Revision {
            fleet: "two",
            ..revision("1")
        };
        let mut kept = fixture.begin(&adopting, &second);
        let progress = kept.until("a", State::Failed).await;
        assert!(
            progress.message.contains("belongs to the fleet one ("),
            "{}",
            progress.message
        );
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"]["k"], "one");
    });
}

/// What they set and we do not goes; what controllers and people added by the way stays.
async fn adopted(fixture: &Fixture) {
    let adopting = annotated("a", "ours", "{capstan.dev/adopt: \"true\"}");
    let mut planned = fixture.would_change(&adopting, "a").await;
    planned.retain(|field| field.starts_with("/data"));
    assert_eq!(planned, ["/data/extra", "/data/k"]);
    drop(fixture.keep(&adopting, &revision("1")).await);
    let live = fixture.config_map("a").await.expect("it is there");
    assert_eq!(
        live["data"],
        json!({"k": "ours", "controller": "1"}),
        "{live:#}"
    );
    let managers = live["metadata"]["managedFields"]
        .as_array()
        .expect("a list");
    let names: Vec<&str> = managers
        .iter()
        .filter_map(|one| one["manager"].as_str())
        .collect();
    assert_eq!(names, ["capstan", "some-controller"], "{live:#}");
    assert!(
        live["metadata"]["annotations"]
            .get("kubectl.kubernetes.io/last-applied-configuration")
            .is_none()
    );
    let _ = fixture.writes();
    drop(fixture.keep(&adopting, &revision("1")).await);
    assert_eq!(fixture.writes(), []);
}

#[test]
fn objects_of_kubectl_apply_are_adopted() {
    prove("kubectl_apply", &async |fixture: &Fixture| {
        let mut object = theirs("a", &json!({"k": "theirs", "extra": "1"}));
        object["metadata"]["annotations"] =
            json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
        fixture
            .create_as("kubectl-client-side-apply", &object)
            .await;
        let theirs = theirs("a", &json!({"controller": "1"}));
        fixture.change_as("some-controller", &theirs).await;
        adopted(fixture).await;
    });
}

#[test]
fn objects_of_server_side_appliers_are_adopted() {
    for applier in ["kubectl", "kustomize-controller", "argocd-controller"] {
        prove(&format!("of-{applier}"), &async |fixture: &Fixture| {
            fixture
                .apply_as(applier, &theirs("a", &json!({"k": "theirs", "extra": "1"})))
                .await;
            fixture
                .change_as("some-controller", &theirs("a", &json!({"controller": "1"})))
                .await;
            adopted(fixture).await;
        });
    }
}

#[test]
fn a_conflict_with_a_controller_names_it_and_its_field() {
    prove("a_conflict", &async |fixture: &Fixture| {
        drop(fixture.keep(&map("a", "v"), &revision("1")).await);
        fixture
            .change_as("some-controller", &theirs("a", &json!({"more": "theirs"})))
            .await;
        let more = map("a", "v, more: ours");
        let mut kept = fixture.begin(&more, &revision("2"));
        let progress = kept.until("a", State::Failed).await;
        assert!(
            progress.message.contains("some-controller") && progress.message.contains(".data.more"),
            "{}",
            progress.message
        );
        drop(kept);
        let forced = annotated(
            "a",
            "v, more: ours",
            "{capstan.dev/force-conflicts: \"true\"}",
        );
        drop(fixture.keep(&forced, &revision("3")).await);
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"]["more"], "ours");
    });
}
