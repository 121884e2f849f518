//! The life of check runs on GitHub: pushes, pull requests, forks, re-runs, restarts. Git is real, the API a strict
//! fake.

use capstan::model::cut;
use serde_json::Value;

use super::github_world::{PLAN, SYNC, World, deliver, post, press};
use super::served::config_map;
use crate::patience::until;

/// Rule 2 of forges.md §0: nothing is sent twice.
#[track_caller]
fn assert_no_repeats(written: &[Value]) {
    for pair in written.windows(2) {
        let is_batch = pair[1]["output"]["annotations"].is_array();
        assert!(pair[0] != pair[1] || is_batch, "{:#}", pair[0]);
    }
}

#[test]
fn a_push_and_pull_requests_get_their_check_runs() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", &config_map("one"));
    let served = world.daemon();
    world.wait(&first, SYNC, "success");
    let written = world.written(&first, SYNC);
    assert_ne!(written[0]["status"], "completed", "{written:#?}");
    assert_no_repeats(&written);

    // A pull request of a branch, and one with errors.
    let good = repository.push_onto("good", Some(&first), &[("one.yaml", &config_map("two"))]);
    world.pull_request(1, &good);
    world.wait(&good, PLAN, "success");
    let broken = "{apiVersion: v1, kind: ConfigMap, metadata: [\n";
    let bad = repository.push_onto("bad", Some(&first), &[("one.yaml", broken)]);
    world.pull_request(2, &bad);
    let failed = world.wait(&bad, PLAN, "failure");
    assert_eq!(failed["annotations"][0]["path"], "one.yaml", "{failed:#}");

    // One of a fork: no branch has it.
    let theirs = repository.push_onto(
        "theirs",
        Some(&first),
        &[("one.yaml", &config_map("theirs"))],
    );
    repository
        .git(&["update-ref", "-d", "refs/heads/theirs"])
        .expect("deleted");
    world.pull_request(3, &theirs);
    let checked = world.wait(&theirs, PLAN, "success");
    let title = checked["output"]["title"].as_str().expect("a title");
    assert!(title.contains("from a fork"), "{title}");

    // A re-run is a new run of the same name; one of another app, or with another signature, is none.
    let run = world.runs(&good, PLAN).pop().expect("one");
    assert_eq!(post(&served, "{}", &"0".repeat(64)), 401);
    let mut of_others = run.clone();
    of_others["app"]["id"] = 99.into();
    assert_eq!(deliver(&served, "rerequested", &of_others), 200);
    assert_eq!(deliver(&served, "rerequested", &run), 200);
    let again = || Some(world.runs(&good, PLAN)).filter(|runs| runs.len() > 1);
    until(again, || served.daemon.said());
    world.wait(&good, PLAN, "success");
    assert_eq!(world.runs(&good, PLAN).len(), 2);
    for (commit, count) in [(&bad, 1), (&theirs, 1)] {
        assert_eq!(world.runs(commit, PLAN).len(), count);
    }
    let words = served.daemon.words();
    assert!(!words.contains("cannot write checks"), "{words}");
    assert!(!words.contains("ghs_"), "{words}");
}

