//! The port for credentials of Azure, as far as controllers ask about them.
//!
//! In: whose credential. Out: whether it works, or what Azure Service Operator needs of it. The content of a credential
//! passes through, and nobody here looks at it.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use super::{AdapterError, ObjectId};

/// Whose credential.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CredentialOf {
    /// That of this process.
    Default,
    /// That of an AzureClusterIdentity.
    Identity(ObjectId),
}

/// A credential in a cloud.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialRequest {
    /// Whose it is.
    pub of: CredentialOf,
    /// `AzurePublicCloud`, `AzureChinaCloud` or `AzureUSGovernmentCloud`; empty for the first.
    pub environment: String,
    /// What the identity and its Secret are now: another text asks anew.
    pub version: String,
}

/// What Azure Service Operator needs, for the resources of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsoSecretRequest {
    /// The credential.
    pub credential: CredentialRequest,
    /// The namespace that uses it.
    pub namespace: String,
    /// The subscription's ID; empty for that of this process.
    pub subscription: String,
}

/// The content of a Secret, by key. It has no `Debug`, so that no log shows it.
pub struct SecretContent(pub BTreeMap<String, Vec<u8>>);

/// Credentials of Azure.
pub trait Credentials: Send + Sync {
    /// Gets a token with the credential.
    ///
    /// # Errors
    /// When it is missing or invalid, or Entra ID refuses it.
    fn check(&self, request: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>>;

    /// The content of the Secret for Azure Service Operator.
    ///
    /// # Errors
    /// When the credential is missing or invalid, or does not allow the namespace, or there is no such form of it.
    fn aso_secret(
        &self,
        request: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>>;
}
