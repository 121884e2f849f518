//! Whether objects can be created in a namespace.
//!
//! In: its name. Out: why not, if so. It does not know what is to be created, or who makes the namespace.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use super::Error;
use super::request::with_timeout;
use crate::model::{ErrorClass, ObjectId};

/// Why nothing can be created in the namespace `name`; `None` if it can be, or if we may not look.
///
/// # Errors
/// When the cluster does not answer.
pub(super) async fn fault(client: &Client, name: &str) -> Result<Option<String>, Error> {
    let id = ObjectId::new("", "Namespace", "", name);
    let api: Api<Namespace> = Api::all(client.clone());
    let live = api.get_metadata_opt(name).await;
    match live.map_err(|error| Error::new(&id, error)) {
        Err(error) if error.class() == ErrorClass::Denied => Ok(None),
        Err(error) => Err(error),
        Ok(None) => Ok(Some(format!(
            "namespace {name} does not exist: add it to the fleet, or create it"
        ))),
        Ok(Some(live)) => Ok(live.metadata.deletion_timestamp.map(|_| {
            format!(
                "namespace {name} is being deleted; it must be gone and created again before objects can be created in it"
            )
        })),
    }
}

/// Returns true if the namespace is being deleted, or gone; false if that is not known because we may not look.
///
/// # Errors
/// When the cluster does not answer.
pub async fn is_ending(client: &Client, name: &str) -> Result<bool, Error> {
    let id = ObjectId::new("", "Namespace", "", name);
    let fault = with_timeout(&id, fault(client, name)).await?;
    Ok(fault.is_some())
}
