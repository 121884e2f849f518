//! One Fleet object and the daemon that follows it.
//!
//! In: the object. Out: a daemon, as long as the object can be used, and the phase that it is in. What fails is tried again;
//! what panics is, too. It does not know the other fleets.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::attempts::{Failed, attempts, rest_for, stall};
use super::dependencies::{States, Wait, wait};
use super::ending::{
    self, is_deleted, let_go, reason_comes, reason_to_stay, remove_members, suspended,
};
use super::mirrors::tidy;
use super::report::{Phase, Reported, report};
use super::requests::{hand_on, request};
use super::webhooks::check_secret;
use crate::adapters::git;
use crate::adapters::http::Hints;
use crate::adapters::kubernetes::{
    Error, FleetObject, Holder, LeaseName, Target, act_as, connect_by_secret, hold_fleet,
};
use crate::api::fleet::{DeletionPolicy, FleetStatus};
use crate::daemon::turns::in_turns;
use crate::daemon::{Setup, Writer, forge_ports, run_with, source_access};
use crate::follow::View;
use crate::plan::ApplySet;
use crate::settings::{Environment, FleetOwner, SyncConfig};

/// The help for a Fleet object with a directory.
const NO_DIRECTORY: &str = "spec.source.directory is a directory of the process, which a Fleet object may not read: use spec.source.git";
/// The help for a Fleet object with webhooks that cannot arrive.
const NO_PORT: &str = "spec.checks.webhookSecretRef is for webhooks, and the daemon has no port: start it with --serve, or remove this";
/// The help for a Fleet of a tenant that has too many.
const TOO_MANY: &str = "the daemon follows 50 Fleets of this namespace already, and no more of a tenant: delete one, or join two";

/// The settings that all fleets of a process share.
pub struct FleetsSettings {
    /// The environment of the process.
    pub environment: Environment,
    /// The program that plans heads of forks in a process of its own: Capstan.
    pub fork_planner: PathBuf,
    /// The places where a Fleet of the process's namespace may have its source: whoever writes Fleets must not read the files of this
    /// process, such as the mirrors of others.
    pub reach: git::Reach,
    /// The namespaces of tenants, whose Fleets are followed, too.
    pub tenants: BTreeSet<String>,
    /// The ServiceAccount of tenants' Fleets that name none.
    pub default_service_account: Option<String>,
    /// Only Fleets with this value of the label `capstan.dev/shard`, or without it if that is [`DEFAULT_SHARD`], are followed.
    pub shard: String,
    /// It has a port, at which webhooks can arrive.
    pub has_port: bool,
}

/// The shard of Fleets without a label.
pub const DEFAULT_SHARD: &str = "default";

impl FleetsSettings {
    /// The people who write the Fleets of a namespace.
    pub(super) fn owner(&self, namespace: &str) -> FleetOwner<'_> {
        match namespace == self.environment.namespace {
            true => FleetOwner::Platform,
            false => FleetOwner::Tenant {
                default_account: self.default_service_account.as_deref(),
            },
        }
    }

    /// Returns true if the Fleets of the namespace are those of a tenant.
    pub(super) fn is_tenant(&self, namespace: &str) -> bool {
        self.owner(namespace) != FleetOwner::Platform
    }

    /// The places where Fleets of a namespace may have their sources. A tenant never reads the files of the process.
    fn reach(&self, namespace: &str) -> git::Reach {
        match self.owner(namespace) {
            FleetOwner::Platform => self.reach,
            FleetOwner::Tenant { .. } => git::Reach::Servers,
        }
    }

    /// The settings of a Fleet, or what is wrong with it.
    pub(super) fn config(&self, fleet: &FleetObject) -> Result<SyncConfig, String> {
        let namespace = &fleet.id.namespace;
        let config = SyncConfig::object(&fleet.json, self.owner(namespace), &self.environment);
        let config = config.map_err(|error| error.to_string())?;
        if config.directory.is_some() && self.reach(namespace) == git::Reach::Servers {
            return Err(NO_DIRECTORY.to_owned());
        }
        if config.webhook_secret.is_some() && !self.has_port {
            return Err(NO_PORT.to_owned());
        }
        Ok(SyncConfig {
            fork_planner: Some(self.fork_planner.clone()),
            ..config
        })
    }

    /// The namespaces whose Fleets are followed.
    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        let own = std::iter::once(&self.environment.namespace);
        own.chain(&self.tenants).cloned().collect()
    }

    /// The Lease of the process that follows the Fleets of this shard.
    pub(super) fn lease(&self) -> LeaseName {
        LeaseName {
            namespace: self.environment.namespace.clone(),
            name: format!("capstan-sync-{}", self.shard),
        }
    }
}

