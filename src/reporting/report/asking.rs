//! What checks say of losses: what each means, what needs approval and how to give it, who gave it and where, and which
//! lines are no approvals.
//!
//! In: losses, and approvals. Out: a button, and text. It does not know who may approve.

use std::collections::{BTreeMap, BTreeSet};

use super::account::Loss;
use super::parts::{MOST_LINES, list};
use crate::api::labels;
use crate::apply::{PruneStatus, Unapproved};
use crate::model::{Button, COMMAND, Check, CheckDetail, CheckState, ObjectId};
use crate::plan::approvals::{
    APPROVE, Approval, Approvals, Doubt, How, NearMiss, Verb, What, is_command, short,
};
use crate::plan::losses::Unit;

/// Whether a line in the message of a commit approves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trailers {
    /// In every commit.
    #[default]
    Count,
    /// In a commit whose signature the fleet verifies.
    CountIfSigned,
    /// Nowhere: the fleet says who may approve, and verifies no signatures.
    AreVoid,
}

impl Trailers {
    /// What counts in a fleet that verifies signatures, or says who may approve.
    pub(crate) const fn for_fleet(verifies: bool, names_approvers: bool) -> Self {
        match (verifies, names_approvers) {
            (true, _) => Self::CountIfSigned,
            (false, true) => Self::AreVoid,
            (false, false) => Self::Count,
        }
    }
}

/// The ways to approve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApprovalWays {
    /// The button of a check.
    pub(crate) button: bool,
    /// A comment on a pull request.
    pub(crate) comment: bool,
    /// A commit.
    pub(crate) trailers: Trailers,
}

impl ApprovalWays {
    /// The same check, with which people may approve these losses. If it cannot list all of them they may not: nobody
    /// approves what is not shown.
    pub(super) fn ask(self, check: Check, unapproved: &[What]) -> Check {
        let Self {
            button, comment, ..
        } = self.for_losses(unapproved.len());
        let losses = || unapproved.iter().map(What::to_string);
        let button = button.then(|| Button::new(&check.revision, &check.context, losses()));
        Check {
            button,
            asked: losses().filter(|_| comment).collect(),
            ..check
        }
    }

    /// The ways to approve so many losses.
    pub(super) fn for_losses(self, count: usize) -> Self {
        match (1..=MOST_LINES).contains(&count) {
            true => self,
            false => self.without_forge(),
        }
    }

    /// Those that need no answer of the forge.
    pub(super) fn without_forge(self) -> Self {
        Self {
            trailers: self.trailers,
            ..Self::default()
        }
    }
}

/// `cluster ns/name is released: it goes on running in Azure; nobody manages, patches or deletes it`
pub(super) fn meaning(loss: &Loss) -> String {
    let unit = &loss.unit;
    let what = noun(unit);
    let nodes = match loss.nodes {
        0 => "what runs on it goes".to_owned(),
        1 => "its node and what runs on it go".to_owned(),
        nodes => format!("its {nodes} nodes and what runs on them go"),
    };
    let place = if loss.is_in_azure { " in Azure" } else { "" };
    let stays = format!("goes on running{place}; nobody manages, patches or deletes it");
    match (&loss.renamed, &unit.pool, loss.is_deleted) {
        (None, _, true) => format!("{what} {unit} is deleted: {nodes}"),
        (None, _, false) => format!("{what} {unit} is released: it {stays}"),
        (Some(to), None, true) => format!(
            "{what} {unit} is renamed to {to}: a second cluster is made, which starts empty; the first is deleted: {nodes}"
        ),
        (Some(to), None, false) => format!(
            "{what} {unit} is renamed to {to}: a second cluster is made, which starts empty; the first {stays}"
        ),
        (Some(to), Some(_), false) => {
            format!("{what} {unit} is renamed to {to}: new nodes are made; the old pool {stays}")
        }
        (Some(to), Some(_), true) => {
            format!(
                "{what} {unit} is renamed to {to}: new nodes are made; of the old pool, {nodes}"
            )
        }
    }
}

pub(super) fn noun(unit: &Unit) -> &'static str {
    match unit.pool {
        Some(_) => "node pool",
        None => "cluster",
    }
}

