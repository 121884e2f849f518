//! The endpoint controller: the endpoint, its address, and the summary.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{
    AVAILABLE, DNS_AVAILABLE as DNS, ENDPOINT_AVAILABLE as AT_ENDPOINT, SERVICE_CREATED as CREATED,
};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::world::GroupKind;

const KIND: &str = "PrivateEndpoint";
const FINALIZER: &str = "capstan.dev/private-link-endpoint";

/// Connected, and from then on Azure Service Operator does nothing by itself.
fn still() -> Scene {
    let mut scene = Scene::connected();
    scene.has_aso = false;
    scene
}

/// The endpoint is there, and was not reported yet.
fn begun() -> Scene {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.settle();
    scene.ready("PrivateLinkService");
    scene.settle();
    scene
}

impl Scene {
    /// Azure Service Operator does all that there is to do for one object.
    fn ready(&mut self, kind: &str) {
        let id = self.only(kind);
        for _ in 0..2 {
            self.act_on(&id);
            self.settle();
        }
    }
}

fn state(scene: &mut Scene, state: &str) {
    let id = scene.only(KIND);
    scene.edit(&id, |one| {
        one["status"]["manualPrivateLinkServiceConnections"] =
            json!([{}, {"privateLinkServiceConnectionState": {"status": state}}]);
    });
}

fn finalizers(scene: &Scene) -> Value {
    scene.connection("clusters", "one")["metadata"]["finalizers"].clone()
}

#[test]
fn nothing_is_made_before_the_service() {
    let mut scene = Scene::one();
    scene.has_aso = false;
    scene.settle();
    assert_eq!(
        scene.said(AT_ENDPOINT),
        "False WaitingForService: Waiting for the Private Link Service"
    );
    assert_eq!(
        scene.said(DNS),
        "False WaitingForEndpoint: Waiting for the Private Endpoint"
    );
    assert_eq!(
        finalizers(&scene),
        json!(["capstan.dev/private-link-service"])
    );
    assert_eq!(scene.named(KIND), Vec::<String>::new());
    // Nobody looks again by the clock: the status of the object says when it is time.
    assert_eq!(scene.connect().wake, None);
}

#[test]
fn the_endpoint_leads_from_the_subnet_to_the_service() {
    let scene = begun();
    assert_eq!(
        finalizers(&scene),
        json!(["capstan.dev/private-link-service", FINALIZER])
    );
    let id = scene.only(KIND);
    let endpoint = scene.live(&id);
    assert_eq!(id.namespace, "clusters");
    let name = endpoint["spec"]["azureName"].as_str().unwrap();
    assert!(name.starts_with("one-") && name.ends_with("-pe"), "{name}");
    let wanted = json!({
        "azureName": name,
        "owner": {"armId": format!("/subscriptions/{GUEST}/resourceGroups/rg")},
        "location": "uksouth",
        "tags": {"capstan.dev_hosted-cluster": "id-clusters-one", "hypershift.openshift.io_resource-type": "private-endpoint"},
        "subnet": {"reference": {"armId": guest("virtualNetworks/vnet/subnets/nodes")}},
        "manualPrivateLinkServiceConnections": [{
            "name": name,
            "privateLinkServiceReference": {"armId": scene.field("privateLinkServiceID")},
            "requestMessage": "Capstan auto-connect",
        }],
        "operatorSpec": {"configMaps": {"primaryNicPrivateIpAddress": {"name": id.name, "key": "privateEndpointIP"}}},
    });
    assert_eq!(endpoint["spec"], wanted);
    let annotations = json!({
        "capstan.dev/hosted-cluster": "clusters/one",
        "capstan.dev/private-link-alias": scene.field("privateLinkServiceAlias"),
        "serviceoperator.azure.com/reconcile-policy": "skip",
    });
    assert_eq!(endpoint["metadata"]["annotations"], annotations);
    assert_eq!(
        scene.said(AT_ENDPOINT).split(':').next(),
        Some("False WaitingForEndpoint")
    );
}

