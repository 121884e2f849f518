//! The port for keys in Key Vault.
//!
//! In: a key that must exist. Out: its newest version, or what is in the way. The caller does not know how the vault is
//! reached.

use std::time::Duration;

use futures::future::BoxFuture;

use super::{AdapterError, ObjectId};

/// A key that must exist in a vault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRequest {
    /// The vault's name in Azure.
    pub vault: String,
    /// The key's name in the vault.
    pub key: String,
    /// The AzureClusterIdentity to reach the vault with.
    pub identity: ObjectId,
    /// The namespace that uses the identity.
    pub namespace: String,
    /// `AzurePublicCloud`, `AzureChinaCloud` or `AzureUSGovernmentCloud`; empty for the first.
    pub environment: String,
}

/// What is in the way of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// Nothing here can create keys.
    NotConfigured,
    /// No vault answers to the name, or not yet.
    VaultNotFound,
    /// The identity lacks a permission in the vault.
    AccessDenied,
    /// The vault takes no connection from this network.
    NetworkDenied,
    /// Nobody answers at the address of the vault.
    Unreachable,
    /// The key was deleted, and its name is reserved until it is recovered or purged.
    Deleted,
    /// The key exists, but nothing can be encrypted with its newest version.
    Unusable,
    /// Anything else: the class of the error says what to do.
    Other,
}

/// Why there is no version of a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct KeyError {
    /// What is in the way.
    pub fault: KeyFault,
    /// What to do about it, and the message for people.
    pub error: AdapterError,
    /// How long the vault wants to be left alone.
    pub retry_after: Option<Duration>,
}

impl KeyError {
    /// This is in the way.
    #[must_use]
    pub const fn new(fault: KeyFault, error: AdapterError) -> Self {
        Self {
            fault,
            error,
            retry_after: None,
        }
    }
}

impl From<AdapterError> for KeyError {
    fn from(error: AdapterError) -> Self {
        Self::new(KeyFault::Other, error)
    }
}

/// Reads and creates keys.
pub trait KeyVaults: Send + Sync {
    /// The newest version of the key, which is created if it does not exist.
    fn ensure(&self, request: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>>;
}
