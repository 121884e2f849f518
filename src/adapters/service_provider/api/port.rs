//! The clusters behind the API.

use std::fmt;

use futures::future::BoxFuture;
use serde_json::Value as Json;

use crate::provider::page::PageQuery;
use crate::provider::problem::Problem;
use crate::provider::request::Request;

/// Who sends a request: the name of its token; `None` if no token is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caller(pub Option<String>);

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or("anybody"))
    }
}

/// A request for a cluster.
pub struct Create {
    /// Who sends it.
    pub caller: Caller,
    /// The ID that the client chose, if it chose one.
    pub chosen: Option<String>,
    /// The digest of the `Idempotency-Key`, if there is one.
    pub key: Option<String>,
    /// What is asked for.
    pub request: Request,
}

/// A cluster that was created, now or by the same request before.
pub struct Created {
    /// The ID of the instance.
    pub id: String,
    /// The body of the answer.
    pub cluster: Json,
}

/// Where clusters are kept.
pub trait Clusters: Send + Sync + 'static {
    /// Creates a cluster.
    fn create(&self, create: Create) -> BoxFuture<'_, Result<Created, Problem>>;

    /// Reads a cluster.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Json, Problem>>;

    /// Reads a page of all.
    fn list(&self, page: PageQuery) -> BoxFuture<'_, Result<Json, Problem>>;

    /// Deletes a cluster.
    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>>;

    /// How the provider is, without waiting for anybody.
    fn health(&self) -> Json;
}
