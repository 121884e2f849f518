//! What ASO may do in Azure for an embedded resource: whether it manages the resource or only looks.
//!
//! In: an item of the list, and the resource as it is. Out: the policy to apply, or why nothing may be applied. A resource
//! that is there already in Azure is not managed before it is known to be the cluster's, unless somebody asks for that.

use super::items::Item;
use super::ledger::Ledger;
use super::owners::{self, Controller};
use crate::api::aso;
use crate::api::conditions::READY;
use crate::api::fleet::FirstApply;
use crate::api::labels::{
    ADDED_DIGEST, ADOPT_EXISTING, APPLIED_DIGEST, KEPT_POLICY, MANAGE, OWNED, PRE_PAUSE_POLICY,
    RECONCILE_POLICY, SKIP, ownership_tag,
};
use crate::health::Live;
use crate::reconcile::outcome::Outcome;

/// What to do about a resource.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Policy<'a> {
    /// Apply it.
    Apply(Terms<'a>),
    /// It was paused: give it this policy again, none if empty.
    Resume(&'a str),
    /// It was paused: its policy is in the list.
    Release,
    /// Leave it to the one that controls it: `Kind/name`.
    LeaveTo(String),
    /// Leave it alone: it is in the cluster and nobody controls it.
    LeaveAlone,
}

/// How a resource is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms<'a> {
    /// The policy; none if empty, as of what is managed: CAPZ pauses that by an apply which would conflict with a policy of
    /// ours.
    pub(super) policy: &'a str,
    /// Whether it gets the cluster's tag.
    pub(super) is_tagged: bool,
    /// Whether it exists in Azure and is not the cluster's.
    pub(super) is_foreign: bool,
    /// Whether somebody wrote the policy by hand before the resource was taken over, which is recorded.
    pub(super) is_kept: bool,
}

impl<'a> Terms<'a> {
    const fn new(policy: &'a str, is_tagged: bool) -> Self {
        Self {
            policy,
            is_tagged,
            is_foreign: false,
            is_kept: false,
        }
    }

    /// The policy that somebody wrote by hand.
    const fn kept(is_tagged: bool) -> Self {
        Self {
            is_kept: true,
            ..Self::new(SKIP, is_tagged)
        }
    }
}

/// What to do about an item of the list.
pub(super) fn decide<'a>(
    ledger: &Ledger<'a>,
    item: &Item<'a>,
    live: Option<Live<'a>>,
    outcome: &mut Outcome,
) -> Policy<'a> {
    let written = written(item.value);
    let tagged = live.is_some_and(|live| has_tag(ledger, live));
    let Some(live) = live else {
        let first = first(ledger, item.value);
        return Policy::Apply(written.map_or(first, |policy| Terms::new(policy, false)));
    };
    let controller = owners::controller(ledger.owner, live);
    if let Controller::Other(held) = controller {
        let kind = held.kind();
        return Policy::LeaveTo(format!("{kind}/{}", held.text(&["name"])));
    }
    if live
        .at(&["metadata", "annotations", PRE_PAUSE_POLICY])
        .is_some()
    {
        return match written {
            Some(_) => Policy::Release,
            None => Policy::Resume(owners::policy(live)),
        };
    }
    if let Some(policy) = written {
        return Policy::Apply(Terms::new(policy, tagged));
    }
    let is_direct = ledger.first_apply == FirstApply::Direct;
    let free = matches!(controller, Controller::Nobody) && !is_direct;
    if free && !is_wanted(ledger, item.value) && !owners::is_clusters(ledger, live, outcome) {
        return Policy::LeaveAlone;
    }
    match owners::policy(live) {
        SKIP if is_kept(&controller, live) => Policy::Apply(Terms::kept(tagged)),
        SKIP if !is_direct => Policy::Apply(probed(ledger, item, live, outcome)),
        // What is managed is the cluster's from here on, also in another management cluster.
        SKIP | MANAGE | "" => Policy::Apply(Terms::new("", true)),
        _ => Policy::Apply(Terms::new("", tagged)),
    }
}

/// Whether somebody wrote by hand that ASO skips a resource: it is so before it is taken over, and recorded from then on.
/// What was applied from a list before, and lost its owner, has the policy of that time.
fn is_kept(controller: &Controller<'_>, live: Live<'_>) -> bool {
    let is_new = matches!(controller, Controller::Nobody)
        && [APPLIED_DIGEST, ADDED_DIGEST]
            .iter()
            .all(|digest| live.annotation(digest).is_empty());
    is_new || live.annotation(KEPT_POLICY) == SKIP
}

/// How a resource is applied that does not exist in the cluster.
fn first<'a>(ledger: &Ledger<'_>, item: Live<'_>) -> Terms<'a> {
    match ledger.first_apply {
        FirstApply::Direct => Terms::new("", true),
        FirstApply::Probe if is_wanted(ledger, item) => Terms::new("", true),
        FirstApply::Probe => Terms::new(SKIP, true),
    }
}

/// How a resource is applied of which ASO only looked whether it exists.
fn probed<'a>(
    ledger: &Ledger<'_>,
    item: &Item<'_>,
    live: Live<'_>,
    outcome: &mut Outcome,
) -> Terms<'a> {
    let ready = live
        .condition(READY)
        .filter(|ready| live.is_current(*ready));
    let is_absent = ready.is_some_and(|ready| ready.reason() == aso::AZURE_RESOURCE_NOT_FOUND);
    let exists = ready.is_some_and(|ready| ready.is_true());
    let is_managed = is_absent
        || is_wanted(ledger, item.value)
        || exists && owners::is_clusters(ledger, live, outcome);
    Terms {
        policy: if is_managed { "" } else { SKIP },
        is_tagged: true,
        is_foreign: exists && !is_managed,
        is_kept: false,
    }
}

/// The policy that the user wrote.
pub(super) fn written(item: Live<'_>) -> Option<&str> {
    let written = item.at(&["metadata", "annotations", RECONCILE_POLICY])?;
    written.as_str()
}

/// Whether the user wants it managed whether it exists or not.
fn is_wanted(ledger: &Ledger<'_>, item: Live<'_>) -> bool {
    [item, ledger.owner]
        .iter()
        .any(|live| live.annotation(ADOPT_EXISTING) == "true")
}

/// Whether the cluster's tag is in its spec.
fn has_tag(ledger: &Ledger<'_>, live: Live<'_>) -> bool {
    let tag = ownership_tag(ledger.cluster);
    live.text(&["spec", "tags", &tag]) == OWNED
}
