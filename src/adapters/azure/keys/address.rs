//! Where a vault is.
//!
//! In: the names of a vault, a key and a cloud, as somebody wrote them. Out: the vault's address. A name that could lead
//! elsewhere is refused: whoever is asked gets a token.

use crate::model::{AdapterError, ErrorClass, KeyRequest};

/// The address of a vault.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Its name in DNS.
    pub(super) host: String,
    /// Its URL.
    pub(super) url: String,
}

impl Address {
    /// The address of the vault of this request.
    pub(super) fn of(request: &KeyRequest) -> Result<Self, AdapterError> {
        let KeyRequest {
            vault,
            key,
            environment,
            ..
        } = request;
        let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let refused = |message: String| Err(AdapterError::new(ErrorClass::Invalid, message));
        let starts = vault
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic());
        let is_vault = (3..=24).contains(&vault.len()) && starts && !vault.ends_with('-');
        if !is_vault || !is_plain(vault) || vault.contains("--") {
            return refused(format!(
                "{vault:?} is not the name of a vault: it has 3 to 24 letters, digits and single hyphens, begins with a letter and does not end with a hyphen"
            ));
        }
        if !(1..=127).contains(&key.len()) || !is_plain(key) {
            return refused(format!(
                "{key:?} is not the name of a key: it has 1 to 127 letters, digits and hyphens"
            ));
        }
        let suffix = match environment.as_str() {
            "" | "AzurePublicCloud" => "vault.azure.net",
            "AzureChinaCloud" => "vault.azure.cn",
            "AzureUSGovernmentCloud" => "vault.usgovcloudapi.net",
            other => {
                return refused(format!(
                    "azureEnvironment {other:?} is not AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud"
                ));
            }
        };
        let host = format!("{}.{suffix}", vault.to_ascii_lowercase());
        let url = format!("https://{host}");
        Ok(Self { host, url })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ObjectId;

    fn of(vault: &str, key: &str, environment: &str) -> Result<String, String> {
        let address = Address::of(&KeyRequest {
            vault: vault.to_owned(),
            key: key.to_owned(),
            identity: ObjectId::new("", "AzureClusterIdentity", "ns", "i"),
            namespace: "ns".to_owned(),
            environment: environment.to_owned(),
        });
        let url = address.map(|address| address.url);
        url.map_err(|error| error.to_string())
    }

    #[test]
    fn each_cloud_has_its_own_vaults() {
        for (environment, host) in [
            ("", "kv1.vault.azure.net"),
            ("AzurePublicCloud", "kv1.vault.azure.net"),
            ("AzureChinaCloud", "kv1.vault.azure.cn"),
            ("AzureUSGovernmentCloud", "kv1.vault.usgovcloudapi.net"),
        ] {
            assert_eq!(
                of("KV1", "etcd", environment).unwrap(),
                format!("https://{host}")
            );
        }
        let message = of("kv1", "etcd", "AzureGermanCloud").unwrap_err();
        assert!(message.contains("\"AzureGermanCloud\" is not"), "{message}");
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_refused() {
        for vault in [
            "",
            "kv",
            "evil.com/",
            "kv1@evil",
            "a#b",
            "1kv",
            "kv1-",
            "k--v",
            "kv1:8443",
        ] {
            let message = of(vault, "etcd", "").unwrap_err();
            assert!(message.contains("is not the name of a vault"), "{message}");
        }
        for key in ["", "../secrets/x", "etcd?x", "a/b", "a b"] {
            let message = of("kv1", key, "").unwrap_err();
            assert!(message.contains("is not the name of a key"), "{message}");
        }
    }
}
