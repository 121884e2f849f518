//! Entra ID, as far as credentials of identities are tried.
//!
//! In: a credential. Out: that it works; the content of a Secret, which is made up. It does not look at any identity.

use std::collections::BTreeMap;

use futures::future::{BoxFuture, FutureExt as _, ready};

use crate::model::{AdapterError, AsoSecretRequest, CredentialRequest, Credentials, SecretContent};

/// Credentials that all work.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatedCredentials;

impl Credentials for SimulatedCredentials {
    fn check(&self, _: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
        ready(Ok(())).boxed()
    }

    fn aso_secret(
        &self,
        request: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
        let subscription = request.subscription.clone().into_bytes();
        let content = BTreeMap::from([
            ("AZURE_SUBSCRIPTION_ID".to_owned(), subscription),
            ("AUTH_MODE".to_owned(), b"workloadidentity".to_vec()),
        ]);
        ready(Ok(SecretContent(content))).boxed()
    }
}
