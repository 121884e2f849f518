//! What is asked of a vault, and what its answers mean. The vault here stands behind the port of azure_core, and answers as
//! Key Vault does: with a challenge to who has no token, and with the texts that Key Vault has for each refusal.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::ErrorKind;
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, HttpClient, Method, Request, Transport};
use azure_core::time::{Duration as Span, OffsetDateTime};
use futures::FutureExt as _;
use jiff::Timestamp;
use kube_sim::SimClock;
use serde_json::{Value, json};

use super::super::log::Log;
use super::*;
use crate::model::ObjectId;

const TOKEN: &str = "a-token-that-nobody-may-see";
const HOST: &str = "kv1.vault.azure.net";

/// What the vault does about a request.
#[derive(Clone, Debug)]
enum Mood {
    Serves,
    Refuses(u16, Value, Option<&'static str>),
    IsUnknown,
    IsSilent,
    Closes,
    HasNoToken,
}

#[derive(Debug)]
struct Vault {
    mood: Mutex<Mood>,
    /// The versions of the key, with the attributes of each.
    versions: Mutex<Vec<Value>>,
    requests: Mutex<Vec<String>>,
}

impl Vault {
    fn key(&self) -> Option<Value> {
        let versions = self.versions.lock().unwrap();
        let attributes = versions.last()?.clone();
        let kind = attributes.get("kty").cloned().unwrap_or(json!("RSA"));
        let kid = format!("https://{HOST}/keys/etcd/v{}", versions.len());
        Some(
            json!({"key": {"kid": kid, "kty": kind, "n": "AQAB", "e": "AQAB"}, "attributes": attributes}),
        )
    }

    fn answer(&self, request: &Request) -> (u16, Headers, Value) {
        let mut headers = Headers::default();
        let mut all = request.headers().iter();
        let token = all.find(|(name, _)| name.as_str() == "authorization");
        let Some((_, token)) = token else {
            let challenge = "Bearer authorization=\"https://login.microsoftonline.com/t\", resource=\"https://vault.azure.net\"";
            headers.insert("www-authenticate", challenge);
            return (401, headers, json!({}));
        };
        assert_eq!(token.as_str(), format!("Bearer {TOKEN}"));
        assert_eq!(request.url().host_str(), Some(HOST));
        let path = request.url().path().trim_end_matches('/');
        let asked = format!("{} {path}", request.method());
        self.requests.lock().unwrap().push(asked);
        if let Mood::Refuses(status, body, wait) = self.mood.lock().unwrap().clone() {
            if let Some(wait) = wait {
                headers.insert("retry-after", wait);
            }
            return (status, headers, body);
        }
        if request.method() == Method::Post {
            let body: azure_core::Bytes = request.body().into();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body, json!({"kty": "RSA", "key_size": 2048}));
            self.versions.lock().unwrap().push(json!({"enabled": true}));
        }
        match self.key() {
            Some(key) => (200, headers, key),
            None => (404, headers, error("KeyNotFound", "not found", None)),
        }
    }
}

impl HttpClient for Vault {
    fn execute_request<'s, 'r, 'f>(
        &'s self,
        request: &'r Request,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
    where
        's: 'f,
        'r: 'f,
    {
        match *self.mood.lock().unwrap() {
            Mood::IsSilent => return std::future::pending().boxed(),
            Mood::Closes => {
                let cause = std::io::Error::other("tcp connect error: Connection refused");
                let error = azure_core::Error::new(ErrorKind::Io, cause);
                return std::future::ready(Err(error)).boxed();
            }
            Mood::IsUnknown => {
                let cause = std::io::Error::other("dns error: no address");
                let error = azure_core::Error::new(ErrorKind::Io, cause);
                return std::future::ready(Err(error)).boxed();
            }
            _ => {}
        }
        let (status, headers, body) = self.answer(request);
        let answer =
            AsyncRawResponse::from_bytes(status.into(), headers, body.to_string().into_bytes());
        std::future::ready(Ok(answer)).boxed()
    }
}

#[derive(Debug)]
struct Given(bool);

impl TokenCredential for Given {
    fn get_token<'s, 'a, 'b, 'c, 'f>(
        &'s self,
        scopes: &'a [&'b str],
        _: Option<TokenRequestOptions<'c>>,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AccessToken>> + Send + 'f>>
    where
        's: 'f,
        'a: 'f,
        'b: 'f,
        'c: 'f,
    {
        assert_eq!(scopes, ["https://vault.azure.net/.default"]);
        let token = match self.0 {
            true => Ok(AccessToken::new(
                TOKEN,
                OffsetDateTime::now_utc() + Span::hours(1),
            )),
            false => {
                let text = "AADSTS7000215: Invalid client secret provided. Trace ID: 1";
                Err(azure_core::Error::with_message(ErrorKind::Credential, text))
            }
        };
        std::future::ready(token).boxed()
    }
}

struct Source(bool);

