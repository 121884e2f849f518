//! Tokens of Entra ID for one identity and one service, kept until five minutes before they expire.

use std::sync::Arc;

use azure_core::credentials::{Secret, TokenCredential};
use azure_core::http::ClientOptions;
use azure_identity::{
    ClientAssertionCredentialOptions, ClientSecretCredential, ClientSecretCredentialOptions,
    ManagedIdentityCredential, ManagedIdentityCredentialOptions, UserAssignedId,
    WorkloadIdentityCredential, WorkloadIdentityCredentialOptions,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::bounded::bounded;
use super::{Identity, entra_error};
use crate::model::{AdapterError, ErrorClass, Token, TokenSource};

/// What a token for Azure DevOps is asked for: the ID of its application in Entra ID.
const AZURE_DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";

/// Tokens of Entra ID.
pub struct EntraTokens {
    identity: Identity,
    scope: &'static str,
    options: ClientOptions,
    /// Caches a token and renews it before it expires. It is replaced when a server refuses its token.
    credential: Mutex<Option<Arc<dyn TokenCredential>>>,
}

impl EntraTokens {
    /// Tokens for `identity`, which `place` names, at Azure DevOps on `host`. Nothing is requested yet.
    ///
    /// # Errors
    /// When `host` is another server: whoever gets a token can use it at Azure DevOps.
    pub fn azure_devops(place: &str, identity: Identity, host: &str) -> Result<Self, AdapterError> {
        if host != "dev.azure.com" && !host.ends_with(".visualstudio.com") {
            let message = format!(
                "{place}: tokens of Entra ID are for Azure DevOps (dev.azure.com, *.visualstudio.com), not for {host}; \
                 use a token of {host}"
            );
            return Err(AdapterError::new(ErrorClass::Invalid, message));
        }
        let options = ClientOptions::default();
        Ok(Self::through(identity, AZURE_DEVOPS, options))
    }

    fn through(identity: Identity, scope: &'static str, options: ClientOptions) -> Self {
        Self {
            identity,
            scope,
            options: bounded(options),
            credential: Mutex::default(),
        }
    }

    fn credential(&self) -> Result<Arc<dyn TokenCredential>, AdapterError> {
        let mut held = self.credential.lock();
        if let Some(credential) = &*held {
            return Ok(Arc::clone(credential));
        }
        let made = made(&self.identity, self.options.clone());
        let made = made.map_err(|error| entra_error::invalid(&error))?;
        Ok(Arc::clone(held.insert(made)))
    }

    async fn request(&self) -> Result<Token, AdapterError> {
        let token = self.credential()?.get_token(&[self.scope], None).await;
        let token = token.map_err(|error| entra_error::refused(&error))?;
        let expires = Timestamp::from_second(token.expires_on.unix_timestamp());
        Ok(Token::new(token.token.secret(), expires.ok()))
    }
}

impl TokenSource for EntraTokens {
    fn token(&self) -> BoxFuture<'_, Result<Token, AdapterError>> {
        self.request().boxed()
    }

    fn refused(&self, _: &Token) {
        *self.credential.lock() = None;
    }
}

