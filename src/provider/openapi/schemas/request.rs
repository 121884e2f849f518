//! The schemas of requests for a cluster, in both spellings.
//!
//! In: a dialect. Out: its schema. An optional field may be null, which is the same as leaving it out. Unknown fields are allowed.

use serde_json::{Value as Json, json};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::schema::{AllOfBuilder, AnyOfBuilder, Type};
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Required};

use super::parts::{
    DCM_REQUEST, DCM_SPEC, LONGEST_NAME, PROPOSAL_REQUEST, cluster_resource, name, named, object,
    optional, resource, string, text,
};
use crate::provider::capabilities::Platform;
use crate::provider::request::{Dialect, LONGEST_CLUSTER, NAME};
use crate::schema::patterns::{DOMAIN, SUBDOMAIN};

/// The most machines of a kind, and processors of a machine.
const MOST: u32 = 100_000;
/// The most agent labels.
const MOST_LABELS: usize = 64;
/// The longest text of an amount.
const LONGEST_AMOUNT: usize = 16;
/// The pattern of texts without control characters.
const PLAIN: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";
/// The pattern of addresses of images.
const IMAGE: &str = r"^\w[^\s\x00-\x1f\x7f-\x9f]+$";
/// The pattern of amounts of memory and storage.
const AMOUNT: &str = "^[1-9][0-9]*(MB|GB|TB)$";
/// The pattern of the keys of labels.
const LABEL_KEY: &str =
    r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// The pattern of the values of labels.
const LABEL_VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

/// The body of a request for a cluster: the resource without the fields that only answers have, or its `spec` alone.
pub(in super::super) fn body() -> RequestBody {
    let bodies = AnyOfBuilder::new()
        .item(bare(PROPOSAL_REQUEST))
        .item(named(DCM_REQUEST))
        .item(bare(DCM_SPEC))
        .extensions(Some(resource(cluster_resource())));
    RequestBodyBuilder::new()
        .description(Some(
            "The cluster, in at most 65536 bytes. Each field may have either spelling; in both, it must have the same value. Unknown fields are ignored, and so are those that \
             only answers have.",
        ))
        .required(Some(Required::True))
        .content("application/json", ContentBuilder::new().schema(Some(bodies)).build())
        .build()
}

/// A request without an envelope. Where there is a `spec`, it is the request.
fn bare(name: &str) -> AllOfBuilder {
    let no_envelope = object("No envelope").property("spec", optional_nothing());
    AllOfBuilder::new().item(named(name)).item(no_envelope)
}

/// A value that can only be null.
fn optional_nothing() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Null)
}

/// The ID that the client may choose.
pub(in super::super) fn instance_id() -> ObjectBuilder {
    string()
        .max_length(Some(LONGEST_NAME))
        .pattern(Some(or_empty(NAME)))
}

/// The request of DCM.
pub(super) fn envelope() -> ObjectBuilder {
    object("A request for a cluster, as the control plane of DCM sends it")
        .property("spec", named(DCM_SPEC))
        .required("spec")
}

/// The request itself, in one spelling.
pub(super) fn spec(dialect: Dialect) -> ObjectBuilder {
    let service_type = spelled(dialect, "serviceType", "service_type");
    let description = match dialect {
        Dialect::Proposal => "A request for a cluster in camelCase",
        Dialect::Dcm => "A request for a cluster in snake_case, as the agent of DCM sends it",
    };
    let version = "The version of OpenShift or Kubernetes; the latest patch version if it has none";
    object(description)
        .property(
            service_type,
            text("The type of the service").enum_values(Some(["cluster"])),
        )
        .property(
            spelled(dialect, "schemaVersion", "schema_version"),
            only("The version of this schema", "v1alpha1"),
        )
        .property(
            "version",
            text(version)
                .min_length(Some(1))
                .max_length(Some(64))
                .pattern(Some(PLAIN)),
        )
        .property("metadata", metadata())
        .property("nodes", nodes(dialect))
        .property(
            spelled(dialect, "provisioningType", "provisioning_type"),
            only("The way of provisioning", "hypershift"),
        )
        .property(
            spelled(dialect, "providerHints", "provider_hints"),
            hints(dialect),
        )
        .required(service_type)
        .required("version")
        .required("metadata")
        .examples(examples(dialect))
}

/// An optional text that can only be this one.
fn only(description: &str, value: &str) -> ObjectBuilder {
    optional(Type::String, description).enum_values(Some([json!(value), Json::Null]))
}

/// The name of a field in a dialect.
const fn spelled(dialect: Dialect, camel: &'static str, snake: &'static str) -> &'static str {
    match dialect {
        Dialect::Proposal => camel,
        Dialect::Dcm => snake,
    }
}

fn metadata() -> ObjectBuilder {
    object("What identifies the cluster")
        .property(
            "name",
            name("The name of the cluster. With the namespace of clusters and a hyphen before it, it must have at most 63 characters.")
                .max_length(Some(LONGEST_CLUSTER)),
        )
        .property(
            "labels",
            optional(Type::Object, "Labels. They are returned with the request, and not set on the cluster.")
                .additional_properties(Some(text("The value of a label"))),
        )
        .required("name")
}

