//! The rules of DESIGN §7, one by one.

use serde_json::json;

use super::super::super::event::{
    Command, Failure, FailureCause, Interruption, WatchEvent, WatchScope, What,
};
use super::fixture::{Fault, Fixture, asked, cluster, cluster_id, id, map};
use crate::api::labels;
use crate::apply::{Report, State, Suspension};
use crate::model::ErrorClass;

#[test]
fn the_parent_names_what_becomes_a_member_before_anything_is_applied() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    assert_eq!(asked(&fixture), ["read parent"]);
    fixture.answer("read parent");
    assert_eq!(asked(&fixture), ["write parent"]);
    fixture.answer("write parent");
    assert_eq!(asked(&fixture), ["discover ConfigMap"]);
    fixture.answer("discover ConfigMap");
    assert_eq!(asked(&fixture), [""; 0], "its members are listed first");
    fixture.see_all();
    assert_eq!(asked(&fixture), ["apply a"]);
    fixture.answer("apply a");
    assert_eq!(asked(&fixture), ["write applied parent"]);
    fixture.calm();
    assert!(fixture.has_settled());
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn what_became_of_each_object_is_reported_once() {
    let outcomes = |fixture: &Fixture| {
        let outcomes = fixture
            .reports
            .iter()
            .filter_map(|(_, report)| match report {
                Report::Applied(id, outcome) => Some(format!("{} {}", id.name, outcome.word())),
                _ => None,
            });
        outcomes.collect::<Vec<_>>().join(", ")
    };
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", ""), map("b", "1", "")]);
    fixture.settle();
    assert_eq!(outcomes(&fixture), "a created, b created");
    fixture.reports.clear();
    fixture.assign("2", &[map("a", "1", ""), map("b", "2", "")]);
    fixture.settle();
    assert_eq!(outcomes(&fixture), "a unchanged, b updated");
}

#[test]
fn what_is_in_sync_costs_no_request() {
    let documents = [map("a", "1", ""), map("b", "1", "a")];
    let mut fixture = Fixture::settled(&documents);
    for kind in fixture.watched() {
        fixture.list(&kind);
    }
    fixture.settle();
    assert_eq!(fixture.sent, [""; 0], "seen again");
    fixture.assign("2", &documents);
    fixture.settle();
    assert_eq!(
        fixture.sent,
        ["read parent", "write parent", "write applied parent"]
    );
    fixture.sent.clear();
    fixture.crash();
    fixture.assign("2", &documents);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(
        fixture.sent,
        ["read parent", "discover ConfigMap"],
        "after a restart"
    );
}

#[test]
fn a_step_begins_when_its_own_predecessors_are_there() {
    let mut fixture = Fixture::new(8);
    fixture.assign(
        "1",
        &[map("a", "1", ""), map("b", "1", "a"), map("c", "1", "")],
    );
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    assert_eq!(asked(&fixture), ["apply a", "apply c"]);
    fixture.answer_with("apply c", Some(Fault::Fails(ErrorClass::Invalid)));
    fixture.answer("apply a");
    assert_eq!(asked(&fixture), ["apply b"], "others go on");
    assert_eq!(fixture.states(&id("c")), [State::Failed]);
}

#[test]
fn no_more_requests_are_under_way_than_allowed() {
    let mut fixture = Fixture::new(2);
    let documents = ["a", "b", "c"].map(|name| map(name, "1", ""));
    fixture.assign("1", &documents);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    assert_eq!(asked(&fixture), ["apply a", "apply b"]);
    fixture.answer("apply b");
    assert_eq!(asked(&fixture), ["apply a", "apply c"]);
}

#[test]
fn drift_is_repaired_at_once_and_takes_back_what_was_ours() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    fixture.edit(&id("a"));
    fixture.see_all();
    let [Command::Apply { precondition, .. }] = fixture.requests.as_slice() else {
        unreachable!("{:?}", asked(&fixture));
    };
    assert!(precondition.takes_back && precondition.uid.is_some());
    fixture.settle();
    assert_eq!(fixture.live[&id("a")]["data"], json!({"k": "1"}));
    assert_eq!(fixture.sent, ["apply a"]);
}

