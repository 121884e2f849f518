//! What the hub offers, and whether it works: looked at every few seconds, so that no answer waits for it.
//!
//! In: a hub. Out: the newest capabilities, and the health. It does not know who asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::hub::HubState;
use super::kinds::{AGENT, HOSTED_CLUSTER, NODE_POOL, VIRTUAL_MACHINE};
use super::pace::at;
use super::state::Snapshot;
use crate::adapters::kubernetes::{Hub, HubKind};
use crate::api::fleet::{ProviderPlatform, ServiceProvider};
use crate::model::ErrorClass;
use crate::provider::capabilities::{self, Capabilities, EnabledPlatforms, Platform};
use crate::provider::health::{Check, Health, Outcome};
use crate::provider::version::{Matrix, Releases};

/// The time between two looks.
const LOOK: Duration = Duration::from_secs(5);
/// The longest time of a look at one kind.
const PATIENCE: Duration = Duration::from_secs(3);

/// The platforms that the settings switch on.
pub(super) fn enabled(settings: &ServiceProvider) -> EnabledPlatforms {
    let named = |platform: &ProviderPlatform| match platform {
        ProviderPlatform::KubeVirt => Platform::KubeVirt,
        ProviderPlatform::BareMetal => Platform::BareMetal,
    };
    match &settings.platforms {
        Some(platforms) => EnabledPlatforms::Only(platforms.iter().map(named).collect()),
        None => EnabledPlatforms::Discovered,
    }
}

/// Looks at the hub.
pub(super) struct Prober {
    pub(super) hub: Hub,
    pub(super) settings: ServiceProvider,
    pub(super) matrix: Matrix,
    pub(super) state: watch::Receiver<Arc<Snapshot>>,
    pub(super) health: Arc<Mutex<Health>>,
    pub(super) begun: Instant,
}

impl Prober {
    /// Looks until the handle is dropped.
    pub(super) fn run(self) -> (watch::Receiver<Option<Capabilities>>, AbortOnDropHandle<()>) {
        let (sender, receiver) = watch::channel(None);
        let run = async move {
            let mut state = self.state.clone();
            loop {
                self.health.lock().begin(self.begun.elapsed());
                let outcomes = self.look().await;
                let checks = self.checks(&outcomes);
                self.health.lock().end(checks, self.begun.elapsed());
                let next = Instant::now() + LOOK;
                // Releases that come meanwhile are offered at once.
                loop {
                    self.offer(&outcomes, &state.borrow_and_update(), &sender);
                    tokio::select! {
                        biased;
                        () = at(Some(next)) => break,
                        changed = state.changed() => if changed.is_err() {
                            return;
                        },
                    }
                }
            }
        };
        (
            receiver,
            AbortOnDropHandle::new(tokio::spawn(run.in_current_span())),
        )
    }

    /// The outcome of a look at each kind.
    async fn look(&self) -> BTreeMap<HubKind, Outcome> {
        let agents = self.settings.bare_metal.agent_namespace.as_deref();
        let own = self.settings.namespace.as_str();
        let enabled = enabled(&self.settings);
        let mut kinds = vec![(HOSTED_CLUSTER, Some(own)), (NODE_POOL, Some(own))];
        if enabled.allow(Platform::BareMetal) {
            kinds.push((AGENT, agents.or(Some(own))));
        }
        // Where the virtual machines run elsewhere, the hub need not know them.
        if enabled.allow(Platform::KubeVirt) && self.settings.kube_virt.is_none() {
            kinds.push((VIRTUAL_MACHINE, None));
        }
        let looks = kinds.into_iter().map(|(kind, namespace)| async move {
            let served = tokio::time::timeout(PATIENCE, self.hub.serves(kind, namespace)).await;
            let outcome = match served {
                Err(_) => Outcome::TimedOut,
                Ok(Ok(())) => Outcome::Passed,
                Ok(Err(error)) if error.class() == ErrorClass::Gone => Outcome::Missing,
                Ok(Err(_)) => Outcome::Failed,
            };
            (kind, outcome)
        });
        join_all(looks).await.into_iter().collect()
    }

    /// Says what is offered, unless the hub did not answer: then the last answer counts.
    fn offer(
        &self,
        outcomes: &BTreeMap<HubKind, Outcome>,
        snapshot: &Snapshot,
        sender: &watch::Sender<Option<Capabilities>>,
    ) {
        // A kind of a platform that cannot be listed only takes that platform away.
        let is_answered = [HOSTED_CLUSTER, NODE_POOL]
            .iter()
            .all(|kind| matches!(outcomes.get(kind), Some(Outcome::Passed | Outcome::Missing)));
        if !is_answered || !snapshot.is_whole {
            return;
        }
        let passed = |kind: HubKind| outcomes.get(&kind) == Some(&Outcome::Passed);
        let is_elsewhere = self.settings.kube_virt.is_some();
        let served = [
            (capabilities::HubKind::HostedCluster, passed(HOSTED_CLUSTER)),
            (capabilities::HubKind::NodePool, passed(NODE_POOL)),
            (
                capabilities::HubKind::Agent,
                passed(AGENT) && self.settings.bare_metal.agent_namespace.is_some(),
            ),
            (
                capabilities::HubKind::VirtualMachineInstance,
                passed(VIRTUAL_MACHINE) || is_elsewhere,
            ),
        ];
        let served: BTreeSet<_> = served
            .into_iter()
            .filter(|(_, is_served)| *is_served)
            .map(|(kind, _)| kind)
            .collect();
        let sets = HubState::values(&snapshot.hub.image_sets);
        let releases = Releases::new(&sets, self.matrix.clone());
        let offered = Capabilities::new(&enabled(&self.settings), &served, &releases);
        sender.send_if_modified(|known| {
            let is_new = known.as_ref() != Some(&offered);
            if is_new {
                *known = Some(offered);
            }
            is_new
        });
    }

    fn checks(&self, outcomes: &BTreeMap<HubKind, Outcome>) -> BTreeMap<Check, Outcome> {
        let of = |kind: HubKind| outcomes.get(&kind).copied().unwrap_or(Outcome::TimedOut);
        let clusters = of(HOSTED_CLUSTER);
        let api = if clusters == Outcome::Missing {
            Outcome::Passed
        } else {
            clusters
        };
        let machines = if self.settings.kube_virt.is_some() {
            Outcome::Passed
        } else {
            of(VIRTUAL_MACHINE)
        };
        BTreeMap::from([
            (Check::Api, api),
            (Check::HostedClusters, clusters),
            // An operator that is not installed serves no node pools.
            (Check::Operator, of(NODE_POOL)),
            (Check::Platform(Platform::KubeVirt), machines),
            (Check::Platform(Platform::BareMetal), of(AGENT)),
        ])
    }
}
