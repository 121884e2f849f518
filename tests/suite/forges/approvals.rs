//! Approvals in commits that the pull request of a fork brought in, on a real Gitea.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::gitea::Working;
use super::world::{PLAN, SYNC, World};
use crate::kubernetes::if_asked;
use crate::patience::until;

/// A cluster that is deleted with its file.
const CLUSTER: &str = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: default, annotations: {capstan.dev/deletion-policy: Delete}}, spec: {paused: true}}";
const APPROVING: &str = "tidy up\n\nCapstan-Approve: delete default/c";

/// Waits until the newest sync status of a commit says this.
#[track_caller]
fn wait_saying(world: &World, commit: &str, words: &str) {
    let says = || {
        let all = world.statuses(commit, SYNC);
        let last = all.last()?;
        last.description.contains(words).then_some(())
    };
    until(says, || format!("{:?}", world.statuses(commit, SYNC)));
}

/// The commit that approves is not the last one, so that Gitea does not name a pull request for it.
#[test]
fn the_rebased_commits_of_a_fork_approve_nothing() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let _daemon = world.daemon();
    let first = world.working.commit("main", &[("c.yaml", CLUSTER)]);
    world.working.push("main");
    wait_saying(&world, &first, "1/2 ready");

    let stranger = world.gitea.user("stranger");
    let fork = stranger.fork(world.gitea, &world.repository);
    let theirs = Working::new(world.gitea, &stranger, &fork);
    let url = format!("{}/{fork}.git", world.gitea.server.url());
    theirs.git(&["pull", "-q", &url, "main"]);
    theirs.git(&["checkout", "-q", "-b", "change"]);
    theirs.git(&["rm", "-q", "c.yaml"]);
    theirs.git(&["commit", "-q", "-m", APPROVING]);
    let head = theirs.commit("change", &[("README.md", "and more")]);
    theirs.push("change");
    let branch = format!("{}:change", stranger.name);
    let number = stranger.pull_request(world.gitea, &world.repository, &branch);
    world.wait(&head, PLAN, "failure");

    // Meanwhile the branch goes on, so that the rebase makes other commits.
    let moved = world.working.commit("main", &[("NOTES.md", "meanwhile")]);
    world.working.push("main");
    wait_saying(&world, &moved, "1/2 ready");
    let path = format!("/repos/{}/pulls/{number}/merge", world.repository);
    let token = &world.owner.token;
    let rebase = || {
        let body = json!({"Do": "rebase"});
        let (status, answer) = world.gitea.try_call(token, &Method::POST, &path, &body);
        // It may still look for conflicts.
        (200..300).contains(&status).then_some(()).ok_or(answer)
    };
    until(|| rebase().ok(), || format!("{:?}", rebase()));
    let path = format!("/repos/{}/branches/main", world.repository);
    let branch = world.gitea.get(token, &path);
    let merged = branch["commit"]["id"].as_str().expect("an id").to_owned();
    assert_ne!(merged, head);
    wait_saying(&world, &merged, "no longer in the fleet but kept");
    // A commit without a pull request would count by then.
    std::thread::sleep(Duration::from_secs(30));
    wait_saying(&world, &merged, "no longer in the fleet but kept");

    // The owner says the same in a push, in other words: Gitea's commits are told apart by their messages.
    world.working.git(&["fetch", "-q", &world.url(), "main"]);
    world.working.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    let words = format!("agree: {APPROVING}");
    let approved = ["commit", "-q", "--allow-empty", "-m", &words];
    world.working.git(&approved);
    let approved = world.working.git(&["rev-parse", "HEAD"]);
    world.working.push("HEAD:main");
    // It counts once Gitea still lists no pull request with it.
    let is_gone = || {
        let last = world.statuses(&approved, SYNC).pop()?;
        let words = last.description.as_str();
        let is_gone = words.starts_with("1/1 ready") && !words.contains("kept");
        (is_gone && last.state == "success").then_some(())
    };
    until(is_gone, || format!("{:?}", world.statuses(&approved, SYNC)));
}
