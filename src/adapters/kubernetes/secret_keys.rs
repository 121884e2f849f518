//! The keys of a Secret, for those who know what they mean.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1;
use kube::{Api, Client};

use super::Error;
use super::address::check;
use super::request::in_time;
use super::watch;
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
    let secret = async {
        check(namespace, name).map_err(|error| Error::new(&id, error))?;
        api.get(name).await.map_err(|error| Error::new(&id, error))
    };
    let secret = in_time(&id, secret).await;
    let secret = secret.map_err(|error| AdapterError::new(error.class(), error.to_string()))?;
    Ok(keys(secret))
}

/// The keys and values of the Secret `name` as they are now, and as they change; `None` when it is not there.
/// A watch that fails is started again with back-off.
#[must_use]
pub fn watch_secret_keys(
    client: &Client,
    namespace: &str,
    name: &str,
) -> BoxStream<'static, Option<BTreeMap<String, Vec<u8>>>> {
    let states = watch::object::<v1::Secret>(client, namespace, name);
    let known = states.filter_map(async |state| state.ok().map(|secret| secret.map(keys)));
    known.boxed()
}

fn keys(secret: v1::Secret) -> BTreeMap<String, Vec<u8>> {
    let data = secret.data.unwrap_or_default().into_iter();
    data.map(|(key, value)| (key, value.0)).collect()
}
