//! Comparisons with secrets. Each takes as long for a wrong value as for a right one, and every secret is
//! tried.

use ring::hmac;

/// Why a delivery is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It proves nothing: the webhook has no secret.
    Unsigned,
    /// What it proves is wrong.
    Wrong,
}

/// Whether `tag` is the HMAC-SHA256 of `signed`.
pub(super) fn is_signed(secret: &[u8], signed: &[u8], tag: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::verify(&key, signed, tag).is_ok()
}

/// The HMAC-SHA256 of `signed`.
pub(super) fn sign(secret: &[u8], signed: &[u8]) -> hmac::Tag {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::sign(&key, signed)
}

/// Tries every secret, also after one that fits.
pub(super) fn any(secrets: &[Vec<u8>], fits: impl Fn(&[u8]) -> bool) -> Result<(), Refusal> {
    let fitting = secrets.iter().filter(|secret| fits(secret)).count();
    if fitting == 0 {
        return Err(Refusal::Wrong);
    }
    Ok(())
}

/// Compares digests: how long that takes depends on nothing that the sender can use.
pub(super) fn is_same(given: &[u8], expected: &[u8]) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, b"capstan: compare");
    hmac::verify(&key, given, hmac::sign(&key, expected).as_ref()).is_ok()
}
