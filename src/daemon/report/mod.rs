//! Checks from findings and progress. Pure.

mod changes;
mod progress;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::failure::Failure;
use crate::api::{kinds, labels};
use crate::apply::{self, DeletionGuard, Member, PruneInput};
use crate::compile::{Allowed, Compiled};
use crate::model::{
    Action, Annotation, Check, CheckState, Finding, Object, ObjectId, Payload, Severity, Step,
};
use crate::plan::{self, ApplySet, Changes, Plan, Rolled};
pub(super) use progress::progress;

/// The most annotations a check carries.
const MOST_ANNOTATIONS: usize = 50;
/// The most lines of one list in a summary. A note is kept for as long as the repository is.
const MOST_LINES: usize = 100;

pub(super) fn sync_context(fleet: &str) -> String {
    format!("capstan/{fleet}/sync")
}

pub(super) fn plan_context(fleet: &str) -> String {
    format!("capstan/{fleet}/plan")
}

fn check(
    context: String,
    revision: &str,
    state: CheckState,
    title: String,
    summary: String,
) -> Check {
    Check {
        revision: revision.to_owned(),
        context,
        state,
        title,
        summary,
        annotations: Vec::new(),
        target_url: None,
        input: None,
    }
}

/// The sync check of a sound revision that the cluster does not let be applied.
pub(super) fn stuck(fleet: &str, revision: &str, state: CheckState, why: &str) -> Check {
    let title = format!("nothing can be applied: {}", one_line(why));
    check(sync_context(fleet), revision, state, title, why.to_owned())
}

/// The sync check of a revision with error findings: it is not applied.
pub(super) fn refused(
    fleet: &str,
    revision: &str,
    compiled: &Compiled,
    good: Option<&str>,
) -> Check {
    let title = format!(
        "not applied: {}",
        counted(compiled.count(Severity::Error), "error")
    );
    let found = findings(&compiled.findings);
    let text = format!("{}\n\n{found}{}", stays(good), allowed(&compiled.allowed));
    let check = check(
        sync_context(fleet),
        revision,
        CheckState::Failure,
        title,
        text,
    );
    Check {
        annotations: annotations(&compiled.findings),
        ..check
    }
}

const EMPTIED: &str = "the fleet has no objects any more";
const RESTORE: &str = "This revision has no objects, which is probably a mistake, so nothing is removed. Restore the files. To remove nearly everything on purpose, keep one object, such as a Namespace.";

/// The sync check of a revision without any object, where there were some before.
pub(super) fn emptied(fleet: &str, revision: &str, good: Option<&str>) -> Check {
    let title = format!("not applied: {EMPTIED}");
    let text = match good {
        Some(good) => format!("{}\n\n{RESTORE}", stays(Some(good))),
        None => RESTORE.to_owned(),
    };
    let context = sync_context(fleet);
    check(context, revision, CheckState::Failure, title, text)
}

/// The same check while the fleet is suspended, since then.
pub(super) fn paused(fleet: &str, check: Check, since: &str) -> Check {
    let text = format!(
        "The fleet has been suspended since {since}: nothing is applied, repaired or removed. `capstan resume --name {fleet}` continues.\n\n"
    );
    Check {
        title: format!("suspended; {}", check.title),
        summary: text + &check.summary,
        ..check
    }
}

/// The sync check of a revision that could not be read.
pub(super) fn unreadable(
    fleet: &str,
    revision: &str,
    failure: &Failure,
    good: Option<&str>,
) -> Check {
    let title = "not applied: the revision cannot be read".to_owned();
    let text = format!("{}\n\n{failure}", stays(good));
    let context = sync_context(fleet);
    check(context, revision, fault_of(failure), title, text)
}

/// The sync check of a revision that gave way to `newer` before it was ready.
pub(super) fn superseded(fleet: &str, revision: &str, newer: &str, title: &str) -> Check {
    let short = newer.get(..10).unwrap_or(newer);
    let title = format!("superseded by {short} at {title}");
    let text = format!("The fleet continues with {newer}; see its check.");
    let context = sync_context(fleet);
    check(context, revision, CheckState::Error, title, text)
}

fn fault_of(failure: &Failure) -> CheckState {
    match failure.is_of_the_commit() {
        true => CheckState::Failure,
        false => CheckState::Error,
    }
}

/// What stays in the cluster instead.
fn stays(good: Option<&str>) -> String {
    good.map_or_else(
        || "Nothing is applied: no good revision is known.".to_owned(),
        |good| format!("The last good revision {good} stays applied."),
    )
}

