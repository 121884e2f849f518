//! People who want what is not theirs, or were there before.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    DNS_AVAILABLE as DNS, ENDPOINT_AVAILABLE as AT_ENDPOINT, LOAD_BALANCER_AVAILABLE as BALANCER,
    SERVICE_CREATED as CREATED,
};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Outcome;

const CLUSTER: &str = "hypershift.openshift.io/cluster";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";
const RANGE: &str = "capstan.dev/nat-subnet-range";

/// A connection that a tenant wrote.
fn forged(namespace: &str, name: &str, cluster: &Value, finalizers: &Value) -> Value {
    let spec = json!({"loadBalancerIP": ADDRESS, "subscriptionID": GUEST, "resourceGroupName": "rg", "location": "uksouth",
        "guestSubnetID": guest("virtualNetworks/vnet/subnets/nodes"), "guestVNetID": guest("virtualNetworks/vnet"),
        "natSubnetID": hub("virtualNetworks/hub/subnets/nat"), "baseDomain": "ext.example.com"});
    json!({"apiVersion": API, "kind": "AzurePrivateLinkService",
        "metadata": {"name": name, "namespace": namespace, "annotations": {CLUSTER: cluster}, "finalizers": finalizers},
        "spec": spec})
}

/// The writes to anything but the object itself.
fn others(outcome: &Outcome) -> Vec<String> {
    let mut verbs = verbs(outcome);
    verbs.retain(|verb| !verb.starts_with("status AzurePrivateLinkService "));
    verbs
}

#[test]
fn an_object_in_another_namespace_gets_nothing() {
    let ours = json!([
        "capstan.dev/private-link-service",
        "capstan.dev/private-link-endpoint"
    ]);
    for (namespace, cluster) in [
        ("tenant", json!("clusters/one")),
        ("clusters", json!("clusters/one")),
        ("clusters-one-x", json!("clusters/one")),
        ("clusters-one", json!("")),
        ("clusters-one", json!("clusters")),
        ("clusters-one", json!("/one")),
        ("clusters-one", json!("clusters/")),
        ("clusters-one", json!("clusters/one/")),
        ("clusters-one", json!("clusters//one")),
        ("clusters-one", json!(["clusters/one"])),
        ("clusters-one", json!(null)),
    ] {
        let mut scene = Scene::connected();
        let before = scene.azure.clone();
        let id = ObjectId::new(
            "hypershift.openshift.io",
            "AzurePrivateLinkService",
            namespace,
            "private-router",
        );
        scene.fixture.snapshot.remove(&id);
        scene.put(forged(namespace, "private-router", &cluster, &json!([])));
        for (controller, condition) in [(SERVICE, BALANCER), (ENDPOINT, AT_ENDPOINT)] {
            let outcome = scene.decide(controller, &id);
            assert_eq!(
                others(&outcome),
                Vec::<String>::new(),
                "{namespace} {cluster}"
            );
            scene.perform("a", outcome);
            let said = scene.said_of(&id, condition);
            assert!(said.starts_with("False InvalidObject: "), "{said}");
        }
        // With our finalizers, and deleted, it takes nothing with it.
        scene.edit(&id, |one| one["metadata"]["finalizers"] = ours.clone());
        scene.delete(&id);
        for controller in [SERVICE, ENDPOINT] {
            let outcome = scene.decide(controller, &id);
            assert_eq!(
                others(&outcome),
                Vec::<String>::new(),
                "{namespace} {cluster}"
            );
        }
        assert_eq!(scene.azure, before);
    }
}

/// It would have the service of the router lead elsewhere, and take it along when it goes.
#[test]
fn a_second_object_of_a_cluster_gets_nothing() {
    let mut scene = Scene::connected();
    let before = scene.azure.clone();
    let id = ObjectId::new(
        "hypershift.openshift.io",
        "AzurePrivateLinkService",
        "clusters-one",
        "oauth-openshift",
    );
    scene.put(forged(
        "clusters-one",
        "oauth-openshift",
        &json!("clusters/one"),
        &json!([]),
    ));
    scene.settle();
    for condition in [BALANCER, AT_ENDPOINT] {
        let said = scene.said_of(&id, condition);
        assert!(
            said.starts_with("False InvalidObject: ") && said.contains("private-router"),
            "{said}"
        );
    }
    scene.assert_connected("clusters", "one");
    scene.delete(&id);
    scene.settle();
    assert!(scene.find(&id).is_none());
    assert_eq!(scene.azure, before);
    scene.assert_connected("clusters", "one");
}

