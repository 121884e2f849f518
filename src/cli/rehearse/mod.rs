//! `capstan rehearse`: the whole provisioning on a virtual clock.
//!
//! In: a fleet, and what should fail. Out: what became of it and when, as text or JSON.

mod events;
mod fights;
mod names;
mod output;
mod parts;
mod prerequisites;
mod rehearsal;
mod script;

use std::sync::Arc;

use clap::Args;

use super::args::{DataFormat, LOCAL};
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::ui::{Ui, plain_lines};
use crate::adapters::azure_sim::{Failure, Options, can_fail};
use crate::api::kinds::{KINDS, is_aso};
use crate::compile::select::Extent;
use crate::graph::Graph;
use crate::model::{Object, ObjectId};
use crate::plan::ApplySet;
use crate::settings::Environment;
use script::{Role, Script};

pub use rehearsal::Rehearsal;

#[derive(Debug, Args)]
pub(super) struct RehearseArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) selector: SelectorArgs,
    /// Make an object fail, as Kind/name=Reason; may be repeated
    #[arg(long, value_name = "KIND/NAME=REASON")]
    pub(super) fail: Vec<Failure>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// Exit 0 when everything became ready.
pub(super) fn run(args: &RehearseArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let set = ApplySet::new(LOCAL, environment.namespace.as_str());
    let role = |object: &Object| Role::of(object, &set);
    let (fleet, roles) = Fleet::digested(&args.fleet, &args.selector, Extent::WithNeeds, role)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    if roles.is_empty() && matches!(args.format, DataFormat::Text) {
        let path = args.fleet.path.display();
        ui.message(&format!("nothing to rehearse: no object in {path}"));
        return Ok(Exit::Fine);
    }
    let script = Script {
        roles,
        graph: Arc::clone(&fleet.compiled.graph),
    };
    if let Some(failure) = args.fail.iter().find(|failure| !is_played(failure)) {
        anyhow::bail!(
            "--fail {}/{}: only Azure resources, HostedClusters and NodePools can be made to fail",
            failure.kind,
            failure.name
        );
    }
    if let Some(stranger) = args
        .fail
        .iter()
        .find(|failure| !names_an_object(&script.graph, failure))
    {
        anyhow::bail!(
            "--fail {}/{}: the fleet has no such object",
            stranger.kind,
            stranger.name
        );
    }
    let links = fleet.links(environment);
    let options = || Options {
        failures: args.fail.clone(),
        azure: links.azure(),
        ..Options::default()
    };
    let rehearsal = Rehearsal::hold_in_parts(&script, &set, &links, options)?;
    ui.data(&match args.format {
        DataFormat::Text => plain_lines(&rehearsal.text(&script.graph)),
        DataFormat::Json => rehearsal.json(),
    })?;
    if let Some(note) = links.note(script.has_private_cluster()) {
        ui.message(note);
    }
    Ok(Exit::failed_if(!rehearsal.is_ready()))
}

fn is_played(failure: &Failure) -> bool {
    let mut azures = KINDS.iter().filter(|kind| is_aso(kind.group));
    azures.any(|kind| kind.kind == failure.kind) || can_fail(&failure.kind)
}

fn names_an_object(graph: &Graph, failure: &Failure) -> bool {
    let mut vertices = graph.vertices.iter();
    vertices.any(|vertex| matches_failure(&vertex.id, failure))
}

fn matches_failure(id: &ObjectId, failure: &Failure) -> bool {
    let here = failure
        .namespace
        .as_ref()
        .is_none_or(|namespace| *namespace == id.namespace);
    here && id.kind == failure.kind && id.name == failure.name
}

/// The fleet that the tests of this module rehearse: the documents of one file, with the failures.
#[cfg(test)]
fn fleet(text: &str, failures: &[&str]) -> (crate::compile::Compiled, ApplySet, Options) {
    let tree = crate::model::Tree {
        files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
        ..crate::model::Tree::default()
    };
    let failures = failures.iter().map(|text| text.parse());
    let options = Options {
        failures: failures.collect::<Result<_, _>>().expect("failures"),
        ..Options::default()
    };
    let set = ApplySet::new("test", "default");
    (crate::compile::compile(&tree, &[]), set, options)
}
