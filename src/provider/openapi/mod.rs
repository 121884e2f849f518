//! The description of the REST API, as an OpenAPI 3.1 document.
//!
//! In: nothing. Out: the document. It does not know the settings of a provider: the document allows what some provider allows, such as every
//! platform.
//!
//! The server answers clients that validate, and tools that send what the document allows and what it forbids. So the document is neither
//! laxer nor stricter than the code that reads requests, except where one value depends on another.

mod names;
mod paths;
mod responses;
mod schemas;
#[cfg(test)]
mod tests;

use names::{BEARER, CLUSTERS, PROVIDER};
use serde_json::Value as Json;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::tag::{Tag, TagBuilder};
use utoipa::openapi::{
    Components, ComponentsBuilder, Info, InfoBuilder, LicenseBuilder, OpenApiBuilder, ServerBuilder,
};

/// The OpenAPI document of the REST API.
#[must_use]
pub fn document() -> Json {
    let server = ServerBuilder::new()
        .url("/")
        .description(Some("The server of this document"));
    let api = OpenApiBuilder::new()
        .info(info())
        .servers(Some([server.build()]))
        .paths(paths::all())
        .components(Some(components()))
        .tags(Some([
            tag(CLUSTERS, "The clusters of this provider"),
            tag(PROVIDER, "The provider itself"),
        ]))
        .build();
    serde_json::to_value(api).expect("the document is made of JSON values")
}

fn info() -> Info {
    let license = LicenseBuilder::new()
        .name("Apache-2.0")
        .identifier(Some("Apache-2.0"));
    InfoBuilder::new()
        .title("Capstan service provider")
        .version("v1alpha1")
        .description(Some(
            "Creates, reads and deletes OpenShift clusters with hosted control planes.\n\nRequests are understood in camelCase and in \
             snake_case. The answer to a request for a cluster has the same spelling; all other answers have the fields of both.",
        ))
        .license(Some(license.build()))
        .build()
}

fn tag(name: &str, description: &str) -> Tag {
    TagBuilder::new()
        .name(name)
        .description(Some(description))
        .build()
}

fn components() -> Components {
    let mut http = Http::new(HttpAuthScheme::Bearer);
    http.description = Some("A token that the operator of the provider issued".to_owned());
    ComponentsBuilder::new()
        .schemas_from_iter(schemas::all())
        .responses_from_iter(responses::all())
        .security_scheme(BEARER, SecurityScheme::Http(http))
        .build()
}
