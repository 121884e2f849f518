//! The Lease that one of several processes holds.
//!
//! In: a name for this process. Out: whether it holds the Lease, and for how long. The rule is
//! [`Election`]'s. It does not know what the holder may do.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::Error;
use super::parent::make_namespace;
use crate::model::{Clock, ObjectId, is_dns_label, is_dns_subdomain};
use crate::reconcile::lease::{Election, RENEW, Turn};

/// The namespace and name of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl LeaseName {
    /// Reads `namespace/name`. Whoever may write the parent may write anything there.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        let can_exist = is_dns_label(namespace) && is_dns_subdomain(name);
        can_exist.then(|| Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What one look at the Lease led to.
#[derive(Debug)]
pub(super) enum Round {
    /// It is ours.
    Held,
    /// It is somebody else's.
    Others(String),
    /// The answer is missing, or an error.
    Failed(Error),
}

/// One Lease, and the part of this process in its election.
pub(super) struct Lease {
    client: Client,
    id: ObjectId,
    election: Election,
    /// Our field manager.
    manager: &'static str,
    /// Its namespace is made if it is missing. Otherwise the Lease counts as held as long as it is missing: nothing is in it.
    makes_namespace: bool,
}

impl Lease {
    /// The Lease `name`, for a process of this name.
    pub(super) fn new(client: Client, namespace: &str, name: &str, identity: String) -> Self {
        Self {
            client,
            id: ObjectId::new("coordination.k8s.io", "Lease", namespace, name),
            election: Election::new(identity),
            manager: crate::plan::MANAGER,
            makes_namespace: true,
        }
    }

    /// The same in a namespace that somebody else makes.
    pub(super) fn existing(client: Client, namespace: &str, name: &str, identity: String) -> Self {
        Self {
            makes_namespace: false,
            ..Self::new(client, namespace, name, identity)
        }
    }

    /// How long this process may go on without another round; `None` if it does not hold the Lease.
    pub(super) fn left(&self, now: Timestamp) -> Option<Duration> {
        let until = self.election.leads_until(now)?;
        Duration::try_from(until.duration_since(now)).ok()
    }

    /// Looks at the Lease once, and takes or renews it if that may be.
    pub(super) async fn round(&mut self, clock: &dyn Clock) -> Round {
        let begun = clock.now();
        // Nothing that a late answer says is true any more.
        let most = self.left(begun).unwrap_or(RENEW);
        match tokio::time::timeout(clock.real(most), self.attempt(clock)).await {
            Ok(Ok(None)) => {
                self.election.won(begun);
                Round::Held
            }
            Ok(Ok(Some(holder))) => {
                self.election.lost();
                Round::Others(holder)
            }
            Ok(Err(error)) => Round::Failed(error),
            Err(_) => Round::Failed(Error::Silent {
                object: self.id.clone(),
                patience: most,
            }),
        }
    }

    /// Looks at the Lease for at most this long, and does not take it. Returns who else holds it.
    pub(super) async fn look(
        &mut self,
        clock: &dyn Clock,
        most: Duration,
    ) -> Result<Option<String>, Error> {
        let Ok(live) = tokio::time::timeout(clock.real(most), self.read()).await else {
            return Err(Error::Silent {
                object: self.id.clone(),
                patience: most,
            });
        };
        Ok(match self.election.read(live?.as_ref(), clock.now()) {
            Turn::Wait(holder) => Some(holder),
            Turn::Create(_) | Turn::Replace(_) => None,
        })
    }

    /// Who else holds it, if so.
    async fn attempt(&mut self, clock: &dyn Clock) -> Result<Option<String>, Error> {
        let live = self.read().await?;
        let turn = self.election.read(live.as_ref(), clock.now());
        let written = match turn {
            Turn::Wait(holder) => return Ok(Some(holder)),
            Turn::Create(spec) => self.create(&spec).await,
            Turn::Replace(lease) => self.replace(&lease).await,
        };
        match written {
            // Somebody else was faster.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Some(String::new())),
            answer => answer.map(|()| None).map_err(|error| self.error(error)),
        }
    }

    /// Gives the Lease up, if it is ours, so that nobody waits until it expires.
    pub(super) async fn release(&mut self, clock: &dyn Clock) {
        if self.left(clock.now()).is_none() {
            return;
        }
        self.election.lost();
        let released = async {
            let Some(live) = self.read().await? else {
                return Ok(());
            };
            if !self.election.holds(&live) {
                return Ok(());
            }
            let lease = Election::released(&live, clock.now());
            let replaced = self.replace(&lease).await;
            replaced.map_err(|error| self.error(error))
        };
        let answer = tokio::time::timeout(clock.real(RENEW), released).await;
        if let Ok(Err(error)) = answer {
            tracing::debug!(%error, "the Lease is not released; it expires");
        }
    }

    async fn read(&self) -> Result<Option<Value>, Error> {
        let live = self.api().get_opt(&self.id.name).await;
        let live = live.map_err(|error| self.error(error))?;
        Ok(live.and_then(|live| serde_json::to_value(live).ok()))
    }

    async fn create(&self, spec: &Value) -> Result<(), kube::Error> {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": self.id.name, "namespace": self.id.namespace}, "spec": spec});
        let lease = serde_json::from_value(lease).map_err(kube::Error::SerdeError)?;
        let params = self.params();
        match self.api().create(&params, &lease).await {
            Err(kube::Error::Api(status)) if status.code == 404 && !self.makes_namespace => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                // What is refused here is named by the next look.
                let made = make_namespace(&self.client, &self.id.namespace).await;
                made.map_err(|_| kube::Error::Api(status))?;
                self.api().create(&params, &lease).await.map(drop)
            }
            answer => answer.map(drop),
        }
    }

    async fn replace(&self, lease: &Value) -> Result<(), kube::Error> {
        let lease = serde_json::from_value(lease.clone()).map_err(kube::Error::SerdeError)?;
        let (api, name) = (self.api(), &self.id.name);
        api.replace(name, &self.params(), &lease).await.map(drop)
    }

    fn params(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.manager.to_owned()),
            ..PostParams::default()
        }
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(&self.id.group, "v1", &self.id.kind);
        let resource = ApiResource::from_gvk(&kind);
        Api::namespaced_with(self.client.clone(), &self.id.namespace, &resource)
    }

    fn error(&self, error: kube::Error) -> Error {
        Error::new(&self.id, error)
    }
}
