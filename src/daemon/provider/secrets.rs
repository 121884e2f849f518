//! The secrets of the provider, and the pull secret of its clusters.
//!
//! In: a directory or a Secret. Out: tokens, a certificate, keys. No value is ever logged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value as Json, json};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::kinds::SECRET;
use super::pace::Turn;
use crate::adapters::git::Signer;
use crate::adapters::kubernetes::{Error, Hub, secret_keys};
use crate::adapters::service_provider::Tokens;
#[cfg(feature = "nats")]
use crate::adapters::service_provider::nats;
use crate::api::fleet::ServiceProvider;
use crate::daemon::wall_time;
use crate::model::{AdapterError, ErrorClass};
use crate::settings::{ProviderConfig, SourceCredential, SyncConfig};

/// The time between two looks at the pull secret.
const LOOK: Duration = Duration::from_secs(60);
/// The type of a Secret with credentials of registries.
const PULL_SECRET: &str = "kubernetes.io/dockerconfigjson";
/// Its key.
const PULL_KEY: &str = ".dockerconfigjson";

/// The secrets of the provider.
pub(super) struct ProviderSecrets {
    /// The tokens that are accepted; `None` if none is needed.
    pub(super) tokens: Option<Tokens>,
    /// The certificate of the port; `None` if it is not encrypted.
    pub(super) tls: Option<rustls::ServerConfig>,
    /// The key that signs commits.
    pub(super) signer: Option<Arc<Signer>>,
    /// The token for the registry.
    pub(super) registry_token: Option<String>,
    /// The credential for NATS.
    #[cfg(feature = "nats")]
    pub(super) nats: nats::Credentials,
    /// The pull secret of all clusters, if the provider keeps it.
    pull_secret: Option<Vec<u8>>,
}

impl ProviderSecrets {
    #[cfg(test)]
    pub(super) fn with_pull_secret(content: &[u8]) -> Self {
        Self {
            tokens: None,
            tls: None,
            signer: None,
            registry_token: None,
            #[cfg(feature = "nats")]
            nats: nats::Credentials::None,
            pull_secret: Some(content.to_vec()),
        }
    }

    /// # Errors
    /// If one that is needed is missing, or one is not valid.
    pub(super) async fn read(
        own: &ProviderConfig,
        config: &SyncConfig,
        client: &Client,
    ) -> Result<Self, AdapterError> {
        let keys = keys(own.secrets.as_ref(), config, client).await?;
        let tokens = match text(&keys, "tokens")? {
            Some(text) => Some(Tokens::read(&text).map_err(|error| invalid(error.to_string()))?),
            None if own.settings.allow_unauthenticated => None,
            None => return Err(invalid("spec.serviceProvider has no tokens: add the key `tokens` to the Secret of secretRef, or set allowUnauthenticated: true".to_owned())),
        };
        let pull_secret = match pull_secret(own)? {
            Some(secret) => Some(secret),
            None => keys.get(PULL_KEY).cloned(),
        };
        if let Some(secret) = &pull_secret {
            check_pull_secret(secret).map_err(invalid)?;
        }
        if pull_secret.is_none() && own.settings.pull_secret_ref.is_none() {
            return Err(invalid("spec.serviceProvider has no pull secret: add the key `.dockerconfigjson` to the Secret of secretRef, set SP_PULL_SECRET_FILE, or name an existing Secret with pullSecretRef".to_owned()));
        }
        Ok(Self {
            tokens,
            tls: tls(&keys)?,
            registry_token: line(&keys, "registry-token")?,
            #[cfg(feature = "nats")]
            nats: nats_credentials(&keys)?,
            signer: signer(own, config, client).await?,
            pull_secret,
        })
    }
}

fn invalid(message: String) -> AdapterError {
    AdapterError::new(ErrorClass::Invalid, message)
}

fn text(keys: &BTreeMap<String, Vec<u8>>, key: &str) -> Result<Option<String>, AdapterError> {
    let text = keys.get(key).map(|bytes| String::from_utf8(bytes.clone()));
    text.transpose().map_err(|_| {
        invalid(format!(
            "the key `{key}` of the service provider's secrets is not text"
        ))
    })
}

