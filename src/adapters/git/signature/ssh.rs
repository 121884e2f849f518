//! Signatures of SSH, as `ssh-keygen -Y sign -n git` makes them (PROTOCOL.sshsig of OpenSSH).

use ssh_key::public::KeyData;
use ssh_key::{HashAlg, SshSig};

use super::SignatureFault;
use crate::model::PublicKey;

/// What git signs for.
pub(super) const NAMESPACE: &str = "git";
/// The flag of a security key that somebody touched it.
const TOUCHED: u8 = 1;
/// What a security key adds to a signature: its flags and a counter of four bytes.
const TRAILER: usize = 5;

pub(super) fn verify(written: &str, data: &[u8], keys: &[PublicKey]) -> Result<(), SignatureFault> {
    let unreadable = |cause: ssh_key::Error| SignatureFault::Unusable {
        cause: cause.to_string(),
    };
    let signature: SshSig = written.parse().map_err(unreadable)?;
    let by = ssh_key::PublicKey::from(signature.public_key().clone());
    let shown = by.fingerprint(HashAlg::Sha256).to_string();
    let is_listed = keys.iter().any(|key| match key {
        PublicKey::Ssh(key) => key.key_data() == by.key_data(),
        PublicKey::OpenPgp(_) => false,
    });
    if !is_listed {
        return Err(SignatureFault::Unlisted { key: shown });
    }
    if signature.namespace() != NAMESPACE {
        let found = signature.namespace().to_owned();
        return Err(SignatureFault::Namespace { found });
    }
    let valid = by.verify(NAMESPACE, data, &signature).is_ok() && is_present(&signature);
    match valid {
        true => Ok(()),
        false => Err(SignatureFault::Changed { key: shown }),
    }
}

/// Whether somebody touched the security key, if it is one. `ssh-keygen` insists on it too.
fn is_present(signature: &SshSig) -> bool {
    let bytes = signature.signature_bytes();
    match signature.public_key() {
        KeyData::SkEd25519(_) | KeyData::SkEcdsaSha2NistP256(_) => bytes
            .len()
            .checked_sub(TRAILER)
            .is_some_and(|at| bytes[at] & TOUCHED != 0),
        _ => true,
    }
}