/// The signals from outside of a Fleet.
pub(super) struct Signals {
    /// The process that may write.
    pub(super) holder: watch::Receiver<Holder>,
    /// The Fleets that it may wait for.
    pub(super) states: watch::Receiver<States>,
    /// The hints of its webhooks; `None` if it has none.
    pub(super) hints: Option<Arc<Hints>>,
}

/// A Fleet that is followed. Dropped, it is stopped at once.
pub(super) struct Followed {
    /// It is one too many of its tenant, so that it has no daemon.
    pub(super) is_over: bool,
    stop: CancellationToken,
    requests: watch::Sender<Option<String>>,
    following: AbortOnDropHandle<()>,
}

impl Followed {
    /// Follows a Fleet until it is told to stop, while this process is the holder of its Lease, and once the daemon `before` has ended.
    /// One that `is_over` what its tenant may have is told so instead.
    pub(super) fn start(
        fleet: FleetObject,
        target: Target,
        settings: Arc<FleetsSettings>,
        signals: Signals,
        before: Option<AbortOnDropHandle<()>>,
        is_over: bool,
    ) -> Self {
        let stop = CancellationToken::new();
        let (requests, _) = watch::channel(request(&fleet));
        let status = serde_json::from_value(fleet.json["status"].clone());
        let status: FleetStatus = status.unwrap_or_default();
        let handled = watch::Sender::new(status.last_handled_sync_at);
        let one = One {
            fleet: Arc::new(fleet),
            target,
            settings,
            signals,
            requests: requests.subscribe(),
            handled,
            is_over,
            phase: watch::Sender::new(Phase::Starting),
            view: watch::Sender::new(View::default()),
            stop: stop.clone(),
        };
        let following = async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            Arc::new(one).follow().await;
        };
        let following = AbortOnDropHandle::new(tokio::spawn(following));
        Self {
            is_over,
            stop,
            requests,
            following,
        }
    }

    /// Takes in a request to sync on the Fleet.
    pub(super) fn request(&self, fleet: &FleetObject) {
        self.requests.send_if_modified(|known| {
            let asked = request(fleet);
            let is_new = *known != asked;
            *known = asked;
            is_new
        });
    }

    /// Stops in order: what is under way is ended, and due checks are written.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        let _ = self.following.await;
    }
}

/// A Fleet, and everything that its daemon needs.
struct One {
    fleet: Arc<FleetObject>,
    target: Target,
    settings: Arc<FleetsSettings>,
    signals: Signals,
    /// The requests to sync, and the last one that was handed on.
    requests: watch::Receiver<Option<String>>,
    handled: watch::Sender<Option<String>>,
    /// It is one too many of its tenant.
    is_over: bool,
    phase: watch::Sender<Phase>,
    view: watch::Sender<View>,
    stop: CancellationToken,
}

impl One {
    async fn follow(self: Arc<Self>) {
        let config = self.config();
        if let Err(error) = &config {
            stall(&self.phase, &self.fleet, "InvalidSpec", error);
        }
        let config = config.ok();
        let mirror = config.as_ref().map(|config| config.mirror.clone());
        let mirrors = self
            .settings
            .environment
            .mirrors_of(&self.fleet.id.namespace);
        tidy(mirrors, self.fleet.id.name.clone(), mirror).await;
        let reported = Reported {
            client: self.target.client.clone(),
            fleet: Arc::clone(&self.fleet),
            config: config.clone(),
            view: self.view.subscribe(),
            phases: self.phase.subscribe(),
            handled: self.handled.subscribe(),
        };
        let _reporting = AbortOnDropHandle::new(tokio::spawn(report(reported)));
        match config {
            config if is_deleted(&self.fleet) => {
                let attempt = || Arc::clone(&self).finish(config.clone());
                attempts(&self.fleet, &self.phase, &self.stop, attempt).await;
            }
            Some(config) => {
                let attempt = || Arc::clone(&self).attempt(config.clone());
                attempts(&self.fleet, &self.phase, &self.stop, attempt).await;
            }
            None => self.stop.cancelled().await,
        }
    }

