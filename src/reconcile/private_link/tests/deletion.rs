//! The end of a connection: what is deleted in which order, and what is waited for.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    DNS_AVAILABLE as DNS, ENDPOINT_AVAILABLE as AT_ENDPOINT, SERVICE_CREATED as CREATED,
};
use crate::health::Live;
use crate::model::{AzureFault, ObjectId};
use crate::reconcile::private_link::Place;

const SERVICE_KIND: &str = "PrivateLinkService";
const ENDPOINT_KIND: &str = "PrivateEndpoint";
const RECORD: &str = "PrivateDnsZonesARecord";
const NOTHING: [String; 0] = [];

/// A cluster that is being deleted, while Azure Service Operator does nothing.
fn going() -> Scene {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    scene.delete_cluster("clusters", "one");
    scene
}

/// Azure Service Operator deletes all objects of a kind that are to be deleted.
fn let_go(scene: &mut Scene, kind: &str) {
    let ids = scene.fixture.snapshot.ids().cloned();
    let ids: Vec<ObjectId> = ids.filter(|id| id.kind == kind).collect();
    for id in ids {
        assert!(
            Live(&scene.live(&id)).is_deleting(),
            "{id} is not to be deleted"
        );
        scene.act_on(&id);
    }
    scene.settle();
}

fn is_deleting(scene: &Scene, kind: &str) -> bool {
    let ids = scene.fixture.snapshot.ids().filter(|id| id.kind == kind);
    let mut deleting = ids.map(|id| Live(&scene.live(id)).is_deleting());
    deleting.any(|one| one)
}

#[test]
fn records_go_before_links_zones_endpoint_and_service() {
    let mut scene = going();
    let order = [
        (RECORD, "PrivateDnsZonesVirtualNetworkLink"),
        ("PrivateDnsZonesVirtualNetworkLink", "PrivateDnsZone"),
        ("PrivateDnsZone", ENDPOINT_KIND),
        (ENDPOINT_KIND, SERVICE_KIND),
    ];
    scene.settle();
    for (kind, next) in order {
        assert!(is_deleting(&scene, kind), "{kind}");
        assert!(!is_deleting(&scene, next), "{next}");
        let_go(&mut scene, kind);
        assert_eq!(scene.named(kind), NOTHING);
    }
    assert_eq!(
        scene.connection("clusters", "one")["metadata"]["finalizers"],
        json!(["capstan.dev/private-link-service"])
    );
    let_go(&mut scene, SERVICE_KIND);
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
    assert_eq!(scene.rejected.len(), 1);
}

#[test]
fn a_deletion_says_what_it_waits_for_and_warns_of_nothing() {
    let mut scene = going();
    scene.warnings();
    scene.settle();
    assert!(
        scene
            .said(DNS)
            .starts_with("False Deleting: PrivateDnsZonesARecord clusters/one-"),
        "{}",
        scene.said(DNS)
    );
    let said = scene.said(CREATED);
    assert!(
        said.starts_with("False Deleting: ") && said.contains("capstan.dev/private-link-endpoint"),
        "{said}"
    );
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
    ] {
        let_go(&mut scene, kind);
    }
    assert_eq!(
        scene.said(DNS),
        "False Deleted: The names of the cluster are deleted"
    );
    assert!(
        scene
            .said(AT_ENDPOINT)
            .starts_with("False Deleting: PrivateEndpoint clusters/one-")
    );
    let_go(&mut scene, ENDPOINT_KIND);
    assert_eq!(
        scene.said(CREATED),
        format!(
            "False Deleting: PrivateLinkService {PLATFORM}/pls-id-clusters-one is being deleted"
        )
    );
    assert_eq!(scene.warnings(), NOTHING);
    // Nothing is done twice.
    for outcome in [scene.provide(), scene.connect()] {
        assert_eq!(verbs(&outcome), NOTHING);
    }
}

#[test]
fn what_azure_answers_to_a_deletion_is_reported() {
    let mut scene = going();
    scene.settle();
    let record = scene
        .fixture
        .snapshot
        .ids()
        .find(|id| id.kind == RECORD)
        .unwrap()
        .clone();
    scene.fail(
        &record,
        "AuthorizationFailed",
        "Warning",
        "line one\nline two",
    );
    scene.settle();
    let said = scene.said(DNS);
    assert!(
        said.ends_with(
            "Azure API permission denied, check service principal permissions: line one line two"
        ),
        "{said}"
    );
    assert!(scene.find(&connection_id("clusters", "one")).is_some());
    assert!(!is_deleting(&scene, ENDPOINT_KIND));
}