#[test]
fn who_keeps_writing_is_reported_and_answered_later() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    for _ in 0..5 {
        fixture.edit(&id("a"));
        fixture.calm();
    }
    assert_eq!(fixture.sent.len(), 5);
    fixture.edit(&id("a"));
    fixture.calm();
    assert_eq!(fixture.sent.len(), 5, "the sixth time");
    assert!(fixture.states(&id("a")).contains(&State::Failed));
    let before = fixture.now;
    fixture.settle();
    assert_eq!(fixture.now.duration_since(before).as_secs(), 60);
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn a_member_that_is_gone_is_made_again() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    fixture.delete(&id("a"));
    fixture.see_all();
    let [Command::Apply { precondition, .. }] = fixture.requests.as_slice() else {
        unreachable!("{:?}", asked(&fixture));
    };
    assert_eq!(precondition.uid, None);
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn failures_back_off_and_the_server_may_ask_for_longer() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    let mut waits = Vec::new();
    for _ in 0..4 {
        let before = fixture.now;
        fixture.answer_with("apply a", Some(Fault::Fails(ErrorClass::Transient)));
        assert!(fixture.wake());
        waits.push(fixture.now.duration_since(before).as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    let failure = Failure {
        class: ErrorClass::Transient,
        retry_after: Some(std::time::Duration::from_secs(300)),
        cause: FailureCause::Other,
        object: Some(id("a")),
        message: "busy".to_owned(),
    };
    fixture.requests.clear();
    fixture.happens(What::Answered(1, 0, Box::new(Err(failure))));
    let before = fixture.now;
    fixture.wake();
    assert_eq!(fixture.now.duration_since(before).as_secs(), 300);
    fixture.settle();
    assert!(fixture.has_settled());
}

#[test]
fn nothing_is_applied_while_the_object_or_its_cluster_is_being_deleted() {
    let mut part = map("a", "1", "");
    part["metadata"]["labels"] = json!({labels::CLUSTER_NAME: "c"});
    let mut fixture = Fixture::settled(&[cluster("c"), part]);
    fixture.deleting(&cluster_id("c"));
    fixture.edit(&id("a"));
    fixture.settle();
    assert_eq!(fixture.sent, [""; 0]);
    assert_eq!(fixture.states(&id("a")).last(), Some(&State::Waiting));
    fixture.delete(&cluster_id("c"));
    fixture.settle();
    fixture.sent.sort();
    assert_eq!(fixture.sent, ["apply a", "apply c"], "once it is gone");
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn a_kind_that_is_not_served_is_tried_again_when_it_is_defined() {
    let mut fixture = Fixture::new(8);
    fixture.unserved.insert("Cluster".to_owned());
    fixture.assign("1", &[cluster("c")]);
    fixture.calm();
    assert_eq!(fixture.states(&cluster_id("c")), [State::Failed]);
    fixture.unserved.clear();
    let defined = WatchEvent::Defined("cluster.x-k8s.io".to_owned());
    fixture.happens(What::Watched(defined));
    fixture.calm();
    assert_eq!(fixture.is_as_planned(), Ok(()));
    assert!(fixture.has_settled(), "no time has passed");
}

#[test]
fn a_kind_that_cannot_be_watched_is_reported_and_its_steps_keep_waiting() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    let events = std::mem::take(&mut fixture.seen);
    let why = Interruption {
        why: "forbidden".to_owned(),
        denied: true,
    };
    let kind = fixture.watched().remove(0);
    let interrupted = WatchEvent::Interrupted(WatchScope::Members, kind, why);
    fixture.happens(What::Watched(interrupted));
    assert_eq!(fixture.states(&id("a")), [State::Failed]);
    assert_eq!(asked(&fixture), [""; 0]);
    fixture.seen = events;
    fixture.settle();
    assert!(fixture.has_settled());
}

#[test]
fn a_kind_that_cannot_be_seen_is_reported_once_and_again_when_it_is() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    let events = std::mem::take(&mut fixture.seen);
    let kind = fixture.watched().remove(0);
    for _ in 0..2 {
        let why = Interruption {
            why: "the webhook is down".to_owned(),
            denied: false,
        };
        let interrupted = WatchEvent::Interrupted(WatchScope::Members, kind.clone(), why);
        fixture.happens(What::Watched(interrupted));
    }
    let unseen = |fixture: &Fixture| -> Vec<(u64, Report)> {
        let reports = fixture.reports.iter();
        let unseen = reports.filter(|(_, report)| matches!(report, Report::Unseen(..)));
        unseen.cloned().collect()
    };
    let key = || (String::new(), "ConfigMap".to_owned());
    let down = Some("the webhook is down".to_owned());
    let first = (1, Report::Unseen(key(), down.clone()));
    assert_eq!(unseen(&fixture), [first]);
    assert_eq!(fixture.states(&id("a")).last(), Some(&State::Failed));
    fixture.assign("2", &[map("a", "2", "")]);
    assert_eq!(
        unseen(&fixture).last(),
        Some(&(2, Report::Unseen(key(), down)))
    );
    fixture.seen = events;
    fixture.settle();
    assert_eq!(
        unseen(&fixture).last(),
        Some(&(2, Report::Unseen(key(), None)))
    );
    assert!(fixture.has_settled());
}

