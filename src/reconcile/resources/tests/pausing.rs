//! Pause and resume.

use serde_json::{Value, json};

use super::super::notes;
use super::fixture::{Bed, group, lines, missing, names, network, ready, with};
use crate::api::capi::BLOCK_MOVE;
use crate::api::fleet::FirstApply;
use crate::api::labels::{PRE_PAUSE_POLICY, RECONCILE_POLICY};
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::reconcile::outcome::Write;

fn before(bed: &Bed, name: &str) -> Value {
    let live = bed.fixture.live("ResourceGroup", name).expect("it");
    live["metadata"]["annotations"][PRE_PAUSE_POLICY].clone()
}

/// Cases "Pause: none→skip; skip→ok"; and of §6.7, where `manage` and `detach-on-delete` could not be paused.
#[test]
fn every_policy_can_be_paused_and_resumed() {
    let written = ["", "manage", "skip", "detach-on-delete"];
    let items = written.map(|policy| match policy {
        "" => group("rg"),
        policy => with(group(policy), RECONCILE_POLICY, policy),
    });
    let mut bed = Bed::direct(&json!(items));
    bed.settle();
    bed.rest(Bed::pause);
    for name in ["rg", "manage", "skip", "detach-on-delete"] {
        assert_eq!(
            bed.policy("ResourceGroup", name).as_deref(),
            Some("skip"),
            "{name}"
        );
    }
    assert_eq!(before(&bed, "rg"), json!(""));
    assert_eq!(before(&bed, "skip"), json!(null));
    assert_eq!(before(&bed, "detach-on-delete"), json!("detach-on-delete"));
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    for name in ["manage", "skip", "detach-on-delete"] {
        assert_eq!(bed.policy("ResourceGroup", name).as_deref(), Some(name));
        assert_eq!(before(&bed, name), json!(null));
    }
}

/// §6.7: a pause released the owner and fields that a controller had set.
#[test]
fn a_pause_changes_nothing_but_the_policy() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.list(json!([with(group("rg"), "later", "edit")]));
    let (_, outcome) = bed.pause();
    let [Write::Merge(patch)] = &outcome.writes[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(patch.get("spec"), None);
    let annotations = json!({RECONCILE_POLICY: "skip", PRE_PAUSE_POLICY: ""});
    assert_eq!(patch["metadata"]["annotations"], annotations);
    assert_eq!(patch["metadata"].get("ownerReferences"), None);
}

/// The original creates what does not exist yet, past every gate.
#[test]
fn nothing_is_created_or_deleted_during_a_pause() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")]));
    bed.settle();
    bed.list(json!([group("rg"), group("new")]));
    let entries = bed.rest(Bed::pause);
    assert_eq!(names(&entries), ["-rg", "-new", "-vnet"]);
    assert!(bed.fixture.live("ResourceGroup", "new").is_none());
    assert_eq!(
        bed.policy("VirtualNetwork", "vnet").as_deref(),
        Some("skip"),
        "it would be moved too"
    );
    assert!(bed.fixture.live("VirtualNetwork", "vnet").is_some());
}

#[test]
fn a_pause_lets_the_owner_be_moved_and_its_end_does_not() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    let blocks = |bed: &Bed| {
        bed.owner()["metadata"]["annotations"]
            .get(BLOCK_MOVE)
            .is_some()
    };
    assert!(blocks(&bed));
    bed.rest(Bed::pause);
    assert!(!blocks(&bed));
    bed.settle();
    assert!(blocks(&bed));
}

