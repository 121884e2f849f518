//! A principal in the words of Azure Service Operator.
//!
//! In: a principal and a subscription. Out: the content of the Secret that `credential-from` names.

use std::collections::BTreeMap;

use super::principal::{Principal, Proof};
use crate::model::SecretContent;

const SUBSCRIPTION: &str = "AZURE_SUBSCRIPTION_ID";
const TENANT: &str = "AZURE_TENANT_ID";
const CLIENT: &str = "AZURE_CLIENT_ID";
const PASSWORD: &str = "AZURE_CLIENT_SECRET";
const CERTIFICATE: &str = "AZURE_CLIENT_CERTIFICATE";
const CERTIFICATE_PASSWORD: &str = "AZURE_CLIENT_CERTIFICATE_PASSWORD";
const MODE: &str = "AUTH_MODE";

/// The content of the Secret.
///
/// # Errors
/// When Azure Service Operator has no such form.
pub(super) fn secret(principal: Principal, subscription: &str) -> Result<SecretContent, String> {
    let Principal {
        tenant,
        client,
        proof,
    } = principal;
    let mut content: BTreeMap<&str, Vec<u8>> = BTreeMap::from([
        (SUBSCRIPTION, subscription.as_bytes().to_vec()),
        (TENANT, tenant.into_bytes()),
        (CLIENT, client.into_bytes()),
    ]);
    content.extend(match proof {
        Proof::Password(password) => vec![(PASSWORD, password.into_bytes())],
        Proof::Certificate(pem) => vec![(CERTIFICATE, pem), (CERTIFICATE_PASSWORD, Vec::new())],
        Proof::Token(_) => vec![(MODE, b"workloadidentity".to_vec())],
        Proof::Machine => vec![(MODE, b"podidentity".to_vec())],
        Proof::CertificateAt { .. } => return Err(
            "Azure Service Operator cannot use the credential of a UserAssignedIdentityCredential: set credentialFrom to a Secret of your own for it"
                .to_owned(),
        ),
    });
    let content = content.into_iter();
    let content = content.map(|(key, value)| (key.to_owned(), value));
    Ok(SecretContent(content.collect()))
}
