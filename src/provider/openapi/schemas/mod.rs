//! The schemas of bodies.
//!
//! In: nothing. Out: each schema with its name. It does not know the operations that use them.

mod answer;
mod request;

use serde_json::{Value as Json, json};
use utoipa::openapi::extensions::{Extensions, ExtensionsBuilder};
use utoipa::openapi::schema::{Schema, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr};

pub(super) use request::{body, instance_id};

use crate::provider::request::{Dialect, NAME};

/// The longest name of a cluster or ID, in characters.
const LONGEST_NAME: usize = 63;
/// The part of the types of resources that names the API.
const API: &str = "acm-cluster-service-provider.dcm.io";

pub(super) const CLUSTER: &str = "Cluster";
pub(super) const CLUSTER_LIST: &str = "ClusterList";
pub(super) const HEALTH: &str = "Health";
pub(super) const PROBLEM: &str = "Problem";
const DCM_REQUEST: &str = "DcmRequest";
const DCM_SPEC: &str = "DcmSpec";
const PROPOSAL_REQUEST: &str = "ProposalRequest";

/// Every schema, with its name.
pub(super) fn all() -> [(&'static str, RefOr<Schema>); 7] {
    [
        (CLUSTER, answer::cluster().into()),
        (CLUSTER_LIST, answer::list().into()),
        (HEALTH, answer::health().into()),
        (PROBLEM, answer::problem().into()),
        (DCM_REQUEST, request::envelope().into()),
        (DCM_SPEC, request::spec(Dialect::Dcm).into()),
        (PROPOSAL_REQUEST, request::spec(Dialect::Proposal).into()),
    ]
}

/// The schema of this name, by reference.
pub(super) fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

/// A name of a cluster, or an ID.
pub(super) fn name(description: &str) -> ObjectBuilder {
    text(description)
        .min_length(Some(1))
        .max_length(Some(LONGEST_NAME))
        .pattern(Some(NAME))
}

pub(super) fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn text(description: &str) -> ObjectBuilder {
    string().description(Some(description))
}

pub(super) fn object(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .description(Some(description))
}

fn integer(description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some(description))
}

/// A value of this type, or null.
fn optional(kind: Type, description: &str) -> ObjectBuilder {
    let kinds = SchemaType::Array(vec![kind, Type::Null]);
    ObjectBuilder::new()
        .schema_type(kinds)
        .description(Some(description))
}

/// The mark of the schema of a resource.
fn resource(resource: Json) -> Extensions {
    ExtensionsBuilder::new()
        .add("x-aep-resource", resource)
        .build()
}

/// The resource that a cluster is.
fn cluster_resource() -> Json {
    json!({
        "type": format!("{API}/cluster"),
        "singular": "cluster",
        "plural": "clusters",
        "patterns": ["clusters/{cluster_id}"],
    })
}

/// The resource that the health of the provider is.
fn health_resource() -> Json {
    json!({
        "type": format!("{API}/health"),
        "singular": "health",
        "plural": "health",
        "patterns": ["health"],
        "singleton": true,
    })
}
