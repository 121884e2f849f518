//! The commands, one file each, with their arguments.
//!
//! In: arguments. Out: data on stdout, talk on stderr, and an exit code: 0 fine, 1 findings of
//! severity error or the work failed, 2 usage or environment, 128 and its number for a signal
//! that ended it early. `ui.rs` is the only place that prints.

mod admission;
mod adopt;
mod apply;
mod approvals;
mod args;
mod check;
mod cluster;
mod cluster_status;
mod controllers;
mod crds;
mod create;
mod demo;
mod descriptors;
mod embedded;
mod exit;
mod explain;
mod fleet;
mod fleet_objects;
mod graph;
mod health;
mod hosted_clusters;
mod init;
mod install;
mod left;
mod live;
mod log_lines;
mod object_name;
mod outcomes;
mod plan;
mod plan_fork;
mod private_link;
mod rehearse;
mod render;
mod repeats;
mod report;
mod rights;
mod rules;
mod run;
mod screen;
mod second_owners;
mod served;
mod signals;
mod status;
mod sync;
mod ui;
mod uninstall;
mod validate;
mod why;

pub use rehearse::Rehearsal;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::daemon;
use crate::settings::Environment;
use args::ColorChoice;
use exit::Exit;
use ui::{Logs, Ui};

/// A GitOps reconciler for Azure Red Hat OpenShift (ARO HCP) clusters.
#[derive(Debug, Parser)]
#[command(name = "capstan", version, about, propagate_version = true)]
struct Cli {
    /// When to use color
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a fleet to start from: a cluster, an overlay for its environment, and a CI file
    ///
    /// Files that exist are never changed. So a second run with another `--environment` or `--name` adds an
    /// environment or a cluster.
    Init(init::InitArgs),
    /// Write the definition of a cluster from flags, and check it
    Create(Box<create::CreateArgs>),
    /// Print every object of a fleet, in apply order
    Render(render::RenderArgs),
    /// Report mistakes in a fleet, with file and line
    Validate(validate::ValidateArgs),
    /// Show which line of which file sets each value of an object, and what it overrode
    Explain(explain::ExplainArgs),
    /// Show the dependency graph and its critical path
    Graph(graph::GraphArgs),
    /// Show what an apply would change
    Plan(plan::PlanArgs),
    /// Apply a fleet once
    Apply(apply::ApplyArgs),
    /// Provision a fleet against a simulated cluster and Azure, on a virtual clock
    Rehearse(rehearse::RehearseArgs),
    /// Show which clusters are ready, what blocks the others, and since when
    ///
    /// Reads only the cluster: neither git nor the daemon is needed. By default that is the cluster that this process
    /// runs in or the one of KUBECONFIG, else the simulated cluster of a running `capstan run --embedded` (of the
    /// fleet, with --name), else the one of ~/.kube/config. Exits with 1 when something is missing, or failed so that
    /// waiting will not help, with 2 when the cluster cannot be read or has no such fleet, otherwise with 0, even
    /// while work is in progress (see `ready` in the JSON output). With --wait, exits with 0 only when all is ready.
    Status(status::StatusArgs),
    /// Show what blocks an object, since when, and what usually helps
    ///
    /// The object is one of a fleet, or of a kind that Capstan handles. Exits with 1 when what blocks it failed and waiting
    /// will not help, with 2 when the cluster cannot be read or there is no such object, otherwise with 0.
    Why(why::WhyArgs),
    /// Keep a cluster in sync with a git repository (the daemon)
    Run(Box<run::RunArgs>),
    /// Run only the ARO controllers, without a fleet and without git
    ///
    /// Use it when another engine, such as Flux or Argo CD, applies the cluster objects. The management cluster also
    /// needs Cluster API and Azure Service Operator. By default it steps back while CAPZ's controllers act. Runs until
    /// SIGTERM or SIGINT.
    Controllers(controllers::ControllersArgs),
    /// Check changes of ARO objects before the API server accepts them (a validating webhook)
    ///
    /// Applies the rules of `capstan validate`. `capstan install --component admission` prints the manifests that install
    /// it. The webhook stores its certificates in a Secret, renews them, and writes its CA into its
    /// ValidatingWebhookConfiguration. Runs until SIGTERM or SIGINT.
    Admission(admission::AdmissionArgs),
    /// Print the manifests that install a part of Capstan in a cluster, or apply them
    Install(Box<install::InstallArgs>),
    /// Check that Capstan is installed as it should be, or with --pre that it can be
    ///
    /// Prints what works (√), what is doubtful (‼) and what is wrong (×), each with an id, and what to do. The rights are those
    /// that `capstan install` prints with the same flags; the API server is asked whether the component's service account has
    /// each of them. With --pre, whether you may install it. Exits with 1 if something is wrong, with 2 if the cluster does not
    /// answer, otherwise with 0.
    Check(Box<check::CheckArgs>),
    /// Remove Capstan from a cluster
    ///
    /// Removes the objects of `capstan install`, by their names and labels. No cluster, no resource in Azure and no member of a
    /// fleet is changed. The Fleets, the records of their progress, the Namespace and the CustomResourceDefinitions stay, so a
    /// later installation goes on where this one ended. Capstan's finalizers are taken off the Fleets.
    Uninstall(uninstall::UninstallArgs),
    /// Make the daemon of a fleet look for commits now, and retry what failed
    ///
    /// Annotates the parent ConfigMap of the fleet, which the daemon watches. Chooses the cluster as `capstan status`
    /// does, and prints which one it is.
    Sync(sync::FleetArgs),
    /// Stop applying a fleet
    ///
    /// Nothing of it is applied, repaired or removed until `capstan resume`, also after a restart of the
    /// daemon. Commits are still checked and pull requests planned. `capstan apply` still applies. Chooses the
    /// cluster as `capstan status` does, and prints which one it is.
    Suspend(sync::FleetArgs),
    /// Start applying a suspended fleet again
    ///
    /// Chooses the cluster as `capstan status` does, and prints which one it is.
    Resume(sync::FleetArgs),
    /// Move all that one fleet has to another, such as to rename it
    ///
    /// Members keep running: only the label that says which fleet they belong to changes, and what the fleet's ConfigMap
    /// records moves along: revisions, approvals, suspension. Refuses while a daemon serves the fleet that ends. Can be
    /// stopped and run again at any time. Also removes a fleet that has no members. Chooses the cluster as `capstan status`
    /// does, and prints which one it is.
    Adopt(adopt::AdoptArgs),
    /// Take a tour: a fleet, a push, a bad pull request, and their checks
    Demo(demo::DemoArgs),
    /// List the rules that go beyond schemas and references, or print the page of one
    Rules {
        /// For example C15
        id: Option<String>,
    },
    /// Use the readiness rules in other engines
    Health(health::HealthArgs),
    /// Print the CustomResourceDefinitions of Capstan's kinds
    Crds,
    /// Print the JSON schema of a kind, for editors
    Schema {
        /// For example ClusterDefinition
        kind: String,
        /// The platform of a ClusterDefinition
        #[arg(long, value_enum, default_value_t)]
        platform: args::DefinitionPlatform,
    },
    /// Plan the head of a fork, as the daemon requests it on standard input
    #[command(name = daemon::FORK_COMMAND, hide = true)]
    PlanFork,
    /// Print the version of Capstan
    Version,
    /// Print a completion script
    Completion {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// The command line, for `docs/commands.md`.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::read();
    let mut ui = Ui::new(&environment, cli.color);
    let logged = ui.log(
        &environment,
        match &cli.command {
            Command::Run(args) if args.fleets => Logs::Progress(args.log.log_format),
            Command::Run(args) => Logs::UnlessDrawn(args.log.log_format),
            Command::Controllers(args) => Logs::Progress(args.log.log_format),
            Command::Admission(args) => Logs::Progress(args.log.log_format),
            _ => Logs::Errors,
        },
    );
    descriptors::raise();
    // A second provider in the process is no fault of ours.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ui.report_panics();
    let ended = logged.and_then(|()| dispatch(cli.command, &ui, &environment));
    ui.leave();
    match ended {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) => {
            ui.error(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn dispatch(command: Command, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    match command {
        Command::Init(args) => init::run(&args, ui),
        Command::Create(args) => create::run(&args, ui),
        Command::Render(args) => render::run(&args, ui),
        Command::Validate(args) => validate::run(&args, ui),
        Command::Explain(args) => explain::run(&args, ui),
        Command::Graph(args) => graph::run(&args, ui),
        Command::Plan(args) => plan::run(&args, ui, environment),
        Command::Apply(args) => apply::run(&args, ui, environment),
        Command::Rehearse(args) => rehearse::run(&args, ui, environment),
        Command::Status(args) => status::run(&args, ui, environment),
        Command::Why(args) => why::run(&args, ui, environment),
        Command::Run(args) => run::run(&args, ui, environment),
        Command::Controllers(args) => controllers::run(&args, ui, environment),
        Command::Admission(args) => admission::run(&args, ui, environment),
        Command::Install(args) => install::run(&args, ui, environment),
        Command::Check(args) => check::run(&args, ui, environment),
        Command::Uninstall(args) => uninstall::run(&args, ui, environment),
        Command::Sync(args) => sync::run(sync::Request::Sync, &args, ui, environment),
        Command::Suspend(args) => sync::run(sync::Request::Suspend, &args, ui, environment),
        Command::Resume(args) => sync::run(sync::Request::Resume, &args, ui, environment),
        Command::Adopt(args) => adopt::run(&args, ui, environment),
        Command::Demo(args) => demo::run(&args, ui, environment),
        Command::Rules { id } => rules::run(id.as_deref(), ui),
        Command::Health(args) => health::run(&args, ui),
        Command::Crds => crds::crds(ui),
        Command::Schema { kind, platform } => crds::schema(&kind, platform, ui),
        Command::PlanFork => plan_fork::run(ui),
        Command::Version => crds::version(ui),
        Command::Completion { shell } => crds::completion(shell, Cli::command(), ui),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
