//! `capstan render`: all top-level objects, in apply order.

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::ui::Ui;
use crate::compile::select::Extent;
use crate::graph::Place;
use crate::model::Object;
use crate::yaml;

#[derive(Debug, Args)]
pub(super) struct RenderArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) selector: SelectorArgs,
    /// Only the objects of this definition
    #[arg(long, value_name = "NAME")]
    pub(super) cluster: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Output {
    /// A YAML stream
    #[default]
    Yaml,
    /// One JSON object of kind List, as kubectl reads it
    Json,
}

/// With any error finding nothing goes to stdout, so that no engine prunes by a partial render.
pub(super) fn run(args: &RenderArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let fleet = Fleet::selected(&args.fleet, &args.selector, Extent::Exact)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let graph = &fleet.compiled.graph;
    let objects: Vec<&Object> = graph
        .apply_order()
        .into_iter()
        .filter_map(|vertex| match graph.vertices[vertex].place {
            Place::TopLevel(index) => Some(&fleet.compiled.objects[index]),
            _ => None,
        })
        .filter(|object| match &args.cluster {
            Some(name) => object
                .definition
                .as_ref()
                .is_some_and(|definition| definition.name == *name),
            None => true,
        })
        .collect();
    let objects: Vec<Json> = objects
        .par_iter()
        .map(|object| object.node.to_json())
        .collect();
    if let Some(name) = args.cluster.as_ref().filter(|_| objects.is_empty()) {
        anyhow::bail!(
            "no definition named `{name}` in {}",
            args.fleet.path.display()
        );
    }
    ui.data(&match args.output {
        Output::Yaml => yaml::write(&objects),
        Output::Json => format!(
            "{:#}\n",
            json!({"apiVersion": "v1", "kind": "List", "items": objects})
        ),
    })?;
    Ok(Exit::Fine)
}
