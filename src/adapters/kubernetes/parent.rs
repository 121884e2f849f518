//! The parent of the fleet's ApplySet in the cluster.
//!
//! In: what the parent is to say. Out: what it said. A namespace that is missing is made. It does not
//! know: what the members are.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::Error;
use crate::model::ObjectId;
use crate::plan::{ApplySet, MANAGER, Parent};

/// The parent as it is; none when there is none yet.
pub(super) async fn read(client: &Client, set: &ApplySet) -> Result<Option<Parent>, Error> {
    let id = set.parent();
    let live = api(client, &id).get_opt(&id.name).await;
    let Some(live) = live.map_err(|error| Error::new(&id, error))? else {
        return Ok(None);
    };
    let live = serde_json::to_value(live).unwrap_or_default();
    let parent = Parent::read(set, &live).map_err(Error::Parent)?;
    Ok(Some(parent))
}

/// Writes the parent, and its namespace first where there is none.
pub(super) async fn write(client: &Client, set: &ApplySet, parent: &Parent) -> Result<(), Error> {
    let id = set.parent();
    match apply(client, set, parent).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            make_namespace(client, &id.namespace).await?;
            let again = apply(client, set, parent).await;
            again.map_err(|error| Error::new(&id, error))
        }
        answer => answer.map_err(|error| Error::new(&id, error)),
    }
}

async fn apply(client: &Client, set: &ApplySet, parent: &Parent) -> Result<(), kube::Error> {
    let id = set.parent();
    // Nobody else has a say in it.
    let params = PatchParams::apply(MANAGER).force();
    let payload = parent.payload(set);
    let (api, patch) = (api(client, &id), Patch::Apply(&payload));
    api.patch(&id.name, &params, &patch).await.map(drop)
}

async fn make_namespace(client: &Client, name: &str) -> Result<(), Error> {
    let namespace = serde_json::from_value(json!({"metadata": {"name": name}}));
    let namespace: Namespace = namespace.unwrap_or_default();
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    match Api::all(client.clone()).create(&params, &namespace).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(Error::new(&ObjectId::new("", "Namespace", "", name), error)),
    }
}

fn api(client: &Client, id: &ObjectId) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), &id.namespace)
}
