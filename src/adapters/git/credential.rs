//! What a server is authenticated to with, and what it is recognised by.
//!
//! In: the keys of a Secret, or files of the same names, as Flux reads them. Out: checked values. None of
//! them is ever part of a message; the name of a key is.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::model::{AdapterError, ErrorClass, Token, TokenSource};

/// The keys that are read.
const KEYS: [&str; 8] = [
    "username",
    "password",
    "bearerToken",
    "identity",
    "known_hosts",
    "ca.crt",
    "tls.crt",
    "tls.key",
];

/// Gives out the credential of a repository. Asked before the first request, and again after one that
/// failed: it may have been replaced.
pub trait CredentialSource: Send + Sync {
    /// The credential as it is now.
    fn credential(&self) -> BoxFuture<'_, Result<Credential, AdapterError>>;
}

/// What a server is authenticated to with, and what it is recognised by.
#[derive(Clone, Default)]
pub struct Credential {
    /// For HTTPS.
    pub authorization: Option<Authorization>,
    /// The private key for SSH.
    pub(super) identity: Option<Vec<u8>>,
    /// The keys of SSH servers.
    pub(super) known_hosts: Option<Vec<u8>>,
    /// Certificate authorities for HTTPS, in addition to those of the system.
    pub(super) authorities: Option<Vec<u8>>,
    /// A client certificate for HTTPS and its key.
    pub(super) certificate: Option<Vec<u8>>,
}

/// How a request proves who sends it.
#[derive(Clone)]
pub enum Authorization {
    /// A user and a password or token; without a user, that of the address.
    Basic(Option<String>, Arc<dyn TokenSource>),
    /// A token alone.
    Bearer(Arc<dyn TokenSource>),
}

impl Authorization {
    /// Where its secret comes from.
    pub(super) fn source(&self) -> &dyn TokenSource {
        match self {
            Self::Basic(_, source) | Self::Bearer(source) => &**source,
        }
    }

    /// The value of the header for a token; `user` is that of the address.
    pub(super) fn header(&self, token: &Token, user: Option<&str>) -> String {
        match self {
            Self::Bearer(_) => format!("Bearer {}", token.secret()),
            Self::Basic(own, _) => {
                let user = own.as_deref().or(user).unwrap_or_default();
                format!(
                    "Basic {}",
                    STANDARD.encode(format!("{user}:{}", token.secret()))
                )
            }
        }
    }
}

/// Only what there is, never what it says.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Credential");
        shown
            .field("authorization", &self.authorization.is_some())
            .field("identity", &self.identity.is_some())
            .field("known_hosts", &self.known_hosts.is_some())
            .finish_non_exhaustive()
    }
}

/// A token from a file or a Secret.
struct Fixed(Token);

impl TokenSource for Fixed {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        std::future::ready(Ok(self.0.clone())).boxed()
    }

    fn refused(&self, _: &Token) {}
}

impl Credential {
    /// Reads the keys of `place`, a Secret or a directory. Others are ignored.
    ///
    /// # Errors
    /// When a value cannot be used, or another is missing beside it.
    pub fn read(place: &str, keys: &BTreeMap<String, Vec<u8>>) -> Result<Self, AdapterError> {
        Self::read_beside(place, keys, None)
    }

    /// The same beside an authorization that comes from other keys of `place`.
    ///
    /// # Errors
    /// The same, and when `place` has a password or a token of its own.
    pub fn read_beside(
        place: &str,
        keys: &BTreeMap<String, Vec<u8>>,
        other: Option<Authorization>,
    ) -> Result<Self, AdapterError> {
        let read = Self::checked(keys, other);
        read.map_err(|fault| AdapterError::new(ErrorClass::Invalid, format!("{place}: {fault}")))
    }

    fn checked(
        keys: &BTreeMap<String, Vec<u8>>,
        other: Option<Authorization>,
    ) -> Result<Self, String> {
        let bytes = |key: &str| keys.get(key).filter(|value| !value.is_empty()).cloned();
        let certificate = match (bytes("tls.crt"), bytes("tls.key")) {
            (Some(certificate), Some(key)) => Some([certificate, b"\n".into(), key].concat()),
            (None, None) => None,
            (None, _) => return Err("it has the key tls.key but not tls.crt".to_owned()),
            (_, None) => return Err("it has the key tls.crt but not tls.key".to_owned()),
        };
        let identity = bytes("identity").map(|text| identity(&text)).transpose()?;
        let has_other = other.is_some();
        let authorization = match (authorization(keys)?, other) {
            (Some(_), Some(_)) => {
                return Err(
                    "it has a password or token and keys to get tokens with; keep one".to_owned(),
                );
            }
            (own, other) => own.or(other),
        };
        let found = Self {
            authorization,
            identity,
            known_hosts: bytes("known_hosts"),
            authorities: bytes("ca.crt"),
            certificate,
        };
        let is_empty = !has_other && KEYS.iter().all(|key| bytes(key).is_none());
        if is_empty {
            let found: Vec<&str> = keys.keys().map(String::as_str).collect();
            let found = match found.as_slice() {
                [] => "none".to_owned(),
                keys => keys.join(", "),
            };
            return Err(format!(
                "it has none of the keys {} (its keys: {found})",
                KEYS.join(", ")
            ));
        }
        Ok(found)
    }

    /// Whether another secret or user would be sent than with `other`.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let secret = |one: &Self| {
            let authorization = one.authorization.as_ref()?;
            let token = authorization.source().token().now_or_never()?.ok()?;
            Some(authorization.header(&token, None))
        };
        secret(self) == secret(other)
    }
}

