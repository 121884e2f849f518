//! Plan checks: what a candidate makes of the fleet.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value as Json;

use super::account::{Account, Loss, account, json};
use super::asking::{ApprovalWays, approved, doubted, losses, no_approvals, to_keep, unused};
use super::base::Base;
use super::comparison::Comparison;
use super::kept::Waiting;
use super::losses::{Holdings, Losses};
use super::parts::{
    EMPTIED, Fault, RESTORE, allowed, annotations, check, counted, findings, list, severity_count,
    severity_counts, state_of,
};
use super::proposal::Proposal;
use crate::api::fleet;
use crate::apply::{DeletionGuard, Unapproved};
use crate::compile::Checked;
use crate::model::markdown::markdown;
use crate::model::{Check, CheckDetail, CheckState, Finding, Severity};
use crate::plan::approvals::{Approvals, ForkLines, What};
use crate::plan::losses::Unit;
use crate::reporting::plan_context;

/// A candidate merged onto its base, and what it is judged by.
pub(crate) struct Merge<'a> {
    /// The fleet in the names of its checks.
    pub(crate) fleet: &'a str,
    /// The candidate's commit.
    pub(crate) revision: &'a str,
    pub(crate) proposal: Proposal<'a>,
    pub(crate) comparison: Comparison<'a>,
    /// The base that it is merged onto, if that was examined.
    pub(crate) base: Option<&'a Base>,
    pub(crate) approvals: &'a Approvals,
    /// The losses of earlier revisions that nobody approved yet.
    pub(crate) waiting: &'a BTreeSet<Unapproved>,
    /// True if objects are removed.
    pub(crate) prune: bool,
    /// The time that role assignments need to come into force.
    pub(crate) settle: Duration,
    /// The ways in which people can approve.
    pub(crate) ways: ApprovalWays,
}

/// The plan check of a candidate: the findings that it introduces, and what it changes against what it is compared with,
/// which is named. What the base has already is folded.
pub(crate) fn plan(merge: &Merge<'_>) -> Check {
    told(merge).check
}

/// A plan check, and the account that it is made of.
pub(crate) struct Told {
    pub(crate) check: Check,
    /// For programs; `None` where files cannot be read.
    pub(crate) account: Option<Json>,
    /// True if anything changes, or may change.
    pub(crate) is_change: bool,
}

impl Told {
    /// A check without an account.
    pub(crate) const fn without_account(check: Check) -> Self {
        Self {
            check,
            account: None,
            is_change: true,
        }
    }
}

/// The same with its account.
pub(crate) fn told(merge: &Merge<'_>) -> Told {
    let digest = merge.proposal.digest;
    let checked = &digest.checked;
    let context = plan_context(merge.fleet);
    let before = merge.comparison.plan();
    let had_objects = before.is_some_and(|plan| !plan.steps.is_empty());
    if digest.kept.is_empty() && !checked.has_errors() && had_objects {
        let text = format!("{RESTORE}\n\n{}", findings(&checked.findings));
        let check = check(context, merge.revision, CheckState::Failure, EMPTIED, text);
        return Told::without_account(check);
    }
    let found = Found::of(&checked.findings, merge.base);
    if checked.has_errors() {
        let check = broken(context, merge.revision, &found, checked);
        return Told::without_account(check);
    }
    let guard = DeletionGuard {
        prune: merge.prune,
        approvals: merge.approvals.given.clone(),
        ..DeletionGuard::default()
    };
    let account = account(&merge.proposal, before, &guard, merge.settle, merge.waiting);
    Told {
        check: sound(merge, found, &account),
        is_change: !account.is_empty() || account.is_moved(),
        account: Some(json(&account)),
    }
}

