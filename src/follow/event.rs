//! The events of a follower, by their source.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::candidates::{Candidate, OpenRef};
use super::comments::CommentAnswer;
use super::lanes::Lane;
use super::release::{Compilation, Release};
use super::settings::Settings;
use crate::apply::{AppliedRevision, ApprovalsRequest, Newest, Report, Steering};
use crate::model::{AdapterError, Button, Check, ErrorClass, Hint, Later, Press};
use crate::plan::approvals::Approvals;
use crate::reporting::report::{self, Base, Fault, NotPlanned};

/// An event of a follower.
pub(crate) enum Event {
    Git(GitEvent),
    Cluster(ClusterEvent),
    Checks(ChecksEvent),
    People(PeopleEvent),
    Time(TimeEvent),
}

/// The repository, or the directory that stands for one, and what is read of it.
pub(crate) enum GitEvent {
    /// Something in the directory changed.
    DirectoryChanged,
    Fetched(Box<FetchResult>),
    Examined(Box<ExamineResult>),
    StartupRefsRead(StartupRefs),
    /// These candidates, each with who pushed it; none if that cannot be told now.
    Sorted(Vec<Candidate>),
    Planned(Box<PlanResult>),
    /// The revision that an earlier process applied, for the assignment with this number.
    AppliedRead(u64, AppliedRevision),
    /// What people approved; `None` after a bug.
    ApprovalsRead(ApprovalsRequest, Option<Box<Approvals>>),
}

/// The management cluster, and what applies there.
pub(crate) enum ClusterEvent {
    /// A report on the assignment with this number.
    Reported(u64, Report),
    ApprovalsAsked(ApprovalsRequest),
    /// Applying stopped, which it never should.
    RunnerEnded,
    /// The newest commit was recorded as not applied, or as applied (`None`), or could not be.
    NewestRecorded(Box<(Option<Newest>, Result<(), String>)>),
    /// The annotation with this text was taken off the parent, or was not there any more (`false`), or that failed.
    AnnotationTaken(String, Result<bool, String>),
}

/// Where checks are written.
pub(crate) enum ChecksEvent {
    Probed(Result<(), AdapterError>),
    Published(Result<Vec<Later>, AdapterError>),
    /// What an earlier process left pending; `None` if that cannot be read now.
    EarlierRead(Option<EarlierChecks>),
    /// The forge said of these commits how they came in.
    Attributed(BTreeSet<String>),
    /// It was asked of commits how they came in.
    AttributionEnded,
    PressAnswered(Press, PressAnswer),
    /// What comments say; of checks whose comments could not be read, nothing.
    CommentsRead(Vec<CommentAnswer>),
}

/// Whoever works with the fleet.
pub(crate) enum PeopleEvent {
    Steered(Steering),
    WebhookReceived(Hint),
}

/// A time that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TimeEvent {
    /// The repository may be looked at: the alarm for this time on the wall went off.
    Look(Duration),
    /// Progress is due, or something that depends on the time.
    Progress,
    /// A release need not wait for its announcement any more.
    Announced,
    /// Checks that could not be written may be tried again.
    RetryChecks,
    /// The commit, which could not be read, may be examined again.
    Reexamine(String),
    /// The assignment with this number may be made again.
    Reassign(u64),
    /// What could not be recorded of the newest commit may be tried again.
    RecordNewest,
    /// The annotation that could not be taken off the parent may be tried again.
    TakeAnnotation,
    /// The alarm with this number went off: the forge may be asked again how commits came in.
    Attribute(u64),
    /// The candidate, which could not be planned, may be planned again.
    Replan(Box<Candidate>),
    /// The plan of the candidate takes too long.
    Overdue(Box<Candidate>),
}

/// The answer to a look at the repository.
pub(crate) struct FetchResult {
    /// Where its refs lead, or why that is not known.
    pub(crate) refs: Result<RemoteRefs, AdapterError>,
    /// The longest wait until the next look, if it must not be longer.
    pub(crate) next_within: Option<Duration>,
}

/// Where the refs of the repository lead.
pub(crate) struct RemoteRefs {
    /// All of them; `None` while those that are not followed are still on their way.
    pub(crate) refs: Option<BTreeMap<String, String>>,
    /// The commit that is followed now.
    pub(crate) head: String,
    /// True if it was refused for its signature, and that is different now: somebody signed its tag.
    pub(crate) signed_anew: bool,
}