/// What the losses are, how to approve those that nobody approved, and what of the rest somebody approved by name; empty
/// without losses.
pub(super) fn losses(losses: &[Loss], given: &[Approval], ways: ApprovalWays) -> String {
    let meanings = |is_meant: &dyn Fn(&&Loss) -> bool| {
        let losses = losses.iter().filter(is_meant);
        losses.map(meaning).collect::<Vec<_>>()
    };
    let is_named = |loss: &Loss| {
        let mut named = given.iter().filter_map(|one| one.what.loss());
        named.any(|named| named == (loss.verb, &loss.unit))
    };
    let open = meanings(&|loss| !loss.is_approved);
    let approved = meanings(&|loss| loss.is_approved && is_named(loss));
    let allowed = meanings(&|loss| loss.is_approved && !is_named(loss));
    let mut text = String::new();
    if !open.is_empty() {
        let unapproved = losses.iter().filter(|loss| !loss.is_approved);
        let unapproved: Vec<What> = unapproved
            .map(|loss| What::Named(loss.verb, loss.unit.clone()))
            .collect();
        text += &format!(
            "{}:\n\n{}\n{}",
            need_approval(open.len()),
            list(open.into_iter()),
            how_to_approve(&unapproved, ways, false)
        );
    }
    if !approved.is_empty() {
        text += &format!("Approved:\n\n{}\n", list(approved.into_iter()));
    }
    if !allowed.is_empty() {
        text += &format!(
            "Allowed by `spec.apply.deletionGuard`, and approved by nobody:\n\n{}\n",
            list(allowed.into_iter())
        );
    }
    text
}

pub(super) fn need_approval(count: usize) -> String {
    match count {
        1 => "1 loss needs approval".to_owned(),
        count => format!("{count} losses need approval"),
    }
}

/// These approvals as a list of lines that begin with `start`.
fn lines(start: &str, approvals: &[What]) -> String {
    let lines = approvals.iter().map(|what| format!("`{start} {what}`"));
    list(lines.collect::<Vec<_>>().into_iter())
}

pub(super) fn trailers(approvals: &[What]) -> String {
    lines(&format!("{}:", labels::APPROVE), approvals)
}

/// How to approve these losses of a candidate, or of a commit that is merged.
fn how_to_approve(unapproved: &[What], ways: ApprovalWays, is_merged: bool) -> String {
    let ways = ways.for_losses(unapproved.len());
    let (place, holds) = match is_merged {
        true => ("the merged pull request", ""),
        false => (
            "the pull request",
            "; that holds for a merge or a squash of this commit",
        ),
    };
    let (these, them) = match unapproved.len() {
        1 => ("this line", "the line"),
        _ => ("these lines", "the lines"),
    };
    let mut how = Vec::new();
    if ways.button {
        how.push(format!(
            "press the button Approve of this check, if you may write to the repository{holds}. "
        ));
    }
    if ways.comment {
        let lines = lines(&format!("{COMMAND} {APPROVE}"), unapproved);
        how.push(format!(
            "write a new comment on {place} with {these}{holds}:\n\n{lines}\n"
        ));
    }
    let commit = match ways.trailers {
        Trailers::Count => "commit",
        Trailers::CountIfSigned => "signed commit",
        Trailers::AreVoid => "",
    };
    if !commit.is_empty() {
        how.push(format!(
            "push a {commit} whose message ends in {these}, and repeat {them} in the message of a merge or a squash:\n\n{}\n",
            trailers(unapproved)
        ));
    } else if how.is_empty() {
        let first = if is_merged { "" } else { "merge this. Then " };
        let losses: Vec<String> = unapproved.iter().map(What::to_string).collect();
        how.push(format!(
            "{first}set the annotation `{}` on the ConfigMap of the fleet to this text:\n\n- `{}`\n\n",
            labels::APPROVE_ANNOTATION,
            losses.join(", ")
        ));
    }
    format!("To approve, {}", how.join("Or "))
}

