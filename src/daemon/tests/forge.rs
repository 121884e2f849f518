//! A forge that does what the tests want, and one that does nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt as _;
use futures::future::{BoxFuture, pending, ready};

use super::*;
use crate::model::{
    AdapterError, ApprovalButtons, ApprovalComments, CheckSink, CommitSource, ErrorClass, Later,
    PullComment, PullRequests,
};

type Answer<'a, T> = BoxFuture<'a, Result<T, AdapterError>>;

/// A forge with the GitHub App 77 and a repository that `writer` may write to.
#[derive(Default)]
pub(super) struct Forge {
    /// What this process wrote.
    pub(super) written: Mutex<Vec<Check>>,
    /// What an earlier process wrote.
    pub(super) earlier: Mutex<Vec<Check>>,
    /// Its credential is missing.
    pub(super) is_away: AtomicBool,
    /// How some commits came in; of the others it says nothing yet.
    pub(super) sources: Mutex<BTreeMap<String, CommitSource>>,
    /// Who was asked about.
    pub(super) asked: Mutex<Vec<String>>,
    /// The comments on each pull request.
    pub(super) comments: Mutex<BTreeMap<u64, Vec<PullComment>>>,
    /// The pull requests of some commits.
    pub(super) pull_requests: Mutex<BTreeMap<String, u64>>,
}

impl Forge {
    /// One whose checks have no buttons.
    pub(super) fn ports(self: &Arc<Self>) -> ForgePorts {
        ForgePorts::of(Arc::clone(self))
    }

    pub(super) fn with_buttons(self: &Arc<Self>) -> ForgePorts {
        ForgePorts::with_buttons(Arc::clone(self))
    }

    fn earlier(&self, is_wanted: impl Fn(&Check) -> bool) -> Vec<Check> {
        let mut earlier = self.earlier.lock().unwrap().clone();
        earlier.retain(is_wanted);
        earlier
    }
}

impl CheckSink for Forge {
    fn publish<'a>(&'a self, checks: &'a [Check], _: Timestamp) -> Answer<'a, Vec<Later>> {
        self.written.lock().unwrap().extend_from_slice(checks);
        ready(Ok(Vec::new())).boxed()
    }

    fn read<'a>(&'a self, revisions: &'a [String], context: &'a str) -> Answer<'a, Vec<Check>> {
        let is_wanted =
            |check: &Check| check.context == context && revisions.contains(&check.revision);
        ready(Ok(self.earlier(is_wanted))).boxed()
    }

    fn unfinished<'a>(&'a self, context: &'a str) -> Answer<'a, Vec<Check>> {
        let unfinished = match self.is_away.load(Ordering::Relaxed) {
            true => Err(AdapterError::new(ErrorClass::Denied, "no token")),
            false => Ok(self.earlier(|check| check.context == context)),
        };
        ready(unfinished).boxed()
    }

    fn probe(&self) -> Answer<'_, ()> {
        ready(Ok(())).boxed()
    }
}

impl PullRequests for Forge {
    fn source_of<'a>(&'a self, commit: &'a str) -> Answer<'a, CommitSource> {
        let known = self.sources.lock().unwrap().get(commit).copied();
        let away = || AdapterError::new(ErrorClass::Transient, "the forge is away");
        ready(known.ok_or_else(away)).boxed()
    }
}

impl ApprovalButtons for Forge {
    fn app(&self) -> Option<u64> {
        Some(77)
    }

    fn may_approve<'a>(&'a self, login: &'a str) -> Answer<'a, ()> {
        self.asked.lock().unwrap().push(login.to_owned());
        let no = || AdapterError::new(ErrorClass::Invalid, "reader may not write");
        ready((login == "writer").then_some(()).ok_or_else(no)).boxed()
    }
}

impl ApprovalComments for Forge {
    fn comments(&self, pull_request: u64) -> Answer<'_, Vec<PullComment>> {
        let comments = self.comments.lock().unwrap();
        let found = comments.get(&pull_request).cloned().unwrap_or_default();
        ready(Ok(found)).boxed()
    }

    fn pull_requests<'a>(&'a self, commit: &'a str) -> Answer<'a, Vec<u64>> {
        let known = self.pull_requests.lock().unwrap();
        ready(Ok(known.get(commit).copied().into_iter().collect())).boxed()
    }

    fn tells_rights(&self) -> Answer<'_, bool> {
        ready(Ok(true)).boxed()
    }

    fn authors(&self, _: u64) -> Answer<'_, BTreeSet<String>> {
        ready(Ok(["author".to_owned()].into())).boxed()
    }
}

/// A forge that takes connections and never answers.
pub(super) struct Silent;

impl CheckSink for Silent {
    fn publish<'a>(&'a self, _: &'a [Check], _: Timestamp) -> Answer<'a, Vec<Later>> {
        pending().boxed()
    }

    fn read<'a>(&'a self, _: &'a [String], _: &'a str) -> Answer<'a, Vec<Check>> {
        pending().boxed()
    }

    fn unfinished<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<Check>> {
        pending().boxed()
    }

    fn probe(&self) -> Answer<'_, ()> {
        pending().boxed()
    }
}

impl PullRequests for Silent {
    fn source_of<'a>(&'a self, _: &'a str) -> Answer<'a, CommitSource> {
        pending().boxed()
    }
}

impl ApprovalComments for Silent {
    fn comments(&self, _: u64) -> Answer<'_, Vec<PullComment>> {
        pending().boxed()
    }

    fn pull_requests<'a>(&'a self, _: &'a str) -> Answer<'a, Vec<u64>> {
        pending().boxed()
    }

    fn tells_rights(&self) -> Answer<'_, bool> {
        pending().boxed()
    }

    fn authors(&self, _: u64) -> Answer<'_, BTreeSet<String>> {
        pending().boxed()
    }
}

/// A place that takes checks alone.
pub(super) fn no_forge() -> ForgePorts {
    ForgePorts::checks_alone(Arc::new(Silent))
}
