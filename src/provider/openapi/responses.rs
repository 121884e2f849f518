//! The answers that several operations have in common: problems.
//!
//! In: nothing. Out: each response with its name. It does not know which operations have them.

use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ContentBuilder, ObjectBuilder, Ref, RefOr, Response, ResponseBuilder};

use super::schemas::{PROBLEM, named, string};

/// A problem that an operation may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    Invalid,
    Unauthenticated,
    Denied,
    NotFound,
    Exists,
    NotRemovable,
    TooLarge,
    Unprocessable,
    TooMany,
    Internal,
    Unavailable,
}

impl Failure {
    const ALL: [Self; 11] = [
        Self::Invalid,
        Self::Unauthenticated,
        Self::Denied,
        Self::NotFound,
        Self::Exists,
        Self::NotRemovable,
        Self::TooLarge,
        Self::Unprocessable,
        Self::TooMany,
        Self::Internal,
        Self::Unavailable,
    ];

    pub(super) const fn status(self) -> &'static str {
        match self {
            Self::Invalid => "400",
            Self::Unauthenticated => "401",
            Self::Denied => "403",
            Self::NotFound => "404",
            Self::Exists | Self::NotRemovable => "409",
            Self::TooLarge => "413",
            Self::Unprocessable => "422",
            Self::TooMany => "429",
            Self::Internal => "500",
            Self::Unavailable => "503",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "Invalid",
            Self::Unauthenticated => "Unauthenticated",
            Self::Denied => "PermissionDenied",
            Self::NotFound => "NotFound",
            Self::Exists => "AlreadyExists",
            Self::NotRemovable => "NotRemovable",
            Self::TooLarge => "TooLarge",
            Self::Unprocessable => "Unprocessable",
            Self::TooMany => "TooManyRequests",
            Self::Internal => "Internal",
            Self::Unavailable => "Unavailable",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Invalid => "The request is not valid. The detail names every mistake.",
            Self::Unauthenticated => "The request has no bearer token that is accepted.",
            Self::Denied => "The change needs the approval of a second person.",
            Self::NotFound => "There is no cluster with this ID.",
            Self::Exists => "There is a cluster with this name or ID. It was not changed.",
            Self::NotRemovable => {
                "The API cannot remove the definition of the cluster: people wrote it, it shares its file with others, or the fleet would not be applied without it. The detail says which."
            }
            Self::TooLarge => "The body is too large.",
            Self::Unprocessable => {
                "The request is valid, and this provider does not have the platform, the version or the way of provisioning; or its `Idempotency-Key` belongs to another request."
            }
            Self::TooMany => "There are too many requests.",
            Self::Internal => {
                "The provider failed. The cause is in its log, under the ID of the request."
            }
            Self::Unavailable => "The request can succeed later.",
        }
    }

    /// The response, by reference.
    pub(super) fn response(self) -> Ref {
        Ref::from_response_name(self.name())
    }

    fn component(self) -> Response {
        let content = ContentBuilder::new().schema(Some(named(PROBLEM))).build();
        let response = ResponseBuilder::new()
            .description(self.description())
            .header("X-Request-Id", request_id())
            .content("application/problem+json", content);
        let response = match self {
            Self::Unauthenticated => response.header("WWW-Authenticate", challenge()),
            Self::TooMany | Self::Unavailable => response.header("Retry-After", retry_after()),
            _ => response,
        };
        response.build()
    }
}

/// Every response, with its name.
pub(super) fn all() -> impl Iterator<Item = (&'static str, RefOr<Response>)> {
    Failure::ALL
        .into_iter()
        .map(|failure| (failure.name(), failure.component().into()))
}

/// The header that every answer has.
pub(super) fn request_id() -> Header {
    HeaderBuilder::new()
        .schema(string().pattern(Some("^[0-9a-f]{32}$")))
        .description(Some(
            "The ID of the request, for a search in the provider's log",
        ))
        .build()
}

fn challenge() -> Header {
    let schema = string().enum_values(Some(["Bearer"]));
    HeaderBuilder::new()
        .schema(schema)
        .description(Some("The kind of token that is required"))
        .build()
}

fn retry_after() -> Header {
    let schema = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(0));
    HeaderBuilder::new()
        .schema(schema)
        .description(Some("The seconds until the request may succeed"))
        .build()
}
