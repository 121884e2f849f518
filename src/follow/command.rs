//! What a follower wants done.

use std::collections::BTreeSet;
use std::time::Duration;

use super::candidates::Candidate;
use super::comments::CommentQuestion;
use super::event::TimeEvent;
use super::view::ViewChange;
use crate::apply::{
    AppliedRevision, ApprovalsAnswer, ApprovalsRequest, Assignment, Newest, Unapproved,
};
use crate::model::{Check, Press};
use crate::plan::approvals::{Approvals, Pressed};
use crate::plan::losses::Unit;
use crate::reporting::report::Base;

/// What a follower wants done. What is asked or read, and what is written outside, ends in an event.
pub(crate) enum Command {
    /// Bring what is new in the repository.
    Fetch,
    /// Read and compile a commit of the followed ref.
    Examine {
        revision: String,
        /// What the cluster has before it.
        before: ClusterState,
        /// Nothing was accepted yet: what an earlier process did is read, too.
        is_first: bool,
    },
    /// Find out which refs that are there at the start need a plan.
    ReadStartupRefs {
        candidates: Vec<Candidate>,
        base: String,
    },
    /// Find out who pushed these candidates.
    Sort(Vec<Candidate>),
    /// Plan a candidate.
    Plan(Box<PlanRequest>),
    /// Compile what an earlier process applied, for the assignment with this number.
    ReadApplied { number: u64, revision: String },
    /// Find out what people approved of a revision.
    ReadApprovals {
        request: ApprovalsRequest,
        revision: String,
    },
    /// Write these checks.
    Publish(Vec<Check>),
    /// Find out whether checks can be written.
    Probe,
    /// Read the checks that an earlier process left pending, before and beside this revision.
    ReadEarlierChecks(String),
    /// Ask the forge how commits came in. Whatever else waited for that does not any more.
    Attribute {
        /// Those that approve something for what is applied.
        of_release: BTreeSet<String>,
        /// Those that approve something for candidates.
        of_plans: BTreeSet<String>,
    },
    /// Ask the forge whether a button may be pressed. Without the check it is read as well.
    AskPress(Box<(Press, Option<Check>)>),
    /// Read the comments on the pull requests of these checks.
    ReadComments(Vec<CommentQuestion>),
    /// Record in the cluster why the newest commit is not applied; `None` if it is.
    RecordNewest {
        newest: Option<Newest>,
        /// The parent is made if it is missing.
        may_create: bool,
    },
    /// Take the annotation with this text, which approves losses, off the parent.
    TakeAnnotation(String),
    /// Apply this from now on.
    Assign(Assignment),
    /// Pass on what people approved.
    Approve(ApprovalsAnswer),
    /// Allow the HCP clusters of these clusters to be deleted and made again.
    Recreate(BTreeSet<Unit>),
    /// Keep something beyond the end of the process.
    Record(Record),
    /// Show this.
    Show(ViewChange),
    /// Tell the event after this time.
    Wake(Wait, TimeEvent),
}

/// What is kept beyond the end of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// A revision has come so far.
    Milestone(Milestone, String),
    /// Somebody approved losses.
    Approval(Pressed),
}

/// How far a revision has come. What is recorded of each is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Milestone {
    Begun,
    Applied,
    Ready,
}

/// A span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// In the cluster, where it may pass faster.
    Cluster(Duration),
    /// On the wall.
    Wall(Duration),
}

/// What the cluster has before a revision that is examined.
pub(crate) enum ClusterState {
    /// This revision. Whatever of it can be applied now is.
    Applied(AppliedRevision),
    /// This one in part: the cluster may still have what the last revision that was fully applied left.
    PartlyApplied(AppliedRevision),
    /// Something that an earlier process may have applied.
    Unknown,
}

/// A candidate to plan.
pub(crate) struct PlanRequest {
    pub(crate) candidate: Candidate,
    /// The commit that it is merged onto.
    pub(crate) head: String,
    /// The same, examined, if it could be read.
    pub(crate) base: Option<Base>,
    /// What it is compared with.
    pub(crate) applied: Option<AppliedRevision>,
    /// What its comments say that does not count.
    pub(crate) comments: Approvals,
    /// The losses of what is applied that nobody approved yet.
    pub(crate) waiting: BTreeSet<Unapproved>,
}
