//! How the fleet's repository is reached: what the settings say, as the git adapter takes it.
//!
//! In: the settings. Out: an [`Access`], whose credential is read again when a request failed. Tokens are given to
//! the server alone that they are for.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use reqwest::Url;

use super::clock::WallClock;
use super::keys::{KeyPlace, Keys};
use super::secured::Secured;
use crate::adapters::azure::{EntraTokens, Identity};
use crate::adapters::checks::forge::{Repository, Transport};
use crate::adapters::checks::github::AppKeys;
use crate::adapters::git::{Access, Authorization, Credential, CredentialSource, Proxy, Reach};
use crate::model::{AdapterError, ErrorClass, ForgeKind};
use crate::settings::SyncConfig;

/// What GitHub takes as the user beside the token of an app.
const APP_USER: &str = "x-access-token";

/// How the repository of `config` is reached. Its Secret, if it has one, is in the cluster of `client`. The
/// settings are a file or flags of whoever runs the daemon, so its own paths are allowed.
#[must_use]
pub fn source_access(config: &SyncConfig, client: &Client) -> Access {
    let source = config.credential.as_ref().map(|place| {
        let place = KeyPlace::new(place, client, &config.namespace);
        let transport = Secured::new(vec![place.clone()], config.proxy.clone());
        let source = Source::new(place, &config.url, Arc::new(transport));
        Arc::new(source) as Arc<dyn CredentialSource>
    });
    let proxy = config.proxy.as_ref().map(|proxy| Proxy {
        url: proxy.url.clone(),
        except: proxy.except.clone(),
    });
    Access {
        reach: Reach::Anywhere,
        credentials: source,
        proxy,
        ..Access::default()
    }
}

/// The credential of a repository.
struct Source {
    place: KeyPlace,
    /// The address of the repository, if tokens are sent there: not over SSH.
    url: Option<Url>,
    /// For the API of GitHub.
    transport: Arc<dyn Transport>,
}

impl CredentialSource for Source {
    fn credential(&self) -> BoxFuture<'_, Result<Credential, AdapterError>> {
        async { self.read(&self.place.keys().await?) }.boxed()
    }
}

impl Source {
    fn new(place: KeyPlace, url: &str, transport: Arc<dyn Transport>) -> Self {
        let url = Url::parse(url).ok();
        Self {
            place,
            url: url.filter(|url| matches!(url.scheme(), "https" | "http")),
            transport,
        }
    }

    /// The credential in the keys: one of their own, or one that gets tokens.
    fn read(&self, keys: &Keys) -> Result<Credential, AdapterError> {
        let place = self.place.to_string();
        // No host is right for both.
        let entra = self.entra(&place, keys)?;
        let other = self.app(&place, keys)?.or(entra);
        Credential::read_beside(&place, keys, other)
    }

    /// Tokens of Entra ID.
    fn entra(&self, place: &str, keys: &Keys) -> Result<Option<Authorization>, AdapterError> {
        let identity = Identity::read(place, keys)?;
        let Some((identity, url)) = identity.zip(self.url.as_ref()) else {
            return Ok(None);
        };
        let host = url.host_str().unwrap_or_default();
        let tokens = EntraTokens::azure_devops(place, identity, host)?;
        Ok(Some(Authorization::Bearer(Arc::new(tokens))))
    }

    /// Tokens of a GitHub App.
    fn app(&self, place: &str, keys: &Keys) -> Result<Option<Authorization>, AdapterError> {
        let app = AppKeys::read(place, keys)?;
        let Some((app, url)) = app.zip(self.url.as_ref()) else {
            return Ok(None);
        };
        let repository = Repository::of(ForgeKind::GitHub, url.as_str()).map_err(|fault| {
            let fault = format!("a GitHub App needs a repository of GitHub: {fault}");
            invalid(place, &fault)
        })?;
        let (transport, clock) = (Arc::clone(&self.transport), WallClock::start());
        let tokens = Arc::new(app.app(repository, transport, Arc::new(clock))?);
        Ok(Some(Authorization::Basic(
            Some(APP_USER.to_owned()),
            tokens,
        )))
    }
}

