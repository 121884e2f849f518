//! Sync checks: how a commit of the followed ref fares.

use jiff::Timestamp;

use super::notes::{Notes, noted};
use super::parts::{
    EMPTIED, Fault, RESTORE, allowed, annotations, check, counted, findings, one_line,
    severity_counts, state_of, stays,
};
use crate::apply::{AppliedState, whole_seconds};
use crate::compile::Checked;
use crate::model::markdown::{markdown, plain};
use crate::model::{Check, CheckDetail, CheckState, Severity};
use crate::reporting::sync_context;

/// The sync check of a sound revision that the cluster does not let be applied.
pub(crate) fn stuck(fleet: &str, revision: &str, state: CheckState, why: &str) -> Check {
    let title = format!("nothing can be applied: {}", one_line(why));
    check(sync_context(fleet), revision, state, &title, markdown(why))
}

/// The beginning of the title of a check of a revision that waits for the cluster.
pub(crate) const AWAY: &str = "waiting for the cluster since ";

/// The sync check of a sound revision that cannot be applied because the cluster does not answer, since this time.
pub(crate) fn away(fleet: &str, revision: &str, since: Timestamp, why: &str) -> Check {
    let since = whole_seconds(&since.to_string());
    let title = format!("{AWAY}{since}: {}", one_line(why));
    let text = format!(
        "Since {since} the cluster does not answer, or refuses this daemon: {}\n\nOnce the cluster can be used again, this revision is checked and applied: nobody needs to push it again. What was applied before stays as it is.",
        markdown(why)
    );
    let context = sync_context(fleet);
    check(context, revision, CheckState::Pending, &title, text)
}

/// The sync check of a revision with error findings: it is not applied.
pub(crate) fn refused(fleet: &str, revision: &str, checked: &Checked, good: Option<&str>) -> Check {
    let title = format!(
        "not applied: {}",
        counted(checked.count(Severity::Error), "error")
    );
    let found = findings(&checked.findings);
    let text = format!("{}\n\n{found}{}", stays(good), allowed(&checked.allowed));
    let check = check(
        sync_context(fleet),
        revision,
        CheckState::Failure,
        &title,
        text,
    );
    Check {
        annotations: annotations(&checked.findings),
        ..check
    }
}

/// What is said of a revision where nothing is applied.
const CHECK_ONLY: &str = "Revisions are only checked (`spec.mode` of the Fleet document is `check`): Capstan applies nothing.";

/// The sync check of a revision without errors of which nothing is applied.
pub(crate) fn checked(fleet: &str, revision: &str, notes: &Notes) -> Check {
    let title = match notes.warnings() {
        0 => "checked: no errors".to_owned(),
        count => format!("checked: {}", counted(count, "warning")),
    };
    let (context, text) = (sync_context(fleet), format!("{CHECK_ONLY}\n"));
    let check = check(context, revision, CheckState::Success, &title, text);
    noted(check, notes)
}

/// The same of a revision with errors.
pub(crate) fn checked_broken(fleet: &str, revision: &str, checked: &Checked) -> Check {
    let title = format!("checked: {}", severity_counts(&checked.findings));
    let found = findings(&checked.findings);
    let text = format!("{CHECK_ONLY}\n\n{found}{}", allowed(&checked.allowed));
    let context = sync_context(fleet);
    Check {
        annotations: annotations(&checked.findings),
        ..check(context, revision, CheckState::Failure, &title, text)
    }
}

/// The same of a revision that could not be read, or must not be.
pub(crate) fn checked_unreadable(fleet: &str, revision: &str, fault: &Fault) -> Check {
    let title = format!("not checked: {}", fault.summary);
    let text = format!("{CHECK_ONLY}\n\n{}", markdown(&fault.message));
    check(sync_context(fleet), revision, state_of(fault), &title, text)
}

/// The sync check of a revision without any object, where there were some before.
pub(crate) fn emptied(fleet: &str, revision: &str, good: Option<&str>) -> Check {
    let title = format!("not applied: {EMPTIED}");
    let text = match good {
        Some(good) => format!("{}\n\n{RESTORE}", stays(Some(good))),
        None => RESTORE.to_owned(),
    };
    let context = sync_context(fleet);
    check(context, revision, CheckState::Failure, &title, text)
}

/// The same check while the fleet is suspended, since then.
pub(crate) fn paused(fleet: &str, check: Check, since: &str, applied: &AppliedState) -> Check {
    let text = format!(
        "The fleet has been suspended since {}: nothing is applied, repaired or removed. `capstan resume --name {fleet}` continues.\n\n",
        markdown(since)
    );
    let (title, rest) = match applied {
        AppliedState::This => (check.title, check.summary),
        AppliedState::Unwatched => (
            "applied before".to_owned(),
            "This revision was applied before, at least in part. Its objects are not watched until the fleet is resumed.".to_owned(),
        ),
        AppliedState::Earlier((earlier, _)) => ("not applied".to_owned(), stays(Some(earlier))),
        AppliedState::Nothing => ("not applied".to_owned(), stays(None)),
        AppliedState::Unknown => ("not applied".to_owned(), String::new()),
    };
    let is_pending = check.state == CheckState::Pending;
    Check {
        detail: is_pending.then_some(CheckDetail::Queued).or(check.detail),
        title: plain(&format!("suspended; {title}")),
        summary: text + &rest,
        ..check
    }
}

/// The sync check of a revision that could not be read, or must not be.
pub(crate) fn unreadable(fleet: &str, revision: &str, fault: &Fault, good: Option<&str>) -> Check {
    let title = format!("not applied: {}", fault.summary);
    let text = format!("{}\n\n{}", stays(good), markdown(&fault.message));
    let context = sync_context(fleet);
    check(context, revision, state_of(fault), &title, text)
}

/// The sync check of a revision that gave way to `newer` before it was ready.
pub(crate) fn superseded(fleet: &str, revision: &str, newer: &str, title: &str) -> Check {
    let short = newer.get(..10).unwrap_or(newer);
    let at = match title {
        "" => String::new(),
        title => format!(" at {title}"),
    };
    let title = format!("superseded by {short}{at}");
    let newer = markdown(newer);
    let text = format!("The fleet continues with {newer}; see its check.");
    let context = sync_context(fleet);
    Check {
        detail: Some(CheckDetail::Superseded),
        ..check(context, revision, CheckState::Error, &title, text)
    }
}

/// The sync check of a sound revision of a fleet that is suspended.
pub(crate) fn suspended(fleet: &str, revision: &str, applied: Option<&str>) -> Check {
    let title = "not applied: the fleet is suspended".to_owned();
    let mut text = "Set `spec.apply.suspend: false` to continue.".to_owned();
    if let Some(applied) = applied {
        text = format!("{} {text}", stays(Some(applied)));
    }
    let context = sync_context(fleet);
    Check {
        detail: Some(CheckDetail::Queued),
        ..check(context, revision, CheckState::Pending, &title, text)
    }
}
