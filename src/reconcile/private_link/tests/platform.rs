//! The platform controller: the load balancer, the subnet and the service.

#![allow(clippy::unwrap_used)]

use jiff::Timestamp;
use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    AVAILABLE, LOAD_BALANCER_AVAILABLE as BALANCER, SERVICE_CREATED as CREATED,
};
use crate::health::Live;
use crate::model::{AzureFault, FrontendRequest, ObjectId};
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::private_link::Place;
use crate::reconcile::world::GroupKind;

const SERVICE_KIND: &str = "PrivateLinkService";
const RANGE: &str = "capstan.dev/nat-subnet-range";

/// Azure Service Operator and Azure Resource Manager do nothing by themselves.
fn still() -> Scene {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.settle();
    scene
}

fn service_of(scene: &Scene) -> Value {
    scene.live(&scene.only(SERVICE_KIND))
}

fn spec_edited(field: &str, value: &Value) -> Scene {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.settle();
    scene.edit(&connection_id("clusters", "one"), |one| {
        one["spec"][field] = value.clone();
    });
    scene
}

fn request(outcome: &Outcome) -> Option<&FrontendRequest> {
    outcome.needs.iter().find_map(|need| match need {
        Need::Frontend(request) => Some(request),
        _ => None,
    })
}

#[test]
fn a_load_balancer_is_needed_before_anything_is_made() {
    let mut scene = Scene::one();
    scene.frontend = None;
    scene.settle();
    let outcome = scene.provide();
    let request = request(&outcome).unwrap();
    assert_eq!(request.subscription, HUB);
    assert_eq!(request.resource_group, "hub");
    assert_eq!(request.network, hub("virtualNetworks/hub"));
    assert_eq!(request.address, ADDRESS);
    assert_eq!(request.caller.identity.name, "management");
    assert_eq!(request.caller.namespace, PLATFORM);
    assert_eq!(
        scene.said(BALANCER),
        format!(
            "False WaitingForLoadBalancer: Looking for the load balancer with the address {ADDRESS}"
        )
    );
    assert_eq!(
        scene.said(CREATED),
        "False WaitingForLoadBalancer: Waiting for the load balancer"
    );
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
    assert_eq!(scene.warnings(), Vec::<String>::new());
}

#[test]
fn without_an_address_the_router_is_waited_for() {
    let scene = spec_edited("loadBalancerIP", &Value::Null);
    let outcome = scene.provide();
    assert_eq!(request(&outcome), None);
    assert_eq!(
        verbs(&outcome),
        ["status AzurePrivateLinkService clusters-one/private-router"]
    );
}

/// The answers of Azure, and what a person reads.
#[test]
fn each_failure_to_find_the_load_balancer_has_its_reason() {
    let cases = [
        (AzureFault::NotFound, "ILBNotFound"),
        (AzureFault::Ambiguous, "ILBAmbiguous"),
        (AzureFault::Denied, "ILBLookupFailed"),
        (AzureFault::Throttled, "ILBLookupFailed"),
        (AzureFault::Conflict, "ILBLookupFailed"),
        (AzureFault::Other, "ILBLookupFailed"),
    ];
    for (fault, reason) in cases {
        let mut scene = Scene::one();
        scene.frontend = Some(Err(azure_error(fault)));
        scene.settle();
        let text = azure_error(fault).to_string();
        assert_eq!(scene.said(BALANCER), format!("False {reason}: {text}"));
        assert!(scene.said(AVAILABLE).starts_with("False AzureError: "));
        assert_eq!(scene.warnings(), [reason]);
        assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
    }
}

