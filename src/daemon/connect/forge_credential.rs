//! The credential of a forge: where its keys are, and which token is in them.
//!
//! In: a place with keys. Out: a token. The keys are read each time, so they can be replaced while the daemon runs.

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::keys::{KeyPlace, Keys};
use crate::model::{AdapterError, ErrorClass, ForgeKind, Token, TokenSource};

/// The credential of the forge, or that of the source.
pub(super) struct Credential {
    provider: ForgeKind,
    place: Option<KeyPlace>,
}

impl Credential {
    pub(super) const fn new(provider: ForgeKind, place: Option<KeyPlace>) -> Self {
        Self { provider, place }
    }

    /// Where it is.
    pub(super) fn place(&self) -> Result<&KeyPlace, AdapterError> {
        self.place.as_ref().ok_or_else(|| {
            let message = "there is no credential: set spec.checks.secretRef";
            AdapterError::new(ErrorClass::Denied, message)
        })
    }

    async fn read(&self) -> Result<Token, AdapterError> {
        self.token_in(&self.place()?.keys().await?)
    }

    /// The token in its keys. Of a source it is the bearer token or the password: forges take a token for both.
    pub(super) fn token_in(&self, keys: &Keys) -> Result<Token, AdapterError> {
        let place = self.place()?;
        let secret = ["token", "bearerToken", "password"]
            .iter()
            .find_map(|key| text(keys, key));
        let Some(secret) = secret else {
            let found: Vec<&str> = keys.keys().map(String::as_str).collect();
            let message = format!(
                "{place} has no key `token` (its keys: {}); the checks need one",
                found.join(", ")
            );
            return Err(AdapterError::new(ErrorClass::Denied, message));
        };
        let user = text(keys, "username").filter(|user| user != "x-token-auth");
        Ok(match (self.provider, user) {
            (ForgeKind::Bitbucket, Some(user)) if !keys.contains_key("token") => {
                Token::new(format!("{user}:{secret}"), None)
            }
            _ => Token::new(secret, None),
        })
    }
}

fn text(keys: &Keys, key: &str) -> Option<String> {
    let value = std::str::from_utf8(keys.get(key)?).ok()?.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

impl TokenSource for Credential {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        self.read().boxed()
    }

    // It is read again each time.
    fn refused(&self, _: &Token) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn credential(provider: ForgeKind, dir: Option<&std::path::Path>) -> Credential {
        let place = dir.map(|dir| KeyPlace::Directory(dir.to_owned()));
        Credential::new(provider, place)
    }

    #[test]
    fn the_token_is_the_one_for_checks_or_that_of_a_source() {
        use ForgeKind::{Bitbucket, Gitea};
        let (own, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let read = |credential: &Credential| {
            let token = credential.token().now_or_never().unwrap();
            token.map(|token| token.secret().to_owned())
        };
        let message = read(&credential(Gitea, None)).unwrap_err();
        assert!(message.to_string().contains("spec.checks.secretRef"));
        for (key, value) in [("username", "me\n"), ("password", "p")] {
            std::fs::write(source.path().join(key), value).unwrap();
        }
        let of_source = |provider| credential(provider, Some(source.path()));
        assert_eq!(read(&of_source(Gitea)).unwrap(), "p");
        assert_eq!(read(&of_source(Bitbucket)).unwrap(), "me:p");
        let for_checks = credential(Gitea, Some(own.path()));
        let message = read(&for_checks).unwrap_err().to_string();
        assert!(message.contains("has no key `token`"), "{message}");
        std::fs::write(own.path().join("token"), "t\n").unwrap();
        assert_eq!(read(&for_checks).unwrap(), "t");
    }
}