    /// The settings, or what is wrong with the Fleet.
    fn config(&self) -> Result<SyncConfig, String> {
        let config = self.settings.config(&self.fleet)?;
        match self.is_over && !is_deleted(&self.fleet) {
            true => Err(TOO_MANY.to_owned()),
            false => Ok(config),
        }
    }

    /// Runs the daemon until it is told to stop, or until it cannot.
    async fn attempt(self: Arc<Self>, config: SyncConfig) -> Result<(), Failed> {
        // First: it may be deleted while it waits, and have objects from before.
        let is_held = config.deletion_policy == DeletionPolicy::Delete;
        if is_held || ending::is_held(&self.fleet) {
            let held = hold_fleet(&self.target.client, &self.fleet, is_held).await;
            held.map_err(|error| Failed::new(error.class(), error.to_string()))?;
        }
        if config.directory.is_none() {
            git::check_address(&config.url)
                .map_err(|error| Failed::new(error.class(), error.to_string()))?;
        }
        if !self.may_begin(&config).await {
            return Ok(());
        }
        let access = git::Access {
            reach: self.settings.reach(&self.fleet.id.namespace),
            ..source_access(&config, &self.target.client)
        };
        let checked = check_secret(&self.target.client, &config).await;
        checked.map_err(|error| Failed::new(error.class(), error.to_string()))?;
        let forge = forge_ports(&config, &self.target.client).await;
        let forge = forge.map_err(|error| Failed::new(error.class(), error.to_string()))?;
        let Some(target) = self.target_of(&config).await? else {
            return Ok(());
        };
        let writer = self.writer(&target, &config);
        let holder = writer.as_ref().map(Writer::holder);
        let set = ApplySet::new(&*config.fleet, &*config.namespace);
        let applies = writer.is_some();
        let _requests = applies.then(|| {
            hand_on(
                &target.client,
                set,
                self.requests.clone(),
                self.handled.clone(),
            )
        });
        let setup = Setup {
            config,
            access,
            endpoint: None,
            hints: self.signals.hints.clone(),
            forge,
            holder: holder.clone(),
            provider: None,
        };
        let following = Phase::Following(target.client.clone());
        let _showing = AbortOnDropHandle::new(tokio::spawn(show_turns(
            self.phase.clone(),
            holder,
            following,
        )));
        let ended = run_with(setup, target, self.view.clone(), self.stop.clone()).await;
        if let Some(writer) = writer {
            writer.release().await;
        }
        ended.map_err(|error| Failed::new(error.class(), error.to_string()))
    }

    /// Ends a Fleet that somebody deleted: removes its members if that is wanted, and lets it go.
    async fn finish(self: Arc<Self>, config: Option<SyncConfig>) -> Result<(), Failed> {
        let failed = |error: Error| Failed::new(error.class(), error.to_string());
        let (fleet, client) = (&*self.fleet, &self.target.client);
        if ending::is_held(fleet) {
            let stays = reason_to_stay(client, fleet, config.as_ref()).await;
            let stays = stays.map_err(failed)?;
            let stays = match (stays, &config) {
                (None, Some(config)) if config.suspend => {
                    rest_for(&self.phase, fleet, &suspended());
                    self.stop.cancelled().await;
                    return Ok(());
                }
                (None, Some(config)) => tokio::select! {
                    biased;
                    why = reason_comes(client, fleet, config) => Some(why),
                    removed = self.remove(config) => {
                        removed?;
                        None
                    }
                },
                (stays, _) => stays,
            };
            if self.stop.is_cancelled() {
                return Ok(());
            }
            let gone = let_go(client, fleet, stays.as_deref()).await;
            gone.map_err(failed)?;
        }
        self.stop.cancelled().await;
        Ok(())
    }

