//! A plan of a fleet against files: another revision or directory, without a cluster.
//!
//! In: arguments. Out: the check that a pull request would get, and an exit code.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Value as Json, json};

use super::account;
use super::against::Files;
use super::args::{PlanArgs, PlanFormat};
use super::sides::Sides;
use crate::cli::approvals::{approvals, unused};
use crate::cli::exit::Exit;
use crate::cli::report::{self, Report};
use crate::cli::ui::Ui;
use crate::compile::{self, Checked, Digest, Memory};
use crate::follow::{Compilation, kept, objects_in, proposed};
use crate::model::words::json_document;
use crate::model::{CheckState, ObjectId, Tree};
use crate::plan::approvals::{Approval, Approvals};
use crate::plan::losses::Unit;
use crate::plan::{ApplySet, Plan, Proposed};
use crate::reporting::report::{
    self as checks, ApprovalWays, Comparison, Merge, Proposal, Told, Trailers,
};
use crate::settings::{Environment, PlanSettings};

/// The note where no commit has the changes.
const UNCOMMITTED: &str = "Uncommitted changes are included.";

/// What a plan came to.
struct Outcome {
    told: Told,
    /// What is wrong with the fleet; nothing after a conflict.
    checked: Checked,
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
    let sides = Sides::read(&args.fleet, files, &settings)?;
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    let outcome = plan(args, &sides, &settings, &set, ui)?;
    print(args.format, &sides, &outcome, ui)?;
    Ok(match outcome.told.check.state {
        CheckState::Success if args.exit_code && outcome.told.is_change => Exit::Changed,
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
            let check = checks::conflicts(set.fleet(), &sides.head, paths);
            return Ok(Outcome {
                told: Told::without_account(check),
                checked: Checked::default(),
            });
        }
    };
    let files = |trees: &[Tree]| compile::Files::new(settings.policy.clone(), trees.to_vec());
    let mut memory = Memory::default();
    let before = kept(&files(&sides.before), set, &mut memory);
    let before = Compilation::new(&sides.base.commit, before);
    let base = before.base(&sides.base.commit, sides.base.name.clone());
    let after = files(after);
    let digest = proposed(&after, set, before.plan(), &memory);
    let flags = flags(args, before.plan(), &digest, ui)?;
    let told = checks::told(&Merge {
        fleet: set.fleet(),
        revision: &sides.head,
        proposal: Proposal {
            digest: &digest,
            objects: &|namespaces| objects_in(&after, namespaces, &memory),
        },
        comparison: Comparison::Base(&base, before.plan()),
        base: Some(&base),
        approvals: &all_approvals(sides, flags, settings),
        waiting: &BTreeSet::new(),
        prune: settings.prune,
        settle: settings.settle,
        ways: ApprovalWays {
            trailers: Trailers::for_fleet(settings.verify.is_some(), settings.approvals.is_set()),
            ..ApprovalWays::default()
        },
    });
    Ok(Outcome {
        told,
        checked: digest.checked,
    })
}

/// What commits, flags and settings approve.
fn all_approvals(sides: &Sides, flags: Vec<Approval>, settings: &PlanSettings) -> Approvals {
    let mut approvals = sides.approvals.clone();
    approvals.given.extend(flags);
    approvals.given.extend(Approval::allowed(settings.allowed));
    approvals
}

/// What the flags approve. Says which of them name nothing that leaves the fleet.
fn flags(
    args: &PlanArgs,
    before: Option<&Plan>,
    after: &Digest<Proposed>,
    ui: &Ui,
) -> anyhow::Result<Vec<Approval>> {
    if args.approve.is_empty() {
        return Ok(Vec::new());
    }
    // The graph of a fleet with errors has no ids.
    let ids = after.kept.iter().map(|proposed| proposed.kept.id());
    let ids: Vec<ObjectId> = ids.collect();
    let parts = ids.iter().zip(&after.kept);
    let staying = parts.filter_map(|(id, one)| Unit::of(id, &one.kept.part()?.cluster));
    let flags = approvals(&args.approve, &staying.collect())?;
    let steps = before.iter().flat_map(|plan| &plan.steps);
    let mut leaving: BTreeSet<&ObjectId> = steps.map(|step| &*step.object).collect();
    for id in &ids {
        leaving.remove(id);
    }
    for unused in unused(&flags, leaving.into_iter()) {
        ui.error(&unused);
    }
    Ok(flags)
}

fn print(format: PlanFormat, sides: &Sides, outcome: &Outcome, ui: &Ui) -> anyhow::Result<()> {
    let note = match sides.is_uncommitted {
        true => UNCOMMITTED,
        false => "",
    };
    let Told {
        check,
        account: members,
        ..
    } = &outcome.told;
    ui.data(&match format {
        PlanFormat::Text => account::text(check, note),
        PlanFormat::Markdown => account::in_markdown(check, note),
        PlanFormat::Json => {
            let found = report::json(&Report::of(&outcome.checked));
            let mut document = json!({
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
            });
            if let (Some(all), Some(Json::Object(members))) = (document.as_object_mut(), members) {
                all.extend(members.clone());
            }
            json_document(&document)
        }
    })
}
