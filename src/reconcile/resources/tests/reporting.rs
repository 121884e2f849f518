//! What entries say.

use serde_json::{Value, json};

use super::super::notes;
use super::fixture::{Bed, group, item, lines, ready, unready};
use crate::model::{AdapterError, ErrorClass};
use crate::reconcile::outcome::Need;
use crate::reconcile::world::GroupKind;

fn entry_of(item: Value, condition: &Value) -> (bool, String) {
    let mut bed = Bed::direct(&json!([item]));
    bed.settle();
    let (kind, name) = (item["kind"].clone(), item["metadata"]["name"].clone());
    let (kind, name) = (
        kind.as_str().unwrap_or_default(),
        name.as_str().unwrap_or_default(),
    );
    bed.edit(kind, name, |object| {
        object["status"]["conditions"] = condition.clone()
    });
    let entries = bed.settle();
    (entries[0].ready, entries[0].message.clone())
}

/// Cases "ReadyStatus".
#[test]
fn a_resource_is_ready_as_aso_reports_of_its_newest_generation() {
    let waiting = "Waiting for Azure Service Operator to reconcile it";
    let cases = [
        (json!(null), false, waiting),
        (json!([]), false, waiting),
        (json!("odd"), false, waiting),
        (json!([{"type": "Other", "status": "True"}]), false, waiting),
        (json!([7, "x", {"type": "Other"}]), false, waiting),
        (
            json!([{"type": "Ready", "status": "True", "observedGeneration": 0}]),
            false,
            waiting,
        ),
        (
            json!([{"type": "Ready", "observedGeneration": 1}]),
            false,
            "",
        ),
        (
            json!([{"type": "Ready", "status": "False", "observedGeneration": 1, "reason": "Reconciling"}]),
            false,
            "Reconciling",
        ),
        (
            json!([{"type": "Ready", "status": "True", "observedGeneration": 1}]),
            true,
            "",
        ),
        (
            json!([7, {"type": "Ready", "status": "True", "observedGeneration": 1}]),
            true,
            "",
        ),
    ];
    for (condition, is_ready, message) in cases {
        assert_eq!(
            entry_of(group("rg"), &condition),
            (is_ready, message.to_owned()),
            "{condition}"
        );
    }
}

#[test]
fn the_message_is_asos_with_its_severity() {
    let cases = [
        (
            unready("Error", "InvalidRequestContent", "bad"),
            "[Error] InvalidRequestContent: bad",
        ),
        (
            unready("Warning", "AuthorizationFailed", "no"),
            "[Warning] AuthorizationFailed: no",
        ),
        (
            unready("Info", "Reconciling", "at work"),
            "Reconciling: at work",
        ),
        (unready("Info", "Reconciling", ""), "Reconciling"),
    ];
    for (mut condition, message) in cases {
        condition["observedGeneration"] = json!(1);
        assert_eq!(entry_of(group("rg"), &json!([condition])).1, message);
    }
}

/// The words of the proposal's sample.
#[test]
fn a_ready_hcp_cluster_is_provisioned_and_ready() {
    let hcp = item(
        "redhatopenshift.azure.com/v1",
        "HcpOpenShiftCluster",
        "c",
        json!({}),
    );
    let mut condition = ready();
    condition["observedGeneration"] = json!(1);
    let expected = (true, "Cluster is provisioned and ready".to_owned());
    assert_eq!(entry_of(hcp, &json!([condition])), expected);
}

/// §10, 16: a refused write was only logged, and stopped all others.
#[test]
fn a_refused_write_is_named_and_stops_no_other() {
    let mut bed = Bed::direct(&json!([group("rg"), group("other")]));
    let id = bed.reconcile().0[0].id.clone();
    let text = format!(
        "{id}: the API server refused it: ResourceGroup.resources.azure.com \"rg\" is invalid: spec.location: Required value"
    );
    let refusal = AdapterError::new(ErrorClass::Invalid, text);
    bed.fixture.snapshot.set_refusal(&id, Some(refusal));
    let (entries, outcome) = bed.reconcile();
    let said = "the API server refused it: spec.location: Required value";
    assert_eq!(entries[0].message, said, "the name is said once");
    assert_eq!(entries[0].concern, Some("InvalidResource"));
    assert_eq!(
        lines(&outcome),
        ["add ResourceGroup/rg", "add ResourceGroup/other"]
    );
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(notes(&entries), format!("ResourceGroup/rg: {said}"));
}

