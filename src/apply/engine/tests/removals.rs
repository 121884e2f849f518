//! What leaves the fleet: it is removed last, and with approvals where these are needed.

use serde_json::json;

use super::super::super::event::{Command, Removal};
use super::fixture::{Answers, Fault, Fixture, asked, cluster, cluster_id, id, map};
use crate::api::labels;
use crate::apply::{ApprovalsRequest, PruneStatus};
use crate::model::ErrorClass;

#[test]
fn members_that_leave_are_deleted_last() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("read b");
    assert_eq!(asked(&fixture), ["apply a"]);
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Until(id("a"))));
    fixture.answer("apply a");
    assert_eq!(asked(&fixture), ["delete b"]);
    fixture.settle();
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
    assert!(fixture.has_settled());
}

#[test]
fn a_hosted_cluster_goes_although_another_one_is_not_applied() {
    let object = |kind: &str, name: &str, cluster: &str| {
        json!({"apiVersion": "hypershift.openshift.io/v1beta1", "kind": kind, "spec": {"clusterName": cluster},
            "metadata": {"name": name, "namespace": "ns", "annotations": {labels::DELETION_POLICY: "Delete"}}})
    };
    // Their kinds are known.
    let stays = [
        map("a", "1", ""),
        object("HostedCluster", "e", ""),
        object("NodePool", "q", "e"),
    ];
    let ask = |news: &[serde_json::Value]| {
        let before = [&stays[..], &[object("HostedCluster", "c", "")]].concat();
        let mut fixture = Fixture::settled(&before);
        fixture.approved.insert("ns/c".to_owned());
        fixture.assign("2", &[&stays[..], news].concat());
        fixture.answer("read parent");
        fixture.answer("write parent");
        fixture.answer("read c");
        asked(&fixture)
    };
    let others = [
        object("HostedCluster", "d", ""),
        object("NodePool", "p", "d"),
    ];
    assert_eq!(ask(&others), ["delete c", "apply d"]);
    // What says of no cluster that it is its own may be needed.
    assert_eq!(ask(&[map("b", "1", "")]), ["apply b"]);
}

#[test]
fn nothing_is_removed_unless_the_fleet_prunes() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign_as("2", &[map("a", "1", "")], false);
    fixture.settle();
    assert!(matches!(
        fixture.leaves(&id("b")),
        Some(PruneStatus::Held(_))
    ));
    fixture.assign("3", &[]);
    fixture.settle();
    assert!(matches!(
        fixture.leaves(&id("a")),
        Some(PruneStatus::Held(_))
    ));
    assert_eq!(
        fixture.live.len(),
        2,
        "an empty fleet is probably a mistake"
    );
}

#[test]
fn what_is_released_stays() {
    let mut kept = map("b", "1", "");
    kept["metadata"]["annotations"] = json!({labels::DELETION_POLICY: "Orphan"});
    let mut fixture = Fixture::settled(&[map("a", "1", ""), kept]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.settle();
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Released));
    assert!(fixture.live.contains_key(&id("b")));
    let release = |sent: &&String| sent.starts_with("release") || sent.starts_with("delete");
    let removed: Vec<_> = fixture.sent.iter().filter(release).collect();
    assert_eq!(removed, ["release b"]);
}

#[test]
fn a_cluster_is_deleted_with_its_approval_only() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), cluster("c")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.settle();
    let held = fixture.leaves(&cluster_id("c"));
    assert!(held.is_some_and(PruneStatus::is_kept), "{held:?}");
    assert!(fixture.has_settled(), "that is the end of it");
    fixture.approved.insert("ns/c".to_owned());
    fixture.assign("3", &[map("a", "1", "")]);
    fixture.settle();
    assert_eq!(fixture.leaves(&cluster_id("c")), Some(&PruneStatus::Gone));
}