#[test]
fn an_alias_names_the_service_where_the_operator_takes_one() {
    let mut scene = Scene::one();
    scene
        .fixture
        .snapshot
        .set_version(&GroupKind::new(NETWORK, KIND), "v20250301");
    scene.settle();
    let reference = |scene: &Scene| {
        let endpoint = scene.live(&scene.only(KIND));
        endpoint["spec"]["manualPrivateLinkServiceConnections"][0]["privateLinkServiceReference"]
            .clone()
    };
    let by_alias = json!({"wellKnownName": scene.field("privateLinkServiceAlias")});
    assert_eq!(reference(&scene), by_alias);
    // It stays as it was made, whatever is served later: Azure refuses a change.
    scene
        .fixture
        .snapshot
        .set_version(&GroupKind::new(NETWORK, KIND), "v1api20240301");
    scene.settle();
    assert_eq!(reference(&scene), by_alias);
}

#[test]
fn an_endpoint_with_an_address_is_available() {
    let scene = Scene::connected();
    let endpoint = scene.live(&scene.only(KIND));
    assert_eq!(
        scene.said(AT_ENDPOINT),
        "True AzureSuccess: Private Endpoint is available"
    );
    assert_eq!(
        scene.said(AVAILABLE),
        "True AzureSuccess: All Azure Private Link Service resources are available"
    );
    assert_eq!(
        scene.field("privateEndpointID"),
        Live(&endpoint).text(&["status", "id"])
    );
    assert_eq!(scene.field("privateEndpointIP"), "10.1.0.2");
}

#[test]
fn an_endpoint_without_an_address_is_not_available() {
    for data in [
        json!({}),
        json!({"privateEndpointIP": ""}),
        json!({"privateEndpointIP": "soon"}),
        json!({"privateEndpointIP": 7}),
        json!([1]),
    ] {
        let mut scene = still();
        let endpoint = scene.only(KIND);
        let map = ObjectId::new("", "ConfigMap", &*endpoint.namespace, &*endpoint.name);
        scene.edit(&map, |map| map["data"] = data.clone());
        scene.settle();
        assert!(
            scene
                .said(AT_ENDPOINT)
                .starts_with("False WaitingForEndpoint: Waiting for the address"),
            "{data}"
        );
        assert!(scene.said(DNS).starts_with("False WaitingForEndpoint: "));
        // What was known stays known.
        assert_eq!(scene.field("privateEndpointIP"), "10.1.0.2");
    }
}

#[test]
fn a_connection_that_is_not_approved_is_reported() {
    let cases = [
        ("Pending", "False PrivateEndpointConnectionNotApproved"),
        ("Rejected", "False PrivateEndpointConnectionNotApproved"),
        ("Disconnected", "False PrivateEndpointReplaced"),
        ("Approved", "True AzureSuccess"),
        ("", "True AzureSuccess"),
    ];
    for (now, said) in cases {
        let mut scene = still();
        state(&mut scene, now);
        scene.settle();
        let id = scene.only(KIND);
        let is_going = Live(&scene.live(&id)).is_deleting();
        assert_eq!(is_going, now == "Disconnected", "{now}");
        let found = scene.said(AT_ENDPOINT);
        let wanted = if is_going {
            "False WaitingForEndpoint"
        } else {
            said
        };
        assert_eq!(found.split(':').next(), Some(wanted), "{now}");
        let summary = scene.said(AVAILABLE);
        assert_eq!(
            summary.starts_with("True "),
            said.starts_with("True "),
            "{summary}"
        );
    }
}

