//! The life of checks on Azure DevOps: pushes, pull requests, forks, webhooks, restarts. Git is real, the API a strict
//! fake.

use serde_json::{Value, json};

use super::azure_world::{PLAN, SYNC, TOKEN, World};
use super::served::config_map;
use crate::fleet::DEFINITION;
use crate::patience::until;

const BROKEN: &str = "{apiVersion: v1, kind: ConfigMap, metadata: [\n";

/// Rule 2 of forges.md §0: nothing is sent twice.
#[track_caller]
fn assert_no_repeats(rows: &[Value]) {
    for pair in rows.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
}

fn states(rows: &[Value]) -> Vec<&str> {
    rows.iter()
        .filter_map(|row| row["state"].as_str())
        .collect()
}

#[test]
fn a_push_and_pull_requests_get_their_checks_also_across_a_restart() {
    let Some(world) = World::new() else { return };
    world.azure.with(|azure| azure.files = vec!["/one.yaml"]);
    let first = world.push("main", &config_map("one"));
    let served = world.daemon();
    world.wait(&first, SYNC, "succeeded");
    assert_eq!(states(&world.statuses(&first, SYNC))[0], "pending");

    // A pull request of a branch, and one with an error in a line.
    let good = world.push("good", &config_map("two"));
    world.pull_request(1, &good);
    world.wait_for_pull(1, 1, "succeeded");
    world.wait_for_threads(1, &["closed"]);
    world.wait(&good, PLAN, "succeeded");
    let bad = world.push("bad", BROKEN);
    world.pull_request(2, &bad);
    world.wait_for_pull(2, 1, "failed");
    world.wait_for_threads(2, &["active", "active"]);
    let place = world.pull(2, |pull| pull.threads[1]["threadContext"].clone());
    assert_eq!(place["filePath"], "/one.yaml");

    // The next push solves it.
    let solved = world.push("bad", &config_map("three"));
    world.pull_request(2, &solved);
    world.wait_for_pull(2, 2, "succeeded");
    world.wait_for_threads(2, &["fixed", "fixed"]);

    // One of a fork.
    let theirs = world.push_to_fork(&config_map("theirs"));
    world.pull_request(3, &theirs);
    let planned = world.wait_for_pull(3, 1, "succeeded");
    let title = planned["description"].as_str().expect("a text");
    assert!(title.contains("from a fork"), "{title}");
    world.wait(&theirs, PLAN, "succeeded");

    // The daemon is killed while it works on a push. Both branches move on without it, and a pull request is completed; its
    // ref stays.
    let before = [
        (&first, SYNC),
        (&good, PLAN),
        (&bad, PLAN),
        (&solved, PLAN),
        (&theirs, PLAN),
    ]
    .map(|(commit, name)| (commit, name, world.statuses(commit, name)));
    let on_main = |name: &str| {
        let files = [
            ("one.yaml", &*config_map("one")),
            ("two.yaml", &config_map(name)),
        ];
        world.repository.push_onto("main", Some(&first), &files)
    };
    let second = on_main("next");
    let begun = || world.statuses(&second, SYNC).pop();
    until(begun, || served.daemon.said());
    let words = served.daemon.words();
    assert!(!words.contains("cannot write"), "{words}");
    assert!(!words.contains(TOKEN), "{words}");
    let left = begun().expect("it has begun");
    world.pull(1, |pull| pull.is_closed = true);
    let again = world.push("bad", BROKEN);
    world.pull_request(2, &again);
    let third = on_main("last");
    let _served = world.daemon();
    world.wait(&third, SYNC, "succeeded");
    if left["state"] == "pending" {
        world.wait(&second, SYNC, "notApplicable");
    }
    world.wait_for_pull(2, 3, "failed");
    world.wait_for_threads(2, &["active", "active"]);
    for (commit, name, before) in before {
        let now = world.statuses(commit, name);
        assert_eq!(now[..before.len()], before, "{name} on {commit}");
        assert_no_repeats(&now);
    }
    for number in [1, 2, 3] {
        assert_no_repeats(&world.pull(number, |pull| pull.statuses.clone()));
    }
}

