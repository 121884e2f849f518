//! What the controller of AROCluster decides, case by case. Regressions are named after their place in
//! facts/aro-controllers.md.

use serde_json::{Value, json};

use super::super::bench::{Bench, applied, deleted, infrastructure, wakes_in};
use crate::api::capi::{BLOCK_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::labels::STEPPED_BACK;
use crate::health::Live;

const KIND: &str = "AROCluster";
const PLANE: &str = "AROControlPlane";

fn status(bench: &Bench) -> Value {
    bench.live(KIND, "c")["status"].clone()
}

#[test]
fn section_9_without_an_owner_nothing_is_applied_and_a_person_is_told_why() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| {
        object["metadata"]["ownerReferences"] = json!([])
    });
    bench.rest();
    assert_eq!(bench.reason(KIND, c::READY), c::WAITING_FOR_OWNER_CLUSTER);
    assert_eq!(bench.find("ResourceGroup", "rg"), None);
    assert!(bench.warnings().is_empty());
}

#[test]
fn section_9_a_dangling_owner_is_reported() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| {
        object["metadata"]["ownerReferences"][0]["name"] = json!("gone")
    });
    bench.rest();
    assert_eq!(bench.reason(KIND, c::READY), c::CLUSTER_NOT_FOUND);
    assert_eq!(bench.warnings(), [c::CLUSTER_NOT_FOUND]);
    assert_eq!(bench.find("ResourceGroup", "rg"), None);
}

#[test]
fn section_9_only_an_aro_control_plane_will_do() {
    for (group, kind) in [
        ("", "AROControlPlane"),
        ("other.x-k8s.io", "AROControlPlane"),
        ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"),
    ] {
        let mut bench = Bench::new();
        bench.edit("Cluster", "c", |cluster| {
            cluster["spec"]["controlPlaneRef"] =
                json!({"apiGroup": group, "kind": kind, "name": "c"});
        });
        bench.fixture.run_to(0);
        let found = bench.condition(KIND, c::NETWORK_INFRASTRUCTURE_READY);
        assert_eq!(found.1, c::UNSUPPORTED_CONTROL_PLANE);
        assert_eq!(found.2, "AROCluster cannot be used without AROControlPlane");
        let warnings = bench.warnings();
        assert!(
            warnings.contains(&c::UNSUPPORTED_CONTROL_PLANE.to_owned()),
            "{warnings:?}"
        );
        bench.rest();
        assert!(bench.warnings().is_empty(), "nothing changed");
        assert_eq!(bench.find("ResourceGroup", "rg"), None);
    }
}

#[test]
fn the_resources_are_counted() {
    let mut bench = Bench::new();
    bench.rest();
    let waiting = bench.condition(KIND, c::RESOURCES_READY);
    assert_eq!(
        (waiting.1.as_str(), waiting.2.as_str()),
        (
            c::PROVISIONING_INFRASTRUCTURE,
            "Waiting for infrastructure resources: 0/2 ready"
        )
    );
    bench.ready("ResourceGroup", "rg");
    bench.rest();
    assert!(
        bench
            .condition(KIND, c::RESOURCES_READY)
            .2
            .ends_with("1/2 ready")
    );
    bench.ready("Vault", "vault");
    bench.rest();
    let ready = bench.condition(KIND, c::RESOURCES_READY);
    assert_eq!(ready.2, "All 2 infrastructure resources are ready");
    assert_eq!(ready.1, c::INFRASTRUCTURE_READY);
    assert_eq!(
        bench.reason(KIND, c::NETWORK_INFRASTRUCTURE_READY),
        c::EXTERNALLY_MANAGED_CONTROL_PLANE
    );
    let marks = bench.live(KIND, "c")["metadata"].clone();
    assert_eq!(marks["finalizers"], json!(["arocluster/finalizer"]));
    assert_eq!(marks["annotations"][BLOCK_MOVE], "true");
}

#[test]
fn a_resource_that_azure_refuses_is_named() {
    let mut bench = Bench::new();
    bench.rest();
    bench.ready("ResourceGroup", "rg");
    bench.report(
        "Vault",
        "vault",
        "False",
        "InvalidRequestContent",
        "[E]the sku is unknown",
    );
    bench.rest();
    let found = bench.condition(KIND, c::RESOURCES_READY);
    assert_eq!(found.1, c::FAILED);
    assert!(
        found
            .2
            .ends_with("1/2 ready; Vault vault: InvalidRequestContent: the sku is unknown"),
        "{}",
        found.2
    );
    assert_eq!(bench.warnings(), [c::FAILED]);
    bench.report("Vault", "vault", "False", "WaitingForOwner", "[W]no owner");
    bench.rest();
    assert_eq!(
        bench.reason(KIND, c::RESOURCES_READY),
        c::PROVISIONING_INFRASTRUCTURE
    );
}

