//! Which objects fail, and how that is written on a command line.

use std::str::FromStr;

use crate::health::Live;

/// An Azure resource, a HostedCluster or a NodePool that will fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its kind.
    pub kind: String,
    /// Its namespace; any when absent.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The reason it ends with: an error code of Azure, or a reason of ASO or HyperShift.
    pub reason: String,
}

/// A failure that is not written `Kind/name=Reason` or `Kind/namespace/name=Reason`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not written Kind/name=Reason or Kind/namespace/name=Reason")]
pub struct BadFailure(String);

impl Failure {
    /// Whether it is about this object.
    pub(super) fn hits(&self, live: Live<'_>) -> bool {
        let elsewhere = self.namespace.as_deref();
        self.kind == live.kind()
            && self.name == live.name()
            && elsewhere.is_none_or(|namespace| namespace == live.namespace())
    }
}

impl FromStr for Failure {
    type Err = BadFailure;

    fn from_str(text: &str) -> Result<Self, BadFailure> {
        let bad = || BadFailure(text.to_owned());
        let (object, reason) = text.split_once('=').ok_or_else(bad)?;
        let parts: Vec<&str> = object.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (kind, None, name),
            [kind, namespace, name] => (kind, Some((*namespace).to_owned()), name),
            _ => return Err(bad()),
        };
        if [*kind, *name].contains(&"") || !is_reason(reason) {
            return Err(bad());
        }
        Ok(Self {
            kind: (*kind).to_owned(),
            namespace,
            name: (*name).to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// Whether Kubernetes accepts the word as the reason of a condition.
fn is_reason(word: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_,:".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(inner)
        && !word.ends_with([',', ':'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn failures_are_read_with_and_without_namespace() {
        let failure: Failure = "Vault/kv=SkuNotAvailable".parse().unwrap();
        assert_eq!((failure.namespace, failure.name.as_str()), (None, "kv"));
        let failure: Failure = "Vault/clusters/kv=Conflict".parse().unwrap();
        assert_eq!(failure.namespace.as_deref(), Some("clusters"));
        for bad in [
            "Vault",
            "Vault/kv",
            "Vault=Conflict",
            "/kv=Conflict",
            "Vault/kv=",
            "Vault/kv=not-a-reason",
            "a/b/c/d=e",
        ] {
            assert_eq!(
                bad.parse::<Failure>(),
                Err(BadFailure(bad.to_owned())),
                "{bad}"
            );
        }
    }
}
