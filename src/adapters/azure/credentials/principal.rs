//! Who asks for tokens, and what proves it.
//!
//! In: an AzureClusterIdentity, the content of its Secret and files. Out: a principal. The type decides: nothing is tried
//! out. What is wrong is named by the field or the key that has to change; no value of a Secret is in a message.

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use jiff::Timestamp;
use serde::Deserialize;

use super::certificate::Certificate;
use super::files::Files;
use crate::adapters::azure::tenant;
use crate::api::azure_cluster_identity::{AzureClusterIdentitySpec, IdentityType};

/// The key of a password in a Secret, and of a certificate if there is no [`CERTIFICATE`].
const CLIENT_SECRET: &str = "clientSecret";
/// The key of a certificate in a Secret.
const CERTIFICATE: &str = "certificate";

/// The content of a Secret.
pub(super) type Keys = BTreeMap<String, Vec<u8>>;

/// Who asks for tokens, and what proves it.
pub(super) struct Principal {
    /// The tenant's ID.
    pub(super) tenant: String,
    /// The client ID of the application, or of the managed identity.
    pub(super) client: String,
    /// What proves it.
    pub(super) proof: Proof,
}

/// What proves who asks.
pub(super) enum Proof {
    /// A password.
    Password(String),
    /// A certificate in PEM, with its key.
    Certificate(Vec<u8>),
    /// The same, at a server of Entra ID that came with it.
    CertificateAt { pem: Vec<u8>, authority: String },
    /// The token of the pod's service account.
    Token(PathBuf),
    /// The machine.
    Machine,
}

impl Proof {
    /// What tells one proof from another: its kind, and all that belongs to it.
    pub(super) fn parts(&self) -> [&[u8]; 3] {
        match self {
            Self::Password(password) => [b"password", password.as_bytes(), b""],
            Self::Certificate(pem) => [b"certificate", pem, b""],
            Self::CertificateAt { pem, authority } => [b"certificate", pem, authority.as_bytes()],
            Self::Token(path) => [b"token", path.as_os_str().as_encoded_bytes(), b""],
            Self::Machine => [b"machine", b"", b""],
        }
    }
}

/// Whether an identity of this spec needs its Secret.
pub(super) fn needs_secret(spec: &AzureClusterIdentitySpec) -> bool {
    match spec.kind {
        IdentityType::ServicePrincipal | IdentityType::ManualServicePrincipal => true,
        IdentityType::ServicePrincipalCertificate => text(spec.cert_path.as_ref()).is_none(),
        _ => false,
    }
}

impl Principal {
    /// The principal of an identity in a namespace. `keys` is the content of its Secret, and where that is, if it needs one.
    ///
    /// # Errors
    /// When something is missing or cannot be used.
    pub(super) fn read(
        spec: &AzureClusterIdentitySpec,
        keys: Option<(&str, &Keys)>,
        (files, namespace): (&Files, &str),
        now: Timestamp,
    ) -> Result<Self, String> {
        let proof = match spec.kind {
            IdentityType::ServicePrincipal | IdentityType::ManualServicePrincipal => {
                password(keys)?
            }
            IdentityType::ServicePrincipalCertificate => {
                let pem = match text(spec.cert_path.as_ref()) {
                    Some(path) => (
                        format!("spec.certPath {path}"),
                        files.read(path, namespace)?,
                    ),
                    None => certificate(keys)?,
                };
                Proof::Certificate(checked(pem, now)?)
            }
            IdentityType::UserAssignedMsi => Proof::Machine,
            IdentityType::WorkloadIdentity => Proof::Token(files.token()),
            IdentityType::UserAssignedIdentityCredential => {
                return delivered(spec, (files, namespace), now);
            }
        };
        for (field, value) in [("clientID", &spec.client_id), ("tenantID", &spec.tenant_id)] {
            if value.trim().is_empty() {
                return Err(format!("spec.{field} is empty"));
            }
        }
        let tenant = tenant::checked(spec.tenant_id.trim());
        Ok(Self {
            tenant: tenant
                .map_err(|why| format!("spec.tenantID: {why}"))?
                .to_owned(),
            client: spec.client_id.trim().to_owned(),
            proof,
        })
    }
}