#[test]
fn what_waits_for_a_person_is_named_with_its_reason() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| {
        object["spec"]["resources"][1]["metadata"]["annotations"] =
            json!({"serviceoperator.azure.com/reconcile-policy": "skip"});
    });
    bench.rest();
    bench.ready("ResourceGroup", "rg");
    let mut said = |reason: &str, message: &str| {
        bench.report("Vault", "vault", "False", reason, message);
        bench.rest();
        let found = bench.condition(KIND, c::RESOURCES_READY);
        (found.1, found.2, bench.warnings())
    };
    let waits = "Waiting for infrastructure resources: 1/2 ready";
    let (reason, message, warnings) = said("WaitingForOwner", "[W]no owner");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (c::PROVISIONING_INFRASTRUCTURE, waits)
    );
    assert!(warnings.is_empty(), "{warnings:?}");
    let (reason, message, warnings) = said("SecretNotFound", "[W]cannot find a credential (ns/x)");
    assert_eq!(reason, c::WAITING_FOR_DEPENDENCY);
    let expected = format!("{waits}; Vault vault: SecretNotFound: cannot find a credential (ns/x)");
    assert_eq!(message, expected);
    assert_eq!(warnings, [c::WAITING_FOR_DEPENDENCY]);
    let (reason, message, _) = said("AzureResourceNotFound", "[W]not there");
    assert_eq!(reason, c::WAITING_FOR_DEPENDENCY);
    assert!(
        message.contains("AzureResourceNotFound: not there; the annotation"),
        "{message}"
    );
    said("Reconciling", "working");
    let (reason, ..) = said("WaitingForOwner", "[W]no owner");
    assert_eq!(reason, c::PROVISIONING_INFRASTRUCTURE);
    bench.wait(660);
    let (_, reason, message) = bench.condition(KIND, c::RESOURCES_READY);
    assert_eq!(reason, c::WAITING_FOR_DEPENDENCY);
    assert!(
        message.ends_with("Vault vault: WaitingForOwner: no owner"),
        "{message}"
    );
    assert_eq!(bench.warnings(), [c::WAITING_FOR_DEPENDENCY]);
}

#[test]
fn a_cluster_that_is_being_deleted_is_not_ready_and_its_summary_names_what_is_false() {
    let mut bench = Bench::new();
    bench.provision();
    bench.report("Vault", "vault", "False", "Reconciling", "");
    bench.rest();
    let (status, reason, message) = bench.condition(KIND, c::READY);
    assert_eq!(
        (status.as_str(), reason.as_str(), message.as_str()),
        (
            "False",
            c::PROVISIONING_INFRASTRUCTURE,
            "ResourcesReady is False"
        )
    );
    bench.ready("Vault", "vault");
    bench.rest();
    bench.delete(KIND, "c");
    bench.rest();
    let (status, reason, message) = bench.condition(KIND, c::READY);
    assert_eq!(
        (status.as_str(), reason.as_str(), message.as_str()),
        ("False", c::IS_DELETED, c::SEE_DELETING)
    );
}

/// CAPZ applies nothing any more once the resources are ready.
#[test]
fn section_10_item_12_drift_is_repaired_after_ready() {
    let mut bench = Bench::new();
    bench.provision();
    bench.edit("Vault", "vault", |vault| {
        vault["spec"]["azureName"] = json!("other")
    });
    assert_eq!(applied(&bench.decide(KIND)), ["Vault"]);
    bench.rest();
    assert_eq!(bench.live("Vault", "vault")["spec"]["azureName"], "kv");
    assert_eq!(applied(&bench.decide(KIND)), Vec::<String>::new());
}

/// CAPZ never sets `ResourcesReady` without resources, so that the cluster is never provisioned.
#[test]
fn section_3_1_step_9_without_resources_the_control_plane_decides() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| object["spec"]["resources"] = json!([]));
    bench.rest();
    assert_eq!(status(&bench)["initialization"]["provisioned"], false);
    bench.ready("HcpOpenShiftCluster", "c");
    bench.kubeconfig(json!({"server": "https://api.example"}));
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["properties"] = json!({"api": {"url": "https://api.example"}})
    });
    bench.rest();
    assert_eq!(status(&bench)["initialization"]["provisioned"], true);
    assert_eq!(status(&bench)["ready"], true);
}

