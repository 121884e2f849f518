//! What went wrong elsewhere, each with the test that it does not here.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    AVAILABLE, CONDITIONS, DNS_AVAILABLE as DNS, ENDPOINT_AVAILABLE as AT_ENDPOINT,
    LOAD_BALANCER_AVAILABLE as BALANCER, SERVICE_CREATED as CREATED,
};
use crate::health::Live;
use crate::model::{AzureFault, Frontend, ObjectId};
use crate::reconcile::outcome::{Need, Write};

const SERVICE_KIND: &str = "PrivateLinkService";
const ENDPOINT_KIND: &str = "PrivateEndpoint";
const RECORD: &str = "PrivateDnsZonesARecord";

fn private_link(one: &mut Value) -> &mut Value {
    &mut one["spec"]["platform"]["azure"]["private"]["privateLink"]
}

// 1
#[test]
fn a_cluster_without_a_subnet_learns_what_to_set() {
    for shape in [json!({}), json!(null)] {
        let mut scene = Scene::one();
        scene.edit(&plane_id("clusters", "one"), |one| {
            *private_link(one) = shape
        });
        scene.settle();
        let said = scene.said(CREATED);
        assert!(
            said.starts_with("False NATSubnetCreationFailed: ")
                && said.contains("set natSubnetID, or natSubnet with a range"),
            "{said}"
        );
        assert!(scene.azure.is_empty());
    }
}

// 2
#[test]
fn available_is_never_true_before_the_endpoint_and_the_names() {
    let mut scene = Scene::one();
    scene.has_aso = false;
    let mut steps = 0;
    loop {
        scene.settle();
        let connection = scene.connection("clusters", "one");
        let live = Live(&connection);
        let parts = CONDITIONS.iter().filter(|kind| **kind != AVAILABLE);
        let all = parts.clone().all(|kind| live.holds(kind));
        assert_eq!(live.holds(AVAILABLE), all, "{connection:#}");
        // One thing after the other.
        let ids = scene
            .fixture
            .snapshot
            .ids()
            .filter(|id| id.group == NETWORK)
            .cloned();
        let ids: Vec<ObjectId> = ids.collect();
        if !ids.iter().any(|id| scene.act_on(id).is_some()) {
            assert!(all);
            break;
        }
        steps += 1;
    }
    assert!(steps > 10, "{steps}");
    // And it is not, once one of them is not.
    for kind in [
        "PrivateLinkService",
        ENDPOINT_KIND,
        "PrivateDnsZone",
        RECORD,
    ] {
        let mut scene = Scene::connected();
        scene.has_aso = false;
        let id = scene
            .fixture
            .snapshot
            .ids()
            .find(|id| id.kind == kind)
            .unwrap()
            .clone();
        scene.fail(&id, "BadRequest", "Error", "");
        scene.settle();
        assert!(
            scene.said(AVAILABLE).starts_with("False AzureError: "),
            "{kind}"
        );
    }
}

