//! `capstan explain`: which line of which file sets each value of an object, and what it overrode.

mod field;

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value as Json, json};

use super::args::DataFormat;
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, Paths};
use super::object_name::ObjectName;
use super::ui::{Ui, plain};
use crate::api::aso::azure_name;
use crate::api::embedded;
use crate::compile::explain::{By, Field, Layer};
use crate::model::words::json_document;
use crate::model::{Node, Object, ObjectId, Value};

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// An object, as Kind/namespace/name; the namespace may be omitted if the name is unique. Definitions
    /// and embedded resources work too
    pub(super) object: String,
    /// A field and everything below it, as `spec.nodePools[0].version`, `spec.nodePools[mp1]` or a JSON pointer
    /// [default: all of it]
    #[arg(default_value = "", hide_default_value = true)]
    pub(super) field: String,
    /// The fleet's directory, or one file
    #[arg(short = 'C', value_name = "PATH", default_value = ".")]
    pub(super) path: PathBuf,
    /// An additional directory of Overlay documents; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(super) overlays: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// Exit 2 when there is no such object or field.
pub(super) fn run(args: &ExplainArgs, ui: &Ui) -> anyhow::Result<Exit> {
    let name = ObjectName::read(&args.object)?;
    let fleet = Fleet::read(&FleetArgs {
        path: args.path.clone(),
        overlays: args.overlays.clone(),
        fleet: None,
    })?;
    if fleet.compiled.has_errors() {
        ui.message("the fleet has errors (see `capstan validate`); objects may be missing");
    }
    let explanation = fleet.explanation();
    let ids: Vec<(usize, &ObjectId)> = explanation.ids().enumerate().collect();
    let at = name.find(&ids, &format!("no object in {}", args.path.display()))?;
    let path = field::resolve(explanation.object(at), &args.field)?;
    let id = ids[at].1;
    let explained = Explained {
        id,
        azure_name: azure_name(id, explanation.object(at)),
        azure_names: match path.0.is_empty() {
            true => names_in_azure(&fleet.compiled.objects, id),
            false => Vec::new(),
        },
        fields: explanation.fields(at, &path),
    };
    ui.data(&match args.format {
        DataFormat::Text => explained.text(fleet.paths()),
        DataFormat::Json => json_document(&explained.json()),
    })?;
    Ok(Exit::Fine)
}

/// What is printed about an object.
struct Explained<'a> {
    id: &'a ObjectId,
    /// Its name in Azure, if it is a resource of Azure.
    azure_name: Option<&'a str>,
    /// For a definition: the resources of Azure that it becomes, with their names there.
    azure_names: Vec<(ObjectId, String)>,
    fields: Vec<Field>,
}

impl Explained<'_> {
    /// Text from the files must not control a terminal or a build: every line is plain.
    fn text(&self, paths: &Paths) -> String {
        let name = self.azure_name;
        let name = name.map(|name| format!("name in Azure: {name}"));
        let mut lines = vec![self.id.to_string()];
        lines.extend(name);
        let fields = self.fields.iter();
        lines.extend(fields.flat_map(|field| field_lines(field, paths)));
        if !self.azure_names.is_empty() {
            lines.extend([String::new(), "names in Azure:".to_owned()]);
        }
        let names = self.azure_names.iter();
        lines.extend(names.map(|(id, name)| format!("  {id}: {name}")));
        lines.iter().map(|line| plain(line) + "\n").collect()
    }

    fn json(&self) -> Json {
        let mut json = json!({
            "apiVersion": "capstan.dev/v1alpha1",
            "kind": "Explanation",
            "object": self.id.to_string(),
            "fields": self.fields.iter().map(field_json).collect::<Vec<_>>(),
        });
        if let Some(name) = self.azure_name {
            json["azureName"] = json!(name);
        }
        if !self.azure_names.is_empty() {
            let names = self.azure_names.iter();
            let names =
                names.map(|(id, name)| json!({"object": id.to_string(), "azureName": name}));
            json["azureNames"] = names.collect();
        }
        json
    }
}