#[test]
fn the_service_has_the_frontend_the_subnet_and_the_subscriptions() {
    let scene = still();
    let service = service_of(&scene);
    assert_eq!(
        scene.only(SERVICE_KIND),
        ObjectId::new(NETWORK, SERVICE_KIND, PLATFORM, "pls-id-clusters-one")
    );
    let wanted = json!({
        "azureName": "pls-id-clusters-one",
        "owner": {"armId": format!("/subscriptions/{HUB}/resourceGroups/hub")},
        "location": "uksouth",
        "tags": {
            "capstan.dev_hosted-cluster": "id-clusters-one",
            "hypershift.openshift.io_resource-type": "private-link-service",
            "kubernetes.io_cluster_one": "owned",
        },
        "loadBalancerFrontendIpConfigurations": [{"reference": {"armId": found().id}}],
        "ipConfigurations": [{
            "name": "pls-nat-ip",
            "primary": true,
            "privateIPAllocationMethod": "Dynamic",
            "subnet": {"reference": {"armId": hub("virtualNetworks/hub/subnets/nat")}},
        }],
        "visibility": {"subscriptions": [GUEST]},
        "autoApproval": {"subscriptions": [GUEST]},
        "enableProxyProtocol": false,
    });
    assert_eq!(service["spec"], wanted);
    assert_eq!(service["apiVersion"], "network.azure.com/v1api20240301");
    let annotations = json!({
        "capstan.dev/hosted-cluster": "clusters/one",
        // Azure may have one of this name.
        "serviceoperator.azure.com/reconcile-policy": "skip",
        "serviceoperator.azure.com/credential-from": "capstan-private-link-aso-secret",
    });
    assert_eq!(service["metadata"]["annotations"], annotations);
    let connection = scene.connection("clusters", "one");
    assert_eq!(
        connection["metadata"]["finalizers"],
        json!(["capstan.dev/private-link-service"])
    );
    let name = Live(&connection)
        .annotation("capstan.dev/private-link-service")
        .to_owned();
    assert_eq!(name, "pls-id-clusters-one");
    assert!(scene.said(BALANCER).starts_with("True AzureSuccess"));
    assert_eq!(scene.field("internalLoadBalancerID"), found().load_balancer);
    assert_eq!(
        scene.said(CREATED).split(':').next(),
        Some("False WaitingForService")
    );
}

#[test]
fn the_version_that_the_cluster_serves_is_written() {
    let mut scene = Scene::one();
    let kind = GroupKind::new(NETWORK, SERVICE_KIND);
    scene.fixture.snapshot.set_version(&kind, "v20250301");
    scene.settle();
    assert_eq!(
        service_of(&scene)["apiVersion"],
        "network.azure.com/v20250301"
    );
}

#[test]
fn a_service_that_azure_has_is_reported() {
    let mut scene = Scene::connected();
    let service = service_of(&scene);
    let live = Live(&service);
    assert_eq!(
        scene.said(CREATED),
        "True AzureSuccess: Azure Private Link Service is ready"
    );
    assert_eq!(
        scene.field("privateLinkServiceID"),
        live.text(&["status", "id"])
    );
    assert_eq!(
        scene.field("privateLinkServiceAlias"),
        live.text(&["status", "alias"])
    );
    assert_eq!(
        live.annotation("serviceoperator.azure.com/reconcile-policy"),
        "manage"
    );
    // One without an alias cannot be connected to.
    let id = live.id();
    scene.has_aso = false;
    scene.edit(&id, |one| one["status"]["alias"] = Value::Null);
    scene.settle();
    assert_eq!(
        scene.said(CREATED),
        "False WaitingForService: Waiting for the alias of the Private Link Service"
    );
}

/// Each subscription once, however it is written, and that of the subnet always.
#[test]
fn the_subscriptions_are_the_clusters_and_those_that_are_allowed_besides() {
    let upper = GUEST.to_uppercase();
    let cases = [
        (json!(null), json!(null), json!([GUEST])),
        (json!([GUEST]), json!(null), json!([GUEST])),
        (json!([upper]), json!(null), json!([GUEST])),
        (json!([GUEST, HUB]), json!(null), json!([GUEST, HUB])),
        (json!([HUB, GUEST, HUB]), json!(null), json!([GUEST, HUB])),
        (json!(null), json!([HUB]), json!([GUEST, HUB])),
        (json!("x"), json!([1, {}]), json!([GUEST])),
    ];
    for (additional, allowed, wanted) in cases {
        let mut scene = spec_edited("additionalAllowedSubscriptions", &additional);
        scene.edit(&connection_id("clusters", "one"), |one| {
            one["spec"]["allowedSubscriptions"] = allowed.clone();
        });
        // The observer would take them out.
        let outcome = scene.provide();
        let patch = applied(&outcome, SERVICE_KIND);
        let service = patch.cloned().unwrap_or_else(|| service_of(&scene));
        for list in ["visibility", "autoApproval"] {
            assert_eq!(
                service["spec"][list]["subscriptions"], wanted,
                "{additional} {allowed}"
            );
        }
    }
}

