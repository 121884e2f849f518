//! The schemas of answers.
//!
//! In: nothing. Out: the schemas of a cluster, of a list, of the health, and of a problem.

use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Schema, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, SchemaFormat};

use super::parts::{
    API, CLUSTER, DCM_SPEC, PROPOSAL_REQUEST, cluster_resource, health_resource, integer, name,
    named, object, optional, resource, text,
};
use crate::provider::capabilities::Platform;

/// The states of a cluster. `RUNNING` is `READY` in the other vocabulary that a provider may be set to.
const STATES: [&str; 8] = [
    "PENDING",
    "PROVISIONING",
    "READY",
    "RUNNING",
    "UNAVAILABLE",
    "FAILED",
    "DELETING",
    "DELETED",
];
/// The kinds of problems.
const PROBLEMS: [&str; 8] = [
    "INVALID_ARGUMENT",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "UNPROCESSABLE_ENTITY",
    "INTERNAL",
    "UNAVAILABLE",
];

/// A cluster, with the fields of both spellings.
pub(super) fn cluster() -> ObjectBuilder {
    let fields = both().into_iter().chain(of_proposal()).chain(of_dcm());
    let cluster = object(
        "A cluster. The answer to a request for one has the fields of the spelling of the request.",
    );
    let cluster = fields.fold(cluster, |cluster, (name, field)| {
        cluster.property(name, field.read_only(Some(true)))
    });
    cluster
        .property("spec", spec())
        .required("status")
        .extensions(Some(resource(cluster_resource())))
}

/// The fields that both spellings have.
fn both() -> [(&'static str, ObjectBuilder); 2] {
    let kubeconfig = "The kubeconfig of an administrator in Base64, once the cluster is ready. A provider may leave it out of lists.";
    [
        (
            "status",
            text("The state of the cluster").enum_values(Some(STATES)),
        ),
        ("kubeconfig", text(kubeconfig).content_encoding("base64")),
    ]
}

fn of_proposal() -> [(&'static str, ObjectBuilder); 9] {
    let platforms = Platform::ALL.map(Platform::name).into_iter().chain([""]);
    let nodes = object("The machines of the cluster")
        .property(
            "controlPlane",
            machines("The replicas of the control plane"),
        )
        .property("worker", machines("The workers"));
    let metadata = object("What identifies the cluster")
        .property("namespace", text("The namespace of the cluster on the hub"))
        .property(
            "createdAt",
            optional(
                Type::String,
                "The time of the request for the cluster; null if nobody knows",
            )
            .format(Some(date_time())),
        );
    [
        ("requestId", name("The ID of the cluster, the same as `id`")),
        ("name", text("The name of the cluster")),
        (
            "provisioningType",
            text("The way of provisioning").enum_values(Some(["hypershift"])),
        ),
        (
            "platform",
            text("The infrastructure of the workers; empty if it is another one")
                .enum_values(Some(platforms)),
        ),
        (
            "version",
            text("The version, as it was asked for; empty until it is known"),
        ),
        (
            "apiEndpoint",
            text("The address of the cluster's API; empty until it is known"),
        ),
        (
            "consoleUrl",
            text("The address of the cluster's web console; empty until it is known"),
        ),
        ("nodes", nodes),
        ("metadata", metadata),
    ]
}

fn of_dcm() -> [(&'static str, ObjectBuilder); 7] {
    [
        ("id", name("The ID of the cluster")),
        (
            "path",
            text("The path of the cluster in this API, without the version")
                .pattern(Some("^clusters/[a-z0-9-]{1,63}$")),
        ),
        (
            "status_message",
            text("The explanation of the state, for people"),
        ),
        (
            "api_endpoint",
            text("The address of the cluster's API, once it is known"),
        ),
        (
            "console_uri",
            text("The address of the cluster's web console, once it is known"),
        ),
        (
            "create_time",
            time("The time of the request for the cluster"),
        ),
        (
            "update_time",
            time("The time of the last change of the state"),
        ),
    ]
}

fn machines(description: &str) -> ObjectBuilder {
    object(description)
        .property(
            "ready",
            integer("The number of those that are ready").minimum(Some(0)),
        )
        .property(
            "total",
            integer("The number of those that were asked for").minimum(Some(0)),
        )
        .required("ready")
        .required("total")
}

fn time(description: &str) -> ObjectBuilder {
    text(description).format(Some(date_time()))
}

const fn date_time() -> SchemaFormat {
    SchemaFormat::KnownFormat(KnownFormat::DateTime)
}

/// The request as it was sent, or what is known of a cluster that was made without one.
fn spec() -> AnyOfBuilder {
    let known = object("What is known of a cluster that this provider did not make")
        .property("service_type", text("The type of the service"))
        .property("metadata", object("What identifies the cluster"))
        .property("version", text("The version; empty until it is known"))
        .required("service_type")
        .required("metadata")
        .required("version");
    AnyOfBuilder::new()
        .item(named(DCM_SPEC))
        .item(named(PROPOSAL_REQUEST))
        .item(known)
        .description(Some("The request for the cluster, as it was sent"))
}

/// A page of clusters.
pub(super) fn list() -> ObjectBuilder {
    object("A page of clusters, in the order of their names. Both arrays hold the same clusters; a provider that answers in one spelling has one of them.")
        .property("results", clusters("The clusters of this page, for clients that write camelCase"))
        .property("clusters", clusters("The clusters of this page, for clients that write snake_case"))
        .property("next_page_token", text("The token of the next page. The last page has none.").min_length(Some(1)))
}

fn clusters(description: &str) -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(named(CLUSTER))
        .description(Some(description))
        .into()
}

/// The health of the provider.
pub(super) fn health() -> ObjectBuilder {
    object("The health of the provider")
        .property(
            "type",
            text("The type of this resource").enum_values(Some([format!("{API}/health")])),
        )
        .property(
            "status",
            text("The health, as of the last check").enum_values(Some(["healthy", "unhealthy"])),
        )
        .property(
            "path",
            text("The path of this resource").enum_values(Some(["health"])),
        )
        .property("version", text("The version of the provider"))
        .property(
            "uptime",
            integer("The seconds since the provider started").minimum(Some(0)),
        )
        .property("reasons", reasons())
        .required("type")
        .required("status")
        .required("path")
        .required("version")
        .required("uptime")
        .extensions(Some(resource(health_resource())))
}

fn reasons() -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(text("A reason, for people"))
        .description(Some("The reasons why the provider is unhealthy"))
        .into()
}

/// A problem, as RFC 9457 has it.
pub(super) fn problem() -> ObjectBuilder {
    let uri = SchemaFormat::Custom("uri-reference".to_owned());
    object("The reason why a request failed")
        .property(
            "type",
            text("The kind of the problem, for programs")
                .format(Some(uri))
                .enum_values(Some(PROBLEMS)),
        )
        .property("title", text("The meaning of the status"))
        .property(
            "status",
            integer("The HTTP status")
                .minimum(Some(400))
                .maximum(Some(599)),
        )
        .property(
            "detail",
            text(
                "The explanation for people, which may change: programs go by `type` and `status`",
            ),
        )
        .property(
            "instance",
            text("The ID of the request, the same as in the header `X-Request-Id`"),
        )
        .required("type")
        .required("title")
        .required("status")
        .required("detail")
        .required("instance")
}