/// A kind that is about to be upgraded, or a policy, is no fault of the spec: the check of a commit must not fail for it.
#[test]
fn what_may_pass_without_a_change_of_the_spec_is_tried_again() {
    for (class, text) in [
        (
            ErrorClass::Invalid,
            "the API server refused it: failed to create typed patch object (ns/rg; resources.azure.com/v1api20200601, Kind=ResourceGroup): .spec.new: field not declared in schema (500)",
        ),
        (
            ErrorClass::Invalid,
            "an admission policy of the cluster denied it: ResourceGroup.resources.azure.com \"rg\" is invalid: : ValidatingAdmissionPolicy 'p' denied request: no",
        ),
        (ErrorClass::Denied, "no permission"),
    ] {
        let mut bed = Bed::direct(&json!([group("rg")]));
        let id = bed.reconcile().0[0].id.clone();
        let refusal = AdapterError::new(class, format!("{id}: {text}"));
        bed.fixture.snapshot.set_refusal(&id, Some(refusal));
        let entry = &bed.reconcile().0[0];
        assert_eq!(entry.concern, Some("ApplyRefused"), "{text}");
    }
}

/// A deletion without the right to delete waited for ever, and no status said why.
#[test]
fn a_refused_deletion_is_named() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    let id = bed.remove(|_| true).0[0].id.clone();
    let refusal = AdapterError::new(ErrorClass::Denied, "may not delete");
    bed.fixture.snapshot.set_refusal(&id, Some(refusal));
    let (entries, outcome) = bed.remove(|_| true);
    assert_eq!(notes(&entries), "ResourceGroup/rg: may not delete");
    assert_eq!(lines(&outcome), ["delete ResourceGroup/rg"]);
}

#[test]
fn a_resource_whose_change_was_refused_is_not_ready() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    bed.reports("ResourceGroup", "rg", ready());
    let mut changed = group("rg");
    changed["spec"]["location"] = json!("nowhere");
    bed.list(json!([changed]));
    let id = bed.reconcile().0[0].id.clone();
    let refusal = AdapterError::new(ErrorClass::Invalid, "no such location");
    bed.fixture.snapshot.set_refusal(&id, Some(refusal));
    let (entries, _) = bed.reconcile();
    assert_eq!(
        (entries[0].ready, entries[0].message.as_str()),
        (false, "no such location")
    );
}

/// §8 (p): the CRDs of a group must be enabled in ASO.
#[test]
fn a_kind_that_is_not_served_names_the_pattern_to_enable() {
    let kind = GroupKind::new("redhatopenshift.azure.com", "HcpOpenShiftCluster");
    let hcp = item(
        "redhatopenshift.azure.com/v1",
        "HcpOpenShiftCluster",
        "c",
        json!({}),
    );
    let mut bed = Bed::direct(&json!([hcp]));
    bed.fixture.snapshot.sync(&kind, false);
    let (entries, outcome) = bed.reconcile();
    let message = &entries[0].message;
    assert!(message.starts_with(
        "The cluster does not serve HcpOpenShiftCluster of redhatopenshift.azure.com: "
    ));
    assert!(
        message.contains("redhatopenshift.azure.com/* to its crdPattern (--crd-pattern"),
        "{message}"
    );
    assert_eq!(lines(&outcome), [""; 0]);
    assert!(
        outcome.needs.contains(&Need::Synced(kind)),
        "to know when it is served"
    );
}

#[test]
fn only_three_concerns_are_named_in_a_condition() {
    let items: Vec<Value> = (0..5).map(|_| json!({})).collect();
    let bed = Bed::direct(&json!(items));
    let notes = notes(&bed.reconcile().0);
    assert!(notes.ends_with("; and 2 more"), "{notes}");
    assert_eq!(notes.matches("resource must have apiVersion").count(), 3);
}