/// A text without the end of its line.
fn line(keys: &BTreeMap<String, Vec<u8>>, key: &str) -> Result<Option<String>, AdapterError> {
    Ok(text(keys, key)?.map(|text| text.trim_end().to_owned()))
}

/// The credential for NATS: a token, or a user and a password.
#[cfg(feature = "nats")]
fn nats_credentials(keys: &BTreeMap<String, Vec<u8>>) -> Result<nats::Credentials, AdapterError> {
    let [token, user, password] =
        ["nats-token", "nats-user", "nats-password"].map(|key| line(keys, key));
    Ok(match (token?, user?, password?) {
        (Some(token), ..) => nats::Credentials::Token(token),
        (None, Some(user), Some(password)) => nats::Credentials::Password { user, password },
        (None, None, None) => nats::Credentials::None,
        _ => return Err(invalid("the service provider's secrets have one of `nats-user` and `nats-password`: add the other".to_owned())),
    })
}

/// The keys of a place of secrets.
async fn keys(
    place: Option<&SourceCredential>,
    config: &SyncConfig,
    client: &Client,
) -> Result<BTreeMap<String, Vec<u8>>, AdapterError> {
    match place {
        None => Ok(BTreeMap::new()),
        Some(SourceCredential::Directory(directory)) => files(directory),
        Some(SourceCredential::Secret(name)) => secret_keys(client, &config.namespace, name).await,
    }
}

fn files(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>, AdapterError> {
    let denied = |cause: std::io::Error| {
        let message = format!("cannot read {}: {cause}", directory.display());
        AdapterError::new(ErrorClass::Denied, message)
    };
    let mut keys = BTreeMap::new();
    for entry in std::fs::read_dir(directory).map_err(denied)? {
        let entry = entry.map_err(denied)?;
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) {
            keys.insert(name, std::fs::read(entry.path()).map_err(denied)?);
        }
    }
    Ok(keys)
}

