//! The clusters behind the API.
//!
//! In: requests that were read. Out: answers, from the newest snapshot; and orders for whoever writes. It does not know how clusters are
//! written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::hub::HubState;
use super::kubeconfigs::{Kubeconfigs, Place};
use super::pace::{NOTICED, Turn, at};
use super::state::{Entry, Snapshot};
use super::write::{Newer, Order, Writer, repeated};
use crate::adapters::kubernetes::Known;
use crate::adapters::service_provider::{Caller, Clusters, Create, Created};
use crate::api::fleet::ServiceProvider;
use crate::model::{Clock, hex};
use crate::provider::capabilities::Capabilities;
use crate::provider::conflict::Asked;
use crate::provider::definition::{check, platform};
use crate::provider::health::{Health, Readiness};
use crate::provider::instance::{Hosted, Instance, Stored};
use crate::provider::page::PageQuery;
use crate::provider::problem::Problem;
use crate::provider::request::{Dialect, Request};
use crate::provider::status::{State, Status};
use crate::provider::version::{Matrix, Releases};
use crate::provider::view::{Shown, created, kubeconfig_secret, list, read, shows_credentials};

/// The most kubeconfigs that a list reads at a time.
const AT_ONCE: usize = 16;
/// The longest wait for a kubeconfig.
const MOMENT: Duration = Duration::from_secs(2);
/// The seconds after which another process may write.
const HANDOVER: u32 = 15;

/// Everything behind the API.
pub(super) struct Provider {
    pub(super) settings: ServiceProvider,
    pub(super) matrix: Matrix,
    pub(super) state: watch::Receiver<Arc<Snapshot>>,
    pub(super) capabilities: watch::Receiver<Option<Capabilities>>,
    pub(super) kubeconfigs: Arc<Kubeconfigs>,
    pub(super) writer: Box<dyn Writer>,
    /// Tells if this process may write.
    pub(super) turn: Turn,
    /// True once the pull secret of the clusters is on the hub.
    pub(super) has_pull_secret: Arc<AtomicBool>,
    pub(super) health: Arc<Mutex<Health>>,
    pub(super) clock: Arc<dyn Clock>,
    /// The start of this process.
    pub(super) begun: Instant,
}

impl Provider {
    async fn create_one(&self, create: Create) -> Result<Created, Problem> {
        self.may_write()?;
        let Create {
            caller,
            chosen,
            key,
            request,
        } = create;
        check(&request, &self.settings)?;
        let dialect = request.dialect;
        let asked = Asked {
            chosen: chosen.as_deref(),
            key: key.as_deref(),
            request: &request,
            namespace: &self.settings.namespace,
        };
        let snapshot = self.state.borrow().clone();
        let duplicate = self.settings.duplicate_create;
        // A repetition is answered although its release may be gone meanwhile.
        let before = repeated(&snapshot, &Newer::default(), &asked, duplicate);
        if let Ok(Some(before)) = before {
            return Ok(self.answer(before, dialect));
        }
        if !self.has_pull_secret.load(Ordering::Relaxed) {
            let detail = "the pull secret of the clusters is not written yet: try again later; the log of this provider says why";
            return Err(before.err().unwrap_or_else(|| Problem::later(detail, 5)));
        }
        let image = self.image(&request, &snapshot.hub)?;
        let order = Order {
            caller,
            id: chosen.clone().map_or_else(fresh_id, Ok)?,
            chosen,
            key,
            request,
            image,
            at: self.clock.now(),
        };
        let stored = self.writer.create(&order).await?;
        tracing::info!(
            instance = stored.id,
            caller = %order.caller,
            "the service provider accepted a cluster"
        );
        // Whoever reads it next finds it.
        self.noticed(|snapshot| snapshot.entry(&stored.id).is_some())
            .await;
        Ok(self.answer(stored, dialect))
    }

    /// Waits a moment for a snapshot that shows what was written.
    async fn noticed(&self, shows: impl Fn(&Snapshot) -> bool) {
        let mut state = self.state.clone();
        tokio::select! {
            biased;
            _ = state.wait_for(|snapshot| shows(snapshot)) => {}
            () = at(Some(Instant::now() + NOTICED)) => {}
        }
    }

    fn answer(&self, stored: Stored, dialect: Dialect) -> Created {
        let id = stored.id.clone();
        let status = Status {
            state: State::Pending,
            message: String::new(),
        };
        let instance = Instance::new(stored);
        let shown = Shown {
            instance: &instance,
            status: &status,
            kubeconfig: None,
        };
        Created {
            cluster: created(&shown, dialect, &self.settings),
            id,
        }
    }

    /// The image of the release of a request, if the hub offers its platform and its version.
    fn image(&self, request: &Request, hub: &HubState) -> Result<String, Problem> {
        let platform = platform(request, &self.settings);
        let unknown = || {
            Problem::later(
                "the provider does not know yet what the hub offers: try again later",
                5,
            )
        };
        let capabilities = self.capabilities.borrow().clone().ok_or_else(unknown)?;
        let offered = capabilities.is_offered(platform);
        offered.map_err(|error| Problem::unprocessable(error.to_string()))?;
        if let Some(image) = &request.release_image {
            return Ok(image.clone());
        }
        if matches!(hub.image_sets, Known::Unread | Known::Unreadable(_)) {
            return Err(unknown());
        }
        let sets = HubState::values(&hub.image_sets);
        let releases = Releases::new(&sets, self.matrix.clone());
        let release = releases.resolve(&request.version);
        let release = release.map_err(|error| Problem::unprocessable(error.to_string()))?;
        Ok(release.image)
    }