/// A clusterID is what its HostedCluster says.
#[test]
fn a_cluster_id_of_another_cluster_leads_to_nothing_of_that() {
    let mut scene = Scene::connected();
    scene.cluster("others", "thief");
    scene.edit(&hosted_id("others", "thief"), |one| {
        one["spec"]["clusterID"] = json!(cluster_id("clusters", "one"))
    });
    let service = scene.live(&scene.only("PrivateLinkService"));
    scene.settle();
    let thief = connection_id("others", "thief");
    let said = scene.said_of(&thief, CREATED);
    assert!(
        said.starts_with("False PLSCreationFailed: ") && said.contains("is another cluster's"),
        "{said}"
    );
    assert!(
        scene
            .said_of(&thief, AT_ENDPOINT)
            .starts_with("False WaitingForService: ")
    );
    assert_eq!(
        scene.live(&scene.only("PrivateLinkService"))["spec"],
        service["spec"]
    );
    scene.delete_cluster("others", "thief");
    scene.settle();
    assert!(scene.find(&thief).is_none());
    assert_eq!(scene.rejected, Vec::<String>::new());
    scene.assert_connected("clusters", "one");
    assert!(!Live(&scene.live(&scene.only("PrivateLinkService"))).is_deleting());
}

#[test]
fn a_subnet_outside_of_the_network_of_the_management_cluster_is_not_used() {
    let path = |subscription: &str, group: &str, below: &str| {
        format!(
            "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Network/{below}"
        )
    };
    let net = "virtualNetworks/hub/subnets/nat";
    let bad = [
        path(GUEST, "hub-net", net),
        path(HUB, "hub-net-evil", net),
        path(HUB, "hub", net),
        path(HUB, "hub-net/../evil", net),
        path(HUB, "hub-net/", net),
        path(HUB, "hub-net%2f..%2fevil", net),
        path(HUB, "hub-net", "virtualNetworks/../subnets/nat"),
        path(HUB, "hub-net", "virtualNetworks/%2e%2e/subnets/nat"),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/.."),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/"),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/nat?x"),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/nat#x"),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/nat\\x"),
        path(HUB, "hub-net", "virtualNetworks/hub/subnets/nat/subnets/x"),
        path(
            HUB,
            "hub-net",
            "virtualNetworks/../../../../evil/providers/Microsoft.Network/virtualNetworks/v/subnets/s",
        ),
        path(HUB, "hub-net", "loadBalancers/hub/subnets/nat"),
        path(HUB, "hub-net", net).replace("Microsoft.Network", "Microsoft.Evil"),
        format!("x{}", path(HUB, "hub-net", net)),
        path(HUB, "hub-net", net).replace("/subscriptions", "//subscriptions"),
        "/subnets/nat".to_owned(),
        "nat".to_owned(),
    ];
    for id in bad {
        let mut scene = Scene::one();
        scene.edit(&hosted_id("clusters", "one"), |one| {
            one["metadata"]["annotations"] = json!({RANGE: "10.9.0.0/24"})
        });
        scene.edit(&plane_id("clusters", "one"), |one| {
            one["spec"]["platform"]["azure"]["private"]["privateLink"]["natSubnetID"] = json!(id);
        });
        scene.settle();
        let said = scene.said(CREATED);
        assert!(
            said.starts_with("False NATSubnetCreationFailed: natSubnetID is "),
            "{id}: {said}"
        );
        assert!(said.contains("resource group hub-net"), "{said}");
        assert!(scene.azure.is_empty(), "{id}");
        let outcome = scene.provide();
        let asked = outcome
            .needs
            .iter()
            .any(|need| matches!(need, crate::reconcile::outcome::Need::Frontend(_)));
        assert!(!asked, "{id}");
    }
    // Azure compares them without regard to case.
    let good = path(&HUB.to_uppercase(), "HUB-Net", net);
    let mut scene = Scene::one();
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["platform"]["azure"]["private"]["privateLink"]["natSubnetID"] = json!(good);
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
}

