//! Fleet objects, each followed by a daemon of its own.
//!
//! In: Fleets as they come, change and go. Out: a daemon for each that can be used, and the status of each, while this process
//! holds the Lease. A Fleet that cannot be used, or whose daemon fails, holds no other up. It does not know what a daemon does.

mod attempts;
mod dependencies;
mod ending;
mod events;
mod fleet;
mod mirrors;
mod port;
mod report;
mod requests;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt as _;
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use self::dependencies::{State, States};
use self::ending::{is_deleted, is_held, let_go};
pub use self::fleet::{DEFAULT_SHARD, FleetsSettings};
use self::fleet::{Followed, Signals};
use self::mirrors::tidy;
use self::port::{PERIOD, Pulse, State as Probes};
use self::webhooks::Received;
use crate::adapters::kubernetes::{
    self, FleetChange, FleetObject, HeldLease, Holder, LeaseName, Target, Unpermitted,
};
use crate::api::labels::SHARD;
use crate::daemon::connect::controllers::identity;
use crate::daemon::connect::probed_port::ProbedPort;
use crate::daemon::wall_time;
use crate::model::ObjectId;
use crate::plan::ApplySet;
use crate::settings::suspending;

/// The most Fleets that are followed of a tenant: each has a daemon and a mirror.
const MOST_OF_TENANT: usize = 50;

/// Follows the Fleets of the namespace of the environment and those of tenants, until `stop`. Of several processes one does.
pub async fn run_fleets(
    target: Target,
    settings: FleetsSettings,
    port: Option<ProbedPort>,
    stop: CancellationToken,
) {
    let name = settings.lease();
    let identity = identity(&name.name, &settings.environment);
    let lease = HeldLease::take(
        &target.client,
        Arc::clone(&target.clock),
        &name,
        identity,
        Unpermitted::Wait,
    );
    let mut holder = lease.holder();
    let namespaces = settings.namespaces();
    let changes = namespaces
        .iter()
        .map(|namespace| kubernetes::fleets(&target.client, namespace));
    let mut changes = futures::stream::select_all(changes);
    let received = Received::new(&target.client, lease.holder(), namespaces.clone());
    let mut fleets = Fleets {
        target,
        settings: Arc::new(settings),
        received,
        known: BTreeMap::new(),
        states: watch::Sender::new(States::new()),
        followed: BTreeMap::new(),
        leaving: BTreeMap::new(),
        is_holder: false,
        may_be_absent: false,
        forgetting: None,
        holder: lease.holder(),
    };
    let pulse = Pulse::start();
    let probes = Probes {
        holder: lease.holder(),
        looked: lease.looked(),
        pulse: pulse.clone(),
        webhooks: fleets.received.served(),
    };
    let serving = port.map(|port| port.serve_fleets(probes, &fleets.received.served()));
    let mut beat = tokio::time::interval(PERIOD);
    loop {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            changed = holder.changed() => {
                // Without the task that renews it, the Lease is lost.
                let is_holder = changed.is_ok() && *holder.borrow_and_update() == Holder::Us;
                fleets.set_holder(is_holder);
                if changed.is_err() {
                    break;
                }
            }
            _ = beat.tick() => {
                pulse.beat();
                fleets.forget_absent();
            }
            Some(change) = changes.next() => fleets.on_change(change),
        }
    }
    // What arrived now would be for nothing: the next process takes it.
    drop(serving);
    fleets.stop().await;
    lease.release().await;
}

/// The Fleets of the namespaces, and what follows them.
struct Fleets {
    target: Target,
    settings: Arc<FleetsSettings>,
    received: Received,
    known: BTreeMap<ObjectId, FleetObject>,
    /// The same for those that wait for others, and those of other shards.
    states: watch::Sender<States>,
    /// Those that are followed; none without the Lease.
    followed: BTreeMap<ObjectId, Followed>,
    /// Those that are gone, and whose daemons end.
    leaving: BTreeMap<ObjectId, AbortOnDropHandle<()>>,
    is_holder: bool,
    /// True until the sets were looked for that an earlier process claimed for Fleets that are gone.
    may_be_absent: bool,
    /// Looks for them.
    forgetting: Option<AbortOnDropHandle<()>>,
    holder: watch::Receiver<Holder>,
}

