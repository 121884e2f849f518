//! What checks say of approvals: what waits for one, who gave one and where, and what is none.
//!
//! In: the clusters that wait, and approvals. Out: a button, and text. It does not know who may approve.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{MOST_LINES, list};
use crate::api::{kinds, labels};
use crate::apply::PruneStatus;
use crate::model::{Button, Check, CheckState, ObjectId};
use crate::plan::approvals::{Approval, Approvals, Doubt, How, What, short};

/// The button of a check that lists these clusters. One that cannot list all of them has none: nobody approves what is
/// not shown.
pub(super) fn button(revision: &str, context: &str, unapproved: &[String]) -> Option<Button> {
    let is_listed = (1..=MOST_LINES).contains(&unapproved.len());
    is_listed.then(|| Button::new(revision, context, unapproved.iter().cloned()))
}

/// Who approved the deletion of any of these clusters, or a recreation, and where; empty if nobody did.
pub(super) fn approved(given: &[Approval], leaving: &BTreeSet<String>) -> String {
    let named = given.iter().filter_map(|one| approval(one, leaving));
    let lines: Vec<String> = named.collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()) + "\n",
    }
}

/// Who approved what and where; `None` if it is of no use for what leaves, or nobody did it by name.
fn approval(approval: &Approval, leaving: &BTreeSet<String>) -> Option<String> {
    let what = match &approval.what {
        What::Delete(cluster) if leaving.contains(cluster) => format!("the deletion of {cluster}"),
        What::Recreate(cluster) => format!("the recreation of the HCP cluster of {cluster}"),
        What::Delete(_) | What::DeleteAny(_) => return None,
    };
    let place = match approval.how {
        How::Trailer => "in the message of",
        How::Button => "with the button on",
        How::Flag | How::Setting => return None,
    };
    let (commit, who) = (short(&approval.commit), &approval.who);
    Some(format!("{what} was approved by {who} {place} {commit}"))
}

/// Each of these approvals, and why it does not count.
pub(super) fn doubted(doubted: &[(Approval, Doubt)]) -> impl ExactSizeIterator<Item = String> {
    doubted.iter().map(|(approval, doubt)| {
        format!(
            "\"{}: {}\" in {} by {} does not count: {doubt}",
            labels::APPROVE,
            approval.what,
            short(&approval.commit),
            approval.who
        )
    })
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
pub(crate) fn asked(
    check: Check,
    leaving: &BTreeMap<ObjectId, PruneStatus>,
    approvals: &Approvals,
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
    let unclear = match waiting.is_empty() {
        true => &[][..],
        false => &approvals.unclear,
    };
    let none = doubted(&approvals.doubted).chain(no_approvals(unclear));
    let none: Vec<String> = none.collect();
    let none = match none.is_empty() {
        true => String::new(),
        false => list(none.into_iter()) + "\n",
    };
    Check {
        summary: none + &ask + &approved(&approvals.given, &all) + &check.summary,
        button,
        ..check
    }
}
