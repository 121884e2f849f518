//! The loop: it follows a repository, examines every commit, applies the valid ones and reports on all.
//!
//! In: what to follow, an [`Engine`] and a token to stop. Out: the cluster in sync with the repository,
//! checks on the commits, and a [`View`] of the progress.
//!
//! ```text
//!  Poll ─► Fetched ─► Examined ─► (pending check published) ─► Prepared ─► Progress … ─► success
//!              └────► Planned ─► plan check
//! ```
//!
//! Everything that can wake the loop is an `Event`; whatever takes time is a job that ends in one.
//! It does not know: which engine it drives, how a check is written.

mod admission;
mod asking;
mod attributing;
mod azure_tokens;
mod clock;
mod controllers;
mod directory;
mod endpoint;
mod failure;
mod forge;
mod forge_credential;
mod fork;
mod git_notes;
mod hinted;
mod in_progress;
mod job;
mod keyed_sink;
mod keys;
mod late_record;
mod newest;
mod newest_record;
mod planning;
mod press_answer;
mod press_record;
mod pressed;
mod publish;
mod revision;
mod running;
mod secured;
mod sinks;
mod source_access;
mod status_file;
mod steering;
mod sync;
#[cfg(test)]
mod tests;
mod view;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::git;
use crate::adapters::http::{Hints, Metrics};
use crate::adapters::kubernetes::{self, Target};
use crate::apply::{AppliedRevision, ApprovalsRequest, Newest, Report, Steering};
use crate::follow::{Candidate, Candidates, Heads, OpenRef, Polling, Reruns};
use crate::graph::Graph;
use crate::model::{AdapterError, CheckSink, Hint, Later, Press};
use crate::plan::ApplySet;
use crate::plan::approvals::Approvals;
use crate::reporting::{CheckDesk, Now};
use crate::settings::SyncConfig;

pub use admission::{AdmissionError, AdmissionServer};
use asking::Asking;
pub use clock::{WallClock, wall_time};
pub use controllers::{controllers, report_fault};
pub use endpoint::Endpoint;
use failure::Failure;
pub use forge::forge_sink;
pub use fork::{COMMAND as FORK_COMMAND, answer as answer_fork_request};
use job::{Examined, Left, Origin, Planned, RemoteRefs, Source};
use newest_record::NewestRecord;
use revision::{Runner, Sync};
pub use sinks::status_file;
pub use source_access::source_access;
pub use view::View;

/// What a fleet expects of its cluster is made by this before the fleet is applied; on a real
/// cluster it does nothing.
pub type Prepare = Arc<dyn Fn(Arc<Graph>) -> BoxFuture<'static, ()> + Send + std::marker::Sync>;

/// The cluster that is driven.
#[derive(Clone)]
pub struct Engine {
    /// The cluster and its time.
    pub target: Target,
    /// See [`Prepare`].
    pub prepare: Prepare,
}

/// Everything that can wake the loop.
enum Event {
    /// It is time to look for new commits.
    Poll,
    /// The repository answered, or did not.
    Fetched(Box<Result<RemoteRefs, Failure>>),
    /// A commit of the followed ref was read and compiled.
    Examined(Box<Examined>),
    /// A commit that could not be read may be tried again.
    Reexamine(String),
    /// It is known of the refs that were there at the start how old they are, and what was planned; and which commits an
    /// earlier process left waiting for a plan.
    Opened(Vec<OpenRef>, Option<Vec<String>>),
    /// It is known of these candidates who pushed them.
    Sorted(Vec<Candidate>),
    /// A candidate was merged onto the followed ref and compiled.
    Planned(Box<Planned>),
    /// The plan of this candidate takes too long.
    Overdue(Box<Candidate>),
    /// This candidate, which could not be planned, may be tried again.
    Replan(Box<Candidate>),
    /// The cluster has what the sync with this number expects of it.
    Prepared(u64),
    /// Something happened to the sync with this number.
    Report(u64, Report),
    /// The runner ended, which it never should.
    Ended,
    /// The sync with this number may be prepared again.
    Restart(u64),
    /// It is known whether checks can be written.
    Probed(Result<(), AdapterError>),
    /// Checks were written, or could not be.
    Published(Result<Vec<Later>, AdapterError>),
    /// Checks that could not be written may be tried again.
    Retry,
    /// What an earlier process left pending was asked once more.
    Left(Option<Left>),
    /// A requested time has come.
    Tick,
    /// Somebody asks something of the fleet.
    Steered(Steering),
    /// A webhook announced something.
    Hinted(Hint),
    /// The forge was asked how commits came in whose messages approve something.
    Attributed,
    /// It is known who pressed the button of a check.
    Pressed(Box<(Press, press_answer::Answer)>),
    /// What an earlier process applied of the fleet that the sync with this number is of.
    Recalled(u64, AppliedRevision),
    /// What became of the newest commit was recorded, or could not be.
    Recorded(Box<(Option<Newest>, Result<(), kubernetes::Error>)>),
    /// What could not be recorded may be tried again.
    RecordAgain,
    /// The HCP clusters of these clusters, `namespace/name`, may be deleted and made again; how long to wait if that cannot
    /// be passed on.
    Recreated(BTreeSet<String>, Duration),
    /// It is asked what people approved of an assignment.
    ApprovalsAsked(ApprovalsRequest),
    /// It is known what people approved of an assignment.
    Approved(Box<(ApprovalsRequest, Approvals)>),
}