#[test]
fn errors_of_azure_are_reported_at_the_endpoint() {
    let cases = [
        (
            "AuthorizationFailed",
            "Warning",
            "PrivateEndpointCreationFailed",
            "Azure API permission denied, check service principal permissions: why",
        ),
        (
            "LinkedAuthorizationFailed",
            "Error",
            "PrivateEndpointCreationFailed",
            "Azure API permission denied, check service principal permissions: why",
        ),
        (
            "SubscriptionRequestsThrottled",
            "Warning",
            "PrivateEndpointCreationFailed",
            "Azure API rate limit exceeded, retrying: why",
        ),
        (
            "RetryableError",
            "Warning",
            "PrivateEndpointCreationFailed",
            "Azure resource conflict, retrying: why",
        ),
        (
            "InternalServerError",
            "Warning",
            "PrivateEndpointCreationFailed",
            "Azure API error: InternalServerError: why",
        ),
        ("Reconciling", "Info", "WaitingForEndpoint", "why"),
    ];
    for (reason, severity, ours, text) in cases {
        let mut scene = still();
        let id = scene.only(KIND);
        scene.fail(&id, reason, severity, "why");
        scene.settle();
        let said = scene.said(AT_ENDPOINT);
        assert_eq!(
            said,
            format!("False {ours}: PrivateEndpoint clusters/{}: {text}", id.name)
        );
        // The names still lead to it, but to nobody who answers.
        assert!(scene.said(DNS).starts_with("False WaitingForEndpoint: "));
    }
}

#[test]
fn what_is_connected_stays_while_the_service_is_not_ready() {
    let mut scene = still();
    let service = scene.only("PrivateLinkService");
    scene.fail(&service, "TooManyRequests", "Warning", "later");
    let before = scene.live(&scene.only(KIND));
    scene.settle();
    assert!(scene.said(CREATED).starts_with("False PLSUpdateFailed"));
    assert_eq!(
        scene.said(AT_ENDPOINT),
        "False WaitingForService: Waiting for the Private Link Service"
    );
    assert_eq!(scene.live(&scene.only(KIND)), before);
    assert_eq!(scene.named("PrivateDnsZonesARecord").len(), 4);
    // Nor is anything forgotten.
    assert_eq!(scene.field("privateEndpointIP"), "10.1.0.2");
    assert_ne!(scene.field("privateDNSZoneID"), "");
}

#[test]
fn kinds_that_are_not_served_are_explained() {
    for (kind, condition, reason) in [
        (KIND, AT_ENDPOINT, "PrivateEndpointCreationFailed"),
        ("PrivateDnsZone", DNS, "DNSZoneCreationFailed"),
        (
            "PrivateDnsZonesVirtualNetworkLink",
            DNS,
            "VNetLinkCreationFailed",
        ),
        ("PrivateDnsZonesARecord", DNS, "ARecordCreationFailed"),
    ] {
        let mut scene = Scene::one();
        scene
            .fixture
            .snapshot
            .sync(&GroupKind::new(NETWORK, kind), false);
        scene.settle();
        let said = scene.said(condition);
        assert!(
            said.starts_with(&format!(
                "False {reason}: the cluster does not serve {kind}"
            )),
            "{said}"
        );
        assert!(said.contains("ADDITIONAL_ASO_CRDS"), "{said}");
    }
}

#[test]
fn kinds_that_may_not_be_watched_are_explained() {
    for kind in [
        KIND,
        "PrivateDnsZone",
        "PrivateDnsZonesVirtualNetworkLink",
        "PrivateDnsZonesARecord",
    ] {
        let mut scene = Scene::one();
        scene.unsee(NETWORK, kind);
        scene.settle();
        let said = scene.said(AT_ENDPOINT);
        assert!(
            said.starts_with("False KindNotReadable: ") && said.contains(kind),
            "{said}"
        );
        assert_eq!(
            scene.said(AVAILABLE).split(':').next(),
            Some("False AzureError")
        );
        assert!(
            !said.contains('\n') && said.contains("grant get on it"),
            "{said}"
        );
    }
}

/// A control plane of that name in another group is no control plane.
#[test]
fn the_control_plane_is_found_by_its_owner_reference() {
    let scene = Scene::connected();
    let needs = scene.connect().needs;
    let plane = plane_id("clusters", "one");
    assert!(needs.contains(&crate::reconcile::outcome::Need::Object(plane)));
}
