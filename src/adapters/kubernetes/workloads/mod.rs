//! The nodes of workload clusters, watched at their API servers.
//!
//! In: the kubeconfig that a controller found in the Secret of a Cluster. Out: the nodes of that cluster that belong to a
//! node pool, at once and whenever they change. A watch that breaks is taken up again with back-off, and what broke it is
//! reported once. The writer of the Secret is trusted with that cluster, not with this machine: the kubeconfig must not run
//! a program or read a file, and the certificate of the server is verified whatever it says, with the system's authorities
//! if it names none. Nothing from it is ever reported. It does not know what nodes are counted for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt as _};
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Config, ResourceExt as _};

use super::secret::{Fault, client_of, config_of};
use super::watch::{classified, patient};
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
                Ok(api) => Watch::new(cluster, api, clock).heard(),
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

/// The nodes behind a kubeconfig, or why it cannot be used. No request is sent yet.
async fn connect(kubeconfig: &[u8]) -> Result<Api<Node>, Fault> {
    let client = client_of(verified(kubeconfig).await?)?;
    Ok(Api::all(patient(&client)))
}

/// What the kubeconfig says, but that the certificate of the server is always verified.
async fn verified(kubeconfig: &[u8]) -> Result<Config, Fault> {
    let mut config = config_of(kubeconfig).await?;
    config.accept_invalid_certs = false;
    Ok(config)
}

fn error(cluster: &ObjectId, class: ErrorClass, why: &str) -> AdapterError {
    let message = format!("the nodes of {cluster} cannot be watched: {why}");
    AdapterError::new(class, message)
}

/// A watch of the nodes of one cluster.
struct Watch {
    cluster: ObjectId,
    clock: Arc<dyn Clock>,
    events: BoxStream<'static, watcher::Result<Event<Node>>>,
    /// The nodes by name, once a list was complete.
    nodes: BTreeMap<String, WorkloadNode>,
    /// The nodes of a list in progress.
    listed: BTreeMap<String, WorkloadNode>,
    is_listed: bool,
    /// How often it broke in a row, how the last time, and how long to wait before it is taken up again.
    failures: u32,
    broken: Option<AdapterError>,
    wait: Option<Duration>,
}

impl Watch {
    fn new(cluster: ObjectId, api: Api<Node>, clock: Arc<dyn Clock>) -> Self {
        let pools = watcher::Config::default().labels(NODE_POOL);
        Self {
            cluster,
            clock,
            events: watcher::watcher(api, pools).boxed(),
            nodes: BTreeMap::new(),
            listed: BTreeMap::new(),
            is_listed: false,
            failures: 0,
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
                Ok(event) => self.absorb(event).map(Ok),
                Err(broken) => self.fail(&broken).map(Err),
            };
            if heard.is_some() {
                return heard;
            }
        }
    }

    /// Takes in an event; the nodes if it changed them, or if they are known again.
    fn absorb(&mut self, event: Event<Node>) -> Option<Vec<WorkloadNode>> {
        let changed = match event {
            Event::Init => {
                self.listed.clear();
                return None;
            }
            Event::InitApply(node) => {
                self.listed.insert(node.name_any(), read(&node));
                return None;
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let is_first = !std::mem::replace(&mut self.is_listed, true);
                let before = std::mem::replace(&mut self.nodes, listed);
                is_first || before != self.nodes
            }
            Event::Apply(node) => {
                let node = read(&node);
                let before = self.nodes.insert(node.name.clone(), node.clone());
                before != Some(node)
            }
            Event::Delete(node) => self.nodes.remove(&node.name_any()).is_some(),
        };
        self.failures = 0;
        let was_broken = self.broken.take().is_some();
        (changed || was_broken).then(|| self.nodes.values().cloned().collect())
    }

    /// Backs off; the error, unless it was reported already.
    fn fail(&mut self, broken: &watcher::Error) -> Option<AdapterError> {
        let (class, why) = classified(broken);
        self.failures += 1;
        let wait = backoff(class, self.failures, None).wait;
        self.wait = Some(self.clock.real(wait));
        let error = error(&self.cluster, class, &why);
        let before = self.broken.replace(error.clone());
        (before.as_ref() != Some(&error)).then_some(error)
    }
}

/// What counts of a node.
fn read(node: &Node) -> WorkloadNode {
    let conditions = node
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    let spec = node.spec.as_ref();
    WorkloadNode {
        name: node.name_any(),
        pool: node.labels().get(NODE_POOL).cloned().unwrap_or_default(),
        provider_id: spec
            .and_then(|spec| spec.provider_id.clone())
            .unwrap_or_default(),
        ready: conditions.any(|one| one.type_ == "Ready" && one.status == "True"),
    }
}

#[cfg(test)]
mod tests;