#[test]
fn a_restart_in_the_middle_ends_what_it_left_and_sends_nothing_twice() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", &config_map("one"));
    let (one, two) = (config_map("one"), config_map("two"));
    let files = [("one.yaml", one.as_str()), ("two.yaml", two.as_str())];
    let good = repository.push_onto("good", Some(&first), &files);
    world.pull_request(1, &good);
    let served = world.daemon();
    world.wait(&first, SYNC, "success");
    world.wait(&good, PLAN, "success");

    // It is killed while a check is pending, and the branch moves on.
    let second = repository.push("main", &config_map("second"));
    world.wait(&second, SYNC, "in_progress");
    drop(served);
    let left = world.runs(&second, SYNC).pop().expect("one");
    let third = repository.push("main", &config_map("third"));
    let served = world.daemon();
    world.wait(&third, SYNC, "success");
    if left["status"] == "in_progress" {
        world.wait(&second, SYNC, "cancelled");
    }
    // The base has moved: the plan of the open pull request is made again, unless the daemon was killed while it made it.
    let ended = || {
        let last = world.runs(&good, PLAN).pop()?;
        let title = last["output"]["title"].as_str().unwrap_or_default();
        let is_given_up = title.starts_with("not planned: the daemon ended");
        (last["conclusion"] == "success" || is_given_up).then_some(())
    };
    until(ended, || format!("{:?}", world.runs(&good, PLAN)));
    for (commit, name) in [
        (&first, SYNC),
        (&second, SYNC),
        (&third, SYNC),
        (&good, PLAN),
    ] {
        assert_eq!(world.runs(commit, name).len(), 1, "one run per check");
        assert_no_repeats(&world.written(commit, name));
    }

    // Another restart has nothing to say but of what is new.
    drop(served);
    let before = world.github.with(|github| github.written.len());
    let _served = world.daemon();
    let fourth = repository.push("main", &config_map("fourth"));
    world.wait(&fourth, SYNC, "success");
    let all: Vec<Value> = world
        .github
        .with(|github| github.written[before..].to_vec());
    for earlier in [&first, &second, &third] {
        assert!(
            all.iter().all(|one| one["head_sha"] != **earlier),
            "{all:#?}"
        );
    }
    for (commit, name) in [(&fourth, SYNC), (&good, PLAN)] {
        assert_no_repeats(&world.written(commit, name));
    }
}

/// The daemon starts without its private key, says so once, and begins when it is there.
#[test]
fn a_key_that_comes_later_is_used_without_a_restart() {
    let Some(world) = World::new() else { return };
    let first = world.repository.push("main", &config_map("one"));
    let served = world.daemon_without_key();
    served.daemon.wait("but not githubAppPrivateKey");
    world.give_key();
    world.wait(&first, SYNC, "success");
    let words = served.daemon.words();
    assert_eq!(
        words.matches("but not githubAppPrivateKey").count(),
        1,
        "{words}"
    );
}

/// A cluster that is deleted with its file.
const CLUSTER: &str = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: default, annotations: {capstan.dev/deletion-policy: Delete}}, spec: {paused: true}}";

#[test]
fn a_deletion_asks_for_an_approval_and_a_warning_lets_a_required_check_pass() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let map = config_map("one");
    let files = [("one.yaml", map.as_str()), ("c.yaml", CLUSTER)];
    let first = repository.push_onto("main", None, &files);
    let _served = world.daemon_with_clusters();
    world.wait(&first, SYNC, "in_progress");
    let deleting = repository.push_onto("deleting", Some(&first), &files[..1]);
    world.pull_request(1, &deleting);
    let run = world.wait(&deleting, PLAN, "action_required");
    let summary = run["output"]["summary"].as_str().expect("text");
    let trailer = "Capstan-Approve: delete default/c";
    assert!(summary.contains(trailer), "{summary}");

    let approved = world.say(&deleting, &format!("go\n\n{trailer}\n"));
    world.pull_request(2, &approved);
    world.wait(&approved, PLAN, "success");
    let nothing = world.say(&first, "go\n\nCapstan-Approve: delete default/other\n");
    world.pull_request(3, &nothing);
    world.wait(&nothing, PLAN, "neutral");
}

#[track_caller]
fn assert_says(run: &Value, words: &str) {
    let summary = run["output"]["summary"].as_str().expect("text");
    assert!(summary.contains(words), "{summary}");
}

