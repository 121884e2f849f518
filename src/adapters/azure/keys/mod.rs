//! Keys in Azure Key Vault.
//!
//! In: a key that must exist, in a vault of a cloud, and the identity to reach it with. Out: its newest version, or what is
//! in the way. A key that does not exist is created: RSA with 2048 bits, as CAPZ creates it. Nothing is tried twice here:
//! the error says when to ask again. It does not know who needs the key, and never sees what its credentials are made of.

mod address;
mod fault;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use azure_core::http::{ClientOptions, RetryOptions};
use azure_security_keyvault_keys::models::{CreateKeyParameters, Key, KeyType};
use azure_security_keyvault_keys::{KeyClient, KeyClientOptions, ResourceExt as _};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use self::address::Address;
use super::CredentialSource;
use super::bounded::bounded;
use crate::model::{AdapterError, Clock, ErrorClass, KeyError, KeyFault, KeyRequest, KeyVaults};

/// How long one request for a key may take, with the token that it needs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a new key is, in bits.
const BITS: i32 = 2048;

/// By vault and key: who creates it.
type Creators = Mutex<BTreeMap<(String, String), Arc<tokio::sync::Mutex<()>>>>;

/// Keys in vaults.
#[derive(Clone)]
pub struct AzureKeys(Arc<Inner>);

struct Inner {
    credentials: Arc<dyn CredentialSource>,
    clock: Arc<dyn Clock>,
    options: KeyClientOptions,
    creators: Creators,
}

impl AzureKeys {
    /// Vaults that are reached with these credentials. Nothing is requested yet. `clock` has the time by which keys expire.
    #[must_use]
    pub fn new(credentials: Arc<dyn CredentialSource>, clock: Arc<dyn Clock>) -> Self {
        Self::through(credentials, clock, ClientOptions::default())
    }

    /// The same, with requests that are sent by these options. Only who builds the program in code can set them: no setting
    /// and no flag does.
    #[must_use]
    pub fn through(
        credentials: Arc<dyn CredentialSource>,
        clock: Arc<dyn Clock>,
        options: ClientOptions,
    ) -> Self {
        let options = ClientOptions {
            retry: RetryOptions::none(),
            ..bounded(options)
        };
        Self(Arc::new(Inner {
            credentials,
            clock,
            options: KeyClientOptions {
                client_options: options,
                ..KeyClientOptions::default()
            },
            creators: Mutex::default(),
        }))
    }
}

impl KeyVaults for AzureKeys {
    fn ensure(&self, request: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        let (inner, request) = (Arc::clone(&self.0), request.clone());
        let patience = self.0.clock.real(PATIENCE);
        async move {
            let answer = tokio::time::timeout(patience, inner.ensure(&request));
            let silent = || fault::silent(&request.vault, PATIENCE.as_secs());
            answer.await.unwrap_or_else(|_| Err(silent()))
        }
        .boxed()
    }
}

impl Inner {
    async fn ensure(&self, request: &KeyRequest) -> Result<String, KeyError> {
        let address = Address::of(request)?;
        let KeyRequest {
            identity,
            namespace,
            environment,
            ..
        } = request;
        let credential = self
            .credentials
            .credential(identity, namespace, environment);
        let client = KeyClient::new(&address.url, credential.await?, Some(self.options.clone()));
        let client = client.map_err(|error| fault::of(request, &address, "reach", &error))?;
        let newest = async || match client.get_key(&request.key, None).await {
            Ok(answer) => answer
                .into_model()
                .map(Some)
                .map_err(|error| fault::of(request, &address, "read", &error)),
            Err(error) if fault::is_absent(&error) => Ok(None),
            Err(error) => Err(fault::of(request, &address, "read", &error)),
        };
        if let Some(key) = newest().await? {
            return self.version(request, &key);
        }
        let creator = self.creator(request);
        let _alone = creator.lock().await;
        // Two clusters may share a key: the second takes what the first has created.
        if let Some(key) = newest().await? {
            return self.version(request, &key);
        }
        let create = |error: &azure_core::Error| fault::of(request, &address, "create", error);
        let wanted = CreateKeyParameters {
            kty: Some(KeyType::Rsa),
            key_size: Some(BITS),
            ..CreateKeyParameters::default()
        };
        let wanted = wanted.try_into().map_err(|error| create(&error))?;
        let made = client.create_key(&request.key, wanted, None).await;
        let made = made.and_then(|answer| answer.into_model());
        self.version(request, &made.map_err(|error| create(&error))?)
    }

    /// Who creates this key, one at a time.
    fn creator(&self, request: &KeyRequest) -> Arc<tokio::sync::Mutex<()>> {
        let key = (request.vault.clone(), request.key.clone());
        Arc::clone(self.creators.lock().entry(key).or_default())
    }

    /// The version of a key that can encrypt.
    fn version(&self, request: &KeyRequest, key: &Key) -> Result<String, KeyError> {
        let KeyRequest {
            vault, key: name, ..
        } = request;
        let unusable = |what: &str| {
            let message = format!(
                "the newest version of the key '{name}' in the vault '{vault}' {what}: create a new version of it, RSA with {BITS} bits or more"
            );
            let error = AdapterError::new(ErrorClass::Invalid, message);
            KeyError::new(KeyFault::Unusable, error)
        };
        let kind = key.key.as_ref().and_then(|key| key.kty.as_ref());
        if !matches!(kind, Some(KeyType::Rsa | KeyType::RsaHsm)) {
            return Err(unusable("is not of the type RSA"));
        }
        let attributes = key.attributes.as_ref();
        if attributes.and_then(|attributes| attributes.enabled) == Some(false) {
            return Err(unusable("is disabled"));
        }
        let expires = attributes.and_then(|attributes| attributes.expires);
        let now = self.clock.now().as_second();
        if expires.is_some_and(|expires| expires.unix_timestamp() <= now) {
            return Err(unusable("has expired"));
        }
        let id = key.resource_id().ok();
        let version = id.and_then(|id| id.version);
        version.ok_or_else(|| {
            let message = format!("the vault '{vault}' gave no version of the key '{name}'");
            AdapterError::new(ErrorClass::Transient, message).into()
        })
    }
}
