//! The definition of AzurePrivateLinkService: what an API server accepts and refuses with Capstan's, and that HyperShift's does
//! the same.

use capstan::adapters::azure_sim as actors;
use capstan::api::azure_private_link_service::CRD;
use capstan::api::crds::private_links;
use serde_json::{Value as Json, json};

use super::hosted::real_definitions;
use super::hosting::refusal;
use super::pipeline::{Management, apply, established};

const SPEED: u32 = 600;
const SUBSCRIPTION: &str = "550e8400-e29b-41d4-a716-446655440000";
const OTHER: &str = "550E8400-E29B-41D4-A716-446655440001";
const NETWORK: &str = "/subscriptions/550e8400-e29b-41d4-a716-446655440000/resourceGroups/one/providers/Microsoft.Network/virtualNetworks/v";

fn connection() -> Json {
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "AzurePrivateLinkService",
        "metadata": {"name": "private-router", "namespace": "clusters"},
        "spec": {
            "loadBalancerIP": "10.0.0.9",
            "subscriptionID": SUBSCRIPTION,
            "resourceGroupName": "one",
            "location": "uksouth",
            "natSubnetID": format!("{NETWORK}/subnets/nat"),
            "additionalAllowedSubscriptions": [SUBSCRIPTION],
            "guestSubnetID": format!("{NETWORK}/subnets/nodes"),
            "guestVNetID": NETWORK,
            "baseDomain": "ext.example.com",
        },
    })
}

/// The words of the API server about a new object, or about the one that is there, with another value of a field.
fn words(cluster: &Management, name: &str, field: &str, value: Option<&Json>) -> Option<String> {
    let mut object = connection();
    object["metadata"]["name"] = json!(name);
    let spec = object["spec"].as_object_mut().expect("fields");
    match value {
        Some(value) => spec.insert(field.to_owned(), value.clone()),
        None => spec.remove(field),
    };
    refusal(cluster, &object)
}

fn accepted() -> Vec<(&'static str, Json)> {
    vec![
        ("loadBalancerIP", json!("fd00::9")),
        ("subscriptionID", json!(OTHER)),
        ("resourceGroupName", json!("a.b_(c)-D")),
        ("resourceGroupName", json!("g".repeat(90))),
        (
            "additionalAllowedSubscriptions",
            json!([SUBSCRIPTION, OTHER]),
        ),
        ("baseDomain", json!("EXT.example.com")),
        ("baseDomain", json!("one")),
    ]
}

fn refused() -> Vec<(&'static str, Json)> {
    let many: Vec<String> = (0..51)
        .map(|number| format!("550e8400-e29b-41d4-a716-4466554400{number:02}"))
        .collect();
    vec![
        ("loadBalancerIP", json!("10.0.0")),
        ("loadBalancerIP", json!("router.example.com")),
        ("loadBalancerIP", json!("")),
        ("subscriptionID", json!("one")),
        (
            "subscriptionID",
            json!("550e8400-e29b-41d4-a716-44665544000g"),
        ),
        ("resourceGroupName", json!("one.")),
        ("resourceGroupName", json!("one two")),
        ("resourceGroupName", json!("one/two")),
        ("resourceGroupName", json!("g".repeat(91))),
        ("location", json!("UK South")),
        ("location", json!("")),
        ("natSubnetID", json!(NETWORK)),
        ("natSubnetID", json!("nat")),
        ("guestSubnetID", json!(NETWORK)),
        ("guestSubnetID", json!(format!("{NETWORK}/subnets/"))),
        ("guestVNetID", json!(format!("{NETWORK}/subnets/nodes"))),
        (
            "guestVNetID",
            json!(NETWORK.replace("Microsoft.Network", "MicrosoftXNetwork")),
        ),
        ("additionalAllowedSubscriptions", json!([])),
        ("additionalAllowedSubscriptions", json!(["one"])),
        ("additionalAllowedSubscriptions", json!([OTHER, OTHER])),
        ("additionalAllowedSubscriptions", json!(many)),
        ("baseDomain", json!("")),
        ("baseDomain", json!("-ext.example.com")),
        ("baseDomain", json!("ext..example.com")),
        ("baseDomain", json!("ext.example.com.")),
    ]
}

const REQUIRED: [&str; 5] = [
    "subscriptionID",
    "resourceGroupName",
    "location",
    "guestSubnetID",
    "guestVNetID",
];
const OPTIONAL: [&str; 4] = [
    "loadBalancerIP",
    "natSubnetID",
    "additionalAllowedSubscriptions",
    "baseDomain",
];

/// Valid values, which the object that is there may not get.
fn constant() -> Vec<(&'static str, Json)> {
    let other = format!("{NETWORK}2");
    vec![
        ("subscriptionID", json!(OTHER)),
        ("resourceGroupName", json!("two")),
        ("location", json!("westeurope")),
        ("natSubnetID", json!(format!("{other}/subnets/nat"))),
        ("guestSubnetID", json!(format!("{other}/subnets/nodes"))),
        ("guestVNetID", json!(other)),
        ("baseDomain", json!("other.example.com")),
    ]
}

/// Tries each of them.
fn judge(cluster: &Management, definition: &Json) {
    cluster.runtime.block_on(async {
        apply(&cluster.client, definition).await;
        established(&cluster.client).await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}});
        apply(&cluster.client, &namespace).await;
        apply(&cluster.client, &connection()).await;
    });
    for (field, value) in accepted() {
        let words = words(cluster, "new", field, Some(&value));
        assert_eq!(words, None, "{field}: {value}");
    }
    for (field, value) in refused() {
        let words = words(cluster, "new", field, Some(&value)).unwrap_or_default();
        assert!(words.contains(field), "{field}: {value}: {words}");
    }
    for field in REQUIRED {
        let words = words(cluster, "new", field, None).unwrap_or_default();
        let wanted = format!("spec.{field}: Required value");
        assert!(words.contains(&wanted), "{field}: {words}");
    }
    for field in OPTIONAL {
        assert_eq!(words(cluster, "new", field, None), None, "{field}");
    }
    for (field, value) in constant() {
        let words = words(cluster, "private-router", field, Some(&value)).unwrap_or_default();
        let wanted = format!("{field} is immutable once set");
        assert!(words.contains(&wanted), "{field}: {words}");
    }
    for (field, value) in [
        ("loadBalancerIP", json!("10.0.0.10")),
        ("additionalAllowedSubscriptions", json!([OTHER])),
    ] {
        let words = words(cluster, "private-router", field, Some(&value));
        assert_eq!(words, None, "{field}");
    }
}

#[test]
fn the_definition_of_a_connection_refuses_what_is_wrong_on_the_simulator() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    judge(&cluster, &private_links());
}

#[test]
fn the_definition_of_a_connection_refuses_what_is_wrong_on_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        judge(&cluster, &private_links());
    }
}

#[test]
fn the_definition_of_hypershift_refuses_the_same() {
    let found = real_definitions()
        .and_then(|all| all.into_iter().find(|one| one["metadata"]["name"] == CRD));
    if let Some(definition) = found {
        let cluster = Management::simulated(SPEED, actors::Options::default());
        judge(&cluster, &definition);
    }
}