/// The squash of a fork's pull request ends in what the fork wrote.
#[test]
fn a_commit_that_a_fork_s_pull_request_made_approves_nothing() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let map = config_map("one");
    let files = [("one.yaml", map.as_str()), ("c.yaml", CLUSTER)];
    let first = repository.push_onto("main", None, &files);
    let served = world.daemon();
    world.wait_applied(&first);

    let theirs = repository.push_onto("theirs", Some(&first), &files[..1]);
    repository
        .git(&["update-ref", "-d", "refs/heads/theirs"])
        .expect("deleted");
    let trailer = "tidy up\n\nCapstan-Approve: delete default/c\n";
    let saying = world.say(&theirs, trailer);
    repository
        .git(&["update-ref", "-d", &format!("refs/heads/{saying}")])
        .expect("deleted");
    world.pull_request(7, &saying);
    let run = world.wait(&saying, PLAN, "failure");
    assert_says(
        &run,
        "delete default/c\" approves nothing in the commit of a fork",
    );
    assert_says(&run, "- cluster default/c: deleted, once somebody");

    let side = |id: u64| serde_json::json!({"repo": {"id": id}});
    let fork = serde_json::json!({"number": 7, "merged_at": "2026-01-01T00:00:00Z", "head": side(2), "base": side(1)});
    world.github.with(|github| github.pulls.push(fork));
    let squashed = world.merge(trailer, &[&first], &theirs);
    let run = world.wait(&squashed, SYNC, "action_required");
    assert_says(&run, "Cluster/default/c: kept");
    assert_says(
        &run,
        "does not count: pull request 7 of a fork brought the commit in",
    );
    assert!(!served.daemon.said().contains("fleet: deleted"));

    // Somebody with an account says the same in a push.
    world.github.with(|github| github.pulls.clear());
    let approved = world.merge(trailer, &[&squashed], &theirs);
    let run = world.wait(&approved, SYNC, "success");
    assert_says(&run, "Cluster/default/c: deleted");
    let by = format!(
        "by one \\<one@example.com> in the message of {}",
        cut::head(&approved, 10)
    );
    assert_says(&run, &by);
}

/// A press on the check of a commit counts as a trailer in its message: a merge commit and a squash carry it.
#[test]
fn a_deletion_is_approved_with_the_button_of_its_check() {
    let Some(world) = World::new() else { return };
    world.github.with(|github| {
        for (login, role) in [("reader", "read"), ("writer", "write")] {
            github.collaborators.insert(login.to_owned(), (role, role));
        }
    });
    let repository = &world.repository;
    let (map, other) = (config_map("one"), CLUSTER.replace("name: c,", "name: d,"));
    let files = [
        ("one.yaml", map.as_str()),
        ("d.yaml", &other),
        ("c.yaml", CLUSTER),
    ];
    let first = repository.push_onto("main", None, &files);
    let served = world.daemon();
    world.wait_applied(&first);

    let deleting = repository.push_onto("deleting", Some(&first), &files[..2]);
    world.pull_request(1, &deleting);
    let run = world.wait(&deleting, PLAN, "action_required");
    assert_eq!(press(&served, &run, "reader"), 200);
    served.daemon.wait("reader may not write to the repository");
    assert_eq!(world.runs(&deleting, PLAN).len(), 1);
    assert_eq!(press(&served, &run, "writer"), 200);
    let passed = world.wait(&deleting, PLAN, "success");
    assert_says(&passed, "c was approved by writer with the button on");
    assert_eq!(world.runs(&deleting, PLAN).len(), 2, "a new run");
    drop(served);
    // A pod without a volume has nothing but the cluster.
    world.forget_mirror();

    let merged = world.merge("merge it", &[&first, &deleting], &deleting);
    let served = world.daemon();
    world.wait_applied(&merged);
    assert!(
        served
            .daemon
            .said()
            .contains("no longer in the fleet: deleted")
    );

    let second = repository.push_onto("second", Some(&merged), &files[..1]);
    world.pull_request(2, &second);
    let run = world.wait(&second, PLAN, "action_required");
    assert_eq!(press(&served, &run, "writer"), 200);
    world.wait(&second, PLAN, "success");
    let squashed = world.merge("squash it", &[&merged], &second);
    let done = world.wait(&squashed, SYNC, "success");
    assert_says(&done, "Cluster/default/d: deleted");
    assert_says(&done, "d was approved by writer with the button on");
}
