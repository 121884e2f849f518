//! What is applied before a revision that is examined.
//!
//! In: what this process applies, or the cluster to ask. Out: the plans to compare with. It does not know: what is
//! compared.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::origin::Origin;
use crate::adapters::git::RetainedRef;
use crate::adapters::kubernetes;
use crate::apply::AppliedRevision;
use crate::follow::ClusterState;
use crate::plan::{ApplySet, Plan};

/// How long the cluster has to say what is applied. The check of a commit waits for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is applied before a revision.
pub(in crate::daemon) enum LastApplied {
    /// This revision: whatever of it can be applied now is.
    Fully(AppliedRevision),
    /// This one in part, if any: the cluster may still have what the last revision that was fully applied left.
    Partly(Option<AppliedRevision>),
    /// The parent in the cluster names these revisions, of an earlier process.
    Named(BTreeSet<String>),
}

impl LastApplied {
    /// Nothing, and nobody is asked.
    pub(in crate::daemon) const fn nothing() -> Self {
        Self::Named(BTreeSet::new())
    }

    /// Reads what is applied by `state`. The cluster is asked for what an earlier process may have applied.
    pub(in crate::daemon) async fn read(
        state: ClusterState,
        client: &Client,
        set: &ApplySet,
    ) -> Self {
        match state {
            ClusterState::Applied(applied) => return Self::Fully(applied),
            ClusterState::PartlyApplied(applied) => return Self::Partly(Some(applied)),
            ClusterState::Unknown => {}
        }
        let answer = kubernetes::applied_revisions(client, set);
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(revisions)) => Self::Named(revisions),
            Ok(Err(error)) => {
                tracing::debug!(%error, "cannot read which revision is applied");
                Self::Partly(None)
            }
            Err(_) => Self::Partly(None),
        }
    }

    /// The plans to compare `revision` with, made by `plan_of`. What the origin retains was fully applied.
    pub(super) fn plans(
        self,
        origin: &Origin,
        revision: &str,
        mut plan_of: impl FnMut(&str) -> Option<Arc<Plan>>,
    ) -> Vec<Arc<Plan>> {
        let applied = || origin.retained(RetainedRef::Applied).into_iter();
        let (known, others) = match self {
            Self::Fully(known) => (Some(known), BTreeSet::new()),
            Self::Partly(known) => (known, applied().collect()),
            Self::Named(revisions) => (None, revisions),
        };
        let known = known.unwrap_or_default();
        let is_other = |other: &&String| *other != revision && **other != known.0;
        let others = others.iter().filter(is_other);
        let others = others.filter_map(|other| plan_of(other));
        known.1.into_iter().chain(others).collect()
    }
}
