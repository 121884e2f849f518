//! The cluster that a command works on: a real one, or a simulated one in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::embedded::{Embedded, supply};
use super::private_link::SimulatedPrivateLinks;
use super::served::{self, Served};
use crate::adapters::kubernetes::{Access, ConnectError, Target, classify, connect, connect_named};
use crate::daemon::{View, WallClock, wall_time};
use crate::graph::Graph;
use crate::model::ObjectId;
use crate::settings::Environment;
use kube_sim::SimClock;

/// Which real cluster. By default the one this process runs in, else the current one of KUBECONFIG or
/// `~/.kube/config`.
#[derive(Debug, Args)]
pub(super) struct AccessArgs {
    /// A kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,
}

impl AccessArgs {
    /// The cluster of a kubeconfig.
    pub(super) const fn of(kubeconfig: PathBuf) -> Self {
        Self {
            kubeconfig: Some(kubeconfig),
            context: None,
        }
    }

    pub(super) fn access(&self) -> Access {
        Access {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }

    /// Returns true if no cluster is named.
    pub(super) const fn is_default(&self) -> bool {
        self.kubeconfig.is_none() && self.context.is_none()
    }
}

/// Which cluster.
#[derive(Debug, Args)]
pub(super) struct ClusterArgs {
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// Use a simulated cluster in this process
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    pub(super) embedded: bool,
    /// How many times faster than real time the simulated cluster runs
    #[arg(long, default_value_t = 60, requires = "embedded", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) speed: u32,
}

/// A cluster to work on; a simulated one ends when this is dropped.
pub(super) enum Cluster {
    Real(Target),
    Simulated(Embedded),
}

impl Cluster {
    /// The cluster that the flags mean. `settle` is how long simulated role assignments need to come
    /// into force, and `links` are the controllers of private clusters there.
    pub(super) async fn open(
        args: &ClusterArgs,
        settle: Duration,
        links: &SimulatedPrivateLinks,
    ) -> anyhow::Result<Self> {
        if args.embedded {
            return Self::simulated(args.speed, settle, links).await;
        }
        let client = client(&args.access).await.map_err(|error| match error {
            ConnectError::Nowhere(_) => {
                anyhow::anyhow!("{error}, or --embedded for a simulated cluster")
            }
            error => error.into(),
        })?;
        Ok(Self::Real(Target::new(
            client,
            Arc::new(WallClock::start()),
        )))
    }

    /// None: each request is refused.
    pub(super) fn absent() -> Self {
        let refuse = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            Err::<http::Response<kube::client::Body>, _>(std::io::Error::other(
                "this process is connected with no cluster",
            ))
        });
        Self::Real(Target::new(
            Client::new(refuse, "default"),
            Arc::new(WallClock::start()),
        ))
    }

    /// A simulated one, whose time passes `speed` times faster than outside.
    pub(super) async fn simulated(
        speed: u32,
        settle: Duration,
        links: &SimulatedPrivateLinks,
    ) -> anyhow::Result<Self> {
        let clock = SimClock::new(wall_time(), speed);
        let embedded = Embedded::start(clock, settle, links).await?;
        Ok(Self::Simulated(embedded))
    }

    /// Fails when the cluster does not answer. A daemon can wait; a single command cannot.
    pub(super) async fn check(&self) -> anyhow::Result<()> {
        let answer = self.target().client.apiserver_version().await;
        answer.map(drop).map_err(|error| {
            let (_, why) = classify(&error);
            anyhow::anyhow!("nothing is applied: {why}")
        })
    }

    pub(super) const fn target(&self) -> &Target {
        match self {
            Self::Real(target) => target,
            Self::Simulated(embedded) => &embedded.target,
        }
    }

    /// Makes what a fleet expects of its cluster on a simulated one, and names it.
    pub(super) async fn supply(&self, graph: &Graph) -> anyhow::Result<Vec<ObjectId>> {
        match self {
            Self::Real(_) => Ok(Vec::new()),
            Self::Simulated(embedded) => {
                supply(&embedded.target.client, graph, &embedded.expected).await
            }
        }
    }

    /// Serves the API of a simulated one to other programs of this user.
    pub(super) async fn serve(&self, cache: &Path, fleet: &str) -> anyhow::Result<Option<Served>> {
        match self {
            Self::Real(_) => Ok(None),
            Self::Simulated(embedded) => {
                let (router, hosted) = (embedded.router.clone(), embedded.hosted());
                Ok(Some(Served::start(router, hosted, cache, fleet).await?))
            }
        }
    }

    /// Makes on a simulated one what each revision in the view expects of its cluster, until the answer is dropped.
    pub(super) fn supply_revisions(
        &self,
        view: watch::Receiver<View>,
    ) -> Option<AbortOnDropHandle<()>> {
        match self {
            Self::Real(_) => None,
            Self::Simulated(embedded) => {
                let client = embedded.target.client.clone();
                let expected = embedded.expected.clone().into();
                let supplying = supply_revisions(client, expected, view);
                Some(AbortOnDropHandle::new(tokio::spawn(supplying)))
            }
        }
    }
}

