//! The commands, one file each.
//!
//! In: arguments. Out: data on stdout, talk on stderr, and an exit code: 0 fine, 1 findings of
//! severity error or the work failed, 2 usage or environment (DESIGN §12). `ui.rs` is the only place
//! that prints.

mod apply;
mod args;
mod cluster;
mod crds;
mod demo;
mod embedded;
mod explain;
mod fleet;
mod graph;
mod live;
mod plan;
mod rehearse;
mod render;
mod report;
mod rules;
mod run;
mod standing;
mod status;
mod ui;
mod validate;
mod wanted;
mod why;

pub use rehearse::Rehearsal;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::settings::Environment;
use args::{Cli, Command};
use ui::Ui;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    /// All is well.
    Fine,
    /// Findings of severity error, or the work failed.
    Failed,
}

impl Exit {
    fn failed_if(failed: bool) -> Self {
        if failed { Self::Failed } else { Self::Fine }
    }
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
    let ui = Ui::new(&environment);
    let quiet = !matches!(cli.command, Command::Run(_));
    ui.log(&environment, quiet);
    // A second provider in the process is no fault of ours.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match dispatch(cli.command, &ui, &environment) {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::FAILURE,
        Err(error) => {
            ui.error(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn dispatch(command: Command, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    match command {
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
        Command::Demo(args) => demo::run(&args, ui, environment),
        Command::Rules { id } => rules::run(id.as_deref(), ui),
        Command::Crds => crds::crds(ui),
        Command::Schema { kind } => crds::schema(&kind, ui),
        Command::Completion { shell } => crds::completion(shell, ui),
    }
}
