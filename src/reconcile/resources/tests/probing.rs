//! A resource that exists in Azure already is not managed unless it is the cluster's.

use serde_json::{Value, json};

use super::fixture::{Bed, group, item, lines, missing, names, network, ready, unready, with};
use crate::api::fleet::FirstApply;
use crate::api::labels::{ADOPT_EXISTING, KEPT_POLICY, RECONCILE_POLICY};

const TAG: &str = "sigs.k8s.io_cluster-api-provider-azure_cluster_c";

fn probing(list: Value) -> Bed {
    let mut bed = Bed::new(FirstApply::Probe, &list);
    bed.settle();
    bed
}

/// Lets ASO report a resource that exists in Azure with these tags.
fn exists(bed: &mut Bed, kind: &str, name: &str, tags: &Value) {
    bed.edit(kind, name, |object| object["status"]["tags"] = tags.clone());
    bed.reports(kind, name, ready());
}

fn subnet() -> Value {
    let spec = json!({"owner": {"name": "vnet"}, "addressPrefix": "10.0.0.0/24"});
    item(
        "network.azure.com/v1",
        "VirtualNetworksSubnet",
        "subnet",
        spec,
    )
}

fn assignment(owner: Value) -> Value {
    item(
        "authorization.azure.com/v1",
        "RoleAssignment",
        "role",
        json!({"owner": owner}),
    )
}

/// §10, seed 001: what existed in Azure was silently taken over.
#[test]
fn what_azure_does_not_have_is_created_and_what_is_the_clusters_is_managed_again() {
    let tag = json!({TAG: "owned"});
    let others = json!({"sigs.k8s.io_cluster-api-provider-azure_cluster_other": "owned"});
    let cases = [
        ("not there", None, None),
        ("tagged", Some(&tag), None),
        ("untagged", Some(&Value::Null), Some("skip")),
        ("another cluster's", Some(&others), Some("skip")),
    ];
    for (case, tags, policy) in cases {
        let mut bed = probing(json!([group("rg")]));
        assert_eq!(
            bed.policy("ResourceGroup", "rg").as_deref(),
            Some("skip"),
            "{case}"
        );
        match tags {
            None => bed.reports("ResourceGroup", "rg", missing()),
            Some(tags) => exists(&mut bed, "ResourceGroup", "rg", tags),
        }
        let entries = bed.settle();
        assert_eq!(
            bed.policy("ResourceGroup", "rg").as_deref(),
            policy,
            "{case}"
        );
        assert_eq!(entries[0].ready, tags.is_some(), "{case}");
        assert_eq!(
            entries[0].concern.is_some(),
            policy == Some("skip"),
            "{case}"
        );
    }
}

#[test]
fn nothing_is_decided_by_an_old_or_another_condition() {
    let mut bed = probing(json!([group("rg")]));
    let mut old = missing();
    old["observedGeneration"] = json!(0);
    for condition in [
        old,
        unready("Warning", "AuthorizationFailed", "no"),
        unready("Error", "SubscriptionMismatch", "no"),
        unready("Info", "Reconciling", ""),
    ] {
        bed.reports("ResourceGroup", "rg", condition);
        bed.settle();
        assert_eq!(bed.policy("ResourceGroup", "rg").as_deref(), Some("skip"));
    }
}

#[test]
fn a_managed_resource_is_never_skipped_again() {
    let mut bed = probing(json!([group("rg")]));
    bed.reports("ResourceGroup", "rg", missing());
    bed.settle();
    exists(&mut bed, "ResourceGroup", "rg", &Value::Null);
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    for without in [group("rg"), with(group("rg"), RECONCILE_POLICY, "manage")] {
        let mut bed = Bed::new(FirstApply::Probe, &json!([group("rg")]));
        bed.held(&without, ready());
        bed.settle();
        assert_ne!(
            bed.policy("ResourceGroup", "rg").as_deref(),
            Some("skip"),
            "from CAPZ"
        );
    }
}

#[test]
fn a_policy_the_user_wrote_is_never_changed_and_its_resource_gets_no_tag() {
    for policy in ["manage", "skip", "detach-on-delete", "Skip"] {
        let mut bed = probing(json!([with(group("rg"), RECONCILE_POLICY, policy)]));
        for condition in [missing(), ready()] {
            bed.reports("ResourceGroup", "rg", condition);
            bed.settle();
            assert_eq!(bed.policy("ResourceGroup", "rg").as_deref(), Some(policy));
        }
        let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
        assert_eq!(live["spec"].get("tags"), None, "{policy}");
    }
}

