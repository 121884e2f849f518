//! What the engine is given: a plan to carry out, and what people approved of it. Plain data.

use std::sync::Arc;

use crate::model::EmbeddedId;
use crate::plan::Plan;
use crate::plan::approvals::Approval;

/// A plan to carry out.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// Tells it from others; every report carries it.
    pub number: u64,
    /// What the cluster is to have.
    pub plan: Arc<Plan>,
    /// What controllers make of it, with versions.
    pub embedded: Arc<[EmbeddedId]>,
    /// What it is a plan of; empty when it has no name. It is written down in the cluster.
    pub revision: String,
    /// Whether a person asked for it just now: then no change is held because its revision was applied before.
    pub by_hand: bool,
    /// The source of the plan, for people.
    pub source: String,
    /// Whether members that the plan lacks are removed.
    pub prune: bool,
    /// The fleet itself is removed, so its plan has no objects on purpose.
    pub is_end: bool,
    /// Whether nobody can approve in the message of a commit.
    pub without_commits: bool,
    /// Whether nothing is done while the parent says that the fleet is suspended.
    pub heeds_suspension: bool,
    /// Since when the fleet is suspended, as far as is known: it stays so when it has no parent.
    pub suspended: Option<String>,
}

impl Assignment {
    /// A plan without a name, which removes nothing.
    #[must_use]
    pub fn new(plan: Arc<Plan>, embedded: impl Into<Arc<[EmbeddedId]>>) -> Self {
        Self {
            plan,
            embedded: embedded.into(),
            ..Self::default()
        }
    }
}

/// The question what people approved of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsRequest {
    /// The number of the assignment.
    pub number: u64,
    /// The revision that was fully applied last; empty if none was. What was approved before it is used up.
    pub applied: String,
}

/// The answer to a question what people approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsAnswer {
    /// The question.
    pub request: ApprovalsRequest,
    /// The approvals that count.
    pub approvals: Vec<Approval>,
}
