//! The custom resource definitions and document schemas of our kinds.
//!
//! Out: JSON. `crds/` in the repository contains the output of [`crds`]; `capstan schema KIND` prints
//! [`schema`] for editors.

use kube::CustomResourceExt;
use serde_json::{Value as Json, json};

use super::aro_cluster::AROCluster;
use super::aro_control_plane::AROControlPlane;
use super::aro_machine_pool::AROMachinePool;
use super::azure_cluster_identity::AzureClusterIdentity;
use super::azure_private_link_service::AzurePrivateLinkService;
use super::cluster_definition::Platform;
use super::fleet::Fleet;
use super::labels::CLUSTERCTL;
use super::{cluster_definition, fleet, overlay, structural};

/// The kind with a [`definition`] for each platform.
pub const DEFINITION: &str = "ClusterDefinition";

/// The kinds with a [`schema`].
pub const KINDS: [&str; 7] = [
    DEFINITION,
    "Overlay",
    "Fleet",
    "AROCluster",
    "AROControlPlane",
    "AROMachinePool",
    "AzureClusterIdentity",
];

/// The CRDs of Fleet and of the four ARO kinds.
#[must_use]
pub fn crds() -> Vec<Json> {
    vec![
        crd::<Fleet>(),
        as_capz(crd::<AROCluster>()),
        as_capz(crd::<AROControlPlane>()),
        as_capz(crd::<AROMachinePool>()),
        as_capz(crd::<AzureClusterIdentity>()),
    ]
}

/// The CRD of Fleet.
#[must_use]
pub fn fleets() -> Json {
    crd::<Fleet>()
}

/// The CRD of AzurePrivateLinkService, for clusters in which HyperShift has not installed its own.
#[must_use]
pub fn private_links() -> Json {
    crd::<AzurePrivateLinkService>()
}

/// CAPZ's CRDs accept an object without `spec`, so ours do. `clusterctl init` labels CAPZ's; ours are applied without it, and
/// `clusterctl move` leaves behind what is of a kind without the label.
fn as_capz(mut crd: Json) -> Json {
    crd["metadata"]["labels"][CLUSTERCTL] = json!("");
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("required");
    }
    crd
}

fn crd<T: CustomResourceExt>() -> Json {
    let mut crd = serde_json::to_value(T::crd()).expect("a CRD is plain data");
    structural::tidy(&mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
    crd
}

/// The JSON schema of a document of `kind` for editors: unknown fields are errors. `None` if the kind is
/// not one of ours. That of a definition is of platform ARO.
#[must_use]
pub fn schema(kind: &str) -> Option<Json> {
    let mut schema = match kind {
        DEFINITION => cluster_definition::schema_of(Platform::Aro),
        "Overlay" => overlay::schema(),
        "Fleet" => fleet::schema(),
        _ => of_crd(kind)?,
    };
    close(&mut schema);
    Some(titled(schema, kind))
}

/// The JSON schema of a definition of one platform.
#[must_use]
pub fn definition(platform: Platform) -> Json {
    let mut schema = cluster_definition::schema_of(platform);
    close(&mut schema);
    titled(schema, DEFINITION)
}

/// The JSON schema of a definition of any platform, which depends on it.
#[must_use]
pub fn definitions() -> Json {
    let [mut aro, mut hyper_shift] = Platform::ALL.map(cluster_definition::schema_of);
    close(&mut aro);
    close(&mut hyper_shift);
    let platform = json!({"const": Platform::HyperShift.name()});
    let spec = json!({"required": ["platform"], "properties": {"platform": platform}});
    let is_hyper_shift = json!({"required": ["spec"], "properties": {"spec": spec}});
    let schema = json!({"type": "object", "if": is_hyper_shift, "then": hyper_shift, "else": aro});
    titled(schema, DEFINITION)
}

fn titled(mut schema: Json, kind: &str) -> Json {
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = kind.into();
    schema
}

fn of_crd(kind: &str) -> Option<Json> {
    let all = crds().into_iter().chain([private_links()]);
    let mut crd = all
        .into_iter()
        .find(|crd| crd["spec"]["names"]["kind"] == kind)?;
    let (group, version) = (&crd["spec"]["group"], &crd["spec"]["versions"][0]["name"]);
    let api_version = format!("{}/{}", group.as_str()?, version.as_str()?);
    let mut schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].take();
    schema["properties"]["apiVersion"] = json!({"type": "string", "enum": [api_version]});
    schema["properties"]["kind"] = json!({"type": "string", "enum": [kind]});
    schema["properties"]["metadata"] = json!({"type": "object"});
    schema["required"] = json!(["spec"]);
    Some(schema)
}

/// Disallows additional fields wherever fields are listed.
fn close(schema: &mut Json) {
    structural::each(schema, &|fields| {
        let open = fields.contains_key("x-kubernetes-preserve-unknown-fields");
        if fields.contains_key("properties") && !open {
            fields.insert("additionalProperties".to_owned(), false.into());
        }
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_crd_has_a_schema_that_is_one() {
        for crd in crds() {
            let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            kube_schema::Schema::from_json(schema).unwrap();
            assert!(!schema.to_string().contains("nullable"), "{crd}");
        }
    }

    #[test]
    fn clusterctl_moves_the_aro_kinds_and_no_other() {
        for crd in crds() {
            let is_moved = crd["metadata"]["labels"].get("clusterctl.cluster.x-k8s.io");
            let is_fleet = crd["spec"]["names"]["kind"] == "Fleet";
            assert_eq!(is_moved.is_none(), is_fleet, "{crd}");
        }
    }

    #[test]
    fn editors_get_schemas_of_all_our_kinds() {
        for kind in KINDS {
            let schema = schema(kind).unwrap();
            assert_eq!(schema["properties"]["kind"]["enum"][0], kind);
            assert_eq!(schema["additionalProperties"], false);
        }
        assert_eq!(schema("Deployment"), None);
    }

    #[test]
    fn the_schema_of_a_definition_depends_on_its_platform() {
        let whole = definitions();
        assert_eq!(schema(DEFINITION), Some(definition(Platform::Aro)));
        for (branch, platform) in [("then", Platform::HyperShift), ("else", Platform::Aro)] {
            let one = definition(platform);
            assert_eq!(whole[branch]["properties"], one["properties"]);
        }
        let own = |platform, field: &str| {
            definition(platform)["properties"]["spec"]["properties"]
                .get(field)
                .is_some()
        };
        assert!(own(Platform::Aro, "location") && !own(Platform::HyperShift, "location"));
        assert!(own(Platform::HyperShift, "hyperShift") && !own(Platform::Aro, "hyperShift"));
    }

    #[test]
    fn what_azure_defines_stays_open() {
        let schema = definition(Platform::Aro);
        let spec = &schema["properties"]["spec"];
        assert_eq!(spec["additionalProperties"], false);
        assert_eq!(
            spec["properties"]["properties"].get("additionalProperties"),
            None
        );
        assert_eq!(
            spec["properties"]["tags"]["additionalProperties"]["type"],
            "string"
        );
    }
}
