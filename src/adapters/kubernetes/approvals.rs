//! What the parent of the fleet's ApplySet has of approvals: their record, an annotation, and Events about it.
//!
//! In: a text, and what to say of an approval. Out: the text again, the annotation taken off, and an Event. It does not know:
//! what the texts say.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::json;

use super::Error;
use super::events::{Reporter, report_event};
use super::request::with_timeout;
use super::steering::{ATTEMPTS, DAEMON, patch_parent};
use crate::api::labels::APPROVE_ANNOTATION;
use crate::apply::{APPROVALS, Parent};
use crate::model::{ErrorClass, ObjectId};
use crate::plan::ApplySet;
use crate::reconcile::outcome::Event;

/// The parent as far as it is about approvals.
pub struct ApprovalsParent {
    /// The record, if it has one.
    pub record: Option<String>,
    /// Which parent it is.
    pub uid: String,
    /// Its version as it was read.
    version: Option<String>,
}

/// Reads the record of approvals from the parent of `set`; `None` if there is no parent.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours.
pub async fn recorded_approvals(
    client: &Client,
    set: &ApplySet,
) -> Result<Option<ApprovalsParent>, Error> {
    let object = set.parent();
    let read = async {
        let Some(live) = own_parent(client, set).await? else {
            return Ok(None);
        };
        let record = live.data.and_then(|mut data| data.remove(APPROVALS));
        Ok(Some(ApprovalsParent {
            record,
            uid: live.metadata.uid.unwrap_or_default(),
            version: live.metadata.resource_version,
        }))
    };
    with_timeout(&object, read).await
}

/// Writes the record of approvals into the `parent` of `set`.
///
/// # Errors
/// If the cluster does not answer, or refuses, or somebody has changed the parent since it was read.
pub async fn record_approvals(
    client: &Client,
    set: &ApplySet,
    parent: &ApprovalsParent,
    record: &str,
) -> Result<(), Error> {
    let metadata = json!({"resourceVersion": parent.version});
    let patch = json!({"metadata": metadata, "data": {APPROVALS: record}});
    with_timeout(&set.parent(), patch_parent(client, set, DAEMON, patch)).await
}

/// Takes the annotation that approves losses off the parent of `set`; `false` if it is not there, or has another text by
/// now. Of two daemons one takes it.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the parent is not ours, or others keep writing it.
pub async fn take_annotation(client: &Client, set: &ApplySet, text: &str) -> Result<bool, Error> {
    let taken = async {
        for _ in 1..ATTEMPTS {
            match take(client, set, text).await {
                Err(error) if error.class() == ErrorClass::Conflict => {}
                answer => return answer,
            }
        }
        take(client, set, text).await
    };
    with_timeout(&set.parent(), taken).await
}

async fn take(client: &Client, set: &ApplySet, text: &str) -> Result<bool, Error> {
    let Some(live) = own_parent(client, set).await? else {
        return Ok(false);
    };
    let annotations = live.metadata.annotations.as_ref();
    let found = annotations.and_then(|all| all.get(APPROVE_ANNOTATION));
    if found.is_none_or(|found| found != text) {
        return Ok(false);
    }
    let version = live.metadata.resource_version;
    let annotations = json!({APPROVE_ANNOTATION: null});
    let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations}});
    patch_parent(client, set, DAEMON, patch).await?;
    Ok(true)
}

/// Writes an Event about the parent of `set`, which has this `uid`.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn report_approval(
    client: &Client,
    set: &ApplySet,
    uid: &str,
    note: &str,
    now: Timestamp,
) -> Result<(), Error> {
    let ObjectId {
        name, namespace, ..
    } = set.parent();
    let event = Event {
        regarding: json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name, "uid": uid}),
        is_warning: false,
        reason: "Approved".to_owned(),
        message: note.to_owned(),
    };
    let reporter = Reporter {
        controller: "capstan.dev/daemon",
        instance: DAEMON,
        action: "Approve",
    };
    report_event(client, reporter, &event, now).await
}

async fn own_parent(client: &Client, set: &ApplySet) -> Result<Option<ConfigMap>, Error> {
    let id = set.parent();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &id.namespace);
    let live = api.get_opt(&id.name).await;
    let Some(live) = live.map_err(|error| Error::new(&id, error))? else {
        return Ok(None);
    };
    let json = serde_json::to_value(&live).unwrap_or_default();
    Parent::read(set, &json).map_err(Error::Parent)?;
    Ok(Some(live))
}
