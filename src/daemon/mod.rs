//! The loop: it tells the follower of a repository what happens, and carries out what that wants.
//!
//! In: what to follow, a cluster and a token to stop. Out: the cluster in sync with the repository,
//! checks on the commits, and a [`View`] of the progress.
//!
//! ```text
//!  jobs, watches, webhooks ─► Event ─► Follower ─► Command ─► jobs
//! ```
//!
//! It does not know: which cluster it drives, how a check is written, what is decided.

mod connect;
mod fleets;
mod jobs;
mod keeping;
mod provider;
mod relay;
mod spans;
#[cfg(test)]
mod tests;
mod turns;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::adapters::git;
use crate::adapters::http::{Hints, Metrics, SecretSource};
use crate::adapters::kubernetes::{Holder, Options, Target, annotate_parent};
use crate::api::labels::WEBHOOK_RECEIVED;
use crate::follow::{
    ChecksEvent, ClusterEvent, Command, Event, Follower, GitEvent, Settings, TimeEvent,
};
use crate::plan::ApplySet;
use crate::reporting::Now;
use crate::settings::SyncConfig;

pub use crate::follow::View;
pub use connect::admission::{AdmissionError, AdmissionServer};
pub use connect::clock::{WallClock, wall_time};
pub use connect::controllers::{controllers, private_links, report_fault};
pub use connect::controllers_port::serve_controllers;
pub use connect::endpoint::Endpoint;
pub use connect::forge::{forge_ports, own_pull_requests};
pub use connect::ports::ForgePorts;
pub use connect::probed_port::ProbedPort;
use connect::sinks;
pub use connect::sinks::status_file;
pub use connect::source_access::source_access;
pub use fleets::{DEFAULT_SHARD, FleetsSettings, run_fleets};
pub(crate) use jobs::approvals_in_checkout;
pub use jobs::fork::{COMMAND as FORK_COMMAND, answer as answer_fork_request};
use jobs::runner::Runner;
use jobs::{Origin, Source, WrittenChecks, report_absence};
pub use provider::ProviderEndpoint;
use relay::Relay;
pub use spans::{FLEET_SPAN, fleet_span};
pub use turns::Writer;
use turns::in_turns;

/// Follows the repository until `stop`.
///
/// # Errors
/// When the settings cannot work: the address is of an unknown kind, the mirror's directory cannot
/// be used. A repository that cannot be reached is no such error: it is tried again.
pub async fn run(
    config: SyncConfig,
    target: Target,
    view: watch::Sender<View>,
    stop: CancellationToken,
) -> Result<(), git::Error> {
    let setup = Setup {
        config,
        access: git::Access::default(),
        endpoint: None,
        hints: None,
        forge: None,
        holder: None,
        provider: None,
    };
    run_with(setup, target, view, stop).await
}

/// The parts that a daemon works with.
pub struct Setup {
    /// The source to follow, and its settings.
    pub config: SyncConfig,
    /// The way to its repository.
    pub access: git::Access,
    /// The port, which answers also while another process writes.
    pub endpoint: Option<Endpoint>,
    /// The hints of webhooks that arrive at another port; `None` if there are none.
    pub hints: Option<Arc<Hints>>,
    /// The forge that checks go to; `None` for git notes.
    pub forge: Option<ForgePorts>,
    /// The process that may write the fleet; `None` if there is no other than this.
    pub holder: Option<watch::Receiver<Holder>>,
    /// The service provider's port; `None` if there is none.
    pub provider: Option<ProviderEndpoint>,
}

/// Follows what `setup` names until `stop`, whenever this process may write.
///
/// # Errors
/// As those of [`run`].
pub async fn run_with(
    setup: Setup,
    target: Target,
    view: watch::Sender<View>,
    stop: CancellationToken,
) -> Result<(), git::Error> {
    let span = fleet_span(&setup.config.namespace, &setup.config.fleet);
    follow(setup, target, view, stop).instrument(span).await
}

