//! `capstan plan`: what would be done.

mod json;
mod text;

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};

use super::approvals::{self, approvals};
use super::args::{DataFormat, LOCAL};
use super::cluster::{AccessArgs, client};
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::ui::Ui;
use crate::adapters::kubernetes::{Compared, compare};
use crate::apply::DeletionGuard;
use crate::compile::Compiled;
use crate::compile::select::Extent;
use crate::plan::approvals::Approval;
use crate::plan::{self, ApplySet};
use crate::settings::Environment;

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) fleet: FleetArgs,
    #[command(flatten)]
    pub(super) selector: SelectorArgs,
    /// What to compare with
    #[arg(long, value_enum, default_value_t)]
    pub(super) against: Against,
    #[command(flatten)]
    pub(super) access: AccessArgs,
    /// The fleet's name in the cluster, with --against live
    #[arg(long, default_value = LOCAL)]
    pub(super) name: String,
    /// Plan as `apply --prune`, which removes objects that the fleet no longer has; with --against live
    #[arg(long)]
    pub(super) prune: bool,
    /// Plan as if this loss were approved, such as "release NAMESPACE/NAME"; a name alone means its deletion; may be repeated
    #[arg(long, value_name = "LOSS", requires = "prune")]
    pub(super) approve: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
}

/// What may be removed from which cluster.
pub(super) struct Limits<'a> {
    pub(super) access: &'a AccessArgs,
    pub(super) prune: bool,
    pub(super) approvals: &'a [Approval],
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Against {
    /// An empty cluster
    #[default]
    None,
    /// The live cluster
    Live,
}

/// The plan and its impact; exit 0 with changes, 1 on error findings.
pub(super) fn run(args: &PlanArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        !args.prune || matches!(args.against, Against::Live),
        "--prune needs --against live: an empty cluster has nothing to remove"
    );
    let fleet = Fleet::selected(&args.fleet, &args.selector, Extent::Exact)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let approvals = approvals(&args.approve, &fleet.compiled)?;
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    let compared = match args.against {
        Against::None => {
            let (objects, graph) = (&fleet.compiled.objects, &fleet.compiled.graph);
            Compared::from(plan::against_none(objects, graph, &set))
        }
        Against::Live => {
            // What is not selected may still be in the fleet.
            let is_selected = args.selector.selector.is_some();
            let limits = Limits {
                access: &args.access,
                prune: args.prune && !is_selected,
                approvals: &approvals,
            };
            let mut compared = live(&fleet.compiled, &set, &limits, &fleet.elsewhere)?;
            warn_of_unused(&limits, &compared, ui);
            if is_selected {
                compared.leaving.clear();
            }
            compared
        }
    };
    show(&fleet.compiled, &compared, args.format, ui)
}

/// What an apply would do to the cluster; nothing is written.
pub(super) fn dry_run(
    compiled: &Compiled,
    set: &ApplySet,
    limits: &Limits<'_>,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let compared = live(compiled, set, limits, &BTreeSet::new())?;
    warn_of_unused(limits, &compared, ui);
    show(compiled, &compared, DataFormat::Text, ui)
}

/// Says which approved clusters do not leave the fleet.
fn warn_of_unused(limits: &Limits<'_>, compared: &Compared, ui: &Ui) {
    if !limits.prune {
        return;
    }
    for unused in approvals::unused(limits.approvals, compared.leaving.keys()) {
        ui.error(&unused);
    }
}

/// The plan of a fleet, or of a part of it with the namespaces of the rest, compared with the cluster.
fn live(
    compiled: &Compiled,
    set: &ApplySet,
    limits: &Limits<'_>,
    elsewhere: &BTreeSet<String>,
) -> anyhow::Result<Compared> {
    let guard = DeletionGuard {
        prune: limits.prune,
        approvals: limits.approvals.to_vec(),
        ..DeletionGuard::default()
    };
    let plan = plan::against_none(&compiled.objects, &compiled.graph, set);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = client(limits.access).await?;
        Ok(compare(&client, set, plan, guard, elsewhere).await?)
    })
}

fn show(
    compiled: &Compiled,
    compared: &Compared,
    format: DataFormat,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let changes = compared.changes(&compiled.objects);
    ui.data(&match format {
        DataFormat::Text => text::text(compared, &changes, ui.colours_data()),
        DataFormat::Json => {
            let json = json::json(compared, &changes);
            format!("{}\n", serde_json::to_string_pretty(&json)?)
        }
    })?;
    Ok(Exit::failed_if(
        compared.is_refused() || changes.has_errors(),
    ))
}
