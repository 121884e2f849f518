//! The webhooks of several fleets in one process.
//!
//! In: fleets as they come and go. Out: those of one fleet, and what was counted of all. It does not know the repositories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use parking_lot::RwLock;
use tokio::sync::Semaphore;
use tracing::Span;

use super::hints::Hints;
use super::metrics::{DELIVERIES_HEAD, Metrics};
use super::secrets::SecretSource;
use super::webhook::{Webhooks, room_of_one, whole_room};

/// The webhooks by the namespace and the name of their fleets.
pub struct FleetWebhooks {
    known: RwLock<BTreeMap<(String, String), One>>,
    /// The namespaces of which not all fleets are known yet.
    unlisted: RwLock<BTreeSet<String>>,
    room: Arc<Semaphore>,
}

/// The webhooks of one fleet.
struct One {
    /// The memory for bodies of its namespace.
    room: Arc<Semaphore>,
    webhooks: Arc<Webhooks>,
    metrics: Arc<Metrics>,
}

impl FleetWebhooks {
    /// Those of the fleets of these namespaces, none of which is known yet.
    #[must_use]
    pub fn new(namespaces: BTreeSet<String>) -> Self {
        Self {
            known: RwLock::default(),
            unlisted: RwLock::new(namespaces),
            room: whole_room(),
        }
    }

    /// All fleets of this namespace are known.
    pub fn listed(&self, namespace: &str) {
        self.unlisted.write().remove(namespace);
    }

    /// Takes deliveries for the repository of a fleet at `url`, instead of those before. Its count goes on. `now` is the time outside, and the
    /// span names the fleet in the log.
    pub fn set(
        &self,
        (namespace, name): (&str, &str),
        url: &str,
        secrets: SecretSource,
        hints: Arc<Hints>,
        (now, span): (fn() -> Timestamp, Span),
    ) {
        let key = (namespace.to_owned(), name.to_owned());
        let mut known = self.known.write();
        let metrics = known.get(&key).map(|one| Arc::clone(&one.metrics));
        let metrics = metrics.unwrap_or_default();
        let mut near = known.iter().filter(|((other, _), _)| other == namespace);
        let room = near.next().map(|(_, one)| Arc::clone(&one.room));
        let room = room.unwrap_or_else(room_of_one);
        let webhooks = Webhooks::new(url, secrets, hints, Arc::clone(&metrics), now);
        let webhooks = Arc::new(webhooks.beside_others([&room, &self.room], span));
        let one = One {
            room,
            webhooks,
            metrics,
        };
        known.insert(key, one);
    }

    /// Takes no deliveries for this fleet any more.
    pub fn remove(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.known.write().remove(&key);
    }

    /// The webhooks of a fleet, or the answer if it has none: that to a wrong secret, or to ask later if the fleet may be there.
    pub(super) fn get(&self, namespace: &str, name: &str) -> Result<Arc<Webhooks>, StatusCode> {
        let key = (namespace.to_owned(), name.to_owned());
        if let Some(one) = self.known.read().get(&key) {
            return Ok(Arc::clone(&one.webhooks));
        }
        match self.unlisted.read().contains(namespace) {
            true => Err(StatusCode::SERVICE_UNAVAILABLE),
            false => Err(StatusCode::UNAUTHORIZED),
        }
    }

    /// The counts of deliveries, as Prometheus reads them.
    #[must_use]
    pub fn metrics(&self) -> String {
        let mut text = DELIVERIES_HEAD.to_owned();
        for ((namespace, name), one) in &*self.known.read() {
            let labels = format!("namespace=\"{namespace}\",fleet=\"{name}\",");
            one.metrics.add_deliveries(&labels, &mut text);
        }
        text
    }
}