fn nodes(dialect: Dialect) -> ObjectBuilder {
    let replicas = [json!(1), json!(3), json!(5), Json::Null];
    let replicas = optional(Type::Integer, "The number of replicas, which has no effect")
        .enum_values(Some(replicas));
    let control_plane = machines(
        "The control plane, which runs on the hub. `cpu` and `memory` are the requests of its main containers; `storage` has no effect.",
        replicas,
        2,
    );
    let workers = machines(
        "The workers. On bare metal, `cpu`, `memory` and `storage` are what a machine must have at least.",
        number("The number of workers; 1 if it is left out", 1),
        1,
    );
    optional(Type::Object, "The machines of the cluster")
        .property(
            spelled(dialect, "controlPlane", "control_plane"),
            control_plane,
        )
        .property(spelled(dialect, "worker", "workers"), workers)
}

fn machines(description: &str, count: ObjectBuilder, least_cpu: u32) -> ObjectBuilder {
    optional(Type::Object, description)
        .property("count", count)
        .property("cpu", number("The number of processors of each", least_cpu))
        .property("memory", amount("The memory of each"))
        .property("storage", amount("The storage of each"))
}

fn number(description: &str, least: u32) -> ObjectBuilder {
    optional(Type::Integer, description)
        .minimum(Some(least))
        .maximum(Some(MOST))
}

fn amount(description: &str) -> ObjectBuilder {
    optional(Type::String, description)
        .max_length(Some(LONGEST_AMOUNT))
        .pattern(Some(AMOUNT))
        .examples(["16GB"])
}

fn hints(dialect: Dialect) -> ObjectBuilder {
    let platforms = Platform::ALL.map(|platform| json!(platform.name()));
    let platforms = platforms.into_iter().chain([json!(""), Json::Null]);
    let platform =
        optional(Type::String, "The infrastructure of the workers").enum_values(Some(platforms));
    let domain = hint("The base domain of the cluster", 253, DOMAIN);
    let infra_env = hint(
        "The InfraEnv of the machines, on bare metal",
        LONGEST_NAME,
        SUBDOMAIN,
    );
    let image = hint(
        "The image of the release, in place of that of the version",
        253,
        IMAGE,
    );
    let acm =
        "The hints for this provider. A hint that is empty or left out is the provider's default.";
    let acm = optional(Type::Object, acm)
        .property("platform", platform)
        .property(spelled(dialect, "baseDomain", "base_domain"), domain)
        .property(spelled(dialect, "infraEnv", "infra_env"), infra_env)
        .property(
            spelled(dialect, "agentLabels", "agent_labels"),
            agent_labels(),
        )
        .property(spelled(dialect, "releaseImage", "release_image"), image)
        .property(
            spelled(dialect, "provisioningType", "provisioning_type"),
            only("The way of provisioning", "hypershift"),
        );
    let all = "Hints for providers. Those for other providers are ignored.";
    optional(Type::Object, all).property("acm", acm)
}

fn agent_labels() -> ObjectBuilder {
    let value = text("The value of a label").pattern(Some(LABEL_VALUE));
    optional(
        Type::Object,
        "The labels that the machines must have, on bare metal",
    )
    .property_names(Some(string().pattern(Some(LABEL_KEY)).build()))
    .additional_properties(Some(value))
    .max_properties(Some(MOST_LABELS))
}

fn hint(description: &str, longest: usize, pattern: &str) -> ObjectBuilder {
    optional(Type::String, description)
        .max_length(Some(longest))
        .pattern(Some(or_empty(pattern)))
}

/// The pattern of the same texts, and of the empty one.
fn or_empty(pattern: &str) -> String {
    let inner = pattern.trim_start_matches('^').trim_end_matches('$');
    format!("^({inner})?$")
}

fn examples(dialect: Dialect) -> [Json; 2] {
    let kubevirt = json!({"platform": "kubevirt", spelled(dialect, "baseDomain", "base_domain"): "example.com"});
    let bare_metal = json!({
        "platform": "baremetal",
        spelled(dialect, "baseDomain", "base_domain"): "example.com",
        spelled(dialect, "infraEnv", "infra_env"): "production-infraenv",
        spelled(dialect, "agentLabels", "agent_labels"): {"location": "datacenter-1"},
    });
    [
        example(dialect, "dev-cluster-01", &kubevirt),
        example(dialect, "prod-cluster-01", &bare_metal),
    ]
}

fn example(dialect: Dialect, name: &str, hints: &Json) -> Json {
    json!({
        spelled(dialect, "serviceType", "service_type"): "cluster",
        "version": "4.20",
        "metadata": {"name": name},
        "nodes": {
            spelled(dialect, "controlPlane", "control_plane"): {"count": 3, "cpu": 4, "memory": "16GB", "storage": "120GB"},
            spelled(dialect, "worker", "workers"): {"count": 3, "cpu": 8, "memory": "32GB", "storage": "250GB"},
        },
        spelled(dialect, "providerHints", "provider_hints"): {"acm": hints},
    })
}
