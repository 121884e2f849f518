//! The Fleet objects of a namespace, each followed by a daemon of its own.
//!
//! In: Fleets as they come, change and go. Out: a daemon for each that can be used, and the status of each. A Fleet that
//! cannot be used, or whose daemon fails, holds no other up. It does not know what a daemon does.

mod fleet;
mod report;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

pub use self::fleet::FleetsSettings;
use self::fleet::Followed;
use crate::adapters::kubernetes::{self, FleetChange, FleetObject, Target};

/// Follows the Fleets of the namespace of the environment, until `stop`.
pub async fn run_fleets(target: Target, settings: FleetsSettings, stop: CancellationToken) {
    let namespace = settings.environment.namespace.clone();
    let mut changes = kubernetes::fleets(&target.client, &namespace);
    let settings = Arc::new(settings);
    let mut followed: BTreeMap<String, Followed> = BTreeMap::new();
    loop {
        let change = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(change) = changes.next() => change,
        };
        match change {
            FleetChange::Present(fleet) => {
                let name = fleet.id.name.clone();
                let earlier = followed.remove(&name);
                let is_same = |earlier: &Followed| is_same(earlier.fleet(), &fleet);
                let now = match earlier {
                    Some(earlier) if is_same(&earlier) => earlier,
                    earlier => {
                        if let Some(earlier) = earlier {
                            earlier.stop().await;
                        }
                        tracing::info!(fleet = name, "the Fleet is followed");
                        Followed::start(*fleet, target.clone(), Arc::clone(&settings))
                    }
                };
                followed.insert(name, now);
            }
            FleetChange::Gone(name) => {
                if let Some(gone) = followed.remove(&name) {
                    gone.stop().await;
                    tracing::info!(
                        fleet = name,
                        "the Fleet was deleted and is not followed any more; its objects stay"
                    );
                }
            }
        }
    }
    futures::future::join_all(followed.into_values().map(Followed::stop)).await;
}

/// Returns true if nothing changed but the status and metadata.
fn is_same(one: &FleetObject, other: &FleetObject) -> bool {
    one.uid == other.uid && one.json["spec"] == other.json["spec"]
}
