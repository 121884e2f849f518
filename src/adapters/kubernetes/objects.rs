//! Reads single objects of the management cluster, the content of Secrets included.
//!
//! In: what names an object. Out: the object at this moment, unless its namespace is none of those that may be looked at. Nothing
//! is kept, and nothing of it is logged.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use serde_json::Value;

use super::Error;
use super::discovery::Discovery;
use super::request::ObjectClient;
use crate::api::{azure_cluster_identity, kinds};
use crate::model::{AdapterError, ErrorClass, Namespaces, ObjectId, ObjectReader};

/// The objects behind a client.
#[derive(Clone)]
pub struct KubeObjects {
    client: Client,
    discovery: Discovery,
    namespaces: Namespaces,
}

impl KubeObjects {
    /// The objects of the cluster behind `client`. Nothing is read yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::within(client, Namespaces::All)
    }

    /// The same, but of these namespaces alone, and of none.
    #[must_use]
    pub fn within(client: Client, namespaces: Namespaces) -> Self {
        let discovery = Discovery::new(client.clone());
        Self {
            client,
            discovery,
            namespaces,
        }
    }

    async fn object(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        for version in versions(id) {
            if let Some(served) = self.discovery.find(id, version).await? {
                let object = ObjectClient {
                    client: self.client.clone(),
                    served,
                    id: id.clone(),
                };
                return object.read().await;
            }
        }
        Ok(None)
    }
}

/// The versions to look for, newest first.
fn versions(id: &ObjectId) -> Vec<&'static str> {
    if id.group.is_empty() {
        return vec!["v1"];
    }
    if id.kind == "AzureClusterIdentity" {
        return azure_cluster_identity::VERSIONS.to_vec();
    }
    let known = kinds::find(&id.group, &id.kind);
    let versions = known.map_or(&[][..], |known| known.versions);
    versions.iter().rev().copied().collect()
}

impl ObjectReader for KubeObjects {
    fn read(&self, id: &ObjectId) -> BoxFuture<'static, Result<Option<Value>, AdapterError>> {
        let (objects, id) = (self.clone(), id.clone());
        async move {
            if !id.namespace.is_empty() && !objects.namespaces.has(&id.namespace) {
                let why = format!(
                    "{id} is not read, since its namespace is not watched: add --watch-namespace {}",
                    id.namespace
                );
                return Err(AdapterError::new(ErrorClass::Denied, why));
            }
            let found = objects.object(&id).await;
            found.map_err(|error| AdapterError::new(error.class(), error.to_string()))
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use kube_sim::{Server, SimClock};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nothing_is_read_outside_of_the_namespaces() {
        let server = Server::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)));
        let namespaces = Namespaces::of_text("a");
        let objects = KubeObjects::within(server.client("default"), namespaces);
        let read = |kind, namespace| objects.read(&ObjectId::new("", kind, namespace, "one"));
        assert!(read("Secret", "a").await.is_ok_and(|found| found.is_none()));
        assert!(
            read("Namespace", "")
                .await
                .is_ok_and(|found| found.is_none())
        );
        let refused = read("Secret", "b").await.err();
        let refused = refused.map(|error| (error.class(), error.to_string()));
        assert!(
            refused.as_ref().is_some_and(|(class, why)| {
                *class == ErrorClass::Denied && why.contains("--watch-namespace b")
            }),
            "{refused:?}"
        );
    }
}
