//! A snapshot of what a follower is doing, and its changes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::apply::{ClusterSummary, Summary};
use crate::graph::Graph;
use crate::model::{AdapterError, Check};

/// A snapshot of a follower.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The newest revision that was examined.
    pub examined: Option<String>,
    /// The revision that is applied, or being applied.
    pub revision: Option<String>,
    /// Its progress in one line.
    pub title: String,
    /// What the line was made of.
    pub summary: Option<Summary>,
    /// Its clusters.
    pub clusters: Vec<ClusterSummary>,
    /// Its objects, and what they refer to.
    pub graph: Option<Arc<Graph>>,
    /// The newest check per context and revision.
    pub checks: BTreeMap<(String, String), Check>,
    /// Why the repository cannot be read right now.
    pub source_error: Option<AdapterError>,
}

/// A change of the snapshot.
pub(crate) enum ViewChange {
    /// Why the repository cannot be read; `None` if it can.
    Source(Option<AdapterError>),
    /// How far a revision has come.
    Progress(Box<RolloutView>),
    /// This newest revision was examined.
    Examined(String),
    Check(Box<Check>),
    /// Let go of all checks but these, each with its context and revision.
    KeepChecks(BTreeSet<(String, String)>),
}

/// How far a revision has come.
pub(crate) struct RolloutView {
    pub(crate) revision: String,
    pub(crate) title: String,
    pub(crate) summary: Summary,
    pub(crate) clusters: Vec<ClusterSummary>,
    pub(crate) graph: Arc<Graph>,
}

impl View {
    /// The check of `context` on `revision`.
    #[must_use]
    pub fn check(&self, context: &str, revision: &str) -> Option<&Check> {
        self.checks.get(&(context.to_owned(), revision.to_owned()))
    }

    /// Takes in a change. Returns true if somebody who looks should look again.
    pub(crate) fn apply(&mut self, change: ViewChange) -> bool {
        match change {
            ViewChange::Source(error) => {
                let is_change = self.source_error != error;
                self.source_error = error;
                is_change
            }
            ViewChange::Progress(rollout) => {
                self.revision = Some(rollout.revision);
                self.title = rollout.title;
                self.summary = Some(rollout.summary);
                self.clusters = rollout.clusters;
                self.graph = Some(rollout.graph);
                true
            }
            ViewChange::Examined(revision) => {
                let is_change = self.examined.as_ref() != Some(&revision);
                self.examined = Some(revision);
                is_change
            }
            ViewChange::Check(check) => {
                let key = (check.context.clone(), check.revision.clone());
                self.checks.insert(key, (*check).clone()).as_ref() != Some(&check)
            }
            ViewChange::KeepChecks(known) => {
                self.checks.retain(|key, _| known.contains(key));
                false
            }
        }
    }
}
