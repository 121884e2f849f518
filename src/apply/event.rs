//! What the engine learns, and what it asks for. Plain data.
//!
//! Every event has its time. Answers to requests of an assignment have its number,
//! which tells them from answers to an earlier one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::backoff::backoff;
use super::{ApprovalsAnswer, ApprovalsRequest, Assignment, Kind, Parent, Report};
use crate::model::{ErrorClass, ObjectId};
use crate::plan::Plan;

/// How long after a request was refused for missing rights it is seen whether they were given: long enough
/// to cost next to nothing, and about what a person waits after a `kubectl apply` of a role.
pub(crate) const RIGHTS: Duration = Duration::from_secs(5);

/// Group and kind, at whatever version.
pub(crate) type GroupKind = (String, String);

/// Something happened.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// When.
    pub(crate) at: Timestamp,
    /// What.
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A plan is to be carried out in place of the one before.
    Assigned(Box<Assignment>),
    /// The answer to [`Command::ReadParent`]: its content and its resourceVersion; `None` if it does not exist.
    ParentRead(u64, Box<Result<Option<(Parent, String)>, Failure>>),
    /// The answer to [`Command::AskApprovals`], which comes again when it changes.
    Approved(ApprovalsAnswer),
    /// The answer to [`Command::WriteParent`]: the new resourceVersion.
    ParentWritten(u64, Result<String, Failure>),
    /// The answer to [`Command::Discover`]: whether objects of the kind are in namespaces.
    KindServed(Kind, Result<bool, Failure>),
    /// The answer to [`Command::FindVersion`]: the preferred version, if the kind is served.
    VersionFound(u64, GroupKind, Result<Option<String>, Failure>),
    /// A watch saw something.
    Watched(WatchEvent),
    /// The answer to [`Command::Apply`] of a step.
    Answered(u64, usize, Box<Result<Applied, Failure>>),
    /// The answer to [`Command::Read`].
    Read(u64, ObjectId, Box<Result<Option<Json>, Failure>>),
    /// The answer to [`Command::Remove`].
    Removed(u64, ObjectId, Result<Removal, Failure>),
    /// The answer to [`Command::Confirm`], with the uid of the object that was looked for.
    Confirmed(ObjectId, Option<String>, Box<Result<Option<Json>, Failure>>),
    /// The time of a [`Command::WakeAt`] has come.
    Elapsed(u64, RetryTarget),
}

/// An object that was applied.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    /// The object as the cluster has it now.
    pub(crate) live: Json,
    /// Whether it did not exist before.
    pub(crate) created: bool,
    /// Which fields left what is sent and stay nevertheless, in words; `None` if that is not known.
    pub(crate) remains: Option<String>,
}

/// What a watch saw.
#[derive(Clone, Debug)]
pub(crate) enum WatchEvent {
    /// An object as it is now, or `None` when it is gone.
    Object(WatchScope, ObjectId, Option<Box<Json>>),
    /// All objects of a kind: these.
    Listed(WatchScope, Kind, BTreeSet<ObjectId>),
    /// A kind cannot be watched for now.
    Interrupted(WatchScope, Kind, Interruption),
    /// The address of a watched kind does not exist any more. Its watch has ended.
    Lost(Kind),
    /// The definition of a custom kind of this group appeared or changed.
    Defined(String),
}

/// Which objects of a kind a watch sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WatchScope {
    /// Those with the label of our set.
    Members,
    /// All, since embedded resources do not have our label.
    Embedded,
}

/// Why a watch is interrupted.
#[derive(Clone, Debug)]
pub(crate) struct Interruption {
    /// The message of the cluster or the client.
    pub(crate) why: String,
    /// Whether we may not watch, or are not known.
    pub(crate) denied: bool,
}

