//! The parent of the fleet's ApplySet in the cluster.
//!
//! In: the content to write. Out: the content that was read. A missing namespace is created. It does not
//! know: what the members are.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::json;

use super::Error;
use super::request::with_timeout;
use crate::apply::Parent;
use crate::model::{ErrorClass, ObjectId};
use crate::plan::{ApplySet, MANAGER};

/// The parent as it is, and its version; `None` if it does not exist yet.
pub(super) async fn read(
    client: &Client,
    set: &ApplySet,
) -> Result<Option<(Parent, String)>, Error> {
    let id = set.parent();
    let live = api(client, &id).get_opt(&id.name).await;
    let Some(live) = live.map_err(|error| Error::new(&id, error))? else {
        return Ok(None);
    };
    let version = live.metadata.resource_version.clone().unwrap_or_default();
    let live = serde_json::to_value(live).unwrap_or_default();
    let parent = Parent::read(set, &live).map_err(Error::Parent)?;
    Ok(Some((parent, version)))
}

/// The revisions that the cluster may have objects of: the one that is being applied, or was last; and as long as
/// nothing of it has failed, the last one that was fully applied.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn applied_revisions(client: &Client, set: &ApplySet) -> Result<BTreeSet<String>, Error> {
    let Some((parent, _)) = with_timeout(&set.parent(), read(client, set)).await? else {
        return Ok(BTreeSet::new());
    };
    let whole = parent.failed.is_empty().then_some(parent.applied);
    let mut revisions: BTreeSet<String> = whole.into_iter().chain([parent.applying]).collect();
    revisions.remove("");
    Ok(revisions)
}

/// Writes the parent in place of the one of this version, after creating its namespace if that is missing.
/// A late request, of an earlier assignment or a process that was killed, thus changes
/// nothing. Returns the new version.
pub(super) async fn write(
    client: &Client,
    set: &ApplySet,
    parent: &Parent,
    version: &str,
) -> Result<String, Error> {
    let id = set.parent();
    match apply(client, set, parent, version).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            make_namespace(client, &id.namespace).await?;
            let again = apply(client, set, parent, "").await;
            again.map_err(|error| Error::new(&id, error))
        }
        answer => answer.map_err(|error| Error::new(&id, error)),
    }
}

/// The same whatever its version is, after another writer has changed it.
pub(super) async fn write_over(
    client: &Client,
    set: &ApplySet,
    parent: &Parent,
    version: &str,
) -> Result<String, Error> {
    match write(client, set, parent, version).await {
        Err(error) if error.class() == ErrorClass::Conflict => {
            let live = read(client, set).await?;
            let version = live.map(|(_, version)| version).unwrap_or_default();
            write(client, set, parent, &version).await
        }
        answer => answer,
    }
}

/// Creates the parent, unless there is one: first `begin`, which `manager` keeps; then `rest` as the engine writes
/// it, so that the engine can change and remove it. Returns whether it was created.
pub(super) async fn create(
    client: &Client,
    set: &ApplySet,
    manager: &str,
    begin: &ConfigMap,
    rest: &Parent,
) -> Result<bool, Error> {
    let id = set.parent();
    let params = PostParams {
        field_manager: Some(manager.to_owned()),
        ..PostParams::default()
    };
    let api = api(client, &id);
    let created = match api.create(&params, begin).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {
            make_namespace(client, &id.namespace).await?;
            api.create(&params, begin).await
        }
        answer => answer,
    };
    let live = match created {
        Err(kube::Error::Api(status)) if status.code == 409 => return Ok(false),
        answer => answer.map_err(|error| Error::new(&id, error))?,
    };
    let version = live.metadata.resource_version.unwrap_or_default();
    let written = apply(client, set, rest, &version).await;
    written.map_err(|error| Error::new(&id, error))?;
    Ok(true)
}

async fn apply(
    client: &Client,
    set: &ApplySet,
    parent: &Parent,
    version: &str,
) -> Result<String, kube::Error> {
    let id = set.parent();
    // It has no other owner.
    let params = PatchParams::apply(MANAGER).force();
    let mut payload = parent.payload(set);
    if !version.is_empty() {
        payload["metadata"]["resourceVersion"] = json!(version);
    }
    let (api, patch) = (api(client, &id), Patch::Apply(&payload));
    let live = api.patch(&id.name, &params, &patch).await?;
    Ok(live.metadata.resource_version.unwrap_or_default())
}

/// Removes the parent `live`, unless somebody has changed it since.
pub(super) async fn remove(client: &Client, set: &ApplySet, live: &ConfigMap) -> Result<(), Error> {
    let id = set.parent();
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: live.metadata.uid.clone(),
            resource_version: live.metadata.resource_version.clone(),
        }),
        ..DeleteParams::default()
    };
    with_timeout(&id, async {
        match api(client, &id).delete(&id.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(Error::new(&id, error)),
        }
    })
    .await
}

/// Removes the parent of a set, if there is one.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours, or somebody else changes it.
pub async fn remove_parent(client: &Client, set: &ApplySet) -> Result<(), Error> {
    let id = set.parent();
    let read = async {
        let live = api(client, &id).get_opt(&id.name).await;
        live.map_err(|error| Error::new(&id, error))
    };
    let Some(live) = with_timeout(&id, read).await? else {
        return Ok(());
    };
    let json = serde_json::to_value(&live).unwrap_or_default();
    Parent::read(set, &json).map_err(Error::Parent)?;
    remove(client, set, &live).await
}

/// The members of a set, as its parent records them; `None` without a parent. They are empty if there are too many to record.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours.
pub async fn recorded_members(
    client: &Client,
    set: &ApplySet,
) -> Result<Option<BTreeSet<ObjectId>>, Error> {
    let parent = with_timeout(&set.parent(), read(client, set)).await?;
    Ok(parent.map(|(parent, _)| parent.members.ids()))
}

/// Creates a namespace unless it is there.
pub(super) async fn make_namespace(client: &Client, name: &str) -> Result<(), Error> {
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
