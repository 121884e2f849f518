//! The identity that an AROControlPlane names, and its namespace, read before the control plane is applied.
//!
//! In: a step. Out: whether the cluster's own identity allows it. It does not know: what allowing is.

use std::collections::BTreeMap;

use kube::Client;
use serde_json::Value as Json;

use super::Error;
use super::discovery::Discovery;
use super::request::ObjectClient;
use crate::api::azure_cluster_identity::VERSIONS;
use crate::model::{ObjectId, Step};
use crate::plan::IdentityUse;

/// Lets `step` pass if it uses no identity, or one that allows its namespace as both are now; the namespace
/// as it is after `before`.
///
/// # Errors
/// When it does not, or they cannot be read.
pub(super) async fn check(
    client: &Client,
    discovery: &Discovery,
    step: &Step,
    before: &[Step],
) -> Result<(), Error> {
    let Some(uses) = IdentityUse::of(step) else {
        return Ok(());
    };
    let identity = read(client, discovery, &uses.identity, &VERSIONS).await?;
    let mut known = BTreeMap::new();
    if identity
        .as_ref()
        .is_some_and(|identity| uses.needs_labels(identity))
    {
        let id = ObjectId::new("", "Namespace", "", &*uses.namespace);
        let namespace = read(client, discovery, &id, &["v1"]).await?;
        known = uses.labels(namespace.as_ref(), before);
    }
    let judged = uses.judge(identity.as_ref(), &known);
    judged.map_err(|withheld| Error::Withheld {
        object: ObjectId::clone(&step.object),
        withheld,
    })
}

/// An object at the first of these versions that is served; `None` if it does not exist.
async fn read(
    client: &Client,
    discovery: &Discovery,
    id: &ObjectId,
    versions: &[&str],
) -> Result<Option<Json>, Error> {
    for version in versions {
        if let Some(served) = discovery.find(id, version).await? {
            let object_client = ObjectClient {
                client: client.clone(),
                served,
                id: id.clone(),
            };
            return object_client.read().await;
        }
    }
    Ok(None)
}
