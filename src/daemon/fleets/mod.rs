//! The Fleet objects of a namespace, each followed by a daemon of its own.
//!
//! In: Fleets as they come, change and go. Out: a daemon for each that can be used, and the status of each, while this process
//! holds the Lease. A Fleet that cannot be used, or whose daemon fails, holds no other up. It does not know what a daemon does.

mod fleet;
mod report;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use self::fleet::FleetsSettings;
use self::fleet::Followed;
use crate::adapters::kubernetes::{self, FleetChange, FleetObject, HeldLease, Holder, Target};
use crate::daemon::connect::controllers::identity;

/// The Lease of the process that follows the Fleets of a namespace.
const LEASE: &str = "capstan-sync-default";

/// Follows the Fleets of the namespace of the environment, until `stop`. Of several processes one does.
pub async fn run_fleets(target: Target, settings: FleetsSettings, stop: CancellationToken) {
    let namespace = settings.environment.namespace.clone();
    let name = identity("sync", &settings.environment);
    let lease = HeldLease::take(
        &target.client,
        Arc::clone(&target.clock),
        (&namespace, LEASE),
        name,
    );
    let mut holder = lease.holder();
    let mut changes = kubernetes::fleets(&target.client, &namespace);
    let mut fleets = Fleets {
        target,
        settings: Arc::new(settings),
        known: BTreeMap::new(),
        followed: BTreeMap::new(),
        is_holder: false,
        holder: lease.holder(),
    };
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
            Some(change) = changes.next() => fleets.on_change(change).await,
        }
    }
    fleets.stop().await;
    lease.release().await;
}

/// The Fleets of a namespace, and what follows them.
struct Fleets {
    target: Target,
    settings: Arc<FleetsSettings>,
    /// By name.
    known: BTreeMap<String, FleetObject>,
    /// Those that are followed, by name; none without the Lease.
    followed: BTreeMap<String, Followed>,
    is_holder: bool,
    holder: watch::Receiver<Holder>,
}

impl Fleets {
    /// Follows all, or none: what writes must have ended when another process may take the Lease, so it is not ended in order.
    fn set_holder(&mut self, is_holder: bool) {
        self.is_holder = is_holder;
        self.followed.clear();
        if is_holder {
            let all: Vec<FleetObject> = self.known.values().cloned().collect();
            all.into_iter().for_each(|fleet| self.follow(fleet));
        }
    }

    async fn on_change(&mut self, change: FleetChange) {
        match change {
            FleetChange::Present(fleet) => {
                let name = fleet.id.name.clone();
                let earlier = self.known.insert(name.clone(), (*fleet).clone());
                let is_new = earlier.is_none_or(|earlier| !is_same(&earlier, &fleet));
                if self.is_holder && is_new {
                    self.end(&name).await;
                    if *self.holder.borrow() == Holder::Us {
                        self.follow(*fleet);
                    }
                }
            }
            FleetChange::Gone(name) => {
                self.known.remove(&name);
                if self.end(&name).await {
                    tracing::info!(
                        fleet = name,
                        "the Fleet was deleted and is not followed any more; its objects stay"
                    );
                }
            }
        }
    }

    fn follow(&mut self, fleet: FleetObject) {
        let name = fleet.id.name.clone();
        tracing::info!(fleet = name, "the Fleet is followed");
        let followed = Followed::start(fleet, self.target.clone(), Arc::clone(&self.settings));
        self.followed.insert(name, followed);
    }

    /// Ends what follows this Fleet, in order unless the Lease is lost meanwhile; `false` if nothing did.
    async fn end(&mut self, name: &str) -> bool {
        let Some(followed) = self.followed.remove(name) else {
            return false;
        };
        tokio::select! {
            biased;
            _ = self.holder.wait_for(|holder| *holder != Holder::Us) => {}
            () = followed.stop() => {}
        }
        true
    }

    async fn stop(self) {
        let all = self.followed.into_values().map(Followed::stop);
        futures::future::join_all(all).await;
    }
}

/// Returns true if nothing changed but the status and metadata.
fn is_same(one: &FleetObject, other: &FleetObject) -> bool {
    one.uid == other.uid && one.json["spec"] == other.json["spec"]
}
