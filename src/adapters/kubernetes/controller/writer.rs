//! Carries out the writes of a controller, one after the other.
//!
//! In: a client, a field manager and writes. Out: the objects that the server answered with, and the
//! error that ended the list. It does not know why anything is written.

use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::Value;

use super::super::Error;
use crate::api::kinds;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Write;

/// Carries out `writes` in order and stops at the first that fails.
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
    let params = PatchParams::apply(manager).force();
    let (patch, answer) = match write {
        Write::Apply(patch) => {
            let (api, name) = target(client, patch);
            (patch, api.patch(name, &params, &Patch::Apply(patch)).await)
        }
        Write::Status(patch) => {
            let (api, name) = target(client, patch);
            let answer = api.patch_status(name, &params, &Patch::Apply(patch)).await;
            (patch, answer)
        }
        Write::Delete { id, version, uid } => return delete(client, id, version, uid).await,
    };
    let answer =
        answer.and_then(|object| serde_json::to_value(object).map_err(kube::Error::SerdeError));
    answer
        .map(Some)
        .map_err(|error| Error::new(&Live(patch).id(), error))
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
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &id.namespace, &resource);
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
fn target<'a>(client: &Client, patch: &'a Value) -> (Api<DynamicObject>, &'a str) {
    let live = Live(patch);
    let api_version = live.text(&["apiVersion"]);
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let resource = resource(live.group(), version, live.kind());
    let api = match live.namespace() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    (api, live.name())
}

/// The address of a kind at a version; its plural is guessed only when we do not know the kind.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    let named = GroupVersionKind::gvk(group, version, kind);
    match kinds::find(group, kind) {
        Some(known) => ApiResource::from_gvk_with_plural(&named, known.plural),
        None => ApiResource::from_gvk(&named),
    }
}