/// Each condition has one owner, and no other drops it.
#[test]
fn no_condition_is_written_by_two_controllers() {
    let mut scene = Scene::connected();
    let id = connection_id("clusters", "one");
    scene.edit(&id, |one| one["spec"]["loadBalancerIP"] = json!("10.0.0.9"));
    let types = |outcome: &crate::reconcile::outcome::Outcome| -> Vec<String> {
        let status = outcome.writes.iter().find_map(|write| match write {
            Write::Status(patch) if Live(patch).id() == id => Some(patch),
            _ => None,
        });
        let list = Live(status.unwrap()).list(&["status", "conditions"]);
        list.iter()
            .map(|one| one["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let (service, endpoint) = (types(&scene.provide()), types(&scene.connect()));
    assert_eq!(service, [BALANCER, CREATED]);
    assert_eq!(endpoint, [AT_ENDPOINT, DNS, AVAILABLE]);
}

// 3
#[test]
fn the_condition_of_the_load_balancer_becomes_false() {
    let mut scene = Scene::connected();
    scene.frontend = Some(Err(azure_error(AzureFault::NotFound)));
    scene.settle();
    assert!(scene.said(BALANCER).starts_with("False ILBNotFound: "));
    // The service is not at fault: it stays as it was made.
    assert!(scene.said(CREATED).starts_with("True "));
    assert!(scene.said(AVAILABLE).starts_with("False "));
}

// 4
#[test]
fn the_service_follows_an_address_that_changes() {
    let mut scene = Scene::connected();
    let before = scene.live(&scene.only(SERVICE_KIND));
    let balancer = found().load_balancer.replace("internal", "other");
    scene.frontend = Some(Ok(Frontend {
        id: format!("{balancer}/frontendIPConfigurations/a2"),
        load_balancer: balancer.clone(),
        location: "uksouth".to_owned(),
    }));
    scene.edit(&router_id("clusters", "one"), |one| {
        one["status"]["loadBalancer"]["ingress"] = json!([{"ip": "10.0.0.9"}])
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    let after = scene.live(&scene.only(SERVICE_KIND));
    let frontends = "loadBalancerFrontendIpConfigurations";
    assert_eq!(
        after["spec"][frontends],
        json!([{"reference": {"armId": format!("{balancer}/frontendIPConfigurations/a2")}}])
    );
    assert_eq!(scene.field("internalLoadBalancerID"), balancer);
    // The same service, so that the endpoint stays connected.
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
}

#[test]
fn drift_of_each_property_of_the_service_is_repaired() {
    let mut scene = Scene::connected();
    let id = scene.only(SERVICE_KIND);
    let before = scene.live(&id)["spec"].clone();
    for (field, value) in [
        ("location", json!("westeurope")),
        ("tags", json!({})),
        ("ipConfigurations", json!([])),
        ("loadBalancerFrontendIpConfigurations", json!([])),
        ("visibility", json!({"subscriptions": ["*"]})),
        ("autoApproval", json!({"subscriptions": [GUEST, HUB]})),
        ("enableProxyProtocol", json!(true)),
    ] {
        scene.edit(&id, |one| one["spec"][field] = value.clone());
        scene.settle();
        assert_eq!(scene.live(&id)["spec"], before, "{field}");
    }
    scene.assert_connected("clusters", "one");
}

// 5
#[test]
fn an_endpoint_of_a_service_that_was_made_again_is_made_again() {
    let mut scene = Scene::connected();
    let (service, endpoint) = (scene.only(SERVICE_KIND), scene.only(ENDPOINT_KIND));
    let old = scene.live(&endpoint)["metadata"]["uid"].clone();
    let alias = scene.field("privateLinkServiceAlias");
    let arm = scene.arm(&scene.live(&service)).unwrap();
    scene.azure.remove(&arm);
    scene.settle();
    assert_ne!(scene.field("privateLinkServiceAlias"), alias);
    let new = scene.live(&endpoint);
    assert_ne!(new["metadata"]["uid"], old);
    assert_eq!(
        Live(&new).annotation("capstan.dev/private-link-alias"),
        scene.field("privateLinkServiceAlias")
    );
    scene.assert_connected("clusters", "one");
}

#[test]
fn an_endpoint_that_was_rejected_is_made_again_after_a_while() {
    let mut scene = Scene::connected();
    let endpoint = scene.only(ENDPOINT_KIND);
    let old = scene.live(&endpoint)["metadata"]["uid"].clone();
    let arm = scene.arm(&scene.live(&endpoint)).unwrap();
    scene.azure.get_mut(&arm).unwrap()["state"] = json!("Rejected");
    scene.settle();
    assert!(
        scene
            .said(AT_ENDPOINT)
            .starts_with("False PrivateEndpointConnectionNotApproved: ")
    );
    let wake = scene.connect().wake.unwrap();
    assert_eq!(wake.duration_since(scene.fixture.now).as_secs(), 600);
    scene.wait(599);
    assert_eq!(scene.live(&endpoint)["metadata"]["uid"], old);
    scene.wait(1);
    assert_ne!(scene.live(&endpoint)["metadata"]["uid"], old);
    scene.assert_connected("clusters", "one");
    // A disconnected one is not waited for.
    scene.azure.get_mut(&arm).unwrap()["state"] = json!("Disconnected");
    scene.settle();
    scene.assert_connected("clusters", "one");
}

// 6
#[test]
fn clusters_of_one_resource_group_never_adopt_each_others_resources() {
    let mut scene = Scene::connected();
    scene.cluster("others", "two");
    // One of the same name, in another resource group: its endpoint has another name all the same.
    scene.cluster("others", "one");
    scene.edit(&plane_id("others", "one"), |one| {
        one["spec"]["platform"]["azure"]["resourceGroup"] = json!("rg-2")
    });
    scene.settle();
    for (namespace, name) in [("clusters", "one"), ("others", "two"), ("others", "one")] {
        scene.assert_connected(namespace, name);
    }
    let name = |id: &&str| id.rsplit('/').next().unwrap().to_owned();
    for kind in [SERVICE_KIND, ENDPOINT_KIND] {
        let ids = scene.in_azure(&format!("/{kind}/"));
        let mut names: Vec<String> = ids.iter().map(name).collect();
        names.dedup();
        assert_eq!(names.len(), 3, "{names:?}");
    }
}

// 7
#[test]
fn a_zone_is_shared_within_its_resource_group_only() {
    let mut scene = Scene::connected();
    scene.cluster("clusters", "two");
    scene.edit(&plane_id("clusters", "two"), |one| {
        one["spec"]["platform"]["azure"]["resourceGroup"] = json!("rg-2")
    });
    scene.settle();
    assert_eq!(
        scene
            .in_azure("resourcegroups/rg/PrivateDnsZone/ext.example.com")
            .len(),
        4
    );
    assert_eq!(
        scene
            .in_azure("resourcegroups/rg-2/PrivateDnsZone/ext.example.com")
            .len(),
        4
    );
    // Azure links a network to one zone of a name: what it says is not swallowed.
    scene.has_aso = false;
    let links = scene
        .fixture
        .snapshot
        .ids()
        .filter(|id| id.kind == "PrivateDnsZonesVirtualNetworkLink")
        .cloned();
    let of_zone = |id: &ObjectId| {
        let arm = scene.arm(&scene.live(id)).unwrap();
        arm.contains("rg-2/PrivateDnsZone/ext.example.com")
    };
    let link = links.collect::<Vec<_>>().into_iter().find(of_zone).unwrap();
    scene.fail(
        &link,
        "BadRequest",
        "Error",
        "A virtual network cannot be linked: already linked to the virtual network",
    );
    scene.settle();
    let said = scene.said_of(&connection_id("clusters", "two"), DNS);
    assert!(
        said.starts_with("False BaseDomainVNetLinkCreationFailed: ")
            && said.contains("already linked"),
        "{said}"
    );
    scene.assert_connected("clusters", "one");
    // The other group's zone goes with its own cluster.
    scene.has_aso = true;
    scene.delete_cluster("clusters", "two");
    scene.settle();
    assert_eq!(scene.in_azure("resourcegroups/rg-2/").len(), 0);
    scene.assert_connected("clusters", "one");
}

// 8
#[test]
fn the_end_of_one_cluster_takes_no_names_of_another() {
    let mut scene = Scene::connected();
    scene.cluster("clusters", "two");
    scene.settle();
    let of_two = |scene: &Scene| -> Vec<String> {
        let ids = scene
            .azure
            .keys()
            .filter(|id| id.contains("/two") || id.contains("-two"));
        ids.cloned().collect()
    };
    let before = of_two(&scene);
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert_eq!(of_two(&scene), before);
    for part in ["/one", "-one"] {
        assert_eq!(scene.in_azure(part), Vec::<&str>::new());
    }
    assert_eq!(scene.in_azure("PrivateDnsZone/ext.example.com").len(), 4);
    scene.assert_connected("clusters", "two");
}

// 9
#[test]
fn a_service_whose_status_was_never_written_is_deleted() {
    let mut scene = Scene::one();
    scene.settle();
    scene.edit(&connection_id("clusters", "one"), |one| {
        one["status"] = json!({})
    });
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
}

// 10
#[test]
fn a_pause_ends_by_itself_and_a_cluster_that_is_missing_is_not_polled() {
    let mut scene = Scene::one();
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["spec"]["pausedUntil"] = json!("true")
    });
    scene.settle();
    for outcome in [scene.provide(), scene.connect()] {
        assert!(outcome.writes.is_empty() && outcome.wake.is_none());
        assert!(
            outcome
                .needs
                .contains(&Need::Object(hosted_id("clusters", "one")))
        );
    }
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["spec"]["pausedUntil"] = json!("2026-01-01T00:00:30Z")
    });
    scene.settle();
    scene.wait(30);
    scene.assert_connected("clusters", "one");
    scene.fixture.snapshot.remove(&hosted_id("clusters", "one"));
    scene.settle();
    for outcome in [scene.provide(), scene.connect()] {
        assert!(outcome.writes.is_empty() && outcome.wake.is_none());
    }
    for kind in [BALANCER, AT_ENDPOINT] {
        assert!(
            scene
                .said(kind)
                .starts_with("False HostedClusterNotFound: ")
        );
    }
}

// 11
#[test]
fn the_condition_of_the_names_does_not_go_back_and_forth() {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    let zones = scene
        .fixture
        .snapshot
        .ids()
        .filter(|id| id.kind == "PrivateDnsZone" && id.name.starts_with("ext."));
    let zone = zones.cloned().collect::<Vec<_>>().remove(0);
    scene.fail(&zone, "BadRequest", "Error", "no");
    scene.settle();
    let said = scene.said(DNS);
    assert!(said.starts_with("False BaseDomainDNSZoneCreationFailed: "));
    for _ in 0..3 {
        scene.wait(60);
        assert_eq!(scene.said(DNS), said);
        assert_eq!(verbs(&scene.connect()), Vec::<String>::new());
    }
    // And the endpoint is not said to be there before it has an address.
    let mut scene = Scene::one();
    scene.settle();
    let endpoint = scene.only(ENDPOINT_KIND);
    scene.fixture.snapshot.remove(&ObjectId::new(
        "",
        "ConfigMap",
        &*endpoint.namespace,
        &*endpoint.name,
    ));
    scene.has_aso = false;
    scene.settle();
    assert!(
        scene
            .said(AT_ENDPOINT)
            .starts_with("False WaitingForEndpoint: Waiting for the address")
    );
}

// 13
#[test]
fn the_domain_of_a_cluster_never_becomes_a_private_zone() {
    let mut scene = Scene::one();
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["dns"]["baseDomain"] = json!("example.com");
        one["spec"]["services"][0]["servicePublishingStrategy"] = json!({"type": "Route"});
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    assert_eq!(scene.named("PrivateDnsZone").len(), 1);
    assert_eq!(scene.in_azure("example.com"), Vec::<&str>::new());
}

// 14
#[test]
fn the_object_is_held_before_anything_is_made() {
    let mut scene = Scene::one();
    let outcome = scene.observe();
    scene.perform("capstan-private-link-observer", outcome);
    let id = connection_id("clusters", "one");
    let holds = |write: &Write, finalizer: &str| match write {
        Write::Apply(patch) => {
            Live(patch).id() == id && patch["metadata"]["finalizers"] == json!([finalizer])
        }
        _ => false,
    };
    assert!(holds(
        &scene.provide().writes[0],
        "capstan.dev/private-link-service"
    ));
    let mut connected = Scene::connected();
    connected.edit(&id, |one| {
        one["metadata"]["finalizers"] = json!(["capstan.dev/private-link-service"])
    });
    assert!(holds(
        &connected.connect().writes[0],
        "capstan.dev/private-link-endpoint"
    ));
    // The control plane and its cluster may be gone before: all is deleted all the same.
    let mut scene = Scene::connected();
    for id in [
        plane_id("clusters", "one"),
        hosted_id("clusters", "one"),
        router_id("clusters", "one"),
    ] {
        scene.fixture.snapshot.remove(&id);
    }
    scene.delete(&id);
    scene.settle();
    assert!(scene.find(&id).is_none());
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
}

// 15
#[test]
fn an_address_counts_in_its_network_only() {
    let request = |network: &str| {
        let mut scene = Scene::one();
        scene.edit(&plane_id("clusters", "one"), |one| {
            private_link(one)["natSubnetID"] =
                json!(hub(&format!("virtualNetworks/{network}/subnets/nat")));
        });
        scene.settle();
        let needs = scene.provide().needs;
        let found = needs.into_iter().find_map(|need| match need {
            Need::Frontend(request) => Some(request),
            _ => None,
        });
        found.unwrap()
    };
    let (one, two) = (request("hub"), request("other"));
    assert_eq!(
        (&one.address, &one.resource_group),
        (&two.address, &two.resource_group)
    );
    assert_eq!(one.network, hub("virtualNetworks/hub"));
    assert_eq!(two.network, hub("virtualNetworks/other"));
    let mut scene = Scene::one();
    scene.frontend = Some(Err(azure_error(AzureFault::Ambiguous)));
    scene.settle();
    assert!(scene.said(BALANCER).starts_with("False ILBAmbiguous: "));
    assert!(scene.azure.is_empty());
}

#[test]
fn subscriptions_in_capitals_are_no_drift() {
    let mut scene = Scene::one();
    scene.edit(&plane_id("clusters", "one"), |one| {
        private_link(one)["additionalAllowedSubscriptions"] =
            json!([HUB.to_uppercase(), HUB, GUEST.to_uppercase()]);
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    let service = scene.live(&scene.only(SERVICE_KIND));
    assert_eq!(
        service["spec"]["autoApproval"]["subscriptions"],
        json!([GUEST, HUB])
    );
}

// 16
#[test]
fn the_service_is_not_touched_before_the_endpoint_is_gone() {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    scene.delete_cluster("clusters", "one");
    scene.settle();
    let said = scene.said(CREATED);
    assert!(
        said.starts_with("False Deleting: ") && said.contains("once the endpoint and the names"),
        "{said}"
    );
    assert_eq!(scene.rejected, Vec::<String>::new());
    assert_eq!(verbs(&scene.provide()), Vec::<String>::new());
    scene.has_aso = true;
    scene.settle();
    assert!(scene.azure.is_empty());
}

#[test]
fn the_subscription_of_the_cluster_need_not_be_listed() {
    let mut scene = Scene::one();
    let other = "00000000-52a4-4b6b-9a51-2f1f0d9c7a12";
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["platform"]["azure"]["subnetID"] =
            json!(guest("virtualNetworks/vnet/subnets/nodes").replace(GUEST, other));
    });
    scene.settle();
    let service = scene.live(&scene.only(SERVICE_KIND));
    assert_eq!(
        service["spec"]["autoApproval"]["subscriptions"],
        json!([other])
    );
}

// 17
#[test]
fn the_network_may_be_in_another_resource_group_than_the_services() {
    let scene = Scene::connected();
    let service = scene.live(&scene.only(SERVICE_KIND));
    assert_eq!(
        service["spec"]["owner"]["armId"],
        json!(format!("/subscriptions/{HUB}/resourceGroups/hub"))
    );
    let subnet = &service["spec"]["ipConfigurations"][0]["subnet"]["reference"]["armId"];
    assert!(
        subnet
            .as_str()
            .unwrap()
            .contains("/resourceGroups/hub-net/")
    );
}

/// After its writes a decision has nothing more to write.
#[test]
fn a_connected_cluster_costs_no_writes() {
    let mut scene = Scene::connected();
    for _ in 0..3 {
        for outcome in [scene.observe(), scene.provide(), scene.connect()] {
            assert_eq!(verbs(&outcome), Vec::<String>::new());
            assert_eq!(outcome.events, Vec::new());
        }
        scene.wait(600);
    }
}
