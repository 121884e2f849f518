//! Kinds are recorded before they are applied.

use serde_json::{Value, json};

use super::super::listed;
use super::fixture::{Bed, group, item, lines, names, network, ready};
use crate::api::labels::OWNED_KINDS;
use crate::health::Live;
use crate::reconcile::outcome::{Need, Write};
use crate::reconcile::world::GroupKind;

fn record(bed: &Bed) -> Option<String> {
    let owner = bed.owner();
    let record = Live(&owner).at(&["metadata", "annotations", OWNED_KINDS])?;
    record.as_str().map(str::to_owned)
}

#[test]
fn an_empty_list_needs_nothing() {
    let bed = Bed::direct(&json!([])).recorded("");
    let (entries, outcome) = bed.reconcile();
    assert_eq!((entries.len(), outcome.writes.len()), (0, 0));
}

/// Case "two new RGs".
#[test]
fn a_new_kind_is_recorded_before_anything_of_it_is_created() {
    let mut bed = Bed::direct(&json!([group("rg1"), group("rg2")])).recorded("");
    let (entries, outcome) = bed.whole();
    assert_eq!(names(&entries), ["-rg1", "-rg2"]);
    assert_eq!(
        lines(&outcome),
        ["mark AROCluster/c", "status AROCluster/c"]
    );
    bed.perform(outcome);
    assert_eq!(
        record(&bed).as_deref(),
        Some("ResourceGroup.v1.resources.azure.com")
    );
    let (_, outcome) = bed.whole();
    assert_eq!(
        lines(&outcome),
        ["add ResourceGroup/rg1", "add ResourceGroup/rg2"]
    );
}

/// Case "recorded kind with rg1 Ready True/rg2 False".
#[test]
fn resources_of_a_recorded_kind_are_applied_and_reported() {
    let mut bed = Bed::direct(&json!([group("rg1"), group("rg2")]));
    let (_, outcome) = bed.reconcile();
    assert_eq!(
        lines(&outcome),
        ["add ResourceGroup/rg1", "add ResourceGroup/rg2"]
    );
    let needed = outcome
        .needs
        .iter()
        .filter(|need| matches!(need, Need::Object(_)));
    assert_eq!(needed.count(), 2);
    bed.settle();
    bed.reports("ResourceGroup", "rg1", ready());
    let entries = bed.settle();
    assert_eq!(names(&entries), ["+rg1", "-rg2"]);
    let owner = bed.owner();
    let listed = Live(&owner).list(&["status", "resources"]);
    let resource = json!({"group": "resources.azure.com", "version": "v1", "kind": "ResourceGroup", "name": "rg1",
        "apiVersion": "resources.azure.com/v1", "namespace": "ns"});
    assert_eq!(listed[0], json!({"resource": resource, "ready": true}));
}

#[test]
fn a_resource_is_made_with_its_controller_and_its_tag() {
    let bed = Bed::direct(&json!([group("rg")]));
    let (_, outcome) = bed.reconcile();
    let Some(Write::ApplyAs("capstan-embedded", patch)) = outcome.writes.first() else {
        panic!("{outcome:?}");
    };
    let owner = &patch["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("AROCluster"), &json!(true))
    );
    assert_eq!(patch["metadata"]["namespace"], "ns");
    let tag = "sigs.k8s.io_cluster-api-provider-azure_cluster_c";
    assert_eq!(patch["spec"]["tags"], json!({tag: "owned"}));
}

#[test]
fn a_kind_leaves_the_record_with_its_last_resource() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")])).recorded("");
    bed.settle();
    bed.edit("VirtualNetwork", "vnet", |vnet| {
        vnet["metadata"]["finalizers"] = json!(["aso"])
    });
    bed.list(json!([group("rg")]));
    bed.settle();
    let both = "ResourceGroup.v1.resources.azure.com;VirtualNetwork.v1.network.azure.com";
    assert_eq!(
        record(&bed).as_deref(),
        Some(both),
        "it is still being deleted"
    );
    bed.edit("VirtualNetwork", "vnet", |vnet| {
        vnet["metadata"]["finalizers"] = json!([])
    });
    bed.fixture
        .delete(&Live(&bed.fixture.live("VirtualNetwork", "vnet").expect("it")).id());
    bed.settle();
    assert_eq!(
        record(&bed).as_deref(),
        Some("ResourceGroup.v1.resources.azure.com")
    );
}

/// §3.1: emptying the list pruned nothing.
#[test]
fn emptying_the_list_prunes_and_takes_the_record_away() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")])).recorded("");
    bed.settle();
    bed.list(json!([]));
    let entries = bed.settle();
    assert!(entries.is_empty() && bed.fixture.live("ResourceGroup", "rg").is_none());
    assert_eq!(record(&bed), None);
    assert_eq!(bed.owner()["status"]["resources"], json!([]));
}

#[test]
fn a_kind_that_is_not_synced_stays_recorded() {
    let mut bed = Bed::direct(&json!([])).recorded("Other.v1.network.azure.com;nonsense;");
    bed.settle();
    assert_eq!(record(&bed).as_deref(), Some("Other.v1.network.azure.com"));
    bed.fixture
        .snapshot
        .sync(&GroupKind::new("network.azure.com", "Other"), true);
    bed.settle();
    assert_eq!(record(&bed), None);
}

