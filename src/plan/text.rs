//! A plan as text.

use std::fmt::Write as _;

use super::{Plan, Rolled};
use crate::model::Change;

/// The impact, then the steps by wave.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let impact = &plan.impact;
    let counts: Vec<String> = impact
        .changes
        .iter()
        .map(|(change, count)| match change {
            Change::Blocked | Change::Refused => format!("{count} {}", word(*change)),
            _ => format!("{count} to {}", word(*change)),
        })
        .collect();
    let counts = if plan.steps.is_empty() {
        "nothing to do".to_owned()
    } else {
        counts.join(", ")
    };
    let rolled = match impact.rolled {
        nothing if nothing == Rolled::default() => String::new(),
        rolled => format!("; {rolled}"),
    };
    let _ = writeln!(
        out,
        "plan: {counts}{rolled}; {} clusters, {} embedded resources\n",
        impact.clusters, impact.embedded
    );
    for (wave, steps) in plan.waves().iter().enumerate() {
        let _ = writeln!(out, "wave {}", wave + 1);
        for step in steps.iter().map(|at| &plan.steps[*at]) {
            let _ = writeln!(out, "  {:<8} {}", word(step.change), step.object);
        }
    }
    out
}

/// The word for a change, for people and programs.
#[must_use]
pub fn word(change: Change) -> &'static str {
    match change {
        Change::Create => "create",
        Change::NoOp => "no-op",
        Change::InPlace => "in-place",
        Change::Rolling => "rolling",
        Change::Replace => "replace",
        Change::Orphan => "orphan",
        Change::Delete => "delete",
        Change::Blocked => "blocked",
        Change::Refused => "refused",
    }
}