/// The order in which somebody writes them is no change.
#[test]
fn subscriptions_in_another_order_change_nothing() {
    let mut scene = spec_edited("additionalAllowedSubscriptions", &json!([HUB, GUEST]));
    let outcome = scene.provide();
    assert!(applied(&outcome, SERVICE_KIND).is_some());
    scene.perform("capstan-private-link-platform", outcome);
    scene.edit(&connection_id("clusters", "one"), |one| {
        one["spec"]["additionalAllowedSubscriptions"] = json!([GUEST, HUB.to_uppercase()]);
    });
    assert_eq!(applied(&scene.provide(), SERVICE_KIND), None);
}

/// The reasons by which Azure Service Operator reports what Azure answered, in place of the codes of HTTP.
#[test]
fn errors_of_azure_are_classified() {
    let cases = [
        (
            "AuthorizationFailed",
            "Warning",
            "PLSCreationFailed",
            "Azure API permission denied, check service principal permissions: why",
        ),
        (
            "TooManyRequests",
            "Warning",
            "PLSCreationFailed",
            "Azure API rate limit exceeded, retrying: why",
        ),
        (
            "AnotherOperationInProgress",
            "Warning",
            "PLSCreationFailed",
            "Azure resource conflict, retrying: why",
        ),
        (
            "InvalidRequestContent",
            "Error",
            "PLSCreationFailed",
            "Azure API error: InvalidRequestContent: why",
        ),
        ("Reconciling", "Info", "WaitingForService", "why"),
        (
            "AzureResourceNotFound",
            "Warning",
            "WaitingForService",
            "why",
        ),
    ];
    for (reason, severity, ours, text) in cases {
        let mut scene = still();
        let id = scene.only(SERVICE_KIND);
        scene.fail(&id, reason, severity, "why");
        scene.settle();
        let said = scene.said(CREATED);
        assert_eq!(
            said,
            format!("False {ours}: PrivateLinkService {PLATFORM}/pls-id-clusters-one: {text}")
        );
        // The load balancer is not at fault.
        assert!(scene.said(BALANCER).starts_with("True "));
    }
}

#[test]
fn an_update_that_azure_refuses_is_no_failed_creation() {
    let mut scene = Scene::connected();
    let id = scene.only(SERVICE_KIND);
    scene.has_aso = false;
    scene.fail(&id, "InvalidRequestContent", "Error", "why");
    scene.settle();
    assert!(scene.said(CREATED).starts_with("False PLSUpdateFailed: "));
    assert!(scene.said(AVAILABLE).starts_with("False AzureError: "));
}

/// A report about an older spec says nothing about this one.
#[test]
fn an_old_report_does_not_count() {
    let mut scene = Scene::connected();
    let id = scene.only(SERVICE_KIND);
    scene.has_aso = false;
    scene.edit(&id, |one| {
        one["status"]["conditions"][0]["observedGeneration"] = json!(0);
    });
    scene.settle();
    assert!(
        scene.said(CREATED).starts_with("False WaitingForService: "),
        "{}",
        scene.said(CREATED)
    );
}

