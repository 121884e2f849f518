//! `capstan run --fleets`: a daemon for each Fleet object of a namespace.

use anyhow::Context as _;

use super::args::AroMode;
use super::cluster::{Cluster, ClusterArgs};
use super::exit::Exit;
use super::signals::stop_when_asked;
use super::ui::Ui;
use crate::adapters::git::Reach;
use crate::api::fleet::Controllers;
use crate::api::timeline::SETTLE;
use crate::daemon::{self, FleetsSettings};
use crate::settings::Environment;

/// The name of the process in the Lease of the controllers.
const NAME: &str = "fleets";

/// Runs until SIGTERM or SIGINT.
pub(super) async fn follow(
    cluster: &ClusterArgs,
    aro: Option<AroMode>,
    is_local_allowed: bool,
    environment: &Environment,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let stop = stop_when_asked();
    let program = std::env::current_exe().context("cannot find the program of this process")?;
    let cluster = Cluster::open(cluster, SETTLE).await?;
    let target = cluster.target();
    let mut settings = Controllers::default();
    if let Some(mode) = aro {
        settings.aro = mode.into();
    }
    let controllers = daemon::controllers(target, settings, SETTLE, NAME, environment);
    ui.message(&format!(
        "following the Fleets of namespace {}",
        environment.namespace
    ));
    let settings = FleetsSettings {
        environment: environment.clone(),
        fork_planner: program,
        reach: if is_local_allowed {
            Reach::Anywhere
        } else {
            Reach::Servers
        },
    };
    daemon::run_fleets(target.clone(), settings, stop).await;
    if let Some(controllers) = controllers {
        controllers.stop().await;
    }
    ui.message("stopped");
    Ok(Exit::Fine)
}
