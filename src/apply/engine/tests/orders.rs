//! Orders of answers that fault schedules found (`tests/suite/faults/known.rs`), each once more without a
//! server.

use super::super::super::event::{Command, What};
use super::stage::{Fault, Stage, described, id, map};
use crate::apply::PruneStatus;
use crate::model::{ErrorClass, ObjectId};

/// A fleet of which everything but its steps is done.
fn begun(documents: &[serde_json::Value]) -> Stage {
    let mut stage = Stage::new(8);
    stage.assign("1", documents);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer("discover ConfigMap");
    stage.see_all();
    stage
}

#[test]
fn drift_after_an_answer_that_was_lost_is_repaired() {
    let mut stage = begun(&[map("a", "1", "")]);
    stage.answer_with("apply a", Some(Fault::Lost));
    stage.settle();
    assert!(stage.has_settled());
    stage.delete(&id("a"));
    stage.settle();
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn what_was_refused_and_then_left_the_fleet_is_deleted() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign("2", &[map("a", "1", ""), map("b", "2", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.answer_with("apply b", Some(Fault::Fails(ErrorClass::Transient)));
    stage.assign("3", &[map("a", "1", "")]);
    stage.settle();
    assert!(stage.has_settled());
    assert!(!stage.live.contains_key(&id("b")));
}

#[test]
fn what_the_cluster_has_in_a_namespace_of_its_own_stays_with_the_next_revision() {
    let mut nowhere = map("a", "1", "");
    nowhere["metadata"]["namespace"] = serde_json::Value::Null;
    let mut stage = Stage::settled(&[nowhere.clone()]);
    let there = ObjectId::new("", "ConfigMap", "default", "a");
    assert!(stage.live.contains_key(&there));
    nowhere["data"]["k"] = "2".into();
    stage.assign("2", &[nowhere]);
    stage.settle();
    assert!(stage.has_settled());
    assert_eq!(stage.leaves(&there), None);
    assert_eq!(stage.live[&there]["data"]["k"], "2");
}

#[test]
fn members_of_a_kind_that_was_not_found_at_first_are_deleted_all_the_same() {
    let mut stage = Stage::settled(&[super::stage::cluster("c"), map("a", "1", "")]);
    stage.crash();
    stage.assign("2", &[super::stage::cluster("c")]);
    stage.answer("read parent");
    stage.answer("write parent");
    let failure = Some(Fault::Fails(ErrorClass::Transient));
    stage.answer_with("find version ConfigMap", failure);
    stage.settle();
    assert!(stage.has_settled());
    assert!(!stage.live.contains_key(&id("a")));
}

#[test]
fn what_is_deleted_before_a_slow_answer_arrives_is_made_again() {
    let mut stage = begun(&[map("a", "1", "")]);
    let slow = stage.requests.remove(0);
    let Command::Apply { number, step, .. } = &slow else {
        unreachable!("{}", described(&slow));
    };
    let (number, step) = (*number, *step);
    stage.requests.push(slow);
    stage.answer_with("apply a", Some(Fault::Lost));
    // The same again, with the answer last: it was applied, then deleted, and both were seen.
    stage.wake();
    let live = stage.live[&id("a")].clone();
    stage.delete(&id("a"));
    stage.see_all();
    stage.requests.clear();
    stage.happens(What::Answered(number, step, Box::new(Ok(live))));
    stage.settle();
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn what_goes_while_it_is_read_does_not_hold_the_end_up() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    stage.assign("2", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.delete(&id("b"));
    stage.see_all();
    stage.answer("confirm b");
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Gone));
    assert!(!stage.has_settled(), "an answer is under way");
    stage.answer("read b");
    stage.settle();
    assert!(stage.has_settled());
    assert_eq!(stage.leaves(&id("b")), Some(&PruneStatus::Gone));
}

#[test]
fn what_comes_back_while_it_is_read_is_read_again() {
    let mut stage = Stage::settled(&[map("a", "1", ""), map("b", "1", "")]);
    let copy = stage.live[&id("b")].clone();
    stage.assign("2", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.delete(&id("b"));
    stage.see_all();
    stage.answer("confirm b");
    let mut other = copy;
    other["metadata"]["uid"] = "another".into();
    other["metadata"]["resourceVersion"] = "900".into();
    stage.live.insert(id("b"), other);
    for kind in stage.watched() {
        stage.list(&kind);
    }
    stage.see_all();
    stage.answer("read b");
    stage.settle();
    assert!(stage.has_settled());
    assert!(!stage.live.contains_key(&id("b")));
}

#[test]
fn the_end_waits_for_a_write_of_the_parent_that_fails() {
    let mut stage = begun(&[map("a", "1", "")]);
    stage.answer("apply a");
    let failure = Some(Fault::Fails(ErrorClass::Transient));
    stage.answer_with("write applied parent", failure);
    assert!(!stage.has_settled());
    stage.settle();
    assert!(stage.has_settled());
    assert_eq!(stage.is_as_planned(), Ok(()));
}

#[test]
fn a_kind_that_is_gone_is_not_asked_for_any_more() {
    let mut stage = Stage::settled(&[map("a", "1", ""), super::stage::cluster("c")]);
    let kind = stage.watched().into_iter().find(|kind| kind.2 == "Cluster");
    stage.assign("2", &[map("a", "1", "")]);
    stage.answer("read parent");
    stage.answer("write parent");
    stage.live.retain(|id, _| id.kind != "Cluster");
    stage.unserved.insert("Cluster".to_owned());
    stage.lose(&kind.unwrap());
    stage.settle();
    assert!(stage.has_settled());
    let gone = super::stage::cluster_id("c");
    assert_eq!(stage.leaves(&gone), Some(&PruneStatus::Gone));
    assert!(stage.wakes.is_empty());
}

#[test]
fn what_went_while_its_kind_was_lost_is_made_again() {
    let mut stage = Stage::settled(&[map("a", "1", "")]);
    let kind = stage.watched().remove(0);
    stage.live.clear();
    stage.lose(&kind);
    stage.settle();
    assert_eq!(stage.is_as_planned(), Ok(()));
}
