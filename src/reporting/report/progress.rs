//! The check of a revision that is being applied, or was: clusters, failures with their lines, what leaves.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::asking::{need_approval, waiting};
use super::parts::{MOST_ANNOTATIONS, check, counted, list, one_line};
use crate::apply::{ClusterSummary, PruneStatus, Summary};
use crate::graph::{Graph, Place};
use crate::model::markdown::{cell, plain};
use crate::model::{Annotation, Check, CheckState, ObjectId, Span};
use crate::reporting::sync_context;

/// The most objects that are named of those that failed for one reason.
const MOST_NAMED: usize = 5;

/// The sync check of a revision that is being applied, or was. `graph` knows where its objects are written.
pub(crate) fn progress(
    fleet: &str,
    revision: &str,
    state: CheckState,
    (summary, clusters): (&Summary, &[ClusterSummary]),
    leaving: &BTreeMap<ObjectId, PruneStatus>,
    graph: &Graph,
) -> Check {
    let lines = match summary.failed.is_empty() {
        true => BTreeMap::new(),
        false => lines(graph),
    };
    let mut text = table(clusters);
    if !summary.failed.is_empty() {
        let _ = write!(text, "\n{}", failures(summary, &lines));
    }
    if !leaving.is_empty() {
        let shown = leaving
            .iter()
            .map(|(id, leaving)| format!("{id}: {leaving}"));
        let _ = write!(text, "\nNo longer in the fleet:\n\n{}", list(shown));
    }
    let held = |leaving: &&PruneStatus| matches!(leaving, PruneStatus::Held(_));
    let kept = match leaving.values().filter(held).count() {
        0 => String::new(),
        held => format!(
            "; {} no longer in the fleet but kept",
            counted(held, "object")
        ),
    };
    let title = match waiting(leaving).len() {
        0 => format!("{}{kept}", summary.title()),
        losses => format!("{}; {}", need_approval(losses), summary.brief()),
    };
    Check {
        annotations: annotations(summary, &lines),
        ..check(sync_context(fleet), revision, state, &title, text)
    }
}

/// The check, with the kinds of which members cannot be seen. The whole is not done while there are any.
pub(crate) fn unseen(mut check: Check, unseen: &BTreeMap<(String, String), String>) -> Check {
    if !unseen.is_empty() {
        let lines = unseen
            .iter()
            .map(|((_, kind), why)| format!("{kind}: {why}"));
        let _ = write!(check.summary, "\nNot seen:\n\n{}", list(lines));
    }
    check
}

/// The same, with the fields that stay of objects although they are not applied any more.
pub(crate) fn staying(check: Check, staying: &BTreeMap<ObjectId, String>) -> Check {
    if staying.is_empty() {
        return check;
    }
    let shown = staying.iter().map(|(id, why)| format!("{id}: {why}"));
    let summary = format!(
        "{}\nNo longer in the fleet, but still in the cluster:\n\n{}",
        check.summary,
        list(shown)
    );
    Check { summary, ..check }
}

fn table(clusters: &[ClusterSummary]) -> String {
    let mut text = String::new();
    if !clusters.is_empty() {
        text.push_str("| cluster | ready | waiting for |\n|---|---|---|\n");
    }
    for cluster in clusters {
        let part = &cluster.summary;
        let _ = writeln!(
            text,
            "| {} | {}/{} | {} |",
            cell(&cluster.id.name),
            part.ready,
            part.total,
            cell(&part.stage)
        );
    }
    text
}

/// Where each object of the fleet is written.
fn lines(graph: &Graph) -> BTreeMap<&ObjectId, &Span> {
    let inside = |place: Place| place != Place::Outside;
    let vertices = graph.vertices.iter().filter(|vertex| inside(vertex.place));
    vertices
        .map(|vertex| (&*vertex.id, vertex.origin.span()))
        .collect()
}

/// The objects that failed, each reason once.
fn failures(summary: &Summary, lines: &BTreeMap<&ObjectId, &Span>) -> String {
    let mut reasons: Vec<(String, Vec<&ObjectId>)> = Vec::new();
    for (id, message) in &summary.failed {
        let message = one_line(message);
        match reasons.iter_mut().find(|(same, _)| *same == message) {
            Some((_, objects)) => objects.push(id),
            None => reasons.push((message, vec![id])),
        }
    }
    let reasons = reasons.iter().map(|(message, objects)| {
        if let [id] = objects[..] {
            let line = lines
                .get(id)
                .map(|span| format!("{}:{}: ", span.path, span.start.line));
            return format!("{}{id} failed: {message}", line.unwrap_or_default());
        }
        let named = objects.iter().take(MOST_NAMED);
        let named: Vec<String> = named.map(|id| named_at(id, lines)).collect();
        let more = match objects.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more} failed: {message}", named.join(", "))
    });
    list(reasons)
}

/// `ConfigMap/ns/a (a.yaml:1)`
fn named_at(id: &ObjectId, lines: &BTreeMap<&ObjectId, &Span>) -> String {
    match lines.get(id) {
        Some(span) => format!("{id} ({}:{})", span.path, span.start.line),
        None => id.to_string(),
    }
}

fn annotations(summary: &Summary, lines: &BTreeMap<&ObjectId, &Span>) -> Vec<Annotation> {
    let annotation = |(id, message): &(ObjectId, String)| {
        let span = lines.get(id)?;
        Some(Annotation {
            path: span.path.to_string(),
            line: span.start.line,
            level: "error".to_owned(),
            message: plain(&format!("{id}: {message}")),
        })
    };
    let failed = summary.failed.iter().filter_map(annotation);
    failed.take(MOST_ANNOTATIONS).collect()
}
