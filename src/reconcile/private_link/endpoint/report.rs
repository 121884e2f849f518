//! The conditions of the connection on the HostedCluster, as HyperShift reports those of its own controllers.
//!
//! In: the conditions as they are and as they were just decided. Out: the same on the HostedCluster, unless HyperShift
//! reports them there by itself. It does not know what they mean.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::link::Link;
use super::super::state::{ERROR, SUCCESS, State};
use crate::api::azure_private_link_service::CONDITIONS;
use crate::health::Condition;
use crate::reconcile::conditions::{Conditions, NewCondition};
use crate::reconcile::outcome::{Outcome, Write};

/// The reasons that HyperShift gives.
const HYPERSHIFT: [&str; 3] = [SUCCESS, ERROR, "StatusUnknown"];

/// Reports the conditions on the HostedCluster.
pub(super) fn reconcile(link: &Link<'_>, state: &State, now: Timestamp, outcome: &mut Outcome) {
    let Some(hosted) = link.hosted.filter(|hosted| !hosted.is_deleting()) else {
        return;
    };
    let decided = CONDITIONS.iter().filter_map(|kind| {
        let condition = state.decided(link.live, kind)?;
        Some((*kind, condition))
    });
    let decided: Vec<(&str, NewCondition)> = decided.collect();
    let is_held = |(kind, new): &(&str, NewCondition)| {
        hosted.condition(kind).is_some_and(|held| says(held, new))
    };
    if decided.iter().all(is_held) {
        return;
    }
    let kinds: Vec<&str> = decided.iter().map(|(kind, _)| *kind).collect();
    let mut conditions = Conditions::of(hosted, now);
    for (kind, condition) in decided {
        conditions.set(kind, condition);
    }
    let own = |one: &Value| {
        one["type"]
            .as_str()
            .is_some_and(|kind| kinds.contains(&kind))
    };
    let list = conditions.into_value();
    let list: Vec<&Value> = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| own(one))
        .collect();
    outcome.write(Write::Status(json!({
        "apiVersion": hosted.text(&["apiVersion"]),
        "kind": hosted.kind(),
        "metadata": {"name": hosted.name(), "namespace": hosted.namespace()},
        "status": {"conditions": list},
    })));
}

/// Whether a condition says what is to be reported, in these words or in HyperShift's.
fn says(held: Condition<'_>, new: &NewCondition) -> bool {
    let is_theirs = HYPERSHIFT.contains(&held.reason());
    let is_same = held.reason() == new.reason() && held.message() == new.message();
    held.status() == new.status() && (is_same || is_theirs)
}
