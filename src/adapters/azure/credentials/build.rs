//! Makes credentials of azure_identity.
//!
//! In: a principal, and the server of Entra ID. Out: a credential, which keeps one token for each thing that tokens are
//! for, renews it five minutes before it expires, and asks for one at a time.

use std::sync::Arc;

use azure_core::credentials::{Secret, TokenCredential};
use azure_core::http::ClientOptions;
use azure_identity::{
    ClientAssertionCredential, ClientAssertionCredentialOptions, ClientSecretCredential,
    ClientSecretCredentialOptions, ManagedIdentityCredential, ManagedIdentityCredentialOptions,
    UserAssignedId, WorkloadIdentityCredential, WorkloadIdentityCredentialOptions,
};

use super::certificate::{Assertion, Certificate};
use super::cloud;
use super::principal::{Principal, Proof};
use crate::adapters::azure::entra_error;
use crate::model::{AdapterError, Clock, ErrorClass};

/// The credential of `principal` at `authority`.
///
/// # Errors
/// When a value cannot be used.
pub(super) fn credential(
    principal: Principal,
    authority: &str,
    clock: &Arc<dyn Clock>,
    options: &ClientOptions,
) -> Result<Arc<dyn TokenCredential>, AdapterError> {
    let client_options = ClientOptions {
        cloud: Some(Arc::new(cloud::at(authority))),
        ..options.clone()
    };
    let Principal {
        tenant,
        client,
        proof,
    } = principal;
    let made = match proof {
        Proof::Password(password) => password_of(&tenant, client, password, client_options),
        Proof::Certificate(pem) | Proof::CertificateAt { pem, .. } => {
            let certificate = Certificate::read(&pem);
            let certificate =
                certificate.map_err(|why| AdapterError::new(ErrorClass::Invalid, why))?;
            let assertion = Assertion {
                certificate,
                clock: Arc::clone(clock),
                client: client.clone(),
                audience: format!("{authority}/{tenant}/oauth2/v2.0/token"),
            };
            let options = ClientAssertionCredentialOptions { client_options };
            let made = ClientAssertionCredential::new(tenant, client, assertion, Some(options));
            made.map(|made| -> Arc<dyn TokenCredential> { made })
        }
        Proof::Token(path) => {
            let made = WorkloadIdentityCredential::new(Some(WorkloadIdentityCredentialOptions {
                client_id: Some(client),
                tenant_id: Some(tenant),
                token_file_path: Some(path),
                credential_options: ClientAssertionCredentialOptions { client_options },
            }));
            made.map(|made| -> Arc<dyn TokenCredential> { made })
        }
        Proof::Machine => {
            let made = ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
                user_assigned_id: Some(UserAssignedId::ClientId(client)),
                client_options,
            }));
            made.map(|made| -> Arc<dyn TokenCredential> { made })
        }
    };
    made.map_err(|error| entra_error::invalid(&error))
}

fn password_of(
    tenant: &str,
    client: String,
    password: String,
    client_options: ClientOptions,
) -> azure_core::Result<Arc<dyn TokenCredential>> {
    let options = ClientSecretCredentialOptions { client_options };
    let made = ClientSecretCredential::new(tenant, client, Secret::new(password), Some(options))?;
    Ok(made)
}