/// The refs that are there at the start.
#[derive(Default)]
pub(crate) struct StartupRefs {
    /// Those that may need a plan.
    pub(crate) open: Vec<OpenRef>,
    /// The commits that an earlier process left waiting for a plan; `None` if that cannot be read now.
    pub(crate) waiting: Option<Vec<String>>,
}

/// What an earlier process left pending.
pub(crate) struct EarlierChecks {
    /// Revisions, and the titles of their sync checks.
    pub(crate) pending: Vec<(String, String)>,
    /// Commits that wait for a plan.
    pub(crate) waiting: Vec<String>,
}

/// A commit of the followed ref, read and compiled.
pub(crate) struct ExamineResult {
    pub(crate) revision: String,
    /// The first line of its message.
    pub(crate) title: String,
    pub(crate) outcome: Result<Compilation, Unreadable>,
    /// The same for candidates, which are merged onto it; `None` if it cannot be read.
    pub(crate) base: Option<Base>,
    /// The newest good revision before it, if this one is broken or empty and nothing is applied.
    pub(crate) fallback: Option<Release>,
    /// Revisions whose sync check an earlier process left pending, and its title, if nothing is applied; `None` if that
    /// cannot be read now.
    pub(crate) left_pending: Option<Vec<(String, String)>>,
    /// What an earlier process applied, if nothing is applied because the settings suspend the fleet.
    pub(crate) left_applied: Option<AppliedRevision>,
}

impl ExamineResult {
    /// A commit that could not be examined.
    pub(crate) fn failed(revision: String, why: Unreadable) -> Self {
        Self {
            revision,
            title: String::new(),
            outcome: Err(why),
            base: None,
            fallback: None,
            left_pending: Some(Vec::new()),
            left_applied: None,
        }
    }
}

/// Why a commit cannot be read.
pub(crate) struct Unreadable {
    pub(crate) fault: Fault,
    pub(crate) class: ErrorClass,
}

/// A candidate that was planned, or could not be.
pub(crate) struct PlanResult {
    pub(crate) candidate: Candidate,
    /// The head that a test merge is of, and who pushed it: then it is still to be planned.
    pub(crate) resolved: Option<(String, Lane)>,
    /// The ids of the merged files.
    pub(crate) merged: Option<String>,
    /// Its check; `None` if the merged files are those of the last one.
    pub(crate) check: Option<Check>,
    /// True if it could not be planned for a reason that may pass.
    pub(crate) is_passing: bool,
    /// The commits with approvals of which the forge has not said how they came in.
    pub(crate) unattributed: BTreeSet<String>,
}

/// The answer to a pressed approval button.
pub(crate) enum PressAnswer {
    /// This person may approve what the button is for.
    Approved(Button),
    /// The check has no such button, or not any more.
    Stale,
    /// This person may not, or nobody can tell.
    Refused(AdapterError),
}

impl PlanResult {
    /// A candidate that could not be planned for a reason that may pass, or for good.
    pub(crate) fn failed(
        fleet: &str,
        candidate: Candidate,
        fault: &Fault,
        is_passing: bool,
    ) -> Self {
        let check = report::broken_plan(fleet, &candidate.commit, fault);
        Self {
            check: Some(check),
            is_passing,
            ..Self::new(candidate)
        }
    }

    /// A candidate whose last check still holds.
    pub(crate) fn unchanged(candidate: Candidate, merged: String) -> Self {
        Self {
            merged: Some(merged),
            ..Self::new(candidate)
        }
    }

    /// A candidate that is not planned until it moves, or somebody asks.
    pub(crate) fn not_planned(settings: &Settings, candidate: Candidate, why: NotPlanned) -> Self {
        let merged = match why {
            NotPlanned::Interrupted => "interrupted".to_owned(),
            _ => settings.limits.clone(),
        };
        if candidate.seen.as_ref() == Some(&merged) {
            return Self::unchanged(candidate, merged);
        }
        let check = report::not_planned(&settings.fleet, &candidate.commit, why);
        let (name, commit) = (candidate.name.escape_debug(), &candidate.commit);
        tracing::warn!(%name, revision = commit, "{}", check.title);
        let input = Some(merged.clone());
        Self {
            merged: Some(merged),
            check: Some(Check { input, ..check }),
            ..Self::new(candidate)
        }
    }

    /// A candidate of which nothing is known.
    pub(crate) const fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            resolved: None,
            merged: None,
            check: None,
            is_passing: false,
            unattributed: BTreeSet::new(),
        }
    }
}