impl Fleets {
    /// Follows all, or none: what writes must have ended when another process may take the Lease, so it is not ended in order.
    fn set_holder(&mut self, is_holder: bool) {
        self.is_holder = is_holder;
        self.may_be_absent = is_holder;
        self.followed.clear();
        self.leaving.clear();
        self.forgetting = None;
        if is_holder {
            let all: Vec<FleetObject> = self.known.values().cloned().collect();
            all.into_iter().for_each(|fleet| self.follow(fleet, None));
        }
    }

    fn on_change(&mut self, change: FleetChange) {
        self.note(&change);
        match change {
            FleetChange::Present(fleet) if is_of_shard(&fleet, &self.settings.shard) => {
                let id = fleet.id.clone();
                let config = self.settings.config(&fleet).ok();
                let is_tenant = self.settings.is_tenant(&id.namespace);
                let most = if is_tenant {
                    MOST_OF_TENANT
                } else {
                    usize::MAX
                };
                self.received.set(&fleet, config.as_ref(), most);
                let earlier = self.known.insert(id.clone(), (*fleet).clone());
                let is_new = earlier.is_none_or(|earlier| !is_same(&earlier, &fleet));
                if self.is_holder && is_new {
                    let before = self.end(&id).or_else(|| self.leaving.remove(&id));
                    self.follow(*fleet, before);
                } else if let Some(followed) = self.followed.get(&id) {
                    followed.request(&fleet);
                }
            }
            FleetChange::Present(fleet) => self.leave(&fleet.id, "another shard has"),
            FleetChange::Gone(id) => self.leave(&id, "somebody deleted"),
            FleetChange::Listed(namespace) => self.received.listed(&namespace),
        }
    }

    /// Tells those that wait for others.
    fn note(&self, change: &FleetChange) {
        self.states.send_if_modified(|states| match change {
            FleetChange::Present(fleet) => {
                let state = State::read(fleet);
                let earlier = states.insert(fleet.id.clone(), state);
                earlier.as_ref() != states.get(&fleet.id)
            }
            FleetChange::Gone(id) => states.remove(id).is_some(),
            FleetChange::Listed(_) => false,
        });
    }

    fn leave(&mut self, id: &ObjectId, who: &str) {
        let fleet = self.known.remove(id);
        self.received.remove(id);
        self.leaving.retain(|_, leaving| !leaving.is_finished());
        let Some(ending) = self.end(id) else {
            return;
        };
        let is_held = fleet.is_some_and(|fleet| is_held(&fleet));
        let stay = if is_held { "" } else { "; its objects stay" };
        tracing::info!(
            fleet = id.name,
            namespace = id.namespace,
            "{who} the Fleet, which is not followed any more{stay}"
        );
        let set = ApplySet::new(&*id.name, &*id.namespace);
        let (client, lease) = (self.target.client.clone(), self.settings.lease());
        let mirrors = self.settings.environment.mirrors_of(&id.namespace);
        let name = id.name.clone();
        let leaving = async move {
            let _ = ending.await;
            unclaim(&client, &set, &lease).await;
            tidy(mirrors, name, None).await;
        };
        let leaving = AbortOnDropHandle::new(tokio::spawn(leaving));
        self.leaving.insert(id.clone(), leaving);
        self.make_room(&id.namespace);
    }

    /// Follows a Fleet of a tenant that had too many.
    fn make_room(&mut self, namespace: &str) {
        let mut crowded = self.followed.iter();
        let crowded = crowded.find(|(id, followed)| id.namespace == namespace && followed.is_over);
        let next = crowded.and_then(|(id, _)| self.known.get(id)).cloned();
        if let Some(fleet) = next {
            let before = self.end(&fleet.id);
            self.follow(fleet, before);
        }
    }

    /// Gives up, once, what an earlier process claimed for Fleets that were deleted when no process followed them. Nobody waits for it.
    fn forget_absent(&mut self) {
        if !std::mem::take(&mut self.may_be_absent) {
            return;
        }
        let known = self.known.keys();
        let known: BTreeSet<(String, String)> = known
            .map(|id| (id.name.clone(), id.namespace.clone()))
            .collect();
        let (client, settings) = (self.target.client.clone(), Arc::clone(&self.settings));
        let forgetting = async move {
            let lease = settings.lease();
            for namespace in settings.namespaces() {
                let claimed = kubernetes::claimed(&client, &namespace, &lease).await;
                let sets = claimed.unwrap_or_else(|error| {
                    tracing::debug!(%error, "fleets that are gone are not looked for");
                    Vec::new()
                });
                for set in sets {
                    if !known.contains(&(set.fleet().to_owned(), set.namespace().to_owned())) {
                        unclaim(&client, &set, &lease).await;
                    }
                }
            }
        };
        self.forgetting = Some(AbortOnDropHandle::new(tokio::spawn(forgetting)));
    }

