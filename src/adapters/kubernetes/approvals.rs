//! What the parent of the fleet's ApplySet has of approvals: their record, an annotation, and Events about it.
//!
//! In: a text, and what to say of an approval. Out: the text again, the annotation taken off, and an Event. It does not know:
//! what the texts say.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DynamicObject, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::controller::writer::resource;
use super::request::with_timeout;
use super::steering::{DAEMON, patch_parent};
use super::{Error, address};
use crate::api::labels::APPROVE_ANNOTATION;
use crate::apply::{APPROVALS, Parent};
use crate::model::{ErrorClass, ObjectId, cut};
use crate::plan::ApplySet;

/// How often the annotation is read again because others write the parent.
const ATTEMPTS: usize = 5;
/// The most bytes of an Event's note.
const MOST_NOTE: usize = 1024;

/// The parent as far as it is about approvals.
pub struct ApprovalsParent {
    /// The record, if it has one.
    pub record: Option<String>,
    /// Which parent it is.
    pub uid: String,
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
        let uid = live.metadata.uid.unwrap_or_default();
        Ok(Some(ApprovalsParent { record, uid }))
    };
    with_timeout(&object, read).await
}

/// Writes the record of approvals into the parent of `set`.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn record_approvals(client: &Client, set: &ApplySet, record: &str) -> Result<(), Error> {
    let patch = json!({"data": {APPROVALS: record}});
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
    let event = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": format!("{name}-"), "namespace": namespace},
        "eventTime": format!("{now:.6}"),
        "reportingController": "capstan.dev/daemon",
        "reportingInstance": DAEMON,
        "action": "Approve",
        "type": "Normal",
        "reason": "Approved",
        "note": cut::head(note, MOST_NOTE),
        "regarding": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name, "uid": uid},
    });
    let object = ObjectId::new("events.k8s.io", "Event", namespace.as_str(), "");
    let created = async {
        let failed = |error| Error::new(&object, error);
        let resource = resource("events.k8s.io", "v1", "Event");
        let api: Api<DynamicObject> =
            address::api(client, &resource, (&namespace, &name)).map_err(failed)?;
        let event = serde_json::from_value(event).map_err(|error| Error::Unsendable {
            object: object.clone(),
            cause: error.to_string(),
        })?;
        let created = api.create(&PostParams::default(), &event).await;
        created.map(drop).map_err(failed)
    };
    with_timeout(&object, created).await
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
