//! The identity of this process: one explicit type, nothing is tried out.
//!
//! In: what the environment says. Out: a principal.

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;

use super::files::Files;
use super::principal::{Keys, Principal};
use crate::api::azure_cluster_identity::{AzureClusterIdentitySpec, IdentityType};

/// How messages name it.
pub(super) const PLACE: &str = "the identity of the process (CAPSTAN_AZURE_*)";

/// Why a namespace does not get it.
pub(super) const NOT_ALLOWED: &str =
    "the identity of the process is not for this namespace (CAPSTAN_AZURE_NAMESPACES)";

/// The identity of this process. It has no `Debug`, so that no log shows it.
#[derive(Clone)]
pub struct DefaultIdentity {
    /// What proves it.
    pub kind: IdentityType,
    /// The client ID.
    pub client: String,
    /// The tenant's ID.
    pub tenant: String,
    /// The password of a service principal.
    pub password: Option<String>,
    /// The file with the certificate of a service principal.
    pub certificate: Option<PathBuf>,
    /// The subscription of clusters that name none.
    pub subscription: Option<String>,
}

impl DefaultIdentity {
    /// The principal as it is now.
    pub(super) fn principal(&self, files: &Files, now: Timestamp) -> Result<Principal, String> {
        let mut keys = Keys::new();
        if let Some(password) = &self.password {
            keys.insert("clientSecret".to_owned(), password.clone().into_bytes());
        }
        if let Some(path) = &self.certificate {
            let pem = fs::read(path)
                .map_err(|error| format!("{PLACE}: {} cannot be read: {error}", path.display()))?;
            keys.insert("certificate".to_owned(), pem);
        }
        let spec = AzureClusterIdentitySpec {
            kind: self.kind,
            client_id: self.client.clone(),
            tenant_id: self.tenant.clone(),
            resource_id: None,
            client_secret: None,
            cert_path: None,
            user_assigned_identity_credentials_path: None,
            user_assigned_identity_credentials_cloud_type: None,
            allowed_namespaces: None,
        };
        // It names its files itself.
        Principal::read(&spec, Some((PLACE, &keys)), (files, ""), now)
    }
}