/// Follows the repository until `stop`.
///
/// # Errors
/// When the settings cannot work: the address is of an unknown kind, the mirror's directory cannot
/// be used. A repository that cannot be reached is no such error: it is tried again.
pub async fn run(
    config: SyncConfig,
    engine: Engine,
    view: watch::Sender<View>,
    stop: CancellationToken,
) -> Result<(), git::Error> {
    run_with(
        config,
        &git::Access::default(),
        None,
        None,
        engine,
        view,
        stop,
    )
    .await
}

/// The same for a repository that is reached by `access`, with a port. Checks go to `forge`, if there is one, else into
/// git notes.
///
/// # Errors
/// As there.
pub async fn run_with(
    config: SyncConfig,
    access: &git::Access,
    endpoint: Option<Endpoint>,
    forge: Option<Arc<dyn CheckSink>>,
    engine: Engine,
    view: watch::Sender<View>,
    stop: CancellationToken,
) -> Result<(), git::Error> {
    let origin = Origin::open(&config, access)?;
    let (mut daemon, mut events) = Daemon::new(config, engine, origin, view);
    if let Some(forge) = forge {
        daemon.report_to(forge);
    }
    if endpoint.as_ref().is_some_and(Endpoint::hears_presses) && daemon.is_on_github() {
        daemon.source.offer_buttons();
    }
    daemon.jobs.spawn(async { Event::Poll });
    let _steering = daemon.follow_steering();
    let _hints = daemon.follow_hints();
    let _changes = daemon.follow_directory();
    let _serving = endpoint.map(|endpoint| {
        let (hints, metrics) = (Arc::clone(&daemon.hints), Arc::clone(&daemon.metrics));
        endpoint.serve(daemon.announced(), hints, metrics)
    });
    loop {
        let event = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(event) = events.recv() => event,
            Some(done) = daemon.jobs.join_next() => match done {
                Ok(event) => event,
                Err(error) => {
                    tracing::error!(%error, "a job panicked; the daemon continues");
                    continue;
                }
            },
        };
        daemon.handle(event);
    }
    daemon.close().await;
    Ok(())
}

struct Daemon {
    source: Arc<Source>,
    config: SyncConfig,
    engine: Engine,
    set: ApplySet,
    jobs: JoinSet<Event>,
    events: UnboundedSender<Event>,
    /// Where the followed ref leads, and what was examined of it.
    heads: Heads,
    polling: Polling,
    /// What webhooks announced.
    hints: Arc<Hints>,
    reruns: Reruns,
    metrics: Arc<Metrics>,
    candidates: Candidates,
    /// It is being found out who pushed some of them.
    sorting: bool,
    /// Ends the wait for each plan of a branch.
    patience: BTreeMap<u64, AbortOnDropHandle<()>>,
    newest: NewestRecord,
    /// What is asked of the fleet, once that is known.
    steering: Option<Steering>,
    /// Ends the wait before the next look at the repository.
    look_now: Arc<Notify>,
    /// What is being applied, or about to be.
    sync: Option<Sync>,
    /// What applies it.
    runner: Option<Runner>,
    /// What an earlier daemon applied, if the settings suspend the fleet.
    left_applied: Option<AppliedRevision>,
    /// Counts syncs, so that late events of an old one can be recognised.
    syncs: u64,
    /// All that is known of checks.
    checks: CheckDesk,
    /// When this process began.
    started: Instant,
    /// Where checks go.
    sink: Arc<dyn CheckSink>,
    /// It was asked whether checks can be written.
    probed: bool,
    /// What an earlier process left pending could not be asked yet.
    left_unknown: bool,
    /// How far asking the forge is how commits came in.
    asking: Asking,
    view: watch::Sender<View>,
}

