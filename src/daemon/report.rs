//! What a commit is told: checks from findings and progress. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::compile::Compiled;
use crate::model::{Annotation, Check, CheckState, Finding, ObjectId, Severity};
use crate::plan::{ClusterSummary, Summary};

/// The most annotations a check carries.
const MOST_ANNOTATIONS: usize = 50;

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
    }
}

/// The sync check of a revision that is being applied, or was.
pub(super) fn progress(
    fleet: &str,
    revision: &str,
    state: CheckState,
    summary: &Summary,
    clusters: &[ClusterSummary],
    removed: &[ObjectId],
) -> Check {
    let mut text = String::new();
    if !clusters.is_empty() {
        text.push_str("| cluster | ready | waits for |\n|---|---|---|\n");
    }
    for cluster in clusters {
        let part = &cluster.summary;
        let _ = writeln!(
            text,
            "| {} | {}/{} | {} |",
            cluster.id.name, part.ready, part.total, part.stage
        );
    }
    for (id, message) in &summary.failed {
        let _ = writeln!(text, "\n{id} failed: {message}");
    }
    if !removed.is_empty() {
        let names: Vec<String> = removed.iter().map(|id| format!("- {id}\n")).collect();
        let _ = write!(
            text,
            "\nno longer in the fleet, left in the cluster (nothing is deleted yet):\n{}",
            names.concat()
        );
    }
    check(sync_context(fleet), revision, state, summary.title(), text)
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
    let stays = good.map_or_else(
        || "Nothing is applied: no good revision is known.".to_owned(),
        |good| format!("The last good revision {good} stays."),
    );
    let text = format!("{stays}\n\n{}", findings(compiled));
    let check = check(
        sync_context(fleet),
        revision,
        CheckState::Failure,
        title,
        text,
    );
    Check {
        annotations: annotations(compiled),
        ..check
    }
}

/// The sync check of a revision that could not be read.
pub(super) fn unreadable(fleet: &str, revision: &str, error: &str) -> Check {
    let title = "not applied: the revision cannot be read".to_owned();
    check(
        sync_context(fleet),
        revision,
        CheckState::Failure,
        title,
        error.to_owned(),
    )
}

/// The sync check of a sound revision of a fleet that is suspended.
pub(super) fn suspended(fleet: &str, revision: &str) -> Check {
    let title = "not applied: the fleet is suspended".to_owned();
    let text = "Set `spec.apply.suspend: false` to go on.".to_owned();
    check(
        sync_context(fleet),
        revision,
        CheckState::Pending,
        title,
        text,
    )
}

/// The plan check of a candidate: its findings, and what it changes against what is applied.
pub(super) fn plan(
    fleet: &str,
    revision: &str,
    compiled: &Compiled,
    applied: Option<&Compiled>,
) -> Check {
    let (state, title) = if compiled.has_errors() {
        (
            CheckState::Failure,
            counted(compiled.count(Severity::Error), "error"),
        )
    } else {
        (CheckState::Success, differences(compiled, applied).title())
    };
    let mut text = String::new();
    if !compiled.has_errors() {
        text.push_str(&differences(compiled, applied).text());
    }
    text.push_str(&findings(compiled));
    Check {
        annotations: annotations(compiled),
        ..check(plan_context(fleet), revision, state, title, text)
    }
}

/// The plan check of a candidate that does not merge.
pub(super) fn conflicts(fleet: &str, revision: &str, paths: &[String]) -> Check {
    let text = format!(
        "Both sides changed:\n\n{}",
        paths
            .iter()
            .map(|path| format!("- {path}\n"))
            .collect::<String>()
    );
    let title = format!(
        "does not merge: {} in conflict",
        counted(paths.len(), "file")
    );
    check(
        plan_context(fleet),
        revision,
        CheckState::Failure,
        title,
        text,
    )
}

/// The plan check of a candidate that could not be read.
pub(super) fn broken_plan(fleet: &str, revision: &str, error: &str) -> Check {
    check(
        plan_context(fleet),
        revision,
        CheckState::Failure,
        "cannot be read".to_owned(),
        error.to_owned(),
    )
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Errors and warnings as a Markdown list, with their lines.
fn findings(compiled: &Compiled) -> String {
    let told = compiled
        .findings
        .iter()
        .filter(|finding| finding.severity != Severity::Info);
    told.map(|finding| format!("- {}\n", line(finding)))
        .collect()
}

fn line(finding: &Finding) -> String {
    let place = finding
        .span
        .as_ref()
        .map(|span| format!("{span}: "))
        .unwrap_or_default();
    let help = finding
        .help
        .as_ref()
        .map(|help| format!(" ({help})"))
        .unwrap_or_default();
    format!("{place}{} {}{help}", finding.id, finding.message)
}

fn annotations(compiled: &Compiled) -> Vec<Annotation> {
    let annotation = |finding: &Finding| {
        let span = finding.span.as_ref()?;
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => return None,
        };
        let message = format!("{} {}", finding.id, finding.message);
        Some(Annotation {
            path: span.path.to_string(),
            line: span.start.line,
            level: level.to_owned(),
            message,
        })
    };
    compiled
        .findings
        .iter()
        .filter_map(annotation)
        .take(MOST_ANNOTATIONS)
        .collect()
}

/// Objects that one revision has and another has not, or has otherwise.
pub(super) struct Differences {
    created: Vec<ObjectId>,
    changed: Vec<ObjectId>,
    pub(super) removed: Vec<ObjectId>,
}

/// What `new` changes against `old`.
pub(super) fn differences(new: &Compiled, old: Option<&Compiled>) -> Differences {
    let index = |compiled: &Compiled| -> BTreeMap<ObjectId, serde_json::Value> {
        compiled
            .objects
            .iter()
            .map(|object| (object.id.clone(), object.node.to_json()))
            .collect()
    };
    let (before, after) = (old.map(index).unwrap_or_default(), index(new));
    let ids = |test: &dyn Fn(&ObjectId) -> bool,
               of: &BTreeMap<ObjectId, serde_json::Value>|
     -> Vec<ObjectId> { of.keys().filter(|id| test(id)).cloned().collect() };
    Differences {
        created: ids(&|id| !before.contains_key(id), &after),
        changed: ids(
            &|id| before.get(id).is_some_and(|old| Some(old) != after.get(id)),
            &after,
        ),
        removed: ids(&|id| !after.contains_key(id), &before),
    }
}

impl Differences {
    fn title(&self) -> String {
        let (created, changed, removed) =
            (self.created.len(), self.changed.len(), self.removed.len());
        match (created, changed, removed) {
            (0, 0, 0) => "changes nothing".to_owned(),
            _ => format!("{created} to create, {changed} to change, {removed} removed"),
        }
    }

    fn text(&self) -> String {
        let parts = [
            ("create", &self.created),
            ("change", &self.changed),
            ("removed (left in the cluster)", &self.removed),
        ];
        let list = |(word, ids): (&str, &Vec<ObjectId>)| -> String {
            ids.iter().map(|id| format!("- {word} {id}\n")).collect()
        };
        let text: String = parts.into_iter().map(list).collect();
        if text.is_empty() {
            text
        } else {
            format!("{text}\n")
        }
    }
}
