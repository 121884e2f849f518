//! Whether a signature fits what was signed, and is by a key that is accepted.
//!
//! In: a signature as git keeps it, what it signs, the accepted keys and the time. Out: nothing, or why it is not
//! accepted. It does not know what a commit is, nor where any of it comes from.

mod fault;
mod open_pgp;
mod rsa;
mod signer;
mod ssh;

use jiff::Timestamp;

pub use fault::SignatureFault;
pub use signer::Signer;

use crate::model::PublicKey;

/// How signatures begin: the formats of git.
const PGP: [&[u8]; 2] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN PGP MESSAGE-----",
];
const SSH: &[u8] = b"-----BEGIN SSH SIGNATURE-----";
const X509: &[u8] = b"-----BEGIN SIGNED MESSAGE-----";

/// Whether `signature` is one of `data` by one of `keys`.
///
/// # Errors
/// Why it is not accepted.
pub(super) fn verify(
    signature: &[u8],
    data: &[u8],
    keys: &[PublicKey],
    now: Timestamp,
) -> Result<(), SignatureFault> {
    let unusable = |cause: &str| SignatureFault::Unusable {
        cause: cause.to_owned(),
    };
    if PGP.iter().any(|begin| signature.starts_with(begin)) {
        return open_pgp::verify(signature, data, keys, now);
    }
    if signature.starts_with(X509) {
        return Err(unusable("X.509 is not supported; use OpenPGP or SSH"));
    }
    match std::str::from_utf8(signature) {
        Ok(text) if signature.starts_with(SSH) => ssh::verify(text, data, keys),
        _ => Err(unusable("it is neither of OpenPGP nor of SSH")),
    }
}

/// Where the signature begins that ends the text of a tag: at the last line that looks like one, as for git.
pub(super) fn at_end(text: &[u8]) -> Option<usize> {
    let mut found = None;
    let mut start = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let begins = |begin: &[u8]| line.starts_with(begin);
        if PGP.iter().any(|begin| begins(begin)) || begins(SSH) || begins(X509) {
            found = Some(start);
        }
        start += line.len();
    }
    found
}