/// A Markdown list that does not grow without end.
fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MOST_LINES);
    let mut text: String = items
        .take(MOST_LINES)
        .map(|item| format!("- {item}\n"))
        .collect();
    if more > 0 {
        let _ = writeln!(text, "- and {more} more");
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sync check of a sound revision of a fleet that is suspended.
pub(super) fn suspended(fleet: &str, revision: &str) -> Check {
    let title = "not applied: the fleet is suspended".to_owned();
    let text = "Set `spec.apply.suspend: false` to continue.".to_owned();
    check(
        sync_context(fleet),
        revision,
        CheckState::Pending,
        title,
        text,
    )
}

/// The plan check of a candidate: its findings, and what it changes against what is applied, which is
/// named.
pub(super) fn plan(
    set: &ApplySet,
    revision: &str,
    compiled: &Compiled,
    applied: Option<(&str, &Plan)>,
) -> Check {
    let had_objects = applied.is_some_and(|(_, applied)| !applied.steps.is_empty());
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
        let differences = differences(set, compiled, applied.map(|(_, applied)| applied));
        let text = match applied {
            Some((applied, _)) => format!("Compared with the applied revision {applied}.\n\n"),
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
        ..check(plan_context(set.fleet()), revision, state, title, text)
    }
}

/// The plan check of a candidate that does not merge.
pub(super) fn conflicts(fleet: &str, revision: &str, paths: &[String]) -> Check {
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
pub(super) fn broken_plan(fleet: &str, revision: &str, failure: &Failure) -> Check {
    let (context, state) = (plan_context(fleet), fault_of(failure));
    let title = "the commit cannot be read".to_owned();
    check(context, revision, state, title, failure.to_string())
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Errors and warnings as a Markdown list, with their lines.
fn findings(findings: &[Finding]) -> String {
    let shown = findings.iter();
    let shown: Vec<&Finding> = shown
        .filter(|finding| finding.severity != Severity::Info)
        .collect();
    list(shown.into_iter().map(ToString::to_string))
}

/// The warnings that are allowed, with the reasons; empty when there are none.
fn allowed(allowed: &[Allowed]) -> String {
    if allowed.is_empty() {
        return String::new();
    }
    let line = |one: &Allowed| format!("{}: {}", one.finding.headline(), one.reason);
    let count = counted(allowed.len(), "warning");
    format!("\n{count} allowed:\n\n{}", list(allowed.iter().map(line)))
}

fn annotations(findings: &[Finding]) -> Vec<Annotation> {
    let annotation = |finding: &Finding| {
        let span = finding.span.as_ref()?;
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => return None,
        };
        Some(Annotation {
            path: span.path.to_string(),
            line: span.start.line,
            level: level.to_owned(),
            message: finding.headline(),
        })
    };
    findings
        .iter()
        .filter_map(annotation)
        .take(MOST_ANNOTATIONS)
        .collect()
}

/// Objects that one revision has and another has not, or has otherwise.
struct Differences {
    created: Vec<ObjectId>,
    changed: usize,
    /// Those of them with the same values in another order.
    reordered: Vec<ObjectId>,
    /// In words: what its policy makes of each.
    removed: Vec<String>,
    /// Those that stay in the cluster and leave only the set.
    released: Vec<ObjectId>,
    changes: Changes,
    rolled: Rolled,
}

/// What `new` changes against `old`, as members of `set`.
fn differences(set: &ApplySet, new: &Compiled, old: Option<&Plan>) -> Differences {
    let mut before: BTreeMap<&ObjectId, &Payload> = old
        .into_iter()
        .flat_map(|old| &old.steps)
        .map(|step| (&step.object, payload(step)))
        .collect();
    let differs = |object: &Object| {
        let old = before.get(&object.id);
        old.is_some_and(|old| old.hash() != plan::payload(object, set).hash())
    };
    let differing: Vec<bool> = new.objects.par_iter().map(differs).collect();
    let (mut created, mut changed, mut reordered) = (Vec::new(), 0, Vec::new());
    let mut changes = Changes::default();
    for (object, differs) in new.objects.iter().zip(differing) {
        match before.remove(&object.id) {
            None => created.push(object.id.clone()),
            Some(old) if differs => {
                changed += 1;
                let sent = plan::payload(object, set).json();
                if !changes.add(object, &old.json(), &sent) {
                    reordered.push(object.id.clone());
                }
            }
            Some(_) => {}
        }
    }
    created.sort();
    reordered.sort();
    let rolled = match changes.consequences().next() {
        None => Rolled::default(),
        Some(_) => {
            let objects: Vec<_> = new.objects.iter().map(plan::placed).collect();
            Rolled::count(objects.iter(), changes.consequences())
        }
    };
    // What the new revision names it keeps.
    for kept in new.graph.outside() {
        before.remove(&kept.id);
    }
    let released = released(new, &before);
    before.retain(|id, _| !released.contains(*id));
    let pools = before.iter().filter(|(id, _)| id.kind == "AROMachinePool");
    let pools: Vec<Json> = pools.map(|(_, payload)| payload.json()).collect();
    changes.remove(&pools, &new.objects);
    Differences {
        changes,
        released: released.into_iter().collect(),
        rolled,
        created,
        changed,
        reordered,
        removed: before.into_iter().map(removal).collect(),
    }
}

fn payload(step: &Step) -> &Payload {
    let Action::Apply { payload, .. } = &step.action;
    payload
}

/// Which objects that are in the fleet no more are released: by their own policy, or with what they belong to
/// or what needs them.
fn released(new: &Compiled, gone: &BTreeMap<&ObjectId, &Payload>) -> BTreeSet<ObjectId> {
    let payloads: Vec<Json> = gone.values().map(|payload| payload.json()).collect();
    let members = gone.keys().zip(&payloads);
    let members = members.map(|(id, payload)| ((*id).clone(), Member::read(payload, None, None)));
    let mut refers = apply::references(&payloads);
    let leaving = gone.keys().map(|id| {
        let refers = refers.remove(*id).unwrap_or_default();
        ((*id).clone(), refers)
    });
    let steps = new.objects.iter().map(|object| object.id.clone()).zip(0..);
    let guard = DeletionGuard {
        prune: true,
        ..DeletionGuard::default()
    };
    let decisions = apply::prune(&PruneInput {
        members: &members.collect(),
        leaving: &leaving.collect(),
        steps: &steps.collect(),
        unapplied: &BTreeMap::new(),
        needed: &BTreeSet::new(),
        guard: &guard,
    });
    let released = decisions.into_iter();
    let released = released.filter(|(_, decision)| decision.is_release());
    released.map(|(id, _)| id).collect()
}

/// What becomes of an object that is in the fleet no more, by the policy it was applied with. Parts of a
/// cluster have none of their own.
fn removal((id, payload): (&ObjectId, &Payload)) -> String {
    let payload = payload.json();
    match payload["metadata"]["annotations"][labels::DELETION_POLICY].as_str() {
        None => format!("remove {id}"),
        Some("Delete") if id.is(kinds::CAPI, "Cluster") => format!(
            "delete {id} once a commit message ends in `{}: delete {}/{}`",
            labels::APPROVE,
            id.namespace,
            id.name
        ),
        Some("Delete") => format!("delete {id}"),
        Some(_) => format!("orphan {id}"),
    }
}

impl Differences {
    fn title(&self) -> String {
        let (created, changed, removed) = (self.created.len(), self.changed, self.removed.len());
        let counts = match (created, changed, removed, self.released.len()) {
            (0, 0, 0, 0) => "no changes".to_owned(),
            (_, _, _, 0) => {
                format!("{created} to create, {changed} to change, {removed} to remove")
            }
            (_, _, 0, released) => {
                format!("{created} to create, {changed} to change, {released} to release")
            }
            (_, _, _, released) => format!(
                "{created} to create, {changed} to change, {removed} to remove, {released} to release"
            ),
        };
        let refused = match self.changes.refused() {
            0 => String::new(),
            more => format!("{} cannot be changed; ", counted(more, "field")),
        };
        let refused = match self.changes.without_pool() {
            0 => refused,
            more => format!(
                "{refused}{} would lose the last pool; ",
                counted(more, "cluster")
            ),
        };
        let rolled = match self.rolled {
            nothing if nothing == Rolled::default() => String::new(),
            rolled => format!("; {rolled}"),
        };
        format!("{refused}{counts}{rolled}")
    }

    /// What is created, released and removed, then the changed values.
    fn text(&self) -> String {
        let created = self.created.iter().map(|id| format!("create {id}"));
        let reordered = self.reordered.iter();
        let reordered = reordered.map(|id| format!("change {id}: only the order of values"));
        let released = self.released.iter();
        let released = released.map(|id| format!("release {id}, which stays in the cluster"));
        let mut text = list(created) + &list(reordered) + &list(released);
        text += &list(self.removed.iter().cloned());
        if !text.is_empty() {
            text.push('\n');
        }
        text + &changes::markdown(&self.changes)
    }
}

#[cfg(test)]
mod tests;
