//! An object of which the cluster refuses a write to the object itself, so that its controller gets no further.
//!
//! In: the object, what was decided for it, and why the write is refused. Out: the decision, whose status says so, and an
//! event. What was decided does not know of it: nothing else is written before the object itself is.

use jiff::Timestamp;
use serde_json::json;

use super::conditions::{Conditions, NewCondition};
use super::outcome::{Outcome, Write};
use crate::api::conditions::{READY, WRITE_REFUSED};
use crate::api::kinds::ARO;
use crate::health::Live;

/// Adds to a decision that the cluster refuses a write to the object.
pub(crate) fn tell(live: Live<'_>, why: &str, now: Timestamp, outcome: &mut Outcome) {
    if !ARO.contains(&(live.group(), live.kind())) {
        return outcome.event(live, true, WRITE_REFUSED, why);
    }
    let is_own = |write: &Write| {
        matches!(write, Write::Status(_)) && write.object().is_some_and(|id| id == live.id())
    };
    let decided = outcome.writes.iter().position(is_own);
    let decided = decided.map(|place| outcome.writes.remove(place));
    let mut status = match decided {
        Some(Write::Status(mut patch)) => patch["status"].take(),
        _ => live.at(&["status"]).cloned().unwrap_or_default(),
    };
    // The definitions require it.
    if status.get("ready").is_none() {
        status["ready"] = json!(false);
    }
    let list = Live(&status).list(&["conditions"]).to_vec();
    let mut conditions = Conditions::going_on(live, list, now);
    conditions.set(READY, NewCondition::no(WRITE_REFUSED, why));
    conditions.write(live, status, outcome);
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const WHY: &str = "Capstan cannot write this object: no";

    fn object(kind: &str) -> Value {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": "c", "namespace": "ns", "generation": 2}})
    }

    #[test]
    fn the_status_that_was_decided_says_why_nothing_happens() {
        let object = object("AROCluster");
        let live = Live(&object);
        let other = json!({"type": "ResourcesReady", "status": "False", "reason": "x"});
        let summary = json!({"type": "Ready", "status": "False", "reason": "x"});
        let mut patch = object.clone();
        patch["status"] = json!({"ready": false, "resources": [1], "conditions": [other, summary]});
        let mut outcome = Outcome::default();
        outcome.write(Write::Apply(object.clone()));
        outcome.write(Write::Status(patch));
        tell(live, WHY, Timestamp::UNIX_EPOCH, &mut outcome);
        assert!(matches!(
            outcome.writes[..],
            [Write::Apply(_), Write::Status(_)]
        ));
        let Some(Write::Status(patch)) = outcome.writes.last() else {
            return;
        };
        let status = &patch["status"];
        assert_eq!(status["resources"], json!([1]));
        assert_eq!(status["conditions"][0], other);
        let ready = Live(&status["conditions"][1]);
        assert_eq!(ready.text(&["reason"]), WRITE_REFUSED);
        assert_eq!(ready.text(&["message"]), WHY);
        assert_eq!(outcome.events.len(), 1);
        assert_eq!(outcome.events[0].reason, WRITE_REFUSED);

        let mut told = object.clone();
        told["status"] = status.clone();
        let mut outcome = Outcome::default();
        tell(Live(&told), WHY, Timestamp::UNIX_EPOCH, &mut outcome);
        assert_eq!((outcome.writes, outcome.events), (Vec::new(), Vec::new()));
    }

    #[test]
    fn another_kind_gets_an_event_alone() {
        let object = object("AzureClusterIdentity");
        let mut outcome = Outcome::default();
        tell(Live(&object), WHY, Timestamp::UNIX_EPOCH, &mut outcome);
        assert_eq!((outcome.writes.len(), outcome.events.len()), (0, 1));
    }
}
