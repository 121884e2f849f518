//! `capstan plan`: what would be done.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::args::{DataFormat, LOCAL};
use super::cluster::{AccessArgs, client};
use super::exit::Exit;
use super::fleet::{Fleet, FleetArgs, SelectorArgs};
use super::ui::{Ui, plain_lines};
use crate::adapters::kubernetes::{Compared, compare};
use crate::apply::{DeletionGuard, PruneDecision};
use crate::compile::select::Extent;
use crate::model::{Change, Needed, ObjectId, Predecessor, Step};
use crate::plan::{self, ApplySet, Plan};
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
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: DataFormat,
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
    let fleet = Fleet::selected(&args.fleet, &args.selector, Extent::Exact)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let set = ApplySet::new(args.name.as_str(), environment.namespace.as_str());
    let plan = plan::against_none(&fleet.compiled.objects, &fleet.compiled.graph, &set);
    let compared = match args.against {
        Against::None => Compared {
            plan,
            ..Compared::default()
        },
        Against::Live => live(args, &set, plan)?,
    };
    ui.data(&match args.format {
        DataFormat::Text => plain_lines(&text(&compared)),
        DataFormat::Json => format!("{}\n", serde_json::to_string_pretty(&json(&compared))?),
    })?;
    Ok(Exit::failed_if(!compared.refused.is_empty()))
}

/// The plan compared with the cluster. Deletions are shown as if all were approved.
fn live(args: &PlanArgs, set: &ApplySet, plan: Plan) -> anyhow::Result<Compared> {
    let guard = DeletionGuard {
        prune: true,
        ..DeletionGuard::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = client(&args.access).await?;
        let mut compared = compare(&client, set, plan, guard).await?;
        // What is not selected may still be in the fleet.
        if args.selector.selector.is_some() {
            compared.leaving.clear();
        }
        Ok(compared)
    })
}

/// The plan, then what changes, what is deleted, and what is refused.
fn text(compared: &Compared) -> String {
    let mut out = plan::text(&compared.plan);
    for (id, fields) in &compared.fields {
        out.push_str(&changed(id, fields, compared));
    }
    if !compared.leaving.is_empty() {
        out.push_str("\nno longer in the fleet:\n");
    }
    for (id, decision) in &compared.leaving {
        let _ = writeln!(out, "  {:<8} {id}{}", word(decision), why(decision));
    }
    for (verb, objects) in [
        ("blocked", &compared.blocked),
        ("refused", &compared.refused),
    ] {
        for (_, message) in objects {
            let _ = writeln!(out, "\n{verb}: {message}");
        }
    }
    out
}

/// What changes of an object that is there, and what follows.
fn changed(id: &ObjectId, fields: &[String], compared: &Compared) -> String {
    let consequences = compared.consequences.get(id).map_or(&[][..], Vec::as_slice);
    let opening = match plan::heaviest(consequences) {
        Change::Replace => "cannot be changed in place",
        Change::Rolling => "changes, and nodes are replaced for it",
        _ => "changes in place",
    };
    let mut why: BTreeMap<String, &str> = fields.iter().map(|field| (field.clone(), "")).collect();
    why.extend(
        consequences
            .iter()
            .map(|one| (one.field.pointer(), one.why)),
    );
    let mut out = format!("\n{id} {opening}:\n");
    for (field, why) in why {
        let _ = match why {
            "" => writeln!(out, "  {field}"),
            why => writeln!(out, "  {field}: {why}"),
        };
    }
    out
}

fn word(decision: &PruneDecision) -> &'static str {
    match decision {
        PruneDecision::Held(_) => "keep",
        PruneDecision::Orphan => plan::word(Change::Orphan),
        _ => plan::word(Change::Delete),
    }
}

fn why(decision: &PruneDecision) -> String {
    match decision {
        PruneDecision::Held(why) => format!(": {why}"),
        PruneDecision::After(other) => format!(", after {other}"),
        _ => String::new(),
    }
}

fn json(compared: &Compared) -> serde_json::Value {
    let plan = &compared.plan;
    let before = |before: &Predecessor| {
        let until = match before.until {
            Needed::Applied => "applied",
            Needed::Ready => "ready",
        };
        json!({"object": plan.steps[before.step].object.to_string(), "until": until})
    };
    let step = |step: &Step| {
        let after: Vec<_> = step.after.iter().map(before).collect();
        let object = step.object.to_string();
        let fields = compared.fields.get(&step.object).into_iter().flatten();
        let follows = compared
            .consequences
            .get(&step.object)
            .into_iter()
            .flatten();
        let follows = follows.map(|one| json!({"field": one.field.pointer(), "of": one.part.to_string(), "change": plan::word(one.change), "message": one.why}));
        json!({"object": object, "change": plan::word(step.change), "after": after, "fields": fields.collect::<Vec<_>>(), "consequences": follows.collect::<Vec<_>>()})
    };
    let impact = &plan.impact;
    let changes = impact.changes.iter();
    let changes: BTreeMap<&str, usize> = changes
        .map(|(change, count)| (plan::word(*change), *count))
        .collect();
    let leaving = compared.leaving.iter();
    let leaving = leaving.map(|(id, decision)| json!({"object": id.to_string(), "change": word(decision), "message": why(decision).trim_start_matches([':', ',', ' '])}));
    let messages = |all: &[(ObjectId, String)]| -> Vec<serde_json::Value> {
        all.iter()
            .map(|(id, message)| json!({"object": id.to_string(), "message": message}))
            .collect()
    };
    json!({
        "leaving": leaving.collect::<Vec<_>>(),
        "blocked": messages(&compared.blocked),
        "refused": messages(&compared.refused),
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Plan",
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
        "impact": {
            "changes": changes, "clusters": impact.clusters, "embedded": impact.embedded,
            "rolls": {"nodes": impact.rolled.nodes, "clusters": impact.rolled.clusters},
        },
    })
}
