//! `capstan plan`: what would be done.

mod account;
mod against;
mod args;
mod files;
mod json;
mod sides;
mod text;

use std::collections::BTreeSet;

use super::approvals::{self, approvals, units};
use super::cluster::{AccessArgs, client};
use super::exit::Exit;
use super::fleet::Fleet;
use super::ui::Ui;
use crate::adapters::kubernetes::{Compared, compare};
use crate::apply::DeletionGuard;
use crate::compile::Compiled;
use crate::compile::select::Extent;
use crate::model::Change;
use crate::model::words::json_document;
use crate::plan::approvals::Approval;
use crate::plan::{self, ApplySet};
use crate::settings::Environment;
use against::Against;
pub(super) use args::PlanArgs;
use args::PlanFormat;

/// What may be removed from which cluster.
pub(super) struct Limits<'a> {
    pub(super) access: &'a AccessArgs,
    pub(super) prune: bool,
    pub(super) approvals: &'a [Approval],
}

/// The plan and its impact; exit 0 with changes, 1 on error findings.
pub(super) fn run(args: &PlanArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    if let Against::Files(wanted) = &args.against {
        return files::run(args, wanted, ui, environment);
    }
    let is_live = args.against == Against::Live;
    anyhow::ensure!(
        !args.prune || is_live,
        "--prune needs --against live: an empty cluster has nothing to remove"
    );
    anyhow::ensure!(
        args.approve.is_empty() || args.prune,
        "--approve needs --prune, or --against a revision or a directory: nothing else is deleted"
    );
    let fleet = Fleet::selected(&args.fleet, &args.selector, Extent::Exact)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let approvals = approvals(&args.approve, &units(&fleet.compiled))?;
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    let compared = if is_live {
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
    } else {
        let (objects, graph) = (&fleet.compiled.objects, &fleet.compiled.graph);
        Compared::from(plan::against_none(objects, graph, &set))
    };
    let exit = show(&fleet.compiled, &compared, args.format, ui)?;
    Ok(match exit {
        Exit::Fine if args.exit_code && has_changes(&compared, args.prune) => Exit::Changed,
        exit => exit,
    })
}

/// Returns true if anything would be created, changed or removed, or left the fleet and is kept although the plan prunes.
fn has_changes(compared: &Compared, prune: bool) -> bool {
    let mut steps = compared.plan.steps.iter();
    steps.any(|step| step.change != Change::NoOp) || prune && !compared.leaving.is_empty()
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
    show(compiled, &compared, PlanFormat::Text, ui)
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
    format: PlanFormat,
    ui: &Ui,
) -> anyhow::Result<Exit> {
    let changes = compared.changes(&compiled.objects);
    ui.data(&match format {
        PlanFormat::Text => text::text(compared, &changes, ui.colours_data()),
        PlanFormat::Markdown => code_block(&text::text(compared, &changes, false)),
        PlanFormat::Json => {
            let json = json::json(compared, &changes);
            json_document(&json)
        }
    })?;
    Ok(Exit::failed_if(
        compared.is_refused() || changes.has_errors(),
    ))
}

/// The text as it is, in Markdown.
fn code_block(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::PruneDecision;
    use crate::model::ObjectId;

    #[test]
    fn what_is_kept_although_the_plan_prunes_is_a_change() {
        let id = ObjectId::new("", "Namespace", "", "shared");
        let held = PruneDecision::Held("it is in use".to_owned());
        let mut compared = Compared::from(plan::Plan::default());
        compared.leaving.insert(id, held);
        assert!(has_changes(&compared, true));
        assert!(!has_changes(&compared, false));
        assert!(!has_changes(&Compared::default(), true));
    }
}
