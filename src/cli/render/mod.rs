//! `capstan render`: all top-level objects, in apply order.
//!
//! In: a fleet. Out: one stream, or nothing and an exit code that is not 0: engines that prune read what is missing as
//! deleted.

mod protection;

use clap::{Args, ValueEnum};
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::args::Engine;
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::report;
use super::ui::Ui;
use crate::api::labels;
use crate::compile::select::Extent;
use crate::graph::Place;
use crate::model::words::json_document;
use crate::model::{Object, Severity};
use crate::yaml;

/// Argo CD's annotation of the wave that an object is applied in.
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// Argo CD shows what a plugin writes to stderr in one message (facts/forges.md §7a).
const MAX_LINES: usize = 20;

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
    /// Succeed without objects, too. An engine that prunes then deletes all that it has
    #[arg(long)]
    pub(super) allow_empty: bool,
    /// The path of the fleet in its repository, if the files are read without the repository
    #[arg(long, value_name = "DIR")]
    pub(super) source_path: Option<String>,
    /// Annotate objects with the waves in which Argo CD applies them
    #[arg(long)]
    pub(super) sync_waves: bool,
    /// Annotate what clusters are made of and need to live, so that this engine keeps it when its file is removed
    #[arg(long = "for", value_enum, value_name = "ENGINE")]
    pub(super) engine: Option<Engine>,
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
    if fleet.compiled.has_errors() {
        refuse(&fleet, ui);
        return Ok(Exit::Failed);
    }
    if let Some(note) = fleet.report(Severity::Info).others() {
        ui.message(&note);
    }
    let objects = objects(args, &fleet);
    // A definition always has objects: without any, its name is mistyped.
    if objects.is_empty() && (args.cluster.is_some() || !args.allow_empty) {
        return nothing(args, ui);
    }
    ui.data(&match args.output {
        Output::Yaml if objects.is_empty() => String::new(),
        Output::Yaml => yaml::write(&objects),
        Output::Json => {
            json_document(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))
        }
    })?;
    Ok(Exit::Fine)
}

fn objects(args: &RenderArgs, fleet: &Fleet) -> Vec<Json> {
    let graph = &fleet.compiled.graph;
    let waves = args.sync_waves.then(|| graph.waves());
    let kept = args
        .engine
        .map(|engine| (engine, protection::protected(graph)));
    let is_asked = |object: &Object| match &args.cluster {
        Some(name) => object
            .definition
            .as_ref()
            .is_some_and(|definition| definition.name == *name),
        None => true,
    };
    let vertices = graph.apply_order().into_iter();
    let objects = vertices.filter_map(|vertex| match graph.vertices[vertex].place {
        Place::TopLevel(index) => Some((vertex, &fleet.compiled.objects[index])),
        _ => None,
    });
    let objects: Vec<(usize, &Object)> = objects.filter(|(_, object)| is_asked(object)).collect();
    let json = |(vertex, object): &(usize, &Object)| {
        let mut json = object.node.to_json();
        if let Some(above) = &args.source_path {
            move_source(&mut json, above);
        }
        if let Some(waves) = &waves {
            add_wave(&mut json, waves[*vertex]);
        }
        if let Some((engine, kept)) = &kept
            && kept.contains(vertex)
        {
            protection::protect(&mut json, *engine);
        }
        json
    };
    objects.par_iter().map(json).collect()
}

/// Why there is nothing to print.
fn nothing(args: &RenderArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let path = args.fleet.path.display();
    if let Some(name) = &args.cluster {
        anyhow::ensure!(
            args.selector.selector.is_none(),
            "no definition named `{name}` in {path} has labels that match the selector"
        );
        anyhow::bail!("no definition named `{name}` in {path}");
    }
    ui.error(&format!(
        "no objects in {path}: an engine that prunes would delete all that it has\nto render nothing, add --allow-empty"
    ));
    Ok(Exit::Failed)
}

/// Shows the errors with their lines, or if they are many one line for each, the count last.
fn refuse(fleet: &Fleet, ui: &Ui) {
    let whole = fleet.findings(Severity::Info, ui.colours_messages());
    if whole.trim_end().lines().count() <= MAX_LINES {
        return ui.coloured_message(whole.trim_end());
    }
    let errors = report::errors(&fleet.report(Severity::Error));
    let shown = errors.len().min(MAX_LINES - 2);
    ui.message(&errors[..shown].join("\n"));
    if errors.len() > shown {
        ui.message(&format!("and {} more", errors.len() - shown));
    }
    let count = match errors.len() {
        1 => "1 error".to_owned(),
        count => format!("{count} errors"),
    };
    ui.error(&format!(
        "{count}: nothing was rendered; `capstan validate` shows them with their lines"
    ));
}

/// Counts the source of an object from the root of its repository, as it does where that is there.
fn move_source(object: &mut Json, above: &str) {
    let above = above.trim_start_matches("./").trim_matches('/');
    let source = object.pointer_mut("/metadata/annotations");
    let Some(source) = source.and_then(|all| all.get_mut(labels::SOURCE)) else {
        return;
    };
    let path = source.as_str().unwrap_or_default();
    let is_whole = [".", ""].contains(&above) || path.starts_with(&format!("{above}/"));
    // What lies outside of the fleet is written so that it cannot be taken for a part of it.
    if !is_whole && !path.starts_with(['.', '/']) {
        *source = json!(format!("{above}/{path}"));
    }
}

/// The first wave is Argo CD's default. A wave that the fleet gives stays.
fn add_wave(object: &mut Json, wave: usize) {
    if wave == 0 {
        return;
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        let given = annotations.entry(SYNC_WAVE);
        given.or_insert_with(|| json!(wave.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_counts_from_the_root_of_the_repository() {
        for (above, path, expected) in [
            ("fleet", "a/b.yaml", "fleet/a/b.yaml"),
            ("./x/fleet/", "b.yaml", "x/fleet/b.yaml"),
            ("fleet", "fleet/b.yaml", "fleet/b.yaml"),
            (".", "b.yaml", "b.yaml"),
            ("fleet", "./ov/b.yaml", "./ov/b.yaml"),
            ("fleet", "/ov/b.yaml", "/ov/b.yaml"),
        ] {
            let mut object = json!({"metadata": {"annotations": {"capstan.dev/source": path}}});
            move_source(&mut object, above);
            assert_eq!(
                object["metadata"]["annotations"]["capstan.dev/source"],
                expected
            );
        }
    }

    #[test]
    fn a_wave_is_written_where_none_is_given() {
        let wave = |mut object: Json, wave| {
            add_wave(&mut object, wave);
            object["metadata"]["annotations"][SYNC_WAVE].clone()
        };
        assert_eq!(wave(json!({"metadata": {}}), 0), Json::Null);
        assert_eq!(wave(json!({"metadata": {}}), 2), "2");
        let given = json!({"metadata": {"annotations": {SYNC_WAVE: "7"}}});
        assert_eq!(wave(given, 2), "7");
    }
}