impl CredentialSource for Source {
    fn credential(
        &self,
        identity: &ObjectId,
        namespace: &str,
        environment: &str,
    ) -> BoxFuture<'static, Result<Arc<dyn TokenCredential>, AdapterError>> {
        assert_eq!(
            (identity.name.as_str(), namespace, environment),
            ("me", "ns", "")
        );
        let given: Arc<dyn TokenCredential> = Arc::new(Given(self.0));
        std::future::ready(Ok(given)).boxed()
    }
}

fn request() -> KeyRequest {
    KeyRequest {
        vault: "kv1".to_owned(),
        key: "etcd".to_owned(),
        identity: ObjectId::new("", "AzureClusterIdentity", "team", "me"),
        namespace: "ns".to_owned(),
        environment: String::new(),
    }
}

fn world(mood: Mood) -> (AzureKeys, Arc<Vault>) {
    let has_token = !matches!(mood, Mood::HasNoToken);
    let vault = Arc::new(Vault {
        mood: Mutex::new(mood),
        versions: Mutex::default(),
        requests: Mutex::default(),
    });
    let options = ClientOptions {
        transport: Some(Transport::new(Arc::clone(&vault) as _)),
        ..ClientOptions::default()
    };
    let clock = Arc::new(SimClock::new(Timestamp::from_second(1_000).unwrap(), 1));
    (
        AzureKeys::through(Arc::new(Source(has_token)), clock, options),
        vault,
    )
}

fn error(code: &str, message: &str, inner: Option<&str>) -> Value {
    let inner = inner.map(|inner| json!({"code": inner}));
    json!({"error": {"code": code, "message": message, "innererror": inner}})
}