#[test]
fn a_foreign_resource_is_described_and_managed_when_somebody_asks_for_it() {
    let mut bed = probing(json!([group("rg")]));
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["status"]["location"] = json!("westeurope")
    });
    bed.reports("ResourceGroup", "rg", ready());
    let (entries, outcome) = bed.whole();
    let expected = "It exists in Azure, does not belong to this cluster and is only read; it differs in spec.location \
        (wanted uksouth, found westeurope). Set the annotation capstan.dev/adopt-existing: \"true\" to manage it";
    assert_eq!(entries[0].message, expected);
    assert_eq!(names(&entries), ["+rg"], "it counts as ready");
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.events[0].reason, "ResourceNotManaged");
    bed.perform(outcome);
    assert!(bed.whole().1.events.is_empty(), "one event");
    bed.list(json!([with(group("rg"), ADOPT_EXISTING, "true")]));
    let entries = bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    assert_eq!(entries[0].concern, None);
}

#[test]
fn the_owner_can_ask_for_all_of_them() {
    let mut bed = probing(json!([group("rg"), network("vnet")]));
    for (kind, name) in [("ResourceGroup", "rg"), ("VirtualNetwork", "vnet")] {
        exists(&mut bed, kind, name, &Value::Null);
    }
    bed.edit("AROCluster", "c", |owner| {
        owner["metadata"]["annotations"][ADOPT_EXISTING] = json!("true")
    });
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    assert_eq!(bed.policy("VirtualNetwork", "vnet"), None);
}

#[test]
fn kinds_without_tags_follow_their_owner() {
    let vnet_as_scope =
        json!({"group": "network.azure.com", "kind": "VirtualNetwork", "name": "vnet"});
    let identity = item(
        "managedidentity.azure.com/v1",
        "UserAssignedIdentity",
        "mi",
        json!({"owner": {"name": "rg"}}),
    );
    let tag = json!({TAG: "owned"});
    // Tags of the resource group and of the network; policies of the subnet, the role assignment and the identity.
    let cases = [
        (&tag, &tag, ["", "", ""]),
        (&tag, &Value::Null, ["skip", "", ""]),
        (&Value::Null, &tag, ["", "skip", "skip"]),
        (&Value::Null, &Value::Null, ["skip", "skip", "skip"]),
    ];
    for (of_group, of_network, expected) in cases {
        let list = json!([
            group("rg"),
            network("vnet"),
            subnet(),
            assignment(vnet_as_scope.clone()),
            identity
        ]);
        let mut bed = probing(list);
        exists(&mut bed, "ResourceGroup", "rg", of_group);
        exists(&mut bed, "VirtualNetwork", "vnet", of_network);
        let children = [
            ("VirtualNetworksSubnet", "subnet"),
            ("RoleAssignment", "role"),
            ("UserAssignedIdentity", "mi"),
        ];
        for (kind, name) in children {
            bed.reports(kind, name, ready());
        }
        bed.settle();
        let policies = children.map(|(kind, name)| bed.policy(kind, name).unwrap_or_default());
        assert_eq!(policies, expected, "{of_group} {of_network}");
    }
}

#[test]
fn what_belongs_to_a_resource_outside_the_cluster_is_foreign() {
    let elsewhere = json!({"armId": "/subscriptions/s/resourceGroups/pool"});
    let mut bed = probing(json!([group("rg"), assignment(elsewhere)]));
    exists(&mut bed, "ResourceGroup", "rg", &json!({TAG: "owned"}));
    bed.reports("RoleAssignment", "role", ready());
    bed.settle();
    assert_eq!(
        bed.policy("RoleAssignment", "role").as_deref(),
        Some("skip")
    );
}

/// The owner may be another part of the same cluster, but not of another one.
#[test]
fn an_owner_counts_when_an_object_of_the_same_cluster_controls_it() {
    for (cluster, expected) in [("c", None), ("other", Some("skip"))] {
        let mut bed = probing(json!([subnet()]));
        let labels = json!({"cluster.x-k8s.io/cluster-name": cluster});
        bed.fixture.put(
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
            "metadata": {"name": "plane", "labels": labels}}),
        );
        let plane = bed.fixture.live("AROControlPlane", "plane").expect("it");
        bed.held(&network("vnet"), ready());
        bed.edit("VirtualNetwork", "vnet", |vnet| {
            vnet["metadata"]["ownerReferences"] = json!([{"apiVersion": plane["apiVersion"], "kind": plane["kind"],
                "name": "plane", "uid": plane["metadata"]["uid"], "controller": true}]);
        });
        bed.reports("VirtualNetworksSubnet", "subnet", ready());
        bed.settle();
        assert_eq!(
            bed.policy("VirtualNetworksSubnet", "subnet").as_deref(),
            expected
        );
    }
}

