//! The webhooks of Fleet objects, which every process takes, also one that waits for the Lease.
//!
//! In: Fleets as they come, change and go, and the holder of the Lease. Out: hints for their daemons, and for those of other processes by an
//! annotation on the Fleet. One Fleet's Secret is of no use for another. It does not know what a daemon does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::http::{FleetWebhooks, Hints, SecretSource, Secrets};
use crate::adapters::kubernetes::{FleetObject, Holder, annotate_fleet, secret_keys};
use crate::api::labels::WEBHOOK_RECEIVED;
use crate::daemon::relay::Relay;
use crate::daemon::{fleet_span, wall_time};
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::settings::{SourceCredential, SyncConfig};

/// The time for which a Secret that was read is used: whoever sends many deliveries causes no more reads.
const FRESH: Duration = Duration::from_secs(30);

/// The time for a Secret to be read.
const PATIENCE: Duration = Duration::from_secs(3);

/// The webhooks of the Fleets that are known.
pub(super) struct Received {
    client: Client,
    holder: watch::Receiver<Holder>,
    served: Arc<FleetWebhooks>,
    each: BTreeMap<ObjectId, One>,
}

/// The webhooks of one Fleet.
struct One {
    /// Everything that they are made of.
    subscription: Subscription,
    hints: Arc<Hints>,
    /// The annotation of the Fleet.
    texts: watch::Sender<Option<String>>,
    _relaying: AbortOnDropHandle<()>,
}

#[derive(PartialEq, Eq)]
struct Subscription {
    uid: String,
    secret: String,
    url: String,
}

impl Subscription {
    fn of(fleet: &FleetObject, config: &SyncConfig) -> Option<Self> {
        let Some(SourceCredential::Secret(secret)) = &config.webhook_secret else {
            return None;
        };
        Some(Self {
            uid: fleet.uid.clone(),
            secret: secret.clone(),
            url: match &config.directory {
                // Its repository is not known.
                Some(_) => String::new(),
                None => config.url.clone(),
            },
        })
    }
}

impl Received {
    /// Those of the Fleets of these namespaces, none of which is known yet.
    pub(super) fn new(
        client: &Client,
        holder: watch::Receiver<Holder>,
        namespaces: BTreeSet<String>,
    ) -> Self {
        Self {
            client: client.clone(),
            holder,
            served: Arc::new(FleetWebhooks::new(namespaces)),
            each: BTreeMap::new(),
        }
    }

    /// The webhooks to serve.
    pub(super) fn served(&self) -> Arc<FleetWebhooks> {
        Arc::clone(&self.served)
    }

    /// The hints for the daemon of this Fleet; `None` if it has no webhooks.
    pub(super) fn hints(&self, id: &ObjectId) -> Option<Arc<Hints>> {
        self.each.get(id).map(|one| Arc::clone(&one.hints))
    }

    /// Takes a Fleet in that is new or changed. One whose settings have errors keeps those of before: a forge that gets the answer 401 for some
    /// time sends nothing any more. No more than `most` Fleets of a namespace have webhooks.
    pub(super) fn set(&mut self, fleet: &FleetObject, config: Option<&SyncConfig>, most: usize) {
        let known = self.each.get(&fleet.id);
        match config.map(|config| Subscription::of(fleet, config)) {
            Some(None) => return self.remove(&fleet.id),
            Some(Some(new)) if known.is_none_or(|one| one.subscription != new) => {
                let others = self.each.keys();
                let others = others.filter(|id| id.namespace == fleet.id.namespace);
                if known.is_none() && others.count() >= most {
                    return;
                }
                let one = self.start(fleet, new);
                self.each.insert(fleet.id.clone(), one);
            }
            _ => {}
        }
        let text = fleet.json["metadata"]["annotations"][WEBHOOK_RECEIVED].as_str();
        let text = text.map(str::to_owned);
        if let Some(one) = self.each.get(&fleet.id) {
            one.texts.send_if_modified(|known| {
                let is_new = *known != text;
                *known = text;
                is_new
            });
        }
    }

    /// All Fleets of this namespace are known.
    pub(super) fn listed(&self, namespace: &str) {
        self.served.listed(namespace);
    }

    pub(super) fn remove(&mut self, id: &ObjectId) {
        if self.each.remove(id).is_some() {
            self.served.remove(&id.namespace, &id.name);
        }
    }

    fn start(&self, fleet: &FleetObject, subscription: Subscription) -> One {
        let id = &fleet.id;
        let hints = self.hints(id).unwrap_or_default();
        let secrets = secrets(&self.client, &id.namespace, &subscription.secret);
        let key = (&*id.namespace, &*id.name);
        let (given, left) = (Arc::clone(&secrets), Arc::clone(&hints));
        let log = (
            wall_time as fn() -> Timestamp,
            fleet_span(&id.namespace, &id.name),
        );
        self.served.set(key, &subscription.url, given, left, log);
        let relay = Relay {
            fleet: format!("{}/{}", id.namespace, id.name),
            hints: Arc::clone(&hints),
            secrets,
        };
        let (client, fleet) = (self.client.clone(), Arc::new(fleet.clone()));
        let write = move |text: String| {
            let (client, fleet) = (client.clone(), Arc::clone(&fleet));
            async move { annotate_fleet(&client, &fleet, WEBHOOK_RECEIVED, &text).await }
        };
        let (texts, read) = watch::channel(None);
        let relaying = tokio::spawn(relay.run(self.holder.clone(), read, write));
        One {
            subscription,
            hints,
            texts,
            _relaying: AbortOnDropHandle::new(relaying),
        }
    }
}