/// Something to do. The engine waits for no answer: it comes as an event.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    /// Read the parent.
    ReadParent(u64),
    /// Ask what people approved.
    AskApprovals(ApprovalsRequest),
    /// Write the parent in place of the one of a resourceVersion; also over a newer one if `over`.
    WriteParent {
        number: u64,
        parent: Box<Parent>,
        version: String,
        over: bool,
    },
    /// Find out how the cluster serves a kind, by the example of an object; anew if `refresh`.
    Discover {
        kind: Kind,
        example: ObjectId,
        refresh: bool,
    },
    /// Find out at which version the cluster prefers to serve a kind.
    FindVersion(u64, GroupKind),
    /// Watch a kind that is served.
    Watch(WatchScope, Kind),
    /// Watch the definitions of custom kinds.
    WatchDefinitions,
    /// Apply a step of a plan to `object`, as the cluster names it.
    Apply {
        number: u64,
        plan: Arc<Plan>,
        step: usize,
        object: ObjectId,
        kind: Kind,
        precondition: ApplyPrecondition,
    },
    /// Read a member that leaves.
    Read(u64, ObjectId, Kind),
    /// Delete or release a member, if it still has this uid.
    Remove {
        number: u64,
        object: ObjectId,
        kind: Kind,
        uid: String,
        removal: Removal,
    },
    /// See whether an object that a watch no longer sees, and that had this uid, is there.
    Confirm(ObjectId, Kind, Option<String>),
    /// Send an event at this time.
    WakeAt(u64, Timestamp, RetryTarget),
    /// Report progress of the assignment with this number.
    Report(u64, Report),
    /// Warn the operator.
    Warn(Warning),
}

/// How a member leaves the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It is deleted.
    Delete,
    /// It stays in the cluster, without our marks.
    Release,
}

/// What is known of an object that is to be applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApplyPrecondition {
    /// Its uid; `None` if it must be looked up.
    pub(crate) uid: Option<String>,
    /// Whether fields that others took from us are taken back.
    pub(crate) takes_back: bool,
    /// Whether the meaning of the change is looked at first, and then whether its revision was applied
    /// before.
    pub(crate) gate: Option<bool>,
}

/// What is retried after a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RetryTarget {
    /// Opening the parent.
    ParentOpening,
    /// Writing the parent.
    ParentWrite,
    /// A step that backs off until then.
    Step(usize, Timestamp),
    /// Discovery of an embedded kind.
    EmbeddedKind(Kind),
    /// Discovery of a kind that the set had members of.
    EarlierKind(GroupKind),
    /// Discovery of a kind that seems not to be served any more.
    LostKind(Kind),
    /// A member that leaves, and backs off until then.
    Removal(ObjectId, Timestamp),
    /// The confirmation that an object is gone.
    Confirmation(ObjectId),
    /// One of the steps that lacked rights.
    Rights,
}

/// A line for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Warning {
    /// Others changed what we applied.
    Drift { object: ObjectId, why: String },
    /// An embedded kind is not served, so its progress cannot be seen.
    Unseen { why: String },
}

/// A request that failed, as far as the engine cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What to do about it.
    pub(crate) class: ErrorClass,
    /// How long the server asked us to wait.
    pub(crate) retry_after: Option<Duration>,
    /// What it means beyond its class.
    pub(crate) cause: FailureCause,
    /// The object of the request; `None` for the parent.
    pub(crate) object: Option<ObjectId>,
    /// What happened, for people, without the object.
    pub(crate) message: String,
}

/// What a failure means beyond its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureCause {
    /// The cluster does not serve the kind.
    NotServed,
    /// The credentials are not valid, or lack a permission: somebody may change that at any time.
    NoRights,
    /// No commit asked for the change: the object stays as it was applied.
    Held,
    /// Anything else.
    Other,
}

impl Failure {
    /// The same in words, about another object: what is wrong with a kind is wrong with all its
    /// objects, whichever of them was asked about.
    pub(crate) fn about(&self, other: &ObjectId) -> String {
        match self.object {
            Some(_) => format!("{other}: {}", self.message),
            None => self.message.clone(),
        }
    }

    /// How long to wait before a question is asked again, however often it was asked.
    pub(crate) fn pause(&self) -> Duration {
        backoff(self.class, 4, self.retry_after).wait
    }

    /// `wait`, but at most `limit` after a request that lacked rights: they may have been given meanwhile.
    pub(crate) fn at_most(&self, limit: Duration, wait: Duration) -> Duration {
        match self.cause {
            FailureCause::NoRights => wait.min(limit),
            _ => wait,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.object {
            Some(object) => write!(f, "{object}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
