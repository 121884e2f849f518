//! The Secret that the replicas share their certificates through.
//!
//! In: a client. Out: the store that is kept there. A write that somebody else was faster with is a conflict. It does not
//! know: what is due.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};

use super::certificates::Store;
use super::reader::{class, why};
use crate::model::{AdapterError, ErrorClass};

/// All that is kept, with the keys.
const STORE: &str = "store.json";
/// What clients are to trust: for people.
const BUNDLE: &str = "ca.crt";

/// A Secret and what was read from it.
pub(super) struct Held {
    secret: Option<Secret>,
    pub(super) store: Store,
}

pub(super) struct Secrets {
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Secrets {
    fn api(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(super) async fn read(&self) -> Result<Held, AdapterError> {
        let secret = self.api().get_opt(&self.name).await;
        let secret = secret.map_err(|error| self.failed("read", &error))?;
        let data = secret.as_ref().and_then(|secret| secret.data.as_ref());
        let kept = data.and_then(|data| data.get(STORE));
        let store = match kept.map(|kept| serde_json::from_slice(&kept.0)) {
            None => Store::default(),
            Some(Ok(store)) => store,
            Some(Err(_)) => {
                let Self {
                    namespace, name, ..
                } = self;
                tracing::warn!(
                    "admission: {STORE} of Secret/{namespace}/{name} cannot be read; new certificates replace it"
                );
                Store::default()
            }
        };
        Ok(Held { secret, store })
    }

    /// Writes `store` in place of what `held` has.
    pub(super) async fn write(&self, held: Held, store: &Store) -> Result<(), AdapterError> {
        let text = serde_json::to_vec(store)
            .map_err(|error| AdapterError::new(ErrorClass::Bug, error.to_string()))?;
        let exists = held.secret.is_some();
        let mut secret = held.secret.unwrap_or_else(|| Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        });
        let data = secret.data.get_or_insert_default();
        data.insert(STORE.to_owned(), ByteString(text));
        data.insert(BUNDLE.to_owned(), ByteString(store.bundle().into_bytes()));
        let (api, parameters) = (self.api(), PostParams::default());
        let written = match exists {
            true => api.replace(&self.name, &parameters, &secret).await,
            false => api.create(&parameters, &secret).await,
        };
        written
            .map(drop)
            .map_err(|error| self.failed("write", &error))
    }

    fn failed(&self, verb: &str, error: &Error) -> AdapterError {
        let Self {
            namespace, name, ..
        } = self;
        AdapterError::new(
            class(error),
            format!("cannot {verb} Secret/{namespace}/{name}: {}", why(error)),
        )
    }
}
