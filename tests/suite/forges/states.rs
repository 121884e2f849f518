//! Every state of a check on a real Gitea, which delivers webhooks, also when the daemon is killed on the way.

use std::time::Duration;

use http::Method;
use serde_json::{Value as Json, json};

use super::world::{Hook, PLAN, SYNC, World, assert_no_repeats, config_map, states};
use crate::fleet::DEFINITION;
use crate::kubernetes::if_asked;
use crate::patience::until;

/// How a pending plan check begins.
const WAITS: [&str; 2] = ["waiting to be planned", "being planned"];

/// The definition of a cluster.
fn cluster(name: &str) -> String {
    DEFINITION.replace("name: one\n", &format!("name: {name}\n"))
}

/// What was reported: commits and contexts.
type Reported = Vec<(String, &'static str)>;

impl World {
    /// A commit on `branch`, which begins at `main`, with this file; pushed.
    fn change(&self, branch: &str, name: &str, text: &str) -> String {
        self.working.git(&["checkout", "-q", "main"]);
        let commit = self.working.commit(branch, &[(name, text)]);
        self.working.push(branch);
        commit
    }

    /// The same, with a pull request: its number and its head.
    fn request(&self, branch: &str, name: &str, text: &str) -> (u64, String) {
        let head = self.change(branch, name, text);
        let number = self
            .owner
            .pull_request(self.gitea, &self.repository, branch);
        self.wait_for_head(number, &head);
        (number, head)
    }

    fn comment(&self, token: &str, number: u64, text: &str) {
        let path = format!("/repos/{}/issues/{number}/comments", self.repository);
        self.gitea
            .call(token, &Method::POST, &path, json!({"body": text}));
    }

    fn edit(&self, number: u64, change: Json) {
        let path = format!("/repos/{}/pulls/{number}", self.repository);
        self.gitea
            .call(&self.owner.token, &Method::PATCH, &path, change);
    }

    /// Nothing is pending, and nothing was sent twice.
    fn assert_ended(&self, reported: &Reported) {
        for (commit, context) in reported {
            let all = self.statuses(commit, context);
            let last = all.last().map(|last| last.state.as_str());
            assert!(
                last.is_some_and(|last| last != "pending"),
                "{context} on {commit}: {all:#?}"
            );
            assert_no_repeats(&all);
        }
    }

    /// Begins to wait for a plan, and ends so.
    #[track_caller]
    fn planned(&self, head: &str, state: &str) {
        let all = self.wait(head, PLAN, state);
        assert_eq!(all[0].state, "pending", "{all:#?}");
        assert!(WAITS.contains(&all[0].description.as_str()), "{all:#?}");
    }
}

#[test]
fn pushes_pull_requests_forks_and_reruns_get_every_state_by_webhooks_alone() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let (hook, mut reported) = (world.hook(), Reported::new());
    // 25 minutes in its cluster take 15 seconds.
    let daemon = world.hooked(&hook, "100");
    world.wait(&world.first, SYNC, "success");

    // A push: a cluster takes a while. The next one takes its place.
    let second = world.change("main", "two.yaml", &cluster("two"));
    world.wait(&second, SYNC, "pending");
    let third = world.change("main", "three.yaml", &cluster("three"));
    let ended = world.wait(&second, SYNC, "error");
    let last = &ended.last().expect("the end").description;
    assert!(last.starts_with("superseded by"), "{ended:#?}");
    let synced = world.wait(&third, SYNC, "success");
    let progress = synced.iter().filter(|status| status.state == "pending");
    assert!(progress.count() > 1, "{synced:#?}");
    reported.extend([(second, SYNC), (third, SYNC)]);

    // Pull requests: of a branch, with a warning, with an error, and of a fork.
    let (number, good) = world.request("good", "good.yaml", &config_map("good"));
    world.planned(&good, "success");
    let overlay = "{apiVersion: capstan.dev/v1alpha1, kind: Overlay, metadata: {name: idle}, \
                   spec: {selector: {matchLabels: {env: none}}}}\n";
    let (_, warned) = world.request("warned", "overlay.yaml", overlay);
    world.planned(&warned, "warning");
    let (_, bad) = world.request(
        "bad",
        "bad.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: [\n",
    );
    world.planned(&bad, "failure");
    let (stranger, of_fork, theirs) = world.fork();
    world.planned(&theirs, "success");

    // The followed branch breaks: for that, no pull request is to blame. Then it is mended.
    let broken = world.change("main", "broken.yaml", "{a: [\n");
    world.wait(&broken, SYNC, "failure");
    world.wait(&good, PLAN, "error");
    world.working.git(&["rm", "-q", "broken.yaml"]);
    let mended = world.change("main", "more.yaml", &config_map("more"));
    world.wait(&mended, SYNC, "success");
    world.wait(&good, PLAN, "success");
    reported.extend([(broken, SYNC), (mended, SYNC)]);

    // Heads of forks are planned after those of branches.
    let sound = || {
        let all = world.statuses(&theirs, PLAN);
        let last = all.last().map(|last| last.description.as_str());
        last.is_some_and(|last| last.starts_with("no errors"))
            .then_some(())
    };
    until(sound, || format!("{:#?}", world.statuses(&theirs, PLAN)));

    // Re-runs: by a comment of anybody, and by opening it again.
    let before = world.statuses(&theirs, PLAN);
    world.comment(
        &stranger.token,
        of_fork,
        "The quota was raised.\n\n/capstan rerun",
    );
    let after = world.wait_after(before.len(), &theirs, PLAN, "success");
    assert_eq!(
        states(&after[before.len()..before.len() + 1]),
        ["pending"],
        "{after:#?}"
    );
    assert_eq!(
        after.last().map(|last| &last.description),
        before.last().map(|last| &last.description)
    );
    let before = world.statuses(&good, PLAN).len();
    world.edit(number, json!({"state": "closed"}));
    world.edit(number, json!({"state": "open"}));
    world.wait_after(before, &good, PLAN, "success");

    // The comments of the daemon, and what people talk about, ask for nothing.
    let count = |commit: &str| world.statuses(commit, PLAN).len();
    let before = (count(&good), count(&theirs));
    world.comment(
        &stranger.token,
        of_fork,
        "Write `/capstan rerun` to plan again.",
    );
    std::thread::sleep(Duration::from_secs(5));
    assert_eq!((count(&good), count(&theirs)), before);
    reported.extend([good, warned, bad, theirs].map(|head| (head, PLAN)));
    world.assert_ended(&reported);
    let words = daemon.words();
    assert!(!words.contains("no webhook announced"), "{words}");
}

