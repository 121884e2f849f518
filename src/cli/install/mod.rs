//! `capstan install`: the manifests of a component, printed or applied.

mod apply;
mod args;
mod set;

use std::time::Duration;

use clap::Args;

use super::args::duration;
use super::cluster::AccessArgs;
use super::exit::Exit;
use super::ui::Ui;
use crate::settings::Environment;
use crate::yaml;
pub(super) use args::{Component, DEPLOYER, PodArgs, SetArgs, account, namespace, resolved};
pub(super) use set::Set;

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    pods: PodArgs,
    /// Leave out the CustomResourceDefinitions
    #[arg(long)]
    skip_crds: bool,
    /// Apply the objects to the cluster, and wait until they work
    #[arg(long)]
    apply: bool,
    /// Take over fields that other managers own
    #[arg(long, requires = "apply")]
    force: bool,
    /// How long to wait
    #[arg(long, default_value = "5m", requires = "apply", value_name = "DURATION", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    access: AccessArgs,
}

/// Prints or applies the objects of a component.
pub(super) fn run(args: &InstallArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        args.apply || args.access.is_default(),
        "--kubeconfig and --context choose the cluster for --apply: add --apply, or remove them"
    );
    let mut set = Set::read(&args.set, &args.pods, environment, ui)?;
    if args.skip_crds {
        set.definitions.clear();
    }
    if args.apply {
        return apply::run(args, &set, ui);
    }
    ui.data(&yaml::write(&[set.definitions, set.objects].concat()))?;
    Ok(Exit::Fine)
}