impl Daemon {
    fn new(
        config: SyncConfig,
        engine: Engine,
        origin: Origin,
        view: watch::Sender<View>,
    ) -> (Self, UnboundedReceiver<Event>) {
        let (events, received) = unbounded_channel();
        let sink = sinks::sink(&origin, &config);
        let daemon = Self {
            source: Arc::new(Source::new(origin, &config)),
            set: ApplySet::new(config.fleet.as_str(), config.namespace.as_str()),
            candidates: Candidates::new(&config.candidates),
            sorting: false,
            patience: BTreeMap::new(),
            newest: NewestRecord::default(),
            polling: match config.directory {
                Some(_) => Polling::of_directory(config.interval),
                None => Polling::new(config.interval),
            },
            hints: Arc::default(),
            reruns: Reruns::default(),
            metrics: Arc::default(),
            config,
            engine,
            jobs: JoinSet::new(),
            events,
            heads: Heads::default(),
            left_applied: None,
            steering: None,
            look_now: Arc::new(Notify::new()),
            sync: None,
            runner: None,
            syncs: 0,
            checks: CheckDesk::default(),
            started: Instant::now(),
            sink,
            probed: false,
            left_unknown: false,
            asking: Asking::default(),
            view,
        };
        (daemon, received)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Poll => self.fetch(),
            Event::Fetched(answer) => self.fetched(*answer),
            Event::Examined(examined) => self.examined(*examined),
            Event::Reexamine(revision) => self.reexamine(&revision),
            Event::Opened(refs, left) => self.opened(refs, left),
            Event::Sorted(sorted) => self.sorted(&sorted),
            Event::Planned(planned) => self.planned(*planned),
            Event::Overdue(candidate) => self.overdue(*candidate),
            Event::Replan(candidate) => self.replan(&candidate),
            Event::Prepared(sync) => self.prepared(sync),
            Event::Report(sync, report) => self.reported(sync, report),
            Event::Ended => self.ended(),
            Event::Restart(sync) => self.restart(sync),
            Event::Probed(answer) => self.probed(&answer),
            Event::Published(answer) => self.published(&answer),
            Event::Retry => {}
            Event::Left(left) => self.left(left),
            Event::Tick => self.report_progress(),
            Event::Steered(steering) => self.steered(steering),
            Event::Hinted(hint) => self.hinted(&hint),
            Event::Attributed => self.attributed(),
            Event::Pressed(pressed) => self.answered(&pressed.0, pressed.1),
            Event::Recalled(sync, applied) => self.recalled(sync, applied),
            Event::Recorded(recorded) => self.newest_recorded(recorded.0, recorded.1),
            Event::RecordAgain => self.record_again(),
            Event::Recreated(clusters, pause) => self.recreated(clusters, pause),
            Event::ApprovalsAsked(request) => self.approvals_asked(request),
            Event::Approved(approved) => self.approved(approved.0, approved.1),
        }
        self.attribute();
        self.end_abandoned();
        self.publish();
        self.advance();
        self.record_newest();
    }

    /// Runs `work` on a thread of its own. Should it panic, `failed` says what that comes to: nobody
    /// waits for ever.
    fn blocking(
        &mut self,
        work: impl FnOnce(&Source) -> Event + Send + 'static,
        failed: impl FnOnce(Failure) -> Event + Send + 'static,
    ) {
        let source = Arc::clone(&self.source);
        self.jobs.spawn_blocking(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&source)));
            done.unwrap_or_else(|panic| failed(Failure::caught(&*panic)))
        });
    }

    fn now(&self) -> Now {
        Now {
            cluster: self.engine.target.clock.now(),
            wall: self.started.elapsed(),
        }
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.jobs.spawn(async move {
            tokio::time::sleep(wait).await;
            event
        });
    }

    /// Follows what people ask of the fleet, until this is dropped.
    fn follow_steering(&self) -> AbortOnDropHandle<()> {
        let mut asked = kubernetes::steering(&self.engine.target.client, &self.set);
        let events = self.events.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            while let Some(steering) = asked.next().await {
                let _ = events.send(Event::Steered(steering));
            }
        }))
    }

    fn fetch(&mut self) {
        let fetched = |answer| Event::Fetched(Box::new(answer));
        self.blocking(
            move |source| fetched(source.fetch().map_err(Failure::Git)),
            move |failure| fetched(Err(failure)),
        );
    }

    fn fetched(&mut self, answer: Result<RemoteRefs, Failure>) {
        self.metrics.fetched(answer.is_ok());
        // What is still on its way is not announced again.
        let is_partial = answer.as_ref().is_ok_and(|remote| remote.refs.is_none());
        match answer {
            Ok(remote) => self.refs_moved(&remote),
            Err(error) => self.unreachable(&error),
        }
        let wait = match is_partial {
            true => self.config.interval,
            false => self.next_look(),
        };
        let look_now = Arc::clone(&self.look_now);
        self.jobs.spawn(async move {
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {}
                () = look_now.notified() => {}
            }
            Event::Poll
        });
    }

    /// The repository, or what is followed in it, cannot be reached. The view shows it.
    fn unreachable(&mut self, error: &dyn Display) {
        self.polling.failed();
        let error = match self.applied() {
            Some(revision) => format!("{error}. The last good revision {revision} stays applied"),
            None => error.to_string(),
        };
        self.view.send_if_modified(|view| {
            let is_change = view.source_error.as_ref() != Some(&error);
            view.source_error = Some(error);
            is_change
        });
    }

    fn reachable(&mut self) {
        if self.polling.worked() {
            tracing::info!(
                url = git::shown(&self.config.url),
                "the source is reachable again"
            );
        }
        self.probe();
        self.view
            .send_if_modified(|view| view.source_error.take().is_some());
    }

    /// Looks at what the refs lead to now.
    fn refs_moved(&mut self, remote: &RemoteRefs) {
        self.reachable();
        let is_move = self.heads.look(&remote.head);
        if self.polling.looked(is_move) {
            let every = self.polling.wait();
            tracing::warn!(
                ?every,
                "no webhook announced this push: the repository is polled more often again"
            );
        }
        if remote.signed_anew {
            self.heads.renew();
        }
        self.examine_next();
        let Some(refs) = &remote.refs else { return };
        let is_first = self.candidates.is_new();
        let there = self.candidates.update(refs, &remote.head);
        if !there.is_empty() || is_first && self.sink.shows_queued() {
            self.open_refs(there, remote.head.clone());
        }
        self.sort_candidates();
        self.show_waiting();
        self.forget();
        self.plan_next();
    }

    /// Finds out which of the refs that are there at the start need a plan, and which commits an earlier process left
    /// waiting for one.
    fn open_refs(&mut self, there: Vec<Candidate>, base: String) {
        let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.sink));
        self.jobs.spawn(async move {
            let left = job::left_waiting(&source.fleet, &*sink).await;
            let open = job::open_refs(source, &*sink, there, base).await;
            Event::Opened(open, left)
        });
    }

    /// Examines the newest commit, unless it was examined, or another is being.
    fn examine_next(&mut self) {
        let Some(revision) = self.heads.begin() else {
            return;
        };
        let first = self.sync.is_none();
        let before = self.before();
        let (source, sink) = (Arc::clone(&self.source), Arc::clone(&self.sink));
        self.jobs.spawn(async move {
            let examined = job::examine(source, &*sink, revision, before, first).await;
            Event::Examined(Box::new(examined))
        });
    }

    /// Examines a commit again that could not be read, if it is still the newest.
    fn reexamine(&mut self, revision: &str) {
        if self.heads.again(revision) {
            self.examine_next();
        }
    }

    /// Stops what is under way and writes the checks that are due, for a few seconds at most.
    async fn close(&mut self) {
        (self.sync, self.runner) = (None, None);
        self.source.in_progress().close();
        let flush = async {
            while self.checks.is_busy() {
                let Some(done) = self.jobs.join_next().await else {
                    break;
                };
                if let Ok(Event::Published(answer)) = done {
                    self.published(&answer);
                    self.publish();
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), flush).await;
        self.jobs.abort_all();
    }
}