#[test]
fn a_new_version_replaces_the_recorded_one_and_is_applied_in_place() {
    let mut bed = Bed::direct(&json!([group("rg")])).recorded("");
    bed.settle();
    bed.reports("ResourceGroup", "rg", ready());
    let uid = bed.fixture.live("ResourceGroup", "rg").expect("it")["metadata"]["uid"].clone();
    let newer = item(
        "resources.azure.com/v2",
        "ResourceGroup",
        "rg",
        json!({"location": "uksouth"}),
    );
    bed.list(json!([newer]));
    let (entries, outcome) = bed.whole();
    assert_eq!(names(&entries), ["+rg"], "gates hold");
    assert_eq!(
        lines(&outcome),
        [
            "mark AROCluster/c",
            "apply ResourceGroup/rg",
            "status AROCluster/c"
        ]
    );
    bed.perform(outcome);
    bed.settle();
    assert_eq!(
        record(&bed).as_deref(),
        Some("ResourceGroup.v2.resources.azure.com")
    );
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(live["metadata"]["uid"], uid);
    assert_eq!(live["apiVersion"], "resources.azure.com/v2");
}

#[test]
fn a_field_that_left_the_list_is_removed() {
    let mut listed = group("rg");
    listed["spec"]["tags"] = json!({"team": "a"});
    listed["metadata"]["labels"] = json!({"team": "a"});
    let mut bed = Bed::direct(&json!([listed]));
    bed.settle();
    let tags = |bed: &Bed| {
        bed.fixture
            .live("ResourceGroup", "rg")
            .map(|rg| rg["spec"]["tags"].clone())
    };
    assert_eq!(
        tags(&bed).and_then(|tags| tags.as_object().map(|tags| tags.len())),
        Some(2)
    );
    bed.list(json!([group("rg")]));
    bed.settle();
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(
        live["spec"]["tags"].as_object().map(serde_json::Map::len),
        Some(1)
    );
    assert_eq!(Live(&live).label("team"), "");
}

/// §10, 12: nothing was applied any more once everything was ready.
#[test]
fn drift_is_repaired_after_everything_was_ready() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")]));
    bed.settle();
    for (kind, name) in [("ResourceGroup", "rg"), ("VirtualNetwork", "vnet")] {
        bed.reports(kind, name, ready());
    }
    assert_eq!(names(&bed.settle()), ["+rg", "+vnet"]);
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["spec"]["location"] = json!("westeurope")
    });
    let (_, outcome) = bed.whole();
    assert_eq!(lines(&outcome)[0], "apply ResourceGroup/rg");
    bed.settle();
    assert_eq!(
        bed.fixture.live("ResourceGroup", "rg").expect("it")["spec"]["location"],
        "uksouth"
    );
    let vnet = bed.fixture.live("VirtualNetwork", "vnet").expect("it");
    bed.fixture.snapshot.remove(&Live(&vnet).id());
    assert!(lines(&bed.whole().1).contains(&"add VirtualNetwork/vnet".to_owned()));
}

/// §8 (b): resources that were ready were applied again and again.
#[test]
fn ready_resources_are_not_written() {
    let mut bed = Bed::direct(&json!([group("rg"), network("vnet")]));
    bed.settle();
    for (kind, name) in [("ResourceGroup", "rg"), ("VirtualNetwork", "vnet")] {
        bed.reports(kind, name, ready());
    }
    bed.settle();
    let (_, outcome) = bed.whole();
    assert_eq!(lines(&outcome), [""; 0]);
    assert_eq!(outcome.wake, None);
}

/// A spec that the server stores in its own form, which the runtime does not send again.
#[test]
fn a_resource_that_the_server_stores_otherwise_is_ready_all_the_same() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["spec"]["location"] = json!("UK South")
    });
    bed.reports("ResourceGroup", "rg", ready());
    let (entries, outcome) = bed.reconcile();
    assert_eq!(lines(&outcome), ["apply ResourceGroup/rg"]);
    assert_eq!(names(&entries), ["+rg"]);
}

/// What CAPZ applied is taken over without a moment in which it is not ready.
#[test]
fn a_handover_from_capz_keeps_everything_ready() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.held(&group("rg"), ready());
    // What is added comes first; Azure gets the tag.
    for step in ["add", "apply"] {
        let (entries, outcome) = bed.reconcile();
        assert_eq!(names(&entries), ["+rg"]);
        assert_eq!(lines(&outcome), [format!("{step} ResourceGroup/rg")]);
        bed.perform(outcome);
        bed.reports("ResourceGroup", "rg", ready());
    }
    assert_eq!(lines(&bed.reconcile().1), [""; 0]);
}

/// What the server adds to a list of maps, or a person pastes with it, is no trouble.
#[test]
fn only_what_is_for_the_server_is_sent() {
    let mut pasted = group("rg");
    pasted["status"] = json!({"id": "/x"});
    pasted["metadata"]["resourceVersion"] = json!("7");
    pasted["metadata"]["uid"] = json!("u");
    pasted["metadata"]["ownerReferences"] = json!([{"uid": "x"}]);
    let bed = Bed::direct(&json!([pasted]));
    let (_, outcome) = bed.reconcile();
    let Some(Write::ApplyAs(_, patch)) = outcome.writes.first() else {
        panic!("{outcome:?}");
    };
    assert_eq!(patch.get("status"), None);
    assert_eq!(patch["metadata"].get("resourceVersion"), None);
    assert_eq!(patch["metadata"].get("uid"), None);
    assert_eq!(
        patch["metadata"]["ownerReferences"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn nothing_is_applied_of_a_kind_that_is_not_synced() {
    let unknown = item("network.azure.com/v1", "RouteTable", "rt", json!({}));
    let bed = Bed::direct(&json!([unknown])).recorded("RouteTable.v1.network.azure.com");
    let (entries, outcome) = bed.reconcile();
    assert_eq!(
        (names(&entries), lines(&outcome)),
        (vec!["-rt".to_owned()], Vec::new())
    );
    assert_eq!(
        listed(&entries)[0]["message"],
        Value::from("Waiting to be created")
    );
}