/// The identity of the management side would change, and at last delete, a subnet that somebody else uses.
#[test]
fn only_a_subnet_with_the_name_of_the_cluster_is_made() {
    for name in [
        "nodes",
        "others-two-pls-nat",
        "clusters-one-pls-nat-2",
        "GatewaySubnet",
    ] {
        let mut scene = Scene::one();
        let id = hub(&format!("virtualNetworks/hub/subnets/{name}"));
        scene.edit(&hosted_id("clusters", "one"), |one| {
            one["metadata"]["annotations"] = json!({RANGE: "10.9.0.0/24"})
        });
        scene.edit(&plane_id("clusters", "one"), |one| {
            one["spec"]["platform"]["azure"]["private"]["privateLink"]["natSubnetID"] = json!(id);
        });
        scene.settle();
        let said = scene.said(CREATED);
        assert!(
            said.starts_with("False NATSubnetCreationFailed: ")
                && said.contains("clusters-one-pls-nat: name it so"),
            "{said}"
        );
        assert!(scene.azure.is_empty());
        scene.delete_cluster("clusters", "one");
        scene.settle();
        assert!(scene.find(&connection_id("clusters", "one")).is_none());
    }
}

/// Objects that a person made before, with the names of ours.
#[test]
fn an_object_that_a_person_made_is_left_alone() {
    let cases = [
        ("PrivateLinkService", CREATED, "PLSCreationFailed"),
        (
            "PrivateEndpoint",
            AT_ENDPOINT,
            "PrivateEndpointCreationFailed",
        ),
        ("PrivateDnsZone", DNS, "DNSZoneCreationFailed"),
        (
            "PrivateDnsZonesVirtualNetworkLink",
            DNS,
            "VNetLinkCreationFailed",
        ),
        ("PrivateDnsZonesARecord", DNS, "ARecordCreationFailed"),
    ];
    let marks = [
        json!({}),
        json!({"annotations": {"capstan.dev/hosted-cluster": "others/two"}, "labels": {"app.kubernetes.io/managed-by": "capstan"}}),
        json!({"annotations": {"capstan.dev/hosted-cluster": "clusters/one"}, "labels": {"app.kubernetes.io/managed-by": "somebody"}}),
        json!({"annotations": {POLICY: "skip"}}),
    ];
    for (kind, condition, reason) in cases {
        let connected = Scene::connected();
        let ids = connected.fixture.snapshot.ids();
        let ids: Vec<ObjectId> = ids.filter(|id| id.kind == kind).cloned().collect();
        for marks in &marks {
            let mut scene = Scene::one();
            for id in &ids {
                let mut metadata = marks.clone();
                metadata["name"] = json!(id.name);
                metadata["namespace"] = json!(id.namespace);
                scene.put(json!({"apiVersion": "network.azure.com/v1api20240301", "kind": kind, "metadata": metadata, "spec": {"azureName": "mine"}}));
            }
            let before: Vec<Value> = ids.iter().map(|id| scene.live(id)).collect();
            scene.settle();
            let said = scene.said(condition);
            assert!(
                said.contains(reason) && said.ends_with("it is left alone"),
                "{kind} {marks}: {said}"
            );
            let after: Vec<Value> = ids.iter().map(|id| scene.live(id)).collect();
            assert_eq!(after, before, "{kind}");
            // Only the label is not theirs: the annotation says that the deletion is ours.
            if marks["labels"]["app.kubernetes.io/managed-by"] == "somebody" {
                continue;
            }
            scene.delete_cluster("clusters", "one");
            scene.settle();
            let after: Vec<Value> = ids.iter().map(|id| scene.live(id)).collect();
            assert_eq!(after, before, "{kind}");
            assert!(scene.find(&connection_id("clusters", "one")).is_none());
        }
    }
}

