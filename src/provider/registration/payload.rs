//! The registration as the registry reads it.
//!
//! In: the identity of this provider, and its capabilities. Out: a JSON object. It does not know when it is sent.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::provider::capabilities::{Capabilities, Platform};

/// The one way in which clusters are made.
const PROVISIONING_TYPES: [&str; 1] = ["hypershift"];

/// The names and the address of this provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name, which is unique in the registry.
    pub name: String,
    /// The name for people.
    pub display_name: Option<String>,
    /// The address of the clusters; see [`clusters_endpoint`](super::clusters_endpoint).
    pub endpoint: String,
    /// The code of the region.
    pub region: Option<String>,
    /// The zone in the region.
    pub zone: Option<String>,
}

/// Returns the registration.
///
/// At the top level the registry defines its members, in snake case, and a strict registry may refuse others: they are sent
/// in that spelling alone. The metadata is open, and is read in either spelling: its members are sent in both, and once more
/// below `capabilities`, whose case differs from one registry to another.
pub(super) fn payload(identity: &Identity, capabilities: &Capabilities) -> Value {
    let mut payload = Map::new();
    let mut set = |name: &str, value: Value| _ = payload.insert(name.to_owned(), value);
    set("name", json!(identity.name));
    set("service_type", json!("cluster"));
    set("schema_version", json!("v1alpha1"));
    set("endpoint", json!(identity.endpoint));
    set("operations", json!(["CREATE", "DELETE", "READ"]));
    if let Some(display_name) = &identity.display_name {
        set("display_name", json!(display_name));
    }
    set("metadata", metadata(identity, capabilities));
    Value::Object(payload)
}

fn metadata(identity: &Identity, capabilities: &Capabilities) -> Value {
    let advertised = advertised(capabilities);
    let mut metadata = advertised.clone();
    for (name, value) in [("region_code", &identity.region), ("zone", &identity.zone)] {
        if let Some(value) = value {
            metadata.insert(name.to_owned(), json!(value));
        }
    }
    for name in ["capabilities", "Capabilities"] {
        metadata.insert(name.to_owned(), Value::Object(advertised.clone()));
    }
    Value::Object(metadata)
}

/// The capabilities in both spellings.
fn advertised(capabilities: &Capabilities) -> Map<String, Value> {
    let members = [
        (
            "supportedPlatforms",
            "supported_platforms",
            names(&capabilities.platforms),
        ),
        (
            "supportedProvisioningTypes",
            "supported_provisioning_types",
            json!(PROVISIONING_TYPES),
        ),
        (
            "supportedVersions",
            "supported_versions",
            json!(capabilities.versions_openshift),
        ),
        (
            "kubernetesSupportedVersions",
            "kubernetes_supported_versions",
            json!(capabilities.versions_kubernetes),
        ),
    ];
    let both = members.into_iter().flat_map(|(camel, snake, value)| {
        [(camel.to_owned(), value.clone()), (snake.to_owned(), value)]
    });
    both.collect()
}

fn names(platforms: &BTreeSet<Platform>) -> Value {
    platforms.iter().map(|platform| platform.name()).collect()
}
