//! Accounts and Secrets that a fleet needs and that are gone.
//!
//! In: a name. Out: true if the cluster reports that no such object exists. It does not know what needs the object.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::Error;
use super::request::with_timeout;
use crate::model::{ErrorClass, ObjectId};

/// Returns true if the ServiceAccount does not exist; false if that is not known because we may not look.
///
/// # Errors
/// If the cluster does not answer.
pub async fn is_account_absent(client: &Client, place: (&str, &str)) -> Result<bool, Error> {
    is_absent::<ServiceAccount>(client, place).await
}

/// The same of a Secret.
///
/// # Errors
/// If the cluster does not answer.
pub async fn is_secret_absent(client: &Client, place: (&str, &str)) -> Result<bool, Error> {
    is_absent::<Secret>(client, place).await
}

async fn is_absent<K>(client: &Client, (namespace, name): (&str, &str)) -> Result<bool, Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + DeserializeOwned,
    K: std::fmt::Debug,
{
    let id = ObjectId::new("", &*K::kind(&()), namespace, name);
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let live = async {
        let live = api.get_metadata_opt(name).await;
        live.map_err(|error| Error::new(&id, error))
    };
    match with_timeout(&id, live).await {
        Err(error) if error.class() == ErrorClass::Denied => Ok(false),
        answer => Ok(answer?.is_none()),
    }
}