/// Many clusters, so that a plan takes a while.
fn many(prefix: &str) -> String {
    let clusters = (0..150).map(|at| cluster(&format!("{prefix}{at:03}")));
    clusters.collect::<Vec<_>>().join("---\n")
}

#[test]
fn a_daemon_that_is_killed_on_the_way_repeats_nothing_and_leaves_nothing_pending() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let hook = world.hook();
    drop(started(&world, &hook));
    let synced = world.change("main", "two.yaml", &cluster("two"));
    let (_, kept) = world.request("kept", "many.yaml", &many("kept"));
    let (moving, old) = world.request("moving", "many.yaml", &many("old"));
    let (closing, closed) = world.request("closed", "many.yaml", &many("closed"));

    // 25 minutes in its cluster take 15 seconds, and the plans some seconds each.
    let daemon = world.hooked(&hook, "100");
    let heads = [
        (&synced, SYNC),
        (&kept, PLAN),
        (&old, PLAN),
        (&closed, PLAN),
    ];
    for (commit, context) in heads {
        world.wait(commit, context, "pending");
    }
    drop(daemon);
    let pending = heads.map(|(commit, context)| {
        let all = world.statuses(commit, context);
        all.last().is_some_and(|last| last.state == "pending")
    });
    // The newest is planned first, and may be done by now.
    assert_eq!(pending[..2], [true, true], "killed in the middle");

    // Meanwhile a head is replaced by a forced push, and a pull request is closed.
    let new = world.change("moving", "many.yaml", &config_map("new"));
    world.wait_for_head(moving, &new);
    world.edit(closing, json!({"state": "closed"}));
    let _daemon = world.hooked(&hook, "1000");
    world.wait(&synced, SYNC, "success");
    world.planned(&new, "success");
    // The head that was being planned is not planned again: it may be what killed the daemon.
    let ended = |head: &str| {
        let end = || {
            let last = world.statuses(head, PLAN).pop()?;
            let is_interrupted = last.description.starts_with("not planned: ");
            (last.state == "success" || is_interrupted).then_some(is_interrupted)
        };
        until(end, || format!("{:#?}", world.statuses(head, PLAN)))
    };
    let interrupted = [ended(&kept), ended(&closed)];
    assert_ne!(interrupted, [true, true], "one is planned at a time");
    if pending[2] {
        let ended = world.wait(&old, PLAN, "error");
        let last = &ended.last().expect("the end").description;
        assert!(last.starts_with("not planned: "), "{ended:#?}");
    }
    assert_no_repeats(&world.statuses(&closed, PLAN));
    let mut reported: Reported = [kept, old, closed, new].map(|head| (head, PLAN)).into();
    reported.extend([(world.first.clone(), SYNC), (synced, SYNC)]);
    world.assert_ended(&reported);
}

/// A daemon that has applied the first commit.
fn started(world: &World, hook: &Hook) -> crate::running::Running {
    let daemon = world.hooked(hook, "1000");
    world.wait(&world.first, SYNC, "success");
    daemon
}