/// What is in Azure already, without our tag, or with that of another.
#[test]
fn what_is_in_azure_without_our_tag_is_never_managed_or_deleted() {
    let cases = [
        ("PrivateLinkService", CREATED, "PLSCreationFailed"),
        (
            "PrivateEndpoint",
            AT_ENDPOINT,
            "PrivateEndpointCreationFailed",
        ),
        ("PrivateDnsZone", DNS, "DNSZoneCreationFailed"),
    ];
    for (kind, condition, reason) in cases {
        let arms: Vec<String> = {
            let connected = Scene::connected();
            let ids = connected.in_azure(&format!("/{kind}/"));
            let ids = ids
                .into_iter()
                .filter(|id| id.rsplit('/').nth(1) == Some(kind));
            ids.map(str::to_owned).collect()
        };
        assert!(!arms.is_empty(), "{kind}");
        for tags in [
            json!(null),
            json!({"capstan.dev_hosted-cluster": "id-of-another"}),
            json!({"capstan.dev_hosted-cluster": ["id-clusters-one"]}),
        ] {
            let mut scene = Scene::one();
            for arm in &arms {
                let state = json!({"tags": tags, "alias": "a.b.c.azure.privatelinkservice", "address": "6.6.6.6", "state": "Pending"});
                scene.azure.insert(arm.clone(), state);
            }
            let before = scene.azure.clone();
            scene.settle();
            let said = scene.said(condition);
            assert!(said.contains(reason), "{kind} {tags}: {said}");
            // An endpoint that waits for its approval would not be ready, and nobody is to approve this one.
            assert!(
                kind == "PrivateEndpoint"
                    || said.ends_with("it is left alone: delete it, or give it another name"),
                "{said}"
            );
            let kept = |scene: &Scene| {
                arms.iter()
                    .all(|arm| scene.azure.get(arm) == before.get(arm))
            };
            assert!(kept(&scene), "{kind}");
            for id in scene.fixture.snapshot.ids().filter(|id| id.kind == kind) {
                assert_eq!(Live(&scene.live(id)).annotation(POLICY), "skip", "{id}");
            }
            scene.delete_cluster("clusters", "one");
            scene.settle();
            assert!(kept(&scene), "{kind}");
            assert_eq!(scene.azure.len(), arms.len());
            // Nor are the connections of others to it.
            assert!(!scene.rejected.iter().any(|id| arms.contains(id)));
            assert!(scene.find(&connection_id("clusters", "one")).is_none());
        }
    }
}

/// A resource with our tag is ours, even if its object was lost.
#[test]
fn what_is_in_azure_with_our_tag_is_taken_up_again() {
    let mut scene = Scene::connected();
    let before = scene.azure.clone();
    let ids = scene
        .fixture
        .snapshot
        .ids()
        .filter(|id| id.group == NETWORK)
        .cloned();
    for id in ids.collect::<Vec<_>>() {
        scene.fixture.snapshot.remove(&id);
    }
    scene.warnings();
    scene.settle();
    scene.assert_connected("clusters", "one");
    assert_eq!(
        scene.azure.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    // That it is looked at first is no fault.
    assert_eq!(scene.warnings(), Vec::<String>::new());
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.azure.is_empty());
}

/// Everything is one line, and nobody's text is cut into ours.
#[test]
fn texts_of_others_stay_on_one_line() {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    let id = scene.only("PrivateEndpoint");
    scene.fail(&id, "BadRequest", "Error", "a\n\tb\r\n\u{1b}[31mc");
    scene.settle();
    let said = scene.said(AT_ENDPOINT);
    assert!(!said.contains(['\n', '\r', '\t', '\u{1b}']), "{said:?}");
    let event = scene.fixture.events.last().unwrap();
    assert!(
        !event.message.contains(['\n', '\u{1b}']),
        "{:?}",
        event.message
    );
}