fn invalid(place: &str, fault: &str) -> AdapterError {
    AdapterError::new(ErrorClass::Invalid, format!("{place}: {fault}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::fs;
    use std::sync::Mutex;

    use http::{Request, Response};

    use super::*;
    use crate::adapters::checks::forge::TransportError;

    const PEM: &str = include_str!("../../adapters/checks/github/tests/app-key-pkcs1.pem");

    /// Issues a token of an installation, and notes what it was asked.
    #[derive(Default)]
    struct Issuer(Mutex<Vec<String>>);

    impl Transport for Issuer {
        fn send(
            &self,
            request: Request<Vec<u8>>,
        ) -> BoxFuture<'_, Result<Response<Vec<u8>>, TransportError>> {
            let line = format!("{} {}", request.method(), request.uri());
            self.0.lock().unwrap().push(line);
            let end = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
            let body = serde_json::json!({"id": 7, "token": "ghs_1", "expires_at": end});
            let answer = Response::new(body.to_string().into_bytes());
            std::future::ready(Ok(answer)).boxed()
        }
    }

    struct World {
        dir: tempfile::TempDir,
        issuer: Arc<Issuer>,
    }

    impl World {
        fn with(keys: &[(&str, &str)]) -> Self {
            // Fails where another test was first.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let dir = tempfile::tempdir().unwrap();
            for (key, value) in keys {
                fs::write(dir.path().join(key), value).unwrap();
            }
            let issuer = Arc::default();
            Self { dir, issuer }
        }

        fn source(&self, url: &str) -> Source {
            let place = KeyPlace::Directory(self.dir.path().to_owned());
            Source::new(place, url, Arc::clone(&self.issuer) as _)
        }

        fn read(&self, url: &str) -> Result<Credential, String> {
            let credential = self.source(url).credential().now_or_never().unwrap();
            credential.map_err(|error| error.to_string())
        }
    }

    #[test]
    fn files_are_read_again_each_time() {
        let world = World::with(&[]);
        let source = world.source("https://dev.azure.com/o/p/_git/r");
        let credential = || source.credential().now_or_never().unwrap();
        let message = credential().unwrap_err().to_string();
        assert!(message.contains("(its keys: none)"), "{message}");
        let file = |key: &str| world.dir.path().join(key);
        fs::write(file("bearerToken"), "t").unwrap();
        assert!(credential().unwrap().authorization.is_some());
        fs::write(file("azureIdentityType"), "ManagedIdentity").unwrap();
        let message = credential().unwrap_err().to_string();
        assert!(message.contains("keep one"), "{message}");
        fs::remove_file(file("bearerToken")).unwrap();
        let found = credential().unwrap().authorization;
        assert!(matches!(found, Some(Authorization::Bearer(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn the_token_of_an_app_is_a_password() {
        let keys = [("githubAppID", "1"), ("githubAppPrivateKey", PEM)];
        let world = World::with(&keys);
        let found = world.read("https://github.com/o/r").unwrap().authorization;
        let Some(Authorization::Basic(Some(user), tokens)) = found else {
            panic!("no password");
        };
        assert_eq!(user, "x-access-token");
        assert_eq!(tokens.token().await.unwrap().secret(), "ghs_1");
        let asked = [
            "GET https://api.github.com/repos/o/r/installation",
            "POST https://api.github.com/app/installations/7/access_tokens",
        ];
        assert_eq!(*world.issuer.0.lock().unwrap(), asked);
    }

    #[test]
    fn tokens_go_to_no_other_server() {
        let app = [("githubAppID", "1"), ("githubAppPrivateKey", PEM)];
        let azure = [("azureIdentityType", "ManagedIdentity")];
        let both = [app[0], app[1], azure[0]];
        for (keys, url, expected) in [
            (
                &app[..],
                "https://github.com.example.com/o/r",
                "are for github.com, not for",
            ),
            (
                &app[..],
                "https://github.com@example.com/o/r",
                "not for example.com",
            ),
            (
                &app[..],
                "https://github.com/o",
                "a GitHub App needs a repository of GitHub",
            ),
            (
                &app[..1],
                "https://github.com/o/r",
                "but not githubAppPrivateKey",
            ),
            (
                &azure[..],
                "https://git.example.com/o/r",
                "not for git.example.com",
            ),
            (
                &azure[..],
                "https://dev.azure.com@example.com/o/r",
                "not for example.com",
            ),
            (&both[..], "https://github.com/o/r", "not for github.com"),
            (
                &both[..],
                "https://dev.azure.com/o/p/_git/r",
                "a GitHub App needs a repository",
            ),
        ] {
            let world = World::with(keys);
            let message = world.read(url).unwrap_err();
            assert!(message.contains(expected), "{message}");
            assert_eq!(*world.issuer.0.lock().unwrap(), [""; 0]);
        }
    }

    /// Tokens have no use there.
    #[test]
    fn over_ssh_only_the_key_counts() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----";
        let keys = [("azureIdentityType", "ManagedIdentity"), ("identity", key)];
        let world = World::with(&keys);
        for url in ["git@git.example.com:o/r", "ssh://git@git.example.com/o/r"] {
            assert!(world.read(url).unwrap().authorization.is_none());
        }
    }
}
