//! `capstan controllers`: the ARO controllers, without a fleet.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::args::{AroMode, duration};
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::install::WatchArgs;
use super::log_lines::LogArgs;
use super::run::LEAVE;
use super::signals::asked_to_stop;
use super::ui::Ui;
use crate::adapters::kubernetes::{Target, classify, connect_named, unserved};
use crate::api::fleet::{Controllers, FirstApply};
use crate::api::kinds::{self, Kind};
use crate::api::suppliers;
use crate::daemon::{self, ProbedPort, WallClock};
use crate::model::Namespaces;
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct ControllersArgs {
    #[command(flatten)]
    access: AccessArgs,
    /// Whether to act beside CAPZ's controllers
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    aro: AroMode,
    /// How an Azure resource is applied for the first time
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    first_apply: FirstApplyMode,
    /// How long to wait after the last role assignment is ready before the HCP cluster is applied
    #[arg(long, default_value = "2m", value_name = "DURATION", value_parser = duration)]
    settle: Duration,
    /// Serve /healthz, /readyz and /metrics there: HOST:PORT, or :PORT for all addresses
    #[arg(long, value_name = "ADDRESS")]
    serve: Option<String>,
    #[command(flatten)]
    watched: WatchArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum FirstApplyMode {
    /// Check first whether it exists already, and leave an existing one alone unless it is this cluster's
    #[default]
    Probe,
    /// Take it over if it exists
    Direct,
}

impl ControllersArgs {
    fn controllers(&self) -> Controllers {
        Controllers {
            aro: self.aro.into(),
            first_apply: match self.first_apply {
                FirstApplyMode::Probe => FirstApply::Probe,
                FirstApplyMode::Direct => FirstApply::Direct,
            },
            ..Controllers::default()
        }
    }
}

/// Runs until SIGTERM or SIGINT.
pub(super) fn run(
    args: &ControllersArgs,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        args.aro != AroMode::Off,
        "--aro off: there is nothing to run"
    );
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work(args, ui, environment));
    runtime.shutdown_timeout(LEAVE);
    exit
}

async fn work(args: &ControllersArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let watched = args.watched.namespaces()?;
    daemon::report_fault(environment);
    // What is begun below is ended in order, whenever that is asked for.
    let stop = asked_to_stop();
    let port = match &args.serve {
        Some(address) => Some(ProbedPort::open(address).await?),
        None => None,
    };
    let (client, name) = connect_named(&args.access.access()).await?;
    let answer = client.apiserver_version().await;
    let answer = answer.map_err(|error| anyhow::anyhow!("{}", classify(&error).1));
    answer.with_context(|| name.clone())?;
    let mode = match args.aro {
        AroMode::On => "whatever CAPZ does",
        _ => "unless CAPZ does",
    };
    let place = match &watched {
        Namespaces::All => String::new(),
        names => format!(" in the namespaces {names}"),
    };
    ui.message(&format!(
        "running the ARO controllers on the cluster {name}{place}, {mode}"
    ));
    let target = Target::new(client, Arc::new(WallClock::start()));
    missing(&target, ui).await?;
    let controllers = args.controllers();
    let running = daemon::controllers(
        &target,
        controllers,
        args.settle,
        "controllers",
        environment,
        &watched,
    );
    let running = running.context("there is nothing to run")?;
    let _serving = port.map(|port| {
        ui.message(&port.shown("health and metrics"));
        daemon::serve_controllers(port, &running)
    });
    stop.await;
    running.stop().await;
    ui.message("stopped");
    Ok(Exit::Fine)
}

/// Names the kinds that the cluster does not serve, and who supplies them. The controllers begin once they are served.
/// Those of Azure Service Operator are named with it.
async fn missing(target: &Target, ui: &Ui) -> anyhow::Result<()> {
    let others = kinds::KINDS
        .iter()
        .filter(|kind| !kinds::is_aso(kind.group));
    let others: Vec<Kind> = others.copied().collect();
    let missing = unserved(&target.client, &others).await?;
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for kind in missing {
        let help = suppliers::help(kind.group, kind.kind);
        match said.iter_mut().find(|(known, _)| *known == help) {
            Some((_, kinds)) => kinds.push(kind.kind),
            None => said.push((help, vec![kind.kind])),
        }
    }
    for (help, kinds) in said {
        let kinds = kinds.join(", ");
        ui.message(&format!("the cluster does not serve {kinds}: {help}"));
    }
    Ok(())
}
