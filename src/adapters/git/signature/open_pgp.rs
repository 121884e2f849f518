//! Signatures of OpenPGP (RFC 9580), as `gpg --detach-sign` makes them.
//!
//! A key is judged as it is now: one that has expired or was revoked verifies nothing, whenever it signed, since
//! who stole it can date a signature back.

use std::io::Cursor;

use jiff::Timestamp;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType, SubpacketData};
use pgp::types::{Fingerprint, KeyDetails, KeyId, Tag};

use super::SignatureFault;
use crate::model::PublicKey;

pub(super) fn verify(
    written: &[u8],
    data: &[u8],
    keys: &[PublicKey],
    now: Timestamp,
) -> Result<(), SignatureFault> {
    let signature = read(written)?;
    let signers = signers(&signature, keys)?;
    // A key may be listed as it was and as it is. Where it is revoked, it is so everywhere.
    for (key, signer) in &signers {
        unrevoked(key, *signer)?;
    }
    let mut verdict = Ok(());
    for (key, signer) in signers {
        verdict = accept(&signature, data, key, signer, now);
        if verdict.is_ok() {
            break;
        }
    }
    verdict
}

/// Whether the signature is one of `data` by this part of the key, and both are valid.
fn accept(
    signature: &Signature,
    data: &[u8],
    key: &SignedPublicKey,
    signer: Signer<'_>,
    now: Timestamp,
) -> Result<(), SignatureFault> {
    let shown = signer.shown();
    if !signer.verifies(signature, data) {
        return Err(SignatureFault::Changed { key: shown });
    }
    judge(key, now)?;
    if let Signer::Subkey(subkey) = signer {
        judge_subkey(key, subkey, now)?;
    } else if !may_sign(newest(self_signatures(key))) {
        let cause = "it is for other purposes".to_owned();
        return Err(SignatureFault::NotForSigning { key: shown, cause });
    }
    let lasts = signature.signature_expiration_time();
    match signature.created().and_then(|from| after(from, lasts)) {
        Some(at) if at <= now => Err(SignatureFault::Outdated { at }),
        _ => Ok(()),
    }
}

/// The one signature of the text: over bytes as they are, with a strong hash.
fn read(written: &[u8]) -> Result<Signature, SignatureFault> {
    let unusable = |cause: &str| SignatureFault::Unusable {
        cause: cause.to_owned(),
    };
    let unreadable = |cause: pgp::errors::Error| unusable(&cause.to_string());
    let (mut all, _) =
        DetachedSignature::from_armor_many(Cursor::new(written)).map_err(unreadable)?;
    let first = all.next().ok_or_else(|| unusable("it is empty"))?;
    let signature = first.map_err(unreadable)?.signature;
    if all.next().is_some() {
        return Err(unusable("there is more than one"));
    }
    if signature.typ() != Some(SignatureType::Binary) {
        return Err(unusable("it is not a signature of a document"));
    }
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512,
        ) => Ok(signature),
        Some(weak) => Err(unusable(&format!("the hash {weak} is not strong enough"))),
        None => Err(unusable("its version is unknown")),
    }
}

/// The part of a key that signs.
#[derive(Clone, Copy)]
enum Signer<'k> {
    Primary(&'k pgp::packet::PublicKey),
    Subkey(&'k SignedPublicSubKey),
}

impl Signer<'_> {
    fn names(self) -> (Fingerprint, KeyId) {
        match self {
            Self::Primary(key) => (key.fingerprint(), key.legacy_key_id()),
            Self::Subkey(subkey) => (subkey.key.fingerprint(), subkey.key.legacy_key_id()),
        }
    }

    fn shown(self) -> String {
        format!("{:X}", self.names().0)
    }

    fn verifies(self, signature: &Signature, data: &[u8]) -> bool {
        let verified = match self {
            Self::Primary(key) => signature.verify(key, data),
            Self::Subkey(subkey) => signature.verify(&subkey.key, data),
        };
        verified.is_ok()
    }
}

/// The keys that the signature names, and the part of each; at least one.
fn signers<'k>(
    signature: &Signature,
    keys: &'k [PublicKey],
) -> Result<Vec<(&'k SignedPublicKey, Signer<'k>)>, SignatureFault> {
    let (fingerprints, ids) = (signature.issuer_fingerprint(), signature.issuer_key_id());
    let is_named = |signer: Signer<'_>| {
        let (fingerprint, id) = signer.names();
        match fingerprints.is_empty() {
            true => ids.contains(&&id),
            false => fingerprints.contains(&&fingerprint),
        }
    };
    let mut signers = Vec::new();
    for key in keys {
        let PublicKey::OpenPgp(key) = key else {
            continue;
        };
        let primary = Signer::Primary(&key.primary_key);
        let mut parts =
            std::iter::once(primary).chain(key.public_subkeys.iter().map(Signer::Subkey));
        let part = parts.find(|part| is_named(*part));
        signers.extend(part.map(|part| (&**key, part)));
    }
    if !signers.is_empty() {
        return Ok(signers);
    }
    let fingerprint = fingerprints.first().map(|one| format!("{one:X}"));
    let id = ids.first().map(|id| id.to_string().to_uppercase());
    match fingerprint.or(id) {
        Some(key) => Err(SignatureFault::Unlisted { key }),
        None => Err(SignatureFault::Unusable {
            cause: "it does not name its key".to_owned(),
        }),
    }
}

