//! Objects that carry the label of the fleet and that it did not apply: copies, restored objects, and such whose managed
//! fields were cleared.

use super::super::super::event::Command;
use super::fixture::{Fixture, asked, cluster, cluster_id, id, map};
use crate::api::labels;
use crate::apply::PruneStatus;
use crate::model::ObjectId;
use serde_json::{Value as Json, json};

fn documents() -> [Json; 2] {
    [map("a", "1", ""), map("b", "1", "")]
}

/// Another process looks at the same cluster and applies the same, then another revision without `b`.
fn restarted(fixture: &mut Fixture) {
    fixture.crash();
    fixture.assign("1", &documents());
    fixture.settle();
    fixture.assign("2", &documents()[..1]);
    fixture.settle();
}

#[test]
fn a_copy_of_the_label_is_never_deleted() {
    let mut fixture = Fixture::settled(&documents());
    let elsewhere = ObjectId::new("", "ConfigMap", "other", "a");
    fixture.copy(&id("a"), &id("copy"));
    fixture.copy(&id("a"), &elsewhere);
    fixture.settle();
    assert_eq!(fixture.sent, [""; 0], "it costs no request");
    fixture.delete(&elsewhere);
    fixture.settle();
    assert_eq!(fixture.sent, [""; 0], "nor when it goes");
    restarted(&mut fixture);
    assert_eq!(fixture.is_as_planned(), Ok(()));
    assert_eq!(fixture.leaves(&id("copy")), None, "nothing is said of it");
    assert!(fixture.live.contains_key(&id("copy")));
    assert!(!fixture.live.contains_key(&id("b")));
}

#[test]
fn what_copies_depend_on_is_removed_without_waiting_for_them() {
    let mut fixture = Fixture::settled(&documents());
    let copy = id("copy");
    fixture.copy(&id("a"), &copy);
    let mut live = fixture.live[&copy].clone();
    live["metadata"]["annotations"][labels::DEPENDS_ON] = json!("/namespaces/ns/ConfigMap/b");
    live["metadata"]["finalizers"] = json!(["example.com/never"]);
    fixture.changed(&copy, Some(live));
    fixture.assign("2", &documents()[..1]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
}

/// `kubectl create` and other tools make managed fields of their own; some backups restore ours.
#[test]
fn a_restored_object_is_applied_again_and_can_be_removed_only_then() {
    for keeps_managers in [false, true] {
        let mut fixture = Fixture::settled(&documents());
        let backup = fixture.live[&id("a")].clone();
        let removed = fixture.live[&id("b")].clone();
        fixture.restore(&backup, keeps_managers);
        fixture.see_all();
        let [Command::Apply { precondition, .. }] = fixture.requests.as_slice() else {
            unreachable!("{:?}", asked(&fixture));
        };
        assert!(precondition.takes_back && precondition.uid.is_none());
        fixture.settle();
        assert_eq!(fixture.is_as_planned(), Ok(()));
        assert_eq!(fixture.sent, ["apply a"], "once");
        // It is ours again, and goes with its file.
        fixture.assign("2", &documents()[1..]);
        fixture.settle();
        assert_eq!(fixture.leaves(&id("a")), Some(&PruneStatus::Gone));
        // No file names this one any more.
        fixture.assign("3", &documents()[..1]);
        fixture.settle();
        assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
        fixture.restore(&removed, keeps_managers);
        fixture.settle();
        fixture.crash();
        fixture.assign("4", &documents()[..1]);
        fixture.settle();
        assert!(fixture.has_settled());
        assert!(fixture.live.contains_key(&id("b")), "it is left alone");
    }
}

#[test]
fn a_whole_fleet_that_was_restored_is_applied_again() {
    for keeps_managers in [false, true] {
        let documents = [map("a", "1", ""), map("b", "1", "a"), cluster("c")];
        let mut fixture = Fixture::settled(&documents);
        let mut backups: Vec<Json> = fixture.live.values().cloned().collect();
        let mut left = backups[0].clone();
        left["metadata"]["name"] = json!("of an earlier revision");
        backups.push(left);
        fixture.crash();
        for backup in &backups {
            fixture.restore(backup, keeps_managers);
        }
        fixture.sent.clear();
        fixture.assign("1", &documents);
        fixture.settle();
        assert_eq!(fixture.is_as_planned(), Ok(()));
        assert!(fixture.live.contains_key(&cluster_id("c")));
        assert!(fixture.live.contains_key(&id("of an earlier revision")));
        let applies = fixture.sent.iter().filter(|sent| sent.starts_with("apply"));
        assert_eq!(applies.count(), documents.len());
    }
}

#[test]
fn an_object_whose_managed_fields_were_cleared_is_applied_again_or_left_alone() {
    let mut fixture = Fixture::settled(&documents());
    fixture.clear_managers(&id("a"));
    fixture.settle();
    assert_eq!(fixture.sent, ["apply a"]);
    assert_eq!(fixture.is_as_planned(), Ok(()));
    // Of a member that leaves nothing shows any more that it was ours.
    fixture.assign("2", &documents()[..1]);
    for request in ["read parent", "write parent"] {
        fixture.answer(request);
    }
    fixture.clear_managers(&id("b"));
    fixture.settle();
    assert!(fixture.has_settled());
    assert!(!fixture.sent.contains(&"delete b".to_owned()));
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Released));
}

/// It is applied under a name that was taken by a copy, and leaves the fleet before that has happened.
#[test]
fn a_copy_that_was_to_be_applied_is_not_removed_with_its_file() {
    let mut fixture = Fixture::settled(&documents()[..1]);
    fixture.copy(&id("a"), &id("b"));
    fixture.settle();
    fixture.assign("2", &documents());
    fixture.answer("read parent");
    fixture.assign("3", &documents()[..1]);
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
    assert!(fixture.live.contains_key(&id("b")));
}

#[test]
fn what_is_being_deleted_is_waited_for_whatever_others_do_to_it() {
    let after = [map("a", "1", ""), map("b", "1", "a")];
    let mut fixture = Fixture::settled(&after);
    fixture.assign("2", &[map("c", "1", "")]);
    fixture.deleting(&id("b"));
    fixture.settle();
    fixture.clear_managers(&id("b"));
    fixture.settle();
    let waits = Some(&PruneStatus::After(id("b")));
    assert_eq!(fixture.leaves(&id("a")), waits);
    fixture.delete(&id("b"));
    fixture.settle();
    assert_eq!(fixture.leaves(&id("a")), Some(&PruneStatus::Gone));
}
