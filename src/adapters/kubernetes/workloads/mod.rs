//! The nodes of workload clusters, watched at their API servers.
//!
//! In: the kubeconfig that a controller found in the Secret of a Cluster. Out: the nodes of that cluster that belong to a
//! node pool, at once and whenever they change. A watch that breaks is taken up again with back-off, and what broke it is
//! reported once. The writer of the Secret is trusted with that cluster, not with this machine: the kubeconfig must not run
//! a program or read a file, and the certificate of the server is verified whatever it says, with the system's authorities
//! if it names none. Nothing from it is ever reported. That server may be anybody's: its answers are bounded, and what it sends
//! beyond is an error of that cluster alone. It does not know what nodes are counted for.

mod bounds;
mod seen;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Config};
use tokio::time::Instant;

use self::bounds::{Bounds, MOST_NODES, PAGE, too_many};
use self::seen::Seen;
use super::kubeconfig::{Fault, client_of, config_of};
use super::watch::{cause, classified, patient};
use crate::api::labels::NODE_POOL;
use crate::apply::backoff;
use crate::model::{AdapterError, Clock, ErrorClass, ObjectId, WorkloadNode, Workloads};

/// The workload clusters behind their kubeconfigs.
#[derive(Clone)]
pub struct KubeWorkloads {
    clock: Arc<dyn Clock>,
}

impl KubeWorkloads {
    /// Nothing is connected to yet; pauses pass on `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl fmt::Debug for KubeWorkloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeWorkloads").finish_non_exhaustive()
    }
}

/// What is heard of a workload cluster.
type Heard = Result<Vec<WorkloadNode>, AdapterError>;

impl Workloads for KubeWorkloads {
    fn nodes(&self, cluster: &ObjectId, kubeconfig: &[u8]) -> BoxStream<'static, Heard> {
        let (cluster, kubeconfig) = (cluster.clone(), kubeconfig.to_vec());
        let clock = Arc::clone(&self.clock);
        let watch = async move {
            match connect(&kubeconfig).await {
                Ok(client) => Watch::new(cluster, &client, clock).heard(),
                // Only another kubeconfig helps.
                Err(why) => {
                    let error = error(&cluster, ErrorClass::Invalid, &why.to_string());
                    stream::iter([Err(error)]).chain(stream::pending()).boxed()
                }
            }
        };
        stream::once(watch).flatten().boxed()
    }
}

/// A client of the cluster behind a kubeconfig, or why it cannot be used. No request is sent yet.
async fn connect(kubeconfig: &[u8]) -> Result<Client, Fault> {
    client_of(verified(kubeconfig).await?)
}

/// What the kubeconfig says, but that the certificate of the server is always verified.
async fn verified(kubeconfig: &[u8]) -> Result<Config, Fault> {
    let mut config = config_of(kubeconfig).await?;
    config.accept_invalid_certs = false;
    Ok(config)
}

/// How long a watch has to hold until the times that it broke before are forgotten: a server that breaks it again and again is
/// asked more rarely each time, whatever it says in between.
const HELD: Duration = Duration::from_secs(120);

fn error(cluster: &ObjectId, class: ErrorClass, why: &str) -> AdapterError {
    let message = format!("the nodes of {cluster} cannot be watched: {why}");
    AdapterError::new(class, message)
}

/// A watch of the nodes of one cluster.
struct Watch {
    cluster: ObjectId,
    clock: Arc<dyn Clock>,
    bounds: Bounds,
    events: BoxStream<'static, watcher::Result<Event<Seen>>>,
    /// The nodes by name, once a list was complete.
    nodes: BTreeMap<String, WorkloadNode>,
    /// The nodes of a list in progress.
    listed: BTreeMap<String, WorkloadNode>,
    is_listed: bool,
    /// How often it broke in a row, when and how the last time, and how long to wait before it is taken up again.
    failures: u32,
    failed: Option<Instant>,
    broken: Option<AdapterError>,
    wait: Option<Duration>,
}