/// CAPZ skips the step for an empty list.
#[test]
fn section_3_1_step_7_an_emptied_list_takes_nothing_from_the_control_plane() {
    let mut bench = Bench::new();
    bench.build();
    bench.edit(KIND, "c", |object| object["spec"]["resources"] = json!([]));
    bench.rest();
    for (kind, name) in [("ResourceGroup", "rg"), ("Vault", "vault")] {
        assert!(bench.find(kind, name).is_some(), "the cluster needs it");
    }
    for entry in 0..2 {
        let entry = &status(&bench)["resources"][entry];
        assert_eq!(entry["ready"], true);
        assert_eq!(entry["message"], c::KEPT_WHILE_NEEDED);
    }
}

/// Azure deletes a resource group with all that is in it.
#[test]
fn an_unlisted_resource_group_stays_while_something_is_in_it() {
    let mut bench = Bench::with_default();
    bench.build();
    bench.edit(PLANE, "c", |plane| plane["spec"]["resources"] = json!([]));
    bench.delete("HcpOpenShiftCluster", "c");
    bench.delete(PLANE, "c");
    bench.wait(60);
    assert!(bench.find(PLANE, "c").is_none());
    bench.edit(KIND, "c", |object| {
        let list = object["spec"]["resources"].as_array_mut();
        list.expect("a list")
            .retain(|item| item["kind"] != "ResourceGroup");
    });
    bench.wait(60);
    assert!(
        bench.find("ResourceGroup", "rg").is_some(),
        "the vault is in it"
    );
    bench.edit(KIND, "c", |object| object["spec"]["resources"] = json!([]));
    bench.wait(60);
    for (kind, name) in [("Vault", "vault"), ("ResourceGroup", "rg")] {
        assert!(bench.find(kind, name).is_none(), "{kind}");
    }
}

/// CAPZ clears `ready` at the start of every reconciliation, and takes `provisioned` back.
#[test]
fn section_10_item_17_provisioned_stays_and_ready_does_not_flap() {
    let mut bench = Bench::new();
    bench.provision();
    assert_eq!(status(&bench)["initialization"]["provisioned"], true);
    assert_eq!(
        bench.condition(KIND, c::NETWORK_INFRASTRUCTURE_READY).0,
        "True"
    );
    assert_eq!(bench.condition(KIND, c::READY).0, "True");
    bench.report("Vault", "vault", "False", "Reconciling", "");
    bench.rest();
    assert_eq!(
        status(&bench)["ready"],
        false,
        "infrastructure and control plane"
    );
    assert_eq!(bench.reason(KIND, c::READY), c::PROVISIONING_INFRASTRUCTURE);
    assert_eq!(status(&bench)["initialization"]["provisioned"], true);
    bench.report("HcpOpenShiftCluster", "c", "False", "Reconciling", "");
    bench.rest();
    assert_eq!(status(&bench)["ready"], false);
    assert_eq!(status(&bench)["initialization"]["provisioned"], true);
    assert_eq!(
        bench.condition(KIND, c::NETWORK_INFRASTRUCTURE_READY).2,
        c::WAITING_FOR_PORT
    );
}

#[test]
fn the_endpoint_comes_from_the_url_and_stays() {
    let mut bench = Bench::new();
    bench.provision();
    let endpoint = |bench: &Bench| bench.live(KIND, "c")["spec"]["controlPlaneEndpoint"].clone();
    assert_eq!(
        endpoint(&bench),
        json!({"host": "api.example", "port": 443})
    );
    bench.edit("AROControlPlane", "c", |plane| {
        plane["status"]["apiURL"] = json!("https://[fd00::7]:6443")
    });
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["properties"]["api"]["url"] = json!("https://[fd00::7]:6443")
    });
    bench.rest();
    assert_eq!(endpoint(&bench), json!({"host": "fd00::7", "port": 6443}));
    bench.warnings();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["properties"]["api"]["url"] = json!("nowhere")
    });
    bench.rest();
    let found = bench.condition(KIND, c::NETWORK_INFRASTRUCTURE_READY);
    assert_eq!(found.1, c::INVALID_ENDPOINT);
    assert!(found.2.contains("\"nowhere\""), "{}", found.2);
    assert_eq!(bench.warnings(), [c::INVALID_ENDPOINT]);
    assert_eq!(endpoint(&bench), json!({"host": "fd00::7", "port": 6443}));
}

#[test]
fn an_object_says_no_longer_that_others_act() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| {
        object["metadata"]["annotations"][STEPPED_BACK] = json!("then: CAPZ's controllers run");
    });
    bench.rest();
    assert_eq!(Live(&bench.live(KIND, "c")).annotation(STEPPED_BACK), "");
}

