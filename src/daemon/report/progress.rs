//! The check of a revision that is being applied, or was.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::parts::{check, counted, list, one_line, sync_context};
use crate::apply::{ClusterSummary, PruneStatus, Summary};
use crate::model::{Check, CheckState, ObjectId};

/// The sync check of a revision that is being applied, or was.
pub(in crate::daemon) fn progress(
    fleet: &str,
    revision: &str,
    state: CheckState,
    summary: &Summary,
    clusters: &[ClusterSummary],
    leaving: &BTreeMap<ObjectId, PruneStatus>,
) -> Check {
    let mut text = String::new();
    if !clusters.is_empty() {
        text.push_str("| cluster | ready | waiting for |\n|---|---|---|\n");
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
    if !leaving.is_empty() {
        let shown = leaving
            .iter()
            .map(|(id, leaving)| format!("{id}: {leaving}"));
        let _ = write!(text, "\nno longer in the fleet:\n{}", list(shown));
    }
    let title = match leaving
        .values()
        .filter(|leaving| matches!(leaving, PruneStatus::Held(_)))
        .count()
    {
        0 => summary.title(),
        held => format!(
            "{}; {} no longer in the fleet but kept",
            summary.title(),
            counted(held, "object")
        ),
    };
    check(sync_context(fleet), revision, state, title, text)
}
