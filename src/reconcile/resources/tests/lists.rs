//! Lists with mistakes in them.

use serde_json::{Value, json};

use super::fixture::{Bed, group, lines, names, network, ready};

#[test]
fn a_list_that_cannot_be_read_deletes_nothing() {
    let mistakes = [
        json!(null),
        json!({"kind": "VirtualNetwork", "metadata": {"name": "vnet"}}),
        json!({"apiVersion": "network.azure.com/v1", "metadata": {"name": "vnet"}}),
        json!({"apiVersion": "network.azure.com/v1", "kind": "VirtualNetwork"}),
    ];
    for mistake in mistakes {
        let mut bed = Bed::direct(&json!([group("rg"), network("vnet")]));
        bed.settle();
        bed.list(json!([group("rg"), mistake]));
        let entries = bed.settle();
        assert!(
            bed.fixture.live("VirtualNetwork", "vnet").is_some(),
            "{mistake}"
        );
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[1].concern, Some("InvalidResource"));
        assert_eq!(
            entries[2].message,
            "No longer listed; it is deleted once every resource in the list can be read"
        );
    }
}

#[test]
fn of_two_that_are_the_same_the_first_is_applied() {
    let mut second = group("rg");
    second["spec"]["location"] = json!("elsewhere");
    let mut bed = Bed::direct(&json!([group("rg"), second]));
    let entries = bed.settle();
    assert_eq!(entries[1].concern, Some("DuplicateResource"));
    assert_eq!(
        bed.fixture.live("ResourceGroup", "rg").expect("it")["spec"]["location"],
        "uksouth"
    );
    bed.reports("ResourceGroup", "rg", ready());
    assert_eq!(names(&bed.settle()), ["+rg", "-rg"]);
}

#[test]
fn a_namespace_of_its_own_is_ignored_with_a_note() {
    let mut elsewhere = group("rg");
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    let mut bed = Bed::direct(&json!([elsewhere]));
    let events = bed.reconcile().1.events;
    let events: Vec<_> = events
        .iter()
        .map(|event| (event.is_warning, event.reason.as_str()))
        .collect();
    assert_eq!(events, [(false, "NamespaceIgnored")]);
    let entries = bed.settle();
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(live["metadata"]["namespace"], "ns");
    assert_eq!(entries[0].concern, None, "a note is not a problem");
    let text = entries[0].text();
    assert!(
        text.starts_with("Waiting for Azure Service Operator to reconcile it; spec.resources[0]"),
        "{text}"
    );
    assert!(text.contains("\"elsewhere\" is ignored"), "{text}");
    assert_eq!(bed.reconcile().1.events, [], "an event is written once");
    bed.reports("ResourceGroup", "rg", ready());
    let entries = bed.settle();
    assert_eq!(names(&entries), ["+rg"]);
    assert!(entries[0].text().contains("is ignored"));
}

#[test]
fn only_resources_of_aso_are_applied() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
    let bed = Bed::direct(&json!([secret, role]));
    let (entries, outcome) = bed.reconcile();
    assert_eq!(lines(&outcome), [""; 0]);
    assert!(
        entries
            .iter()
            .all(|entry| entry.concern == Some("InvalidResource"))
    );
}

#[test]
fn whatever_is_in_the_list_every_entry_fits_the_schema() {
    let odd = [
        json!(null),
        json!(7),
        json!([]),
        json!({}),
        json!({"metadata": []}),
        json!({"apiVersion": 1, "kind": {}}),
    ];
    let bed = Bed::direct(&json!(odd));
    let (entries, _) = bed.reconcile();
    let listed = super::super::listed(&entries);
    for entry in listed.as_array().into_iter().flatten() {
        let resource = &entry["resource"];
        let texts = ["group", "version", "kind", "name"]
            .map(|part| resource[part].as_str().unwrap_or_default());
        assert!(texts.iter().all(|text| !text.is_empty()), "{entry}");
        assert_eq!(entry["ready"], Value::from(false));
    }
}
