//! Azure's refusals, and the way to a private API server with each hop broken in turn.

use super::*;

const NODES: &str =
    "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/vnet";

/// The path of something in the network provider.
fn at(below: &str) -> String {
    format!("/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/{below}")
}

fn service_id() -> String {
    at("privateLinkServices/pls")
}

fn endpoint_id() -> String {
    at("privateEndpoints/pe")
}

fn balancer() -> String {
    at("loadBalancers/lb")
}

fn frontend() -> String {
    format!("{}/frontendIPConfigurations/f", balancer())
}

fn zone() -> String {
    at("privateDnsZones/one.hypershift.local")
}

fn endpoint_of(status: &str, etag: &str) -> Value {
    json!({"etag": "2", "subnet": {"id": format!("{NODES}/subnets/nodes")}, CONNECTIONS: [{
        "etag": etag, "privateLinkServiceId": service_id(),
        "privateLinkServiceConnectionState": {"status": status},
    }]})
}

fn record_of(address: &str) -> Value {
    json!({"aRecords": [{"ipv4Address": address}]})
}

/// Everything that leads from the nodes to a router with the address 10.0.0.4.
fn whole() -> Azure {
    let azure = Azure::bare();
    let endpoint = endpoint_of("Approved", "1");
    let record = record_of(&address(&endpoint_id(), &endpoint));
    azure.put(&endpoint_id(), endpoint);
    azure.put(&zone(), json!({}));
    azure.put(&format!("{}/A/api", zone()), record);
    let link = format!("{}/virtualNetworkLinks/l", zone());
    azure.put(&link, json!({"virtualNetwork": {"id": NODES}}));
    let service = json!({"etag": "1", "alias": "a", "loadBalancerFrontendIpConfigurations": [{"id": frontend()}],
        "ipConfigurations": [{"subnet": {"id": format!("{NODES}/subnets/nat")}}]});
    azure.put(&service_id(), service);
    let address = json!({"id": frontend(), "privateIPAddress": "10.0.0.4"});
    azure.put(&balancer(), json!({"frontendIPConfigurations": [address]}));
    azure
}

fn router(address: &str, port: i64) -> Value {
    json!({"kind": "Service", "spec": {"ports": [{"port": port}]},
        "status": {"loadBalancer": {"ingress": [{"ip": address}]}}})
}

fn way(azure: &Azure, router: Option<&Value>) -> Result<(), String> {
    let path = Path {
        name: "api.one.hypershift.local",
        network: NODES,
        router: router.map(Live),
    };
    walk(azure, &path)
}

#[test]
fn a_way_without_a_broken_hop_leads_to_the_router() {
    assert_eq!(way(&whole(), Some(&router("10.0.0.4", 443))), Ok(()));
}

/// A hop, what breaks it, and the words that name it.
type Break = (fn(&Azure), &'static str);

#[test]
fn each_hop_that_is_broken_is_named() {
    let breaks: [Break; 10] = [
        (
            |azure| azure.delete(&format!("{}/virtualNetworkLinks/l", zone())),
            "no private DNS zone one.hypershift.local is linked to",
        ),
        (
            |azure| {
                let elsewhere = json!({"virtualNetwork": {"id": at("virtualNetworks/other")}});
                azure.put(&format!("{}/virtualNetworkLinks/l", zone()), elsewhere);
            },
            "no private DNS zone one.hypershift.local is linked to",
        ),
        (
            |azure| azure.delete(&format!("{}/A/api", zone())),
            "has no record api",
        ),
        (
            |azure| azure.put(&format!("{}/A/api", zone()), record_of("10.1.1.1")),
            "no endpoint in the network has the address 10.1.1.1",
        ),
        (
            |azure| azure.delete(&endpoint_id()),
            "no endpoint in the network has the address",
        ),
        (
            |azure| azure.put(&endpoint_id(), endpoint_of("Pending", "1")),
            "privateEndpoints/pe is not approved",
        ),
        (
            |azure| azure.delete(&service_id()),
            "is connected to a service that is gone",
        ),
        (
            // The service was made again.
            |azure| azure.put(&service_id(), json!({"etag": "7", "alias": "b"})),
            "is connected to a service that is gone",
        ),
        (
            |azure| azure.delete(&balancer()),
            "the service leads to a frontend that is gone",
        ),
        (
            |azure| {
                let other = json!({"id": format!("{}/frontendIPConfigurations/g", balancer())});
                azure.put(&balancer(), json!({"frontendIPConfigurations": [other]}));
            },
            "the service leads to a frontend that is gone",
        ),
    ];
    for (broken, words) in breaks {
        let azure = whole();
        broken(&azure);
        let said = way(&azure, Some(&router("10.0.0.4", 443))).err();
        let said = said.unwrap_or_default();
        assert!(said.contains(words), "{said:?}, not {words:?}");
    }
}

#[test]
fn the_end_of_the_way_is_the_router() {
    let cases = [
        (None, "the router has no Service"),
        (
            Some(router("10.0.0.5", 443)),
            "the service leads to 10.0.0.4, and the router has the address '10.0.0.5'",
        ),
        (Some(router("", 443)), "the router has the address ''"),
        (
            Some(router("10.0.0.4", 6443)),
            "the router does not answer at port 443",
        ),
    ];
    for (router, words) in cases {
        let said = way(&whole(), router.as_ref()).err().unwrap_or_default();
        assert!(said.contains(words), "{said:?}, not {words:?}");
    }
}

fn resource(kind: &str, spec: Value) -> Value {
    let mut resource =
        json!({"apiVersion": "network.azure.com/v1", "kind": kind, "metadata": {"name": "x"}});
    resource["spec"] = spec;
    resource
}

fn refused(azure: &Azure, resource: &Value, id: &str) -> Option<&'static str> {
    refuse_put(azure, Live(resource), id).map(|refusal| refusal.code)
}

