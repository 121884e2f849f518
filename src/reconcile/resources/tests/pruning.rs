//! What left the list is deleted, and nothing else.

use std::collections::BTreeSet;

use jiff::ToSpan;
use serde_json::json;

use super::fixture::{Bed, group, item, lines, names, network, ready, unready};
use crate::api::conditions::NOT_APPLIED;
use crate::api::labels::CLUSTER_NAME;
use crate::health::Live;
use crate::reconcile::outcome::Need;
use crate::reconcile::world::GroupKind;

/// Four resource groups, of which two are listed, and the last has a finalizer.
fn four() -> Bed {
    let all = ["rg0", "rg1", "rg2", "rg3"].map(group);
    let mut bed = Bed::direct(&json!(all));
    bed.settle();
    bed.edit("ResourceGroup", "rg3", |rg| {
        rg["metadata"]["finalizers"] = json!(["aso"])
    });
    bed.list(json!([group("rg1"), group("rg2")]));
    bed
}

/// Case "owned rg0..rg3 with spec rg1,rg2".
#[test]
fn what_left_the_list_is_deleted_and_listed_until_it_is_gone() {
    let mut bed = four();
    let entries = bed.settle();
    assert_eq!(names(&entries), ["-rg1", "-rg2", "-rg3"]);
    assert!(bed.fixture.live("ResourceGroup", "rg0").is_none());
    let last = bed.fixture.live("ResourceGroup", "rg3").expect("it");
    assert!(Live(&last).is_deleting());
}

/// `kubectl get -o yaml`, another name, `kubectl create`: the copy names the same owner, and the server drops its managed
/// fields. So do backups; those that keep them keep the time of the original, too.
#[test]
fn a_copy_that_names_the_owner_is_kept() {
    let mut bed = four();
    bed.settle();
    let created = "2026-05-01T10:00:00Z";
    let old =
        json!([{"manager": "capz-manager", "operation": "Apply", "time": "2026-04-01T10:00:00Z"}]);
    let written = json!([{"manager": "capz-manager", "operation": "Update", "time": created}]);
    for (name, entries) in [("none", json!(null)), ("old", old), ("written", written)] {
        let mut copy = bed.fixture.live("ResourceGroup", "rg1").expect("it");
        copy["metadata"]["name"] = json!(name);
        copy["metadata"]["creationTimestamp"] = json!(created);
        copy["metadata"]["managedFields"] = entries;
        bed.fixture.put(copy);
    }
    let entries = bed.settle();
    for name in ["none", "old", "written"] {
        let entry = entries.iter().find(|entry| entry.id.name == name);
        assert_eq!(entry.expect(name).message, NOT_APPLIED);
        assert!(bed.fixture.live("ResourceGroup", name).is_some(), "{name}");
    }
    bed.edit("ResourceGroup", "none", |copy| {
        copy["metadata"]["managedFields"] =
            json!([{"manager": "capstan-embedded", "operation": "Apply", "time": created}]);
    });
    bed.settle();
    assert!(bed.fixture.live("ResourceGroup", "none").is_none());
}

/// The Cluster has a control plane.
fn live(bed: &mut Bed) {
    let cluster = Live(&bed.owner()).label(CLUSTER_NAME).to_owned();
    assert!(!cluster.is_empty());
    let plane = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
        "metadata": {"name": "c", "labels": {CLUSTER_NAME: cluster}}});
    bed.fixture.put(plane);
    let plane = bed.fixture.live("AROControlPlane", "c").expect("it");
    let owner = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane", "name": "c",
        "uid": Live(&plane).uid(), "controller": true});
    let hcp = GroupKind::new("redhatopenshift.azure.com", "HcpOpenShiftCluster");
    bed.fixture.snapshot.sync(&hcp, true);
    bed.fixture.put(
        json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": "HcpOpenShiftCluster",
        "metadata": {"name": "c", "ownerReferences": [owner]}}),
    );
}

