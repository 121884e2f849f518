//! What the place offers that checks go to.

use std::sync::Arc;

use crate::model::{
    ApprovalButtons, ApprovalComments, CheckSink, OwnPullRequests, PullRequests, RateRemaining,
};

/// What a forge offers. Git notes and a file take checks alone.
#[derive(Clone)]
pub struct ForgePorts {
    /// Takes checks.
    pub checks: Arc<dyn CheckSink>,
    /// Knows how commits came in.
    pub pull_requests: Option<Arc<dyn PullRequests>>,
    /// Opens pull requests, where the daemon can.
    pub own_pull_requests: Option<Arc<dyn OwnPullRequests>>,
    /// Knows whose presses count, where checks have buttons.
    pub buttons: Option<Arc<dyn ApprovalButtons>>,
    /// Knows the comments of pull requests.
    pub comments: Option<Arc<dyn ApprovalComments>>,
    /// What its limit leaves.
    pub remaining: RateRemaining,
}

impl ForgePorts {
    /// Those of a place that takes checks alone.
    pub(in crate::daemon) fn checks_alone(checks: Arc<dyn CheckSink>) -> Self {
        Self {
            checks,
            pull_requests: None,
            own_pull_requests: None,
            buttons: None,
            comments: None,
            remaining: RateRemaining::default(),
        }
    }

    /// Those of a forge without buttons.
    pub(in crate::daemon) fn of<F>(forge: Arc<F>) -> Self
    where
        F: CheckSink + PullRequests + ApprovalComments + 'static,
    {
        Self {
            pull_requests: Some(Arc::clone(&forge) as _),
            comments: Some(Arc::clone(&forge) as _),
            ..Self::checks_alone(forge)
        }
    }

    /// Those of a forge whose checks have buttons.
    pub(in crate::daemon) fn with_buttons<F>(forge: Arc<F>) -> Self
    where
        F: CheckSink + PullRequests + ApprovalComments + ApprovalButtons + 'static,
    {
        Self {
            buttons: Some(Arc::clone(&forge) as _),
            ..Self::of(forge)
        }
    }

    /// The same on a forge where the daemon opens pull requests.
    pub(in crate::daemon) fn opening<O: OwnPullRequests + 'static>(self, opener: Arc<O>) -> Self {
        Self {
            own_pull_requests: Some(opener),
            ..self
        }
    }
}
