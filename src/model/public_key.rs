//! The public key of somebody who signs commits and tags.
//!
//! In: a key as people export it, `gpg --armor --export` or the file `id_ed25519.pub`. Out: its parsed form. It
//! does not know what was signed, nor whether the key has expired.

use std::fmt;
use std::io::Cursor;

use pgp::composed::{Deserializable as _, SignedPublicKey};
use pgp::types::KeyDetails as _;
use ssh_key::{Algorithm, EcdsaCurve, HashAlg};

/// A public key that signatures are verified with.
#[derive(Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// An OpenPGP key with its subkeys.
    OpenPgp(Box<SignedPublicKey>),
    /// A key of SSH.
    Ssh(Box<ssh_key::PublicKey>),
}

/// What cannot be used as a public key.
const EXPECTED: &str = "neither an ASCII-armored OpenPGP public key nor an SSH public key";
const PRIVATE: &str = "a private key, which whoever reads this document can now use";

impl PublicKey {
    /// Reads one key of SSH, or all keys of an OpenPGP block.
    ///
    /// # Errors
    /// What the text is instead, or what is wrong with it. The text itself is not part of it.
    pub fn read(written: &str) -> Result<Vec<Self>, String> {
        let written = written.trim();
        if written.contains("PRIVATE KEY") {
            return Err(PRIVATE.to_owned());
        }
        match written.starts_with("-----BEGIN PGP PUBLIC KEY BLOCK-----") {
            true => open_pgp(written),
            false => ssh(written).map(|key| vec![key]),
        }
    }

    /// What people compare keys by: as `gpg` and `ssh-keygen -l` print it.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        match self {
            Self::OpenPgp(key) => format!("{:X}", key.fingerprint()),
            Self::Ssh(key) => key.fingerprint(HashAlg::Sha256).to_string(),
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint())
    }
}

fn open_pgp(written: &str) -> Result<Vec<PublicKey>, String> {
    let unreadable = |cause| format!("not a readable OpenPGP public key: {cause}");
    let (keys, _) =
        SignedPublicKey::from_armor_many(Cursor::new(written.as_bytes())).map_err(unreadable)?;
    let keys = keys.map(|key| Ok(PublicKey::OpenPgp(Box::new(key.map_err(unreadable)?))));
    let keys = keys.collect::<Result<Vec<_>, String>>()?;
    match keys.is_empty() {
        true => Err("an OpenPGP block without a key".to_owned()),
        false => Ok(keys),
    }
}

fn ssh(written: &str) -> Result<PublicKey, String> {
    let key = written.parse::<ssh_key::PublicKey>().map_err(|cause| {
        let first = written.split(' ').next().unwrap_or_default();
        match first.contains("-cert-v01@") {
            true => "an SSH certificate; only plain SSH keys are supported".to_owned(),
            false
                if first.starts_with("ssh-")
                    || first.starts_with("ecdsa-")
                    || first.starts_with("sk-") =>
            {
                format!("not a readable SSH public key: {cause}")
            }
            false => EXPECTED.to_owned(),
        }
    })?;
    match key.algorithm() {
        Algorithm::Ed25519
        | Algorithm::SkEd25519
        | Algorithm::SkEcdsaSha2NistP256
        | Algorithm::Rsa { .. }
        | Algorithm::Ecdsa {
            curve: EcdsaCurve::NistP256,
        } => Ok(PublicKey::Ssh(Box::new(key))),
        other => Err(format!(
            "an SSH key of type {other}, which is not supported; use Ed25519, RSA or ECDSA P-256"
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti ada@example.com";

    #[test]
    fn a_key_of_ssh_is_known_by_its_fingerprint() {
        let keys = PublicKey::read(&format!("{ED25519}\n")).unwrap();
        let [key] = keys.as_slice() else {
            panic!("{keys:?}")
        };
        let expected = "SHA256:UCUiLr7Pjs9wFFJMDByLgc3NrtdU344OgUM45wZPcIQ";
        assert_eq!(key.fingerprint(), expected);
        assert_eq!(format!("{key:?}"), format!("PublicKey({expected})"));
    }

    #[test]
    fn what_is_no_public_key_is_described_and_not_repeated() {
        let open_pgp =
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\naGVsbG8=\n-----END PGP PUBLIC KEY BLOCK-----";
        for (written, expected) in [
            ("", EXPECTED),
            ("k", EXPECTED),
            ("ada@example.com ssh-ed25519 AAAA", EXPECTED),
            ("ssh-ed25519 AAAA", "not a readable SSH public key: "),
            (
                "ssh-ed25519-cert-v01@openssh.com AAAA",
                "an SSH certificate",
            ),
            (open_pgp, "OpenPGP"),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2", PRIVATE),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nhunter2", PRIVATE),
        ] {
            let fault = PublicKey::read(written).unwrap_err();
            assert!(fault.contains(expected), "{written}: {fault}");
            assert!(!fault.contains("hunter2"), "{fault}");
        }
    }
}