#[test]
fn section_9_paused_means_left_alone_and_free_to_move() {
    for cluster_is_paused in [true, false] {
        let mut bench = Bench::new();
        bench.provision();
        match cluster_is_paused {
            true => bench.edit("Cluster", "c", |cluster| {
                cluster["spec"]["paused"] = json!(true)
            }),
            false => bench.edit(KIND, "c", |object| {
                object["metadata"]["annotations"][PAUSED] = json!("")
            }),
        }
        bench.rest();
        let live = bench.live(KIND, "c");
        assert_eq!(Live(&live).annotation(BLOCK_MOVE), "");
        assert_eq!(bench.condition(KIND, c::PAUSED).0, "True");
        assert_eq!(live["status"]["ready"], true, "it stays as it was");
        bench.edit("Cluster", "c", |cluster| {
            cluster["spec"]["paused"] = json!(false)
        });
        bench.edit(KIND, "c", |object| {
            object["metadata"]["annotations"]
                .as_object_mut()
                .map(|all| all.remove(PAUSED));
        });
        bench.rest();
        assert_eq!(bench.condition(KIND, c::PAUSED).0, "False");
        assert_eq!(Live(&bench.live(KIND, "c")).annotation(BLOCK_MOVE), "true");
    }
}

#[test]
fn while_a_resource_cannot_be_read_nothing_is_deleted() {
    let mut bench = Bench::new();
    bench.build();
    bench.edit(KIND, "c", |object| {
        object["spec"]["resources"][1]["metadata"] = json!({});
    });
    let outcome = bench.decide(KIND);
    assert!(applied(&outcome).is_empty() && deleted(&outcome).is_empty());
    bench.warnings();
    bench.rest();
    let found = bench.condition(KIND, c::RESOURCES_READY);
    assert_eq!(found.1, c::INVALID_RESOURCE);
    let message = "spec.resources[1]: resource must have metadata.name";
    assert!(found.2.contains(message), "{}", found.2);
    assert!(bench.fixture.health(KIND, "c").is_terminal());
    assert_eq!(bench.warnings(), [c::INVALID_RESOURCE]);
    assert!(bench.find("Vault", "vault").is_some());
}

/// CAPZ's controller waits for the resources without looking again (ARO-29232), and deletes them in any order.
#[test]
fn section_8_i_a_deletion_goes_on_and_resource_groups_come_last() {
    let mut bench = Bench::new();
    bench.provision();
    for name in ["Vault/vault", "ResourceGroup/rg"] {
        let (kind, name) = name.split_once('/').unwrap_or_default();
        bench.edit(kind, name, |object| {
            object["metadata"]["finalizers"] = json!(["serviceoperator.azure.com/finalizer"])
        });
    }
    bench.delete(KIND, "c");
    let waiting = bench.decide(KIND);
    assert!(deleted(&waiting).is_empty(), "the control plane is there");
    assert_eq!(wakes_in(&bench, &waiting), Some(15));
    bench.rest();
    assert_eq!(
        bench.condition(KIND, c::DELETING).2,
        "Waiting for AROControlPlane c to be deleted"
    );
    bench.delete("AROControlPlane", "c");
    bench.wait(60);
    assert_eq!(bench.find("AROControlPlane", "c"), None);
    let release = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    let is_leaving = |bench: &Bench, kind, name| Live(&bench.live(kind, name)).is_deleting();
    assert!(is_leaving(&bench, "Vault", "vault") && !is_leaving(&bench, "ResourceGroup", "rg"));
    assert_eq!(wakes_in(&bench, &bench.decide(KIND)), Some(15));
    assert_eq!(
        bench.condition(KIND, c::DELETING).2,
        "Waiting for the resources Vault vault to be deleted"
    );
    bench.edit("Vault", "vault", release);
    let vault = Live(&bench.live("Vault", "vault")).id();
    bench.fixture.delete(&vault);
    bench.rest();
    assert!(is_leaving(&bench, "ResourceGroup", "rg"));
    bench.edit("ResourceGroup", "rg", release);
    let group = Live(&bench.live("ResourceGroup", "rg")).id();
    bench.fixture.delete(&group);
    bench.rest();
    assert_eq!(bench.find(KIND, "c"), None);
}

#[test]
fn a_deletion_ends_without_a_cluster_and_with_a_finalizer_of_somebody_else_s() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |object| {
        object["metadata"]["ownerReferences"][0]["name"] = json!("gone");
        object["metadata"]["finalizers"] = json!(["arocluster/finalizer"]);
        object["spec"]["resources"] = infrastructure();
    });
    bench.edit("AROControlPlane", "c", |plane| {
        plane["metadata"]["ownerReferences"] = json!([]);
    });
    bench.delete(KIND, "c");
    bench.rest();
    assert_eq!(bench.find(KIND, "c"), None);
}