fn text(field: Option<&String>) -> Option<&str> {
    field.map(String::as_str).filter(|text| !text.is_empty())
}

/// The value of a key, without the line break that editors add.
fn value<'a>((place, keys): (&str, &'a Keys), key: &str) -> Result<&'a [u8], String> {
    let value = keys.get(key).map(|value| value.trim_ascii_end());
    let value = value.filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        let has = keys.keys().map(String::as_str).collect::<Vec<_>>();
        let has = match has.as_slice() {
            [] => "it is empty".to_owned(),
            keys => format!("it has {}", keys.join(", ")),
        };
        format!("{place} has no value for the key {key}: {has}")
    })
}

const NO_SECRET: &str = "spec.clientSecret names no Secret";

fn password(keys: Option<(&str, &Keys)>) -> Result<Proof, String> {
    let keys = keys.ok_or(NO_SECRET)?;
    let password = value(keys, CLIENT_SECRET)?.to_vec();
    match String::from_utf8(password) {
        Ok(password) => Ok(Proof::Password(password)),
        Err(_) => Err(format!("{}: the key {CLIENT_SECRET} is not UTF-8", keys.0)),
    }
}

/// The certificate in a Secret, and where it is.
fn certificate(keys: Option<(&str, &Keys)>) -> Result<(String, Vec<u8>), String> {
    let keys = keys.ok_or(NO_SECRET)?;
    let key = if keys.1.contains_key(CERTIFICATE) {
        CERTIFICATE
    } else {
        CLIENT_SECRET
    };
    let value = value(keys, key)?;
    Ok((format!("{}, key {key}", keys.0), value.to_vec()))
}

/// A certificate that can be used now.
fn checked((place, pem): (String, Vec<u8>), now: Timestamp) -> Result<Vec<u8>, String> {
    let certificate = Certificate::read(&pem);
    let usable = certificate.and_then(|certificate| certificate.check(now));
    usable.map_err(|why| format!("{place}: {why}"))?;
    Ok(pem)
}

/// What the file of a managed identity's credential holds.
#[derive(Deserialize)]
struct Delivered {
    client_id: String,
    tenant_id: String,
    /// A certificate with its key, in base64.
    client_secret: String,
    #[serde(default)]
    authentication_endpoint: String,
}

/// The managed identity whose credential somebody delivers in a file.
fn delivered(
    spec: &AzureClusterIdentitySpec,
    (files, namespace): (&Files, &str),
    now: Timestamp,
) -> Result<Principal, String> {
    let path = text(spec.user_assigned_identity_credentials_path.as_ref());
    let path = path.ok_or("spec.userAssignedIdentityCredentialsPath is empty")?;
    let place = format!("spec.userAssignedIdentityCredentialsPath {path}");
    let content = files.read(path, namespace)?;
    // An error of serde may repeat a value.
    let read: Delivered = serde_json::from_slice(&content).map_err(|_| {
        format!("{place}: it is not JSON with client_id, tenant_id and client_secret")
    })?;
    let pem = BASE64_STANDARD.decode(read.client_secret.trim());
    let pem = pem.map_err(|_| format!("{place}: client_secret is not base64"))?;
    let unnamed =
        format!("{place}: tenant_id is neither the ID of a tenant nor the name of a domain");
    let pem = checked((place, pem), now)?;
    let proof = match read.authentication_endpoint.trim_end_matches('/') {
        "" => Proof::Certificate(pem),
        authority => Proof::CertificateAt {
            pem,
            authority: authority.to_owned(),
        },
    };
    let tenant = tenant::checked(&read.tenant_id);
    Ok(Principal {
        tenant: tenant.map_err(|_| unnamed)?.to_owned(),
        client: read.client_id,
        proof,
    })
}
