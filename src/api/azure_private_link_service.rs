//! `AzurePrivateLinkService`: how the private API server of one hosted cluster is reached, and how far that has come.
//!
//! The shape is HyperShift's, as it landed, with the proposal's `allowedSubscriptions` and `kubectl` columns for all five
//! conditions, so that objects written for HyperShift's definition are valid for ours. HyperShift brings its own
//! definition; ours is for clusters without it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::kinds::Kind;
use super::platform::{HYPERSHIFT, HYPERSHIFT_VERSION};
use super::structural;

/// The kind, in the group of HyperShift.
pub const KIND: &str = "AzurePrivateLinkService";
/// The kind as a table has it.
pub const KINDS: &[Kind] = &[Kind {
    group: HYPERSHIFT,
    kind: KIND,
    plural: "azureprivatelinkservices",
    versions: &[HYPERSHIFT_VERSION],
}];
/// The domain below which every cluster has its internal names.
pub const INTERNAL_DOMAIN: &str = "hypershift.local";
/// The name of the definition of the kind.
pub const CRD: &str = "azureprivatelinkservices.hypershift.openshift.io";

/// The management side: the load balancer that has the address of the router was found.
pub const LOAD_BALANCER_AVAILABLE: &str = "AzureInternalLoadBalancerAvailable";
/// The management side: the Private Link Service exists, with the right frontend, subnet and subscriptions.
pub const SERVICE_CREATED: &str = "AzurePLSCreated";
/// The customer's side: the Private Endpoint is connected to the present service, and has an address.
pub const ENDPOINT_AVAILABLE: &str = "AzurePrivateEndpointAvailable";
/// The customer's side: the names of the cluster lead to the endpoint.
pub const DNS_AVAILABLE: &str = "AzurePrivateDNSAvailable";
/// All of these hold.
pub const AVAILABLE: &str = "AzurePrivateLinkServiceAvailable";
/// The conditions, in the order in which they come true.
pub const CONDITIONS: [&str; 5] = [
    LOAD_BALANCER_AVAILABLE,
    SERVICE_CREATED,
    ENDPOINT_AVAILABLE,
    DNS_AVAILABLE,
    AVAILABLE,
];

const UUID: &str = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
const NETWORK: &str = r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\\.Network";
const DOMAIN: &str =
    r"^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*$";

/// The connection of one hosted cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "hypershift.openshift.io",
    version = "v1beta1",
    kind = "AzurePrivateLinkService",
    plural = "azureprivatelinkservices",
    namespaced,
    status = "AzurePrivateLinkServiceStatus",
    shortname = "azpls",
    derive = "PartialEq",
    doc = "The connection to the private API server of a hosted cluster on Azure.",
    printcolumn = r#"{"name": "PLS Alias", "type": "string", "jsonPath": ".status.privateLinkServiceAlias", "description": "The name by which endpoints find the service"}"#,
    printcolumn = r#"{"name": "Endpoint IP", "type": "string", "jsonPath": ".status.privateEndpointIP", "description": "The address of the endpoint in the network of the cluster"}"#,
    printcolumn = r#"{"name": "Available", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"AzurePrivateLinkServiceAvailable\")].status", "description": "Whether the cluster is reached"}"#,
    printcolumn = r#"{"name": "Load Balancer", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"AzureInternalLoadBalancerAvailable\")].status", "description": "Whether the load balancer was found", "priority": 1}"#,
    printcolumn = r#"{"name": "Service", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"AzurePLSCreated\")].status", "description": "Whether the Private Link Service is ready", "priority": 1}"#,
    printcolumn = r#"{"name": "Endpoint", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"AzurePrivateEndpointAvailable\")].status", "description": "Whether the Private Endpoint is connected", "priority": 1}"#,
    printcolumn = r#"{"name": "DNS", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"AzurePrivateDNSAvailable\")].status", "description": "Whether the names lead to the endpoint", "priority": 1}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AzurePrivateLinkServiceSpec {
    /// The address of the internal load balancer before the router of the control plane.
    #[serde(
        default,
        rename = "loadBalancerIP",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "load_balancer_ip")]
    pub load_balancer_ip: Option<String>,
    /// The subscription of the cluster, in which the Private Endpoint and the DNS zones are.
    #[serde(rename = "subscriptionID")]
    #[schemars(schema_with = "subscription")]
    pub subscription_id: String,
    /// The resource group of the cluster, in which the Private Endpoint and the DNS zones are.
    #[schemars(schema_with = "resource_group")]
    pub resource_group_name: String,
    /// The region of the cluster, such as `westeurope`.
    #[schemars(schema_with = "location")]
    pub location: String,
    /// The subnet for the addresses of the Private Link Service.
    #[serde(
        default,
        rename = "natSubnetID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "nat_subnet")]
    pub nat_subnet_id: Option<String>,
    /// The other subscriptions that may connect. That of the cluster always may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "subscriptions")]
    pub additional_allowed_subscriptions: Option<Vec<String>>,
    /// The same, as the proposal of the kind has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "subscriptions")]
    pub allowed_subscriptions: Option<Vec<String>>,
    /// The subnet of the Private Endpoint.
    #[serde(rename = "guestSubnetID")]
    #[schemars(schema_with = "guest_subnet")]
    pub guest_subnet_id: String,
    /// The virtual network that is linked to the DNS zones.
    #[serde(rename = "guestVNetID")]
    #[schemars(schema_with = "guest_network")]
    pub guest_vnet_id: String,
    /// The domain of the external names of the API server and of OAuth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "base_domain")]
    pub base_domain: Option<String>,
}

