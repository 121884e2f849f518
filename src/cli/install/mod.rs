//! `capstan install`: the manifests of a component, printed or applied.

mod apply;
mod args;
mod fleets;
mod service_provider;
mod set;

use clap::Args;

use super::exit::Exit;
use super::ui::Ui;
use crate::settings::Environment;
use crate::yaml;
use apply::ApplyArgs;
pub(super) use args::{
    Component, DEPLOYER, PodArgs, SetArgs, WatchArgs, account, namespace, resolved,
};
pub(super) use set::{FleetPlace, Set};

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    pods: PodArgs,
    /// Leave out the CustomResourceDefinitions
    #[arg(long)]
    skip_crds: bool,
    #[command(flatten)]
    apply: ApplyArgs,
}

/// Prints or applies the objects of a component.
pub(super) fn run(args: &InstallArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        args.apply.apply || args.apply.access.is_default(),
        "--kubeconfig and --context choose the cluster for --apply: add --apply, or remove them"
    );
    args.set.require()?;
    let mut set = Set::read(&args.set, &args.pods, environment, ui)?;
    if args.skip_crds {
        set.definitions.clear();
    }
    if args.apply.apply {
        if args.pods.has_placeholder() && args.set.component.has_pods() {
            ui.message("the image is a placeholder that no cluster can pull: use --image");
        }
        return apply::run(&args.apply, &set, ui);
    }
    ui.data(&yaml::write(&[set.definitions, set.objects].concat()))?;
    Ok(Exit::Fine)
}
