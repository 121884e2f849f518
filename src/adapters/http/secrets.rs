//! The secrets of webhooks, as the keys of a Kubernetes Secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::model::{AdapterError, ErrorClass};

/// Every key that begins with this is a secret; several are valid at once while one replaces another.
const TOKEN: &str = "token";
/// The key with the user for basic authentication.
const USER: &str = "username";
/// The user if that key is absent.
const DEFAULT_USER: &str = "capstan";

/// Gives out the secrets that are valid now; `None` while they cannot be read.
pub type SecretSource = Arc<dyn Fn() -> BoxFuture<'static, Option<Arc<Secrets>>> + Send + Sync>;

/// What senders authenticate with.
#[derive(Clone, PartialEq, Eq)]
pub struct Secrets {
    pub(super) user: Vec<u8>,
    /// One at least; none is empty.
    pub(super) tokens: Vec<Vec<u8>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Secrets");
        shown
            .field("count", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

impl Secrets {
    /// Reads the `keys` of `place`. A line break at the end of a value is none of it.
    ///
    /// # Errors
    /// If there is no secret, or one is empty: everybody can make a signature with an empty secret.
    pub fn read(place: &str, keys: &BTreeMap<String, Vec<u8>>) -> Result<Self, AdapterError> {
        let invalid = |message: String| AdapterError::new(ErrorClass::Invalid, message);
        let mut tokens = Vec::new();
        for (key, value) in keys.iter().filter(|(key, _)| key.starts_with(TOKEN)) {
            match line(value) {
                [] => {
                    let message = format!(
                        "{place}: key {key} is empty: store the secret of the webhook in it"
                    );
                    return Err(invalid(message));
                }
                secret => tokens.push(secret.to_vec()),
            }
        }
        if tokens.is_empty() {
            let known: Vec<&str> = keys.keys().map(String::as_str).collect();
            let known = match known.as_slice() {
                [] => "none".to_owned(),
                known => known.join(", "),
            };
            return Err(invalid(format!(
                "{place} has no key `{TOKEN}` (its keys: {known}): store the secret of the webhook in it"
            )));
        }
        let user = keys.get(USER).map(|user| line(user));
        let user = user.filter(|user| !user.is_empty());
        Ok(Self {
            user: user.unwrap_or(DEFAULT_USER.as_bytes()).to_vec(),
            tokens,
        })
    }
}

fn line(value: &[u8]) -> &[u8] {
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    value.strip_suffix(b"\r").unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &[(&str, &str)]) -> Result<Secrets, String> {
        let keys = keys.iter();
        let keys = keys.map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        Secrets::read("Secret/a/hook", &keys.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_token_is_a_secret_and_nothing_else() {
        let secrets = read(&[
            ("appID", "1"),
            ("token", "new\r\n"),
            ("token-old", " old "),
            ("username", ""),
        ]);
        let secrets = secrets.expect("they are sound");
        assert_eq!(secrets.tokens, [b"new".to_vec(), b" old ".to_vec()]);
        assert_eq!(secrets.user, b"capstan");
        let named = read(&[("token", "s3cret"), ("username", "bot\n")]).expect("sound");
        assert_eq!(named.user, b"bot");
        assert!(!format!("{named:?}").contains("s3cret"));
    }

    /// Oracle row 3, V5.
    #[test]
    fn a_missing_or_empty_secret_is_an_error_that_names_the_key() {
        let error = read(&[("token", "a"), ("token-2", "\n")]).expect_err("one is empty");
        assert!(
            error.contains("Secret/a/hook: key token-2 is empty"),
            "{error}"
        );
        let error = read(&[("password", "a")]).expect_err("none");
        assert!(error.contains("(its keys: password)"), "{error}");
        let error = read(&[]).expect_err("none");
        assert!(error.contains("(its keys: none)"), "{error}");
    }
}