/// What has been reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct AzurePrivateLinkServiceStatus {
    /// The state of each part, and of the whole.
    #[schemars(schema_with = "conditions")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The ARM ID of the load balancer.
    #[serde(
        rename = "internalLoadBalancerID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "load_balancer_id")]
    pub internal_load_balancer_id: Option<String>,
    /// The ARM ID of the Private Link Service.
    #[serde(
        rename = "privateLinkServiceID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "service_id")]
    pub private_link_service_id: Option<String>,
    /// The name by which endpoints find the service; a new one if the service is created anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "alias")]
    pub private_link_service_alias: Option<String>,
    /// The ARM ID of the Private Endpoint.
    #[serde(rename = "privateEndpointID", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "endpoint_id")]
    pub private_endpoint_id: Option<String>,
    /// The address of the Private Endpoint.
    #[serde(rename = "privateEndpointIP", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "endpoint_ip")]
    pub private_endpoint_ip: Option<String>,
    /// The ARM ID of the DNS zone of the internal names.
    #[serde(rename = "privateDNSZoneID", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "zone_id")]
    pub private_dns_zone_id: Option<String>,
    /// The name of that zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "zone_name")]
    pub dns_zone_name: Option<String>,
    /// The ARM ID of the DNS zone of the external names.
    #[serde(
        rename = "baseDomainDNSZoneID",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(schema_with = "zone_id")]
    pub base_domain_dns_zone_id: Option<String>,
}

/// A text of so many characters for which these rules hold, each with its message.
fn text((least, most): (u64, u64), rules: &[(&str, &str)]) -> Schema {
    let rules: Vec<Json> = rules
        .iter()
        .map(|(rule, message)| json!({"rule": rule, "message": message}))
        .collect();
    let mut schema = json_schema!({"type": "string", "minLength": least, "maxLength": most});
    if !rules.is_empty() {
        schema.insert("x-kubernetes-validations".to_owned(), Json::Array(rules));
    }
    schema
}

/// The rule that a field keeps the value it was once given.
fn constant(field: &str) -> String {
    format!("{field} is immutable once set")
}

fn matches(pattern: &str) -> String {
    format!("self.matches('{pattern}')")
}

/// An ARM ID of something in the network provider, at most so long. A field that is named keeps its value.
fn arm_id(most: u64, below: &str, what: &str, kept: Option<&str>) -> Schema {
    let rule = matches(&format!("{NETWORK}{below}$"));
    let message = format!("must be the ARM ID of a {what}");
    let mut rules = vec![(rule.as_str(), message.as_str())];
    let constant = kept.map(constant);
    if let Some(constant) = &constant {
        rules.push(("self == oldSelf", constant));
    }
    text((1, most), &rules)
}

const SUBNET: &str = "/virtualNetworks/[^/]+/subnets/[^/]+";

fn load_balancer_ip(_: &mut SchemaGenerator) -> Schema {
    let message = "loadBalancerIP must be a valid IPv4 or IPv6 address";
    text((1, 39), &[("isIP(self)", message)])
}

