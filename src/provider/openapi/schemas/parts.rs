//! What several schemas are made of.

use serde_json::{Value as Json, json};
use utoipa::openapi::extensions::{Extensions, ExtensionsBuilder};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Ref};

use crate::provider::request::NAME;

/// The longest name of a cluster or ID, in characters.
pub(in crate::provider::openapi) const LONGEST_NAME: usize = 63;
/// The part of the types of resources that names the API.
pub(in crate::provider::openapi) const API: &str = "acm-cluster-service-provider.dcm.io";

pub(in crate::provider::openapi) const CLUSTER: &str = "Cluster";
pub(in crate::provider::openapi) const CLUSTER_LIST: &str = "ClusterList";
pub(in crate::provider::openapi) const HEALTH: &str = "Health";
pub(in crate::provider::openapi) const PROBLEM: &str = "Problem";
pub(in crate::provider::openapi) const DCM_REQUEST: &str = "DcmRequest";
pub(in crate::provider::openapi) const DCM_SPEC: &str = "DcmSpec";
pub(in crate::provider::openapi) const PROPOSAL_REQUEST: &str = "ProposalRequest";

/// The schema of this name, by reference.
pub(in crate::provider::openapi) fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

/// A name of a cluster, or an ID.
pub(in crate::provider::openapi) fn name(description: &str) -> ObjectBuilder {
    text(description)
        .min_length(Some(1))
        .max_length(Some(LONGEST_NAME))
        .pattern(Some(NAME))
}

pub(in crate::provider::openapi) fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

pub(in crate::provider::openapi) fn text(description: &str) -> ObjectBuilder {
    string().description(Some(description))
}

pub(in crate::provider::openapi) fn object(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
}

pub(in crate::provider::openapi) fn integer(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some(description))
}

/// A value of this type, or null.
pub(in crate::provider::openapi) fn optional(kind: Type, description: &str) -> ObjectBuilder {
    let kinds = SchemaType::Array(vec![kind, Type::Null]);
    ObjectBuilder::new()
        .schema_type(kinds)
        .description(Some(description))
}

/// The mark of the schema of a resource.
pub(in crate::provider::openapi) fn resource(resource: Json) -> Extensions {
    ExtensionsBuilder::new()
        .add("x-aep-resource", resource)
        .build()
}

/// The resource that a cluster is.
pub(in crate::provider::openapi) fn cluster_resource() -> Json {
    json!({
        "type": format!("{API}/cluster"),
        "singular": "cluster",
        "plural": "clusters",
        "patterns": ["clusters/{cluster_id}"],
    })
}

/// The resource that the health of the provider is.
pub(in crate::provider::openapi) fn health_resource() -> Json {
    json!({
        "type": format!("{API}/health"),
        "singular": "health",
        "plural": "health",
        "patterns": ["health"],
        "singleton": true,
    })
}
