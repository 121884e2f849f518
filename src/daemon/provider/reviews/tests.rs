//! Proposals in a real repository, with a forge in memory, on a paused clock.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::json;

use super::*;
use crate::adapters::git::{Access, Author, Files};
use crate::api::fleet::GitReference;
use crate::daemon::jobs::Origin;
use crate::model::{ErrorClass, PullRequestState};
use crate::provider::definition::{Accepted, text_of};
use crate::provider::request::Request;
use crate::settings::Environment;

const FILE: &str = "dcm/i-1.yaml";

/// A forge with the pull requests that were opened.
struct Forge {
    begun: Instant,
    /// By branch.
    pulls: Mutex<Vec<(String, OwnPullRequest)>>,
    /// The seconds at which it was asked.
    asked: Mutex<Vec<u64>>,
    is_down: Mutex<bool>,
    /// The branches of which it takes no pull request.
    refused: Mutex<BTreeSet<String>>,
}

impl Forge {
    fn set(&self, number: usize, state: PullRequestState) {
        self.pulls.lock()[number - 1].1.state = state;
    }
}

impl OwnPullRequests for Forge {
    fn open<'a>(
        &'a self,
        new: &'a NewPullRequest,
    ) -> BoxFuture<'a, Result<OwnPullRequest, AdapterError>> {
        if self.refused.lock().contains(&new.head) {
            let refused = AdapterError::new(ErrorClass::Invalid, "it has no changes");
            return std::future::ready(Err(refused)).boxed();
        }
        let mut pulls = self.pulls.lock();
        let number = pulls.len() as u64 + 1;
        let opened = OwnPullRequest {
            number,
            url: format!("https://git.example/pulls/{number}"),
            state: PullRequestState::Open,
        };
        pulls.push((new.head.clone(), opened.clone()));
        std::future::ready(Ok(opened)).boxed()
    }

    fn find<'a>(
        &'a self,
        head: &'a str,
        base: &'a str,
    ) -> BoxFuture<'a, Result<Option<OwnPullRequest>, AdapterError>> {
        assert_eq!(base, "main");
        self.asked.lock().push(self.begun.elapsed().as_secs());
        let pulls = self.pulls.lock();
        let of = pulls.iter().rev().find(|(branch, _)| branch == head);
        let found = of.map(|(_, pull)| pull.clone());
        let answer = match *self.is_down.lock() {
            true => Err(AdapterError::new(ErrorClass::Transient, "it is down")),
            false => Ok(found),
        };
        std::future::ready(answer).boxed()
    }

    fn get(&self, _: u64) -> BoxFuture<'_, Result<Option<OwnPullRequest>, AdapterError>> {
        unreachable!("nobody asks by number")
    }

    fn close(&self, _: u64) -> BoxFuture<'_, Result<OwnPullRequest, AdapterError>> {
        unreachable!("people close them")
    }
}

/// A repository whose branch `main` has one file, its forge, and a provider that proposes to it.
struct World {
    dir: tempfile::TempDir,
    forge: Arc<Forge>,
    author: Author,
    branches: Arc<Branches>,
    config: Arc<SyncConfig>,
    first: String,
    pushed: Arc<Notify>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let author = Author::init(&dir.path().join("repo.git")).unwrap();
        let files = Files::from([("a.txt".to_owned(), "a".to_owned())]);
        let first = author.push("main", None, &files, "one", at_noon()).unwrap();
        let environment = Environment {
            cache: dir.path().join("cache"),
            ..Environment::default()
        };
        let url = author.dir().display().to_string();
        let reference = Some(GitReference::default());
        let config = Arc::new(SyncConfig::source(&url, reference, &environment));
        let origin = Origin::open(&config, &Access::default()).unwrap();
        let branches = Arc::new(Branches::of(&origin, &config, "main").unwrap());
        Self {
            forge: Arc::new(Forge {
                begun: Instant::now(),
                pulls: Mutex::default(),
                asked: Mutex::default(),
                is_down: Mutex::default(),
                refused: Mutex::default(),
            }),
            dir,
            author,
            branches,
            config,
            first,
            pushed: Arc::default(),
        }
    }

    /// Pushes the definition of instance `i-1` on top of `base`.
    fn push(&self, branch: &str, base: &str, message: &str) -> String {
        let files = Files::from([
            ("a.txt".to_owned(), "a".to_owned()),
            (FILE.to_owned(), definition()),
        ]);
        let author = &self.author;
        author
            .push(branch, Some(base), &files, message, at_noon())
            .unwrap()
    }

    fn follow(&self) -> (watch::Receiver<Option<Proposals>>, AbortOnDropHandle<()>) {
        let reviews = Reviews {
            branches: Arc::clone(&self.branches),
            pulls: Arc::clone(&self.forge) as _,
            settings: ServiceProvider::default(),
            config: Arc::clone(&self.config),
            turn: Turn::default(),
            pushed: Arc::clone(&self.pushed),
        };
        reviews.follow()
    }

    /// The short name of the branch of instance `i-1`.
    fn branch(&self, topic: Topic) -> String {
        topic.branch(&self.config.checks_name(), "i-1", "0a1b2c3d")
    }

    /// Fetches, as the daemon does, and has the branches looked at.
    async fn fetch(&self) {
        self.branches.fetch_all("capstan/").await.unwrap();
        self.pushed.notify_one();
    }

    fn has(&self, branch: &str) -> bool {
        let repository = git2::Repository::open(self.author.dir()).unwrap();
        repository
            .find_branch(branch, git2::BranchType::Local)
            .is_ok()
    }
}

