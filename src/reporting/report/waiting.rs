//! Plan checks before there is a plan, and in place of one that nobody needs any more.

use super::parts::check;
use crate::model::markdown::markdown;
use crate::model::{Check, CheckDetail, CheckState};
use crate::reporting::{plan_context, sync_context};

/// The check of a head that waits for its plan.
pub(crate) fn queued(fleet: &str, revision: &str) -> Check {
    Check {
        detail: Some(CheckDetail::Queued),
        ..pending(fleet, revision, "waiting to be planned")
    }
}

/// The check of a head that is being planned.
pub(crate) fn planning(fleet: &str, revision: &str) -> Check {
    pending(fleet, revision, "being planned")
}

fn pending(fleet: &str, revision: &str, title: &str) -> Check {
    let (context, text) = (plan_context(fleet), String::new());
    check(context, revision, CheckState::Pending, title, text)
}

/// The check of a head that nobody plans any more.
pub(crate) fn left_behind(fleet: &str, revision: &str) -> Check {
    let title = "not planned: its branch moved on, was merged or was deleted";
    let text = "That happened before it was planned. If there is a newer commit, see its check.";
    let (context, state) = (plan_context(fleet), CheckState::Error);
    Check {
        detail: Some(CheckDetail::Superseded),
        ..check(context, revision, state, title, text.to_owned())
    }
}

/// The check of a head that became the newest commit of the followed ref before it was planned.
pub(crate) fn merged(fleet: &str, revision: &str) -> Check {
    let title = "merged before it was planned";
    let text = format!("See the check {}.", markdown(&sync_context(fleet)));
    let (context, state) = (plan_context(fleet), CheckState::Success);
    check(context, revision, state, title, text)
}
