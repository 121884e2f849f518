//! A private key that signs commits.
//!
//! In: the text of a private key, as `ssh-keygen` or `gpg --armor --export-secret-keys` write it, and what is to be signed.
//! Out: the signature as git keeps it. It does not know what is signed, nor who accepts it.

use std::fmt;
use std::io::Cursor;

use jiff::Timestamp;
use pgp::composed::{
    ArmorOptions, Deserializable as _, DetachedSignature, SignedSecretKey, SignedSecretSubKey,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::types::{KeyDetails as _, KeyVersion, Password, SigningKey};
use ssh_key::private::KeypairData;
use ssh_key::{Algorithm, EcdsaCurve, HashAlg, LineEnding, PrivateKey, SshSig};

use super::rsa::RsaKey;
use super::ssh::NAMESPACE;
use super::{SignatureFault, verify};
use crate::adapters::git::Error;
use crate::model::PublicKey;

/// The most bytes of the text of a key: 64 KiB.
const MOST_BYTES: usize = 64 << 10;

/// A private key that signs commits.
pub struct Signer(Key);

enum Key {
    /// Of Ed25519 or ECDSA.
    Ssh(Box<PrivateKey>),
    Rsa(Box<PrivateKey>, Box<RsaKey>),
    OpenPgp(Box<SignedSecretKey>),
}

/// Without anything secret.
impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public_key().fingerprint())
    }
}

impl Signer {
    /// Reads a private key without a passphrase: one of SSH (Ed25519, RSA of 2,048 to 4,096 bits, ECDSA P-256) in OpenSSH's
    /// format, or one of OpenPGP.
    ///
    /// # Errors
    /// When it is something else. The text is not part of the message.
    pub fn read(written: &str) -> Result<Self, Error> {
        key(written.trim()).map(Self).map_err(unusable)
    }

    /// Its public half.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        match &self.0 {
            Key::Ssh(key) | Key::Rsa(key, _) => PublicKey::Ssh(Box::new(key.public_key().clone())),
            Key::OpenPgp(key) => PublicKey::OpenPgp(Box::new(key.to_public_key())),
        }
    }

    /// Checks that commits signed `now` are accepted with `keys`.
    ///
    /// # Errors
    /// When they are not, or the key cannot sign.
    pub fn check(&self, keys: &[PublicKey], now: Timestamp) -> Result<(), Error> {
        let text = b"a commit";
        let signature = self.sign(text, now)?;
        let verified = verify(signature.as_bytes(), text, keys, now);
        verified.map_err(|fault: SignatureFault| unusable(format!("what it signs {fault}")))
    }

    /// Signs `data`, at this time if the signature has one.
    pub(in crate::adapters::git) fn sign(
        &self,
        data: &[u8],
        at: Timestamp,
    ) -> Result<String, Error> {
        let signature = match &self.0 {
            Key::Ssh(key) => by_ssh(key, data),
            Key::Rsa(key, rsa) => by_rsa(key, rsa, data),
            Key::OpenPgp(key) => by_open_pgp(key, data, at),
        };
        signature.map_err(unusable)
    }
}

fn unusable(cause: String) -> Error {
    Error::SigningKey { cause }
}

fn key(written: &str) -> Result<Key, String> {
    let begins = |what: &str| written.starts_with(&format!("-----BEGIN {what}-----"));
    if written.len() > MOST_BYTES {
        return Err(format!("it is longer than {MOST_BYTES} bytes"));
    }
    if begins("OPENSSH PRIVATE KEY") {
        return ssh(written);
    }
    if begins("PGP PRIVATE KEY BLOCK") {
        return open_pgp(written).map(|key| Key::OpenPgp(Box::new(key)));
    }
    Err(match written.contains("PRIVATE KEY") {
        true => "it is not in OpenSSH's format; convert it with `ssh-keygen -p -N '' -f FILE`",
        false => {
            "it is not a private key; give the text of a file that `ssh-keygen -t ed25519` writes"
        }
    }
    .to_owned())
}

