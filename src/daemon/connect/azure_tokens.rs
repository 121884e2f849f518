//! The token for Azure DevOps: a personal one, or one of Entra ID.
//!
//! In: a credential. Out: what its keys say at the time, as the password of an empty user or as a bearer token. They
//! are read each time, so that a Secret may come late and be replaced.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::forge_credential::Credential;
use crate::adapters::azure::{EntraTokens, Identity};
use crate::model::{AdapterError, Token, TokenSource};

/// The tokens of a credential for Azure DevOps.
pub(super) struct AzureTokens {
    credential: Arc<Credential>,
    host: String,
    /// The identity of the last time, and its tokens.
    entra: Mutex<Option<(Identity, Arc<EntraTokens>)>>,
}

impl AzureTokens {
    /// Tokens for Azure DevOps on `host`.
    pub(super) fn new(credential: Arc<Credential>, host: String) -> Self {
        Self {
            credential,
            host,
            entra: Mutex::default(),
        }
    }

    /// `:token` for a personal one (forges.md §2d). One of Entra ID has no colon.
    async fn read(&self) -> Result<Token, AdapterError> {
        let place = self.credential.place()?;
        let (named, keys) = (place.to_string(), place.keys().await?);
        match Identity::read(&named, &keys)? {
            Some(identity) => self.entra(&named, identity)?.token().await,
            None => {
                let token = self.credential.token_in(&keys)?;
                Ok(Token::new(format!(":{}", token.secret()), None))
            }
        }
    }

    /// The tokens of an identity; those of the last time if it is the same, since they keep one.
    fn entra(&self, place: &str, identity: Identity) -> Result<Arc<EntraTokens>, AdapterError> {
        let mut held = self.entra.lock();
        match &*held {
            Some((of, tokens)) if *of == identity => Ok(Arc::clone(tokens)),
            _ => {
                let tokens = EntraTokens::azure_devops(place, identity.clone(), &self.host)?;
                let (_, tokens) = held.insert((identity, Arc::new(tokens)));
                Ok(Arc::clone(tokens))
            }
        }
    }
}

impl TokenSource for AzureTokens {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        self.read().boxed()
    }

    fn refused(&self, token: &Token) {
        if let Some((_, tokens)) = &*self.entra.lock() {
            tokens.refused(token);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use crate::daemon::connect::keys::KeyPlace;
    use crate::model::{ErrorClass, ForgeKind};

    fn tokens(dir: &std::path::Path, host: &str) -> AzureTokens {
        let place = KeyPlace::Directory(dir.to_owned());
        let credential = Credential::new(ForgeKind::AzureDevOps, Some(place));
        AzureTokens::new(Arc::new(credential), host.to_owned())
    }

    fn read(tokens: &AzureTokens) -> Result<String, AdapterError> {
        let token = tokens.token().now_or_never().unwrap();
        token.map(|token| token.secret().to_owned())
    }

    #[test]
    fn a_personal_token_may_come_late_and_be_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("secret");
        let tokens = tokens(&place, "dev.azure.com");
        let error = read(&tokens).unwrap_err();
        assert!(error.to_string().contains("secret"), "{error}");
        fs::create_dir(&place).unwrap();
        let error = read(&tokens).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Denied);
        assert!(error.to_string().contains("no key `token`"), "{error}");
        for token in ["pat1", "pat2"] {
            fs::write(place.join("token"), format!("{token}\n")).unwrap();
            assert_eq!(read(&tokens).unwrap(), format!(":{token}"));
        }
    }

    #[test]
    fn the_tokens_of_an_identity_are_kept_until_its_keys_change() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let tokens = tokens(dir.path(), "dev.azure.com");
        let identity = |client: &str| Identity::Managed {
            client: Some(client.to_owned()),
        };
        let of = |client| tokens.entra("Secret/a/b", identity(client)).unwrap();
        let first = of("one");
        assert!(Arc::ptr_eq(&first, &of("one")));
        assert!(!Arc::ptr_eq(&first, &of("two")));
    }

    #[test]
    fn an_identity_is_for_azure_devops_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("azureIdentityType"), "ManagedIdentity").unwrap();
        let error = read(&tokens(dir.path(), "git.corp")).unwrap_err();
        assert!(error.to_string().contains("not for git.corp"), "{error}");
    }
}
