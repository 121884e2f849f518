//! Which identity gets tokens, and how it proves who it is.
//!
//! In: the keys of a Secret, or files of the same names. Out: an identity. The type decides: nothing is tried out.

use std::collections::BTreeMap;

use super::tenant;
use crate::model::{AdapterError, ErrorClass};

const TYPE: &str = "azureIdentityType";
const CLIENT: &str = "azureClientID";
const TENANT: &str = "azureTenantID";
const SECRET: &str = "azureClientSecret";

/// An identity that Entra ID knows.
#[derive(Clone, PartialEq, Eq)]
pub enum Identity {
    /// That of the pod's service account. What is `None` comes from the variables that the webhook of workload
    /// identity sets: `AZURE_CLIENT_ID`, `AZURE_TENANT_ID` and `AZURE_FEDERATED_TOKEN_FILE`.
    Workload {
        /// The application's ID.
        client: Option<String>,
        /// The tenant's ID.
        tenant: Option<String>,
    },
    /// That of the machine; `None` for the one that the system assigned.
    Managed {
        /// The client ID of one that a user assigned.
        client: Option<String>,
    },
    /// An application with a secret.
    ServicePrincipal {
        /// The application's ID.
        client: String,
        /// The tenant's ID.
        tenant: String,
        /// Its secret.
        secret: String,
    },
}

impl Identity {
    /// Reads the keys of `place`; `None` if they name no identity.
    ///
    /// # Errors
    /// When the type is unknown, or a key is missing or has no use beside it.
    pub fn read(
        place: &str,
        keys: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<Self>, AdapterError> {
        let read = checked(keys);
        read.map_err(|fault| AdapterError::new(ErrorClass::Invalid, format!("{place}: {fault}")))
    }
}

fn checked(keys: &BTreeMap<String, Vec<u8>>) -> Result<Option<Identity>, String> {
    let [kind, client, tenant, secret] = [
        text(keys, TYPE)?,
        text(keys, CLIENT)?,
        text(keys, TENANT)?,
        text(keys, SECRET)?,
    ];
    let Some(kind) = kind else {
        return match client.or(tenant).or(secret) {
            Some(_) => Err(format!(
                "it has keys of Azure but not {TYPE}: WorkloadIdentity, ManagedIdentity or ServicePrincipal"
            )),
            None => Ok(None),
        };
    };
    let unused = |key: &str| {
        Err(format!(
            "key {key} has no use with {TYPE} {kind}; remove it"
        ))
    };
    let needed = |key: &str, value: Option<String>| {
        value.ok_or_else(|| format!("{TYPE} {kind} needs the key {key}"))
    };
    let tenant = tenant.map(|text| match tenant::checked(&text) {
        Ok(_) => Ok(text),
        Err(why) => Err(format!("key {TENANT}: {why}")),
    });
    let tenant = tenant.transpose()?;
    let identity = match kind.as_str() {
        "WorkloadIdentity" | "ManagedIdentity" if secret.is_some() => return unused(SECRET),
        "ManagedIdentity" if tenant.is_some() => return unused(TENANT),
        "WorkloadIdentity" => Identity::Workload { client, tenant },
        "ManagedIdentity" => Identity::Managed { client },
        "ServicePrincipal" => Identity::ServicePrincipal {
            client: needed(CLIENT, client)?,
            tenant: needed(TENANT, tenant)?,
            secret: needed(SECRET, secret)?,
        },
        other => {
            return Err(format!(
                "key {TYPE}: {other:?} is not WorkloadIdentity, ManagedIdentity or ServicePrincipal"
            ));
        }
    };
    Ok(Some(identity))
}

/// A text of one line, without the line break that editors add.
fn text(keys: &BTreeMap<String, Vec<u8>>, key: &str) -> Result<Option<String>, String> {
    let value = keys.get(key).map(|value| std::str::from_utf8(value));
    let value = value
        .transpose()
        .map_err(|_| format!("key {key}: it is not UTF-8"))?;
    let value = value.map(str::trim_end).filter(|value| !value.is_empty());
    Ok(value.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn read(keys: &[(&str, &str)]) -> Result<Option<Identity>, String> {
        let keys = keys
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        Identity::read("Secret/fleets/git", &keys.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_type_chooses_the_identity() {
        let some = |text: &str| Some(text.to_owned());
        assert!(read(&[("password", "x")]).unwrap().is_none());
        let workload = Identity::Workload {
            client: None,
            tenant: some("t"),
        };
        let managed = Identity::Managed { client: some("c") };
        let principal = Identity::ServicePrincipal {
            client: "c".to_owned(),
            tenant: "t".to_owned(),
            secret: "s".to_owned(),
        };
        for (keys, expected) in [
            (&[(TYPE, "WorkloadIdentity\n"), (TENANT, "t")][..], workload),
            (&[(TYPE, "ManagedIdentity"), (CLIENT, "c")], managed),
            (
                &[
                    (TYPE, "ServicePrincipal"),
                    (CLIENT, "c"),
                    (TENANT, "t"),
                    (SECRET, "s\n"),
                ],
                principal,
            ),
        ] {
            assert!(read(keys).unwrap() == Some(expected), "{keys:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_reported_by_its_key() {
        for (keys, expected) in [
            (
                &[(CLIENT, "c")][..],
                "it has keys of Azure but not azureIdentityType",
            ),
            (&[(TYPE, "MSI")], "key azureIdentityType: \"MSI\" is not"),
            (
                &[(TYPE, "ServicePrincipal"), (CLIENT, "c")],
                "needs the key azureTenantID",
            ),
            (
                &[(TYPE, "ManagedIdentity"), (TENANT, "t")],
                "key azureTenantID has no use",
            ),
            (
                &[(TYPE, "WorkloadIdentity"), (TENANT, "..")],
                "key azureTenantID: \"..\" is neither the ID of a tenant",
            ),
            (
                &[(TYPE, "WorkloadIdentity"), (SECRET, "hunter2")],
                "key azureClientSecret has no use",
            ),
        ] {
            let Err(message) = read(keys) else {
                panic!("{keys:?}")
            };
            assert!(message.starts_with("Secret/fleets/git: "), "{message}");
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
}
