//! One writer of a fleet, and what people see of it: who serves the fleet, since when nobody does, and that its source is away.

use std::process::Command;

use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove};
use super::fleets::{daemon, git, install, map, path, put, wait};
use crate::daemon::World;
use crate::patience::until;
use crate::running::Running;

/// The words of a command about the cluster, and its exit code. Lines are wrapped, so the words have one space between them.
fn says(fixture: &Fixture, arguments: &[&str]) -> (Option<i32>, String) {
    let (code, said) = fixture.asked(arguments);
    (code, one_line(&said))
}

/// The words of a text with one space between them.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn status(fixture: &Fixture) -> (Option<i32>, String) {
    says(fixture, &["status", "--name", "prod"])
}

/// A daemon somewhere else, of a Fleet document that names the fleet `prod` of a namespace.
pub(super) fn elsewhere(fixture: &Fixture, namespace: &str, source: &Json) -> Running {
    let file = fixture.dir.path().join("elsewhere.yaml");
    let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": namespace},
        "spec": {"source": source, "controllers": {"aro": "off"}}});
    std::fs::write(&file, fleet.to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .arg("run")
        .arg("--config")
        .arg(file)
        .arg("--kubeconfig")
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_CACHE", fixture.dir.path().join("elsewhere"));
    Running::spawn(command)
}

#[test]
fn a_daemon_leaves_a_fleet_alone_that_another_one_serves_and_people_see_which() {
    prove("claimed", |fixture| {
        install(fixture);
        let world = World::on(None);
        let first = world.push("main", None, &map(fixture, "one"));
        put(fixture, "prod", &git(&world), &json!({}));
        let leader = daemon(fixture);
        wait(fixture, "prod", "Ready", "True Succeeded", "");
        let (code, said) = status(fixture);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("serves the fleet"), "{said}");
        let parent = fixture.must("GET", &fixture.path("configmaps/capstan-prod"), &Json::Null);
        let lease = format!("{}/capstan-sync-default", fixture.namespace);
        assert_eq!(
            parent["metadata"]["annotations"]["capstan.dev/lease"],
            json!(lease)
        );

        let other = elsewhere(fixture, &fixture.namespace, &json!({"git": git(&world)}));
        other.wait(&format!("holds the Lease {lease}"));
        let second = world.push("main", Some(&first), &map(fixture, "two"));
        wait(fixture, "prod", "Applied", "True", &second);
        assert!(!other.said().contains("two"), "{}", other.said());

        // The other takes over what nobody serves any more.
        leader.words();
        let third = world.push("main", Some(&second), &map(fixture, "three"));
        fixture.until("the other takes over", || {
            fixture.has(&fixture.path("configmaps/three"))
        });
        let recorded = || {
            let path = fixture.path("configmaps/capstan-prod");
            let parent = fixture.must("GET", &path, &Json::Null);
            let own = format!("{}/capstan-fleet-prod", fixture.namespace);
            let is_own = parent["metadata"]["annotations"]["capstan.dev/lease"] == json!(own);
            (is_own && parent["data"]["ready"] == json!(third)).then_some(())
        };
        until(recorded, || other.said());
        let (code, said) = other.stop();
        assert_eq!(code, Some(0), "{said}");

        let (_, said) = status(fixture);
        assert!(said.contains("no daemon serves the fleet since"), "{said}");
        let (code, said) = says(fixture, &["sync", "--name", "prod"]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("no daemon serves the fleet since"), "{said}");
    });
}

#[test]
fn a_source_that_is_away_is_no_green_status() {
    prove("away", |fixture| {
        install(fixture);
        let world = World::on(None);
        world.push("main", None, &map(fixture, "one"));
        put(fixture, "prod", &git(&world), &json!({}));
        let daemon = daemon(fixture);
        wait(fixture, "prod", "Ready", "True Succeeded", "");
        let (source, away) = (world.source(), format!("{}-away", world.source()));
        std::fs::rename(&source, &away).expect("moved");
        wait(fixture, "prod", "SourceReady", "False", "");
        let told = || {
            let (code, said) = status(fixture);
            let is_told = said.contains("cannot be read since") && code == Some(1);
            is_told.then_some(())
        };
        until(told, || status(fixture).1);
        std::fs::rename(&away, &source).expect("moved back");
        wait(fixture, "prod", "SourceReady", "True", "");
        let green = || (status(fixture).0 == Some(0)).then_some(());
        until(green, || status(fixture).1);
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}

#[test]
fn a_fleet_object_waits_for_others_and_is_suspended_and_synced_by_annotation() {
    prove("steered", |fixture| {
        install(fixture);
        let [one, two] = [(); 2].map(|()| World::on(None));
        let first = one.push("main", None, &map(fixture, "one"));
        two.push("main", None, &map(fixture, "two"));
        let after = json!({"dependsOn": [{"name": "base"}]});
        put(fixture, "apps", &git(&two), &after);
        put(
            fixture,
            "loop",
            &git(&two),
            &json!({"dependsOn": [{"name": "loop"}]}),
        );
        let daemon = daemon(fixture);
        wait(
            fixture,
            "apps",
            "Ready",
            "Unknown DependencyNotReady",
            "base",
        );
        wait(fixture, "loop", "Stalled", "True DependencyCycle", "");
        assert!(!fixture.has(&fixture.path("configmaps/two")));
        let annotate = |name: &str, key: &str, value: &Json| {
            let patch = json!({"metadata": {"annotations": {key: value}}});
            fixture.must("PATCH", &path(fixture, name), &patch);
        };
        put(fixture, "base", &git(&one), &json!({}));
        wait(fixture, "apps", "Ready", "True Succeeded", "");

        let key = "capstan.dev/suspended";
        annotate("base", key, &json!("ops: a change window"));
        let suspended = || {
            let fleet = fixture.must("GET", &path(fixture, "base"), &Json::Null);
            (fleet["status"]["suspendedBy"] == "ops: a change window").then_some(fleet)
        };
        let fleet = until(suspended, || daemon.said());
        assert!(fleet["status"]["suspendedSince"].is_string(), "{fleet:#}");
        let second = one.push("main", Some(&first), &map(fixture, "more"));
        wait(fixture, "base", "Ready", "Unknown Suspended", "");
        assert!(!fixture.has(&fixture.path("configmaps/more")));
        annotate("base", key, &Json::Null);
        let status = wait(fixture, "base", "Ready", "True Succeeded", "");
        assert_eq!(status["readyRevision"], json!(second));
        assert_eq!(status["suspendedBy"], Json::Null);
        assert_eq!(status["suspendedSince"], Json::Null);

        annotate("base", "capstan.dev/sync-requested", &json!("now"));
        let handled = || {
            let fleet = fixture.must("GET", &path(fixture, "base"), &Json::Null);
            (fleet["status"]["lastHandledSyncAt"] == "now").then_some(())
        };
        until(handled, || daemon.said());
        let parent = fixture.must("GET", &fixture.path("configmaps/capstan-base"), &Json::Null);
        let asked = &parent["metadata"]["annotations"]["capstan.dev/sync-requested"];
        assert_eq!(*asked, json!("now"));
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}
