//! `capstan run --fleets`: a daemon for each Fleet object of some namespaces.

use anyhow::Context as _;

use super::cluster::Cluster;
use super::exit::Exit;
use super::run::RunArgs;
use super::signals::stop_when_asked;
use super::ui::Ui;
use crate::adapters::git::Reach;
use crate::api::fleet::Controllers;
use crate::api::timeline::SETTLE;
use crate::daemon::{self, FleetsPort, FleetsSettings};
use crate::settings::Environment;

/// The name of the process in the Lease of the controllers.
const NAME: &str = "fleets";

/// Runs until SIGTERM or SIGINT.
pub(super) async fn follow(
    args: &RunArgs,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let stop = stop_when_asked();
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    let port = match &args.serve {
        Some(address) => Some(FleetsPort::open(address).await.context("--serve")?),
        None => None,
    };
    let cluster = Cluster::open(&args.cluster, SETTLE).await?;
    let target = cluster.target();
    let mut settings = Controllers::default();
    if let Some(mode) = args.aro {
        settings.aro = mode.into();
    }
    let controllers = daemon::controllers(target, settings, SETTLE, NAME, environment);
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
    };
    ui.message(&followed(&settings));
    if let Some(port) = &port {
        ui.message(&port.shown());
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
