//! What the daemon waits for, and how long, on a paused clock. The simulated time of its cluster
//! passes 20 times faster than the time outside.

#![allow(clippy::unwrap_used, clippy::panic)]

mod approving;
mod checks;
mod directory;
mod hinted;
mod newest;
mod overdue;
mod pressed;
mod progress;
mod recording;
mod recreation;
mod second_owners;
mod silent;
mod source;
mod superseded;
mod suspension;
mod waiting;

use std::convert::Infallible;
use std::rc::Rc;

use http::{Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tempfile::TempDir;
use tokio::time::Instant;

use self::recording::Recording;
use super::job::Judged;
use super::*;
use crate::adapters::git::{Author, Files, Mirror, Refs, RetainedRef};
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
    events: UnboundedReceiver<Event>,
    _recording: Rc<Recording>,
    _dir: TempDir,
}

/// The end of a job: milliseconds since it was waited for, and what it ended in.
type Ended = (u128, &'static str);

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::of_test(dir.path());
        let author = Author::init(&dir.path().join("config.git")).unwrap();
        let files: Files = [("a.yaml".to_owned(), String::new())].into();
        let commit = author.push("main", None, &files, "it", Timestamp::UNIX_EPOCH);
        let url = author.dir().display().to_string();
        let config = SyncConfig {
            mirror: dir.path().join("mirror"),
            ..SyncConfig::source(&url, None, &Environment::default())
        };
        let mirror = Mirror::open(&config.mirror, &url, &[]).unwrap();
        mirror.fetch().unwrap();
        let origin = Origin::Repository(Arc::new(mirror));
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
        let (mut daemon, events) = Daemon::new(config, Engine { target, prepare }, origin, view);
        // Few of the tests are about it.
        daemon.probed = true;
        Self {
            daemon,
            commit: commit.unwrap(),
            events,
            _recording: recording,
            _dir: dir,
        }
    }

    /// One that applies `compiled` and has reported so.
    async fn applying(compiled: Compiled) -> Self {
        let mut case = Self::new();
        let commit = case.commit.clone();
        case.daemon.heads.set(&commit, &commit);
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
            older_pull_requests: Vec::new(),
            input: None,
            button: None,
            attempt: 0,
        }
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Poll => "Poll",
        Event::Reexamine(_) => "Again",
        Event::Prepared(_) => "Prepared",
        Event::Restart(_) => "Restart",
        Event::Probed(_) => "Probed",
        Event::Published(_) => "Published",
        Event::Retry => "Retry",
        Event::Replan(_) => "Replan",
        Event::Tick => "Tick",
        Event::Recalled(..) => "Recalled",
        Event::Recorded(_) => "Recorded",
        Event::RecordAgain => "RecordAgain",
        Event::Recreated(..) => "Recreated",
        _ => "another",
    }
}

fn config_maps(names: &[&str]) -> Compiled {
    // A file without objects says so: an empty one would be an error.
    let text: String = std::iter::once("# objects\n".to_owned())
        .chain(names.iter()
        .map(|name| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n")))
        .collect();
    compile(&tree(&text), &[])
}

fn tree(text: &str) -> Tree {
    Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..Tree::default()
    }
}

fn away() -> Failure {
    Failure::Git(git::Error::Unreachable {
        url: "file:///away".to_owned(),
        cause: "it is away".to_owned(),
    })
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

/// A daemon that has just started: a sound revision is accepted, and the cluster has not answered.
fn started(head: &str) -> Case {
    let mut case = Case::new();
    case.daemon.heads.set(head, head);
    let judged = Judged::new(config_maps(&["b"]), &case.daemon.set);
    case.daemon.examined(Examined {
        outcome: Ok(judged),
        ..Examined::failed(head.to_owned(), away())
    });
    case
}