/// It has none any more.
fn gone(bed: &mut Bed) {
    let plane = bed.fixture.live("AROControlPlane", "c").expect("it");
    bed.fixture.delete(&Live(&plane).id());
}

/// A list that lost all of a kind was more likely cut short than meant.
#[test]
fn a_list_that_is_cut_short_takes_nothing_from_a_control_plane() {
    let vault = |name| item("keyvault.azure.com/v1", "Vault", name, json!({}));
    let identity = item(
        "managedidentity.azure.com/v1",
        "UserAssignedIdentity",
        "i",
        json!({}),
    );
    let role = item(
        "authorization.azure.com/v1",
        "RoleAssignment",
        "r",
        json!({}),
    );
    let zone = item("network.azure.com/v1", "DnsZone", "z", json!({}));
    let all = [
        group("rg"),
        network("vnet"),
        vault("v"),
        identity,
        role,
        zone.clone(),
    ];
    let without_zone = &all[..5];
    // The list, and what is still there.
    let cases = [
        (json!([]), "rg vnet v i r z"),
        (json!([group("rg")]), "rg vnet v i r"),
        (json!(without_zone), "rg vnet v i r"),
        (json!([group("rg"), vault("v2"), zone]), "rg vnet v2 i r z"),
        (json!([group("rg"), network("vnet2")]), "rg vnet2 v i r"),
    ];
    for (list, expected) in cases {
        let mut bed = Bed::direct(&json!(all));
        let zones = GroupKind::new("network.azure.com", "DnsZone");
        bed.fixture.snapshot.sync(&zones, true);
        live(&mut bed);
        bed.settle();
        bed.list(list);
        let entries = bed.settle();
        let expected: BTreeSet<&str> = expected.split(' ').collect();
        let left = entries.iter().map(|entry| entry.id.name.as_str());
        assert_eq!(left.collect::<BTreeSet<_>>(), expected);
        for name in ["vnet", "v", "i", "r", "z"] {
            let entry = entries.iter().find(|entry| entry.id.name == name);
            let object = entry.and_then(|entry| bed.fixture.live(&entry.id.kind, name));
            assert_eq!(object.is_some(), expected.contains(name), "{name}");
        }
        gone(&mut bed);
        let listed = bed.owner()["spec"]["resources"].as_array().map(Vec::len);
        assert_eq!(Some(bed.settle().len()), listed, "all else is deleted");
    }
}

/// With the group Azure would delete the running cluster.
#[test]
fn a_resource_group_that_left_the_list_stays_as_long_as_there_is_a_control_plane() {
    let mut bed = four();
    live(&mut bed);
    bed.settle();
    let entries = bed.settle();
    assert_eq!(entries.len(), 4, "{:?}", names(&entries));
    assert!(bed.fixture.live("ResourceGroup", "rg0").is_some());
    gone(&mut bed);
    bed.settle();
    assert!(bed.fixture.live("ResourceGroup", "rg0").is_none());
}

/// §3.4: a deletion that nobody looked at again hung.
#[test]
fn a_deletion_is_looked_at_again_after_15_seconds() {
    let mut bed = four();
    let in_15_seconds = bed.fixture.now.checked_add(15.seconds()).ok();
    bed.settle();
    assert_eq!(bed.reconcile().1.wake, in_15_seconds);
    let (entries, outcome) = bed.remove(|_| true);
    assert_eq!(names(&entries), ["-rg1", "-rg2", "-rg3"]);
    assert_eq!(outcome.wake, in_15_seconds);
}

