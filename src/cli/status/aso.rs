//! What is there of Azure Service Operator and Cluster API, as people read it: below the fleets that need it.
//!
//! In: the cluster and its fleets. Out: lines, and the same for programs. Nothing of it
//! changes how the command ends: what it keeps from being made is seen in the fleets.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::Instant;

use super::super::cluster_status::{ClusterStatus, StatusReader, wrapped};
use crate::api::kinds::{ARO, is_aso};
use crate::reconcile::preflight::Report;

/// What is there of it, if the fleets need it. In a simulated cluster nothing is.
pub(super) async fn look(reader: &StatusReader, status: &ClusterStatus) -> Option<Operators> {
    if status.is_simulated || !is_needed(status) {
        return None;
    }
    let (capi, aso) = tokio::join!(reader.capi(), reader.aso(namespaces(status)));
    Some(Operators { capi, aso })
}

/// The operators that clusters need besides Capstan.
#[derive(Default)]
pub(super) struct Operators {
    pub(super) capi: Report,
    pub(super) aso: Report,
}

/// How long a report counts while the status is watched: it takes several requests.
const LIFE: Duration = Duration::from_secs(60);

/// What was there the last time, and when that was.
#[derive(Default)]
pub(super) struct Looked(Option<(Instant, Operators)>);

impl Looked {
    /// What is there, unless somebody looked a moment ago: then what was there.
    pub(super) async fn report(
        &mut self,
        look: impl AsyncFnOnce() -> Option<Operators>,
    ) -> Option<&Operators> {
        let is_new = |(at, _): &(Instant, Operators)| at.elapsed() < LIFE;
        if !self.0.as_ref().is_some_and(is_new) {
            self.0 = look().await.map(|report| (Instant::now(), report));
        }
        self.0.as_ref().map(|(_, report)| report)
    }
}

/// Whether the group is one of ASO's, or the kind has resources of ASO in it.
fn concerns(group: &str, kind: &str) -> bool {
    is_aso(group) || ARO.contains(&(group, kind))
}

fn is_needed(status: &ClusterStatus) -> bool {
    let parents = status.survey.fleets.iter().map(|(_, parent)| parent);
    let mut kinds = parents.flat_map(|parent| &parent.kinds);
    kinds.any(|(group, kind)| concerns(group, kind))
}

/// The namespaces of what concerns it.
fn namespaces(status: &ClusterStatus) -> BTreeSet<String> {
    let ids = status.survey.found.objects.keys();
    let ids = ids.filter(|id| concerns(&id.group, &id.kind));
    ids.map(|id| id.namespace.clone()).collect()
}

/// The lines of both reports.
pub(super) fn text(operators: &Operators) -> String {
    report_text(&operators.capi) + &report_text(&operators.aso) + "\n"
}

/// The lines of a report. What has to be set is listed when something is wrong.
fn report_text(report: &Report) -> String {
    let mut out = String::new();
    for title in report.titles() {
        out.push_str(&wrapped("", &title));
    }
    for finding in &report.findings {
        let level = format!("  {:<9} ", finding.level.word());
        out.push_str(&wrapped(&level, &finding.message));
        out.push_str(&wrapped("            help: ", &finding.help));
    }
    if !report.is_fine() && !report.settings.is_empty() {
        out.push_str("  settings that clusters need:\n");
        for (name, value) in &report.settings {
            let _ = writeln!(out, "    {name}: {value}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_looked_at_once_a_minute() {
        let (mut looked, mut looks) = (Looked::default(), 0);
        for _ in 0..60 {
            let look = async || {
                looks += 1;
                Some(Operators::default())
            };
            assert!(looked.report(look).await.is_some());
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(looks, 2);
        // Where nothing needs it there is nothing to look at, but something may need it soon.
        let mut looked = Looked::default();
        assert!(looked.report(async || None).await.is_none());
        assert!(
            looked
                .report(async || Some(Operators::default()))
                .await
                .is_some()
        );
    }
}
