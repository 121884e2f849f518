//! Plan checks: what a candidate makes of the fleet.

use super::base::BrokenBase;
use super::differences::differences;
use super::parts::{
    EMPTIED, RESTORE, allowed, annotations, check, counted, fault_of, findings, list, plan_context,
};
use crate::compile::Compiled;
use crate::daemon::failure::Failure;
use crate::model::markdown::markdown;
use crate::model::{Check, CheckState, Finding, Severity};
use crate::plan::{ApplySet, Plan};

/// The plan check of a candidate: its findings, and what it changes against what is applied, which is
/// named. What is wrong with the base already is said once, and not listed.
pub(in crate::daemon) fn plan(
    set: &ApplySet,
    revision: &str,
    compiled: &Compiled,
    applied: Option<(&str, Option<&Plan>)>,
    base: Option<&BrokenBase>,
) -> Check {
    let before = applied.and_then(|(_, plan)| plan);
    let had_objects = before.is_some_and(|plan| !plan.steps.is_empty());
    if compiled.objects.is_empty() && !compiled.has_errors() && had_objects {
        let (context, title) = (plan_context(set.fleet()), EMPTIED.to_owned());
        let text = format!("{RESTORE}\n\n{}", findings(&compiled.findings));
        return check(context, revision, CheckState::Failure, &title, text);
    }
    if let Some(base) = base.filter(|_| compiled.has_errors()) {
        return onto_broken(set, revision, compiled, base);
    }
    let mut shown = Vec::new();
    let (state, title, mut text) = if compiled.has_errors() {
        let title = counted(compiled.count(Severity::Error), "error");
        (CheckState::Failure, title, String::new())
    } else {
        let differences = differences(set, compiled, before);
        let text = match applied {
            Some((applied, Some(_))) => {
                format!(
                    "Compared with the applied revision {}.\n\n",
                    markdown(applied)
                )
            }
            Some((applied, None)) => format!(
                "The applied revision {} cannot be read, so this is compared with an empty fleet.\n\n",
                markdown(applied)
            ),
            None => "No revision is applied to compare it with.\n\n".to_owned(),
        };
        let (title, text) = (differences.title(), text + &differences.text());
        shown = differences.changes.findings();
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        let state = match shown.iter().any(is_error) {
            false => CheckState::Success,
            true => CheckState::Failure,
        };
        (state, title, text)
    };
    shown.extend(compiled.findings.iter().cloned());
    text.push_str(&findings(&shown));
    text.push_str(&allowed(&compiled.allowed));
    Check {
        annotations: annotations(&shown),
        ..check(plan_context(set.fleet()), revision, state, &title, text)
    }
}

/// The plan check of a candidate whose base has errors, too.
fn onto_broken(set: &ApplySet, revision: &str, compiled: &Compiled, base: &BrokenBase) -> Check {
    let own = base.without(&compiled.findings);
    let errors = own.iter();
    let errors = errors.filter(|finding| finding.severity == Severity::Error);
    let (name, theirs) = (&base.name, counted(base.errors(), "error"));
    let (state, title) = match errors.count() {
        0 => (
            CheckState::Error,
            format!("{name} has {theirs}; none is from this commit"),
        ),
        count => (
            CheckState::Failure,
            format!("{}; {name} has errors, too", counted(count, "error")),
        ),
    };
    let commit = markdown(&base.commit);
    let text = format!(
        "At {commit}, {} has {theirs}, so nothing can be planned. They are in the check of that commit and not listed here.\n\n{}",
        markdown(name),
        findings(&own)
    );
    Check {
        annotations: annotations(&own),
        ..check(plan_context(set.fleet()), revision, state, &title, text)
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
        &title,
        text,
    )
}

/// The plan check of a candidate that could not be read.
pub(in crate::daemon) fn broken_plan(fleet: &str, revision: &str, failure: &Failure) -> Check {
    let (context, state) = (plan_context(fleet), fault_of(failure));
    let title = "the commit cannot be read".to_owned();
    check(
        context,
        revision,
        state,
        &title,
        markdown(&failure.to_string()),
    )
}
