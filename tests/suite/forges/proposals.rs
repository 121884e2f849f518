//! Clusters that the service provider proposes to a fleet on Gitea, as pull requests that people merge or close.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::world::World;
use crate::patience::until;
use crate::running::Running;
use crate::service_provider::api::{Answer, Api, bare_metal, kube_virt};

/// A fleet whose clusters are asked for over the API, and merged by people.
struct Proposing {
    world: World,
    daemon: Running,
    api: Api,
}

impl Proposing {
    /// None without Gitea.
    fn new() -> Option<Self> {
        let world = World::new()?;
        let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: clusters}}\n";
        world
            .working
            .commit("main", &[("clusters.yaml", namespace)]);
        world.working.push("main");
        let settings = json!({"writeMode": "pullRequest", "namespace": "clusters",
            "bareMetal": {"agentNamespace": "agents"}});
        let daemon = world.provider(&settings);
        let api = Api::of(&daemon);
        api.wait_until_ready(|| daemon.said());
        Some(Self { world, daemon, api })
    }

    fn create(&self, id: &str, body: &Value) {
        let made = self.api.post(&format!("/clusters?id={id}"), body);
        assert_eq!(
            (made.status, &made.body["status"]),
            (201, &json!("PENDING"))
        );
    }

    fn delete(&self, id: &str) -> Answer {
        self.api.delete(&format!("/clusters/{id}"))
    }

    /// Waits until a cluster has this status, and a message with these words.
    #[track_caller]
    fn until(&self, id: &str, status: &str, words: &str) -> Value {
        let is_so = |answer: &Answer| {
            let message = answer.body["status_message"].as_str().unwrap_or_default();
            answer.body["status"] == status && message.contains(words)
        };
        self.api.until(id, is_so, || self.daemon.said()).body
    }

    #[track_caller]
    fn until_gone(&self, id: &str) {
        self.api
            .until(id, |answer| answer.status == 404, || self.daemon.said());
    }

    /// The number of the pull request that a cluster waits for.
    #[track_caller]
    fn awaited(&self, id: &str, words: &str) -> u64 {
        let status = if words == "awaits merge" {
            "PENDING"
        } else {
            "READY"
        };
        let body = self.until(id, status, &format!("{words}: https://"));
        let message = body["status_message"].as_str().expect("a message");
        let number = message.rsplit_once("/pulls/").expect("an address").1;
        number.parse().expect("a number")
    }

    fn pull_request(&self, number: u64) -> Value {
        let path = format!("/repos/{}/pulls/{number}", self.world.repository);
        self.world.gitea.get(&self.world.owner.token, &path)
    }

    /// Merges a pull request in one of Gitea's ways, once it has found out that it can.
    fn merge(&self, number: u64, way: &str) {
        let path = format!("/repos/{}/pulls/{number}/merge", self.world.repository);
        let body = json!({"Do": way, "delete_branch_after_merge": true});
        let token = &self.world.owner.token;
        let merge = || {
            let (status, _) = self
                .world
                .gitea
                .try_call(token, &Method::POST, &path, &body);
            (status == 200).then_some(())
        };
        until(merge, || format!("{}", self.pull_request(number)));
    }

    fn close(&self, number: u64) {
        let path = format!("/repos/{}/pulls/{number}", self.world.repository);
        let body = json!({"state": "closed"});
        let token = &self.world.owner.token;
        self.world.gitea.call(token, &Method::PATCH, &path, body);
    }

    /// A person who may write comments on a pull request, once the check of its merge asks for that.
    fn comment(&self, number: u64, text: &str) {
        self.daemon.wait("failure, 1 loss needs approval");
        // Gitea counts seconds: a comment of the same one may have been before.
        std::thread::sleep(Duration::from_millis(1_100));
        let World {
            gitea, repository, ..
        } = &self.world;
        let writer = gitea.user("writer");
        let path = format!("/repos/{repository}/collaborators/{}", writer.name);
        let body = json!({"permission": "write"});
        gitea.call(&self.world.owner.token, &Method::PUT, &path, body);
        let path = format!("/repos/{repository}/issues/{number}/comments");
        gitea.call(&writer.token, &Method::POST, &path, json!({"body": text}));
    }

    /// The branches of the repository.
    fn branches(&self) -> Vec<String> {
        let listed = self
            .world
            .working
            .git(&["ls-remote", "--heads", &self.world.url()]);
        let names = listed
            .lines()
            .filter_map(|line| line.split("refs/heads/").nth(1));
        names.map(str::to_owned).collect()
    }
}

