//! Why a signature is not accepted, in words that follow "commit 1a2b by Ada".

use std::fmt;

use jiff::Timestamp;

/// Why a commit or a tag is not accepted. Keys are named by their fingerprints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureFault {
    /// It has no signature.
    Unsigned,
    /// A tag without an object of its own, which could be signed.
    Lightweight,
    /// A tag whose object says that it is another.
    Renamed {
        /// What it is called in its object.
        own: String,
    },
    /// No tag that is followed leads to the commit.
    Untagged,
    /// The key is not one of those that are accepted.
    Unlisted {
        /// Its fingerprint, or its ID.
        key: String,
    },
    /// What was signed was changed afterwards.
    Changed {
        /// The key.
        key: String,
    },
    /// The key has expired.
    Expired {
        /// The key.
        key: String,
        /// When.
        at: Timestamp,
    },
    /// The signature has expired.
    Outdated {
        /// When.
        at: Timestamp,
    },
    /// The key was revoked.
    Revoked {
        /// The key.
        key: String,
    },
    /// The signature is for something else than git.
    Namespace {
        /// What it is for.
        found: String,
    },
    /// The key may not sign.
    NotForSigning {
        /// The key.
        key: String,
        /// Why not.
        cause: String,
    },
    /// The signature cannot be read, or is not strong enough.
    Unusable {
        /// Why.
        cause: String,
    },
}

impl SignatureFault {
    /// What to do about it.
    fn help(&self) -> &'static str {
        match self {
            Self::Unsigned | Self::Namespace { .. } | Self::Unusable { .. } => {
                "sign it by git with a key of spec.source.git.verify.keys (`git commit -S`, \
                 `git tag -s`), and push it again"
            }
            Self::Lightweight => "replace it with a signed one (`git tag -s -f`), and push that",
            Self::Renamed { .. } => {
                "sign a tag of this name (`git tag -s`) instead of copying another, and push it"
            }
            Self::Untagged => "push a signed tag that leads to it",
            Self::Unlisted { .. } => {
                "sign it with a key of spec.source.git.verify.keys, or add the public key there \
                 if you trust it"
            }
            Self::Changed { .. } => "find out who changed it, then sign and push it again",
            Self::Expired { .. } => {
                "extend the key and update it in spec.source.git.verify.keys, or sign with another"
            }
            Self::Outdated { .. } | Self::Revoked { .. } => {
                "sign it again with a valid key of spec.source.git.verify.keys, and push it"
            }
            Self::NotForSigning { .. } => {
                "sign with another key, or export this one again (`gpg --armor --export`)"
            }
        }
    }
}

impl fmt::Display for SignatureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("is not signed")?,
            Self::Lightweight => f.write_str("is not an annotated tag, so it cannot be signed")?,
            Self::Renamed { own } => write!(f, "is a copy of the tag {own:?}")?,
            Self::Untagged => f.write_str("has no tag that is followed")?,
            Self::Unlisted { key } => {
                write!(f, "is signed with the key {key}, which is not listed")?;
            }
            Self::Changed { key } => {
                write!(f, "has an invalid signature by the key {key}")?;
            }
            Self::Expired { key, at } => {
                write!(f, "is signed with the key {key}, which expired at {at}")?;
            }
            Self::Outdated { at } => write!(f, "has a signature that expired at {at}")?,
            Self::Revoked { key } => write!(f, "is signed with the revoked key {key}")?,
            Self::Namespace { found } => {
                write!(f, "has an SSH signature for {found:?}, not for \"git\"")?;
            }
            Self::NotForSigning { key, cause } => {
                write!(
                    f,
                    "is signed with the key {key}, which may not sign: {cause}"
                )?;
            }
            Self::Unusable { cause } => write!(f, "has a signature that cannot be used: {cause}")?,
        }
        write!(f, "; {}", self.help())
    }
}
