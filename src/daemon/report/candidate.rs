//! Plan checks: what a candidate makes of the fleet.

use super::differences::differences;
use super::parts::{
    EMPTIED, RESTORE, allowed, annotations, check, counted, fault_of, findings, list, plan_context,
};
use crate::compile::Compiled;
use crate::daemon::failure::Failure;
use crate::model::{Check, CheckState, Severity};
use crate::plan::{ApplySet, Plan};

/// The plan check of a candidate: its findings, and what it changes against what is applied, which is
/// named.
pub(in crate::daemon) fn plan(
    set: &ApplySet,
    revision: &str,
    compiled: &Compiled,
    applied: Option<(&str, Option<&Plan>)>,
) -> Check {
    let before = applied.and_then(|(_, plan)| plan);
    let had_objects = before.is_some_and(|plan| !plan.steps.is_empty());
    if compiled.objects.is_empty() && !compiled.has_errors() && had_objects {
        let (context, title) = (plan_context(set.fleet()), EMPTIED.to_owned());
        return check(
            context,
            revision,
            CheckState::Failure,
            title,
            RESTORE.to_owned(),
        );
    }
    let mut shown = Vec::new();
    let (state, title, mut text) = if compiled.has_errors() {
        let title = counted(compiled.count(Severity::Error), "error");
        (CheckState::Failure, title, String::new())
    } else {
        let differences = differences(set, compiled, before);
        let text = match applied {
            Some((applied, Some(_))) => {
                format!("Compared with the applied revision {applied}.\n\n")
            }
            Some((applied, None)) => format!(
                "The applied revision {applied} cannot be read, so this is compared with an empty fleet.\n\n"
            ),
            None => "No revision is applied to compare it with.\n\n".to_owned(),
        };
        let (title, text) = (differences.title(), text + &differences.text());
        let state = match differences.changes.refused() {
            0 => CheckState::Success,
            _ => CheckState::Failure,
        };
        shown = differences.changes.findings();
        (state, title, text)
    };
    shown.extend(compiled.findings.iter().cloned());
    text.push_str(&findings(&shown));
    text.push_str(&allowed(&compiled.allowed));
    Check {
        annotations: annotations(&shown),
        ..check(plan_context(set.fleet()), revision, state, title, text)
    }
}

/// The plan check of a candidate that does not merge.
pub(in crate::daemon) fn conflicts(fleet: &str, revision: &str, paths: &[String]) -> Check {
    let text = format!("Both branches changed:\n\n{}", list(paths.iter().cloned()));
    let title = format!("merge conflict in {}", counted(paths.len(), "file"));
    check(
        plan_context(fleet),
        revision,
        CheckState::Failure,
        title,
        text,
    )
}

/// The plan check of a candidate that could not be read.
pub(in crate::daemon) fn broken_plan(fleet: &str, revision: &str, failure: &Failure) -> Check {
    let (context, state) = (plan_context(fleet), fault_of(failure));
    let title = "the commit cannot be read".to_owned();
    check(context, revision, state, title, failure.to_string())
}
