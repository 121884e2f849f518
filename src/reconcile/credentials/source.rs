//! Where the credential of a cluster comes from, as its Secret records it.
//!
//! In: the parts of a cluster, or the record. Out: a request for the credential, and the record. The record outlives the control
//! plane; whoever changes it gains nothing, since an identity is asked whether it allows the namespace each time.

use serde::{Deserialize, Serialize};

use super::parts::Parts;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::CREDENTIAL_SOURCE;
use crate::health::Live;
use crate::model::{AsoSecretRequest, CredentialOf, CredentialRequest, ObjectId};

/// Whose credential, where it counts, and for what.
pub(super) struct Source {
    pub(super) of: CredentialOf,
    environment: String,
    subscription: String,
}

/// The same in an annotation.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Record {
    /// Namespace and name of the identity; `None` for that of the process.
    identity: Option<(String, String)>,
    environment: String,
    subscription: String,
}

impl Source {
    /// A credential, as the parts of a cluster use it.
    pub(super) fn of_parts(of: CredentialOf, parts: Parts<'_>) -> Self {
        Self {
            of,
            environment: parts.environment().to_owned(),
            subscription: parts.subscription().to_owned(),
        }
    }

    /// What was requested.
    pub(super) fn of_request(request: &AsoSecretRequest) -> Self {
        Self {
            of: request.credential.of.clone(),
            environment: request.credential.environment.clone(),
            subscription: request.subscription.clone(),
        }
    }

    /// What the Secret was made from, if it says so.
    pub(super) fn recorded(secret: Live<'_>) -> Option<Self> {
        let record: Record = serde_json::from_str(secret.annotation(CREDENTIAL_SOURCE)).ok()?;
        let of = match record.identity {
            None => CredentialOf::Default,
            Some((namespace, name)) => {
                let id = ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name);
                CredentialOf::Identity(id)
            }
        };
        Some(Self {
            of,
            environment: record.environment,
            subscription: record.subscription,
        })
    }

    /// The record.
    pub(super) fn text(&self) -> String {
        let record = Record {
            identity: match &self.of {
                CredentialOf::Default => None,
                CredentialOf::Identity(id) => Some((id.namespace.clone(), id.name.clone())),
            },
            environment: self.environment.clone(),
            subscription: self.subscription.clone(),
        };
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// Asks for the credential at a version, for a namespace.
    pub(super) fn request(self, namespace: &str, version: String) -> AsoSecretRequest {
        AsoSecretRequest {
            credential: CredentialRequest {
                of: self.of,
                environment: self.environment,
                version,
            },
            namespace: namespace.to_owned(),
            subscription: self.subscription,
        }
    }
}
