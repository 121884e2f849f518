//! Approvals in the messages of commits, where checks are git notes: what a merge brought in, and what a fork proposes.

use super::pull_requests::{planned, pull_saying};
use super::*;

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
        &said[..10]
    );
    assert!(check.summary.contains(&by), "{}", check.summary);
    assert_eq!(clusters(&world), 0);
}
