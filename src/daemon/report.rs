//! What a commit is told: checks from findings and progress. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::job::Failure;
use crate::compile::Compiled;
use crate::model::{Annotation, Check, CheckState, Finding, Object, ObjectId, Severity};
use crate::plan::{ClusterSummary, Summary};

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
    let failed = summary.failed.iter();
    let failed = failed.map(|(id, message)| format!("{id} failed: {}", one_line(message)));
    if !summary.failed.is_empty() {
        let _ = write!(text, "\n{}", list(failed));
    }
    if !removed.is_empty() {
        let _ = write!(
            text,
            "\nno longer in the fleet, left in the cluster (nothing is deleted yet):\n{}",
            list(removed.iter().map(ToString::to_string))
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
    let text = format!("{}\n\n{}", stays(good), findings(compiled));
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

/// The sync check of a sound revision that no plan could be made of.
pub(super) fn unplanned(fleet: &str, revision: &str, failure: &Failure) -> Check {
    let title = "not applied: no plan can be made".to_owned();
    let context = sync_context(fleet);
    check(
        context,
        revision,
        CheckState::Error,
        title,
        failure.to_string(),
    )
}

/// The sync check of a revision that gave way to `newer` before it was ready.
pub(super) fn superseded(fleet: &str, revision: &str, newer: &str, title: &str) -> Check {
    let short = newer.get(..10).unwrap_or(newer);
    let title = format!("superseded by {short} at {title}");
    let text = format!("The fleet goes on with {newer}; see the check there.");
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
        |good| format!("The last good revision {good} stays."),
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
    let (state, title, mut text) = if compiled.has_errors() {
        let title = counted(compiled.count(Severity::Error), "error");
        (CheckState::Failure, title, String::new())
    } else {
        let differences = differences(compiled, applied);
        (CheckState::Success, differences.title(), differences.text())
    };
    text.push_str(&findings(compiled));
    Check {
        annotations: annotations(compiled),
        ..check(plan_context(fleet), revision, state, title, text)
    }
}

/// The plan check of a candidate that does not merge.
pub(super) fn conflicts(fleet: &str, revision: &str, paths: &[String]) -> Check {
    let text = format!("Both sides changed:\n\n{}", list(paths.iter().cloned()));
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
pub(super) fn broken_plan(fleet: &str, revision: &str, failure: &Failure) -> Check {
    let (context, state) = (plan_context(fleet), fault_of(failure));
    let title = "it cannot be read".to_owned();
    check(context, revision, state, title, failure.to_string())
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Errors and warnings as a Markdown list, with their lines.
fn findings(compiled: &Compiled) -> String {
    let told = compiled.findings.iter();
    let told: Vec<&Finding> = told
        .filter(|finding| finding.severity != Severity::Info)
        .collect();
    list(told.into_iter().map(line))
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
struct Differences {
    created: Vec<ObjectId>,
    changed: Vec<ObjectId>,
    removed: Vec<ObjectId>,
}

/// What `new` changes against `old`.
fn differences(new: &Compiled, old: Option<&Compiled>) -> Differences {
    let mut before: BTreeMap<&ObjectId, &Object> = old
        .into_iter()
        .flat_map(|old| &old.objects)
        .map(|object| (&object.id, object))
        .collect();
    let (mut created, mut changed) = (Vec::new(), Vec::new());
    for object in &new.objects {
        match before.remove(&object.id) {
            None => created.push(object.id.clone()),
            Some(old) if old.node.to_json() != object.node.to_json() => {
                changed.push(object.id.clone());
            }
            Some(_) => {}
        }
    }
    created.sort();
    changed.sort();
    Differences {
        created,
        changed,
        removed: before.into_keys().cloned().collect(),
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
        let part = |(word, ids): (&str, &Vec<ObjectId>)| -> String {
            list(ids.iter().map(|id| format!("{word} {id}")))
        };
        let text: String = parts.into_iter().map(part).collect();
        if text.is_empty() {
            text
        } else {
            format!("{text}\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::adapters::git;
    use crate::compile::compile;
    use crate::model::Tree;

    fn compiled(text: &str) -> Compiled {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        compile(&tree, &[])
    }

    fn config_map(name: &str, data: &str) -> String {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{k: {data}}}}}\n"
        )
    }

    fn id(name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", "default", name)
    }

    fn summary(failed: Vec<(ObjectId, String)>) -> Summary {
        Summary {
            ready: 1,
            total: 3,
            stage: "Vault".to_owned(),
            left: Duration::from_secs(90),
            failed,
            terminal: false,
        }
    }

    #[test]
    fn a_plan_says_what_is_created_changed_and_removed() {
        let old = compiled(
            &(config_map("same", "x") + &config_map("other", "x") + &config_map("gone", "x")),
        );
        let new = compiled(
            &(config_map("new", "x") + &config_map("same", "x") + &config_map("other", "y")),
        );
        let check = plan("f", "r", &new, Some(&old));
        assert_eq!(
            (check.state, check.context.as_str()),
            (CheckState::Success, "capstan/f/plan")
        );
        assert_eq!(check.title, "1 to create, 1 to change, 1 removed");
        assert_eq!(
            check.summary,
            "- create ConfigMap/default/new\n- change ConfigMap/default/other\n- removed (left in the cluster) ConfigMap/default/gone\n\n"
        );
        assert_eq!(plan("f", "r", &old, Some(&old)).title, "changes nothing");
        assert_eq!(
            plan("f", "r", &old, None).title,
            "3 to create, 0 to change, 0 removed"
        );
    }

    #[test]
    fn a_plan_with_errors_says_only_those_with_their_lines() {
        let broken = compiled("kind: ConfigMap\n");
        let check = plan("f", "r", &broken, None);
        assert_eq!(
            (check.state, check.title.as_str()),
            (CheckState::Failure, "1 error")
        );
        assert!(
            check.summary.starts_with("- a.yaml:1:1: Y09 "),
            "{}",
            check.summary
        );
        assert_eq!(check.annotations.len(), 1);
        let refused = refused("f", "r", &broken, Some("abc"));
        assert_eq!(refused.title, "not applied: 1 error");
        assert!(
            refused
                .summary
                .starts_with("The last good revision abc stays.")
        );
    }

    #[test]
    fn progress_lists_clusters_failures_and_what_is_left_behind() {
        let cluster = ClusterSummary {
            id: ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "one"),
            summary: summary(Vec::new()),
            elapsed: Duration::ZERO,
        };
        let failed = vec![(id("a"), "Bad:\n  |very| bad".to_owned())];
        let (state, summary) = (CheckState::Pending, summary(failed));
        let check = progress("f", "r", state, &summary, &[cluster], &[id("gone")]);
        assert_eq!(
            check.title,
            "1/3 ready, ConfigMap/default/a failed: Bad: |very| bad"
        );
        assert_eq!(
            check.summary,
            "\
| cluster | ready | waits for |
|---|---|---|
| one | 1/3 | Vault |

- ConfigMap/default/a failed: Bad: |very| bad

no longer in the fleet, left in the cluster (nothing is deleted yet):
- ConfigMap/default/gone
"
        );
    }

    #[test]
    fn lists_do_not_grow_without_end() {
        let removed: Vec<ObjectId> = (0..MOST_LINES + 7)
            .map(|at| id(&format!("c{at}")))
            .collect();
        let check = progress(
            "f",
            "r",
            CheckState::Success,
            &summary(Vec::new()),
            &[],
            &removed,
        );
        assert!(
            check.summary.ends_with("- and 7 more\n"),
            "{}",
            check.summary
        );
        assert_eq!(check.summary.matches("- ").count(), MOST_LINES + 1);
    }

    #[test]
    fn only_the_commit_s_own_faults_are_failures() {
        let path = git::Error::NoSuchPath {
            commit: "r".to_owned(),
            path: "fleet".to_owned(),
        };
        let check = unreadable("f", "r", &Failure::Git(path), None);
        assert_eq!(check.state, CheckState::Failure);
        assert!(
            check
                .summary
                .starts_with("Nothing is applied: no good revision is known.")
        );
        assert!(
            check.summary.contains("no directory \"fleet\""),
            "{}",
            check.summary
        );
        let bug = broken_plan("f", "r", &Failure::Panic("index out of bounds".to_owned()));
        assert_eq!(bug.state, CheckState::Error);
        assert_eq!(
            bug.summary,
            "a bug in capstan: index out of bounds; please report it"
        );
    }

    #[test]
    fn what_was_superseded_says_by_what() {
        let check = superseded("f", "r", "0123456789abcdef", "1/3 ready");
        assert_eq!(check.title, "superseded by 0123456789 at 1/3 ready");
    }
}
