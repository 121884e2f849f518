//! The paths of the API, and what can be done at each.
//!
//! In: nothing. Out: every path. It does not know the schemas of bodies.

use serde_json::json;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{
    OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItemBuilder,
};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{
    ContentBuilder, HttpMethod, ObjectBuilder, Paths, PathsBuilder, Required, ResponseBuilder,
    SecurityRequirement,
};

use super::names::{BEARER, CLUSTERS, PROVIDER};
use super::responses::{Failure, request_id};
use super::schemas::{self, CLUSTER, CLUSTER_LIST, HEALTH, named, string};

/// The problems that every operation on clusters may answer.
const ALWAYS: [Failure; 5] = [
    Failure::Invalid,
    Failure::Unauthenticated,
    Failure::TooMany,
    Failure::Internal,
    Failure::Unavailable,
];
/// The longest token of a page, in bytes of ASCII.
const LONGEST_TOKEN: usize = 512;

/// Every path.
pub(super) fn all() -> Paths {
    let clusters = PathItemBuilder::new()
        .operation(HttpMethod::Get, list())
        .operation(HttpMethod::Post, create());
    let cluster = PathItemBuilder::new()
        .parameters(Some([cluster_id()]))
        .operation(HttpMethod::Get, get())
        .operation(HttpMethod::Delete, delete());
    PathsBuilder::new()
        .path("/api/v1alpha1/clusters", clusters.build())
        .path("/api/v1alpha1/clusters/{clusterId}", cluster.build())
        .path("/api/v1alpha1/clusters/health", health("getHealth").build())
        .path("/api/v1alpha1/health", health("getApiHealth").build())
        .path("/health", health("getRootHealth").build())
        .path("/api/v1alpha1/openapi.json", openapi().build())
        .build()
}

/// An operation on clusters, which takes a token.
fn operation(id: &str, summary: &str, failures: &[Failure]) -> OperationBuilder {
    let operation = OperationBuilder::new()
        .operation_id(Some(id))
        .summary(Some(summary))
        .tag(CLUSTERS)
        .security(SecurityRequirement::new::<_, _, String>(BEARER, []));
    ALWAYS
        .iter()
        .chain(failures)
        .fold(operation, |operation, failure| {
            operation.response(failure.status(), failure.response())
        })
}

fn create() -> OperationBuilder {
    let failures = [
        Failure::Denied,
        Failure::Exists,
        Failure::TooLarge,
        Failure::Unprocessable,
    ];
    let created = success(
        "The cluster was accepted. Its status is `PENDING`.",
        CLUSTER,
    )
    .header("Location", location());
    operation("createCluster", "Create a cluster", &failures)
        .description(Some(
            "Creates a cluster. The request is either in camelCase, or in snake_case; in snake_case, it may be the field `spec` of an object. \
             The answer has the spelling of the request.",
        ))
        .parameter(
            ParameterBuilder::new()
                .name("id")
                .parameter_in(ParameterIn::Query)
                .description(Some("The ID of the cluster, other than `health`. Without one, the provider makes a UUID."))
                .schema(Some(schemas::instance_id())),
        )
        .parameter(
            ParameterBuilder::new()
                .name("Idempotency-Key")
                .parameter_in(ParameterIn::Header)
                .description(Some("A key of this request. The answer to the same request with the same key is the first answer."))
                .schema(Some(string().min_length(Some(1)).max_length(Some(255)))),
        )
        .request_body(Some(schemas::body()))
        .response("201", created)
}

fn list() -> OperationBuilder {
    operation("listClusters", "List clusters", &[])
        .description(Some("Returns a page of the clusters, in the order of their names."))
        .parameter(
            ParameterBuilder::new()
                .name("max_page_size")
                .parameter_in(ParameterIn::Query)
                .description(Some("The most clusters of the page"))
                .schema(Some(page_size())),
        )
        .parameter(
            ParameterBuilder::new()
                .name("page_token")
                .parameter_in(ParameterIn::Query)
                .description(Some("The `next_page_token` of the page before. Without one, or with an empty one, the page is the first."))
                .schema(Some(page_token())),
        )
        .response("200", success("A page of clusters", CLUSTER_LIST))
}

fn page_size() -> ObjectBuilder {
    let size = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(100));
    size.default(Some(json!(50)))
}

fn page_token() -> ObjectBuilder {
    string()
        .max_length(Some(LONGEST_TOKEN))
        .pattern(Some("^[A-Za-z0-9+/=_-]*$"))
}

fn get() -> OperationBuilder {
    operation("getCluster", "Get a cluster", &[Failure::NotFound])
        .description(Some("Returns a cluster."))
        .response("200", success("The cluster", CLUSTER))
}

fn delete() -> OperationBuilder {
    let failures = [Failure::Denied, Failure::NotFound, Failure::NotRemovable];
    let deleted = ResponseBuilder::new()
        .description("The deletion has begun, or had begun before.")
        .header("X-Request-Id", request_id());
    operation("deleteCluster", "Delete a cluster", &failures)
        .description(Some(
            "Deletes a cluster with all that belongs to it. The cluster has the status `DELETING` until it is gone.",
        ))
        .response("204", deleted)
}

fn cluster_id() -> Parameter {
    ParameterBuilder::new()
        .name("clusterId")
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some("The ID of the cluster"))
        .schema(Some(schemas::parts::name("The ID of a cluster")))
        .build()
}

fn health(id: &str) -> PathItemBuilder {
    let health = OperationBuilder::new()
        .operation_id(Some(id))
        .summary(Some("Get the health of the provider"))
        .description(Some(
            "Returns the health of the provider. The HTTP status is 200 whatever the health is.",
        ))
        .tag(PROVIDER)
        .securities(Some([]))
        .response("200", success("The health of the provider", HEALTH));
    PathItemBuilder::new().operation(HttpMethod::Get, health)
}

fn openapi() -> PathItemBuilder {
    let content = ContentBuilder::new().schema(Some(schemas::parts::object("An OpenAPI document")));
    let document = ResponseBuilder::new()
        .description("This document")
        .header("X-Request-Id", request_id())
        .content("application/json", content.build());
    let openapi = OperationBuilder::new()
        .operation_id(Some("getOpenapi"))
        .summary(Some("Get this document"))
        .description(Some("Returns the OpenAPI document of this API."))
        .tag(PROVIDER)
        .securities(Some([]))
        .response("200", document);
    PathItemBuilder::new().operation(HttpMethod::Get, openapi)
}

/// An answer with a body of JSON.
fn success(description: &str, schema: &str) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(named(schema))).build();
    ResponseBuilder::new()
        .description(description)
        .header("X-Request-Id", request_id())
        .content("application/json", content)
}

fn location() -> Header {
    HeaderBuilder::new()
        .schema(string().pattern(Some("^/api/v1alpha1/clusters/[a-z0-9-]{1,63}$")))
        .description(Some("The path of the cluster"))
        .build()
}