fn made(
    identity: &Identity,
    options: ClientOptions,
) -> azure_core::Result<Arc<dyn TokenCredential>> {
    Ok(match identity.clone() {
        Identity::Workload { client, tenant } => {
            WorkloadIdentityCredential::new(Some(WorkloadIdentityCredentialOptions {
                client_id: client,
                tenant_id: tenant,
                credential_options: ClientAssertionCredentialOptions {
                    client_options: options,
                },
                ..WorkloadIdentityCredentialOptions::default()
            }))?
        }
        Identity::Managed { client } => {
            ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
                user_assigned_id: client.map(UserAssignedId::ClientId),
                client_options: options,
            }))?
        }
        Identity::ServicePrincipal {
            client,
            tenant,
            secret,
        } => {
            let options = ClientSecretCredentialOptions {
                client_options: options,
            };
            ClientSecretCredential::new(&tenant, client, Secret::new(secret), Some(options))?
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::collections::BTreeMap;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicU16, Ordering};

    use azure_core::http::headers::Headers;
    use azure_core::http::{AsyncRawResponse, HttpClient, Request, RetryOptions, Transport};
    use serde_json::json;

    use super::*;

    /// The token endpoint of Entra ID and that of a machine, behind the port of azure_core. It refuses what those
    /// refuse, and numbers its tokens.
    #[derive(Debug)]
    struct Endpoint {
        given: AtomicU16,
        /// How long a token lasts, in seconds.
        lasts: i64,
    }

    impl Endpoint {
        fn answer(&self, request: &Request) -> (u16, serde_json::Value) {
            let body: azure_core::Bytes = request.body().into();
            let form = [request.url().query().unwrap_or_default().as_bytes(), &body].concat();
            let form: BTreeMap<String, String> = String::from_utf8(form)
                .unwrap()
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.replace("%2F", "/")))
                .collect();
            let of = |key: &str| form.get(key).map(String::as_str);
            let number = self.given.fetch_add(1, Ordering::SeqCst) + 1;
            let token = json!({"token_type": "Bearer", "access_token": format!("t{number}"), "expires_in": self.lasts});
            match (request.url().host_str(), request.url().path()) {
                (Some("login.microsoftonline.com"), "/tenant/oauth2/v2.0/token") => {
                    assert_eq!(of("scope"), Some(AZURE_DEVOPS));
                    assert_eq!(of("client_id"), Some("client"));
                    match of("client_secret") {
                        Some("s3cret") => (200, token),
                        Some(other) => (401, refusal(other)),
                        None => panic!("{form:?}"),
                    }
                }
                (Some("169.254.169.254"), "/metadata/identity/oauth2/token") => {
                    assert_eq!(of("resource"), AZURE_DEVOPS.strip_suffix("/.default"));
                    assert_eq!(of("client_id"), Some("mine"));
                    let expires = (Timestamp::now().as_second() + self.lasts).to_string();
                    (
                        200,
                        json!({"token_type": "Bearer", "access_token": format!("m{number}"),
                        "expires_on": expires, "resource": "r"}),
                    )
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn refusal(secret: &str) -> serde_json::Value {
        let end = if secret == "escaped" { "\r\n" } else { " " };
        let said = format!("AADSTS7000215: Invalid client secret provided.{end}Trace ID: 1");
        json!({"error": "invalid_client", "error_codes": [7_000_215], "error_description": said})
    }

    impl HttpClient for Endpoint {
        fn execute_request<'s, 'r, 'f>(
            &'s self,
            request: &'r Request,
        ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
        where
            's: 'f,
            'r: 'f,
        {
            let (status, body) = self.answer(request);
            let body = body.to_string().into_bytes();
            let answer = AsyncRawResponse::from_bytes(status.into(), Headers::default(), body);
            std::future::ready(Ok(answer)).boxed()
        }
    }

    fn tokens(identity: Identity, lasts: i64) -> EntraTokens {
        let endpoint = Endpoint {
            given: AtomicU16::new(0),
            lasts,
        };
        let options = ClientOptions {
            transport: Some(Transport::new(Arc::new(endpoint))),
            retry: RetryOptions::none(),
            ..ClientOptions::default()
        };
        EntraTokens::through(identity, AZURE_DEVOPS, options)
    }

    fn principal(secret: &str) -> Identity {
        Identity::ServicePrincipal {
            client: "client".to_owned(),
            tenant: "tenant".to_owned(),
            secret: secret.to_owned(),
        }
    }

    #[test]
    fn tokens_are_for_azure_devops_alone() {
        let on = |host: &str| EntraTokens::azure_devops("Secret/a/b", principal("s3cret"), host);
        for host in ["dev.azure.com", "contoso.visualstudio.com"] {
            assert!(on(host).is_ok(), "{host}");
        }
        for host in [
            "git.example.com",
            "dev.azure.com.example.com",
            "xdev.azure.com",
            "visualstudio.com.example.com",
            "evilvisualstudio.com",
            "",
        ] {
            let message = on(host).err().unwrap().to_string();
            let expected = format!("not for {host}; use a token of {host}");
            assert!(message.ends_with(expected.trim_end()), "{message}");
        }
    }

    #[tokio::test]
    async fn a_token_is_kept_until_it_nearly_expires_or_is_refused() {
        let kept = tokens(principal("s3cret"), 3_600);
        let first = kept.token().await.unwrap();
        let left = first.expires.unwrap().as_second() - Timestamp::now().as_second();
        assert!((3_590..=3_600).contains(&left), "{left}");
        assert_eq!(first.secret(), "t1");
        assert_eq!(kept.token().await.unwrap().secret(), "t1");
        kept.refused(&first);
        assert_eq!(kept.token().await.unwrap().secret(), "t2");
        // Within five minutes of its end it is renewed before each use.
        let ending = tokens(principal("s3cret"), 290);
        assert_eq!(ending.token().await.unwrap().secret(), "t1");
        assert_eq!(ending.token().await.unwrap().secret(), "t2");
    }

    #[tokio::test]
    async fn a_wrong_secret_is_a_denial_that_entra_explains() {
        for secret in ["escaped", "plain"] {
            let refused = tokens(principal(secret), 3_600).token().await;
            let error = refused.unwrap_err();
            assert_eq!(error.class(), ErrorClass::Denied, "{error}");
            let expected = "AADSTS7000215: Invalid client secret provided.";
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn the_machine_gives_a_token_for_its_own_identity() {
        let client = Some("mine".to_owned());
        let tokens = tokens(Identity::Managed { client }, 3_600);
        assert_eq!(tokens.token().await.unwrap().secret(), "m1");
    }

    #[tokio::test]
    async fn a_workload_without_its_token_file_is_reported_at_once() {
        let (client, tenant) = (Some("client".to_owned()), Some("tenant".to_owned()));
        let tokens = tokens(Identity::Workload { client, tenant }, 3_600);
        let error = tokens.token().await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{error}");
        assert!(
            error.to_string().contains("no token file specified"),
            "{error}"
        );
    }
}