/// The check of a candidate without errors of its files.
fn sound(merge: &Merge<'_>, mut found: Found<'_>, account: &Account) -> Check {
    let mut own = account.changes.findings();
    account.refuse_versions(&mut found.own);
    own.append(&mut found.own);
    found.own = own;
    let unapproved = account.leaving.unapproved();
    let lost = &account.leaving.losses;
    let waiting = Waiting::of(merge.waiting, lost, merge.approvals, &account.units);
    let unclear = unclear(merge.approvals, lost, &unapproved, &waiting);
    let has = |severity| severity_count(&found.own, severity) > 0;
    let (state, detail) = match () {
        () if has(Severity::Error) => (CheckState::Failure, None),
        () if !unapproved.is_empty() => (CheckState::Failure, Some(CheckDetail::Approval)),
        () if has(Severity::Warning)
            || !unclear.is_empty()
            || waiting.is_blind()
            || merge.comparison.is_blind() =>
        {
            (CheckState::Success, Some(CheckDetail::Warnings))
        }
        () => (CheckState::Success, None),
    };
    let count = |severity| severity_count(&found.own, severity);
    let mut title = account.title(count(Severity::Error), count(Severity::Warning));
    if merge.comparison.is_blind() {
        title += "; what is lost is not known";
    }
    title += &waiting.title();
    if waiting.is_blind() {
        title = title.trim_start_matches("no fleet change; ").to_owned();
    }
    let context = plan_context(merge.fleet);
    let ways = match detail == Some(CheckDetail::Approval) {
        true => merge.ways,
        false => merge.ways.without_forge(),
    };
    let units = lost.iter().map(|loss| &loss.unit);
    let units = units.chain(waiting.units());
    let units: BTreeSet<Unit> = units.cloned().collect();
    let text = [
        losses(lost, &merge.approvals.given, ways),
        approved(&merge.approvals.given, &units),
        waiting.text(ways.trailers),
        to_keep(&merge.approvals.own, &units),
        unclear,
        found.introduced(),
        merge.comparison.text(),
        account.reach(),
        account.text(),
        found.folded(),
        allowed(&merge.proposal.digest.checked.allowed),
    ];
    let check = Check {
        detail,
        annotations: annotations(&found.own),
        ..check(context, merge.revision, state, &title, text.concat())
    };
    ways.ask(check, &unapproved)
}

/// The approvals of the candidate that approve nothing; empty when there are none.
fn unclear(approvals: &Approvals, lost: &[Loss], asked: &[What], waiting: &Waiting<'_>) -> String {
    let approvals = match asked.is_empty() {
        true => &approvals.without_comments(),
        false => approvals,
    };
    let earlier: BTreeSet<What> = waiting.asked().collect();
    let own: BTreeSet<What> = approvals.own.difference(&earlier).cloned().collect();
    let asked: Vec<What> = asked.iter().cloned().chain(earlier).collect();
    let mistyped = no_approvals(&approvals.unclear, &asked);
    let doubted = doubted(&approvals.doubted);
    let unused = unused(&own, lost, &asked);
    let lines: Vec<String> = doubted.chain(mistyped).chain(unused).collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()) + "\n",
    }
}

/// The findings of a merge.
struct Found<'a> {
    /// Those that the candidate introduces.
    own: Vec<Finding>,
    /// Those that the base has already.
    existing: Vec<Finding>,
    base: Option<&'a Base>,
}

impl<'a> Found<'a> {
    fn of(findings: &[Finding], base: Option<&'a Base>) -> Self {
        let shown = findings.iter();
        let shown: Vec<Finding> = shown
            .filter(|finding| finding.severity != Severity::Info)
            .cloned()
            .collect();
        let (own, existing) = match base {
            Some(base) => base.split(&shown),
            None => (shown, Vec::new()),
        };
        Self {
            own,
            existing,
            base,
        }
    }

    fn introduced(&self) -> String {
        match self.own.is_empty() {
            true => String::new(),
            false => findings(&self.own) + "\n",
        }
    }

    /// Those of the base, which forges show when somebody asks for them.
    fn folded(&self) -> String {
        let (Some(base), false) = (self.base, self.existing.is_empty()) else {
            return String::new();
        };
        // The line with the tags is HTML: it has nothing of others.
        format!(
            "<details><summary>{} not from this commit</summary>\n\n{} has them at {}:\n\n{}\n</details>\n\n",
            severity_counts(&self.existing),
            markdown(&base.name),
            markdown(&base.commit),
            findings(&self.existing)
        )
    }
}

