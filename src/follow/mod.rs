//! What is followed: where refs lead, which commits are candidates, and the release that is being applied. Pure.
//!
//! In: what the repository, the cluster, the forge and people say, as `Event`s. Out: `Command`s. It does not know who carries
//! them out, or which process it runs in: ten fleets are ten [`Follower`]s.

mod annotation;
mod candidates;
mod command;
mod comments;
mod event;
mod files;
mod follower;
mod forge;
mod heads;
mod lanes;
mod plans;
mod polling;
mod release;
mod releases;
mod reruns;
mod settings;
mod turn;
mod view;

pub(crate) use candidates::{Candidate, OpenRef, is_test_merge, number};
pub(crate) use command::{ClusterState, Command, Milestone, PlanRequest, Record, Wait};
pub(crate) use comments::{CommentAnswer, CommentQuestion};
pub(crate) use event::{
    ChecksEvent, ClusterEvent, EarlierChecks, Event, ExamineResult, FetchResult, GitEvent,
    PeopleEvent, PlanResult, PressAnswer, RemoteRefs, StartupRefs, TimeEvent, Unreadable,
};
pub(crate) use files::{kept, objects_in, proposed};
pub(crate) use follower::Follower;
#[cfg(test)]
pub(crate) use follower::Parts;
#[cfg(test)]
pub(crate) use forge::ForgeQuestions;
pub(crate) use lanes::Lane;
#[cfg(test)]
pub(crate) use plans::Plans;
#[cfg(test)]
pub(crate) use polling::Polling;
pub(crate) use release::{Compilation, Release};
pub(crate) use settings::Settings;
pub use view::View;
pub(crate) use view::ViewChange;
