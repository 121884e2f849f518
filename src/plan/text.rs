//! A plan as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Plan, Rolled};
use crate::model::Change;

/// The impact, then the steps by wave; what is unchanged is only counted.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let mut out = String::new();
    let impact = &plan.impact;
    let counts = match plan.steps.is_empty() {
        true => "nothing to do".to_owned(),
        false => counts(&impact.changes),
    };
    let rolled = match impact.rolled {
        nothing if nothing == Rolled::default() => String::new(),
        rolled => format!("; {rolled}"),
    };
    let _ = writeln!(
        out,
        "plan: {counts}{rolled}; {}, {}",
        plural(impact.clusters, "cluster"),
        plural(impact.embedded, "embedded resource")
    );
    let mut is_first = true;
    for (wave, steps) in plan.waves().iter().enumerate() {
        let steps = steps.iter().map(|at| &plan.steps[*at]);
        let mut steps = steps.filter(|step| step.change != Change::NoOp).peekable();
        if steps.peek().is_some() {
            let before = if is_first { "\n" } else { "" };
            let _ = writeln!(out, "{before}wave {}", wave + 1);
            is_first = false;
        }
        for step in steps {
            let _ = writeln!(out, "  {:<8} {}", word(step.change), step.object);
        }
    }
    out
}

/// `1 to create, 2 to update`
#[must_use]
pub fn counts(changes: &BTreeMap<Change, usize>) -> String {
    let counts = changes.iter();
    let counts = counts.map(|(change, count)| format!("{count} {}", intent(*change)));
    counts.collect::<Vec<_>>().join(", ")
}

/// What happens to the objects of a change, after their number.
fn intent(change: Change) -> &'static str {
    match change {
        Change::Create => "to create",
        Change::NoOp => "unchanged",
        Change::InPlace => "to update",
        Change::Rolling => "to roll",
        Change::Replace => "to replace",
        Change::Orphan => "to release",
        Change::Delete => "to delete",
        Change::Blocked => "blocked",
        Change::Refused => "refused",
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
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
