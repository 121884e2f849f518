//! A plan of a fleet against files: another revision or directory, without a cluster.
//!
//! In: arguments. Out: the check that a pull request would get, and an exit code.

use std::collections::BTreeMap;

use anyhow::Context as _;
use serde_json::json;

use super::account;
use super::against::Files;
use super::args::{PlanArgs, PlanFormat};
use super::sides::Sides;
use crate::cli::approvals::{approvals, unused};
use crate::cli::exit::Exit;
use crate::cli::report::{self, Report};
use crate::cli::ui::Ui;
use crate::compile::{Compiled, compile_by};
use crate::follow::Compilation;
use crate::model::{Check, CheckState, ObjectId, Tree};
use crate::plan::approvals::{Approval, Approvals, What};
use crate::plan::{self, ApplySet, Plan};
use crate::reporting::report::{self as checks, Comparison, Merge};
use crate::settings::{Environment, PlanSettings};

/// What is said of changes that no commit has.
const UNCOMMITTED: &str = "Uncommitted changes are included.";

/// What a plan came to.
struct Outcome {
    check: Check,
    /// What the fleet comes to; nothing after a conflict.
    compiled: Compiled,
    has_changes: bool,
}

/// Prints the check; exit 1 unless it is a success.
pub(super) fn run(
    args: &PlanArgs,
    wanted: &str,
    ui: &Ui,
    environment: &Environment,
) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        args.selector.selector.is_none(),
        "--selector cannot be used with --against {wanted}: a change may move an object out of the selection; compare the whole fleet"
    );
    let settings = args.fleet.fleet.as_deref().map(PlanSettings::file);
    let settings = settings.transpose().context("--fleet")?.unwrap_or_default();
    let files = Files::find(wanted, &args.fleet.path)?;
    let sides = Sides::read(&args.fleet, files, settings.verify.as_ref())?;
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    let outcome = plan(args, &sides, &settings, &set, ui)?;
    print(args.format, &sides, &outcome, ui)?;
    Ok(match outcome.check.state {
        CheckState::Success if args.exit_code && outcome.has_changes => Exit::Changed,
        state => Exit::failed_if(state != CheckState::Success),
    })
}

fn plan(
    args: &PlanArgs,
    sides: &Sides,
    settings: &PlanSettings,
    set: &ApplySet,
    ui: &Ui,
) -> anyhow::Result<Outcome> {
    let after = match &sides.after {
        Ok(after) => after,
        Err(paths) => {
            return Ok(Outcome {
                check: checks::conflicts(set.fleet(), &sides.head, paths),
                compiled: Compiled::default(),
                has_changes: true,
            });
        }
    };
    let compile = |trees: &[Tree]| compile_by(&settings.policy, &trees[0], &trees[1..]);
    let compiled = compile(after);
    let before = Compilation::new(&sides.base.commit, compile(&sides.before), set);
    let base = before.base(&sides.base.commit, sides.base.name.clone());
    let flags = approvals(&args.approve, &compiled)?;
    let leaving = leaving(before.plan(), &compiled);
    for unused in unused(&flags, leaving.iter().copied()) {
        ui.error(&unused);
    }
    let check = checks::plan(&Merge {
        set,
        revision: &sides.head,
        compiled: &compiled,
        comparison: Comparison::Base(&base, before.plan()),
        base: Some(&base),
        approvals: &all_approvals(sides, flags, settings),
        prune: settings.prune,
        settle: settings.settle,
        has_buttons: false,
    });
    Ok(Outcome {
        has_changes: !leaving.is_empty() || differs(before.plan(), &compiled, set),
        check,
        compiled,
    })
}

/// What commits, flags and settings approve.
fn all_approvals(sides: &Sides, flags: Vec<Approval>, settings: &PlanSettings) -> Approvals {
    let mut approvals = sides.approvals.clone();
    approvals.given.extend(flags);
    let most = settings.max_clusters;
    let allowed = (most > 0).then(|| Approval::setting(What::DeleteAny(most)));
    approvals.given.extend(allowed);
    approvals
}

/// The objects that the fleet had and has no more.
fn leaving<'a>(before: Option<&'a Plan>, after: &Compiled) -> Vec<&'a ObjectId> {
    let mut steps: BTreeMap<&ObjectId, ()> = BTreeMap::new();
    for step in before.iter().flat_map(|plan| &plan.steps) {
        steps.insert(&step.object, ());
    }
    for object in &after.objects {
        steps.remove(&object.id);
    }
    steps.into_keys().collect()
}

/// Returns true if an object is new, or sent otherwise than before.
fn differs(before: Option<&Plan>, after: &Compiled, set: &ApplySet) -> bool {
    let steps = before.iter().flat_map(|plan| &plan.steps);
    let hashes: BTreeMap<&ObjectId, &str> = steps
        .map(|step| (&step.object, step.action.payload.hash()))
        .collect();
    let mut objects = after.objects.iter();
    objects.any(|object| hashes.get(&object.id) != Some(&plan::payload(object, set).hash()))
}

fn print(format: PlanFormat, sides: &Sides, outcome: &Outcome, ui: &Ui) -> anyhow::Result<()> {
    let note = match sides.is_uncommitted {
        true => UNCOMMITTED,
        false => "",
    };
    let check = &outcome.check;
    ui.data(&match format {
        PlanFormat::Text => account::text(check, note),
        PlanFormat::Markdown => account::in_markdown(check, note),
        PlanFormat::Json => {
            let found = report::json(&Report::of(&outcome.compiled));
            report::document(&json!({
                "apiVersion": "capstan.dev/v1alpha1",
                "kind": "Plan",
                "against": {
                    "name": sides.base.name,
                    "revision": sides.base.commit,
                    "includesUncommitted": sides.is_uncommitted,
                },
                "state": check.state,
                "title": check.title,
                "findings": found["findings"],
                "text": account::unformatted(&check.summary),
            }))
        }
    })
}