/// `clusterctl move` goes on as soon as nothing blocks it: what is not skipped by then, it deletes in Azure.
#[test]
fn nothing_is_moved_before_everything_is_skipped() {
    let skipped = |item| with(item, RECONCILE_POLICY, "skip");
    let mut faulty = group("rg");
    faulty["spec"] = json!("none");
    let unlisted = json!([]);
    let listed = json!([group("rg")]);
    let skip = &["merge ResourceGroup/rg"][..];
    let lift = &["merge AROCluster/c"][..];
    // What is listed and what there is, whether that is being deleted, whether an unsynced kind is recorded; the writes.
    let cases = [
        ("listed", &listed, group("rg"), false, false, skip),
        ("unlisted", &unlisted, group("rg"), false, false, skip),
        ("faulty", &json!([faulty]), group("rg"), false, false, skip),
        ("going", &unlisted, group("rg"), true, false, &[]),
        ("unknown", &listed, skipped(group("rg")), false, true, &[]),
        ("skipped", &listed, skipped(group("rg")), false, false, lift),
        ("left", &unlisted, skipped(group("rg")), false, false, lift),
    ];
    for (case, list, live, is_deleting, is_unknown, expected) in cases {
        let mut bed = Bed::direct(list);
        if is_unknown {
            bed = bed.recorded("Other.v1.network.azure.com");
        }
        bed.edit("AROCluster", "c", |owner| {
            owner["metadata"]["annotations"][BLOCK_MOVE] = json!("true");
        });
        bed.held(&live, ready());
        if is_deleting {
            bed.edit("ResourceGroup", "rg", |rg| {
                rg["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            });
        }
        let (_, outcome) = bed.pause();
        assert_eq!(lines(&outcome), expected, "{case}");
        bed.perform(outcome);
        if !is_deleting && !is_unknown {
            bed.rest(Bed::pause);
            let held = bed.owner()["metadata"]["annotations"][BLOCK_MOVE].clone();
            assert_eq!(held, json!(null), "{case}");
        }
    }
}

#[test]
fn a_resource_is_probed_further_after_a_pause() {
    let mut bed = Bed::new(FirstApply::Probe, &json!([group("rg")]));
    bed.settle();
    bed.rest(Bed::pause);
    bed.reports("ResourceGroup", "rg", missing());
    assert_eq!(lines(&bed.pause().1), [""; 0]);
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None, "it is managed");
}

/// A policy that the end of a pause sets would belong to another manager, and stay when it leaves the list.
#[test]
fn a_written_policy_is_applied_again_after_a_pause() {
    let listed = with(group("rg"), RECONCILE_POLICY, "detach-on-delete");
    let mut bed = Bed::direct(&json!([listed]));
    bed.settle();
    bed.rest(Bed::pause);
    let (_, outcome) = bed.reconcile();
    let [Write::Merge(patch)] = &outcome.writes[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(
        patch["metadata"]["annotations"][RECONCILE_POLICY],
        json!(null)
    );
    bed.perform(outcome);
    assert_eq!(lines(&bed.reconcile().1), ["apply ResourceGroup/rg"]);
    bed.settle();
    bed.list(json!([group("rg")]));
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
}

#[test]
fn a_policy_written_during_a_pause_holds_after_it() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.rest(Bed::pause);
    bed.list(json!([with(
        group("rg"),
        RECONCILE_POLICY,
        "detach-on-delete"
    )]));
    bed.settle();
    assert_eq!(
        bed.policy("ResourceGroup", "rg").as_deref(),
        Some("detach-on-delete")
    );
}

/// ASO leaves in Azure what it skips: a paused resource is resumed before it is deleted.
#[test]
fn a_paused_resource_is_deleted_in_azure_too() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.rest(Bed::pause);
    let (entries, outcome) = bed.remove(|_| true);
    assert_eq!(
        (names(&entries), lines(&outcome)),
        (
            vec!["-rg".to_owned()],
            vec!["merge ResourceGroup/rg".to_owned()]
        )
    );
    bed.perform(outcome);
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    assert_eq!(lines(&bed.remove(|_| true).1), ["delete ResourceGroup/rg"]);
}

/// Until a gate opens ASO repairs and finishes what is there already.
#[test]
fn what_may_not_be_applied_is_resumed_after_a_pause() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet"), group("unlisted")]));
    bed.settle();
    bed.list(json!([group("rg"), network("vnet")]));
    bed.rest(Bed::pause);
    let written = with(network("vnet"), RECONCILE_POLICY, "detach-on-delete");
    let mut changed = group("rg");
    changed["spec"]["location"] = json!("westus");
    bed.list(json!([changed, written]));
    bed.rest(Bed::resume);
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    assert_eq!(before(&bed, "rg"), json!(null));
    assert_eq!(bed.policy("ResourceGroup", "unlisted"), None);
    let vnet = bed.policy("VirtualNetwork", "vnet");
    assert_eq!(vnet.as_deref(), Some("detach-on-delete"));
    let rg = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(rg["spec"]["location"], "uksouth", "it is not applied");
    bed.settle();
    bed.list(json!([group("rg"), network("vnet")]));
    bed.settle();
    assert_eq!(bed.policy("VirtualNetwork", "vnet"), None);
}

/// Otherwise ASO would delete in Azure what the list says it must leave there.
#[test]
fn a_resumed_resource_is_deleted_with_the_policy_of_the_list() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.rest(Bed::pause);
    bed.list(json!([with(group("rg"), RECONCILE_POLICY, "skip")]));
    bed.rest(Bed::resume);
    let (_, outcome) = bed.remove(|_| true);
    bed.perform(outcome);
    assert_eq!(bed.policy("ResourceGroup", "rg").as_deref(), Some("skip"));
    assert_eq!(lines(&bed.remove(|_| true).1), ["delete ResourceGroup/rg"]);
}

/// A move waits for it.
#[test]
fn a_pause_says_which_resource_cannot_be_paused() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    let id = ObjectId::new("resources.azure.com", "ResourceGroup", "ns", "rg");
    let refusal = AdapterError::new(ErrorClass::Denied, "no");
    bed.fixture.snapshot.set_refusal(&id, Some(refusal));
    let (entries, _) = bed.pause();
    assert_eq!(notes(&entries), "ResourceGroup/rg: no");
    bed.rest(Bed::pause);
    assert_eq!(notes(&bed.pause().0), "", "it is skipped");
}

#[test]
fn a_paused_resource_stays_ready() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.reports("ResourceGroup", "rg", ready());
    bed.settle();
    assert_eq!(names(&bed.rest(Bed::pause)), ["+rg"]);
    assert_eq!(names(&bed.reconcile().0), ["+rg"], "as it is resumed");
}