fn subscription(_: &mut SchemaGenerator) -> Schema {
    let constant = constant("subscriptionID");
    let rules = [
        ("self == oldSelf", constant.as_str()),
        (&matches(UUID), "must be a valid UUID"),
    ];
    text((36, 36), &rules)
}

fn resource_group(_: &mut SchemaGenerator) -> Schema {
    let constant = constant("resourceGroupName");
    let rule = "self.matches(r'^[-a-zA-Z0-9_.()]+$') && !self.endsWith('.')";
    let message = "resourceGroupName must contain only alphanumerics, underscores, hyphens, periods, and parentheses, and cannot end with a period";
    text((1, 90), &[("self == oldSelf", &constant), (rule, message)])
}

fn location(_: &mut SchemaGenerator) -> Schema {
    let constant = constant("location");
    let message = "location must contain only lowercase alphanumeric characters (e.g., eastus)";
    let rule = matches("^[a-z0-9]+$");
    text((1, 50), &[("self == oldSelf", &constant), (&rule, message)])
}

fn nat_subnet(_: &mut SchemaGenerator) -> Schema {
    arm_id(355, SUBNET, "subnet", Some("natSubnetID"))
}

fn guest_subnet(_: &mut SchemaGenerator) -> Schema {
    arm_id(355, SUBNET, "subnet", Some("guestSubnetID"))
}

fn guest_network(_: &mut SchemaGenerator) -> Schema {
    let below = "/virtualNetworks/[^/]+";
    arm_id(355, below, "virtual network", Some("guestVNetID"))
}

fn subscriptions(_: &mut SchemaGenerator) -> Schema {
    let item = text((36, 36), &[(&matches(UUID), "must be a valid UUID")]);
    json_schema!({
        "type": "array", "items": item, "minItems": 1, "maxItems": 50, "x-kubernetes-list-type": "set"
    })
}

fn base_domain(_: &mut SchemaGenerator) -> Schema {
    let constant = constant("baseDomain");
    let message = "baseDomain must be a valid DNS domain name";
    let rule = matches(DOMAIN);
    text(
        (1, 253),
        &[("self == oldSelf", &constant), (&rule, message)],
    )
}

fn conditions(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = structural::conditions(generator);
    for (key, value) in [
        ("minItems", json!(1)),
        ("maxItems", json!(10)),
        ("x-kubernetes-list-type", json!("map")),
        ("x-kubernetes-list-map-keys", json!(["type"])),
    ] {
        schema.insert(key.to_owned(), value);
    }
    schema
}

fn load_balancer_id(_: &mut SchemaGenerator) -> Schema {
    let network = NETWORK.replacen("[^/]+", UUID.trim_matches(['^', '$']), 1);
    let rule = matches(&format!("{network}/loadBalancers/[^/]+$"));
    let message = "must be the ARM ID of a load balancer";
    text((1, 284), &[(&rule, message)])
}

fn service_id(_: &mut SchemaGenerator) -> Schema {
    let below = "/privateLinkServices/[^/]+";
    arm_id(270, below, "Private Link Service", None)
}

fn alias(_: &mut SchemaGenerator) -> Schema {
    let rule = matches(r"^[^.]+\\.[0-9a-fA-F-]+\\.[a-z0-9]+\\.azure\\.privatelinkservice$");
    let message = "must be an alias, NAME.GUID.REGION.azure.privatelinkservice";
    text((1, 170), &[(&rule, message)])
}

fn endpoint_id(_: &mut SchemaGenerator) -> Schema {
    arm_id(267, "/privateEndpoints/[^/]+", "Private Endpoint", None)
}

fn endpoint_ip(_: &mut SchemaGenerator) -> Schema {
    let message = "privateEndpointIP must be a valid IPv4 or IPv6 address";
    text((1, 39), &[("isIP(self)", message)])
}

fn zone_id(_: &mut SchemaGenerator) -> Schema {
    arm_id(265, "/privateDnsZones/[^/]+", "private DNS zone", None)
}

fn zone_name(_: &mut SchemaGenerator) -> Schema {
    let message = "dnsZoneName must be a valid DNS domain name";
    text((1, 253), &[(&matches(DOMAIN), message)])
}
