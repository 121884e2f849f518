//! The keys of a credential: the files of a directory, such as a mounted Secret, or a Secret of a cluster.
//!
//! They are read again each time, since they may be replaced.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kube::Client;

use crate::adapters::kubernetes::secret_keys;
use crate::model::{AdapterError, ErrorClass};
use crate::settings::SourceCredential;

/// Keys and values.
pub(super) type Keys = BTreeMap<String, Vec<u8>>;

/// Where keys are.
#[derive(Clone)]
pub(super) enum KeyPlace {
    /// Files.
    Directory(PathBuf),
    /// A Secret.
    Secret {
        client: Client,
        namespace: String,
        name: String,
    },
}

impl KeyPlace {
    /// Where the settings say. A Secret is in `namespace` of the cluster of `client`.
    pub(super) fn new(credential: &SourceCredential, client: &Client, namespace: &str) -> Self {
        match credential {
            SourceCredential::Directory(directory) => Self::Directory(directory.clone()),
            SourceCredential::Secret(name) => Self::Secret {
                client: client.clone(),
                namespace: namespace.to_owned(),
                name: name.clone(),
            },
        }
    }

    /// The keys as they are now.
    pub(super) async fn keys(&self) -> Result<Keys, AdapterError> {
        match self {
            Self::Directory(directory) => files(directory),
            Self::Secret {
                client,
                namespace,
                name,
            } => secret_keys(client, namespace, name).await,
        }
    }
}

/// For messages.
impl std::fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Directory(directory) => write!(f, "{}", directory.display()),
            Self::Secret {
                namespace, name, ..
            } => write!(f, "Secret/{namespace}/{name}"),
        }
    }
}

fn files(directory: &Path) -> Result<Keys, AdapterError> {
    let denied = |cause: std::io::Error| {
        let message = format!("cannot read {}: {cause}", directory.display());
        AdapterError::new(ErrorClass::Denied, message)
    };
    let mut keys = Keys::new();
    for entry in fs::read_dir(directory).map_err(denied)? {
        let entry = entry.map_err(denied)?;
        // A mounted Secret has links to directories beside those to its files.
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) {
            keys.insert(name, fs::read(entry.path()).map_err(denied)?);
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_files_of_a_directory_are_its_keys() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("token"), "a").unwrap();
        fs::create_dir(dir.path().join("..data")).unwrap();
        let keys = files(dir.path()).unwrap();
        assert_eq!(keys, [("token".to_owned(), b"a".to_vec())].into());
        let error = files(&dir.path().join("away")).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
    }
}
