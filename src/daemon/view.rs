//! A snapshot of what the daemon is doing.

use std::collections::BTreeMap;

use crate::apply::{ClusterSummary, Summary};
use crate::model::Check;

/// A snapshot of the daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The revision that is applied, or being applied.
    pub revision: Option<String>,
    /// Its progress in one line.
    pub title: String,
    /// What the line was made of.
    pub summary: Option<Summary>,
    /// Its clusters.
    pub clusters: Vec<ClusterSummary>,
    /// The newest check per context and revision.
    pub checks: BTreeMap<(String, String), Check>,
    /// Why the repository cannot be read right now.
    pub source_error: Option<String>,
}

impl View {
    /// The check of `context` on `revision`.
    #[must_use]
    pub fn check(&self, context: &str, revision: &str) -> Option<&Check> {
        self.checks.get(&(context.to_owned(), revision.to_owned()))
    }
}