/// The lines of the candidate's own commits that a squash has to keep; empty if there are none of use for what goes.
pub(super) fn to_keep(own: &BTreeSet<What>, goes: &BTreeSet<Unit>) -> String {
    let is_used = |what: &&What| what.loss().is_some_and(|(_, unit)| goes.contains(unit));
    let kept: Vec<What> = own.iter().filter(is_used).cloned().collect();
    match kept.len() {
        0 => String::new(),
        1 => format!(
            "Keep this line at the end of the message when you squash:\n\n{}\n",
            trailers(&kept)
        ),
        _ => format!(
            "Keep these lines at the end of the message when you squash:\n\n{}\n",
            trailers(&kept)
        ),
    }
}

/// Who approved any of these losses, or a recreation, and where; empty if nobody did.
pub(super) fn approved(given: &[Approval], leaving: &BTreeSet<Unit>) -> String {
    let named = given.iter().filter_map(|one| approval(one, leaving));
    let lines: Vec<String> = named.collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()) + "\n",
    }
}

/// Who approved what and where; `None` if it is of no use for what leaves, or nobody did it by name.
fn approval(approval: &Approval, leaving: &BTreeSet<Unit>) -> Option<String> {
    let what = match &approval.what {
        What::Named(Verb::Recreate, cluster) => {
            format!("the recreation of the HCP cluster of {cluster}")
        }
        What::Named(verb, unit) if leaving.contains(unit) => {
            format!("the {} of {unit}", verb.noun())
        }
        What::Named(..) | What::Clusters(_) | What::Pools => return None,
    };
    let place = match approval.how {
        How::Trailer => "in the message of",
        How::Button => "with the button on",
        How::Comment => "in a comment on",
        How::Annotation => {
            let annotation = labels::APPROVE_ANNOTATION;
            return Some(format!(
                "{what} was approved with the annotation {annotation} on the ConfigMap of the fleet"
            ));
        }
        How::Flag | How::Setting => return None,
    };
    let (commit, who) = (short(&approval.commit), &approval.who);
    Some(format!("{what} was approved by {who} {place} {commit}"))
}

/// Each of these approvals, and why it does not count.
pub(super) fn doubted(doubted: &[(Approval, Doubt)]) -> impl ExactSizeIterator<Item = String> {
    doubted.iter().map(|(approval, doubt)| {
        let (what, who) = (&approval.what, &approval.who);
        match doubt {
            Doubt::Comment(doubt) => {
                format!(
                    "the comment \"{COMMAND} {APPROVE} {what}\" by {who} does not count: {doubt}"
                )
            }
            doubt => format!(
                "\"{}: {what}\" in {} by {who} does not count: {doubt}",
                labels::APPROVE,
                short(&approval.commit),
            ),
        }
    })
}

/// Each of these lines, why it approves nothing, and what does. `asked` needs approval.
pub(super) fn no_approvals(
    unclear: &[String],
    asked: &[What],
) -> impl ExactSizeIterator<Item = String> {
    unclear.iter().map(|line| {
        let (said, place, start) = match is_command(line) {
            true => (
                line.split_once(APPROVE).map_or("", |(_, said)| said),
                "in a new comment, on a line of its own,",
                format!("{COMMAND} {APPROVE}"),
            ),
            false => (
                line.split_once([':', '=']).map_or("", |(_, said)| said),
                "in the last paragraph of a commit message,",
                format!("{}:", labels::APPROVE),
            ),
        };
        match NearMiss::of(said, asked) {
            Some(NearMiss { fault, meant }) => {
                let place = capitalized(place);
                format!("\"{line}\" approves nothing: {fault}. {place} write `{start} {meant}`")
            }
            None => {
                let meant = asked.first().map(ToString::to_string);
                let meant = meant.unwrap_or_else(|| "delete NAMESPACE/NAME".to_owned());
                format!("\"{line}\" is not an approval: {place} write `{start} {meant}`")
            }
        }
    })
}

fn capitalized(place: &str) -> String {
    place.replacen("in ", "In ", 1)
}

