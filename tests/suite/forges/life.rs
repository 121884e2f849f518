//! The life of checks on a real Gitea: pushes, pull requests, forks, a restart.

use capstan::model::cut;
use serde_json::json;

use super::world::{PLAN, SYNC, World, assert_no_repeats, states};
use crate::kubernetes::if_asked;
use crate::patience::until;

#[test]
fn a_push_and_pull_requests_get_their_checks_also_across_a_restart() {
    let Some(world) = World::new() else { return };
    let (gitea, repository) = (world.gitea, world.repository.as_str());
    let daemon = world.daemon();
    let synced = world.wait(&world.first, SYNC, "success");
    assert_eq!(states(&synced)[0], "pending", "{synced:#?}");
    assert_no_repeats(&synced);

    // A pull request of a branch, and one with errors.
    let good = world.push("good", "two");
    world.owner.pull_request(gitea, repository, "good");
    let planned = world.wait(&good, PLAN, "success");
    assert!(!planned[0].description.is_empty());
    world.working.git(&["checkout", "-q", "main"]);
    let bad = world.working.commit(
        "bad",
        &[(
            "one.yaml",
            "{apiVersion: v1, kind: ConfigMap, metadata: [\n",
        )],
    );
    world.working.push("bad");
    world.owner.pull_request(gitea, repository, "bad");
    world.wait(&bad, PLAN, "failure");

    // One of a fork.
    let (_, _, head) = world.fork();
    world.wait(&head, PLAN, "success");

    // A restart sends nothing that is there already.
    let before: Vec<_> = [
        (&world.first, SYNC),
        (&good, PLAN),
        (&bad, PLAN),
        (&head, PLAN),
    ]
    .map(|(commit, context)| (commit, context, world.statuses(commit, context)))
    .into();
    drop(daemon);
    let second = world.working.git(&["checkout", "-q", "main"]);
    assert_eq!(second, "");
    let second = world.push("main", "next");
    let _daemon = world.daemon();
    assert_no_repeats(&world.wait(&second, SYNC, "success"));
    // The base has moved: the plans of open pull requests are made again, and say the same or something new.
    for (commit, context, before) in before {
        let now = world.statuses(commit, context);
        assert_eq!(now[..before.len()], before, "{context} on {commit}");
        assert_no_repeats(&now);
    }
}

#[test]
fn a_forced_push_gives_the_new_head_its_check() {
    let Some(world) = World::new() else { return };
    let daemon = world.daemon();
    world.wait(&world.first, SYNC, "success");
    world.push("change", "two");
    world
        .owner
        .pull_request(world.gitea, &world.repository, "change");
    world.working.git(&["reset", "-q", "--hard", "HEAD~"]);
    let head = world.push("change", "three");
    world.wait(&head, PLAN, "success");
    let words = daemon.words();
    assert!(!words.contains("cannot write checks"), "{words}");
}

#[test]
fn a_renamed_repository_is_still_followed_and_gets_its_checks() {
    let Some(mut world) = if_asked(World::new) else {
        return;
    };
    let daemon = world.daemon();
    world.wait(&world.first, SYNC, "success");
    let path = format!("/repos/{}", world.repository);
    let renamed = world.gitea.call(
        &world.owner.token,
        &http::Method::PATCH,
        &path,
        json!({"name": "renamed"}),
    );
    world.repository = renamed["full_name"].as_str().expect("a name").to_owned();
    // By the old address, which Gitea redirects.
    let second = world.push("main", "next");
    world.wait(&second, SYNC, "success");
    let words = daemon.words();
    assert!(words.contains("the repository has moved"), "{words}");
}

/// A pull request's comment is the one of its newest head.
#[test]
fn a_pull_request_has_one_comment() {
    let Some(world) = World::new() else { return };
    let _daemon = world.daemon();
    world.wait(&world.first, SYNC, "success");
    let first = world.push("change", "two");
    let number = world
        .owner
        .pull_request(world.gitea, &world.repository, "change");
    world.wait(&first, PLAN, "success");
    let second = world.push("change", "three");
    world.wait(&second, PLAN, "success");
    let path = format!("/repos/{}/issues/{number}/comments", world.repository);
    let comments = || {
        let comments = world.gitea.get(&world.owner.token, &path);
        let body = |one: &serde_json::Value| one["body"].as_str().expect("text").to_owned();
        comments
            .as_array()
            .expect("a list")
            .iter()
            .map(body)
            .collect::<Vec<_>>()
    };
    let found = || {
        Some(comments()).filter(|all| all.iter().any(|body| body.contains(cut::head(&second, 10))))
    };
    let all = until(found, || format!("{:?}", comments()));
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(
        all[0].starts_with("<!-- capstan: capstan/prod/plan -->"),
        "{all:?}"
    );
}
