//! `capstan plan`: what would be done.

use std::collections::BTreeMap;

use serde_json::json;

use super::Exit;
use super::args::{Against, DataFormat, PlanArgs};
use super::fleet::Fleet;
use super::ui::Ui;
use crate::model::{Needed, Predecessor, Step};
use crate::plan::{self, ApplySet, Plan};
use crate::settings::Environment;

/// The name of the set that a directory without a Fleet document makes.
pub(super) const LOCAL: &str = "local";

/// The plan and its impact; exit 0 with changes, 1 on error findings.
pub(super) fn run(args: &PlanArgs, ui: &Ui, environment: &Environment) -> anyhow::Result<Exit> {
    let fleet = Fleet::read(&args.fleet)?;
    if fleet.is_refused(ui) {
        return Ok(Exit::Failed);
    }
    let set = ApplySet::new(LOCAL, environment.namespace.as_str());
    let plan = match args.against {
        Against::None => plan::against_none(&fleet.compiled.objects, &fleet.compiled.graph, &set),
    };
    ui.data(&match args.format {
        DataFormat::Text => plan::text(&plan),
        DataFormat::Json => format!("{}\n", serde_json::to_string_pretty(&json(&plan))?),
    })?;
    Ok(Exit::Fine)
}

fn json(plan: &Plan) -> serde_json::Value {
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
        json!({"object": object, "change": plan::word(step.change), "after": after})
    };
    let impact = &plan.impact;
    let changes = impact.changes.iter();
    let changes: BTreeMap<&str, usize> = changes
        .map(|(change, count)| (plan::word(*change), *count))
        .collect();
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Plan",
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
        "impact": {"changes": changes, "clusters": impact.clusters, "embedded": impact.embedded},
    })
}
