//! The daemon's HTTP server, and the secrets of its webhooks.
//!
//! In: the settings and the cluster with the Secret. Out: an open port, and what to serve there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;
use kube::Client;
use parking_lot::RwLock;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::clock::wall_time;
use crate::adapters::http::{self, Hints, Metrics, SecretSource, Secrets, Server, Webhooks};
use crate::adapters::kubernetes::{secret_keys, watch_secret_keys};
use crate::model::{AdapterError, ErrorClass};
use crate::settings::{SourceCredential, SyncConfig};

/// A port that is open, and what its webhooks authenticate with. Nothing is answered before
/// [`run_with`](crate::daemon::run_with) has it.
pub struct Endpoint {
    server: Server,
    /// None if there are no webhooks.
    secrets: Option<SecretSource>,
    /// Follows the Secret.
    follower: Option<AbortOnDropHandle<()>>,
}

/// What is served, until this is dropped.
pub(in crate::daemon) struct Serving {
    _server: AbortOnDropHandle<()>,
    _follower: Option<AbortOnDropHandle<()>>,
}

impl Endpoint {
    /// Opens the port that `config` sets, if it sets one. A Secret is in the cluster of `client`.
    ///
    /// # Errors
    /// If the port cannot be opened, or the webhooks have no secret.
    pub async fn open(config: &SyncConfig, client: &Client) -> Result<Option<Self>, AdapterError> {
        let Some(address) = &config.serve else {
            return Ok(None);
        };
        let (secrets, follower) = match &config.webhook_secret {
            None => (None, None),
            Some(SourceCredential::Directory(directory)) => {
                read(directory)?;
                let directory: PathBuf = directory.clone();
                let source: SecretSource = Arc::new(move || {
                    let secrets = read(&directory).ok().map(Arc::new);
                    Box::pin(std::future::ready(secrets))
                });
                (Some(source), None)
            }
            Some(SourceCredential::Secret(name)) => {
                let (source, follower) = follow(client, &config.namespace, name).await?;
                (Some(source), Some(follower))
            }
        };
        let server = Server::bind(address).await;
        let server = server.map_err(|error| AdapterError::new(error.class(), error.to_string()))?;
        Ok(Some(Self {
            server,
            secrets,
            follower,
        }))
    }

    /// What it is, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let paths = match self.secrets {
            Some(_) => "health, metrics and webhooks",
            None => "health and metrics",
        };
        match self.server.address() {
            Ok(address) => format!("{paths} on http://{address}"),
            Err(_) => paths.to_owned(),
        }
    }

    /// The secrets of its webhooks, if it has any. They also tell of the buttons that people press.
    pub(in crate::daemon) const fn secrets(&self) -> Option<&SecretSource> {
        self.secrets.as_ref()
    }

    /// Answers from now on.
    pub(in crate::daemon) fn serve(
        self,
        url: &str,
        hints: Arc<Hints>,
        metrics: Arc<Metrics>,
    ) -> Serving {
        let webhooks = self.secrets.map(|secrets| {
            let metrics = Arc::clone(&metrics);
            Arc::new(Webhooks::new(url, secrets, hints, metrics, wall_time))
        });
        Serving {
            _server: self.server.serve(http::router(metrics, webhooks)),
            _follower: self.follower,
        }
    }
}

/// Reads the files of a directory, such as a mounted Secret.
fn read(directory: &Path) -> Result<Secrets, AdapterError> {
    let denied = |cause: std::io::Error| {
        let message = format!("cannot read {}: {cause}", directory.display());
        AdapterError::new(ErrorClass::Denied, message)
    };
    let mut keys = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(denied)? {
        let entry = entry.map_err(denied)?;
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) {
            keys.insert(name, fs::read(entry.path()).map_err(denied)?);
        }
    }
    Secrets::read(&directory.display().to_string(), &keys)
}

/// Reads a Secret and follows its changes. A cluster that does not answer now may do so later; until then
/// there are no secrets.
async fn follow(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(SecretSource, AbortOnDropHandle<()>), AdapterError> {
    let place = format!("Secret/{namespace}/{name}");
    let first = match secret_keys(client, namespace, name).await {
        Ok(keys) => Some(Arc::new(Secrets::read(&place, &keys)?)),
        Err(error) if error.class() == ErrorClass::Transient => {
            tracing::warn!(%error, "webhooks are answered once their Secret can be read");
            None
        }
        Err(error) => return Err(error),
    };
    let known = Arc::new(RwLock::new(first));
    let mut changes = watch_secret_keys(client, namespace, name);
    let held = Arc::clone(&known);
    let follower = async move {
        while let Some(keys) = changes.next().await {
            let read = match keys {
                Some(keys) => Secrets::read(&place, &keys).map_err(|error| error.to_string()),
                None => Err(format!("{place} was deleted")),
            };
            match read {
                Ok(secrets) => {
                    *held.write() = Some(Arc::new(secrets));
                }
                Err(error) => tracing::warn!("{error}; webhooks keep their last secrets"),
            }
        }
    };
    let follower = tokio::spawn(follower.in_current_span());
    let source: SecretSource = Arc::new(move || {
        let secrets = known.read().clone();
        Box::pin(std::future::ready(secrets))
    });
    Ok((source, AbortOnDropHandle::new(follower)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_files_of_a_directory_are_read_again_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let message = read(dir.path()).unwrap_err().to_string();
        assert!(message.contains("has no key `token`"), "{message}");
        fs::write(dir.path().join("token"), "a\n").unwrap();
        let first = read(dir.path()).unwrap();
        fs::create_dir(dir.path().join("token-dir")).unwrap();
        assert_eq!(read(dir.path()).unwrap(), first);
        fs::write(dir.path().join("token"), "b").unwrap();
        assert_ne!(read(dir.path()).unwrap(), first);
        let error = read(&dir.path().join("away")).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
    }
}