#[test]
fn what_is_gone_already_is_not_waited_for() {
    let mut scene = going();
    let ids = scene
        .fixture
        .snapshot
        .ids()
        .filter(|id| id.group == NETWORK)
        .cloned();
    for id in ids.collect::<Vec<_>>() {
        scene.fixture.snapshot.remove(&id);
    }
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert_eq!(scene.rejected, NOTHING);
}

#[test]
fn connections_of_others_are_rejected_before_the_service_goes() {
    let mut scene = Scene::connected();
    let arm = scene.field("privateLinkServiceID");
    scene.connections = vec![Ok(2), Ok(1)];
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert_eq!(scene.rejected, [arm.as_str()]);
    assert_eq!(
        scene.said(CREATED),
        "False Deleting: 2 connections to the service are being rejected"
    );
    assert!(!is_deleting(&scene, SERVICE_KIND));
    let wake = scene.provide().wake.unwrap();
    assert_eq!(wake.duration_since(scene.fixture.now).as_secs(), 30);
    scene.wait(30);
    assert_eq!(
        scene.said(CREATED),
        "False Deleting: 1 connections to the service are being rejected"
    );
    assert!(!is_deleting(&scene, SERVICE_KIND));
    scene.wait(30);
    assert_eq!(scene.rejected.len(), 3);
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert!(scene.azure.is_empty());
}

#[test]
fn a_connection_that_comes_while_the_service_goes_is_rejected_too() {
    let mut scene = going();
    scene.settle();
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
        ENDPOINT_KIND,
    ] {
        let_go(&mut scene, kind);
    }
    assert!(is_deleting(&scene, SERVICE_KIND) && scene.rejected.len() == 1);
    let service = scene.only(SERVICE_KIND);
    scene.wait(60);
    assert_eq!(scene.rejected.len(), 1);
    scene.fail(
        &service,
        "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted",
        "Warning",
        "one is left",
    );
    scene.settle();
    assert_eq!(scene.rejected.len(), 2);
    assert!(
        scene.said(CREATED).ends_with("one is left"),
        "{}",
        scene.said(CREATED)
    );
}

#[test]
fn a_service_stays_while_nobody_knows_its_connections() {
    let mut scene = going();
    scene.connections = vec![Err(azure_error(AzureFault::Denied)); 30];
    scene.settle_without_questions();
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
        ENDPOINT_KIND,
    ] {
        let ids = scene.fixture.snapshot.ids().cloned();
        for id in ids.filter(|id| id.kind == kind).collect::<Vec<_>>() {
            scene.act_on(&id);
        }
        scene.settle_without_questions();
    }
    assert_eq!(
        scene.said(CREATED),
        format!("False Deleting: {}", azure_error(AzureFault::Denied))
    );
    assert!(!is_deleting(&scene, SERVICE_KIND));
    // The runtime asks again, at its own pace.
    assert_eq!(verbs(&scene.provide()), ["reject"]);
    assert!(scene.find(&connection_id("clusters", "one")).is_some());
}

#[test]
fn without_a_management_side_it_is_said_why_the_service_stays() {
    let mut scene = going();
    scene.settle();
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
    ] {
        let_go(&mut scene, kind);
    }
    scene.set(|settings| settings.place = Place::Unknown);
    let_go(&mut scene, ENDPOINT_KIND);
    let said = scene.said(CREATED);
    assert!(
        said.starts_with("False Deleting: ") && said.contains("spec.privateLink.management"),
        "{said}"
    );
}

/// A finalizer is all that is left of a status that was lost.
#[test]
fn all_is_found_by_its_name() {
    for has_hosted in [true, false] {
        let mut scene = Scene::connected();
        scene.edit(&connection_id("clusters", "one"), |one| {
            one.as_object_mut().unwrap().remove("status");
            if has_hosted {
                let annotations = one["metadata"]["annotations"].as_object_mut().unwrap();
                annotations.remove("capstan.dev/private-link-service");
            }
        });
        if !has_hosted {
            scene.fixture.snapshot.remove(&hosted_id("clusters", "one"));
        }
        scene.delete_cluster("clusters", "one");
        scene.settle();
        assert!(scene.find(&connection_id("clusters", "one")).is_none());
        assert!(scene.azure.is_empty(), "{:?}", scene.azure);
    }
}

