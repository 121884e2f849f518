//! How the fleet's repository is reached: what the settings say, as the git adapter takes it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;

use crate::adapters::azure::{self, AZURE_DEVOPS, EntraTokens, Identity};
use crate::adapters::git::{
    self, Access, Authorization, Credential, CredentialSource, Proxy, Reach,
};
use crate::adapters::kubernetes::secret_keys;
use crate::model::{AdapterError, ErrorClass};
use crate::settings::{SourceCredential, SyncConfig};

/// How the repository of `config` is reached. Its Secret, if it has one, is in the cluster of `client`. The
/// settings are a file or flags of whoever runs the daemon, so its own paths are allowed.
#[must_use]
pub fn source_access(config: &SyncConfig, client: &Client) -> Access {
    let credentials = config.credential.as_ref().map(|place| match place {
        SourceCredential::Directory(directory) => {
            Arc::new(Files(directory.clone())) as Arc<dyn CredentialSource>
        }
        SourceCredential::Secret(name) => Arc::new(Secret {
            client: client.clone(),
            namespace: config.namespace.clone(),
            name: name.clone(),
        }),
    });
    let proxy = config.proxy.as_ref().map(|proxy| Proxy {
        url: proxy.url.clone(),
        except: proxy.except.clone(),
    });
    Access {
        reach: Reach::Anywhere,
        credentials,
        proxy,
        ..Access::default()
    }
}

/// The files of a directory, such as a mounted Secret.
struct Files(PathBuf);

impl CredentialSource for Files {
    fn credential(&self) -> BoxFuture<'_, Result<Credential, AdapterError>> {
        std::future::ready(self.read()).boxed()
    }
}

impl Files {
    fn read(&self) -> Result<Credential, AdapterError> {
        let mut keys = BTreeMap::new();
        for key in git::KEYS.into_iter().chain(azure::KEYS) {
            let path = self.0.join(key);
            match fs::read(&path) {
                Ok(value) => drop(keys.insert(key.to_owned(), value)),
                Err(cause) if cause.kind() == ErrorKind::NotFound => {}
                Err(cause) => {
                    let message = format!("cannot read {}: {cause}", path.display());
                    return Err(AdapterError::new(ErrorClass::Denied, message));
                }
            }
        }
        credential(&self.0.display().to_string(), &keys)
    }
}

/// The credential in the keys of `place`: one of its own, or one that gets tokens.
fn credential(place: &str, keys: &BTreeMap<String, Vec<u8>>) -> Result<Credential, AdapterError> {
    let identity = Identity::read(place, keys)?;
    let tokens = identity.map(|identity| EntraTokens::new(identity, AZURE_DEVOPS));
    let bearer = tokens.map(|tokens| Authorization::Bearer(Arc::new(tokens)));
    Credential::read_beside(place, keys, bearer)
}

/// A Secret of a cluster.
struct Secret {
    client: Client,
    namespace: String,
    name: String,
}

impl CredentialSource for Secret {
    fn credential(&self) -> BoxFuture<'_, Result<Credential, AdapterError>> {
        let read = async {
            let keys = secret_keys(&self.client, &self.namespace, &self.name).await?;
            credential(&format!("Secret/{}/{}", self.namespace, self.name), &keys)
        };
        read.boxed()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn files_are_read_again_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files(dir.path().to_owned());
        let credential = || files.credential().now_or_never().unwrap();
        let message = credential().unwrap_err().to_string();
        assert!(message.contains("(its keys: none)"), "{message}");
        fs::write(dir.path().join("bearerToken"), "t").unwrap();
        assert!(credential().unwrap().authorization.is_some());
        fs::write(dir.path().join("azureIdentityType"), "ManagedIdentity").unwrap();
        let message = credential().unwrap_err().to_string();
        assert!(message.contains("keep one"), "{message}");
        fs::remove_file(dir.path().join("bearerToken")).unwrap();
        let found = credential().unwrap().authorization;
        assert!(matches!(found, Some(Authorization::Bearer(_))));
        fs::create_dir(dir.path().join("identity")).unwrap();
        let error = credential().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
        assert!(error.to_string().contains("identity"), "{error}");
    }
}
