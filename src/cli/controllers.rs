//! `capstan controllers`: our controllers, without a fleet.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::args::{AroMode, duration};
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::install::WatchArgs;
use super::log_lines::LogArgs;
use super::private_link::{LinkMode, PrivateLinkArgs};
use super::run::LEAVE;
use super::signals::asked_to_stop;
use super::ui::Ui;
use crate::adapters::kubernetes::{Group, Sharers, Target, classify, connect_named, unserved};
use crate::api::fleet::{Controllers, FirstApply, Mode};
use crate::api::kinds::{self, Kind};
use crate::api::suppliers;
use crate::daemon::{self, ProbedPort, WallClock};
use crate::model::Namespaces;
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct ControllersArgs {
    #[command(flatten)]
    access: AccessArgs,
    /// The controllers to run; may be repeated [default: aro]
    #[arg(long, value_enum, value_name = "NAME")]
    only: Vec<Only>,
    /// Whether to act beside CAPZ's controllers
    #[arg(long, value_enum, default_value_t, value_name = "MODE")]
    aro: AroMode,
    #[command(flatten)]
    private_link: PrivateLinkArgs,
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

/// Controllers that may run alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Those of AROCluster, AROControlPlane and AROMachinePool
    Aro,
    /// The one that describes the connections of private hosted clusters
    PrivateLinkObserver,
    /// The one that makes their Private Link Services, on the management side
    PrivateLinkPlatform,
    /// The one that makes their Private Endpoints and DNS zones, on the customer's side
    PrivateLinkEndpoint,
}

impl From<Only> for Group {
    fn from(only: Only) -> Self {
        match only {
            Only::Aro => Self::Aro,
            Only::PrivateLinkObserver => Self::PrivateLinkObserver,
            Only::PrivateLinkPlatform => Self::PrivateLinkPlatform,
            Only::PrivateLinkEndpoint => Self::PrivateLinkEndpoint,
        }
    }
}

impl ControllersArgs {
    /// The groups to run, each once.
    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.only.iter().map(|only| Group::from(*only)).collect();
        groups.sort();
        groups.dedup();
        if groups.is_empty() {
            groups.push(Group::Aro);
        }
        groups
    }

    /// Refuses flags that mean nothing to the controllers that run.
    fn check(&self, groups: &[Group], watched: &Namespaces) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.aro != AroMode::Off,
            "--aro off: there is nothing to run; choose other controllers with --only"
        );
        let has_links = groups.iter().any(|group| *group != Group::Aro);
        anyhow::ensure!(
            !has_links || *watched == Namespaces::All,
            "--watch-namespace: the controllers of private clusters work in the namespaces of all control planes; run them in a process without the flag"
        );
        self.private_link.check(groups)
    }

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
    let watched = args.watched.namespaces()?;
    args.check(&args.groups(), &watched)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let exit = runtime.block_on(work(args, &watched, ui, environment));
    runtime.shutdown_timeout(LEAVE);
    exit
}

async fn work(
    args: &ControllersArgs,
    watched: &Namespaces,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
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
    let groups = args.groups();
    announce(args, (&groups, watched), &name, ui);
    let target = Target::new(client, Arc::new(WallClock::start()));
    if groups.contains(&Group::Aro) {
        missing(&target, ui).await?;
    }
    let running = start(args, &groups, &target, environment, watched);
    let _serving = port.map(|port| {
        ui.message(&port.shown("health and metrics"));
        daemon::serve_controllers(port, &running)
    });
    stop.await;
    for running in running {
        running.stop().await;
    }
    ui.message("stopped");
    Ok(Exit::Fine)
}

/// Says what runs where, and beside whom.
fn announce(
    args: &ControllersArgs,
    (groups, watched): (&[Group], &Namespaces),
    cluster: &str,
    ui: &Ui,
) {
    let place = match watched {
        Namespaces::All => String::new(),
        names => format!(" in the namespaces {names}"),
    };
    for group in groups {
        let (others, is_on) = match group {
            Group::Aro => ("CAPZ does", args.aro == AroMode::On),
            _ => ("HyperShift's do", args.private_link.mode == LinkMode::On),
        };
        let mode = if is_on { "whatever" } else { "unless" };
        ui.message(&format!(
            "running {group} on the cluster {cluster}{place}, {mode} {others}"
        ));
    }
}

/// Starts the groups.
fn start(
    args: &ControllersArgs,
    groups: &[Group],
    target: &Target,
    environment: &Environment,
    watched: &Namespaces,
) -> Vec<Sharers> {
    const NAME: &str = "controllers";
    let aro = groups.contains(&Group::Aro).then(|| {
        let controllers = args.controllers();
        daemon::controllers(target, controllers, args.settle, NAME, environment, watched)
    });
    let links = groups.iter().filter(|group| **group != Group::Aro);
    let links: Vec<(Group, Mode)> = links
        .map(|group| (*group, args.private_link.mode.into()))
        .collect();
    let management = args.private_link.management(&environment.namespace);
    let links = daemon::private_links(target, &links, management.as_ref(), NAME, environment);
    aro.flatten().into_iter().chain(links).collect()
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