fn ssh(written: &str) -> Result<Key, String> {
    let read = PrivateKey::from_openssh(format!("{written}\n"));
    let key = read.map_err(|cause| {
        format!("it cannot be read: {cause}; make another one with `ssh-keygen -t ed25519`")
    })?;
    if key.is_encrypted() {
        let cause = "it has a passphrase; remove that with `ssh-keygen -p -N '' -f FILE`";
        return Err(cause.to_owned());
    }
    match (key.algorithm(), key.key_data()) {
        (_, KeypairData::Rsa(pair)) => {
            let rsa = RsaKey::of(pair)?;
            Ok(Key::Rsa(Box::new(key), Box::new(rsa)))
        }
        (
            Algorithm::Ed25519
            | Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256,
            },
            _,
        ) => Ok(Key::Ssh(Box::new(key))),
        (other, _) => Err(format!(
            "it is of type {other}, which is not supported; use Ed25519, RSA or ECDSA P-256"
        )),
    }
}

fn by_ssh(key: &PrivateKey, data: &[u8]) -> Result<String, String> {
    let signature = key.sign(NAMESPACE, HashAlg::Sha512, data);
    let written = signature.and_then(|signature| signature.to_pem(LineEnding::LF));
    written.map_err(|cause| cause.to_string())
}

fn by_rsa(key: &PrivateKey, rsa: &RsaKey, data: &[u8]) -> Result<String, String> {
    let hash = HashAlg::Sha512;
    let signed = SshSig::signed_data(NAMESPACE, hash, data).and_then(|text| {
        let algorithm = Algorithm::Rsa { hash: Some(hash) };
        let bytes = rsa.sign(&text).ok_or(ssh_key::Error::Crypto)?;
        let signature = ssh_key::Signature::new(algorithm, bytes)?;
        let public = key.public_key().key_data().clone();
        SshSig::new(public, NAMESPACE, hash, signature)?.to_pem(LineEnding::LF)
    });
    signed.map_err(|cause| cause.to_string())
}

fn open_pgp(written: &str) -> Result<SignedSecretKey, String> {
    let unreadable = || "it cannot be read as a private key of OpenPGP; export it again".to_owned();
    let read = SignedSecretKey::from_armor_many(Cursor::new(written.as_bytes()));
    let (mut all, _) = read.map_err(|_| unreadable())?;
    let key = all.next().and_then(Result::ok).ok_or_else(unreadable)?;
    if all.next().is_some() {
        return Err("there is more than one; export one alone".to_owned());
    }
    if key.primary_key.version() != KeyVersion::V4 {
        return Err("its version is not 4; make one with `gpg --quick-gen-key`".to_owned());
    }
    let is_locked = match subkey(&key) {
        Some(subkey) => subkey.secret_params().is_encrypted(),
        None => key.primary_key.secret_params().is_encrypted(),
    };
    match is_locked {
        true => Err(
            "it has a passphrase, or its private half is elsewhere; remove that with \
             `gpg --change-passphrase`, and export it again"
                .to_owned(),
        ),
        false => Ok(key),
    }
}

/// The newest part of the key that is there to sign.
fn subkey(key: &SignedSecretKey) -> Option<&SignedSecretSubKey> {
    let signs = |subkey: &&SignedSecretSubKey| {
        let is_revoked = subkey
            .signatures
            .iter()
            .any(|signature| signature.typ() == Some(SignatureType::SubkeyRevocation));
        let newest = subkey.signatures.iter().max_by_key(|one| one.created());
        !is_revoked && newest.is_some_and(|newest| newest.key_flags().sign())
    };
    let subkeys = key.secret_subkeys.iter().filter(signs);
    subkeys.max_by_key(|subkey| subkey.created_at())
}

fn by_open_pgp(key: &SignedSecretKey, data: &[u8], at: Timestamp) -> Result<String, String> {
    let signature = match subkey(key) {
        Some(subkey) => detached(&subkey.key, data, at),
        None => detached(&key.primary_key, data, at),
    };
    let written =
        signature.and_then(|signature| signature.to_armored_string(ArmorOptions::default()));
    written.map_err(|cause| cause.to_string())
}

