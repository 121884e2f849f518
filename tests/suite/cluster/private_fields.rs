//! Private clusters in Azure: what the real definition of HostedCluster accepts and refuses, new and as a change.

use capstan::adapters::azure_sim as actors;
use serde_json::{Value as Json, json};

use super::hosted::{hosted_in_azure, real_definitions};
use super::hosting::refusal;
use super::pipeline::{Management, apply, established};

const SPEED: u32 = 600;

/// The cluster with these fields of Azure in place of its own; null removes one.
fn with(name: &str, fields: &Json) -> Json {
    let mut cluster = hosted_in_azure().swap_remove(0);
    cluster["metadata"]["name"] = json!(name);
    let azure = &mut cluster["spec"]["platform"]["azure"];
    for (field, value) in fields.as_object().expect("fields") {
        let at = azure.pointer_mut(field).expect("a field");
        *at = value.clone();
    }
    without_nulls(azure);
    cluster
}

fn without_nulls(value: &mut Json) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|_, value| !value.is_null());
        map.values_mut().for_each(without_nulls);
    }
}

fn swift(instance: &str) -> Json {
    json!({"type": "Swift", "swift": {"podNetworkInstance": instance}})
}

/// Fields of a new cluster, and words of the refusal; none if it is accepted.
fn new() -> Vec<(Json, Option<&'static str>)> {
    let link =
        || hosted_in_azure()[0]["spec"]["platform"]["azure"]["private"]["privateLink"].clone();
    let operator = "/azureAuthenticationConfig/workloadIdentities/controlPlaneOperator";
    vec![
        (json!({}), None),
        (json!({"/topology": "PublicAndPrivate"}), None),
        (json!({"/topology": "Public", "/private": null}), None),
        (json!({"/private": swift("pni")}), None),
        (
            json!({"/private": {"type": "PrivateLink"}}),
            Some("privateLink"),
        ),
        (json!({"/private": {"type": "Swift"}}), Some("swift")),
        (
            json!({"/private": {"type": "Swift", "swift": {"podNetworkInstance": "pni"}, "privateLink": link()}}),
            Some("privateLink"),
        ),
        (
            json!({"/private": {"type": "PrivateLink", "swift": {"podNetworkInstance": "pni"}, "privateLink": link()}}),
            Some("swift"),
        ),
        (json!({operator: null}), Some("controlPlaneOperator")),
        (
            json!({"/topology": null}),
            Some("private is required when topology is"),
        ),
        (
            json!({"/topology": "Public"}),
            Some("private is required when topology is"),
        ),
        (
            json!({"/private": null}),
            Some("private is required when topology is"),
        ),
    ]
}

/// The same of a change to a cluster that is there.
fn changes() -> Vec<(&'static str, Json, Option<&'static str>)> {
    vec![
        ("linked", json!({"/topology": "PublicAndPrivate"}), None),
        (
            "linked",
            json!({"/private": swift("pni")}),
            Some("type is immutable"),
        ),
        (
            "linked",
            json!({"/topology": "Public", "/private": null}),
            Some("topology"),
        ),
        (
            "swift",
            json!({"/private": swift("other")}),
            Some("podNetworkInstance"),
        ),
    ]
}

fn judge(cluster: &Management, definitions: &[Json]) {
    cluster.runtime.block_on(async {
        for definition in definitions {
            apply(&cluster.client, definition).await;
        }
        established(&cluster.client).await;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "clusters"}});
        apply(&cluster.client, &namespace).await;
        apply(&cluster.client, &with("linked", &json!({}))).await;
        let swift = json!({"/private": swift("pni")});
        apply(&cluster.client, &with("swift", &swift)).await;
    });
    let new = new().into_iter();
    let new = new.map(|(fields, expected)| ("new", fields, expected));
    for (name, fields, expected) in new.chain(changes()) {
        let words = refusal(cluster, &with(name, &fields));
        match (expected, words) {
            (None, words) => assert_eq!(words, None, "{name} {fields}"),
            (Some(expected), words) => {
                let words = words.unwrap_or_default();
                assert!(words.contains(expected), "{name} {fields}: {words}");
            }
        }
    }
}

fn definitions() -> Option<Vec<Json>> {
    let all = real_definitions()?.into_iter();
    let is_hosted = |one: &Json| one["spec"]["names"]["kind"] == "HostedCluster";
    Some(all.filter(is_hosted).collect())
}

#[test]
fn hypershift_refuses_wrong_fields_of_private_clusters_on_the_simulator() {
    if let Some(definitions) = definitions() {
        judge(
            &Management::simulated(SPEED, actors::Options::default()),
            &definitions,
        );
    }
}

#[test]
fn hypershift_refuses_wrong_fields_of_private_clusters_on_kube_apiserver() {
    let cluster = Management::real(SPEED, actors::Options::default());
    if let (Some(cluster), Some(definitions)) = (cluster, definitions()) {
        judge(&cluster, &definitions);
    }
}
