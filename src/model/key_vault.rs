//! The port for keys in Key Vault.
//!
//! In: a key that must exist. Out: its newest version. The caller does not know how the vault is reached.

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

/// Reads and creates keys.
pub trait KeyVaults: Send + Sync {
    /// The newest version of the key, which is created if it does not exist.
    fn ensure(&self, request: &KeyRequest) -> BoxFuture<'static, Result<String, AdapterError>>;
}