async fn follow(
    setup: Setup,
    target: Target,
    view: watch::Sender<View>,
    stop: CancellationToken,
) -> Result<(), git::Error> {
    let config = Arc::new(setup.config);
    let origin = Origin::open(&config, &setup.access)?;
    let ports = sinks::ports(&origin, &config, setup.forge);
    let endpoint = setup.endpoint;
    let secrets = endpoint.as_ref().and_then(Endpoint::secrets).cloned();
    let common = Common {
        hears_presses: secrets.is_some() || setup.hints.is_some(),
        hints: setup.hints.unwrap_or_default(),
        relayed: watch::Sender::new(None),
        metrics: Arc::new(Metrics::new(ports.remaining.clone())),
        written: Arc::default(),
        config,
        origin,
        ports,
    };
    let _serving = endpoint.map(|endpoint| {
        let (hints, metrics) = (Arc::clone(&common.hints), Arc::clone(&common.metrics));
        endpoint.serve(common.announced(), hints, metrics)
    });
    let parts = provider::Parts {
        config: &common.config,
        origin: &common.origin,
        target: &target,
        holder: setup.holder.clone(),
    };
    let providing = setup.provider.map(|endpoint| endpoint.serve(&parts));
    let providing = providing.transpose()?;
    let standing_by = setup.holder.clone().filter(|_| providing.is_some());
    let _standing_by = standing_by.map(|holder| common.stand_by(holder));
    let relaying = secrets.zip(setup.holder.clone());
    let _relaying = relaying.map(|(secrets, holder)| common.relay(secrets, holder, &target));
    let daemon = || async {
        if common.config.follows_nothing {
            // Ready for those who probe it.
            common.metrics.stands_by();
            stop.cancelled().await;
            return Ok(());
        }
        let daemon = Daemon::new(&common, target.clone(), view.clone());
        daemon.run(&common, &stop).await;
        Ok(())
    };
    let source = (&*common.config, &common.origin);
    let checks = (&*common.ports.checks, &*common.written);
    let away = move |since, why: String| async move {
        if !source.0.follows_nothing {
            report_absence(source, checks, since, &why).await;
        }
    };
    let ended = in_turns(setup.holder, &stop, daemon, away).await;
    if let Some(providing) = providing {
        providing.close().await;
    }
    ended
}

/// The parts that outlast a loss of the right to write.
struct Common {
    config: Arc<SyncConfig>,
    origin: Origin,
    /// Where checks go.
    ports: ForgePorts,
    /// Webhooks tell of the buttons that people press.
    hears_presses: bool,
    hints: Arc<Hints>,
    /// The signed hint of a webhook that another process left.
    relayed: watch::Sender<Option<String>>,
    metrics: Arc<Metrics>,
    written: Arc<WrittenChecks>,
}

impl Common {
    /// Counts as ready once another process is known to write, until the answer is dropped: the service provider answers reads meanwhile, and a
    /// rollout of it waits for that.
    fn stand_by(&self, mut holder: watch::Receiver<Holder>) -> AbortOnDropHandle<()> {
        let metrics = Arc::clone(&self.metrics);
        let wait = async move {
            let another = |holder: &Holder| matches!(holder, Holder::Other(_));
            if holder.wait_for(another).await.is_ok() {
                metrics.stands_by();
            }
        };
        AbortOnDropHandle::new(tokio::spawn(wait.in_current_span()))
    }

    /// Passes webhooks on by the parent of the fleet while another process follows it, until the answer is dropped.
    fn relay(
        &self,
        secrets: SecretSource,
        holder: watch::Receiver<Holder>,
        target: &Target,
    ) -> AbortOnDropHandle<()> {
        let Self { config, hints, .. } = self;
        let set = ApplySet::new(&*config.fleet, &*config.namespace);
        let relay = Relay {
            fleet: format!("{}/{}", config.namespace, config.fleet),
            hints: Arc::clone(hints),
            secrets,
        };
        let client = target.client.clone();
        let write = move |text: String| {
            let (client, set) = (client.clone(), set.clone());
            async move { annotate_parent(&client, &set, WEBHOOK_RECEIVED, Some(&text)).await }
        };
        let relaying = relay.run(holder, self.relayed.subscribe(), write);
        AbortOnDropHandle::new(tokio::spawn(relaying.in_current_span()))
    }

    /// The address that deliveries of webhooks name. Of a directory it is not known: all are for it.
    fn announced(&self) -> &str {
        match self.origin.directory() {
            Some(_) => "",
            None => &self.config.url,
        }
    }
}

struct Daemon {
    follower: Follower,
    source: Arc<Source>,
    /// Where checks go.
    ports: ForgePorts,
    /// The cluster that is driven, and its time.
    target: Target,
    /// When this process began.
    started: Instant,
    jobs: JoinSet<Event>,
    /// Takes the events of watches and of the runner.
    events: UnboundedSender<Event>,
    received: UnboundedReceiver<Event>,
    /// What applies, once something was to be applied.
    runner: Option<Runner>,
    metrics: Arc<Metrics>,
    written: Arc<WrittenChecks>,
    view: watch::Sender<View>,
}