/// Case "delete".
#[test]
fn removing_reports_what_is_still_there() {
    let mut bed = four();
    let entries = bed.rest(|bed| bed.remove(|_| true));
    assert_eq!(names(&entries), ["-rg3"]);
    bed.edit("ResourceGroup", "rg3", |rg| {
        rg["metadata"]["finalizers"] = json!([])
    });
    let gone = bed.fixture.live("ResourceGroup", "rg3").expect("it");
    bed.fixture.delete(&Live(&gone).id());
    let (entries, outcome) = bed.remove(|_| true);
    assert_eq!(
        (entries.len(), outcome.writes.len(), outcome.wake),
        (0, 0, None)
    );
}

#[test]
fn only_the_doomed_are_removed() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")]));
    bed.settle();
    let (entries, outcome) = bed.remove(|live| live.kind() == "VirtualNetwork");
    assert_eq!(names(&entries), ["-vnet"]);
    assert_eq!(lines(&outcome), ["delete VirtualNetwork/vnet"]);
}

#[test]
fn nothing_is_deleted_before_the_recorded_kinds_are_synced() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    let bed = bed.recorded("ResourceGroup.v1.resources.azure.com;Other.v1.network.azure.com");
    let (entries, outcome) = bed.remove(|_| true);
    assert_eq!(
        (names(&entries), lines(&outcome)),
        (vec!["-rg".to_owned()], Vec::new())
    );
    let other = Need::Synced(GroupKind::new("network.azure.com", "Other"));
    assert!(outcome.needs.contains(&other));
}

#[test]
fn what_another_controls_is_neither_written_nor_deleted() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    for name in ["rg", "unlisted"] {
        bed.held(&group(name), ready());
        bed.edit("ResourceGroup", name, |rg| {
            let owner = &mut rg["metadata"]["ownerReferences"][0];
            owner["uid"] = json!("another");
            owner["name"] = json!("other");
        });
    }
    let (entries, outcome) = bed.reconcile();
    assert_eq!(
        (names(&entries), lines(&outcome)),
        (vec!["-rg".to_owned()], Vec::new())
    );
    assert!(
        entries[0]
            .message
            .starts_with("AROCluster/other controls the existing ResourceGroup")
    );
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.events[0].reason, "ResourceNotOwned");
    assert!(lines(&bed.pause().1).is_empty());
    assert!(lines(&bed.remove(|_| true).1).is_empty());
}

/// An owner reference that does not control, such as ASO's own, gives no right to delete.
#[test]
fn an_owner_that_is_not_the_controller_deletes_nothing() {
    let mut bed = Bed::direct(&json!([]));
    bed.held(&group("rg"), ready());
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["metadata"]["ownerReferences"][0]["controller"] = json!(false);
    });
    let (entries, outcome) = bed.reconcile();
    assert_eq!((entries.len(), outcome.writes.len()), (0, 0));
}

/// The embedded resource is found by its name in Kubernetes, and by nothing else (§8 g).
#[test]
fn a_resource_whose_azure_name_changes_is_kept() {
    let mut named = group("rg");
    named["spec"]["azureName"] = json!("one");
    let mut bed = Bed::direct(&json!([named]));
    bed.settle();
    named["spec"]["azureName"] = json!("two");
    bed.list(json!([named]));
    let (_, outcome) = bed.reconcile();
    assert_eq!(lines(&outcome), ["apply ResourceGroup/rg"]);
}

#[test]
fn a_deletion_that_fails_says_why() {
    let mut bed = four();
    bed.settle();
    bed.reports(
        "ResourceGroup",
        "rg3",
        unready("Warning", "ScopeLocked", "locked"),
    );
    let (entries, _) = bed.reconcile();
    assert_eq!(entries[2].message, "[Warning] ScopeLocked: locked");
}

#[test]
fn a_listed_resource_that_is_being_deleted_is_awaited() {
    let mut bed = four();
    bed.settle();
    bed.list(json!([group("rg1"), group("rg2"), group("rg3")]));
    let (entries, outcome) = bed.reconcile();
    assert_eq!(names(&entries), ["-rg1", "-rg2", "-rg3"]);
    assert_eq!(lines(&outcome), [""; 0]);
}