/// Whether neither a key nor the part of it that signed was revoked.
fn unrevoked(key: &SignedPublicKey, signer: Signer<'_>) -> Result<(), SignatureFault> {
    let primary = &key.primary_key;
    let mut revocations = key.details.revocation_signatures.iter();
    if revocations.any(|signature| signature.verify_key(primary).is_ok()) {
        let key = format!("{:X}", primary.fingerprint());
        return Err(SignatureFault::Revoked { key });
    }
    let Signer::Subkey(subkey) = signer else {
        return Ok(());
    };
    let mut revocations = bindings(primary, subkey, SignatureType::SubkeyRevocation);
    match revocations.next() {
        Some(_) => Err(SignatureFault::Revoked {
            key: signer.shown(),
        }),
        None => Ok(()),
    }
}

/// What a key says of its subkey, of one type.
fn bindings<'k>(
    primary: &'k pgp::packet::PublicKey,
    subkey: &'k SignedPublicSubKey,
    typ: SignatureType,
) -> impl Iterator<Item = &'k Signature> {
    let all = subkey.signatures.iter();
    let all = all.filter(move |signature| signature.typ() == Some(typ));
    all.filter(move |signature| {
        let verified = signature.verify_subkey_binding(primary, &subkey.key);
        verified.is_ok()
    })
}

/// Whether a key is valid as a whole.
fn judge(key: &SignedPublicKey, now: Timestamp) -> Result<(), SignatureFault> {
    let primary = &key.primary_key;
    let shown = format!("{:X}", primary.fingerprint());
    let Some(newest) = newest(self_signatures(key)) else {
        let cause = "it has no valid signature of its own".to_owned();
        return Err(SignatureFault::NotForSigning { key: shown, cause });
    };
    unexpired(shown, primary.created_at(), newest, now)
}

/// Whether a subkey belongs to its key, signs, and is valid.
fn judge_subkey(
    key: &SignedPublicKey,
    subkey: &SignedPublicSubKey,
    now: Timestamp,
) -> Result<(), SignatureFault> {
    let (primary, part) = (&key.primary_key, &subkey.key);
    let shown = format!("{:X}", part.fingerprint());
    let newest = newest(bindings(primary, subkey, SignatureType::SubkeyBinding));
    // The subkey must have agreed, or one could call another's key a part of one's own.
    let agreed = newest.and_then(|newest| {
        let back = newest.embedded_signature()?;
        let verified = back.verify_primary_key_binding(part, primary).is_ok();
        (verified && newest.key_flags().sign()).then_some(newest)
    });
    let Some(binding) = agreed else {
        let cause = "its primary key does not allow it".to_owned();
        return Err(SignatureFault::NotForSigning { key: shown, cause });
    };
    unexpired(shown, part.created_at(), binding, now)
}

/// What a key says of itself: signatures on it and on its names that are its own.
fn self_signatures(key: &SignedPublicKey) -> impl Iterator<Item = &Signature> {
    let primary = &key.primary_key;
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(move |signature| signature.verify_key(primary).is_ok());
    let names = key.details.users.iter().flat_map(move |user| {
        let all = user.signatures.iter();
        let all = all.filter(|signature| signature.typ() != Some(SignatureType::CertRevocation));
        all.filter(move |signature| {
            let verified = signature.verify_certification(primary, Tag::UserId, &user.id);
            verified.is_ok()
        })
    });
    direct.chain(names)
}

fn newest<'s>(signatures: impl Iterator<Item = &'s Signature>) -> Option<&'s Signature> {
    signatures.max_by_key(|signature| signature.created())
}

/// Whether a primary key may sign: old keys do not say what they are for.
fn may_sign(newest: Option<&Signature>) -> bool {
    let config = newest.and_then(Signature::config);
    let mut packets = config
        .into_iter()
        .flat_map(|config| config.hashed_subpackets());
    let says = packets.any(|packet| matches!(packet.data, SubpacketData::KeyFlags(_)));
    !says || newest.is_some_and(|newest| newest.key_flags().sign())
}

fn unexpired(
    key: String,
    created: pgp::types::Timestamp,
    by: &Signature,
    now: Timestamp,
) -> Result<(), SignatureFault> {
    match after(created, by.key_expiration_time()) {
        Some(at) if at <= now => Err(SignatureFault::Expired { key, at }),
        _ => Ok(()),
    }
}

/// When something ends that lasts this long; `None` if it does not. Zero seconds are no end.
fn after(from: pgp::types::Timestamp, lasts: Option<pgp::types::Duration>) -> Option<Timestamp> {
    let lasts = lasts
        .map(pgp::types::Duration::as_secs)
        .filter(|lasts| *lasts > 0)?;
    Timestamp::from_second(i64::from(from.as_secs()) + i64::from(lasts)).ok()
}