#[test]
fn a_cluster_is_made_and_deleted_by_what_people_merge() {
    let Some(fleet) = Proposing::new() else {
        return;
    };
    fleet.create("kv-1", &kube_virt("kv-1"));
    let number = fleet.awaited("kv-1", "awaits merge");
    let branches = fleet.branches();
    assert!(
        branches[0].starts_with("capstan/prod/add-kv-1-"),
        "{branches:?}"
    );
    let pull_request = fleet.pull_request(number);
    assert_eq!(pull_request["title"], "Add cluster clusters/kv-1");
    assert_eq!(pull_request["changed_files"], 1);
    let again = fleet.api.post("/clusters", &kube_virt("kv-1"));
    assert_eq!(again.status, 409, "{again:?}");
    fleet.merge(number, "merge");
    fleet.until("kv-1", "READY", "");
    assert_eq!(fleet.branches(), ["main"]);

    for _ in 0..2 {
        assert_eq!(fleet.delete("kv-1").status, 204);
    }
    let refused = fleet.awaited("kv-1", "the deletion awaits merge");
    fleet.close(refused);
    let kept = |answer: &Answer| {
        let message = answer.body["status_message"].as_str().unwrap_or_default();
        answer.body["status"] == "READY" && !message.contains("deletion")
    };
    fleet.api.until("kv-1", kept, || fleet.daemon.said());
    assert_eq!(fleet.delete("kv-1").status, 204);
    let number = fleet.awaited("kv-1", "the deletion awaits merge");
    assert!(number > refused);
    assert_eq!(
        fleet.pull_request(number)["title"],
        "Remove cluster clusters/kv-1"
    );
    // The message of Gitea's squash drops the line of the commit that approves it.
    fleet.merge(number, "squash");
    let approve = "/capstan approve delete clusters/kv-1";
    fleet.until("kv-1", "READY", approve);
    let again = fleet.delete("kv-1");
    assert_eq!(again.status, 409, "{again:?}");
    fleet.comment(number, approve);
    fleet.until_gone("kv-1");
    assert_eq!(fleet.delete("kv-1").status, 404);
    assert_eq!(fleet.branches(), ["main"]);
}

#[test]
fn a_cluster_on_bare_metal_is_made_and_deleted_by_merges() {
    let Some(fleet) = Proposing::new() else {
        return;
    };
    fleet.create("bm-1", &bare_metal("prod"));
    fleet.merge(fleet.awaited("bm-1", "awaits merge"), "merge");
    let ready = fleet.until("bm-1", "READY", "");
    assert_eq!(ready["platform"], "baremetal");
    assert_eq!(fleet.delete("bm-1").status, 204);
    // The message of a merge would not have the line that approves the deletion.
    fleet.merge(fleet.awaited("bm-1", "the deletion awaits merge"), "rebase");
    fleet.until_gone("bm-1");
    assert_eq!(fleet.branches(), ["main"]);
}

#[test]
fn what_nobody_merges_fails_or_is_withdrawn() {
    let Some(fleet) = Proposing::new() else {
        return;
    };
    for (id, is_closed) in [("kv-1", true), ("kv-2", false)] {
        fleet.create(id, &kube_virt(id));
        let number = fleet.awaited(id, "awaits merge");
        if is_closed {
            fleet.close(number);
            fleet.until(id, "FAILED", &format!("/pulls/{number}"));
        }
        assert_eq!(fleet.delete(id).status, 204);
        fleet.until_gone(id);
        assert_eq!(fleet.pull_request(number)["state"], "closed");
        assert_eq!(fleet.branches(), ["main"]);
    }
    // The ID is free again, and a pull request of before decides nothing.
    fleet.create("kv-1", &kube_virt("kv-1"));
    assert!(fleet.awaited("kv-1", "awaits merge") > 2);
}