#[test]
fn a_webhook_brings_the_plan_and_an_unchanged_repository_costs_no_request() {
    let Some(world) = World::new() else { return };
    let first = world.push("main", &config_map("one"));
    world.write("checks/token", TOKEN);
    let served = world.daemon_with("1h", &json!({}));
    world.wait(&first, SYNC, "succeeded");
    // It conflicts: nothing but its branch can be fetched.
    let change = world.push("change", &config_map("two"));
    let second = world.push("main", &config_map("next"));
    world.pull_request(1, &change);
    assert_eq!(world.deliver(&served, 1), 200);
    world.wait(&second, SYNC, "succeeded");
    assert_eq!(world.statuses(&change, PLAN), [Value::Null; 0]);
    // Somebody solves that.
    let tip =
        world
            .repository
            .push_onto("change", Some(&second), &[("one.yaml", &config_map("two"))]);
    world.pull_request(1, &tip);
    assert_eq!(world.deliver(&served, 1), 200);
    world.wait_for_pull(1, 2, "succeeded");
    world.wait_for_threads(1, &["closed"]);
    world.azure.lines();
    let fetches = || World::fetches(&served);
    let before = fetches();
    assert_eq!(world.deliver(&served, 1), 200);
    until(
        || (fetches() > before).then_some(()),
        || served.daemon.said(),
    );
    assert_eq!(world.azure.lines(), [""; 0]);
}

#[test]
fn every_outcome_is_a_state() {
    let Some(world) = World::new() else { return };
    world.write("checks/token", TOKEN);
    let first = world.push("main", &config_map("one"));
    let served = world.daemon_with("1s", &json!({"apply": {"suspend": true}}));
    world.wait(&first, SYNC, "pending");
    let second = world.push("main", &config_map("next"));
    world.wait(&second, SYNC, "pending");
    world.wait(&first, SYNC, "notApplicable");
    drop(served);

    // A cluster is applied, and a pull request takes it away.
    let cluster = DEFINITION.replace("  location:", "  deletionPolicy: Delete\n  location:");
    let third = world.push("main", &cluster);
    let served = world.daemon();
    world.wait(&third, SYNC, "pending");
    let fewer = world.push("fewer", &config_map("one"));
    world.pull_request(1, &fewer);
    let asks = || {
        let newest = world.wait_for_pull(1, 1, "pending");
        let title = newest["description"].as_str()?;
        title.contains("needs approval").then_some(())
    };
    until(asks, || served.daemon.said());

    // The branch is broken: that is no fault of the pull request.
    let broken = world.push("main", BROKEN);
    world.wait(&broken, SYNC, "failed");
    world
        .repository
        .git(&["branch", "-f", "sound", "main"])
        .expect("made");
    let parent = broken.as_str();
    let sound = world.repository.push_onto(
        "sound",
        Some(parent),
        &[("one.yaml", BROKEN), ("two.yaml", &config_map("two"))],
    );
    world.pull_request(2, &sound);
    world.wait_for_pull(2, 1, "error");
}

/// The daemon starts and applies without a token, says so once, and writes when it is there.
#[test]
fn a_token_that_comes_later_is_used_without_a_restart() {
    let Some(world) = World::new() else { return };
    let first = world.push("main", &config_map("one"));
    let served = world.daemon_with("1s", &json!({}));
    served.daemon.wait("has no key `token`");
    world.write("checks/token", TOKEN);
    world.wait(&first, SYNC, "succeeded");
    let words = served.daemon.words();
    assert_eq!(words.matches("has no key `token`").count(), 1, "{words}");
}

/// The same for the Secret of the cluster.
#[test]
fn a_secret_that_comes_later_is_used_without_a_restart() {
    let Some(world) = World::new() else { return };
    let first = world.push("main", &config_map("one"));
    let served = world.daemon_with_secret("azure");
    served.daemon.wait("Secret/fleets/azure");
    world.create_secret("azure");
    world.wait(&first, SYNC, "succeeded");
    let words = served.daemon.words();
    assert_eq!(words.matches("Secret/fleets/azure").count(), 1, "{words}");
    assert!(!words.contains(TOKEN), "{words}");
}
