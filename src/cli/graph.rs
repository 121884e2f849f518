//! `capstan graph`: what depends on what.

use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::ui::{Ui, plain_lines};
use crate::api::timeline;
use crate::graph::{Pace, Schedule, dot, text};

#[derive(Debug, Args)]
pub(super) struct GraphArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) selector: SelectorArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: GraphFormat,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum GraphFormat {
    /// Plain text
    #[default]
    Text,
    /// Graphviz
    Dot,
}

/// Draws the graph even when the fleet has errors: a cycle is best seen in it.
pub(super) fn run(args: &GraphArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let fleet = Fleet::drawn(&args.fleet, &args.selector)?;
    let refused = fleet.is_refused(ui);
    let graph = &fleet.compiled.graph;
    let schedule = Schedule::new(
        graph,
        |_, id| Pace::Pending(timeline::creation(id)),
        timeline::SETTLE,
    );
    ui.data(&match args.format {
        GraphFormat::Text => plain_lines(&text(graph, &schedule)),
        GraphFormat::Dot => plain_lines(&dot(graph, &schedule)),
    })?;
    Ok(Exit::failed_if(refused))
}