/// Otherwise, its resources would stay for ever.
#[test]
fn an_object_that_names_no_cluster_any_more_is_not_let_go() {
    let mut scene = Scene::connected();
    scene.delete(&plane_id("clusters", "one"));
    let id = connection_id("clusters", "one");
    let set = |scene: &mut Scene, cluster: &str| {
        scene.edit(&id, |one| {
            one["metadata"]["annotations"]["hypershift.openshift.io/cluster"] = json!(cluster);
        });
    };
    set(&mut scene, "nonsense");
    scene.delete(&id);
    scene.settle();
    for kind in ["AzureInternalLoadBalancerAvailable", AT_ENDPOINT] {
        let said = scene.said(kind);
        assert!(
            said.starts_with("False InvalidObject: ") && said.contains("remove the finalizer"),
            "{said}"
        );
    }
    assert!(!scene.azure.is_empty());
    set(&mut scene, "clusters/one");
    scene.settle();
    assert!(scene.find(&id).is_none());
    assert!(scene.azure.is_empty());
}

#[test]
fn an_object_for_which_nothing_was_made_is_gone_at_once() {
    for cluster in ["clusters/one", "nonsense"] {
        let mut scene = Scene::one();
        scene.frontend = None;
        scene.edit(&hosted_id("clusters", "one"), |one| {
            one["spec"]["clusterID"] = Value::Null
        });
        scene.settle();
        let id = connection_id("clusters", "one");
        scene.edit(&id, |one| {
            one["metadata"]["annotations"]["hypershift.openshift.io/cluster"] = json!(cluster);
        });
        scene.delete_cluster("clusters", "one");
        assert!(scene.find(&id).is_none(), "{cluster}");
    }
}

/// The credential is needed until the last resource is gone.
#[test]
fn the_credential_goes_last() {
    let mut scene = Scene::one();
    scene.identity("clusters", "customer", &json!({}));
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] =
            json!({"capstan.dev/private-link-identity": "clusters/customer"});
    });
    scene.settle();
    let secret = ObjectId::new("", "Secret", "clusters", "one-private-link-aso-secret");
    scene.has_aso = false;
    scene.delete_cluster("clusters", "one");
    // Somebody deletes it too early.
    scene.delete(&secret);
    scene.settle();
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
        ENDPOINT_KIND,
    ] {
        assert!(scene.find(&secret).is_some(), "{kind}");
        let_go(&mut scene, kind);
    }
    assert!(scene.find(&secret).is_none());
    assert_eq!(
        scene.connection("clusters", "one")["metadata"]["finalizers"],
        json!(["capstan.dev/private-link-service"])
    );
}

#[test]
fn a_control_plane_that_goes_makes_no_new_endpoint() {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.settle();
    scene.delete_cluster("clusters", "one");
    scene.has_aso = true;
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert_eq!(scene.named(ENDPOINT_KIND), NOTHING);
    assert!(scene.azure.is_empty());
}

/// The namespace is deleted with all that is in it: without the credential nothing of the cluster could be deleted in Azure.
#[test]
fn a_secret_that_a_person_made_stays_until_nothing_needs_it() {
    let mut scene = Scene::one();
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] =
            json!({"capstan.dev/private-link-credential-from": "mine"});
    });
    scene.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine", "namespace": "clusters"}}));
    scene.settle();
    scene.assert_connected("clusters", "one");
    let secret = ObjectId::new("", "Secret", "clusters", "mine");
    scene.has_aso = false;
    scene.delete_cluster("clusters", "one");
    scene.delete(&secret);
    scene.settle();
    for kind in [
        RECORD,
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZone",
        ENDPOINT_KIND,
    ] {
        assert!(scene.find(&secret).is_some(), "{kind}");
        let_go(&mut scene, kind);
    }
    assert!(scene.find(&secret).is_none());
    let_go(&mut scene, SERVICE_KIND);
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
}
