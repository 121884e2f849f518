//! The seam between what calls Azure and what proves who calls.
//!
//! In: which AzureClusterIdentity, for whose namespace, in which cloud. Out: a credential that gets tokens. It does not
//! know how a credential is made, and whoever asks never sees what it is made of.

use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use futures::future::BoxFuture;

use crate::model::{AdapterError, ObjectId};

/// Makes the credential of an AzureClusterIdentity, or keeps the one that it made.
pub trait CredentialSource: Send + Sync {
    /// The credential of `identity`, for an object in `namespace`. `environment` is the Azure environment of that object
    /// (`AzurePublicCloud`, `AzureChinaCloud`, `AzureUSGovernmentCloud`; empty for the public cloud).
    ///
    /// # Errors
    /// When the identity or its Secret is missing or invalid, or does not allow the namespace.
    fn credential(
        &self,
        identity: &ObjectId,
        namespace: &str,
        environment: &str,
    ) -> BoxFuture<'static, Result<Arc<dyn TokenCredential>, AdapterError>>;
}