#[test]
fn a_resource_that_nobody_controls_is_taken_over_only_if_it_is_the_clusters() {
    let cases = [
        (FirstApply::Probe, group("rg"), Value::Null, false),
        (FirstApply::Probe, group("rg"), json!({TAG: "owned"}), true),
        (
            FirstApply::Probe,
            with(group("rg"), ADOPT_EXISTING, "true"),
            Value::Null,
            true,
        ),
        (FirstApply::Direct, group("rg"), Value::Null, true),
    ];
    for (first_apply, listed, tags, is_taken) in cases {
        let mut bed = Bed::new(first_apply, &json!([listed]));
        let mut object = group("rg");
        object["status"] = json!({"tags": tags, "conditions": [ready()]});
        bed.fixture.put(object);
        let (entries, outcome) = bed.reconcile();
        assert_eq!(
            !lines(&outcome).is_empty(),
            is_taken,
            "{first_apply:?} {tags}"
        );
        assert_eq!(
            entries[0].concern,
            (!is_taken).then_some("ResourceNotOwned")
        );
        bed.settle();
        assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    }
}

/// Somebody's own object, which ASO only reads: its policy does not say that Capstan looked whether it exists.
#[test]
fn a_skipped_resource_that_nobody_controls_is_taken_over_only_if_it_is_the_clusters() {
    let wanted = with(group("rg"), ADOPT_EXISTING, "true");
    let cases = [
        ("there", group("rg"), Value::Null, ready(), false),
        ("not there", group("rg"), Value::Null, missing(), false),
        ("tagged", group("rg"), json!({TAG: "owned"}), ready(), true),
        ("wanted", wanted, Value::Null, ready(), true),
    ];
    for (case, listed, tags, condition, is_taken) in cases {
        let mut bed = Bed::new(FirstApply::Probe, &json!([listed]));
        let mut object = with(group("rg"), RECONCILE_POLICY, "skip");
        object["status"]["tags"] = tags;
        bed.fixture.put(object);
        bed.reports("ResourceGroup", "rg", condition);
        let (entries, outcome) = bed.reconcile();
        assert_eq!(!lines(&outcome).is_empty(), is_taken, "{case}");
        let concern = (!is_taken).then_some("ResourceNotOwned");
        assert_eq!(entries[0].concern, concern, "{case}");
        bed.perform(outcome);
        let policy = bed.policy("ResourceGroup", "rg");
        assert_eq!(policy.as_deref(), Some("skip"), "{case}");
    }
}

/// Nothing that is seen or wanted later changes a policy that the user wrote, until the user changes it.
#[test]
fn a_skip_written_by_hand_stays_when_the_resource_is_taken_over() {
    for first_apply in [FirstApply::Probe, FirstApply::Direct] {
        let mut bed = Bed::new(
            first_apply,
            &json!([with(group("rg"), ADOPT_EXISTING, "true")]),
        );
        bed.fixture.put(with(group("rg"), RECONCILE_POLICY, "skip"));
        bed.settle();
        for condition in [missing(), ready()] {
            bed.reports("ResourceGroup", "rg", condition);
            bed.settle();
            let policy = bed.policy("ResourceGroup", "rg");
            assert_eq!(policy.as_deref(), Some("skip"), "{first_apply:?}");
        }
        bed.rest(Bed::pause);
        bed.first_apply = FirstApply::Probe;
        bed.settle();
        let policy = bed.policy("ResourceGroup", "rg");
        assert_eq!(policy.as_deref(), Some("skip"), "{first_apply:?}");
        bed.edit("ResourceGroup", "rg", |rg| {
            rg["metadata"]["annotations"][RECONCILE_POLICY] = json!("manage");
        });
        bed.settle();
        let rg = bed.fixture.live("ResourceGroup", "rg").expect("it");
        let annotations = &rg["metadata"]["annotations"];
        assert_eq!(annotations[RECONCILE_POLICY], "manage", "{first_apply:?}");
        assert_eq!(annotations[KEPT_POLICY], Value::Null, "{first_apply:?}");
    }
}

/// A backup, say, restores a resource without its owner.
#[test]
fn a_skip_that_a_probe_wrote_is_not_taken_for_one_written_by_hand() {
    let mut bed = probing(json!([group("rg")]));
    bed.settle();
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["metadata"]["ownerReferences"] = json!([]);
        rg["status"]["tags"] = json!({TAG: "owned"});
    });
    bed.reports("ResourceGroup", "rg", ready());
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
}

#[test]
fn direct_apply_does_not_ask_what_is_there() {
    let mut bed = Bed::direct(&json!([group("rg")]));
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(
        live["spec"]["tags"][TAG], "owned",
        "so that it is found later"
    );
}

#[test]
fn a_switch_to_direct_apply_manages_what_was_only_read() {
    let mut bed = probing(json!([group("rg")]));
    exists(&mut bed, "ResourceGroup", "rg", &Value::Null);
    bed.settle();
    bed.first_apply = FirstApply::Direct;
    bed.settle();
    assert_eq!(bed.policy("ResourceGroup", "rg"), None);
}