/// The check of a candidate whose files have errors, perhaps from its base.
fn broken(context: String, revision: &str, found: &Found<'_>, checked: &Checked) -> Check {
    let own = severity_count(&found.own, Severity::Error);
    let base = found.base.filter(|base| base.errors() > 0);
    let (state, title) = match (own, base) {
        (0, Some(base)) => (
            CheckState::Error,
            format!(
                "{} has {}; none is from this commit",
                base.name,
                counted(base.errors(), "error")
            ),
        ),
        (own, Some(base)) => (
            CheckState::Failure,
            format!("{}; {} has errors, too", counted(own, "error"), base.name),
        ),
        (_, None) => (CheckState::Failure, severity_counts(&found.own)),
    };
    let why = base.map(|base| {
        format!(
            "At {}, {} has {}, so nothing can be planned.\n\n",
            markdown(&base.commit),
            markdown(&base.name),
            counted(base.errors(), "error")
        )
    });
    let text = [
        why.unwrap_or_default(),
        found.introduced(),
        found.folded(),
        allowed(&checked.allowed),
    ];
    Check {
        annotations: annotations(&found.own),
        ..check(context, revision, state, &title, text.concat())
    }
}

/// A commit that may be a stranger's, merged onto its base, and what it is judged by: plain data, and nothing of the
/// cluster.
pub(crate) struct ForkMerge<'a> {
    pub(crate) fleet: &'a str,
    /// The candidate's commit.
    pub(crate) revision: &'a str,
    pub(crate) checked: &'a Checked,
    /// The clusters and node pools of the merge.
    pub(crate) holdings: &'a Holdings,
    /// The base that it is merged onto, if that was examined.
    pub(crate) base: Option<&'a Base>,
    /// The lines of its commits that would approve something.
    pub(crate) lines: &'a ForkLines,
    /// True if it was compiled without the overlays of this machine.
    pub(crate) is_partial: bool,
    /// The clusters and node pools of the base that cannot be read without those overlays.
    pub(crate) unread: &'a Holdings,
    /// True if objects are removed; and the number of clusters that may go without approval.
    pub(crate) prune: bool,
    pub(crate) allowed: fleet::DeletionGuard,
}

/// The plan check of a commit that may be a stranger's: what its files say, and nothing of the cluster.
pub(crate) fn fork(merge: &ForkMerge<'_>) -> Check {
    let found = Found::of(&merge.checked.findings, merge.base);
    let had_objects = merge.base.is_none_or(|base| base.has_objects);
    if merge.checked.object_count == 0 && !merge.checked.has_errors() && had_objects {
        let text = [
            treated_as_fork(merge),
            format!("{RESTORE}\n\n"),
            found.introduced(),
        ];
        let context = plan_context(merge.fleet);
        return check(
            context,
            merge.revision,
            CheckState::Failure,
            EMPTIED,
            text.concat(),
        );
    }
    let losses = merge
        .base
        .map(|base| Losses::of(&base.holdings, merge.holdings));
    let losses = losses.unwrap_or_default();
    let (_, unread) = (merge.unread.clone()).split(merge.holdings);
    let (state, detail) = fork_state(merge, &found, &losses, &unread);
    let broken = merge.base.filter(|base| base.errors() > 0);
    let count = match (found.own.is_empty(), broken) {
        (true, Some(base)) => format!("{} has {}", base.name, counted(base.errors(), "error")),
        (true, None) => "no errors".to_owned(),
        (false, _) => severity_counts(&found.own),
    };
    let approving = match merge.lines.approving.len() {
        0 => String::new(),
        count => format!("{} of a fork approves nothing", counted(count, "line")),
    };
    let parts = [approving, losses.title(), count];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let title = format!(
        "{}; from a fork, so only its files were checked",
        parts.join("; ")
    );
    let text = [
        treated_as_fork(merge),
        approving_lines(merge.lines),
        losses.text(merge.prune, !merge.checked.has_errors()),
        not_compared(&unread),
        found.introduced(),
        found.folded(),
    ];
    Check {
        detail,
        annotations: annotations(&found.own),
        ..check(
            plan_context(merge.fleet),
            merge.revision,
            state,
            &title,
            text.concat(),
        )
    }
}

