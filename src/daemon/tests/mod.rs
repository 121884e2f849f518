//! What the daemon waits for, and how long, on a paused clock. The simulated time of its cluster
//! passes 20 times faster than the time outside.

#![allow(clippy::unwrap_used, clippy::panic)]

mod annotation;
mod approving;
mod away;
mod checks;
mod commented;
mod directory;
mod forge;
mod hinted;
mod keeping;
mod kept;
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
use super::jobs::failure::Failure;
use super::*;
use crate::adapters::git::{Author, Files, Mirror, RetainedRef};
use crate::apply::{Progress, PruneStatus, Report, State, Steering, Suspension};
use crate::compile::{Compiled, compile};
use crate::follow::{Compilation, ExamineResult, FetchResult, Parts, PeopleEvent, RemoteRefs};
use crate::model::{AdapterError, Check, CheckState, Clock, ForgeKind, Hint, ObjectId, Tree};
use crate::plan::{ApplySet, Kept};
use crate::settings::{Environment, ForgeConfig};
use std::collections::BTreeMap;

type Refs = BTreeMap<String, String>;

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

/// What a case differs in from a fleet in a repository without a forge.
#[derive(Default)]
struct Setting {
    forge: Option<ForgePorts>,
    /// Its checks have buttons.
    has_buttons: bool,
    candidates: &'static [&'static str],
    /// Changes the settings.
    config: Option<fn(&mut SyncConfig)>,
}

impl Setting {
    /// Its repository is not looked at again while something else happens.
    fn slow(self) -> Self {
        Self {
            config: Some(|config| config.interval = Duration::from_secs(60)),
            ..self
        }
    }
}

impl Case {
    fn new() -> Self {
        Self::with(Setting::default())
    }

    fn on_forge(forge: ForgePorts) -> Self {
        Self::with(Setting {
            forge: Some(forge),
            ..Setting::default()
        })
    }

