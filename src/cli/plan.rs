//! `capstan plan`: what would be done.

use serde_json::json;

use super::Exit;
use super::args::{Against, DataFormat, PlanArgs};
use super::fleet::Fleet;
use super::ui::Ui;
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
    let step = |step: &crate::model::Step| {
        let after: Vec<_> = step
            .after
            .iter()
            .map(|before| json!({"object": plan.steps[before.step].object.to_string(), "until": format!("{:?}", before.until)}))
            .collect();
        json!({"object": step.object.to_string(), "change": format!("{:?}", step.change), "after": after})
    };
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Plan",
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
        "impact": {"clusters": plan.impact.clusters, "embedded": plan.impact.embedded},
    })
}