/// Nothing of a fork is approved: what would need that fails.
fn fork_state(
    merge: &ForkMerge<'_>,
    found: &Found<'_>,
    losses: &Losses,
    unread: &Holdings,
) -> (CheckState, Option<CheckDetail>) {
    let errors = severity_count(&found.own, Severity::Error);
    let broken = merge.base.filter(|base| base.errors() > 0);
    let needs_approval = merge.prune && losses.need_approval(merge.allowed);
    let is_quiet = found.own.is_empty()
        && losses.is_empty()
        && *unread == Holdings::default()
        && merge.lines.unclear.is_empty()
        && merge.base.is_some();
    match () {
        () if !merge.lines.approving.is_empty() => (CheckState::Failure, None),
        // What this machine adds to the files may mend them.
        () if errors > 0 && !merge.is_partial => (CheckState::Failure, None),
        () if broken.is_some() && errors == 0 => (CheckState::Error, None),
        () if needs_approval => (CheckState::Failure, Some(CheckDetail::Approval)),
        () if is_quiet => (CheckState::Success, None),
        () => (CheckState::Success, Some(CheckDetail::Warnings)),
    }
}

/// Why it is judged so, and what nobody looked at.
fn treated_as_fork(merge: &ForkMerge<'_>) -> String {
    let unseen = match merge.is_partial {
        true => ", approvals and the overlays of the daemon's machine",
        false => " and approvals",
    };
    let uncompared = match merge.base {
        Some(_) => "",
        None => {
            " What it is merged onto could not be read, so nobody compared which clusters leave."
        }
    };
    format!(
        "No branch of the repository has this commit, so it is treated as a fork's: only its files were checked. Secrets, the cluster, what is applied, tenants{unseen} were not looked at.{uncompared}\n\n"
    )
}

/// What may leave the fleet, for all that anybody can tell; empty when all could be compared.
fn not_compared(unread: &Holdings) -> String {
    let lines = list(unread.words().into_iter());
    match *unread == Holdings::default() {
        true => String::new(),
        false => format!(
            "Cannot be read without the overlays of the daemon's machine, so nobody compared whether these leave the fleet. Look at the changes of their files before you merge:\n\n{lines}\n"
        ),
    }
}

/// The lines of a fork that would approve something, or look so; empty when there are none.
fn approving_lines(lines: &ForkLines) -> String {
    let approving = lines.approving.iter().map(|line| {
        format!(
            "\"{line}\" approves nothing in the commit of a fork. Remove it: a squash or a rebase would carry it over"
        )
    });
    let unclear = lines.unclear.iter();
    let unclear = unclear.map(|line| format!("\"{line}\" looks like an approval and is none"));
    let lines: Vec<String> = approving.chain(unclear).collect();
    match lines.is_empty() {
        true => String::new(),
        false => list(lines.into_iter()) + "\n",
    }
}

/// The plan check of a candidate that does not merge.
pub(crate) fn conflicts(fleet: &str, revision: &str, paths: &[String]) -> Check {
    let text = format!("Both branches changed:\n\n{}", list(paths.iter().cloned()));
    let title = format!("merge conflict in {}", counted(paths.len(), "file"));
    let context = plan_context(fleet);
    check(context, revision, CheckState::Failure, &title, text)
}

/// The plan check of a candidate that could not be read.
pub(crate) fn broken_plan(fleet: &str, revision: &str, fault: &Fault) -> Check {
    let (context, state) = (plan_context(fleet), state_of(fault));
    let title = "the commit cannot be read";
    check(context, revision, state, title, markdown(&fault.message))
}
