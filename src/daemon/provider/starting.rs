//! The tasks of a service provider at its start, each with what it needs of the others.
//!
//! In: a hub, a repository and settings. Out: tasks that run until they are dropped, and what they tell. It does not know what the tasks do.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::git::Branches;
use super::hub::HubView;
use super::pace::Turn;
use super::probing::{Prober, enabled};
use super::reviews::Reviews;
use super::secrets::ProviderSecrets;
use super::state::{Snapshot, Sources};
use super::write::{
    CommitWriter, Definitions, DirectWriter, MANAGER, ProposalWriter, Pusher, Queue, Writer,
};
use crate::adapters::git::Error;
use crate::adapters::kubernetes::{Holder, Hub, Target};

use crate::api::fleet::ServiceProvider;
use crate::daemon::jobs::Origin;
use crate::model::OwnPullRequests;
use crate::plan::ApplySet;
use crate::provider::capabilities::Capabilities;
use crate::provider::health::Health;
use crate::provider::instance::Proposals;
use crate::provider::version::Matrix;
use crate::settings::SyncConfig;

/// The parts of a daemon that its service provider needs.
pub(in crate::daemon) struct Parts<'a> {
    pub(in crate::daemon) config: &'a Arc<SyncConfig>,
    /// What the daemon follows.
    pub(in crate::daemon) origin: &'a Origin,
    pub(in crate::daemon) target: &'a Target,
    pub(in crate::daemon) holder: Option<watch::Receiver<Holder>>,
}

/// The forge, and how whoever follows its branches hears of a new one.
type Pulls = (Arc<dyn OwnPullRequests>, Arc<Notify>);

/// A provider that starts.
pub(super) struct Starting<'a> {
    parts: &'a Parts<'a>,
    settings: &'a ServiceProvider,
    pub(super) hub: Hub,
    pub(super) turn: Turn,
    /// The tasks that run already.
    pub(super) tasks: Vec<AbortOnDropHandle<()>>,
}

impl<'a> Starting<'a> {
    pub(super) fn new(parts: &'a Parts<'a>, settings: &'a ServiceProvider) -> Self {
        Self {
            parts,
            settings,
            hub: Hub::new(&parts.target.account, MANAGER),
            turn: Turn(parts.holder.clone()),
            tasks: Vec::new(),
        }
    }

    /// The followed branch, if there is one.
    pub(super) fn branches(&mut self, name: Option<&str>) -> Result<Option<Arc<Branches>>, Error> {
        let Some(name) = name else {
            return Ok(None);
        };
        let branches = Branches::of(self.parts.origin, self.parts.config, name)?;
        let branches = Arc::new(branches);
        self.tasks.push(branches.follow(self.turn.clone()));
        Ok(Some(branches))
    }

    /// The definitions that wait for their merge, if requests become pull requests.
    pub(super) fn proposals(
        &mut self,
        branches: Option<&Arc<Branches>>,
        pulls: Option<&Pulls>,
    ) -> Option<watch::Receiver<Option<Proposals>>> {
        let (branches, (pulls, pushed)) = branches.zip(pulls)?;
        let reviews = Reviews {
            branches: Arc::clone(branches),
            pulls: Arc::clone(pulls),
            settings: self.settings.clone(),
            config: Arc::clone(self.parts.config),
            turn: self.turn.clone(),
            pushed: Arc::clone(pushed),
        };
        let (proposals, reviewing) = reviews.follow();
        self.tasks.push(reviewing);
        Some(proposals)
    }

    /// Everything that is known, as it changes.
    pub(super) fn state(
        &mut self,
        branches: Option<&Arc<Branches>>,
        proposals: Option<watch::Receiver<Option<Proposals>>>,
    ) -> watch::Receiver<Arc<Snapshot>> {
        let sources = Sources {
            settings: self.settings.clone(),
            hub: HubView::follow(&self.parts.target.account, self.settings),
            revision: branches.map(|branches| branches.newest()),
            proposals,
            clock: Arc::clone(&self.parts.target.clock),
        };
        let (state, following) = sources.follow();
        self.tasks.push(following);
        state
    }

    /// The capabilities of the hub, and the health of the provider.
    pub(super) fn probe(
        &mut self,
        matrix: &Matrix,
        state: &watch::Receiver<Arc<Snapshot>>,
        begun: Instant,
    ) -> (watch::Receiver<Option<Capabilities>>, Arc<Mutex<Health>>) {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let health = Health::new(version, enabled(self.settings));
        let health = Arc::new(Mutex::new(health));
        let prober = Prober {
            hub: self.hub.clone(),
            settings: self.settings.clone(),
            matrix: matrix.clone(),
            state: state.clone(),
            health: Arc::clone(&health),
            begun,
        };
        let (capabilities, probing) = prober.run();
        self.tasks.push(probing);
        (capabilities, health)
    }

    /// The writer of commits.
    pub(super) fn git_writer(
        &self,
        branches: Arc<Branches>,
        pulls: Option<Pulls>,
        secrets: &ProviderSecrets,
        state: &watch::Receiver<Arc<Snapshot>>,
    ) -> Box<dyn Writer> {
        let Parts { config, target, .. } = self.parts;
        let definitions = Definitions {
            settings: self.settings.clone(),
            config: Arc::clone(config),
            pusher: Pusher {
                branches,
                signer: secrets.signer.clone(),
                client: target.account.clone(),
                set: ApplySet::new(&*config.fleet, &*config.namespace),
            },
            state: state.clone(),
            clock: Arc::clone(&target.clock),
            queue: Queue::new(self.turn.clone()),
            hub: self.hub.clone(),
        };
        match pulls {
            Some((pulls, pushed)) => Box::new(ProposalWriter {
                definitions,
                pulls,
                pushed,
            }),
            None => Box::new(CommitWriter(definitions)),
        }
    }

    /// The writer of objects on the hub.
    pub(super) fn direct_writer(
        &mut self,
        state: &watch::Receiver<Arc<Snapshot>>,
    ) -> Box<dyn Writer> {
        let writer = Arc::new(DirectWriter {
            settings: self.settings.clone(),
            config: Arc::clone(self.parts.config),
            hub: self.hub.clone(),
            state: state.clone(),
            queue: Queue::new(self.turn.clone()),
        });
        let keep = Arc::clone(&writer).keep_whole(self.turn.clone());
        let keeping = tokio::spawn(keep.in_current_span());
        self.tasks.push(AbortOnDropHandle::new(keeping));
        Box::new(writer)
    }
}