#[tokio::test]
async fn a_key_that_is_absent_is_created_once_and_a_new_version_is_the_newest() {
    let (keys, vault) = world(Mood::Serves);
    assert_eq!(keys.ensure(&request()).await, Ok("v1".to_owned()));
    let asked = ["GET /keys/etcd", "GET /keys/etcd", "POST /keys/etcd/create"];
    assert_eq!(*vault.requests.lock().unwrap(), asked);
    assert_eq!(keys.ensure(&request()).await, Ok("v1".to_owned()));
    vault
        .versions
        .lock()
        .unwrap()
        .push(json!({"enabled": true}));
    assert_eq!(keys.ensure(&request()).await, Ok("v2".to_owned()));
    assert_eq!(vault.requests.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn two_clusters_that_share_a_key_create_it_once() {
    let (keys, vault) = world(Mood::Serves);
    let mut other = request();
    other.key = "etcd".to_owned();
    let (one, two) = tokio::join!(keys.ensure(&request()), keys.ensure(&other));
    assert_eq!((one, two), (Ok("v1".to_owned()), Ok("v1".to_owned())));
    assert_eq!(vault.versions.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_version_that_cannot_encrypt_is_refused() {
    for (attributes, what) in [
        (json!({"enabled": false}), "is disabled"),
        (json!({"enabled": true, "exp": 999}), "has expired"),
        (
            json!({"enabled": true, "kty": "EC"}),
            "is not of the type RSA",
        ),
    ] {
        let (keys, vault) = world(Mood::Serves);
        vault.versions.lock().unwrap().push(attributes);
        let error = keys.ensure(&request()).await.unwrap_err();
        assert_eq!(error.fault, KeyFault::Unusable);
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// A refusal: its status and body, what it is taken for, how it is retried, and part of what is said of it.
type Refusal = (u16, Value, KeyFault, ErrorClass, &'static str);

/// Texts of Key Vault, with the numbers that change from request to request.
fn refusals() -> Vec<Refusal> {
    use ErrorClass::{Denied, Invalid, Transient};
    let caller = "Caller: appid=11;oid=22-33;iss=https://sts.windows.net/44/\r\n";
    let rbac = format!(
        "Caller is not authorized to perform action on resource.\r\nIf role assignments, deny assignments or role definitions were changed recently, please observe propagation time.\r\n{caller}Action: 'Microsoft.KeyVault/vaults/keys/read'\r\nResource: '/subscriptions/s/resourcegroups/g/providers/microsoft.keyvault/vaults/kv1/keys/etcd'\r\nAssignment: (not found)\r\nDenyAssignmentId: null\r\nDecisionReason: null \r\nVault: kv1;location=uksouth\r\n"
    );
    let policy = "The user, group or application 'appid=11;oid=22-33;iss=https://sts.windows.net/44/' does not have keys get permission on key vault 'kv1;location=uksouth'. For help resolving this issue, please see https://go.microsoft.com/fwlink/?linkid=2125287";
    let firewall = format!(
        "Client address is not authorized and caller is not a trusted service.\r\nClient address: 203.0.113.7\r\n{caller}Vault: kv1;location=uksouth"
    );
    let private = format!(
        "Public network access is disabled and request is not from a trusted service nor via an approved private link.\r\n{caller}Vault: kv1;location=uksouth"
    );
    let deleted = "Key etcd is currently in a deleted but recoverable state, and its name cannot be reused; in this state, the key can only be recovered or purged.";
    vec![
        (
            403,
            error("Forbidden", &rbac, Some("ForbiddenByRbac")),
            KeyFault::AccessDenied,
            Denied,
            "AzureClusterIdentity team/me (principal 22-33) may not read the key 'etcd': assign it the role Key Vault Crypto Officer on the vault 'kv1'",
        ),
        (
            403,
            error("Forbidden", policy, Some("ForbiddenByPolicy")),
            KeyFault::AccessDenied,
            Denied,
            "uses access policies",
        ),
        (
            403,
            error("Forbidden", &firewall, Some("ForbiddenByFirewall")),
            KeyFault::NetworkDenied,
            Denied,
            "takes no connection from the network of this process (203.0.113.7): ",
        ),
        (
            403,
            error("Forbidden", &private, Some("ForbiddenByConnection")),
            KeyFault::NetworkDenied,
            Denied,
            "takes no connection from the network of this process: run it where it reaches the private endpoint",
        ),
        (
            409,
            error("Conflict", deleted, Some("ObjectIsDeletedButRecoverable")),
            KeyFault::Deleted,
            Denied,
            "az keyvault key recover --vault-name kv1 --name etcd",
        ),
        (
            404,
            error("VaultNotFound", "no", None),
            KeyFault::VaultNotFound,
            Transient,
            "there is no vault 'kv1'",
        ),
        (
            401,
            error("Unauthorized", "AKV10032: Invalid issuer.", None),
            KeyFault::AccessDenied,
            Denied,
            "spec.tenantID of the identity",
        ),
        (
            500,
            error("InternalError", "id 77", None),
            KeyFault::Other,
            Transient,
            "500 (InternalError)",
        ),
        (
            400,
            error("BadParameter", "id 77", None),
            KeyFault::Other,
            Invalid,
            "400 (BadParameter)",
        ),
    ]
}

#[tokio::test]
async fn each_refusal_says_what_to_do_and_for_whom() {
    for (status, body, fault, class, text) in refusals() {
        let (keys, _) = world(Mood::Refuses(status, body, None));
        let error = keys.ensure(&request()).await.unwrap_err();
        assert_eq!(
            (error.fault, error.error.class()),
            (fault, class),
            "{status} {error}"
        );
        assert!(error.to_string().contains(text), "{error}");
        assert!(!error.to_string().contains("77"), "{error}");
    }
}

#[tokio::test]
async fn a_throttled_request_is_made_once_and_says_when_to_ask_again() {
    let body = error("Throttled", "too many", None);
    let (keys, vault) = world(Mood::Refuses(429, body, Some("17")));
    let error = keys.ensure(&request()).await.unwrap_err();
    assert_eq!(error.error.class(), ErrorClass::Transient);
    assert_eq!(error.retry_after, Some(Duration::from_secs(17)));
    assert_eq!(vault.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_vault_whose_name_is_unknown_may_come_yet() {
    let (keys, _) = world(Mood::IsUnknown);
    let error = keys.ensure(&request()).await.unwrap_err();
    assert_eq!(
        (error.fault, error.error.class()),
        (KeyFault::VaultNotFound, ErrorClass::Transient)
    );
    assert!(error.to_string().contains(HOST), "{error}");
    assert!(
        error
            .to_string()
            .contains("privatelink.vaultcore.azure.net")
    );
}

#[tokio::test]
async fn issue_15_a_vault_without_a_route_is_unreachable() {
    let (keys, _) = world(Mood::Closes);
    let error = keys.ensure(&request()).await.unwrap_err();
    assert_eq!(
        (error.fault, error.error.class()),
        (KeyFault::Unreachable, ErrorClass::Transient)
    );
    for part in [HOST, "Connection refused", "private endpoint", "firewalls"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn an_identity_without_a_token_is_reported_as_entra_id_does() {
    let (keys, _) = world(Mood::HasNoToken);
    let error = keys.ensure(&request()).await.unwrap_err();
    assert_eq!(
        (error.fault, error.error.class()),
        (KeyFault::Other, ErrorClass::Denied)
    );
    assert!(error.to_string().contains("AADSTS7000215"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_never_answers_is_given_up_after_30_seconds() {
    let (keys, _) = world(Mood::IsSilent);
    let start = tokio::time::Instant::now();
    let error = keys.ensure(&request()).await.unwrap_err();
    assert_eq!(start.elapsed(), PATIENCE);
    assert_eq!(
        (error.fault, error.error.class()),
        (KeyFault::Unreachable, ErrorClass::Transient)
    );
}

#[tokio::test]
async fn no_token_is_logged_at_any_level() {
    let log = Log::begin();
    let (keys, vault) = world(Mood::Serves);
    keys.ensure(&request()).await.unwrap();
    let refused = Mood::Refuses(403, error("Forbidden", "no", Some("ForbiddenByRbac")), None);
    *vault.mood.lock().unwrap() = refused;
    keys.ensure(&request()).await.unwrap_err();
    tracing::trace!("the end");
    let text = log.end();
    assert!(text.contains("the end"), "{text}");
    assert!(!text.contains(TOKEN), "{text}");
}
