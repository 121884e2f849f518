//! The rules of DESIGN §7, one by one.

use serde_json::json;

use super::super::super::event::{
    Command, Failure, FailureCause, Interruption, Removal, WatchEvent,
};
use super::super::super::event::{WatchScope, What};
use super::stage::{Fault, Stage, cluster, cluster_id, described, id, map};
use crate::api::labels;
use crate::apply::{PruneStatus, Report, State};
use crate::model::ErrorClass;

fn asked(stage: &Stage) -> Vec<String> {
    stage.requests.iter().map(described).collect()
}

#[test]
fn the_parent_names_what_becomes_a_member_before_anything_is_applied() {
    let mut stage = Stage::new(8);
    stage.assign("1", &[map("a", "1", "")]);
    assert_eq!(asked(&stage), ["read parent"]);
    stage.answer("read parent");
    assert_eq!(asked(&stage), ["write parent"]);
    stage.answer("write parent");
    assert_eq!(asked(&stage), ["discover ConfigMap"]);
    stage.answer("discover ConfigMap");
    assert_eq!(asked(&stage), [""; 0], "its members are listed first");
    stage.see_all();
    assert_eq!(asked(&stage), ["apply a"]);
    stage.answer("apply a");
    assert_eq!(asked(&stage), ["write applied parent"]);
    stage.calm();
    assert!(stage.has_settled());
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn what_is_in_sync_costs_no_request() {
    let documents = [map("a", "1", ""), map("b", "1", "a")];
    let mut stage = Stage::settled(&documents);
    for kind in stage.watched() {
        stage.list(&kind);
    }
    stage.settle();
    assert_eq!(stage.sent, [""; 0], "seen again");
    stage.assign("2", &documents);
    stage.settle();
    assert_eq!(
        stage.sent,
        ["read parent", "write parent", "write applied parent"]
    );
    stage.sent.clear();
    stage.crash();
    stage.assign("2", &documents);
    stage.settle();
    assert!(stage.has_settled());
    assert_eq!(
        stage.sent,
        ["read parent", "discover ConfigMap"],
        "after a restart"
    );
}

#[test]
fn a_step_begins_when_its_own_predecessors_are_there() {
    let mut stage = Stage::new(8);
    stage.assign(
        "1",
        &[map("a", "1", ""), map("b", "1", "a"), map("c", "1", "")],
    );
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    stage.see_all();
    assert_eq!(asked(&stage), ["apply a", "apply c"]);
    stage.answer_with("apply c", Some(Fault::Fails(ErrorClass::Invalid)));
    stage.answer("apply a");
    assert_eq!(asked(&stage), ["apply b"], "others go on");
    assert_eq!(stage.states(&id("c")), [State::Failed]);
}

#[test]
fn no_more_requests_are_under_way_than_allowed() {
    let mut stage = Stage::new(2);
    let documents = ["a", "b", "c"].map(|name| map(name, "1", ""));
    stage.assign("1", &documents);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    stage.see_all();
    assert_eq!(asked(&stage), ["apply a", "apply b"]);
    stage.answer("apply b");
    assert_eq!(asked(&stage), ["apply a", "apply c"]);
}

#[test]
fn drift_is_repaired_at_once_and_takes_back_what_was_ours() {
    let mut stage = Stage::settled(&[map("a", "1", "")]);
    stage.edit(&id("a"));
    stage.see_all();
    let [Command::Apply { precondition, .. }] = stage.requests.as_slice() else {
        unreachable!("{:?}", asked(&stage));
    };
    assert!(precondition.takes_back && precondition.uid.is_some());
    stage.settle();
    assert_eq!(stage.live[&id("a")]["data"], json!({"k": "1"}));
    assert_eq!(stage.sent, ["apply a"]);
}

#[test]
fn who_keeps_writing_is_reported_and_answered_later() {
    let mut stage = Stage::settled(&[map("a", "1", "")]);
    for _ in 0..5 {
        stage.edit(&id("a"));
        stage.calm();
    }
    assert_eq!(stage.sent.len(), 5);
    stage.edit(&id("a"));
    stage.calm();
    assert_eq!(stage.sent.len(), 5, "the sixth time");
    assert!(stage.states(&id("a")).contains(&State::Failed));
    let before = stage.now;
    stage.settle();
    assert_eq!(stage.now.duration_since(before).as_secs(), 60);
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn a_member_that_is_gone_is_made_again() {
    let mut stage = Stage::settled(&[map("a", "1", "")]);
    stage.delete(&id("a"));
    stage.see_all();
    let [Command::Apply { precondition, .. }] = stage.requests.as_slice() else {
        unreachable!("{:?}", asked(&stage));
    };
    assert_eq!(precondition.uid, None);
    stage.settle();
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn failures_back_off_and_the_server_may_ask_for_longer() {
    let mut stage = Stage::new(8);
    stage.assign("1", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    stage.see_all();
    let mut waits = Vec::new();
    for _ in 0..4 {
        let before = stage.now;
        stage.answer_with("apply a", Some(Fault::Fails(ErrorClass::Transient)));
        assert!(stage.wake());
        waits.push(stage.now.duration_since(before).as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    let failure = Failure {
        class: ErrorClass::Transient,
        retry_after: Some(std::time::Duration::from_secs(300)),
        cause: FailureCause::Other,
        object: Some(id("a")),
        message: "busy".to_owned(),
    };
    stage.requests.clear();
    stage.happens(What::Answered(1, 0, Box::new(Err(failure))));
    let before = stage.now;
    stage.wake();
    assert_eq!(stage.now.duration_since(before).as_secs(), 300);
    stage.settle();
    assert!(stage.has_settled());
}

#[test]
fn nothing_is_applied_while_the_object_or_its_cluster_is_being_deleted() {
    let mut part = map("a", "1", "");
    part["metadata"]["labels"] = json!({labels::CLUSTER_NAME: "c"});
    let mut stage = Stage::settled(&[cluster("c"), part]);
    stage.deleting(&cluster_id("c"));
    stage.edit(&id("a"));
    stage.settle();
    assert_eq!(stage.sent, [""; 0]);
    assert_eq!(stage.states(&id("a")).last(), Some(&State::Waiting));
    stage.delete(&cluster_id("c"));
    stage.settle();
    stage.sent.sort();
    assert_eq!(stage.sent, ["apply a", "apply c"], "once it is gone");
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn what_leaves_is_deleted_last_of_all() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign("2", &[map("a", "2", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("read b");
    assert_eq!(asked(&stage), ["apply a"]);
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Until(id("a"))));
    stage.answer("apply a");
    assert_eq!(asked(&stage), ["delete b"]);
    stage.settle();
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Gone));
    assert!(stage.has_settled());
}

#[test]
fn nothing_is_removed_unless_the_fleet_says_so() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign_as("2", &[map("a", "1", "")], false);
    stage.settle();
    assert!(matches!(stage.leaves(&id("b")), Some(PruneStatus::Held(_))));
    stage.assign("3", &[]);
    stage.settle();
    assert!(matches!(stage.leaves(&id("a")), Some(PruneStatus::Held(_))));
    assert_eq!(stage.live.len(), 2, "an empty fleet is probably a mistake");
}

#[test]
fn what_is_released_stays() {
    let mut kept = map("b", "1", "");
    kept["metadata"]["annotations"] = json!({labels::DELETION_POLICY: "Orphan"});
    let mut stage = Stage::settled(&[map("a", "1", ""), kept]);
    stage.assign("2", &[map("a", "1", "")]);
    stage.settle();
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Released));
    assert!(stage.live.contains_key(&id("b")));
    let release = |sent: &&String| sent.starts_with("release") || sent.starts_with("delete");
    let removed: Vec<_> = stage.sent.iter().filter(release).collect();
    assert_eq!(removed, ["release b"]);
}

#[test]
fn a_cluster_is_deleted_with_its_approval_only() {
    let mut stage = Stage::settled(&[map("a", "1", ""), cluster("c")]);
    stage.assign("2", &[map("a", "1", "")]);
    stage.settle();
    let held = stage.leaves(&cluster_id("c"));
    assert!(matches!(held, Some(PruneStatus::Held(_))), "{held:?}");
    assert!(stage.has_settled(), "that is the end of it");
    stage.approved.insert("ns/c".to_owned());
    stage.assign("3", &[map("a", "1", "")]);
    stage.settle();
    assert_eq!(stage.leaves(&cluster_id("c")), Some(&PruneStatus::Gone));
}

#[test]
fn what_a_revision_that_did_not_change_would_delete_is_held() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign("1", &[map("a", "1", "")]);
    stage.settle();
    assert!(matches!(stage.leaves(&id("b")), Some(PruneStatus::Held(_))));
}

#[test]
fn a_kind_that_is_not_served_is_tried_again_when_it_is_defined() {
    let mut stage = Stage::new(8);
    stage.unserved.insert("Cluster".to_owned());
    stage.assign("1", &[cluster("c")]);
    stage.calm();
    assert_eq!(stage.states(&cluster_id("c")), [State::Failed]);
    stage.unserved.clear();
    let defined = WatchEvent::Defined("cluster.x-k8s.io".to_owned());
    stage.happens(What::Watched(defined));
    stage.calm();
    assert_eq!(stage.is_as_planned(), Ok(()));
    assert!(stage.has_settled(), "no time has passed");
}

#[test]
fn a_kind_that_cannot_be_watched_says_why_and_its_steps_go_on_waiting() {
    let mut stage = Stage::new(8);
    stage.assign("1", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    let events = std::mem::take(&mut stage.seen);
    let why = Interruption {
        why: "forbidden".to_owned(),
        denied: true,
    };
    let kind = stage.watched().remove(0);
    let interrupted = WatchEvent::Interrupted(WatchScope::Members, kind, why);
    stage.happens(What::Watched(interrupted));
    assert_eq!(stage.states(&id("a")), [State::Failed]);
    assert_eq!(asked(&stage), [""; 0]);
    stage.seen = events;
    stage.settle();
    assert!(stage.has_settled());
}

#[test]
fn a_parent_that_cannot_be_opened_is_reported_and_opened_later() {
    let mut stage = Stage::new(8);
    stage.assign("1", &[map("a", "1", "")]);
    stage.answer_with("read parent", Some(Fault::Fails(ErrorClass::Denied)));
    assert_eq!(stage.reports, [(1, Report::Stuck("no".to_owned()))]);
    stage.wake();
    stage.answer("read parent");
    stage.answer("write parent");
    assert_eq!(stage.reports.last(), Some(&(1, Report::Begun)));
    // Another write came in between: nothing is wrong.
    stage.settle();
    stage.reports.clear();
    stage.assign("2", &[map("a", "2", "")]);
    stage.answer("read parent");
    stage.answer_with("write parent", Some(Fault::Fails(ErrorClass::Conflict)));
    assert_eq!(stage.reports, []);
    stage.settle();
    assert!(stage.has_settled());
}

#[test]
fn answers_to_an_earlier_assignment_change_nothing() {
    let mut stage = Stage::new(8);
    stage.assign("1", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    stage.see_all();
    stage.assign("2", &[map("a", "2", "")]);
    let late = stage.requests.remove(0);
    assert_eq!(described(&late), "apply a");
    stage.requests.push(late);
    stage.settle();
    assert!(stage.has_settled());
    assert!(stage.states(&id("a")).contains(&State::Applied));
}

#[test]
fn a_removal_that_was_refused_is_tried_again() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign("2", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("read b");
    stage.answer_with("delete b", Some(Fault::Fails(ErrorClass::Denied)));
    let failed = stage.leaves(&id("b"));
    assert!(matches!(failed, Some(PruneStatus::Failed(_))), "{failed:?}");
    assert!(!stage.has_settled());
    stage.settle();
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Gone));
    let removes = |command: &Command| {
        matches!(
            command,
            Command::Remove {
                removal: Removal::Delete,
                ..
            }
        )
    };
    assert!(!stage.requests.iter().any(removes));
    assert!(stage.has_settled());
}