impl Daemon {
    fn new(common: &Common, target: Target, view: watch::Sender<View>) -> Self {
        let (events, received) = unbounded_channel();
        let Common { origin, config, .. } = common;
        let ports = common.ports.clone();
        let hears_presses = common.hears_presses;
        let source = Source::new(origin.clone(), Arc::clone(config), &ports, hears_presses);
        let started = Instant::now();
        let now = Now {
            cluster: target.clock.now(),
            wall: Duration::ZERO,
            calendar: wall_time(),
        };
        Self {
            metrics: Arc::clone(&common.metrics),
            written: Arc::clone(&common.written),
            follower: Follower::new(Settings::clone(&source.settings), now),
            source: Arc::new(source),
            ports,
            target,
            started,
            jobs: JoinSet::new(),
            events,
            received,
            runner: None,
            view,
        }
    }

    async fn run(mut self, common: &Common, stop: &CancellationToken) {
        let _watches = self.watch(&common.hints, &common.relayed);
        self.handle(Event::Time(TimeEvent::Look(Duration::ZERO)));
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(event) = self.received.recv() => event,
                Some(done) = self.jobs.join_next() => match done {
                    Ok(event) => event,
                    Err(error) => {
                        tracing::error!(%error, "a job panicked; the daemon continues");
                        continue;
                    }
                },
            };
            self.handle(event);
        }
        self.close().await;
    }

    fn handle(&mut self, event: Event) {
        match &event {
            Event::Git(GitEvent::Fetched(fetched)) => self.metrics.fetched(fetched.refs.is_ok()),
            Event::Cluster(ClusterEvent::RunnerEnded) => self.runner = None,
            _ => {}
        }
        // Whichever job asked the forge; before the end of a job, which may lack what it has asked.
        let attributed = self.source.approvals.attribution.take_new();
        if !attributed.is_empty() {
            self.tell(Event::Checks(ChecksEvent::Attributed(attributed)));
        }
        self.tell(event);
    }

    fn tell(&mut self, event: Event) {
        let now = self.now();
        for command in self.follower.on(event, now) {
            self.carry_out(command);
        }
    }

    fn now(&self) -> Now {
        Now {
            cluster: self.target.clock.now(),
            wall: self.started.elapsed(),
            calendar: wall_time(),
        }
    }

    /// Watches the cluster, webhooks and a directory until the answer is dropped.
    fn watch(
        &self,
        hints: &Arc<Hints>,
        relayed: &watch::Sender<Option<String>>,
    ) -> Vec<AbortOnDropHandle<()>> {
        let events = || self.events.clone();
        let (client, set) = (&self.target.client, &self.source.set);
        let (hints, buttons) = (Arc::clone(hints), self.ports.buttons.clone());
        let view = || self.view.subscribe();
        let mut watches = vec![watching::follow_hints(hints, buttons, view(), events())];
        if !self.source.config.is_check_only() {
            let relayed = relayed.clone();
            watches.push(watching::follow_steering(client, set, relayed, events()));
            watches.push(keeping::keep_approvals(client, &self.source));
            watches.push(watching::record_source_errors(client, set, view()));
        }
        let directory = self.source.revisions.origin.directory().cloned();
        watches.extend(directory.map(|it| watching::follow_directory(it, events())));
        watches
    }

    fn start_runner(&self) -> Runner {
        let options = Options {
            concurrency: self.source.config.concurrency,
            set: self.source.set.clone(),
        };
        Runner::start(self.target.clone(), options, self.events.clone())
    }

    /// Stops what is under way and writes the checks that are due, for a few seconds at most.
    async fn close(&mut self) {
        self.runner = None;
        self.source.planner.close();
        let flush = async {
            while self.follower.is_publishing() {
                let Some(done) = self.jobs.join_next().await else {
                    break;
                };
                if let Ok(event @ Event::Checks(ChecksEvent::Published(_))) = done {
                    let now = self.now();
                    for command in self.follower.on(event, now) {
                        if let Command::Publish(checks) = command {
                            self.publish(checks);
                        }
                    }
                }
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), flush).await;
        self.jobs.abort_all();
    }
}
