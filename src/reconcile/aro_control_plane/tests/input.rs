//! Specs that a person has to change.

use serde_json::json;

use super::super::super::bench::{Bench, HCP_API, applied, hosted};
use super::KIND;
use crate::api::conditions as c;
use crate::health::Live;

#[test]
fn section_3_2_step_2_only_an_aro_cluster_will_do() {
    let mut bench = Bench::new();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["infrastructureRef"]["kind"] = json!("AzureCluster")
    });
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        (
            c::UNSUPPORTED_INFRASTRUCTURE,
            "AROControlPlane cannot be used without AROCluster"
        )
    );
    assert!(
        bench
            .warnings()
            .contains(&c::UNSUPPORTED_INFRASTRUCTURE.to_owned())
    );
}

/// CAPZ only logs such errors: `failureMessage` is never set.
#[test]
fn section_10_item_16_wrong_resources_are_named_in_condition_event_and_failure() {
    let two = || {
        let mut items = hosted(&json!(null));
        items[1] = items[0].clone();
        items[1]["metadata"]["name"] = json!("d");
        items
    };
    let cases = [
        (json!([]), c::HCP_CLUSTER_INVALID, c::NO_HCP_CLUSTER),
        (
            two(),
            c::HCP_CLUSTER_INVALID,
            "spec.resources[0] (c) and spec.resources[1] (d)",
        ),
        (
            json!([{"apiVersion": "x/v1", "metadata": {"name": "a"}}]),
            c::HCP_CLUSTER_INVALID,
            "; spec.resources[0]: resource must have kind",
        ),
        (
            json!([{"apiVersion": HCP_API, "kind": "HcpOpenShiftCluster"}]),
            c::INVALID_RESOURCE,
            "spec.resources[0]: resource must have metadata",
        ),
    ];
    for (items, reason, message) in cases {
        let mut bench = Bench::new();
        bench.build();
        bench.warnings();
        bench.edit(KIND, "c", |plane| plane["spec"]["resources"] = items);
        assert!(applied(&bench.decide(KIND)).is_empty());
        bench.rest();
        let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
        assert_eq!(found.1, reason);
        assert!(found.2.contains(message), "{}", found.2);
        assert_eq!(
            bench.live(KIND, "c")["status"]["failureMessage"],
            json!(found.2)
        );
        assert_eq!(bench.warnings(), [reason]);
        bench.edit(KIND, "c", |plane| {
            plane["spec"]["resources"] = hosted(&json!(null))
        });
        bench.rest();
        assert_eq!(bench.live(KIND, "c")["status"].get("failureMessage"), None);
    }
}

#[test]
fn section_3_2_step_6_defaults_are_set_and_what_a_person_set_stays() {
    let secrets = ["spec", "operatorSpec", "secrets"];
    let kubeconfig = json!({"adminCredentials": {"name": "c-kubeconfig", "key": "value"}});
    let cases = [
        (json!(null), kubeconfig.clone()),
        (json!({}), kubeconfig),
        (
            json!({"userCredentials": {"name": "mine", "key": "k"}}),
            json!({"userCredentials": {"name": "mine", "key": "k"}}),
        ),
        (
            json!({"adminCredentials": {"name": "mine", "key": "k"}}),
            json!({"adminCredentials": {"name": "mine", "key": "k"}}),
        ),
    ];
    for (set, expected) in cases {
        let mut bench = Bench::new();
        bench.edit(KIND, "c", |plane| {
            if !set.is_null() {
                plane["spec"]["resources"][0]["spec"]["operatorSpec"] = json!({"secrets": set});
            }
        });
        bench.build();
        let hcp = bench.live("HcpOpenShiftCluster", "c");
        assert_eq!(Live(&hcp).at(&secrets), Some(&expected));
    }
}

#[test]
fn section_3_2_step_6_an_owner_of_an_external_authentication_that_differs_is_refused() {
    let mut bench = Bench::new();
    bench.build();
    bench.warnings();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][1]["spec"] = json!({"owner": {"name": "d"}})
    });
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert_eq!(found.1, c::INCOMPATIBLE_VALUE);
    let expected = "incompatible value: value at spec.resources[1].spec.owner.name set by user to d but CAPZ must set it to c ";
    assert!(found.2.starts_with(expected), "{}", found.2);
    assert!(found.2.ends_with(
        ". The user-defined value must not be defined, or must match CAPZ's desired value."
    ));
    assert_eq!(
        bench.live(KIND, "c")["status"]["failureMessage"],
        json!(found.2)
    );
    assert_eq!(bench.warnings(), [c::INCOMPATIBLE_VALUE]);
    for owner in [json!({"name": "c"}), json!({"armId": "/subscriptions/x"})] {
        bench.edit(KIND, "c", |plane| {
            plane["spec"]["resources"][1]["spec"] = json!({"owner": owner})
        });
        bench.rest();
        assert_ne!(
            bench.reason(KIND, c::HCP_CLUSTER_READY),
            c::INCOMPATIBLE_VALUE
        );
    }
}

/// While a control plane is paused CAPZ gives up what its mutators had set.
#[test]
fn section_6_7_what_is_paused_keeps_what_the_controller_had_set() {
    let mut bench = Bench::new();
    bench.provision();
    let before = bench.live("HcpOpenShiftCluster", "c")["spec"].clone();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(true)
    });
    bench.rest();
    assert_eq!(bench.live("HcpOpenShiftCluster", "c")["spec"], before);
    assert_eq!(bench.condition(KIND, c::PAUSED).0, "True");
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], true);
}