/// A client of the real cluster that the flags mean.
pub(super) async fn client(args: &AccessArgs) -> Result<Client, ConnectError> {
    connect(&args.access()).await
}

/// A cluster whose fleets are looked at or steered.
pub(super) struct Found {
    pub(super) client: Client,
    /// Its name in messages.
    pub(super) name: String,
    /// True if it is the simulated one of a running daemon.
    pub(super) is_simulated: bool,
}

impl Found {
    /// The cluster of the flags; otherwise the one that the environment names; otherwise the simulated cluster of a
    /// running daemon, of `fleet` if that is given; otherwise the one of `~/.kube/config`.
    pub(super) async fn find(
        args: &AccessArgs,
        fleet: Option<&str>,
        environment: &Environment,
    ) -> anyhow::Result<Self> {
        let simulated = match args.is_default() && !environment.names_cluster {
            true => served::running(&environment.cache, fleet)?,
            false => None,
        };
        Ok(match simulated {
            Some(file) => Self {
                name: format!(
                    "the simulated cluster of a running daemon ({})",
                    file.display()
                ),
                client: client(&AccessArgs::of(file)).await?,
                is_simulated: true,
            },
            None => {
                let connected = connect_named(&args.access()).await;
                let (client, name) = connected.map_err(|error| elsewhere(error, environment))?;
                Self {
                    name: format!("the cluster {name}"),
                    client,
                    is_simulated: false,
                }
            }
        })
    }
}

/// The reason why there is no cluster; with the fleets of simulated ones, which may be meant.
fn elsewhere(error: ConnectError, environment: &Environment) -> anyhow::Error {
    let simulated = served::fleets(&environment.cache);
    match (&error, simulated.as_slice()) {
        (ConnectError::Nowhere(_), [_, ..]) => anyhow::anyhow!(
            "{error}; simulated clusters run with the fleets {}",
            simulated.join(", ")
        ),
        _ => error.into(),
    }
}

/// Makes what each revision in the view expects of its cluster, once.
async fn supply_revisions(
    client: Client,
    expected: Arc<[ObjectId]>,
    mut view: watch::Receiver<View>,
) {
    // Revisions may share a graph.
    let mut last: Option<(Option<String>, Arc<Graph>)> = None;
    while view.changed().await.is_ok() {
        let (revision, graph) = {
            let view = view.borrow_and_update();
            (view.revision.clone(), view.graph.clone())
        };
        let is_last = |graph: &Arc<Graph>| {
            let last = last.as_ref();
            last.is_some_and(|last| last.0 == revision && Arc::ptr_eq(&last.1, graph))
        };
        let Some(graph) = graph.filter(|graph| !is_last(graph)) else {
            continue;
        };
        let (client, wanted) = (client.clone(), Arc::clone(&graph));
        let expected = Arc::clone(&expected);
        let supplied = tokio::spawn(async move { supply(&client, &wanted, &expected).await });
        match supplied.await.map_err(anyhow::Error::from).flatten() {
            Ok(supplied) => supplied
                .iter()
                .for_each(|id| tracing::info!(object = %id, "supplied; not in the fleet")),
            Err(error) => {
                tracing::error!(%error, "cannot create what the fleet expects of the simulated cluster");
            }
        }
        last = Some((revision, graph));
    }
}
