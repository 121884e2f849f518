//! Orders of answers that fault schedules found (`tests/suite/faults/known.rs`), each once more without a
//! server.

use super::super::super::event::{Applied, Command, What};
use super::fixture::{Fault, Fixture, described, id, map};
use crate::apply::PruneStatus;
use crate::model::{ErrorClass, ObjectId};

/// A fleet of which everything but its steps is done.
fn begun(documents: &[serde_json::Value]) -> Fixture {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", documents);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    fixture
}

#[test]
fn drift_after_an_answer_that_was_lost_is_repaired() {
    let mut fixture = begun(&[map("a", "1", "")]);
    fixture.answer_with("apply a", Some(Fault::Lost));
    fixture.settle();
    assert!(fixture.has_settled());
    fixture.delete(&id("a"));
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn an_object_that_was_refused_and_then_left_the_fleet_is_deleted() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("2", &[map("a", "1", ""), map("b", "2", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer_with("apply b", Some(Fault::Fails(ErrorClass::Transient)));
    fixture.assign("3", &[map("a", "1", "")]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert!(!fixture.live.contains_key(&id("b")));
}

#[test]
fn what_the_cluster_has_in_a_namespace_of_its_own_stays_with_the_next_revision() {
    let mut nowhere = map("a", "1", "");
    nowhere["metadata"]["namespace"] = serde_json::Value::Null;
    let mut fixture = Fixture::settled(&[nowhere.clone()]);
    let there = ObjectId::new("", "ConfigMap", "default", "a");
    assert!(fixture.live.contains_key(&there));
    nowhere["data"]["k"] = "2".into();
    fixture.assign("2", &[nowhere]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(fixture.leaves(&there), None);
    assert_eq!(fixture.live[&there]["data"]["k"], "2");
}

#[test]
fn members_of_a_kind_that_was_not_found_at_first_are_deleted_all_the_same() {
    let mut fixture = Fixture::settled(&[super::fixture::cluster("c"), map("a", "1", "")]);
    fixture.crash();
    fixture.assign("2", &[super::fixture::cluster("c")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    let failure = Some(Fault::Fails(ErrorClass::Transient));
    fixture.answer_with("find version ConfigMap", failure);
    fixture.settle();
    assert!(fixture.has_settled());
    assert!(!fixture.live.contains_key(&id("a")));
}

#[test]
fn what_is_deleted_before_a_slow_answer_arrives_is_made_again() {
    let mut fixture = begun(&[map("a", "1", "")]);
    let slow = fixture.requests.remove(0);
    let Command::Apply { number, step, .. } = &slow else {
        unreachable!("{}", described(&slow));
    };
    let (number, step) = (*number, *step);
    fixture.requests.push(slow);
    fixture.answer_with("apply a", Some(Fault::Lost));
    // The same again, with the answer last: it was applied, then deleted, and both were seen.
    fixture.wake();
    let live = fixture.live[&id("a")].clone();
    fixture.delete(&id("a"));
    fixture.see_all();
    fixture.requests.clear();
    fixture.happens(What::Answered(
        number,
        step,
        Box::new(Ok(Applied {
            live,
            created: true,
            remains: None,
        })),
    ));
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn an_object_deleted_while_it_is_read_does_not_delay_the_end() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.delete(&id("b"));
    fixture.see_all();
    fixture.answer("confirm b");
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
    assert!(!fixture.has_settled(), "an answer is under way");
    fixture.answer("read b");
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
}

#[test]
fn an_object_recreated_while_it_is_read_is_read_again() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    let copy = fixture.live[&id("b")].clone();
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.delete(&id("b"));
    fixture.see_all();
    fixture.answer("confirm b");
    let mut other = copy;
    other["metadata"]["uid"] = "another".into();
    other["metadata"]["resourceVersion"] = "900".into();
    fixture.applied.insert("another".to_owned());
    fixture.live.insert(id("b"), other);
    for kind in fixture.watched() {
        fixture.list(&kind);
    }
    fixture.see_all();
    fixture.answer("read b");
    fixture.settle();
    assert!(fixture.has_settled());
    assert!(!fixture.live.contains_key(&id("b")));
}

#[test]
fn the_end_waits_for_a_write_of_the_parent_that_fails() {
    let mut fixture = begun(&[map("a", "1", "")]);
    fixture.answer("apply a");
    let failure = Some(Fault::Fails(ErrorClass::Transient));
    fixture.answer_with("write applied parent", failure);
    assert!(!fixture.has_settled());
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn a_kind_that_is_gone_is_not_asked_for_any_more() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), super::fixture::cluster("c")]);
    let kind = fixture
        .watched()
        .into_iter()
        .find(|kind| kind.2 == "Cluster");
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.live.retain(|id, _| id.kind != "Cluster");
    fixture.unserved.insert("Cluster".to_owned());
    fixture.lose(&kind.unwrap());
    fixture.settle();
    assert!(fixture.has_settled());
    let gone = super::fixture::cluster_id("c");
    assert_eq!(fixture.leaves(&gone), Some(&PruneStatus::Gone));
    assert!(fixture.wakes.is_empty());
}

#[test]
fn an_object_deleted_while_its_kind_was_lost_is_created_again() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    let kind = fixture.watched().remove(0);
    fixture.live.clear();
    fixture.lose(&kind);
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
}
