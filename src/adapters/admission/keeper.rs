//! Keeps the certificates: makes them, renews them, shows the newest and has the API server trust it.
//!
//! In: the Secret that replicas share, the webhook's configuration, the time. Out: the certificate that is shown. Each
//! replica does the same; the Secret's version decides who was first. The API server refuses changes for want of an answer
//! only ten seconds after it was found to trust what is shown here. It does not know: who connects.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use parking_lot::Mutex;

use super::certificates::{Lifetimes, Serving};
use super::injection::Injection;
use super::secret::Secrets;
use crate::admission::{CONFIGURATION, SECRET, SERVICE};
use crate::api::fleet::FailurePolicy;
use crate::model::{AdapterError, Clock, ErrorClass};

/// How often it looks.
const LOOK: Duration = Duration::from_secs(30);
/// The same, after an error.
const RETRY: Duration = Duration::from_secs(5);
/// The same, while the failure policy is not yet as it is set. So long the API server must have trusted what is shown before
/// it is raised: until then, the Service leads to a process that is ready.
const RAISE: Duration = Duration::from_secs(10);
/// How often others may be faster in one round.
const ATTEMPTS: usize = 5;

/// What the objects are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// The namespace of the Secret and of the Service.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
    /// The ValidatingWebhookConfiguration.
    pub configuration: String,
    /// More hosts that the API server reaches the webhook by.
    pub hosts: Vec<String>,
}

impl Names {
    /// The names in the manifests.
    #[must_use]
    pub fn in_namespace(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            secret: SECRET.to_owned(),
            configuration: CONFIGURATION.to_owned(),
            hosts: Vec::new(),
        }
    }

    /// What the certificate is for, in order.
    fn all_hosts(&self) -> Vec<String> {
        let service = format!("{SERVICE}.{}.svc", self.namespace);
        let mut hosts = vec![format!("{service}.cluster.local"), service];
        hosts.extend(self.hosts.iter().cloned());
        hosts.sort();
        hosts.dedup();
        hosts
    }
}

/// What the API server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It does not ask: there is no configuration.
    Never,
    /// It asks, but does not wait for an answer yet.
    Leniently,
    /// It asks, with the failure policy that is set.
    AsSet,
}

/// Keeps the certificates.
pub struct Keeper {
    secrets: Secrets,
    injection: Injection,
    hosts: Vec<String>,
    lifetimes: Lifetimes,
    clock: Arc<dyn Clock>,
    serving: Arc<Serving>,
    /// Since when each round has found that the API server trusts what is shown.
    trusted_since: Mutex<Option<Timestamp>>,
}

impl Keeper {
    /// Keeps those that `names` says, and shows them by `serving`.
    pub fn new(
        client: &Client,
        names: Names,
        policy: FailurePolicy,
        lifetimes: Lifetimes,
        clock: Arc<dyn Clock>,
        serving: Arc<Serving>,
    ) -> Self {
        Self {
            hosts: names.all_hosts(),
            secrets: Secrets {
                client: client.clone(),
                namespace: names.namespace,
                name: names.secret,
            },
            injection: Injection {
                client: client.clone(),
                name: names.configuration,
                policy,
            },
            lifetimes,
            clock,
            serving,
            trusted_since: Mutex::default(),
        }
    }

    /// Does so until it is dropped.
    pub async fn run(self) {
        let mut said = String::new();
        loop {
            let wait = match self.round().await {
                Ok(asked) => {
                    let name = &self.injection.name;
                    let absent = format!(
                        "ValidatingWebhookConfiguration//{name} does not exist, so no change is checked; `capstan install --component admission` prints it"
                    );
                    let is_absent = asked == Asked::Never;
                    say(&mut said, if is_absent { &absent } else { "" });
                    let is_early = asked == Asked::Leniently;
                    if is_early { RAISE } else { LOOK }
                }
                Err(error) => {
                    say(&mut said, &error.to_string());
                    RETRY
                }
            };
            tokio::time::sleep(self.clock.real(wait)).await;
        }
    }

    /// Looks once, and does what is due. Says whether the API server asks.
    ///
    /// # Errors
    /// If the Secret or the configuration cannot be read or written.
    pub async fn round(&self) -> Result<Asked, AdapterError> {
        for _ in 0..ATTEMPTS {
            match self.attempt().await {
                Err(error) if error.class() == ErrorClass::Conflict => {}
                ended => return ended,
            }
        }
        let message = "others keep changing the certificates";
        Err(AdapterError::new(ErrorClass::Conflict, message))
    }

    async fn attempt(&self) -> Result<Asked, AdapterError> {
        let held = self.secrets.read().await?;
        // What cannot be shown is made anew below, or reported there.
        let _ = self.serving.show(&held.store);
        let current = self.injection.read().await?;
        let trusted = current.as_ref().map(|current| current.bundle.as_str());
        let (now, mut store) = (self.clock.now(), held.store.clone());
        let mut is_new = false;
        while let Some(task) = store.task(now, &self.hosts, trusted, &self.lifetimes) {
            let done = store.carry_out(&task, now, &self.hosts, &self.lifetimes);
            done.map_err(|error| {
                AdapterError::new(
                    ErrorClass::Bug,
                    format!("cannot make a certificate: {error}"),
                )
            })?;
            tracing::info!("admission: {task}");
            is_new = true;
        }
        if is_new {
            self.secrets.write(held, &store).await?;
        }
        let bundle = store.bundle_beside(trusted.unwrap_or_default(), now, &self.lifetimes);
        let is_known = current
            .as_ref()
            .is_none_or(|current| current.trusts(&bundle));
        // What the API server does not trust yet is shown in the next round, unless there is nothing else to show.
        if is_known || !self.serving.is_ready() {
            let shown = self.serving.show(&store);
            shown.map_err(|error| AdapterError::new(ErrorClass::Invalid, error))?;
        }
        let Some(current) = &current else {
            return Ok(Asked::Never);
        };
        let is_trusted = self.serving.is_ready() && current.trusts(&bundle);
        let is_proven = self.is_proven(is_trusted, now);
        let is_done = self.injection.write(current, &bundle, is_proven).await?;
        Ok(if is_done {
            Asked::AsSet
        } else {
            Asked::Leniently
        })
    }

    /// Whether the API server has trusted for long enough what is shown; `is_trusted` says whether it does `now`.
    fn is_proven(&self, is_trusted: bool, now: Timestamp) -> bool {
        let mut since = self.trusted_since.lock();
        *since = is_trusted.then(|| since.unwrap_or(now));
        since.is_some_and(|since| now >= since + RAISE)
    }
}

/// Logs what differs from what was said last.
fn say(said: &mut String, text: &str) {
    if said != text {
        text.clone_into(said);
        if !text.is_empty() {
            tracing::warn!("admission: {text}");
        }
    }
}
