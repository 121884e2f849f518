//! What is played, alone and together.

#![allow(clippy::unwrap_used)]

mod aro;
mod manifests;
mod whole;

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

#[test]
fn every_known_kind_is_watched_once() {
    let mut plurals: Vec<String> = newest().into_iter().map(|kind| kind.plural).collect();
    assert_eq!(plurals.len(), KINDS.len() + 2);
    plurals.sort();
    plurals.dedup();
    assert_eq!(plurals.len(), KINDS.len() + 2);
}
