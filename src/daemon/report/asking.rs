//! What checks say of approvals by button: what waits for one, and who gave one.
//!
//! In: the clusters that wait, and presses. Out: a button, and text. It does not know who may press.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{MOST_LINES, list};
use crate::api::{kinds, labels};
use crate::apply::PruneStatus;
use crate::daemon::approvals::{Granted, Pressed};
use crate::model::{Button, Check, CheckState, ObjectId};

/// The button of a check that lists these clusters. One that cannot list all of them has none: nobody approves what is
/// not shown.
pub(super) fn button(revision: &str, context: &str, unapproved: &[String]) -> Option<Button> {
    let is_listed = (1..=MOST_LINES).contains(&unapproved.len());
    is_listed.then(|| Button::new(revision, context, unapproved.iter().cloned()))
}

/// Who approved the deletion of any of these clusters with a button; empty if nobody did.
pub(super) fn pressed(presses: &[Pressed], leaving: &BTreeSet<String>) -> String {
    let lines = presses.iter().flat_map(|press| {
        let commit = press.commit.get(..10).unwrap_or(&press.commit);
        let clusters = press.clusters.intersection(leaving);
        clusters.map(move |cluster| {
            let login = &press.login;
            format!("the deletion of {cluster} was approved by {login} with the button on {commit}")
        })
    });
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()) + "\n",
    }
}

/// Each of these lines, why it approves nothing, and what does.
pub(super) fn no_approvals(unclear: &[String]) -> impl ExactSizeIterator<Item = String> {
    unclear.iter().map(|line| {
        format!(
            "\"{line}\" is not an approval: in the last paragraph of a commit message, write `{}: delete NAMESPACE/NAME`",
            labels::APPROVE
        )
    })
}

/// The sync check of an applied revision with what is asked of people, and what they answered.
pub(in crate::daemon) fn asked(
    check: Check,
    leaving: &BTreeMap<ObjectId, PruneStatus>,
    granted: &Granted,
    has_buttons: bool,
) -> Check {
    let clusters = leaving
        .iter()
        .filter(|(id, _)| id.is(kinds::CAPI, "Cluster"));
    let named = |id: &ObjectId| format!("{}/{}", id.namespace, id.name);
    let all: BTreeSet<String> = clusters.clone().map(|(id, _)| named(id)).collect();
    let waiting = clusters.filter(|(_, status)| status.awaits_approval());
    let waiting: Vec<String> = waiting.map(|(id, _)| named(id)).collect();
    let is_done = check.state == CheckState::Success;
    let button = match has_buttons && is_done {
        true => button(&check.revision, &check.context, &waiting),
        false => None,
    };
    let ask = match &button {
        Some(button) => format!(
            "To approve the deletion of these clusters, press the button Approve of this check. Who may write to the repository may do that:\n\n{}\n",
            list(button.clusters.iter().cloned())
        ),
        None => String::new(),
    };
    let unclear = match waiting.is_empty() || granted.unclear.is_empty() {
        true => String::new(),
        false => list(no_approvals(&granted.unclear)) + "\n",
    };
    Check {
        summary: unclear + &ask + &pressed(&granted.pressed, &all) + &check.summary,
        button,
        ..check
    }
}
