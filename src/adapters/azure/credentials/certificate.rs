//! A certificate with its private key, and assertions that it signs.
//!
//! In: PEM. Out: what proves to Entra ID that the key is there: a JSON web token, signed with PS256 and naming the
//! certificate by its SHA-256. The chain goes along, so that an application may trust an issuer and a name in place of one
//! certificate. Nothing in an error is of the key.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use azure_core::http::ClientMethodOptions;
use azure_identity::ClientAssertion;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use futures::FutureExt as _;
use jiff::Timestamp;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{KeyPair as _, RSA_PSS_SHA256, RsaKeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::validity;
use crate::model::Clock;

/// How long an assertion is valid, in seconds.
const LIFE: i64 = 600;

/// A certificate with its private key.
pub(super) struct Certificate {
    /// The certificate first, then who issued it.
    chain: Vec<CertificateDer<'static>>,
    key: RsaKeyPair,
    from: Timestamp,
    until: Timestamp,
}

impl Certificate {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// When either is missing or cannot be used, or the key is of another certificate.
    pub(super) fn read(content: &[u8]) -> Result<Self, String> {
        if content.first() == Some(&0x30) {
            return Err(
                "it is not PEM but binary, perhaps PKCS#12: convert it with `openssl pkcs12 -in FILE -nodes`"
                    .to_owned(),
            );
        }
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(content).collect();
        let chain = chain.map_err(|_| "its PEM cannot be read".to_owned())?;
        let key = private_key(content)?;
        let key = match &key {
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            _ => return Err("its private key is not RSA, and Entra ID takes no other".to_owned()),
        };
        let key = key.map_err(|_| {
            "its private key is not an RSA key of 2048 to 4096 bits, and Entra ID takes no other"
                .to_owned()
        })?;
        let chain = leaf_first(chain, key.public_key().as_ref())?;
        let (from, until) = chain
            .first()
            .and_then(|leaf| validity::of(leaf))
            .ok_or("its certificate cannot be read")?;
        Ok(Self {
            chain,
            key,
            from,
            until,
        })
    }

    /// Whether it is valid at this time.
    ///
    /// # Errors
    /// When it is not, which says since when or from when.
    pub(super) fn check(&self, now: Timestamp) -> Result<(), String> {
        if now > self.until {
            return Err(format!("its certificate expired at {}", self.until));
        }
        if now < self.from {
            return Err(format!("its certificate is valid from {}", self.from));
        }
        Ok(())
    }

    /// A token that proves to `audience` that the key of `client` is there.
    fn assertion(&self, client: &str, audience: &str, now: Timestamp) -> Option<String> {
        let random = SystemRandom::new();
        let mut number = [0; 16];
        random.fill(&mut number).ok()?;
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let chain: Vec<String> = self
            .chain
            .iter()
            .map(|one| BASE64_STANDARD.encode(one))
            .collect();
        let header = json!({
            "alg": "PS256",
            "typ": "JWT",
            "x5t#S256": encode(&Sha256::digest(self.chain.first()?)),
            "x5c": chain,
        });
        let now = now.as_second();
        let claims = json!({
            "aud": audience,
            "iss": client,
            "sub": client,
            "jti": encode(&number),
            "iat": now,
            "nbf": now,
            "exp": now + LIFE,
        });
        let [header, claims] = [header, claims].map(|part| encode(part.to_string().as_bytes()));
        let text = format!("{header}.{claims}");
        let mut signature = vec![0; self.key.public().modulus_len()];
        let signed = self
            .key
            .sign(&RSA_PSS_SHA256, &random, text.as_bytes(), &mut signature);
        signed.ok()?;
        Some(format!("{text}.{}", encode(&signature)))
    }
}

fn private_key(content: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(content).map_err(|_| {
        let is_encrypted = content.windows(9).any(|window| window == b"ENCRYPTED");
        match is_encrypted {
            true => {
                "its private key is encrypted: remove the password with `openssl pkey -in FILE`"
                    .to_owned()
            }
            false => "it has no private key in PEM".to_owned(),
        }
    })
}

/// The certificates with that of the key first: it holds the public key as it is.
fn leaf_first<'a>(
    mut chain: Vec<CertificateDer<'a>>,
    public: &[u8],
) -> Result<Vec<CertificateDer<'a>>, String> {
    if chain.is_empty() {
        return Err("it has no certificate in PEM".to_owned());
    }
    let is_of_key = |one: &CertificateDer<'_>| {
        let mut windows = one.as_ref().windows(public.len());
        windows.any(|window| window == public)
    };
    let leaf = chain.iter().position(is_of_key);
    let leaf = leaf.ok_or("its private key is not that of its certificate")?;
    let first = chain.remove(leaf);
    chain.insert(0, first);
    Ok(chain)
}

/// What a certificate says of an application to a server of Entra ID.
pub(super) struct Assertion {
    pub(super) certificate: Certificate,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) client: String,
    pub(super) audience: String,
}

impl fmt::Debug for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Assertion");
        shown.field("client", &self.client).finish_non_exhaustive()
    }
}

impl ClientAssertion for Assertion {
    fn secret<'s, 'o, 'f>(
        &'s self,
        _: Option<ClientMethodOptions<'o>>,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<String>> + Send + 'f>>
    where
        's: 'f,
        'o: 'f,
        Self: 'f,
    {
        let now = self.clock.now();
        let fault = |why: String| {
            azure_core::Error::with_message(azure_core::error::ErrorKind::Credential, why)
        };
        let valid = self.certificate.check(now).map_err(fault);
        let signed = valid.and_then(|()| {
            let assertion = self
                .certificate
                .assertion(&self.client, &self.audience, now);
            assertion.ok_or_else(|| fault("the assertion cannot be signed".to_owned()))
        });
        std::future::ready(signed).boxed()
    }
}
