//! The errors of the REST API, as problem documents.
//!
//! In: a kind and a text for people. Out: the status of the answer and its body. It does not know the cause, which is logged and never
//! sent.

use serde::Serialize;
use serde_json::{Value as Json, json};

/// The kind of an error, with the status that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProblemKind {
    /// The request is not valid.
    InvalidArgument,
    /// The request carries no token that is accepted.
    Unauthenticated,
    /// The request is not allowed here.
    PermissionDenied,
    /// There is no such cluster or path.
    NotFound,
    /// There is a cluster with this name or ID.
    AlreadyExists,
    /// The request is valid, and this provider cannot do it.
    UnprocessableEntity,
    /// Something failed that the client can do nothing about.
    Internal,
    /// The request can succeed later.
    Unavailable,
}

impl ProblemKind {
    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::InvalidArgument => 400,
            Self::Unauthenticated => 401,
            Self::PermissionDenied => 403,
            Self::NotFound => 404,
            Self::AlreadyExists => 409,
            Self::UnprocessableEntity => 422,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::InvalidArgument => "Bad Request",
            Self::Unauthenticated => "Unauthorized",
            Self::PermissionDenied => "Forbidden",
            Self::NotFound => "Not Found",
            Self::AlreadyExists => "Conflict",
            Self::UnprocessableEntity => "Unprocessable Entity",
            Self::Internal => "Internal Server Error",
            Self::Unavailable => "Service Unavailable",
        }
    }
}

/// An error of the REST API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// The explanation for people. Clients go by the kind.
    pub detail: String,
    /// The seconds after which the request may succeed.
    pub retry_after: Option<u32>,
    /// The status, if another one says more than that of the kind: 405, 413, 415, 429 or 431.
    status: Option<(u16, &'static str)>,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            retry_after: None,
            status: None,
        }
    }

    /// The request is not valid.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::InvalidArgument, detail)
    }

    /// This provider cannot do what is asked for.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::UnprocessableEntity, detail)
    }

    /// There is a cluster with this name or ID.
    pub fn exists(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::AlreadyExists, detail)
    }

    /// There is no cluster with this ID.
    #[must_use]
    pub fn no_cluster(id: &str) -> Self {
        Self::new(ProblemKind::NotFound, format!("cluster {id} not found"))
    }

    /// Something failed; the cause is in the log.
    #[must_use]
    pub fn internal() -> Self {
        Self::new(ProblemKind::Internal, "an internal error occurred")
    }

    /// The request may succeed after some seconds.
    pub fn later(detail: impl Into<String>, seconds: u32) -> Self {
        Self {
            retry_after: Some(seconds),
            ..Self::new(ProblemKind::Unavailable, detail)
        }
    }

    /// The same with a status of its own.
    #[must_use]
    pub fn with_status(self, status: u16, title: &'static str) -> Self {
        Self {
            status: Some((status, title)),
            ..self
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status.map_or(self.kind.status(), |(status, _)| status)
    }

    /// The body of the answer to the request with the ID `instance`.
    #[must_use]
    pub fn body(&self, instance: &str) -> Json {
        let title = self.status.map_or(self.kind.title(), |(_, title)| title);
        json!({
            "type": self.kind,
            "title": title,
            "status": self.status(),
            "detail": self.detail,
            "instance": instance,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_status_and_title() {
        for (kind, name, status, title) in [
            (
                ProblemKind::InvalidArgument,
                "INVALID_ARGUMENT",
                400,
                "Bad Request",
            ),
            (
                ProblemKind::Unauthenticated,
                "UNAUTHENTICATED",
                401,
                "Unauthorized",
            ),
            (
                ProblemKind::PermissionDenied,
                "PERMISSION_DENIED",
                403,
                "Forbidden",
            ),
            (ProblemKind::NotFound, "NOT_FOUND", 404, "Not Found"),
            (
                ProblemKind::AlreadyExists,
                "ALREADY_EXISTS",
                409,
                "Conflict",
            ),
            (
                ProblemKind::UnprocessableEntity,
                "UNPROCESSABLE_ENTITY",
                422,
                "Unprocessable Entity",
            ),
            (
                ProblemKind::Internal,
                "INTERNAL",
                500,
                "Internal Server Error",
            ),
            (
                ProblemKind::Unavailable,
                "UNAVAILABLE",
                503,
                "Service Unavailable",
            ),
        ] {
            let body = Problem::new(kind, "because").body("r-1");
            let expected = json!({
                "type": name, "title": title, "status": status, "detail": "because", "instance": "r-1",
            });
            assert_eq!(body, expected);
        }
    }

    #[test]
    fn a_status_of_its_own_keeps_the_kind() {
        let problem = Problem::invalid("too large").with_status(413, "Content Too Large");
        assert_eq!((problem.status(), problem.kind.status()), (413, 400));
        assert_eq!(problem.body("r")["title"], "Content Too Large");
    }
}