#[test]
fn a_parent_that_cannot_be_opened_is_reported_and_opened_later() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    fixture.answer_with("read parent", Some(Fault::Fails(ErrorClass::Denied)));
    assert_eq!(fixture.reports, [(1, Report::Stuck("no".to_owned()))]);
    fixture.wake();
    fixture.answer_with("read parent", Some(Fault::Fails(ErrorClass::Transient)));
    let away = (1, Report::Away("no".to_owned()));
    assert_eq!(fixture.reports.last(), Some(&away), "it need not be fixed");
    fixture.wake();
    fixture.answer("read parent");
    fixture.answer("write parent");
    assert_eq!(fixture.reports.last(), Some(&(1, Report::Begun)));
    // Another write came in between: nothing is wrong.
    fixture.settle();
    fixture.reports.clear();
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.answer("read parent");
    fixture.answer_with("write parent", Some(Fault::Fails(ErrorClass::Conflict)));
    assert_eq!(fixture.reports, []);
    fixture.settle();
    assert!(fixture.has_settled());
}

#[test]
fn a_request_of_an_earlier_assignment_is_waited_for() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", ""), map("b", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    fixture.answer("apply b");
    fixture.assign("2", &[map("a", "2", ""), map("b", "2", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    assert_eq!(
        asked(&fixture),
        ["apply a", "apply b"],
        "a is the older one"
    );
    fixture.answer("apply b");
    // The newer apply of `a` comes after the older one, whether that succeeded or not.
    fixture.answer_with("apply a", Some(Fault::Lost));
    assert_eq!(asked(&fixture), ["apply a"]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert!(fixture.states(&id("a")).contains(&State::Applied));
    assert_eq!(fixture.live[&id("a")]["data"], json!({"k": "2"}));
}

#[test]
fn once_one_step_has_its_rights_all_are_tried() {
    let mut fixture = Fixture::new(8);
    let documents = ["a", "b", "c"].map(|name| map(name, "1", ""));
    fixture.assign("1", &documents);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    for apply in ["apply a", "apply b", "apply c"] {
        fixture.answer_with(apply, Some(Fault::NoRights));
    }
    fixture.answer("write parent");
    let start = fixture.now;
    let mut tries = 0;
    while fixture.now.duration_since(start).as_secs() < 120 {
        fixture.wake();
        while !fixture.requests.is_empty() {
            fixture.answer_at(0, Some(Fault::NoRights));
            tries += 1;
        }
    }
    assert!((24..40).contains(&tries), "{tries} tries in two minutes");
    let given = fixture.now;
    while !fixture.has_settled() {
        fixture.calm();
        fixture.wake();
    }
    let took = fixture.now.duration_since(given).as_secs();
    assert!(took <= 10, "it took {took} s");
}

#[test]
fn a_step_without_rights_is_let_go_once_somebody_else_puts_its_object_right() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    let wanted = fixture.live[&id("a")].clone();
    fixture.edit(&id("a"));
    fixture.see_all();
    fixture.answer_with("apply a", Some(Fault::NoRights));
    fixture.changed(&id("a"), Some(wanted));
    // It would never settle if it was looked at for ever.
    fixture.settle();
    assert_eq!(asked(&fixture), [""; 0]);
}

#[test]
fn a_parent_that_may_not_be_read_is_tried_again_after_seconds() {
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &[map("a", "1", "")]);
    for _ in 0..20 {
        let before = fixture.now;
        fixture.answer_with("read parent", Some(Fault::NoRights));
        fixture.wake();
        assert_eq!(fixture.now.duration_since(before).as_secs(), 5);
    }
    fixture.settle();
    assert!(fixture.has_settled());
}

#[test]
fn nothing_is_done_while_the_fleet_is_suspended() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    let since = "2026-01-02T03:04:05Z";
    fixture.parent.as_mut().expect("a parent").0.suspended = since.to_owned();
    fixture.heeds_suspension = true;
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.edit(&id("b"));
    fixture.settle();
    assert_eq!(fixture.sent, ["read parent"]);
    let suspended = Report::Suspended(Suspension {
        since: since.to_owned(),
        applied: "1".to_owned(),
    });
    assert_eq!(fixture.reports, [(2, suspended)]);
    // `capstan apply` is a person who knows.
    fixture.heeds_suspension = false;
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(
        fixture.parent.as_ref().expect("a parent").0.suspended,
        since
    );
}

#[test]
fn a_suspended_fleet_without_a_parent_stays_suspended_until_its_parent_says_otherwise() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    let parent = fixture.parent.take();
    fixture.heeds_suspension = true;
    fixture.suspended = Some("then".to_owned());
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.settle();
    assert_eq!(fixture.sent, ["read parent"]);
    let suspended = Report::Suspended(Suspension {
        since: "then".to_owned(),
        applied: String::new(),
    });
    assert_eq!(fixture.reports, [(2, suspended)]);
    fixture.parent = parent;
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.settle();
    assert!(fixture.has_settled(), "it was resumed meanwhile");
}

#[test]
fn a_restart_writes_no_parent_for_a_kind_of_the_cluster_that_no_standard_knows() {
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "t", "namespace": "default"}});
    let documents = [map("a", "1", ""), thing];
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &documents);
    fixture.settle();
    assert!(fixture.has_settled());
    fixture.sent.clear();
    fixture.crash();
    fixture.assign("1", &documents);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(
        fixture.sent,
        ["read parent", "discover ConfigMap", "discover Thing"]
    );
}
