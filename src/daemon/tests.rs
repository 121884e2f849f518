//! What the daemon waits for, and how long, on a paused clock. The simulated time of its cluster
//! passes 20 times faster than the time outside.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;

use http::{Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tempfile::TempDir;
use tokio::time::Instant;

use super::job::Judged;
use super::*;
use crate::adapters::git::{Author, Files, Refs};
use crate::apply::{Progress, PruneStatus, Report, State, Suspension};
use crate::compile::{Compiled, compile};
use crate::model::{Check, CheckState, Clock, ObjectId, Tree};
use crate::settings::Environment;

const SPEED: u32 = 20;

struct Fast(Instant);

impl Clock for Fast {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.0.elapsed() * SPEED
    }

    fn real(&self, duration: Duration) -> Duration {
        duration / SPEED
    }
}

/// A daemon whose jobs are watched and not handled, unless a test does.
struct Case {
    daemon: Daemon,
    /// The one commit of the repository.
    commit: String,
    _events: UnboundedReceiver<Event>,
    _dir: TempDir,
}

/// The end of a job: milliseconds since it was waited for, and what it ended in.
type Ended = (u128, &'static str);

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let author = Author::init(&dir.path().join("config.git")).unwrap();
        let files: Files = [("a.yaml".to_owned(), String::new())].into();
        let commit = author.push("main", None, &files, "it", Timestamp::UNIX_EPOCH);
        let url = author.dir().display().to_string();
        let config = SyncConfig::source(&url, None, &Environment::default());
        let mirror = Mirror::open(&dir.path().join("mirror"), &url, &[]).unwrap();
        mirror.fetch().unwrap();
        // A cluster that never answers.
        let client = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let target = Target {
            client: Client::new(client, "default"),
            clock: Arc::new(Fast(Instant::now())),
        };
        let prepare: Prepare = Arc::new(|_| Box::pin(async {}));
        let view = watch::channel(View::default()).0;
        let (daemon, events) = Daemon::new(config, Engine { target, prepare }, mirror, view);
        Self {
            daemon,
            commit: commit.unwrap(),
            _events: events,
            _dir: dir,
        }
    }

    /// One that applies `compiled` and has reported so.
    async fn applying(compiled: Compiled) -> Self {
        let mut case = Self::new();
        let commit = case.commit.clone();
        (case.daemon.head, case.daemon.examined) = (Some(commit.clone()), Some(commit.clone()));
        case.daemon.examined(Examined {
            outcome: Ok(Judged::new(compiled, &case.daemon.set)),
            ..Examined::failed(commit, away())
        });
        case.daemon.publish();
        assert_eq!(case.handle_next().await, (0, "Published"));
        assert_eq!(case.handle_next().await, (0, "Prepared"));
        case.daemon.reported(1, Report::Settled);
        assert_eq!(case.handle_next().await, (100, "Tick"));
        case
    }

    async fn handle_next(&mut self) -> Ended {
        let start = Instant::now();
        let event = self.daemon.jobs.join_next().await.unwrap().unwrap();
        let ended = (start.elapsed().as_millis(), name(&event));
        self.daemon.handle(event);
        ended
    }

    /// The jobs that end within an hour, in which nothing else happens.
    async fn jobs(&mut self) -> Vec<Ended> {
        let (start, mut ended) = (Instant::now(), Vec::new());
        let hour = start + Duration::from_secs(3600);
        while let Ok(Some(event)) =
            tokio::time::timeout_at(hour, self.daemon.jobs.join_next()).await
        {
            ended.push((start.elapsed().as_millis(), name(&event.unwrap())));
        }
        ended
    }

    fn progress(&mut self, name: &str, state: State) {
        let progress = Progress {
            at: self.daemon.engine.target.clock.now(),
            object: ObjectId::new("", "ConfigMap", "default", name),
            state,
            terminal: false,
            message: String::new(),
        };
        self.daemon.reported(1, Report::Object(progress));
    }

    /// The state of the commit's check.
    fn state(&self) -> CheckState {
        let view = self.daemon.view.borrow();
        let check = view.checks.values().next().unwrap();
        check.state
    }

    fn check(&self, state: CheckState, title: &str) -> Check {
        Check {
            revision: self.commit.clone(),
            context: "capstan/config/sync".to_owned(),
            state,
            title: title.to_owned(),
            summary: String::new(),
            annotations: Vec::new(),
            detail: None,
            target_url: None,
            pull_request: None,
            input: None,
        }
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Poll => "Poll",
        Event::Reexamine(_) => "Again",
        Event::Prepared(_) => "Prepared",
        Event::Restart(_) => "Restart",
        Event::Published(_) => "Published",
        Event::Retry => "Retry",
        Event::Tick => "Tick",
        Event::Recalled(..) => "Recalled",
        Event::Recorded(_) => "Recorded",
        Event::RecordAgain => "RecordAgain",
        _ => "another",
    }
}