#[test]
fn a_service_needs_its_frontend_and_a_subnet_without_policies() {
    let azure = whole();
    let nat = format!("{NODES}/subnets/nat");
    let wanted = |frontend: &str| {
        resource(
            SERVICE,
            json!({
                "loadBalancerFrontendIpConfigurations": [{"reference": {"armId": frontend}}],
                "ipConfigurations": [{"subnet": {"reference": {"armId": nat}}}],
            }),
        )
    };
    let put = |frontend: &str| refused(&azure, &wanted(frontend), &service_id());
    let elsewhere = format!("{}/frontendIPConfigurations/f", at("loadBalancers/none"));
    assert_eq!(put(&frontend()), None);
    assert_eq!(put(&elsewhere), Some("InvalidResourceReference"));
    azure.put(
        &nat,
        json!({"privateLinkServiceNetworkPolicies": "Enabled"}),
    );
    let code = "PrivateLinkServiceCannotBeCreatedInSubnetThatHasNetworkPoliciesEnabled";
    assert_eq!(put(&frontend()), Some(code));
    azure.put(
        &nat,
        json!({"privateLinkServiceNetworkPolicies": "Disabled"}),
    );
    assert_eq!(put(&frontend()), None);
}

#[test]
fn an_endpoint_needs_a_service() {
    let azure = whole();
    let put = |reference: Value| {
        let connection = json!({"privateLinkServiceReference": reference});
        let wanted = resource(ENDPOINT, json!({CONNECTIONS: [connection]}));
        refused(&azure, &wanted, &endpoint_id())
    };
    assert_eq!(put(json!({"armId": service_id()})), None);
    assert_eq!(put(json!({"wellKnownName": "a"})), None);
    let code = Some("PrivateLinkServiceNotFound");
    assert_eq!(put(json!({"wellKnownName": "b"})), code);
    assert_eq!(put(json!({"armId": at("privateLinkServices/none")})), code);
}

#[test]
fn a_network_is_linked_to_one_zone_of_a_name() {
    let azure = whole();
    let put = |id: &str, network: &str| {
        let network = json!({"reference": {"armId": network}});
        refused(
            &azure,
            &resource(LINK, json!({"virtualNetwork": network})),
            id,
        )
    };
    let second = format!("{}/virtualNetworkLinks/second", zone());
    assert_eq!(put(&second, &NODES.to_uppercase()), Some("BadRequest"));
    assert_eq!(put(&second, &at("virtualNetworks/other")), None);
    let itself = format!("{}/virtualNetworkLinks/L", zone());
    assert_eq!(put(&itself, NODES), None);
    let elsewhere =
        "/subscriptions/s/resourceGroups/r2/providers/Microsoft.Network/privateDnsZones";
    let same_name = format!("{elsewhere}/ONE.hypershift.local/virtualNetworkLinks/l");
    assert_eq!(put(&same_name, NODES), Some("BadRequest"));
    let other_name = format!("{elsewhere}/two.hypershift.local/virtualNetworkLinks/l");
    assert_eq!(put(&other_name, NODES), None);
}

#[test]
fn what_is_in_use_is_not_deleted() {
    let azure = whole();
    let refused = |id: &str| refuse_deletion(&azure, id).map(|refusal| refusal.code);
    let nat = format!("{NODES}/subnets/nat");
    let connected = "PrivateLinkServiceWithPrivateEndpointConnectionsCannotBeDeleted";
    assert_eq!(refused(&service_id()), Some(connected));
    azure.put(&endpoint_id(), endpoint_of("Pending", "1"));
    assert_eq!(refused(&service_id()), Some(connected));
    azure.put(&endpoint_id(), endpoint_of("Rejected", "1"));
    assert_eq!(refused(&service_id()), None);
    // It is connected to a service that was there before.
    azure.put(&endpoint_id(), endpoint_of("Approved", "0"));
    assert_eq!(refused(&service_id()), None);
    assert_eq!(refused(&zone()), Some("CannotDeleteResource"));
    assert_eq!(refused(&format!("{}/virtualNetworkLinks/l", zone())), None);
    azure.delete(&format!("{}/virtualNetworkLinks/l", zone()));
    assert_eq!(refused(&zone()), None);
    assert_eq!(refused(&nat), Some("InUseSubnetCannotBeDeleted"));
    azure.delete(&service_id());
    assert_eq!(refused(&nat), None);
}