/// The resources of Azure that the definition `id` becomes, with their names there.
fn names_in_azure(objects: &[Object], id: &ObjectId) -> Vec<(ObjectId, String)> {
    let made = objects
        .iter()
        .filter(|object| object.definition.as_ref() == Some(id));
    let resources = made.flat_map(embedded::resources);
    let named = resources.filter_map(|(_, resource)| {
        let name = azure_name(&resource.id, &resource.node)?.to_owned();
        Some((resource.id, name))
    });
    named.collect()
}

/// An empty line, a value, and under it who set it and what that overrode.
fn field_lines(field: &Field, paths: &Paths) -> Vec<String> {
    let shown = |layer| value(layer, field.is_secret);
    let first = &field.layers[0];
    let mut lines = vec![
        String::new(),
        format!("{}: {}", field.path, shown(first)),
        format!("  {}", by(first, paths)),
    ];
    let overridden = field.layers[1..].iter();
    lines.extend(
        overridden.map(|layer| format!("  overrides {}, {}", shown(layer), by(layer, paths))),
    );
    lines
}

/// A value in one line.
fn value(layer: &Layer, is_secret: bool) -> String {
    match &layer.value {
        _ if is_secret => "(a secret, not shown)".to_owned(),
        None => "the expanded value".to_owned(),
        Some(node) => match &node.value {
            Value::Float(_, text) => text.to_string(),
            Value::String(text) if is_plain(text) => text.to_string(),
            _ => node.to_json().to_string(),
        },
    }
}

/// Whether a text is unambiguous without quotes, and cannot move a cursor.
fn is_plain(text: &str) -> bool {
    let other = matches!(text, "" | "true" | "false" | "null") || text.parse::<f64>().is_ok();
    !other && text.trim() == text && !text.contains(char::is_control)
}

/// Who set a value, and where.
fn by(layer: &Layer, paths: &Paths) -> String {
    let start = layer.span.start;
    let path = paths.shown(&layer.span.path);
    let span = format!("{path}:{}:{}", start.line, start.column);
    match &layer.by {
        By::Definition(id) => format!(
            "set by the definition {}/{} at {span}",
            id.namespace, id.name
        ),
        By::Overlay(name, precedence) => {
            format!("set by the overlay `{name}` ({precedence:?}) at {span}")
        }
        By::Patch(name) => format!("set by a patch of the overlay `{name}` at {span}"),
        By::File => format!("set at {span}"),
        By::Derived => format!("derived from {span}"),
        By::Default => format!("filled in by Capstan for {span}"),
    }
}

/// The layer that won, with those it overrode.
fn field_json(field: &Field) -> Json {
    let mut json = layer_json(&field.layers[0]);
    json["field"] = json!(field.path.to_string());
    json["pointer"] = json!(field.path.pointer());
    json["secret"] = json!(field.is_secret);
    let overridden = field.layers[1..].iter().map(layer_json);
    json["overrides"] = overridden.collect();
    json
}

fn layer_json(layer: &Layer) -> Json {
    let (by, name, precedence) = match &layer.by {
        By::Definition(id) => (
            "definition",
            Some(format!("{}/{}", id.namespace, id.name)),
            None,
        ),
        By::Overlay(name, precedence) => (
            "overlay",
            Some(name.clone()),
            Some(format!("{precedence:?}")),
        ),
        By::Patch(name) => ("patch", Some(name.clone()), None),
        By::File => ("file", None, None),
        By::Derived => ("derived", None, None),
        By::Default => ("default", None, None),
    };
    let start = layer.span.start;
    json!({
        "value": layer.value.as_ref().map(Node::to_json),
        "by": by,
        "name": name,
        "precedence": precedence,
        "path": &*layer.span.path,
        "line": start.line,
        "column": start.column,
    })
}