fn config_maps(names: &[&str]) -> Compiled {
    // A file without objects says so: an empty one would be an error.
    let text: String = std::iter::once("# objects\n".to_owned())
        .chain(names.iter()
        .map(|name| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n")))
        .collect();
    let tree = Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    };
    compile(&tree, &[])
}

fn away() -> Failure {
    Failure::Git(git::Error::Unreachable {
        url: "file:///away".to_owned(),
        cause: "it is away".to_owned(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_repository_is_looked_at_after_the_interval_and_less_and_less_while_it_is_away() {
    for (interval, expected) in [(1, [1, 2, 4, 8, 16, 32, 60, 60, 1]), (90, [90; 9])] {
        let mut case = Case::new();
        case.daemon.config.interval = Duration::from_secs(interval);
        case.daemon.examined = Some(case.commit.clone());
        for (at, seconds) in expected.into_iter().enumerate() {
            let here = at == 0 || at == 8;
            let remote = RemoteRefs {
                refs: Refs::new(),
                head: case.commit.clone(),
            };
            case.daemon.fetched(here.then_some(remote).ok_or_else(away));
            assert_eq!(case.jobs().await, [(seconds * 1000, "Poll")], "look {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_cannot_be_read_now_is_read_again_after_15_seconds() {
    let mut case = Case::new();
    let commit = case.commit.clone();
    case.daemon
        .examined(Examined::failed(commit.clone(), away()));
    assert_eq!(case.jobs().await, [(15_000, "Again")]);
    let bug = Failure::Panic("it does so each time".to_owned());
    case.daemon.examined(Examined::failed(commit, bug));
    assert_eq!(case.jobs().await, []);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ended_by_a_bug_begins_again_after_15_seconds() {
    let mut case = Case::new();
    case.daemon.ended();
    assert_eq!(case.jobs().await, [(15_000, "Restart")]);
}

#[tokio::test(start_paused = true)]
async fn what_happens_within_a_tenth_of_a_second_is_reported_together() {
    let mut case = Case::applying(config_maps(&["a", "b"])).await;
    case.progress("a", State::Progressing);
    tokio::time::sleep(Duration::from_millis(40)).await;
    case.progress("b", State::Progressing);
    case.progress("a", State::Ready);
    assert_eq!(case.handle_next().await, (60, "Tick"));
    case.progress("a", State::Ready);
    case.progress("b", State::Ready);
    assert_eq!(case.handle_next().await, (100, "Tick"));
}

#[tokio::test(start_paused = true)]
async fn what_nothing_could_be_applied_for_is_no_longer_told_once_it_is_mended() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let title = |case: &Case| case.daemon.view.borrow().title.clone();
    case.daemon
        .reported(1, Report::Stuck("no permission".to_owned()));
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(title(&case), "nothing can be applied: no permission");
    assert_eq!(case.state(), CheckState::Failure);
    case.daemon.reported(1, Report::Begun);
    assert_eq!(case.handle_next().await, (0, "Published"));
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(
        title(&case),
        "0/1 ready, ConfigMap, less than a minute left"
    );
    assert_eq!(case.state(), CheckState::Pending);
}

#[tokio::test(start_paused = true)]
async fn success_is_looked_at_again_a_minute_after_it_was_lost() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.progress("a", State::Ready);
    assert_eq!(case.handle_next().await, (100, "Tick"));
    case.progress("a", State::Progressing);
    assert_eq!(case.handle_next().await, (0, "Published"), "success");
    assert_eq!(case.handle_next().await, (100, "Tick"));
    // A minute in the cluster after success was written: it still stands, with another title.
    assert_eq!(case.handle_next().await, (2900, "Tick"));
    assert_eq!(case.state(), CheckState::Success);
    assert_eq!(case.handle_next().await, (0, "Published"));
    // A minute in the cluster after it was lost.
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(case.state(), CheckState::Pending);
}

#[tokio::test(start_paused = true)]
async fn the_plan_of_an_older_revision_is_let_go_once_a_newer_one_is_applied() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let plan = |case: &Case| Arc::downgrade(&case.daemon.sync.as_ref().unwrap().prepared.plan);
    let older = plan(&case);
    let newer = "1".repeat(40);
    (case.daemon.head, case.daemon.examined) = (Some(newer.clone()), Some(newer.clone()));
    let judged = Judged::new(config_maps(&["a", "b"]), &case.daemon.set);
    case.daemon.examined(Examined {
        outcome: Ok(judged),
        ..Examined::failed(newer, away())
    });
    case.daemon.publish();
    while case.handle_next().await.1 != "Prepared" {}
    // The runner takes it up.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(older.upgrade().is_none(), "nobody holds it");
    assert!(plan(&case).upgrade().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_fleet_says_so_until_it_is_resumed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let title = |case: &Case| case.daemon.view.borrow().title.clone();
    let before = title(&case);
    let asks = |since: Option<&str>| Steering {
        suspended: since.map(str::to_owned),
        ..Steering::default()
    };
    case.daemon.steered(asks(None));
    assert_eq!(case.daemon.syncs, 1, "nothing changes");
    case.daemon.steered(asks(Some("then")));
    assert_eq!(title(&case), format!("suspended; {before}"));
    assert_eq!(case.daemon.syncs, 2, "it is assigned again");
    // The parent says the same.
    case.daemon
        .reported(2, Report::Suspended(since("then", "")));
    case.daemon.steered(asks(Some("then")));
    assert_eq!(case.daemon.syncs, 2);
    case.daemon.steered(asks(None));
    assert_eq!((title(&case), case.daemon.syncs), (before, 3));
    // The parent was read before somebody resumed it.
    case.daemon
        .reported(3, Report::Suspended(since("then", "")));
    case.daemon.steered(asks(None));
    assert_eq!(case.daemon.syncs, 4);
}

fn since(time: &str, applied: &str) -> Suspension {
    Suspension {
        since: time.to_owned(),
        applied: applied.to_owned(),
    }
}

fn suspension(since: Option<&str>) -> Steering {
    Steering {
        suspended: since.map(str::to_owned),
        ..Steering::default()
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_resumed_succeeds_only_once_it_was_looked_at_again() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.progress("a", State::Ready);
    case.daemon.report_progress();
    assert_eq!(case.state(), CheckState::Success);
    case.daemon.steered(suspension(Some("then")));
    assert_eq!(
        case.state(),
        CheckState::Success,
        "suspending breaks nothing"
    );
    case.daemon.steered(suspension(None));
    assert_eq!(case.state(), CheckState::Pending);
    let sync = case.daemon.sync.as_ref().unwrap();
    assert!(!sync.settled && !sync.tracker.is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_parent_read_before_the_fleet_was_resumed_is_read_again_after_15_seconds() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.daemon.steered(suspension(None));
    case.daemon
        .reported(1, Report::Suspended(since("then", "")));
    let start = Instant::now();
    while case.handle_next().await.1 != "Restart" {}
    assert_eq!(start.elapsed(), Duration::from_secs(15));
    assert_eq!(case.daemon.syncs, 2, "it is assigned again");
}

#[tokio::test(start_paused = true)]
async fn a_revision_accepted_while_suspended_is_not_applied_yet() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.daemon.steered(suspension(Some("then")));
    let newer = "1".repeat(40);
    (case.daemon.head, case.daemon.examined) = (Some(newer.clone()), Some(newer.clone()));
    let judged = Judged::new(config_maps(&["b"]), &case.daemon.set);
    case.daemon.examined(Examined {
        outcome: Ok(judged),
        ..Examined::failed(newer.clone(), away())
    });
    assert_eq!(case.daemon.accepted().as_ref(), Some(&newer));
    assert_eq!(case.daemon.applied().as_ref(), Some(&case.commit));
    // It is not assigned yet.
    case.daemon.steered(suspension(None));
    assert_eq!(case.daemon.sync.as_ref().unwrap().suspended, None);
    assert_eq!(case.daemon.applied().as_ref(), Some(&newer));
}

/// A daemon that has just started: a sound revision is accepted, and the cluster has not answered.
fn started(head: &str) -> Case {
    let mut case = Case::new();
    (case.daemon.head, case.daemon.examined) = (Some(head.to_owned()), Some(head.to_owned()));
    let judged = Judged::new(config_maps(&["b"]), &case.daemon.set);
    case.daemon.examined(Examined {
        outcome: Ok(judged),
        ..Examined::failed(head.to_owned(), away())
    });
    case
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_suspended_fleet_names_the_revision_that_is_applied() {
    let mut case = started(&"1".repeat(40));
    assert!(!case.daemon.knows_applied(), "no candidate is planned yet");
    let earlier = case.commit.clone();
    case.daemon.assign();
    case.daemon
        .reported(1, Report::Suspended(since("then", &earlier)));
    assert!(!case.daemon.knows_applied());
    while case.handle_next().await.1 != "Recalled" {}
    assert!(case.daemon.knows_applied());
    assert_eq!(case.daemon.applied(), Some(earlier.clone()));
    let view = case.daemon.view.borrow();
    let check = view.check("capstan/config/sync", &"1".repeat(40)).unwrap();
    assert_eq!(check.title, "suspended; not applied");
    let stays = format!("The last good revision {earlier} stays applied.");
    assert!(check.summary.ends_with(&stays), "{}", check.summary);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_suspended_revision_that_was_applied_says_so() {
    let head = "1".repeat(40);
    let mut case = started(&head);
    case.daemon.assign();
    case.daemon
        .reported(1, Report::Suspended(since("then", &head)));
    case.daemon.report_progress();
    assert!(case.daemon.knows_applied());
    assert_eq!(case.daemon.applied(), Some(head));
    let view = case.daemon.view.borrow();
    assert_eq!(view.title, "suspended; applied before");
}

#[tokio::test(start_paused = true)]
async fn candidates_wait_for_the_cluster_after_a_start_but_not_for_one_that_does_not_answer() {
    let mut case = started(&"1".repeat(40));
    assert!(!case.daemon.knows_applied());
    case.daemon.steered(suspension(None));
    assert!(case.daemon.knows_applied(), "it is not suspended");
    let mut case = started(&"1".repeat(40));
    case.daemon.assign();
    case.daemon
        .reported(1, Report::Stuck("no answer".to_owned()));
    assert!(case.daemon.knows_applied());
}

#[tokio::test(start_paused = true)]
async fn what_nothing_can_be_applied_for_is_reported_once() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let sync = case.daemon.sync.as_mut().unwrap();
    for (why, is_new) in [("no", true), ("no", false), ("never", true)] {
        assert_eq!(sync.note(Report::Stuck(why.to_owned())), is_new, "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_to_sync_ends_the_wait_and_retries_what_failed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let asks = |at: &str| Steering {
        sync_requested: Some(at.to_owned()),
        ..Steering::default()
    };
    case.daemon.steered(asks("1"));
    case.daemon.config.interval = Duration::from_secs(90);
    let remote = RemoteRefs {
        refs: Refs::new(),
        head: case.commit.clone(),
    };
    case.daemon.fetched(Ok(remote));
    tokio::time::sleep(Duration::from_secs(3)).await;
    case.daemon.steered(asks("2"));
    assert_eq!(case.daemon.syncs, 1, "nothing failed");
    let start = Instant::now();
    while case.handle_next().await.1 != "Poll" {}
    assert_eq!(start.elapsed(), Duration::ZERO);
    case.daemon
        .reported(1, Report::Stuck("no rights".to_owned()));
    case.daemon.steered(asks("3"));
    assert_eq!(case.daemon.syncs, 2);
}

#[tokio::test(start_paused = true)]
async fn a_revision_without_objects_is_a_failure_and_nothing_is_removed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let empty = "2".repeat(40);
    (case.daemon.head, case.daemon.examined) = (Some(empty.clone()), Some(empty.clone()));
    let judged = Judged::new(config_maps(&[]), &case.daemon.set);
    case.daemon.examined(Examined {
        outcome: Ok(judged),
        ..Examined::failed(empty.clone(), away())
    });
    assert_eq!(case.daemon.applied().as_ref(), Some(&case.commit));
    let view = case.daemon.view.borrow();
    let check = view.check("capstan/config/sync", &empty).unwrap();
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(
        check.title,
        "not applied: the fleet has no objects any more"
    );
    let stays = format!("The last good revision {} stays applied.\n\n", case.commit);
    assert!(check.summary.starts_with(&stays), "{}", check.summary);
}

#[tokio::test(start_paused = true)]
async fn objects_that_an_empty_fleet_keeps_are_reported_once() {
    let mut case = Case::applying(config_maps(&[])).await;
    for name in ["a", "b"] {
        let id = ObjectId::new("", "ConfigMap", "default", name);
        let held = PruneStatus::Held("the fleet has no objects".to_owned());
        case.daemon.reported(1, Report::Prune(id, held));
    }
    case.daemon.report_progress();
    assert_eq!(case.state(), CheckState::Failure);
    let view = case.daemon.view.borrow();
    let check = view.checks.values().next().unwrap();
    assert!(!check.summary.contains("ConfigMap"), "{}", check.summary);
}

#[tokio::test(start_paused = true)]
async fn progress_is_written_a_minute_after_the_last_word() {
    let mut case = Case::new();
    for title in ["1/3", "2/3"] {
        case.daemon
            .set_check(case.check(CheckState::Pending, title));
        case.daemon.publish();
        if title == "1/3" {
            assert_eq!(case.handle_next().await, (0, "Published"));
        }
    }
    // Asked again, it sets no second alarm.
    case.daemon.publish();
    assert_eq!(case.handle_next().await, (3000, "Tick"));
    assert_eq!(case.jobs().await, [(0, "Published")]);
}

#[tokio::test(start_paused = true)]
async fn checks_that_could_not_be_written_are_tried_again_after_15_seconds_then_30() {
    let mut case = Case::new();
    for seconds in [15, 30, 60] {
        case.daemon.published(&Err(away().into()));
        assert_eq!(case.jobs().await, [(seconds * 1000, "Retry")]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_words_are_waited_for_but_not_for_longer_than_5_seconds() {
    for (takes, expected) in [(2, 2), (5000, 5)] {
        let mut case = Case::new();
        case.daemon
            .set_check(case.check(CheckState::Success, "done"));
        case.daemon.publish();
        assert!(case.daemon.checks.is_busy());
        // The push itself is let go of; another stands in for it.
        case.daemon.jobs.detach_all();
        let push = Event::Published(Ok(()));
        case.daemon.after(Duration::from_secs(takes), push);
        let start = Instant::now();
        case.daemon.close().await;
        assert_eq!(start.elapsed(), Duration::from_secs(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_of_the_newest_commit_is_recorded_until_it_is_applied() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let newest = |case: &Case| case.daemon.newest().map(|newest| newest.text());
    assert_eq!(newest(&case), None);
    let examine = |case: &mut Case, revision: &str, text: &str| {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let judged = Judged::new(compile(&tree, &[]), &case.daemon.set);
        case.daemon.head = Some(revision.to_owned());
        case.daemon.examined(Examined {
            outcome: Ok(judged),
            ..Examined::failed(revision.to_owned(), away())
        });
    };
    examine(&mut case, "2", "kind: ConfigMap\n---\nkind: Secret\n");
    let refused = newest(&case).unwrap();
    assert!(refused.contains("\"revision\":\"2\""), "{refused}");
    assert!(refused.contains("a.yaml:1:1: Y09 "), "{refused}");
    assert!(refused.contains("; and 1 more error\""), "{refused}");
    examine(&mut case, "3", "# nothing\n");
    assert!(newest(&case).unwrap().contains("no objects any more"));
    let one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}";
    examine(&mut case, "4", one);
    assert_eq!(newest(&case), None);
    case.daemon.steered(suspension(Some("then")));
    let waits = newest(&case).unwrap();
    assert!(waits.contains("\"refused\":false"), "{waits}");
    assert!(waits.contains("capstan resume --name config"), "{waits}");
    // It stays until something was applied: what applies writes the parent first.
    case.daemon.newest.recorded = Some(case.daemon.newest());
    case.daemon.steered(suspension(None));
    assert!(newest(&case).is_some());
    let number = case.daemon.syncs;
    case.daemon.reported(number, Report::Settled);
    assert_eq!(newest(&case), None);
}

/// A cluster that never answers is asked again after 15 seconds, and one write is under way at a time.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_tried_again() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.daemon.record_newest();
    assert_eq!(
        case.jobs().await,
        [],
        "it is not known what the parent holds"
    );
    case.daemon.steered(Steering::default());
    case.daemon.record_newest();
    assert_eq!(case.jobs().await, [], "it holds what is so");
    case.daemon.newest.reject(Newest::refused("2", "no"));
    case.daemon.record_newest();
    case.daemon.record_newest();
    assert_eq!(case.handle_next().await, (60_000, "Recorded"));
    assert_eq!(case.handle_next().await, (15_000, "RecordAgain"));
    assert_eq!(case.handle_next().await, (60_000, "Recorded"));
}

#[tokio::test(start_paused = true)]
async fn the_cluster_is_not_told_the_token_in_the_address_of_the_source() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.daemon.config.url = "https://t0ken@git.example/fleet".to_owned();
    let sync = case.daemon.sync.as_ref().unwrap();
    let assignment = case.daemon.assignment(sync);
    assert_eq!(assignment.source, "https://git.example/fleet");
    assert_eq!(case.daemon.shown_source(), assignment.source);
}

#[tokio::test(start_paused = true)]
async fn what_a_deleted_parent_recorded_is_recorded_again() {
    let mut case = Case::new();
    let refused = Newest::refused("2", "no");
    let parent = |uid: &str, newest: Option<&Newest>| Steering {
        uid: Some(uid.to_owned()),
        newest: newest.cloned(),
        ..Steering::default()
    };
    case.daemon.newest.reject(refused.clone());
    case.daemon.steered(parent("a", Some(&refused)));
    let writes = |case: &mut Case| {
        case.daemon.record_newest();
        let is_busy = case.daemon.newest.busy;
        case.daemon.newest_recorded(case.daemon.newest(), Ok(()));
        is_busy
    };
    assert!(!writes(&mut case), "it holds what is so");
    case.daemon.steered(Steering::default());
    assert!(writes(&mut case), "there is none");
    case.daemon.steered(parent("b", Some(&refused)));
    assert!(!writes(&mut case));
    // Another daemon of the fleet is not argued with.
    case.daemon.steered(parent("b", None));
    assert!(!writes(&mut case));
    // It is replaced while a write is under way.
    case.daemon.newest.recorded = Some(None);
    case.daemon.record_newest();
    case.daemon.steered(parent("c", None));
    case.daemon.newest_recorded(Some(refused), Ok(()));
    assert!(writes(&mut case), "it may have reached the old one");
    assert!(!writes(&mut case));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_its_document_suspended_until_now_is_not_called_suspended_by_hand() {
    let mut case = started("2");
    let waits = Newest::waiting("2", Newest::BY_DOCUMENT);
    case.daemon.steered(Steering {
        newest: Some(waits.clone()),
        ..Steering::default()
    });
    assert_eq!(case.daemon.newest(), Some(waits), "until it is applied");
    case.daemon.record_newest();
    assert!(!case.daemon.newest.busy, "nothing is to be written");
}