#[test]
fn nothing_is_removed_and_nothing_ends_before_it_is_known_what_people_approved() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", ""), cluster("c")]);
    fixture.answers = Answers::ByHand;
    fixture.approved.insert("ns/c".to_owned());
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.settle();
    assert_eq!(fixture.live[&id("a")]["data"]["k"], "2");
    assert_eq!(fixture.live.len(), 3, "{:?}", fixture.sent);
    assert_eq!(fixture.leaves(&cluster_id("c")), None);
    assert!(!fixture.has_settled());
    assert!(fixture.answer_question());
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
    assert_eq!(fixture.leaves(&cluster_id("c")), Some(&PruneStatus::Gone));
    assert!(fixture.has_settled());
}

#[test]
fn what_people_approve_later_counts_and_what_was_used_up_does_not() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), cluster("c")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.settle();
    let is_held = |fixture: &Fixture| {
        let status = fixture.leaves(&cluster_id("c"));
        status.is_some_and(PruneStatus::is_kept) && fixture.has_settled()
    };
    assert!(is_held(&fixture));
    fixture.approved.insert("ns/c".to_owned());
    let question = fixture.question.clone().unwrap();
    assert_eq!(question.applied, "1");
    for other in [
        ApprovalsRequest {
            applied: "0".to_owned(),
            ..question.clone()
        },
        ApprovalsRequest {
            number: question.number - 1,
            ..question.clone()
        },
    ] {
        fixture.approve(other);
        fixture.settle();
        assert!(is_held(&fixture));
    }
    fixture.approve(question);
    fixture.settle();
    assert_eq!(fixture.leaves(&cluster_id("c")), Some(&PruneStatus::Gone));
}

#[test]
fn what_people_do_not_approve_any_more_is_not_deleted() {
    let mut fixture = Fixture::new(1);
    fixture.assign("1", &[map("a", "1", ""), cluster("c"), cluster("d")]);
    fixture.settle();
    fixture.approved = ["ns/c", "ns/d"].map(str::to_owned).into();
    fixture.assign("2", &[map("a", "1", "")]);
    while asked(&fixture) != ["delete c"] {
        if !fixture.see() {
            fixture.answer_at(0, None);
        }
    }
    fixture.approved.clear();
    let question = fixture.question.clone().unwrap();
    fixture.approve(question);
    fixture.settle();
    assert!(fixture.live.contains_key(&cluster_id("d")));
    assert_eq!(fixture.leaves(&cluster_id("c")), Some(&PruneStatus::Gone));
    assert!(fixture.has_settled());
}

#[test]
fn a_limit_of_clusters_is_for_all_of_a_revision() {
    let mut fixture = Fixture::new(1);
    let all = [map("a", "1", ""), cluster("c"), cluster("d"), cluster("e")];
    fixture.assign("1", &all);
    fixture.settle();
    fixture.any = 1;
    for _ in 0..2 {
        fixture.assign("2", &[map("a", "1", "")]);
        fixture.settle();
        let left = ["c", "d", "e"].map(|name| fixture.live.contains_key(&cluster_id(name)));
        assert_eq!(left, [false, true, true]);
    }
}

/// Or every push would let some more of them go.
#[test]
fn a_limit_lets_nothing_go_that_an_earlier_revision_left_behind() {
    let all = [map("a", "1", ""), cluster("c"), cluster("d"), cluster("e")];
    for (crashes, settles) in [(false, true), (true, true), (false, false)] {
        let mut fixture = Fixture::settled(&all);
        fixture.assign("2", &all[..2]);
        if settles {
            fixture.settle();
        } else {
            while fixture.leaves(&cluster_id("d")).is_none() {
                if !fixture.see() {
                    fixture.answer_at(0, None);
                }
            }
        }
        if crashes {
            fixture.crash();
        }
        fixture.any = 2;
        fixture.assign("3", &[map("a", "3", "")]);
        fixture.settle();
        let is_there = ["c", "d", "e"].map(|name| fixture.live.contains_key(&cluster_id(name)));
        assert_eq!(is_there, [false, true, true], "{crashes} {settles}");
        // A cluster that comes back and leaves again is another loss.
        fixture.assign("4", &all[..3]);
        fixture.settle();
        fixture.assign("5", &all[..1]);
        fixture.settle();
        let is_there = ["d", "e"].map(|name| fixture.live.contains_key(&cluster_id(name)));
        assert_eq!(is_there, [false, true]);
    }
}