#[test]
fn a_subnet_is_made_only_if_its_range_is_given() {
    let mut scene = Scene::one();
    scene.settle();
    assert_eq!(scene.named("VirtualNetworksSubnet"), Vec::<String>::new());
    let mut scene = Scene::new();
    scene.cluster("clusters", "one");
    let id = hub("virtualNetworks/hub/subnets/clusters-one-pls-nat");
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] = json!({RANGE: "10.9.0.0/24"});
    });
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["platform"]["azure"]["private"]["privateLink"]["natSubnetID"] = json!(id);
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    let subnet = scene.live(&scene.only("VirtualNetworksSubnet"));
    let wanted = json!({
        "azureName": "clusters-one-pls-nat",
        "owner": {"armId": hub("virtualNetworks/hub")},
        "addressPrefix": "10.9.0.0/24",
        "privateLinkServiceNetworkPolicies": "Disabled",
    });
    assert_eq!(subnet["spec"], wanted);
    let service = service_of(&scene);
    assert_eq!(
        service["spec"]["ipConfigurations"][0]["subnet"]["reference"]["armId"],
        json!(id)
    );
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert_eq!(
        scene.azure.keys().collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

#[test]
fn a_subnet_that_azure_refuses_is_reported() {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.edit(&hosted_id("clusters", "one"), |one| {
        one["metadata"]["annotations"] = json!({RANGE: "10.9.0.0/24"});
    });
    scene.edit(&plane_id("clusters", "one"), |one| {
        let id = hub("virtualNetworks/hub/subnets/clusters-one-pls-nat");
        one["spec"]["platform"]["azure"]["private"]["privateLink"]["natSubnetID"] = json!(id);
    });
    scene.settle();
    assert!(
        scene
            .said(CREATED)
            .starts_with("False WaitingForNATSubnet: ")
    );
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
    let id = scene.only("VirtualNetworksSubnet");
    scene.fail(&id, "NetcfgSubnetRangesOverlap", "Error", "it overlaps");
    scene.settle();
    assert!(
        scene
            .said(CREATED)
            .starts_with("False NATSubnetCreationFailed: ")
    );
    assert!(
        scene
            .said(CREATED)
            .ends_with("Azure API error: NetcfgSubnetRangesOverlap: it overlaps")
    );
}

#[test]
fn nothing_is_made_as_long_as_the_cluster_is_not_known() {
    let hosted = hosted_id("clusters", "one");
    let mut scene = Scene::one();
    scene.edit(&hosted, |one| one["spec"]["clusterID"] = Value::Null);
    scene.settle();
    assert!(
        scene
            .said(BALANCER)
            .starts_with("False WaitingForClusterID: ")
    );
    assert_eq!(
        scene.connection("clusters", "one")["metadata"]["finalizers"],
        Value::Null
    );
    scene.fixture.snapshot.remove(&hosted);
    scene.settle();
    assert!(
        scene
            .said(BALANCER)
            .starts_with("False HostedClusterNotFound: ")
    );
    assert!(scene.said(BALANCER).ends_with("does not exist"));
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
    // It is not asked for again and again.
    assert_eq!(scene.provide().wake, None::<Timestamp>);
}

#[test]
fn somebody_must_say_where_the_management_side_is() {
    let mut scene = Scene::one();
    scene.set(|settings| settings.place = Place::Unknown);
    scene.settle();
    let said = scene.said(BALANCER);
    assert!(
        said.starts_with("False ManagementNotConfigured: ")
            && said.contains("spec.privateLink.management"),
        "{said}"
    );
}

/// The proposal has the identity of this controller in each cluster.
#[test]
fn a_cluster_may_name_only_the_identity_that_is_used() {
    let path = |one: &mut Value, id: &str| {
        one["spec"]["platform"]["azure"]["azureAuthenticationConfig"] =
            json!({"workloadIdentities": {"privateLinkService": {"clientID": id}}});
    };
    let mut scene = Scene::one();
    scene.edit(&hosted_id("clusters", "one"), |one| path(one, GUEST));
    scene.settle();
    let said = scene.said(BALANCER);
    assert!(
        said.starts_with("False IdentityMismatch: ") && said.ends_with("set it to that"),
        "{said}"
    );
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
    scene.edit(&hosted_id("clusters", "one"), |one| {
        path(one, &HUB.to_uppercase())
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
}

#[test]
fn a_kind_that_is_not_served_is_explained() {
    let mut scene = Scene::one();
    scene
        .fixture
        .snapshot
        .sync(&GroupKind::new(NETWORK, SERVICE_KIND), false);
    scene.settle();
    let said = scene.said(CREATED);
    assert!(
        said.starts_with("False PLSCreationFailed: the cluster does not serve PrivateLinkService"),
        "{said}"
    );
    assert!(said.contains("crdPattern"), "{said}");
    assert_eq!(scene.named(SERVICE_KIND), Vec::<String>::new());
}

#[test]
fn a_kind_that_may_not_be_watched_is_explained() {
    let mut scene = Scene::one();
    scene.unsee(NETWORK, SERVICE_KIND);
    scene.settle();
    let said = scene.said(BALANCER);
    assert!(said.starts_with("False KindNotReadable: "), "{said}");
    assert!(
        said.contains("PrivateLinkService") && said.contains("grant get on it: forbidden"),
        "{said}"
    );
    let outcome = scene.provide();
    assert_eq!(outcome.writes, Vec::new());
    assert_eq!(
        outcome
            .wake
            .map(|wake| wake.duration_since(scene.fixture.now).as_secs()),
        Some(60)
    );
    scene.fixture.snapshot.denied.clear();
    scene
        .fixture
        .snapshot
        .sync(&GroupKind::new(NETWORK, SERVICE_KIND), true);
    scene.settle();
    scene.assert_connected("clusters", "one");
}

#[test]
fn a_namespace_that_is_not_watched_is_named() {
    let mut scene = Scene::one();
    scene.fixture.snapshot.watched =
        crate::model::Namespaces::of_text("clusters,clusters-one").into();
    scene.settle();
    let said = scene.said(CREATED);
    assert!(said.contains("--watch-namespace capstan-system"), "{said}");
}
