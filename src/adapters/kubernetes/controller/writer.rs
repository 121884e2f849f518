//! Carries out the writes of a controller, one after the other.
//!
//! In: a client, a field manager and writes. Out: for each write what the server answered. A write that is refused does
//! not stop the others, unless it is to the object that they were decided for: what is recorded on it comes before what
//! it records. After that, and after one that may succeed later, only that object's status is written. It does not know why
//! anything is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{ApiResource, DeleteParams, Patch, PatchParams, Preconditions};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::any_object::{AnyObject, Extent, Managed, ManagedObject};
use super::super::events::{Reporter, note, report_event};
use super::super::request::in_time;
use super::super::{Error, address};
use super::connectors::Connectors;
use crate::api::kinds;
use crate::health::Live;
use crate::model::words::said;
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::reconcile::outcome::{Event, Write};

/// What became of a write.
#[derive(Debug)]
pub(crate) enum Written {
    /// The server answered.
    Answered(Write, Option<Value>),
    /// It failed.
    Failed(Write, Error),
    /// A Secret with a credential was written: what the server answered, without its content.
    Secret(Write, Result<Value, AdapterError>),
}

/// The answer of the cluster, or that it does not answer.
async fn patiently<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, AdapterError>>,
) -> Result<T, AdapterError> {
    let answer = tokio::time::timeout(patience, answer).await;
    answer.unwrap_or_else(|_| {
        let message = "the cluster does not answer";
        Err(AdapterError::new(ErrorClass::Transient, message))
    })
}

/// Who writes, and what is reached besides the cluster.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) client: Client,
    pub(super) connectors: Connectors,
    pub(super) manager: &'static str,
    /// How long the cluster may take to answer about a Secret with a credential.
    pub(super) patience: Duration,
    /// Whether the controllers may act.
    pub(super) may_act: watch::Receiver<bool>,
    /// Whether events cannot be written.
    pub(super) is_mute: Arc<AtomicBool>,
}

impl Writer {
    /// Carries out `writes` about `object` in order, as long as the controllers may act.
    pub(super) async fn perform(&self, object: &ObjectId, writes: Vec<Write>) -> Vec<Written> {
        let mut done = Vec::new();
        let mut is_status_only = false;
        for write in writes {
            if !*self.may_act.borrow() {
                break;
            }
            let about_it = write.object().as_ref() == Some(object);
            if is_status_only && !(about_it && matches!(write, Write::Status(_))) {
                continue;
            }
            let write = match write {
                Write::CredentialSecret(request, patch) => {
                    let answer = self.secret(&request, &patch);
                    let answer = patiently(self.patience, answer).await;
                    let write = Write::CredentialSecret(request, patch);
                    done.push(Written::Secret(write, answer));
                    continue;
                }
                other => other,
            };
            let about = write.object();
            let about = about.as_ref().unwrap_or(object);
            match in_time(about, one(&self.client, self.manager, &write)).await {
                Ok(answer) => done.push(Written::Answered(write, answer)),
                Err(error) => {
                    let class = error.class();
                    // What was decided is out of date.
                    let is_stale = matches!(class, ErrorClass::Gone | ErrorClass::Conflict);
                    let is_status = matches!(write, Write::Status(_));
                    is_status_only |= about_it || class == ErrorClass::Transient;
                    done.push(Written::Failed(write, error));
                    if about_it && (is_stale || is_status) {
                        break;
                    }
                }
            }
        }
        done
    }

    /// Logs and writes events, as well as can be: an event that cannot be written is dropped, with one warning until one can.
    pub(super) async fn report(&self, now: Timestamp, events: Vec<Event>) {
        let reporter = Reporter {
            controller: "capstan.dev/controllers",
            instance: self.manager,
            action: "Reconcile",
        };
        for event in events {
            log(&event);
            match report_event(&self.client, reporter, &event, now).await {
                Ok(()) => self.is_mute.store(false, Ordering::Relaxed),
                Err(error) => self.report_mute(&error),
            }
        }
    }

    /// An event could not be written. What passes, and a namespace that goes, needs nobody.
    fn report_mute(&self, error: &Error) {
        let is_refused = matches!(
            error.class(),
            ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Bug
        );
        let leaves = error.to_string().contains("being terminated");
        if is_refused && !leaves && !self.is_mute.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "events cannot be written; they are only in this log");
        } else {
            tracing::debug!(%error, "an event could not be written");
        }
    }
}

/// The event as one line: without a fleet nothing else shows what fails.
fn log(event: &Event) {
    let object = Live(&event.regarding);
    let text = |key: &str| object.text(&[key]);
    let object = format!("{}/{}/{}", text("kind"), text("namespace"), text("name"));
    let (reason, message) = (&event.reason, said(note(event)));
    match event.is_warning {
        true => tracing::warn!(object, reason, "{message}"),
        false => tracing::info!(object, reason, "{message}"),
    }
}

/// Carries out `writes` in order and stops at the first that fails.
#[cfg(test)]
pub(crate) async fn perform(
    client: &Client,
    manager: &str,
    writes: Vec<Write>,
) -> (Vec<Value>, Result<(), Error>) {
    let mut answers = Vec::new();
    for write in writes {
        match one(client, manager, &write).await {
            Ok(answer) => answers.extend(answer),
            Err(error) => return (answers, Err(error)),
        }
    }
    (answers, Ok(()))
}