fn tls(keys: &BTreeMap<String, Vec<u8>>) -> Result<Option<rustls::ServerConfig>, AdapterError> {
    let (certificate, key) =
        match (keys.get("tls.crt"), keys.get("tls.key")) {
            (None, None) => return Ok(None),
            (Some(certificate), Some(key)) => (certificate, key),
            _ => return Err(invalid(
                "the service provider's secrets have one of `tls.crt` and `tls.key`: add the other"
                    .to_owned(),
            )),
        };
    let wrong = |what: &str| {
        invalid(format!(
            "the key `{what}` of the service provider's secrets is not PEM"
        ))
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let chain = chain.map_err(|_| wrong("tls.crt"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| wrong("tls.key"))?;
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key);
    let mut config = config.map_err(|error| {
        invalid(format!(
            "the certificate and the key of the service provider do not fit: {error}"
        ))
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(config))
}

/// The key that signs commits, which the daemon accepts if it verifies them.
async fn signer(
    own: &ProviderConfig,
    config: &SyncConfig,
    client: &Client,
) -> Result<Option<Arc<Signer>>, AdapterError> {
    let keys = keys(own.signing_key.as_ref(), config, client).await?;
    let signer = text(&keys, "identity")?.map(|key| Signer::read(&key));
    let signer = signer
        .transpose()
        .map_err(|error| invalid(format!("spec.serviceProvider.signingKeySecretRef: {error}")))?;
    let Some(verify) = &config.verify else {
        return Ok(signer.map(Arc::new));
    };
    let Some(signer) = signer else {
        if own.branch.is_none() {
            return Ok(None);
        }
        return Err(invalid(
            "spec.source.git.verify accepts signed commits alone: give the service provider a key with signingKeySecretRef".to_owned(),
        ));
    };
    let checked = signer.check(&verify.keys, wall_time());
    checked
        .map_err(|error| invalid(format!("spec.serviceProvider.signingKeySecretRef: {error}")))?;
    Ok(Some(Arc::new(signer)))
}

/// The pull secret of the environment, if there is one: a file before a value.
fn pull_secret(own: &ProviderConfig) -> Result<Option<Vec<u8>>, AdapterError> {
    if let Some(file) = &own.pull_secret_file {
        let read = std::fs::read(file);
        return read.map(Some).map_err(|cause| {
            let message = format!(
                "SP_PULL_SECRET_FILE: cannot read {}: {cause}",
                file.display()
            );
            AdapterError::new(ErrorClass::Denied, message)
        });
    }
    let decoded = own
        .pull_secret
        .as_ref()
        .map(|secret| STANDARD.decode(secret.0.trim()));
    decoded
        .transpose()
        .map_err(|_| invalid("decoding SP_PULL_SECRET: it is not base64".to_owned()))
}

/// Checks the content of a pull secret; the error is the reason.
fn check_pull_secret(content: &[u8]) -> Result<(), String> {
    let json: Json = serde_json::from_slice(content)
        .map_err(|_| "parsing the pull secret as .dockerconfigjson: it is not JSON".to_owned())?;
    let auths = json["auths"].as_object();
    if auths.is_none_or(serde_json::Map::is_empty) {
        return Err(
            "parsing the pull secret as .dockerconfigjson: missing required 'auths' entries"
                .to_owned(),
        );
    }
    Ok(())
}

/// Keeps the pull secret of all clusters on the hub, while this process may write, until the handle is dropped. A hub that does not answer
/// is asked again. The other answer is true once the secret is there, or if somebody else keeps one.
pub(super) fn keep_pull_secret(
    secrets: &ProviderSecrets,
    hub: &Hub,
    settings: &ServiceProvider,
    turn: Turn,
) -> (Option<AbortOnDropHandle<()>>, Arc<AtomicBool>) {
    let content = secrets.pull_secret.clone();
    let content = content.filter(|_| settings.pull_secret_ref.is_none());
    let is_there = Arc::new(AtomicBool::new(content.is_none()));
    let Some(content) = content else {
        return (None, is_there);
    };
    let kept = Arc::new(PullSecret {
        content,
        hub: hub.clone(),
        namespace: settings.namespace.clone(),
        name: settings.pull_secret(),
    });
    let noted = Arc::clone(&is_there);
    let keep = async move {
        let write = || {
            let (kept, noted) = (Arc::clone(&kept), Arc::clone(&noted));
            async move {
                let written = kept.write().await;
                match &written {
                    Ok(()) => noted.store(true, Ordering::Relaxed),
                    // A hub that does not answer says nothing of it.
                    Err(error) if error.class() == ErrorClass::Transient => {}
                    Err(_) => noted.store(false, Ordering::Relaxed),
                }
                written
            }
        };
        turn.repeat(
            "the pull secret of the clusters cannot be written",
            LOOK,
            write,
        )
        .await;
    };
    let keeping = AbortOnDropHandle::new(tokio::spawn(keep.in_current_span()));
    (Some(keeping), is_there)
}

/// The pull secret of all clusters.
struct PullSecret {
    hub: Hub,
    namespace: String,
    name: String,
    content: Vec<u8>,
}

impl PullSecret {
    /// Writes it, unless it is there with this content.
    async fn write(&self) -> Result<(), Error> {
        let Self {
            hub,
            namespace,
            name,
            content,
        } = self;
        let found = hub.get(SECRET, namespace, name).await?;
        let data = json!({PULL_KEY: STANDARD.encode(content)});
        let kind = found
            .as_ref()
            .and_then(|found| found["type"].as_str())
            .unwrap_or(PULL_SECRET);
        if kind != PULL_SECRET {
            tracing::warn!(
                name,
                namespace,
                expected = PULL_SECRET,
                actual = kind,
                "the pull secret has another type, which cannot change: delete it to have it made again"
            );
        }
        let is_same = |found: &Json| found["data"][PULL_KEY] == data[PULL_KEY];
        if found.as_ref().is_some_and(is_same) {
            return Ok(());
        }
        let labels = json!({
            "managed-by": "dcm", "dcm-service-type": "cluster",
            "dcm.project/managed-by": "dcm", "dcm.project/dcm-service-type": "cluster",
        });
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": data,
        });
        hub.apply(SECRET, &secret).await
    }
}
