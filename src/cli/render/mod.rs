//! `capstan render`: all top-level objects, in apply order.
//!
//! In: a fleet. Out: one stream, or nothing and an exit code that is not 0: engines that prune read what is missing as
//! deleted. All of the fleet is checked before the first object is written, and objects are kept as compressed text.

mod protection;

use std::collections::BTreeSet;

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
use crate::graph::{Graph, Place};
use crate::model::words::json_document;
use crate::model::{Object, Packed, Severity};
use crate::yaml;

/// Argo CD's annotation of the wave that an object is applied in.
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";
/// Argo CD shows what a plugin writes to stderr in one message (facts/forges.md §7a).
const MAX_LINES: usize = 20;
/// The number of objects that are written at a time.
const CHUNK: usize = 256;

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
    let (fleet, kept) = Fleet::digested(&args.fleet, &args.selector, Extent::Exact, |object| {
        is_wanted(args, object).then(|| Packed::new(&object.node.to_json()))
    })?;
    if fleet.compiled.has_errors() {
        refuse(&fleet, ui);
        return Ok(Exit::Failed);
    }
    if let Some(note) = fleet.report(Severity::Info).others() {
        ui.message(&note);
    }
    let objects = in_order(&fleet.compiled.graph, kept);
    // A definition always has objects: without any, its name is mistyped.
    if objects.is_empty() && (args.cluster.is_some() || !args.allow_empty) {
        return nothing(args, ui);
    }
    let marks = Marks::of(args, &fleet.compiled.graph);
    // Each object is unpacked, written and freed by one thread: it is slower to free the memory of another one.
    let texts = objects.chunks(CHUNK).flat_map(|chunk| {
        let written = chunk.par_iter().map(|(vertex, object)| {
            let object = marks.written(*vertex, object.json());
            match args.output {
                Output::Yaml => yaml::write(&[object]),
                Output::Json => item(&object),
            }
        });
        written.collect::<Vec<String>>()
    });
    match args.output {
        Output::Yaml => ui.stream(yaml_stream(texts)),
        Output::Json => ui.stream(json_list(texts)),
    }?;
    Ok(Exit::Fine)
}

fn is_wanted(args: &RenderArgs, object: &Object) -> bool {
    let name = object.definition.as_ref().map(|id| &id.name);
    args.cluster.is_none() || args.cluster.as_ref() == name
}

/// The objects that are wanted in apply order, each with its vertex.
fn in_order(graph: &Graph, mut kept: Vec<Option<Packed>>) -> Vec<(usize, Packed)> {
    let vertices = graph.apply_order().into_iter();
    let objects = vertices.filter_map(|vertex| match graph.vertices[vertex].place {
        Place::TopLevel(index) => Some((vertex, kept[index].take()?)),
        _ => None,
    });
    objects.collect()
}

/// The annotations and paths that options add to objects.
struct Marks<'a> {
    source_path: Option<&'a str>,
    /// The wave of each vertex.
    waves: Option<Vec<usize>>,
    /// The vertices that an engine has to keep.
    protected: Option<(Engine, BTreeSet<usize>)>,
}

impl<'a> Marks<'a> {
    fn of(args: &'a RenderArgs, graph: &Graph) -> Self {
        Self {
            source_path: args.source_path.as_deref(),
            waves: args.sync_waves.then(|| graph.waves()),
            protected: args
                .engine
                .map(|engine| (engine, protection::protected(graph))),
        }
    }

    /// The object of a vertex as it is written.
    fn written(&self, vertex: usize, mut object: Json) -> Json {
        if let Some(above) = self.source_path {
            move_source(&mut object, above);
        }
        if let Some(waves) = &self.waves {
            add_wave(&mut object, waves[vertex]);
        }
        if let Some((engine, protected)) = &self.protected
            && protected.contains(&vertex)
        {
            protection::protect(&mut object, *engine);
        }
        object
    }
}

/// A YAML stream of documents, in pieces.
fn yaml_stream(documents: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    documents.enumerate().map(|(number, document)| {
        let separator = if number == 0 { "" } else { "---\n" };
        format!("{separator}{document}")
    })
}

/// A List of [items](item) as JSON, in pieces.
fn json_list(items: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let [start, _, end] = list(&[]);
    let mut items = items.peekable();
    let last_line = if items.peek().is_some() { "\n  " } else { "" };
    let items = items.enumerate().map(|(number, item)| {
        let separator = if number == 0 { "" } else { "," };
        format!("{separator}{item}")
    });
    let end = format!("{last_line}]{end}");
    std::iter::once(format!("{start}["))
        .chain(items)
        .chain([end])
}

/// An object as an item of a List, on lines of its own.
fn item(object: &Json) -> String {
    let [_, item, _] = list(std::slice::from_ref(object));
    item.trim_end().to_owned()
}

/// A List as JSON: what comes before its items, the items, and what comes behind them, without the brackets.
fn list(items: &[Json]) -> [String; 3] {
    let text = json_document(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    let (start, items) = text.split_once('[').unwrap_or_default();
    let (items, end) = items.rsplit_once(']').unwrap_or_default();
    [start, items, end].map(str::to_owned)
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
    fn a_list_in_pieces_is_the_same_as_at_once() {
        let objects: Vec<Json> = (0..5)
            .map(|number| json!({"kind": "K", "metadata": {"name": format!("a\u{202e}[{number}]")}, "spec": [{}, []]}))
            .collect();
        for count in 0..=5 {
            let items = &objects[..count];
            let texts = items.iter().map(item);
            let whole = json!({"apiVersion": "v1", "kind": "List", "items": items});
            assert_eq!(json_list(texts).collect::<String>(), json_document(&whole));
            let texts = items.iter().map(std::slice::from_ref).map(yaml::write);
            assert_eq!(yaml_stream(texts).collect::<String>(), yaml::write(items));
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