async fn one(client: &Client, manager: &str, write: &Write) -> Result<Option<Value>, Error> {
    let params = |manager| PatchParams::apply(manager).force();
    let sent = async |patch, params: PatchParams, sent| {
        let (api, name) = target(client, patch)?;
        api.patch(name, &params, &sent).await
    };
    let (patch, answer) = match write {
        Write::Apply(patch) => {
            let answer = sent(patch, params(manager), Patch::Apply(patch)).await;
            (patch, answer)
        }
        Write::ApplyAs(manager, patch) => {
            let answer = sent(patch, params(manager), Patch::Apply(patch)).await;
            (patch, answer)
        }
        Write::Status(patch) => (patch, write_status(client, manager, patch).await),
        Write::Merge(patch) => {
            let answer = sent(patch, merging(manager), Patch::Merge(patch)).await;
            (patch, answer)
        }
        Write::Delete { id, version, uid } => return delete(client, id, version, uid).await,
        Write::EnsureKey(_)
        | Write::CheckCredential(_)
        | Write::RejectConnections(_)
        | Write::CredentialSecret(..) => {
            return Ok(None);
        }
    };
    answer
        .map(|object| Some(object.json))
        .map_err(|error| Error::new(&Live(patch).id(), error))
}

/// Writes a whole status.
async fn write_status(
    client: &Client,
    manager: &str,
    patch: &Value,
) -> kube::Result<ManagedObject> {
    let (api, name) = target::<Managed>(client, patch)?;
    let (params, merging) = (PatchParams::apply(manager).force(), merging(manager));
    let mut answer = api.patch_status(name, &params, &Patch::Apply(patch)).await;
    if answer.as_ref().is_err_and(is_undeclared) {
        // CAPZ's definitions lack optional fields of ours. A merge leaves them out instead of failing.
        answer = api.patch_status(name, &merging, &Patch::Merge(patch)).await;
    }
    let answer = answer?;
    match left_over(&answer.json, patch, manager) {
        Some(rest) => api.patch_status(name, &merging, &Patch::Merge(rest)).await,
        None => Ok(answer),
    }
}

/// The parameters of a merge patch.
pub(crate) fn merging(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    }
}

/// A merge patch that takes out of a status what is not wanted any more: neither a merge nor an apply removes what the
/// manager once merged.
fn left_over(held: &Value, patch: &Value, manager: &str) -> Option<Value> {
    let managers = Live(held).list(&["metadata", "managedFields"]).iter();
    let mut merged = managers.map(Live).filter(|entry| {
        let parts = ["manager", "operation", "subresource"].map(|part| entry.text(&[part]));
        parts == [manager, "Update", "status"]
    });
    merged.next()?;
    let status = without(held.get("status")?, patch.get("status")?)?;
    Some(json!({"status": status}))
}

/// A merge patch that takes out of `held` what `wanted` lacks. A list with more entries is replaced.
fn without(held: &Value, wanted: &Value) -> Option<Value> {
    if let (Some(held), Some(entries)) = (held.as_array(), wanted.as_array()) {
        return (held.len() > entries.len()).then(|| wanted.clone());
    }
    let (held, wanted) = (held.as_object()?, wanted.as_object()?);
    let rest = held.iter().filter_map(|(key, held)| {
        let rest = wanted.get(key);
        let rest = rest.map_or(Some(Value::Null), |wanted| without(held, wanted))?;
        Some((key.clone(), rest))
    });
    let rest: serde_json::Map<String, Value> = rest.collect();
    (!rest.is_empty()).then_some(Value::Object(rest))
}

/// Whether the definition of the kind lacks a field that was applied.
fn is_undeclared(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.message.contains("field not declared in schema"))
}

/// Deletes in the background. An object that was deleted already, or made again meanwhile, needs no
/// more. The watch shows what happens to it.
async fn delete(
    client: &Client,
    id: &ObjectId,
    version: &str,
    uid: &str,
) -> Result<Option<Value>, Error> {
    let resource = resource(&id.group, version, &id.kind);
    let api = address::api(client, &resource, (&id.namespace, &id.name));
    let api: Api<ManagedObject> = api.map_err(|error| Error::new(id, error))?;
    let this_one = Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    };
    let params = DeleteParams::background().preconditions(this_one);
    match api.delete(&id.name, &params).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(None),
        Err(error) => Err(Error::new(id, error)),
    }
}

/// The API for the kind and namespace of a patch, and its name.
pub(super) fn target<'a, E: Extent>(
    client: &Client,
    patch: &'a Value,
) -> kube::Result<(Api<AnyObject<E>>, &'a str)> {
    let live = Live(patch);
    let api_version = live.text(&["apiVersion"]);
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let resource = resource(live.group(), version, live.kind());
    let api = address::api(client, &resource, (live.namespace(), live.name()))?;
    Ok((api, live.name()))
}

/// The address of a kind at a version; its plural is guessed only when we do not know the kind.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    let named = GroupVersionKind::gvk(group, version, kind);
    match kinds::find(group, kind) {
        Some(known) => ApiResource::from_gvk_with_plural(&named, known.plural),
        None => ApiResource::from_gvk(&named),
    }
}