    /// Refuses to write while another process does.
    fn may_write(&self) -> Result<(), Problem> {
        if self.turn.is_ours() {
            return Ok(());
        }
        let detail = "another replica of this provider writes: send the request again";
        Err(Problem::later(detail, HANDOVER))
    }

    fn whole(&self) -> Result<Arc<Snapshot>, Problem> {
        let snapshot = self.state.borrow().clone();
        if snapshot.is_whole {
            return Ok(snapshot);
        }
        Err(Problem::later(
            "the provider does not know all clusters yet: try again later",
            5,
        ))
    }

    /// The kubeconfig of a cluster; `None` if it cannot be had in a moment.
    async fn kubeconfig(&self, hosted: &Hosted, stored: &Stored) -> Option<String> {
        let place = Place {
            namespace: stored.namespace.clone(),
            secret: kubeconfig_secret(hosted)?.to_owned(),
            cluster: hosted.cluster["metadata"]["uid"].as_str()?.to_owned(),
        };
        tokio::select! {
            biased;
            read = self.kubeconfigs.get(place) => read,
            () = at(Some(Instant::now() + MOMENT)) => None,
        }
    }

    async fn shown(&self, entry: &Entry, with_kubeconfig: bool) -> Json {
        let hosted = entry.instance.hosted.as_ref();
        let hosted = hosted.filter(|_| with_kubeconfig && shows_credentials(entry.status.state));
        let kubeconfig = match hosted {
            Some(hosted) => self.kubeconfig(hosted, &entry.instance.stored).await,
            None => None,
        };
        if kubeconfig.is_some() {
            tracing::info!(
                instance = entry.instance.stored.id,
                "a kubeconfig was disclosed"
            );
        }
        let shown = Shown {
            instance: &entry.instance,
            status: &entry.status,
            kubeconfig: kubeconfig.as_deref(),
        };
        read(&shown, &self.settings)
    }
}

impl Clusters for Provider {
    fn create(&self, create: Create) -> BoxFuture<'_, Result<Created, Problem>> {
        self.create_one(create).boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Json, Problem>> {
        async move {
            let snapshot = self.whole()?;
            let entry = snapshot.entry(id).ok_or_else(|| Problem::no_cluster(id))?;
            Ok(self.shown(entry, true).await)
        }
        .boxed()
    }

    fn list(&self, page: PageQuery) -> BoxFuture<'_, Result<Json, Problem>> {
        async move {
            let snapshot = self.whole()?;
            let key = |entry: &Entry| {
                let stored = &entry.instance.stored;
                (stored.name.clone(), stored.id.clone())
            };
            let (entries, next) = page.page(&snapshot.entries, key);
            let with_kubeconfig = self.settings.kubeconfig_in_lists;
            let mut clusters = Vec::with_capacity(entries.len());
            for some in entries.chunks(AT_ONCE) {
                let shown = some.iter().map(|entry| self.shown(entry, with_kubeconfig));
                clusters.extend(join_all(shown).await);
            }
            Ok(list(clusters, next, &self.settings))
        }
        .boxed()
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        async move {
            self.may_write()?;
            let snapshot = self.whole()?;
            let instance = snapshot.entry(id).map(|entry| &entry.instance);
            instance.map_or(Ok(()), is_one)?;
            self.writer.delete(id, caller).await?;
            tracing::info!(instance = id, %caller, "the service provider deletes a cluster");
            // Whoever reads it next sees that it goes, or what that waits for.
            self.noticed(|snapshot| {
                let awaits = |entry: &Entry| entry.instance.review.is_some();
                let entry = snapshot.entry(id);
                entry.is_none_or(|entry| entry.is_going() || awaits(entry))
            })
            .await;
            Ok(())
        }
        .boxed()
    }

    fn health(&self) -> Json {
        let has_pull_secret = self.has_pull_secret.load(Ordering::Relaxed);
        let readiness = Readiness {
            knows_all: self.state.borrow().is_whole,
            // Only who may write looks after it.
            has_pull_secret: has_pull_secret || !self.turn.is_ours(),
        };
        let report = self.health.lock().report(readiness, self.begun.elapsed());
        serde_json::to_value(report).unwrap_or_default()
    }
}

/// Refuses to delete one of several clusters with the same ID.
fn is_one(instance: &Instance) -> Result<(), Problem> {
    if instance.twins.is_empty() {
        return Ok(());
    }
    let twins = instance.twins.join(", ");
    let detail = format!(
        "other clusters on the hub have this ID, too: {twins}; remove their label dcm-instance-id first"
    );
    Err(Problem::exists(detail))
}

/// A random UUID, version 4.
fn fresh_id() -> Result<String, Problem> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Problem::internal())?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = hex(&bytes);
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let parts = parts.iter().filter_map(|(from, to)| text.get(*from..*to));
    Ok(parts.collect::<Vec<_>>().join("-"))
}
