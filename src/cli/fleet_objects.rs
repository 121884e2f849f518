//! `capstan run --fleets`: a daemon for each Fleet object of some namespaces.

use anyhow::Context as _;
use clap::Args;

use super::args::AroMode;
use super::cluster::{Cluster, ClusterArgs};
use super::exit::Exit;
use super::private_link::SimulatedPrivateLinks;
use super::signals::stop_when_asked;
use super::ui::Ui;
use crate::adapters::git::Reach;
use crate::api::fleet::Controllers;
use crate::api::timeline::SETTLE;
use crate::daemon::{self, DEFAULT_SHARD, FleetsSettings, ProbedPort};
use crate::model::{Namespaces, is_dns_label};
use crate::settings::Environment;

/// The name of the process in the Lease of the controllers.
const NAME: &str = "fleets";

/// The Fleet objects that are followed, and their rights.
#[derive(Debug, Args)]
pub(super) struct FleetsArgs {
    /// A namespace of a tenant, whose Fleet objects are followed, too; may be repeated. They act as ServiceAccounts of that
    /// namespace, never as this process
    #[arg(long, value_name = "NAMESPACE", conflicts_with_all = ["config", "source", "directory"], value_parser = dns_label)]
    tenant: Vec<String>,
    /// The ServiceAccount of the Fleets of tenants that name none, in the namespace of each Fleet
    #[arg(long, value_name = "NAME", conflicts_with_all = ["config", "source", "directory"], value_parser = dns_label)]
    default_service_account: Option<String>,
    /// Follow only the Fleet objects with this value of the label capstan.dev/shard; those without the label are of the
    /// shard `default`
    #[arg(long, value_name = "SHARD", conflicts_with_all = ["config", "source", "directory"], default_value = DEFAULT_SHARD, value_parser = dns_label)]
    shard: String,
    /// Let Fleet objects of CAPSTAN_NAMESPACE name repositories and directories of this machine. Whoever writes a Fleet then
    /// reads the files of this process: for trying out
    #[arg(long, conflicts_with_all = ["config", "source", "directory"])]
    allow_local_sources: bool,
}

/// A name of a namespace, account or shard.
fn dns_label(text: &str) -> Result<String, String> {
    match is_dns_label(text) {
        true => Ok(text.to_owned()),
        false => Err(
            "a name has at most 63 lower-case letters, digits and hyphens, and starts and ends with a letter or digit".to_owned(),
        ),
    }
}

/// Runs until SIGTERM or SIGINT, with a port at `serve`.
pub(super) async fn follow(
    args: &FleetsArgs,
    (cluster, aro, serve): (&ClusterArgs, Option<AroMode>, Option<&str>),
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let stop = stop_when_asked();
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    let port = match serve {
        Some(address) => Some(ProbedPort::open(address).await.context("--serve")?),
        None => None,
    };
    let cluster = Cluster::open(cluster, SETTLE, &SimulatedPrivateLinks::default()).await?;
    let target = cluster.target();
    let mut settings = Controllers::default();
    if let Some(mode) = aro {
        settings.aro = mode.into();
    }
    let controllers = daemon::controllers(
        target,
        settings,
        SETTLE,
        NAME,
        environment,
        &Namespaces::All,
    );
    let settings = FleetsSettings {
        environment: environment.clone(),
        fork_planner: program,
        reach: if args.allow_local_sources {
            Reach::Anywhere
        } else {
            Reach::Servers
        },
        tenants: args.tenant.iter().cloned().collect(),
        default_service_account: args.default_service_account.clone(),
        shard: args.shard.clone(),
        has_port: port.is_some(),
    };
    ui.message(&followed(&settings));
    if let Some(port) = &port {
        ui.message(&port.shown("health, metrics and webhooks"));
    }
    daemon::run_fleets(target.clone(), settings, port, stop).await;
    if let Some(controllers) = controllers {
        controllers.stop().await;
    }
    ui.message("stopped");
    Ok(Exit::Fine)
}

fn followed(settings: &FleetsSettings) -> String {
    let own = &settings.environment.namespace;
    let tenants: Vec<&str> = settings.tenants.iter().map(String::as_str).collect();
    let tenants = match tenants.as_slice() {
        [] => String::new(),
        tenants => format!(" and those of tenants in {}", tenants.join(", ")),
    };
    format!("following the Fleets of namespace {own}{tenants}")
}