/// What cannot be applied keeps the revision from ending.
#[test]
fn what_is_left_behind_is_known_although_a_step_fails() {
    let all = [map("a", "1", ""), cluster("c")];
    let mut fixture = Fixture::settled(&all);
    fixture.assign("2", &[map("a", "2", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer_with("apply a", Some(Fault::Fails(ErrorClass::Invalid)));
    while fixture.see() || !fixture.requests.is_empty() {
        match asked(&fixture).iter().position(|asked| asked != "apply a") {
            Some(at) => fixture.answer_at(at, None),
            None => break,
        }
    }
    fixture.crash();
    fixture.any = 1;
    fixture.assign("3", &[map("a", "3", "")]);
    fixture.settle();
    assert!(fixture.live.contains_key(&cluster_id("c")));
}

#[test]
fn more_than_the_parent_names_may_have_been_left_behind() {
    let names: Vec<String> = (10..35).map(|number| format!("c{number}")).collect();
    let clusters: Vec<_> = names.iter().map(|name| cluster(name)).collect();
    let all = [&[map("a", "1", "")], clusters.as_slice()].concat();
    let mut fixture = Fixture::settled(&all);
    fixture.assign("2", &all[..1]);
    fixture.settle();
    fixture.crash();
    fixture.any = 1;
    fixture.assign("3", &[map("a", "3", "")]);
    fixture.settle();
    assert_eq!(fixture.live.len(), all.len());
}

#[test]
fn deletions_by_an_unchanged_revision_are_held() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("1", &[map("a", "1", "")]);
    fixture.settle();
    assert!(matches!(
        fixture.leaves(&id("b")),
        Some(PruneStatus::Held(_))
    ));
}

#[test]
fn what_comes_back_is_applied_after_its_removal_was_answered() {
    let both = [map("a", "1", ""), map("b", "1", "")];
    let mut fixture = Fixture::settled(&both);
    fixture.assign("2", &both[..1]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("read b");
    let back = [map("a", "1", ""), map("b", "2", "")];
    fixture.assign("3", &back);
    fixture.answer("read parent");
    fixture.answer("write parent");
    assert_eq!(asked(&fixture), ["delete b"]);
    fixture.settle();
    assert!(fixture.has_settled());
    assert_eq!(fixture.live[&id("b")]["data"], json!({"k": "2"}));
}

#[test]
fn a_removal_that_lacks_rights_is_tried_again_after_half_a_minute() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("read b");
    fixture.answer_with("delete b", Some(Fault::NoRights));
    let before = fixture.now;
    while asked(&fixture).is_empty() && fixture.wake() {}
    assert_eq!(asked(&fixture), ["delete b"]);
    assert_eq!(fixture.now.duration_since(before).as_secs(), 30);
}

#[test]
fn a_removal_that_was_refused_is_tried_again() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write parent");
    fixture.answer("read b");
    fixture.answer_with("delete b", Some(Fault::Fails(ErrorClass::Denied)));
    let failed = fixture.leaves(&id("b"));
    assert!(matches!(failed, Some(PruneStatus::Failed(_))), "{failed:?}");
    assert!(!fixture.has_settled());
    fixture.settle();
    assert_eq!(fixture.leaves(&id("b")), Some(&PruneStatus::Gone));
    let removes = |command: &Command| {
        matches!(
            command,
            Command::Remove {
                removal: Removal::Delete,
                ..
            }
        )
    };
    assert!(!fixture.requests.iter().any(removes));
    assert!(fixture.has_settled());
}
