//! Approvals in comments, on a real Gitea: from the plan that asks to the squash that is applied.

use std::time::Duration;

use http::Method;
use serde_json::json;

use super::gitea::User;
use super::world::{PLAN, SYNC, World};
use crate::kubernetes::if_asked;
use crate::patience::until;

impl World {
    /// Somebody comments on a pull request.
    fn say(&self, user: &User, number: u64, text: &str) {
        // A comment of the second in which the plan came may have been before it: Gitea counts seconds.
        std::thread::sleep(Duration::from_millis(1_100));
        let path = format!("/repos/{}/issues/{number}/comments", self.repository);
        let body = json!({ "body": text });
        self.gitea.call(&user.token, &Method::POST, &path, body);
    }

    /// A pull request of a branch that removes this file: its number and its head.
    fn remove(&self, file: &str) -> (u64, String) {
        self.working.git(&["fetch", "-q", &self.url(), "main"]);
        let branch = format!("without-{file}");
        let from = ["checkout", "-q", "-B", &branch, "FETCH_HEAD"];
        self.working.git(&from);
        self.working.git(&["rm", "-q", file]);
        let head = self.working.commit(&branch, &[]);
        self.working.push(&branch);
        let number = self
            .owner
            .pull_request(self.gitea, &self.repository, &branch);
        (number, head)
    }

    /// Squashes a pull request; returns the commit that it became.
    fn squash(&self, number: u64) -> String {
        let path = format!("/repos/{}/pulls/{number}/merge", self.repository);
        let body = json!({"Do": "squash", "MergeTitleField": "tidy up", "delete_branch_after_merge": true});
        let token = &self.owner.token;
        let squash = || {
            let (status, answer) = self.gitea.try_call(token, &Method::POST, &path, &body);
            // It may still look for conflicts.
            (200..300).contains(&status).then_some(()).ok_or(answer)
        };
        until(|| squash().ok(), || format!("{:?}", squash()));
        let path = format!("/repos/{}/branches/main", self.repository);
        let branch = self.gitea.get(token, &path);
        branch["commit"]["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until a comment of a pull request says this.
    #[track_caller]
    fn wait_for_comment(&self, number: u64, words: &str) {
        let path = format!("/repos/{}/issues/{number}/comments", self.repository);
        let all = || self.gitea.get(&self.owner.token, &path).to_string();
        until(|| all().contains(words).then_some(()), all);
    }
}

/// A cluster that is deleted with its file.
fn cluster(name: &str) -> String {
    format!(
        "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: default, annotations: {{capstan.dev/deletion-policy: Delete}}}}, spec: {{paused: true}}}}\n"
    )
}

#[test]
fn who_may_write_approves_in_a_comment_before_or_after_a_squash() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let [writer, reader] = ["writer", "reader"].map(|name| world.gitea.user(name));
    let path = format!("/repos/{}/collaborators/{}", world.repository, writer.name);
    let body = json!({"permission": "write"});
    let token = &world.owner.token;
    world.gitea.call(token, &Method::PUT, &path, body);
    let files = [("c.yaml", cluster("c")), ("d.yaml", cluster("d"))];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let first = world.working.commit("main", &files);
    world.working.push("main");
    let _daemon = world.daemon();
    // The paused clusters never become ready.
    let says = |commit: &str, words: &str| {
        let last = || world.statuses(commit, SYNC).pop();
        let is_said = || last().filter(|last| last.description.contains(words));
        until(is_said, || format!("{:?}", last()))
    };
    says(&first, "1/3 ready");

    // Approved before it is squashed: nobody is asked again.
    let (number, head) = world.remove("c.yaml");
    world.wait(&head, PLAN, "failure");
    world.wait_for_comment(number, "`/capstan approve delete default/c`");
    world.say(&reader, number, "/capstan approve delete default/c");
    world.say(&writer, number, "/capstan approve default/c");
    world.wait_for_comment(number, "may not write to the repository");
    world.wait_for_comment(number, "it does not say that it approves the deletion");
    world.say(
        &writer,
        number,
        "Fine.\n\n/capstan approve delete default/c",
    );
    let planned = world.wait(&head, PLAN, "success");
    let last = &planned[planned.len() - 1];
    assert!(
        last.description.starts_with("1 cluster deleted"),
        "{last:?}"
    );
    let squashed = world.squash(number);
    assert_ne!(squashed, head);
    let last = says(&squashed, "1/2 ready");
    assert!(!last.description.contains("kept"), "{last:?}");

    // Squashed without an approval: the check asks on the pull request, and takes the answer.
    let (number, head) = world.remove("d.yaml");
    world.wait(&head, PLAN, "failure");
    let squashed = world.squash(number);
    says(&squashed, "1 loss needs approval");
    world.wait_for_comment(number, "on the merged pull request");
    world.say(&writer, number, "/capstan approve delete default/d");
    let last = || world.statuses(&squashed, SYNC).pop();
    let is_done = || {
        last().filter(|last| last.state == "success" && last.description.starts_with("1/1 ready"))
    };
    until(is_done, || format!("{:?}", last()));
}
