//! The keys of a Secret, for those who know what they mean.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use kube::{Api, Client};

use super::Error;
use super::request::in_time;
use crate::model::{AdapterError, ObjectId};

/// The keys and values of the Secret `name`.
///
/// # Errors
/// If it does not exist, or cannot be read now.
pub async fn secret_keys(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<BTreeMap<String, Vec<u8>>, AdapterError> {
    let id = ObjectId::new("", "Secret", namespace, name);
    let api: Api<v1::Secret> = Api::namespaced(client.clone(), namespace);
    let secret = async { api.get(name).await.map_err(|error| Error::new(&id, error)) };
    let secret = in_time(&id, secret).await;
    let secret = secret.map_err(|error| AdapterError::new(error.class(), error.to_string()))?;
    let data = secret.data.unwrap_or_default().into_iter();
    Ok(data.map(|(key, value)| (key, value.0)).collect())
}
