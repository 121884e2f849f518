//! Approvals in the messages of commits, where checks are git notes: what a merge brought in, and what a fork proposes.

use super::pull_requests::{planned, pull_saying};
use super::*;
use capstan::model::cut;

const APPROVING: &str = "tidy up\n\nCapstan-Approve: delete default/c\n";

fn clusters(world: &World) -> usize {
    let all = world.server.snapshot();
    all.iter().filter(|live| live["kind"] == "Cluster").count()
}

/// A merge on `main` of these commits, with the files of the second.
fn merge(world: &World, message: &str, parents: [&str; 2]) -> String {
    let repository = git2::Repository::open(world.author.dir()).expect("a repository");
    let find = |id: &str| {
        let id = git2::Oid::from_str(id).expect("an id");
        repository.find_commit(id).expect("a commit")
    };
    let parents = parents.map(find);
    let tree = parents[1].tree().expect("a tree");
    let time = git2::Time::new(0, 0);
    let who = git2::Signature::new("Ada", "ada@example.com", &time).expect("a person");
    let parents = [&parents[0], &parents[1]];
    let made = repository.commit(
        Some("refs/heads/main"),
        &who,
        &who,
        message,
        &tree,
        &parents,
    );
    made.expect("merged").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_merge_brings_in_approves_nothing_until_a_commit_of_the_branch_says_it() {
    let world = World::new();
    for definition in foreign() {
        world.install(&definition).await;
    }
    let a = config_map("a");
    let first = world.push("main", None, &[("a.yaml", &a), ("c.yaml", CLUSTER)]);
    let mut daemon = world.start("test");
    daemon
        .until(&first, |check| check.title.contains("1/2 ready"))
        .await;
    // A fork's check quotes the line and lists the cluster.
    let fork = pull_saying(&world, APPROVING, 7, &first, &[("a.yaml", &a)]);
    let failed = |check: &Check| check.state == CheckState::Failure;
    let check = planned(&world, &fork, failed).await;
    assert_eq!(
        check.title,
        "1 line of a fork approves nothing; 1 cluster leaves the fleet; no errors; from a fork, so only its files were checked"
    );
    for line in [
        "\"Capstan-Approve: delete default/c\" approves nothing in the commit of a fork",
        "- cluster default/c: deleted, once somebody who may write to the repository approves",
    ] {
        assert!(check.summary.contains(line), "{}", check.summary);
    }

    let merged = merge(&world, "Merge pull request #7", [&first, &fork]);
    let check = daemon.fails(&merged).await;
    let kept = "1 loss needs approval; 1/1 ready";
    assert_eq!(check.title, kept);
    let line = "does not count: a merge brought the commit in; repeat the line";
    assert!(check.summary.contains(line), "{}", check.summary);
    assert_eq!(clusters(&world), 1);

    let quoting = "they said\n\n> Capstan-Approve: delete default/c\n";
    let quoted = world.push_saying(quoting, "main", Some(&merged), &[("a.yaml", &a)]);
    let check = daemon.fails(&quoted).await;
    assert_eq!(check.title, kept);
    assert!(check.summary.contains("approves nothing"), "{check:#?}");
    assert_eq!(clusters(&world), 1);

    let said = world.push_saying(APPROVING, "main", Some(&quoted), &[("a.yaml", &a)]);
    let check = daemon.succeeds(&said).await;
    let by = format!(
        "was approved by Demo \\<demo@localhost> in the message of {}",
        cut::head(&said, 10)
    );
    assert!(check.summary.contains(&by), "{}", check.summary);
    assert_eq!(clusters(&world), 0);
}

/// What the parent of the fleet `test` has under this pointer.
fn of_parent(world: &World, pointer: &str) -> Option<String> {
    let all = world.server.snapshot();
    let is_parent = |live: &&serde_json::Value| live["metadata"]["name"] == "capstan-test";
    let parent = all.iter().find(is_parent)?;
    parent.pointer(pointer)?.as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_on_the_parent_approves_a_loss_once() {
    let world = World::new();
    for definition in foreign() {
        world.install(&definition).await;
    }
    let (client, set) = (
        world.server.client("default"),
        ApplySet::new("test", "default"),
    );
    let annotate = async |text: &str| {
        let annotated = annotate_parent(&client, &set, labels::APPROVE_ANNOTATION, Some(text));
        annotated.await.expect("annotated");
    };
    let a = config_map("a");
    let (with, without) = (
        [("a.yaml", &*a), ("c.yaml", CLUSTER)],
        [("a.yaml", a.as_str())],
    );
    let first = world.push("main", None, &with);
    let mut daemon = world.start("test");
    let is_there = |check: &Check| check.title.contains("1/2 ready");
    daemon.until(&first, is_there).await;
    // What is not there yet cannot be lost.
    let comes = async || {
        while clusters(&world) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    comes().await;
    let second = world.push("main", Some(&first), &without);
    let asks = "1 loss needs approval; 1/1 ready";
    assert_eq!(daemon.fails(&second).await.title, asks);
    annotate("delete default/d, Delete default/c").await;
    let unclear = "\"capstan.dev/approve: Delete default/c\" approves nothing";
    let says = |check: &Check| check.summary.contains(unclear);
    daemon.until(&second, says).await;
    assert_eq!(clusters(&world), 1);
    annotate("delete default/c").await;
    let check = daemon.succeeds(&second).await;
    let by = "the deletion of default/c was approved with the annotation capstan.dev/approve on the ConfigMap of the fleet";
    assert!(check.summary.contains(by), "{}", check.summary);
    assert_eq!(clusters(&world), 0);
    let annotation = "/metadata/annotations/capstan.dev~1approve";
    assert_eq!(of_parent(&world, annotation), None);
    let all = world.server.snapshot();
    let events = all.iter().filter(|live| live["reason"] == "Approved");
    let notes: Vec<_> = events.map(|live| live["message"].clone()).collect();
    let note = format!(
        "the annotation capstan.dev/approve approved of {}: delete default/c",
        cut::head(&second, 10)
    );
    assert!(notes.contains(&note.into()), "{notes:?}");

    let third = world.push("main", Some(&second), &with);
    daemon.until(&third, is_there).await;
    comes().await;
    let fourth = world.push("main", Some(&third), &without);
    assert_eq!(daemon.fails(&fourth).await.title, asks);
    assert_eq!(clusters(&world), 1, "it approved another loss");
    // While no daemon runs, and without the mirror.
    drop(daemon);
    annotate("delete default/c").await;
    // Its last jobs may still write there.
    while std::fs::remove_dir_all(world.dir.path().join("test")).is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut daemon = world.start("test");
    daemon.succeeds(&fourth).await;
    assert_eq!(clusters(&world), 0);
}