fn at_noon() -> jiff::Timestamp {
    "2026-01-29T12:00:00Z".parse().unwrap()
}

fn definition() -> String {
    let body = json!({
        "serviceType": "cluster", "version": "4.17", "metadata": {"name": "dev"}, "nodes": {"worker": {"count": 1}},
    });
    let accepted = Accepted {
        instance: "i-1",
        request: &Request::read(body.to_string().as_bytes()).unwrap(),
        image: "quay.io/a/b:4.17.1-multi",
        key: None,
        at: at_noon(),
    };
    text_of(&accepted, &ServiceProvider::default())
}

type Waiting = watch::Receiver<Option<Proposals>>;

/// Waits until the addition of `i-1` waits for this, or for nothing.
async fn until(waiting: &mut Waiting, review: Option<Review>) {
    let is_reached = |proposals: &Option<Proposals>| {
        let proposals = proposals.as_ref();
        let found = proposals.map(|all| all.additions.get("i-1").map(|(_, review)| review));
        found == Some(review.as_ref())
    };
    let reached = waiting.wait_for(is_reached).map(drop);
    let patience = Duration::from_secs(100);
    tokio::time::timeout(patience, reached).await.unwrap();
}

fn open(number: u64) -> Option<Review> {
    Some(Review::Open(format!("https://git.example/pulls/{number}")))
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_proposed_merged_and_its_branch_deleted() {
    let world = World::new();
    let branch = world.branch(Topic::Add);
    world.push(&branch, &world.first, "Add it");
    let (mut waiting, _following) = world.follow();
    until(&mut waiting, open(1)).await;
    let (stored, _) = waiting.borrow().clone().unwrap().additions["i-1"].clone();
    assert_eq!((&*stored.name, &*stored.namespace), ("dev", "default"));
    // The forge merged it, and nobody fetched yet.
    let merge = world.push("main", &world.first, "Merge it");
    world.forge.set(
        1,
        PullRequestState::Merged {
            commit: merge.clone(),
        },
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    until(&mut waiting, open(1)).await;
    assert!(world.has(&branch));
    world.fetch().await;
    until(&mut waiting, None).await;
    let revision = world.branches.newest().borrow().clone().unwrap();
    assert!(revision.index.instances.contains_key("i-1"));
    assert!(!world.has(&branch));
}

#[tokio::test(start_paused = true)]
async fn of_two_definitions_of_one_instance_the_one_that_may_be_merged_counts() {
    let world = World::new();
    let branch = world.branch(Topic::Add);
    world.push(&branch, &world.first, "Add it");
    let (mut waiting, _following) = world.follow();
    until(&mut waiting, open(1)).await;
    world.forge.set(1, PullRequestState::Closed);
    let closed = Review::Closed("https://git.example/pulls/1".to_owned());
    until(&mut waiting, Some(closed)).await;
    assert!(world.has(&branch));
    for mark in ["00000000", "ffffffff"] {
        let again = branch.replace("0a1b2c3d", mark);
        world.push(&again, &world.first, "Add it again");
        world.fetch().await;
        let number = world.forge.pulls.lock().len() as u64 + 1;
        until(&mut waiting, open(number)).await;
        let repository = git2::Repository::open(world.author.dir()).unwrap();
        let found = repository.find_branch(&again, git2::BranchType::Local);
        found.unwrap().delete().unwrap();
        world.fetch().await;
        let closed = Review::Closed("https://git.example/pulls/1".to_owned());
        until(&mut waiting, Some(closed)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_was_refused_is_forgotten() {
    let world = World::new();
    let defined = world.push("main", &world.first, "Add it");
    let branch = world.branch(Topic::Remove);
    world.push(&branch, &defined, "Remove it");
    let (mut waiting, _following) = world.follow();
    let review = |proposals: &Option<Proposals>| {
        let proposals = proposals.as_ref()?;
        Some(proposals.removals.get("i-1").cloned())
    };
    let is_open = |all: &Option<Proposals>| review(all) == Some(open(1));
    waiting.wait_for(is_open).await.unwrap();
    world.forge.set(1, PullRequestState::Closed);
    let is_gone = |all: &Option<Proposals>| review(all) == Some(None);
    waiting.wait_for(is_gone).await.unwrap();
    assert!(!world.has(&branch));
}

#[tokio::test(start_paused = true)]
async fn a_removal_of_what_is_not_there_waits_for_nobody_and_stays() {
    let world = World::new();
    let branch = world.branch(Topic::Remove);
    world.push(&branch, &world.first, "Remove it");
    let (mut waiting, _following) = world.follow();
    waiting.wait_for(Option::is_some).await.unwrap();
    assert_eq!(*waiting.borrow(), Some(Proposals::default()));
    // It may be of another fleet with this name.
    assert!(world.has(&branch));
    assert_eq!(*world.forge.asked.lock(), [0u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_was_merged_by_hand_or_broken_in_its_review_is_known() {
    let world = World::new();
    let branch = world.branch(Topic::Add);
    let proposed = world.push(&branch, &world.first, "Add it");
    let (mut waiting, _following) = world.follow();
    until(&mut waiting, open(1)).await;
    let broken = Files::from([(FILE.to_owned(), "a: [".to_owned())]);
    let author = &world.author;
    author
        .push(&branch, Some(&proposed), &broken, "Break it", at_noon())
        .unwrap();
    world.fetch().await;
    tokio::time::sleep(LOOK).await;
    until(&mut waiting, open(1)).await;
    // The forge does not notice that it was pushed to the branch.
    world.push("main", &world.first, "Squash it by hand");
    world.fetch().await;
    until(&mut waiting, None).await;
    assert!(!world.has(&branch));
}

#[tokio::test(start_paused = true)]
async fn branches_that_the_forge_does_not_take_keep_no_other_from_its_turn() {
    let world = World::new();
    let branch = world.branch(Topic::Add);
    for number in 0..5 {
        let refused = branch.replace("0a1b2c3d", &format!("0000000{number}"));
        world.push(&refused, &world.first, "Refused");
        world.forge.refused.lock().insert(refused);
    }
    world.push(&branch, &world.first, "Add it");
    let (mut waiting, _following) = world.follow();
    until(&mut waiting, open(1)).await;
    let elapsed = world.forge.begun.elapsed();
    assert!(elapsed <= LOOK * 2, "{elapsed:?}");
}

#[tokio::test(start_paused = true)]
async fn the_forge_is_asked_every_15_seconds_and_a_missing_repository_is_looked_for_every_2() {
    let world = World::new();
    world.push(&world.branch(Topic::Add), &world.first, "Add it");
    let away = world.dir.path().join("away");
    std::fs::rename(world.author.dir(), &away).unwrap();
    let (mut waiting, _following) = world.follow();
    let early = tokio::time::timeout(Duration::from_secs(3), waiting.changed());
    assert!(early.await.is_err(), "nobody knows what there is");
    std::fs::rename(&away, world.author.dir()).unwrap();
    let back = world.forge.begun.elapsed();
    until(&mut waiting, open(1)).await;
    let found = world.forge.begun.elapsed();
    assert!(found - back <= Duration::from_secs(2), "{found:?}");
    tokio::time::sleep(Duration::from_secs(40)).await;
    let asked = world.forge.asked.lock().clone();
    let pauses: Vec<u64> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses, [15, 15]);
    // A forge that is down changes nothing.
    *world.forge.is_down.lock() = true;
    tokio::time::sleep(Duration::from_secs(60)).await;
    until(&mut waiting, open(1)).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_listed_while_a_branch_is_left_out() {
    let world = World::new();
    let branch = world.branch(Topic::Add);
    world.push(&branch, &world.first, "Add it");
    let other = branch.replace("0a1b2c3d", "00000000");
    let broken = world.author.dir().join("refs/heads").join(other);
    // As if its commit did not arrive.
    std::fs::write(&broken, format!("{}\n", "5".repeat(40))).unwrap();
    let (mut waiting, _following) = world.follow();
    let early = tokio::time::timeout(Duration::from_secs(9), waiting.changed());
    assert!(early.await.is_err(), "{:?}", waiting.borrow());
    std::fs::remove_file(&broken).unwrap();
    until(&mut waiting, open(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_branch_of_somebody_else_is_no_proposal() {
    let world = World::new();
    let add = world.branch(Topic::Add);
    // No definition, another ID, another fleet.
    let files = Files::from([("b.txt".to_owned(), "b".to_owned())]);
    let push = |branch: &str| {
        let author = &world.author;
        author
            .push(branch, Some(&world.first), &files, "other", at_noon())
            .unwrap();
    };
    push(&add);
    let beginning = add.trim_end_matches("add-i-1-0a1b2c3d");
    world.push(
        &format!("{beginning}add-i-2-0a1b2c3d"),
        &world.first,
        "Another ID",
    );
    world.push(
        "capstan/another-fleet/add-i-1-0a1b2c3d",
        &world.first,
        "Another fleet",
    );
    push(&format!("{beginning}notes"));
    let (mut waiting, _following) = world.follow();
    waiting.wait_for(Option::is_some).await.unwrap();
    assert_eq!(*waiting.borrow(), Some(Proposals::default()));
    assert_eq!(*world.forge.asked.lock(), [0u64; 0]);
}
