//! What the runner is given: a cluster, options, and plans to carry out.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;

use crate::apply;
use crate::model::{Clock, ObjectId};
use crate::plan::{ApplySet, Plan};

/// How to carry out plans.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many requests may be under way at once; at least one is.
    pub concurrency: usize,
    /// The set that the plans' objects are members of; only members are watched, and removed.
    pub set: ApplySet,
}

/// The cluster and its time.
#[derive(Clone)]
pub struct Target {
    /// How to reach it.
    pub client: Client,
    /// Its time.
    pub clock: Arc<dyn Clock>,
}

/// The clusters that may be deleted, `namespace/name`, when the given revision was the last that was
/// fully applied (empty: none was). It may take its time: it runs on a thread of its own.
pub type Approvals = Arc<dyn Fn(&str) -> BTreeSet<String> + Send + Sync>;

/// A plan to carry out.
#[derive(Clone)]
pub struct Assignment {
    /// Comes back with everything that is reported of it.
    pub number: u64,
    /// What the cluster is to have.
    pub plan: Arc<Plan>,
    /// What controllers make of it, with versions.
    pub embedded: Arc<[(ObjectId, String)]>,
    /// What it is a plan of; empty when it has no name. It is written down in the cluster.
    pub revision: String,
    /// Whether a person asked for it just now: then no change is held because its revision was applied before.
    pub by_hand: bool,
    /// Where that comes from, for people.
    pub source: String,
    /// Whether members that the plan lacks are removed.
    pub prune: bool,
    /// How many clusters may be deleted without approval.
    pub max_clusters: usize,
    /// Whether nobody can approve in the message of a commit.
    pub without_commits: bool,
    /// Which may.
    pub approvals: Approvals,
    /// Whether nothing is done while the fleet is suspended.
    pub heeds_suspension: bool,
    /// Since when the fleet is suspended, as far as is known. The parent decides; without one, this does.
    pub suspended: Option<String>,
}

impl Assignment {
    /// A plan without a name, which removes nothing.
    #[must_use]
    pub fn new(plan: Arc<Plan>, embedded: impl Into<Arc<[(ObjectId, String)]>>) -> Self {
        Self {
            number: 0,
            plan,
            embedded: embedded.into(),
            revision: String::new(),
            by_hand: false,
            source: String::new(),
            prune: false,
            max_clusters: 0,
            without_commits: false,
            approvals: Arc::new(|_| BTreeSet::new()),
            heeds_suspension: false,
            suspended: None,
        }
    }

    /// The same as plain data.
    pub(super) fn plain(self) -> apply::Assignment {
        apply::Assignment {
            number: self.number,
            plan: self.plan,
            embedded: self.embedded,
            revision: self.revision,
            by_hand: self.by_hand,
            source: self.source,
            prune: self.prune,
            max_clusters: self.max_clusters,
            without_commits: self.without_commits,
            heeds_suspension: self.heeds_suspension,
            suspended: self.suspended,
        }
    }
}
