//! Reads single objects of the management cluster, the content of Secrets included.
//!
//! In: what names an object. Out: the object at this moment. Nothing is kept, and nothing of it is logged.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use serde_json::Value;

use super::Error;
use super::discovery::Discovery;
use super::request::ObjectClient;
use crate::api::{azure_cluster_identity, kinds};
use crate::model::{AdapterError, ObjectId, ObjectReader};

/// The objects behind a client.
#[derive(Clone)]
pub struct KubeObjects {
    client: Client,
    discovery: Discovery,
}

impl KubeObjects {
    /// The objects of the cluster behind `client`. Nothing is read yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let discovery = Discovery::new(client.clone());
        Self { client, discovery }
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
            let found = objects.object(&id).await;
            found.map_err(|error| AdapterError::new(error.class(), error.to_string()))
        }
        .boxed()
    }
}