impl Watch {
    fn new(cluster: ObjectId, client: &Client, clock: Arc<dyn Clock>) -> Self {
        let pools = watcher::Config::default().labels(NODE_POOL);
        let bounds = Bounds::new(Arc::clone(&clock));
        let api: Api<Seen> = Api::all(patient(&bounds.around(client)));
        Self {
            cluster,
            clock,
            bounds,
            events: watcher::watcher(api, pools.page_size(PAGE)).boxed(),
            nodes: BTreeMap::new(),
            listed: BTreeMap::new(),
            is_listed: false,
            failures: 0,
            failed: None,
            broken: None,
            wait: None,
        }
    }

    fn heard(self) -> BoxStream<'static, Heard> {
        let next = |mut watch: Self| async move {
            let heard = watch.next().await?;
            Some((heard, watch))
        };
        stream::unfold(self, next).boxed()
    }

    /// The next thing worth reporting.
    async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(wait) = self.wait.take() {
                tokio::time::sleep(wait).await;
            }
            let heard = match self.events.next().await? {
                Ok(Event::Apply(seen)) if !self.has_room(&seen) => {
                    self.fail(ErrorClass::Invalid, &too_many()).map(Err)
                }
                Ok(event) => self.absorb(event).map(Ok),
                Err(broken) => {
                    let (class, why) = self.why(&broken);
                    self.fail(class, &why).map(Err)
                }
            };
            if heard.is_some() {
                return heard;
            }
        }
    }

    /// Whether a node can be one more.
    fn has_room(&self, seen: &Seen) -> bool {
        self.nodes.len() < MOST_NODES || self.nodes.contains_key(&seen.node.name)
    }

    /// Takes in an event; the nodes if it changed them, or if they are known again.
    fn absorb(&mut self, event: Event<Seen>) -> Option<Vec<WorkloadNode>> {
        let changed = match event {
            Event::Init => {
                self.listed.clear();
                return None;
            }
            Event::InitApply(Seen { node, .. }) => {
                self.listed.insert(node.name.clone(), node);
                return None;
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let is_first = !std::mem::replace(&mut self.is_listed, true);
                let before = std::mem::replace(&mut self.nodes, listed);
                is_first || before != self.nodes
            }
            Event::Apply(Seen { node, .. }) => {
                let before = self.nodes.insert(node.name.clone(), node.clone());
                before != Some(node)
            }
            Event::Delete(seen) => self.nodes.remove(&seen.node.name).is_some(),
        };
        let held = self.clock.real(HELD);
        if self.failed.is_some_and(|at| at.elapsed() >= held) {
            self.failures = 0;
        }
        let was_broken = self.broken.take().is_some();
        (changed || was_broken).then(|| self.nodes.values().cloned().collect())
    }

    /// Why the watch broke. What is beyond a limit does not pass by itself.
    fn why(&self, broken: &watcher::Error) -> (ErrorClass, String) {
        if let Some(beyond) = self.bounds.beyond() {
            return (
                ErrorClass::Invalid,
                format!("its API server is not read: {beyond}"),
            );
        }
        let unlike = "it does not answer like an API server";
        match cause(broken) {
            Some(kube::Error::SerdeError(cause)) => {
                (ErrorClass::Invalid, format!("{unlike}: {cause}"))
            }
            // A line that is no node is read as a refusal that says nothing.
            Some(kube::Error::Api(status)) if status.code == 0 && status.message.is_empty() => {
                (ErrorClass::Invalid, unlike.to_owned())
            }
            _ => classified(broken),
        }
    }

    /// Backs off; the error, unless it was reported already.
    fn fail(&mut self, class: ErrorClass, why: &str) -> Option<AdapterError> {
        self.failures = self.failures.saturating_add(1);
        let wait = self.clock.real(backoff(class, self.failures, None).wait);
        self.wait = Some(wait);
        self.failed = Some(Instant::now() + wait);
        let error = error(&self.cluster, class, why);
        let before = self.broken.replace(error.clone());
        (before.as_ref() != Some(&error)).then_some(error)
    }
}

#[cfg(test)]
mod tests;