    fn with(setting: Setting) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let recording = Recording::of_test(dir.path());
        let author = Author::init(&dir.path().join("config.git")).unwrap();
        let files: Files = [("a.yaml".to_owned(), String::new())].into();
        let commit = author.push("main", None, &files, "it", Timestamp::UNIX_EPOCH);
        let url = author.dir().display().to_string();
        let candidates = setting.candidates.iter();
        let mut config = SyncConfig {
            mirror: dir.path().join("mirror"),
            forge: setting.has_buttons.then(github),
            ..SyncConfig::source(&url, None, &Environment::default())
        };
        if !setting.candidates.is_empty() {
            config.candidates = candidates.map(|glob| (*glob).to_owned()).collect();
        }
        setting
            .config
            .into_iter()
            .for_each(|change| change(&mut config));
        let mirror = Mirror::open(&config.mirror, &url, &[]).unwrap();
        mirror.fetch().unwrap();
        let origin = Origin::Repository(Arc::new(mirror));
        // A cluster that never answers.
        let client = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let target = Target::new(
            Client::new(client, "default"),
            Arc::new(Fast(Instant::now())),
        );
        let view = watch::channel(View::default()).0;
        let (forge, has_buttons) = (setting.forge, setting.has_buttons);
        let ports = sinks::ports(&origin, &config, forge);
        let common = Common {
            metrics: Arc::new(Metrics::new(ports.remaining.clone())),
            written: Arc::default(),
            hints: Arc::default(),
            relayed: watch::Sender::new(None),
            hears_presses: has_buttons,
            config: Arc::new(config),
            origin,
            ports,
        };
        let mut daemon = Daemon::new(&common, target, view);
        let events = std::mem::replace(&mut daemon.received, unbounded_channel().1);
        // Few of the tests are about it.
        daemon.follower.parts().forge.begin_probe();
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
        Self::applying_with(compiled, Setting::default()).await
    }

    async fn applying_with(compiled: Compiled, setting: Setting) -> Self {
        let mut case = Self::with(setting);
        let commit = case.commit.clone();
        case.parts().heads.set(&commit, &commit);
        case.examined(case.examination(&commit, compiled));
        case.conclude();
        assert_eq!(case.handle_next().await, (0, "Published"));
        case.reported(1, Report::Settled);
        assert_eq!(case.handle_next().await, (100, "Tick"));
        case
    }

    fn parts(&mut self) -> Parts<'_> {
        self.daemon.follower.parts()
    }

    /// Passes an event to the follower, without the writes and assignments that follow.
    fn only(&mut self, event: Event) {
        let now = self.daemon.now();
        for command in self.daemon.follower.only(event, now) {
            self.daemon.carry_out(command);
        }
    }

    /// What is due is written and assigned.
    fn conclude(&mut self) {
        self.daemon.handle(Event::Time(TimeEvent::RetryChecks));
    }

    /// The commit was read, and is this.
    fn examination(&self, revision: &str, compiled: Compiled) -> ExamineResult {
        let set = &self.daemon.source.set;
        ExamineResult {
            outcome: Ok(Compilation::new(
                revision,
                compiled.digest(|object| Kept::of(object, set)),
            )),
            ..ExamineResult::failed(revision.to_owned(), away().into())
        }
    }

    fn examined(&mut self, examined: ExamineResult) {
        self.only(Event::Git(GitEvent::Examined(Box::new(examined))));
    }

    fn reported(&mut self, number: u64, report: Report) {
        self.only(Event::Cluster(ClusterEvent::Reported(number, report)));
    }

    fn steered(&mut self, steering: Steering) {
        self.only(Event::People(PeopleEvent::Steered(steering)));
    }

    /// A webhook arrives while the repository is looked at.
    fn hinted(&mut self, hint: Hint) {
        self.parts().polling.want();
        let hint = watching::of_own_app(hint, self.daemon.ports.buttons.as_deref());
        self.only(Event::People(PeopleEvent::WebhookReceived(hint)));
    }

    fn report_progress(&mut self) {
        self.only(Event::Time(TimeEvent::Progress));
    }

    fn plan_next(&mut self) {
        // A candidate that nobody knows changes nothing.
        self.only(Event::Git(GitEvent::Sorted(Vec::new())));
    }

    /// A look at the repository found this, or failed.
    fn fetched(&mut self, refs: Result<RemoteRefs, AdapterError>) {
        let next_within = None;
        // It was begun when the wait before was over.
        self.parts().polling.want();
        let fetched = Box::new(FetchResult { refs, next_within });
        self.only(Event::Git(GitEvent::Fetched(fetched)));
    }

    /// The number of the last assignment.
    fn number(&mut self) -> u64 {
        self.parts().releases.number()
    }

    fn applied(&mut self) -> Option<String> {
        self.parts().releases.applied_revision()
    }

    fn set_check(&mut self, check: Check) {
        self.parts().turn.set_check(check);
        let commands = self.parts().turn.take_commands();
        for command in commands {
            self.daemon.carry_out(command);
        }
    }

    /// Handles the next job that ends. The times that something waits for at most are passed over.
    async fn handle_next(&mut self) -> Ended {
        let start = Instant::now();
        loop {
            let event = self.daemon.jobs.join_next().await.unwrap().unwrap();
            let ended = (start.elapsed().as_millis(), name(&event));
            self.daemon.handle(event);
            if !LIMITS.contains(&ended.1) {
                return ended;
            }
        }
    }

    /// The jobs that end within an hour, in which nothing else happens, but for times that something waits for at most.
    async fn jobs(&mut self) -> Vec<Ended> {
        let (start, mut ended) = (Instant::now(), Vec::new());
        let hour = start + Duration::from_secs(3600);
        while let Ok(Some(event)) =
            tokio::time::timeout_at(hour, self.daemon.jobs.join_next()).await
        {
            ended.push((start.elapsed().as_millis(), name(&event.unwrap())));
        }
        ended.retain(|(_, name)| !LIMITS.contains(name));
        ended
    }

    fn progress(&mut self, name: &str, state: State) {
        let progress = Progress {
            at: self.daemon.target.clock.now(),
            object: ObjectId::new("", "ConfigMap", "default", name),
            state,
            terminal: false,
            message: String::new(),
        };
        self.reported(1, Report::Object(progress));
    }

    /// The state of the commit's check.
    fn state(&self) -> CheckState {
        let view = self.daemon.view.borrow();
        let check = view.checks.values().next().unwrap();
        check.state
    }

    fn check(&self, state: CheckState, title: &str) -> Check {
        Check::new("capstan/config/sync", &self.commit, state, title)
    }
}

/// The times that something waits for at most.
const LIMITS: [&str; 2] = ["Announced", "Overdue"];

fn name(event: &Event) -> &'static str {
    match event {
        Event::Git(GitEvent::AppliedRead(..)) => "Recalled",
        Event::Cluster(ClusterEvent::NewestRecorded(_)) => "Recorded",
        Event::Cluster(ClusterEvent::AnnotationTaken(..)) => "Taken",
        Event::Checks(ChecksEvent::Probed(_)) => "Probed",
        Event::Checks(ChecksEvent::Published(_)) => "Published",
        Event::Time(TimeEvent::Look(_)) => "Poll",
        Event::Time(TimeEvent::Progress) => "Tick",
        Event::Time(TimeEvent::Announced) => "Announced",
        Event::Time(TimeEvent::RetryChecks) => "Retry",
        Event::Time(TimeEvent::Reexamine(_)) => "Again",
        Event::Time(TimeEvent::Reassign(_)) => "Restart",
        Event::Time(TimeEvent::RecordNewest) => "RecordAgain",
        Event::Time(TimeEvent::TakeAnnotation) => "TakeAgain",
        Event::Time(TimeEvent::Replan(_)) => "Replan",
        Event::Time(TimeEvent::Overdue(_)) => "Overdue",
        _ => "another",
    }
}

/// The settings of a fleet whose checks go to GitHub.
fn github() -> ForgeConfig {
    ForgeConfig {
        provider: ForgeKind::GitHub,
        repository: None,
        address: None,
        credential: None,
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
    case.parts().heads.set(head, head);
    case.examined(case.examination(head, config_maps(&["b"])));
    case
}