/// Reads the Secret of the webhooks of a Fleet, if it has any, so that a mistake is reported before the first delivery.
///
/// # Errors
/// If it cannot be read, or has no secret, or an empty one.
pub(super) async fn check_secret(client: &Client, config: &SyncConfig) -> Result<(), AdapterError> {
    let Some(SourceCredential::Secret(name)) = &config.webhook_secret else {
        return Ok(());
    };
    let place = ObjectId::new("", "Secret", &*config.namespace, &**name);
    let help = |error: AdapterError| match error.class() {
        ErrorClass::Gone => AdapterError::new(
            ErrorClass::Gone,
            format!("{place} does not exist: create it, or correct spec.checks.webhookSecretRef"),
        ),
        _ => error,
    };
    read(client, &place).await.map(drop).map_err(help)
}

async fn read(client: &Client, secret: &ObjectId) -> Result<Secrets, AdapterError> {
    let keys = secret_keys(client, &secret.namespace, &secret.name).await?;
    Secrets::read(&secret.to_string(), &keys)
}

/// The secrets in a Secret, which is read when there is a delivery. While the cluster does not answer, they are those that were read last.
fn secrets(client: &Client, namespace: &str, name: &str) -> SecretSource {
    let place = ObjectId::new("", "Secret", namespace, name);
    let client = client.clone();
    let known = Arc::new(Mutex::new(None::<(Instant, Option<Arc<Secrets>>)>));
    Arc::new(move || {
        let (client, place, known) = (client.clone(), place.clone(), Arc::clone(&known));
        Box::pin(async move {
            let mut known = known.lock().await;
            if let Some((_, secrets)) = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
                return secrets.clone();
            }
            // A forge gives up after 10 seconds, and nothing would be known then.
            let reading = tokio::time::timeout(PATIENCE, read(&client, &place));
            let late =
                |_| AdapterError::new(ErrorClass::Transient, format!("{place}: no answer in time"));
            let secrets = match reading.await.map_err(late).flatten() {
                Ok(secrets) => Some(Arc::new(secrets)),
                Err(error) => {
                    tracing::warn!(%error, "the Secret of spec.checks.webhookSecretRef cannot be read: webhooks of the Fleet are refused, or compared with the secret that was read last");
                    let last = known.take().and_then(|(_, last)| last);
                    last.filter(|_| error.class() == ErrorClass::Transient)
                }
            };
            *known = Some((Instant::now(), secrets.clone()));
            secrets
        })
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::settings::Environment;

    fn refused(reason: &str, code: u16) -> Option<(u16, Json)> {
        let status = json!({"kind": "Status", "status": "Failure", "reason": reason, "message": "no", "code": code});
        Some((code, status))
    }

    #[tokio::test(start_paused = true)]
    async fn a_secret_is_read_every_30_seconds_and_outlives_an_outage_but_no_deletion() {
        let reads = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reads);
        let service = tower::service_fn(move |_: Request<Body>| {
            let answer = match count.fetch_add(1, Ordering::SeqCst) {
                0 => Some((
                    200,
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook"}, "data": {"token": "YQ=="}}),
                )),
                1 => refused("InternalError", 500),
                2 => None,
                _ => refused("NotFound", 404),
            };
            async move {
                let Some((code, answer)) = answer else {
                    return std::future::pending().await;
                };
                let body = Body::from(answer.to_string().into_bytes());
                let answer = Response::builder().status(code).body(body);
                Ok::<_, Infallible>(answer.expect("an answer"))
            }
        });
        let source = secrets(&Client::new(service, "n"), "n", "hook");
        for (after, is_known, read, takes) in [
            (0, true, 1, 0),
            (29, true, 1, 0),
            (1, true, 2, 0),
            (30, true, 3, 3),
            (30, false, 4, 0),
            (1, false, 4, 0),
        ] {
            tokio::time::sleep(Duration::from_secs(after)).await;
            let start = Instant::now();
            for _ in 0..100 {
                assert_eq!(source().await.is_some(), is_known, "{read}");
            }
            assert_eq!(start.elapsed().as_secs(), takes, "{read}");
            assert_eq!(reads.load(Ordering::SeqCst), read);
        }
    }

    #[tokio::test]
    async fn a_fleet_with_errors_keeps_its_webhooks_and_one_too_many_gets_none() {
        let service = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let client = Client::new(service, "n");
        let (_said, holder) = watch::channel(Holder::Us);
        let mut received = Received::new(&client, holder, BTreeSet::new());
        let fleet = |name: &str| FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", name),
            uid: "u".to_owned(),
            generation: Some(1),
            json: json!({}),
        };
        let plain = SyncConfig::source("https://h/o/r.git", None, &Environment::default());
        let hooked = SyncConfig {
            webhook_secret: Some(SourceCredential::Secret("hook".to_owned())),
            ..plain.clone()
        };
        let (a, b) = (fleet("a"), fleet("b"));
        received.set(&a, None, 1);
        assert!(received.hints(&a.id).is_none());
        received.set(&a, Some(&hooked), 1);
        received.set(&b, Some(&hooked), 1);
        assert!(received.hints(&a.id).is_some() && received.hints(&b.id).is_none());
        let hints = received.hints(&a.id).expect("some");
        let moved = SyncConfig {
            url: "https://h/o/other.git".to_owned(),
            ..hooked
        };
        for config in [None, Some(&moved)] {
            received.set(&a, config, 1);
            let now = received.hints(&a.id).expect("some");
            assert!(Arc::ptr_eq(&now, &hints), "what was asked before counts");
        }
        received.set(&a, Some(&plain), 1);
        assert!(received.hints(&a.id).is_none());
    }
}