fn authorization(keys: &BTreeMap<String, Vec<u8>>) -> Result<Option<Authorization>, String> {
    let bearer = text(keys, "bearerToken")?;
    let (user, password) = (text(keys, "username")?, text(keys, "password")?);
    if user.as_ref().is_some_and(|user| user.contains(':')) {
        return Err("key username: a user name has no colon".to_owned());
    }
    let fixed = |secret| Arc::new(Fixed(Token::new(secret, None)));
    match (bearer, user, password) {
        (Some(_), _, Some(_)) => {
            Err("it has the keys bearerToken and password; keep one".to_owned())
        }
        (Some(token), ..) => Ok(Some(Authorization::Bearer(fixed(token)))),
        (None, user, Some(password)) => Ok(Some(Authorization::Basic(user, fixed(password)))),
        // A token as the user, as Gitea and others take it.
        (None, Some(user), None) => {
            Ok(Some(Authorization::Basic(Some(user), fixed(String::new()))))
        }
        (None, None, None) => Ok(None),
    }
}

/// A text of one line. The line break at its end, which `echo` and editors add, is not part of it.
fn text(keys: &BTreeMap<String, Vec<u8>>, key: &str) -> Result<Option<String>, String> {
    let Some(value) = keys.get(key) else {
        return Ok(None);
    };
    let value = std::str::from_utf8(value).map_err(|_| format!("key {key}: it is not UTF-8"))?;
    let value = value.trim_end_matches(['\r', '\n']);
    if value.contains(char::is_control) {
        return Err(format!(
            "key {key}: it has more than one line, or control characters"
        ));
    }
    Ok(Some(value.to_owned()).filter(|value| !value.is_empty()))
}

/// A private key that ssh can use without asking for a passphrase. It insists on the line break at the
/// end, and on that of Unix.
fn identity(written: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(written)
        .unwrap_or_default()
        .replace('\r', "");
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    if !first.starts_with("-----BEGIN ") || !first.ends_with(" PRIVATE KEY-----") {
        return Err("key identity: it is not a private key in PEM form".to_owned());
    }
    let body: String = lines.filter(|line| !line.starts_with('-')).collect();
    if first.contains("ENCRYPTED") || body.contains("ENCRYPTED") || is_locked(&body) {
        return Err(
            "key identity: the key has a passphrase; store a key without one, such as a \
                    deploy key of this repository"
                .to_owned(),
        );
    }
    Ok(format!("{}\n", text.trim()).into_bytes())
}

/// Whether a key in OpenSSH's own form is encrypted: behind its magic is the name of the cipher.
fn is_locked(body: &str) -> bool {
    let bytes = STANDARD.decode(body).unwrap_or_default();
    let cipher = bytes.strip_prefix(b"openssh-key-v1\0");
    cipher.is_some_and(|cipher| !cipher.starts_with(b"\0\0\0\x04none"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(keys: &[(&str, &str)]) -> Result<Credential, String> {
        let keys = keys.iter();
        let keys = keys.map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        Credential::read("Secret/fleets/git", &keys.collect()).map_err(|error| error.to_string())
    }

    fn header(keys: &[(&str, &str)], user: Option<&str>) -> String {
        let authorization = read(keys).unwrap().authorization.unwrap();
        let token = authorization.source().token().now_or_never().unwrap();
        authorization.header(&token.unwrap(), user)
    }

    #[test]
    fn headers_are_those_of_the_vectors() {
        for (user, password, expected) in [
            ("", "pat123", "OnBhdDEyMw=="),
            (
                "x-access-token",
                "ghs_abc",
                "eC1hY2Nlc3MtdG9rZW46Z2hzX2FiYw==",
            ),
            ("capstan", "s3cret\n", "Y2Fwc3RhbjpzM2NyZXQ="),
            ("capstan", "pä:ss", "Y2Fwc3Rhbjpww6Q6c3M="),
        ] {
            let keys = [("username", user), ("password", password)];
            assert_eq!(header(&keys, None), format!("Basic {expected}"));
        }
        assert_eq!(header(&[("bearerToken", "t")], Some("u")), "Bearer t");
        // The user of the address, and a token as the user.
        assert_eq!(header(&[("password", "p")], Some("u")), "Basic dTpw");
        assert_eq!(header(&[("username", "t")], None), "Basic dDo=");
    }

    #[test]
    fn what_cannot_be_used_is_reported_by_its_key() {
        let plain = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----";
        assert!(read(&[("identity", plain)]).unwrap().identity.is_some());
        let locked = plain.replace("AAAABG5vbmU=", "AAAACmFlczI1Ni1jdHI=");
        for (keys, expected) in [
            (
                &[("usernme", "hunter2"), ("token", "x")][..],
                "(its keys: token, usernme)",
            ),
            (&[][..], "(its keys: none)"),
            (&[("bearerToken", "a"), ("password", "b")], "keep one"),
            (&[("username", "a:b"), ("password", "c")], "key username"),
            (
                &[("password", "hunter2\nx")],
                "key password: it has more than one line",
            ),
            (&[("tls.crt", "x")], "tls.crt but not tls.key"),
            (
                &[("identity", "hunter2")],
                "key identity: it is not a private key",
            ),
            (
                &[("identity", &locked)],
                "key identity: the key has a passphrase",
            ),
        ] {
            let message = read(keys).unwrap_err();
            assert!(message.starts_with("Secret/fleets/git: "), "{message}");
            assert!(message.contains(expected), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn an_identity_gets_the_line_breaks_that_ssh_wants() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\r\nAAAA\r\n-----END RSA PRIVATE KEY-----";
        let read = read(&[("identity", key)]).unwrap().identity.unwrap();
        assert_eq!(read, format!("{}\n", key.replace('\r', "")).as_bytes());
    }

    #[test]
    fn nothing_of_it_is_logged() {
        let shown = format!("{:?}", read(&[("password", "hunter2")]).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