    /// Removes the members, while this process may write the fleet; returns early if it is told to stop.
    async fn remove(&self, config: &SyncConfig) -> Result<(), Failed> {
        let Some(target) = self.target_of(config).await? else {
            return Ok(());
        };
        let writer = self.writer(&target, config);
        let holder = writer.as_ref().map(Writer::holder);
        let begun = Phase::Waiting(
            "Deleting",
            "looking for the objects of the fleet".to_owned(),
        );
        let showing = show_turns(self.phase.clone(), holder.clone(), begun);
        let _showing = AbortOnDropHandle::new(tokio::spawn(showing));
        let of = (&*self.fleet, config);
        let removing = || remove_members(&target, of, &self.phase, &self.stop);
        // The status says it, by the holder.
        let away = |_, _| std::future::ready(());
        let ended = in_turns(holder, &self.stop, removing, away).await;
        if let Some(writer) = writer {
            writer.release().await;
        }
        ended.map_err(|error| Failed::new(error.class(), error.to_string()))
    }

    /// Waits for other Fleets; `false` if it is told to stop before they are ready.
    async fn may_begin(&self, config: &SyncConfig) -> bool {
        let mut states = self.signals.states.clone();
        loop {
            let wait = {
                let states = states.borrow_and_update();
                wait(&self.fleet.id, &config.depends_on, &states)
            };
            let idle = match wait {
                Wait::Over => return true,
                Wait::For(why) => Phase::Waiting("DependencyNotReady", why),
                Wait::Cycle(why) => Phase::Stalled("DependencyCycle", why),
            };
            rest_for(&self.phase, &self.fleet, &idle);
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return false,
                changed = states.changed() => if changed.is_err() {
                    return false;
                },
            }
        }
    }

    /// The right to write the fleet: with the Lease of the process in its own cluster, else with one there.
    fn writer(&self, target: &Target, config: &SyncConfig) -> Option<Writer> {
        if config.is_check_only() {
            return None;
        }
        let settings = &self.settings;
        Some(match config.kubeconfig_secret {
            Some(_) => Writer::take(target, config, &settings.environment),
            None => Writer::share(
                target,
                config,
                settings.lease(),
                self.signals.holder.clone(),
            ),
        })
    }

    /// The cluster that the fleet is applied to, and the account that does it; `None` if it is told to stop before it answers.
    async fn target_of(&self, config: &SyncConfig) -> Result<Option<Target>, Failed> {
        let (target, namespace) = (&self.target, &config.namespace);
        if config.is_check_only() {
            return Ok(Some(target.clone()));
        }
        if let Some(account) = &config.service_account {
            let acting = act_as(&target.client, namespace, account).await;
            let account = acting.map_err(|error| Failed::new(error.class(), error.to_string()))?;
            return Ok(Some(Target {
                account,
                is_confined: true,
                ..target.clone()
            }));
        }
        let Some(secret) = &config.kubeconfig_secret else {
            return Ok(Some(target.clone()));
        };
        let waits = |error: &Error| {
            let message = error.to_string();
            let waiting = Phase::Waiting("ClusterNotReady", message);
            self.phase.send_replace(waiting);
        };
        let connecting = connect_by_secret(&target.client, namespace, secret, waits);
        let client = tokio::select! {
            biased;
            () = self.stop.cancelled() => return Ok(None),
            client = connecting => client,
        };
        let client = client.map_err(|error| Failed {
            reason: "ClusterNotReady",
            message: error.to_string(),
            may_pass: false,
        })?;
        Ok(Some(Target::new(client, Arc::clone(&target.clock))))
    }
}

/// Shows that a Fleet is followed, or that another process applies it, until this is dropped.
async fn show_turns(
    phase: watch::Sender<Phase>,
    holder: Option<watch::Receiver<Holder>>,
    following: Phase,
) {
    let Some(mut holder) = holder else {
        phase.send_replace(following);
        return;
    };
    loop {
        let current = holder.borrow_and_update().clone();
        phase.send_replace(match &current {
            Holder::Us => following.clone(),
            Holder::OtherLease { .. } => Phase::Stalled("OtherWriter", current.to_string()),
            waiting => Phase::Waiting("NoLease", waiting.to_string()),
        });
        if holder.changed().await.is_err() {
            return;
        }
    }
}