fn detached(
    key: &impl SigningKey,
    data: &[u8],
    at: Timestamp,
) -> pgp::errors::Result<DetachedSignature> {
    let seconds = u32::try_from(at.as_second()).unwrap_or_default();
    let created = SubpacketData::SignatureCreationTime(pgp::types::Timestamp::from_secs(seconds));
    let mut config = SignatureConfig::v4(
        SignatureType::Binary,
        key.algorithm(),
        HashAlgorithm::Sha512,
    );
    config.hashed_subpackets = vec![
        Subpacket::regular(SubpacketData::IssuerFingerprint(key.fingerprint()))?,
        Subpacket::regular(created)?,
    ];
    config.unhashed_subpackets = vec![Subpacket::regular(SubpacketData::IssuerKeyId(
        key.legacy_key_id(),
    ))?];
    let signature = config.sign(key, &Password::empty(), data)?;
    Ok(DetachedSignature::new(signature))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ssh_key::private::Ed25519Keypair;

    use super::*;

    fn written(seed: u8) -> String {
        let key = PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]));
        key.to_openssh(LineEnding::LF).unwrap().to_string()
    }

    #[test]
    fn what_it_signs_is_accepted_with_its_public_half_alone() {
        let (signer, other) = (written(1), written(2));
        let (signer, other) = (
            Signer::read(&signer).unwrap(),
            Signer::read(&other).unwrap(),
        );
        let now = Timestamp::UNIX_EPOCH;
        let keys = [other.public_key(), signer.public_key()];
        signer.check(&keys, now).unwrap();
        let said = signer.check(&keys[..1], now).unwrap_err().to_string();
        assert!(said.contains("which is not listed"), "{said}");
        let signature = signer.sign(b"text", now).unwrap();
        assert_eq!(verify(signature.as_bytes(), b"text", &keys, now), Ok(()));
        assert!(verify(signature.as_bytes(), b"texts", &keys, now).is_err());
        assert_eq!(
            format!("{signer:?}"),
            format!("Signer({})", keys[1].fingerprint())
        );
    }

    #[test]
    fn a_key_is_read_however_a_secret_holds_it() {
        let text = written(3);
        for text in [
            text.trim_end().to_owned(),
            format!("\n{text}\n\n"),
            text.replace('\n', "\r\n"),
        ] {
            assert!(Signer::read(&text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_sign_is_described_and_not_repeated() {
        let good = written(4);
        let cut: String = good.lines().take(3).collect::<Vec<_>>().join("\n");
        let begin = |what: &str| format!("-----BEGIN {what}-----\naGVsbG8=\n-----END {what}-----");
        let large = format!("{good}{}", "x".repeat(MOST_BYTES));
        for (text, cause) in [
            ("", "it is not a private key;"),
            ("ssh-ed25519 AAAA hunter2", "it is not a private key;"),
            (
                &begin("PRIVATE KEY"),
                "not in OpenSSH's format; convert it with `ssh-keygen -p",
            ),
            (
                &begin("RSA PRIVATE KEY"),
                "not in OpenSSH's format; convert it with `ssh-keygen -p",
            ),
            (&begin("PGP PUBLIC KEY BLOCK"), "it is not a private key;"),
            (
                &begin("PGP PRIVATE KEY BLOCK"),
                "it cannot be read as a private key of OpenPGP",
            ),
            (&begin("OPENSSH PRIVATE KEY"), "it cannot be read: "),
            (&cut, "it cannot be read: "),
            (&large, "it is longer than 65536 bytes"),
        ] {
            let said = Signer::read(text).unwrap_err().to_string();
            assert!(said.contains(cause), "{text}: {said}");
            assert!(
                !said.contains("hunter2") && !said.contains("aGVsbG8"),
                "{said}"
            );
        }
    }
}