    /// Follows a Fleet, once the daemon `before` has ended.
    fn follow(&mut self, fleet: FleetObject, before: Option<AbortOnDropHandle<()>>) {
        let id = fleet.id.clone();
        let is_over = self.settings.is_tenant(&id.namespace) && self.is_crowded(&id.namespace);
        tracing::info!(
            fleet = id.name,
            namespace = id.namespace,
            "the Fleet is followed"
        );
        let (target, settings) = (self.target.clone(), Arc::clone(&self.settings));
        let signals = Signals {
            holder: self.holder.clone(),
            states: self.states.subscribe(),
            hints: self.received.hints(&id),
        };
        let followed = Followed::start(fleet, target, settings, signals, before, is_over);
        self.followed.insert(id, followed);
    }

    /// Returns true if no more Fleets of this namespace of a tenant are followed.
    fn is_crowded(&self, namespace: &str) -> bool {
        let own = self.followed.iter();
        let own = own.filter(|(id, followed)| id.namespace == namespace && !followed.is_over);
        own.count() >= MOST_OF_TENANT
    }

    /// Ends what follows this Fleet, in order unless the answer is dropped. Nobody waits for it: one that takes its time costs others none.
    fn end(&mut self, id: &ObjectId) -> Option<AbortOnDropHandle<()>> {
        let followed = self.followed.remove(id)?;
        Some(AbortOnDropHandle::new(tokio::spawn(followed.stop())))
    }

    async fn stop(self) {
        let all = self.followed.into_values().map(Followed::stop);
        futures::future::join_all(all).await;
        futures::future::join_all(self.leaving.into_values()).await;
        if self.is_holder {
            release_of_ending_namespaces(&self.target.client, &self.known).await;
        }
    }
}

/// Lets the Fleets go whose namespace is being deleted: this process may be deleted with it, and nobody else would.
async fn release_of_ending_namespaces(client: &Client, known: &BTreeMap<ObjectId, FleetObject>) {
    let held = known.values().filter(|fleet| is_held(fleet));
    let mut by_namespace: BTreeMap<&str, Vec<&FleetObject>> = BTreeMap::new();
    for fleet in held {
        let of = by_namespace.entry(&fleet.id.namespace);
        of.or_default().push(fleet);
    }
    for (namespace, fleets) in by_namespace {
        if !kubernetes::is_ending(client, namespace)
            .await
            .unwrap_or(false)
        {
            continue;
        }
        for fleet in fleets {
            let gone = let_go(client, fleet, Some("its namespace is being deleted")).await;
            if let Err(error) = gone {
                tracing::warn!(fleet = fleet.id.name, namespace, %error, "cannot let the Fleet go: remove its finalizer capstan.dev/fleet");
            }
        }
    }
}

/// Nobody serves the set any more: another daemon may, and people see that none does.
async fn unclaim(client: &Client, set: &ApplySet, lease: &LeaseName) {
    if let Err(error) = kubernetes::unclaim(client, set, lease, wall_time()).await {
        let object = set.parent();
        tracing::warn!(%object, %error, "cannot remove the annotation capstan.dev/lease: `capstan status` goes on saying that this process serves the fleet");
    }
}

fn is_of_shard(fleet: &FleetObject, shard: &str) -> bool {
    let label = fleet.json["metadata"]["labels"][SHARD].as_str();
    label.unwrap_or(DEFAULT_SHARD) == shard
}

/// Returns true if nothing changed but the status, and metadata other than the annotation that suspends and the time of deletion.
fn is_same(one: &FleetObject, other: &FleetObject) -> bool {
    one.uid == other.uid
        && is_deleted(one) == is_deleted(other)
        && one.json["spec"] == other.json["spec"]
        && suspending(&one.json) == suspending(&other.json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fleet_without_a_label_is_of_the_default_shard() {
        let fleet = |labels| FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", "f"),
            uid: "u".to_owned(),
            generation: None,
            json: json!({"metadata": {"labels": labels}}),
        };
        let none = fleet(json!(null));
        assert!(is_of_shard(&none, "default") && !is_of_shard(&none, "a"));
        let other = fleet(json!({"capstan.dev/shard": "a"}));
        assert!(!is_of_shard(&other, "default") && is_of_shard(&other, "a"));
    }
}
