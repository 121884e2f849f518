//! An AzureClusterIdentity and its Secret, as they are at this moment.
//!
//! In: what names the identity, and the namespace that uses it. Out: its spec, and the content of its Secret; or why the
//! namespace may not use it.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

use super::principal::{Keys, needs_secret};
use crate::api::azure_cluster_identity::{Allowed, AzureClusterIdentitySpec};
use crate::api::conditions::NAMESPACE_NOT_ALLOWED;
use crate::api::labels::IDENTITY_NAMESPACES;
use crate::model::{AdapterError, ErrorClass, ObjectId, ObjectReader};

/// An identity, and the content of its Secret with the Secret's name, if it has one.
pub(super) struct Found {
    pub(super) spec: AzureClusterIdentitySpec,
    pub(super) keys: Option<(String, Keys)>,
}

fn gone(message: String) -> AdapterError {
    AdapterError::new(ErrorClass::Gone, message)
}

fn denied(message: String) -> AdapterError {
    AdapterError::new(ErrorClass::Denied, message)
}

fn invalid(message: String) -> AdapterError {
    AdapterError::new(ErrorClass::Invalid, message)
}

/// Reads an identity for the namespace that uses it; for none if it is only looked at.
pub(super) async fn identity(
    objects: &dyn ObjectReader,
    id: &ObjectId,
    namespace: Option<&str>,
) -> Result<Found, AdapterError> {
    let identity = objects.read(id).await?;
    let identity = identity.ok_or_else(|| gone(format!("{id} does not exist")))?;
    if let Some(namespace) = namespace {
        allow(objects, &identity, namespace).await?;
    }
    let spec = AzureClusterIdentitySpec::from_json(&identity)
        .map_err(|why| invalid(format!("{id}: its spec cannot be read: {why}")))?;
    let keys = match spec.secret(&id.namespace).filter(|_| needs_secret(&spec)) {
        Some(secret) => Some(secret_of(objects, id, &secret).await?),
        None => None,
    };
    Ok(Found { spec, keys })
}

/// Whether the identity allows the namespace.
async fn allow(
    objects: &dyn ObjectReader,
    identity: &Value,
    namespace: &str,
) -> Result<(), AdapterError> {
    let allowed = Allowed::read(identity);
    let decided = match allowed.allows(namespace, None) {
        Some(decided) => decided,
        None => {
            let id = ObjectId::new("", "Namespace", "", namespace);
            let found = objects.read(&id).await?;
            let labels = found.map(|found| found["metadata"]["labels"].clone());
            let labels: BTreeMap<String, String> = labels
                .and_then(|labels| serde_json::from_value(labels).ok())
                .unwrap_or_default();
            allowed.allows(namespace, Some(&labels)) == Some(true)
        }
    };
    match decided {
        true => Ok(()),
        false => Err(denied(NAMESPACE_NOT_ALLOWED.to_owned())),
    }
}

/// The content of a Secret that the identity may use, and its name.
async fn secret_of(
    objects: &dyn ObjectReader,
    identity: &ObjectId,
    id: &ObjectId,
) -> Result<(String, Keys), AdapterError> {
    let secret = objects.read(id).await?;
    if secret.is_none() && id.namespace == identity.namespace {
        return Err(gone(format!("{identity}: {id} does not exist")));
    }
    // The message must not tell whether another namespace has such a Secret.
    let secret = secret.filter(|secret| is_shared(secret, &identity.namespace));
    let secret = secret.ok_or_else(|| denied(secret_not_shared(identity, id)))?;
    let data = secret["data"].as_object().into_iter().flatten();
    let decoded = data.map(|(key, value)| {
        let value = value.as_str().map(|value| BASE64_STANDARD.decode(value));
        match value {
            Some(Ok(value)) => Ok((key.clone(), value)),
            _ => Err(invalid(format!("{id}: the key {key} is not base64"))),
        }
    });
    let keys: Result<Keys, AdapterError> = decoded.collect();
    Ok((id.to_string(), keys?))
}

/// Whether identities of `namespace` may use the Secret.
fn is_shared(secret: &Value, namespace: &str) -> bool {
    let metadata = &secret["metadata"];
    let shared = metadata["annotations"][IDENTITY_NAMESPACES].as_str();
    let mut shared = shared.unwrap_or_default().split(',').map(str::trim);
    metadata["namespace"] == namespace || shared.any(|one| one == namespace || one == "*")
}

fn secret_not_shared(identity: &ObjectId, id: &ObjectId) -> String {
    let namespace = &identity.namespace;
    format!(
        "{identity}: {id}, in another namespace, does not exist or does not let identities of {namespace} use it: move it there, or annotate it with {IDENTITY_NAMESPACES}: {namespace}"
    )
}