/// Each approval of the candidate that approves none of these losses, and what does.
pub(super) fn unused(own: &BTreeSet<What>, losses: &[Loss], asked: &[What]) -> Vec<String> {
    let is_unused = |what: &&What| {
        let of = |loss: &Loss| {
            what.loss().is_some_and(|(verb, unit)| {
                loss.unit == *unit && (loss.is_approved || loss.verb == verb)
            })
        };
        !losses.iter().any(of)
    };
    let line = |what: &What| match NearMiss::of(&what.to_string(), asked) {
        Some(NearMiss { fault, meant }) => format!(
            "\"{key}: {what}\" approves nothing: {fault}. Write `{key}: {meant}`",
            key = labels::APPROVE
        ),
        None => format!(
            "\"{}: {what}\" approves nothing: no {} of that name leaves the fleet",
            labels::APPROVE,
            what.loss().map_or("cluster", |(_, unit)| noun(unit))
        ),
    };
    own.iter().filter(is_unused).map(line).collect()
}

/// The sync check of an applied revision with what is asked of people, and what they answered. It is not done before all
/// losses are approved.
pub(crate) fn asked(
    check: Check,
    leaving: &BTreeMap<ObjectId, PruneStatus>,
    approvals: &Approvals,
    ways: ApprovalWays,
) -> Check {
    let waiting = waiting(leaving);
    let asked: Vec<What> = waiting
        .values()
        .map(|loss| What::Named(loss.verb, loss.unit.clone()))
        .collect();
    let gone = approvals.given.iter().filter_map(|one| {
        let (_, unit) = one.what.loss()?;
        let leaves = leaving.keys().any(|id| unit.may_be(id));
        leaves.then(|| unit.clone())
    });
    let units: BTreeSet<Unit> = gone.collect();
    let is_done = check.state != CheckState::Pending;
    let ways = match is_done {
        true => ways.for_losses(asked.len()),
        false => ways.without_forge(),
    };
    let ask = match asked.is_empty() {
        true => String::new(),
        false => {
            let without_commits = waiting.values().any(|loss| loss.without_commits);
            let how = match without_commits {
                true => String::new(),
                false => how_to_approve(&asked, ways, true),
            };
            let losses = waiting.values().map(|loss| kept(loss));
            let losses: Vec<String> = losses.collect();
            format!(
                "{}:\n\n{}\n{how}",
                need_approval(asked.len()),
                list(losses.into_iter())
            )
        }
    };
    let unclear = match asked.is_empty() {
        true => &[][..],
        false => &approvals.unclear,
    };
    let none = doubted(&approvals.doubted).chain(no_approvals(unclear, &asked));
    let none: Vec<String> = none.collect();
    let none = match none.is_empty() {
        true => String::new(),
        false => list(none.into_iter()) + "\n",
    };
    // Without a button, what is wanted is another commit: a failure, on every forge.
    let detail = match ways.button {
        true => Some(CheckDetail::Approval),
        false => check.detail,
    };
    let check = Check {
        summary: none + &ask + &approved(&approvals.given, &units) + &check.summary,
        detail,
        ..check
    };
    ways.ask(check, &asked)
}

/// The losses that wait for an approval, each once; a pool that goes with its cluster is none of its own.
pub(super) fn waiting(leaving: &BTreeMap<ObjectId, PruneStatus>) -> BTreeMap<Unit, &Unapproved> {
    let losses = leaving.values().filter_map(PruneStatus::unapproved);
    losses.map(|loss| (loss.unit.clone(), loss)).collect()
}

/// What stays, and what would happen to it.
pub(super) fn kept(loss: &Unapproved) -> String {
    let (what, unit) = (noun(&loss.unit), &loss.unit);
    let why = match (loss.without_commits, &loss.unit.pool) {
        (false, _) => "",
        (true, None) => {
            "; this source has no commit messages: allow it with `spec.apply.deletionGuard.maxClusters`"
        }
        (true, Some(_)) => {
            "; this source has no commit messages: allow it with `spec.apply.deletionGuard.pools`"
        }
    };
    let to = loss.to.as_ref().map(|to| format!(" to {to}"));
    format!(
        "{what} {unit} is kept: its {}{} needs approval{why}",
        loss.verb.noun(),
        to.unwrap_or_default()
    )
}
