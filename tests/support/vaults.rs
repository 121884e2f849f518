//! Key Vault of our own on loopback: it keeps keys, and records whose token asked for what.
//!
//! It is strict as the service is: a challenge to who has no token; only tokens that the [authority](super::authority)
//! issued, for Key Vault, in the tenant of the vault; a role in the vault; a name that a deleted key keeps. Its hosts are
//! those of Azure, `<vault>.vault.azure.net`, which [`Vaults::options`] leads here. Another vault has no address.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use azure_core::http::{ClientOptions, RetryOptions, Transport};
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::authority::{Asked, Register, Tls};

const DOMAIN: &str = "vault.azure.net";

/// A request with a token, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    pub(crate) vault: String,
    /// `GET /keys/etcd`
    pub(crate) what: String,
    /// Whose token it was.
    pub(crate) client: String,
    pub(crate) status: u16,
}

#[derive(Default)]
struct Key {
    versions: Vec<String>,
    is_deleted: bool,
}

struct Vault {
    tenant: String,
    /// Who may read and create keys.
    officers: Vec<String>,
    keys: BTreeMap<String, Key>,
}

struct World {
    register: Register,
    vaults: BTreeMap<String, Vault>,
    seen: Vec<Seen>,
}

type Shared = Arc<Mutex<World>>;

/// The vaults of all tenants.
pub(crate) struct Vaults {
    world: Shared,
    certificate: String,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Vaults {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Vaults {
    /// Serves from now on, without a vault. Tokens are those that `register` knows.
    pub(crate) async fn start(register: Register) -> Self {
        let (listener, certificate) = Tls::bind(&format!("*.{DOMAIN}")).await;
        let address = axum::serve::Listener::local_addr(&listener).unwrap();
        let world = Arc::new(Mutex::new(World {
            register,
            vaults: BTreeMap::new(),
            seen: Vec::new(),
        }));
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&world));
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Self {
            world,
            certificate,
            address,
            task,
        }
    }

    /// A vault of this tenant from now on, in which these clients may read and create keys.
    pub(crate) fn open(&self, vault: &str, tenant: &str, officers: &[&str]) {
        let made = Vault {
            tenant: tenant.to_owned(),
            officers: officers.iter().map(ToString::to_string).collect(),
            keys: BTreeMap::new(),
        };
        lock(&self.world).vaults.insert(vault.to_owned(), made);
    }

    /// Another client may read and create keys from now on.
    pub(crate) fn assign(&self, vault: &str, client: &str) {
        let mut world = lock(&self.world);
        let vault = world.vaults.get_mut(vault).expect("a vault");
        vault.officers.push(client.to_owned());
    }

    /// Somebody creates a new version of a key, which may be its first.
    pub(crate) fn rotate(&self, vault: &str, key: &str) -> String {
        let mut world = lock(&self.world);
        let found = world.vaults.get_mut(vault).expect("a vault");
        let versions = &mut found.keys.entry(key.to_owned()).or_default().versions;
        versions.push(version(vault, key, versions.len()));
        versions.last().expect("it was pushed").clone()
    }

    /// Somebody deletes a key.
    pub(crate) fn delete(&self, vault: &str, key: &str) {
        let mut world = lock(&self.world);
        let keys = &mut world.vaults.get_mut(vault).expect("a vault").keys;
        keys.get_mut(key).expect("a key").is_deleted = true;
    }

    /// The versions of a key, oldest first.
    pub(crate) fn versions(&self, vault: &str, key: &str) -> Vec<String> {
        let world = lock(&self.world);
        let key = world
            .vaults
            .get(vault)
            .and_then(|vault| vault.keys.get(key));
        key.map(|key| key.versions.clone()).unwrap_or_default()
    }

    /// Who asked for what, oldest first.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        lock(&self.world).seen.clone()
    }

    /// Sends requests over TLS, whose certificate is verified as always.
    pub(crate) fn options(&self) -> ClientOptions {
        let trusted = reqwest::Certificate::from_pem(self.certificate.as_bytes()).unwrap();
        let names = Names(Arc::clone(&self.world), self.address);
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_merge([trusted])
            .dns_resolver(Arc::new(names));
        ClientOptions {
            transport: Some(Transport::new(Arc::new(client.build().unwrap()))),
            retry: RetryOptions::none(),
            ..ClientOptions::default()
        }
    }
}

/// Where the vaults are; nothing else has an address.
struct Names(Shared, SocketAddr);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let is_known =
            vault_of(name.as_str()).is_some_and(|vault| lock(&self.0).vaults.contains_key(vault));
        let address = self.1;
        let found = if is_known {
            Ok(Box::new(std::iter::once(address)) as Addrs)
        } else {
            Err("no such host is known".into())
        };
        Box::pin(std::future::ready(found))
    }
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn vault_of(host: &str) -> Option<&str> {
    host.strip_suffix(DOMAIN)?.strip_suffix('.')
}

/// 32 hex digits.
fn version(vault: &str, key: &str, number: usize) -> String {
    let digest = Sha256::digest(format!("{vault}/{key}/{number}"));
    digest.iter().take(16).map(|b| format!("{b:02x}")).collect()
}

struct Fault(u16, &'static str, String, Option<&'static str>);

type Answered = Result<Value, Fault>;

async fn answer(State(world): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 10_000).await.unwrap_or_default();
    let of = |name: &str| text(&parts.headers, name);
    let host = of("host");
    let path = parts.uri.path().trim_end_matches('/');
    let Some(token) = of("authorization")
        .strip_prefix("Bearer ")
        .map(str::to_owned)
    else {
        return challenge();
    };
    let mut world = lock(&world);
    let vault = vault_of(&host).unwrap_or_default().to_owned();
    let owner = world.register.owner(&token);
    let has_version = parts
        .uri
        .query()
        .unwrap_or_default()
        .contains("api-version=");
    let answered = match (has_version, &owner) {
        (false, _) => Err(Fault(
            400,
            "BadParameter",
            "api-version must be specified".to_owned(),
            None,
        )),
        (_, None) => Err(unauthorized("AKV10022: Invalid signature.")),
        (_, Some(owner)) => judge(&mut world, &vault, owner, &parts.method, path, &body),
    };
    let (status, body) = match answered {
        Ok(body) => (200, body),
        Err(Fault(status, code, message, inner)) => {
            let inner = inner.map(|inner| json!({"code": inner}));
            let body = json!({"error": {"code": code, "message": message, "innererror": inner}});
            (status, body)
        }
    };
    world.seen.push(Seen {
        vault,
        what: format!("{} {path}", parts.method),
        client: owner.map(|owner| owner.client).unwrap_or_default(),
        status,
    });
    let status = StatusCode::from_u16(status).unwrap();
    (
        status,
        [("content-type", "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn text(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

fn challenge() -> Response {
    let challenge = format!(
        "Bearer authorization=\"https://login.microsoftonline.com/t\", resource=\"https://{DOMAIN}\""
    );
    let headers = [("www-authenticate", challenge)];
    (StatusCode::UNAUTHORIZED, headers, "{}").into_response()
}

fn unauthorized(message: &str) -> Fault {
    Fault(401, "Unauthorized", message.to_owned(), None)
}

/// What the vault does for whoever has proved to be `owner`.
fn judge(
    world: &mut World,
    name: &str,
    owner: &Asked,
    method: &Method,
    path: &str,
    body: &Bytes,
) -> Answered {
    let Some(vault) = world.vaults.get_mut(name) else {
        return Err(Fault(
            404,
            "VaultNotFound",
            "no such vault".to_owned(),
            None,
        ));
    };
    if !owner.scope.starts_with(&format!("https://{DOMAIN}")) {
        return Err(unauthorized("AKV10022: Invalid audience."));
    }
    if owner.tenant != vault.tenant {
        return Err(unauthorized("AKV10032: Invalid issuer."));
    }
    if !vault.officers.contains(&owner.client) {
        let Asked { client, tenant, .. } = owner;
        let message = format!(
            "Caller is not authorized to perform action on resource.\r\nCaller: appid={client};oid={client};iss=https://sts.windows.net/{tenant}/\r\nVault: {name};location=uksouth\r\n"
        );
        return Err(Fault(403, "Forbidden", message, Some("ForbiddenByRbac")));
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match (method, parts.as_slice()) {
        (&Method::GET, ["keys", key]) => {
            let found = vault.keys.get(*key).filter(|key| !key.is_deleted);
            let newest = found.and_then(|key| key.versions.last());
            newest
                .map(|version| shown(name, key, version))
                .ok_or_else(|| {
                    let message =
                        format!("A key with (name/id) {key} was not found in this key vault.");
                    Fault(404, "KeyNotFound", message, None)
                })
        }
        (&Method::POST, ["keys", key, "create"]) => create(vault, (name, key), body),
        _ => Err(Fault(400, "BadParameter", format!("{method} {path}"), None)),
    }
}

fn create(vault: &mut Vault, (name, key): (&str, &str), body: &Bytes) -> Answered {
    let wanted: Value = serde_json::from_slice(body).unwrap_or_default();
    let size = wanted["key_size"].as_u64();
    if wanted["kty"] != "RSA" || !matches!(size, Some(2048 | 3072 | 4096)) {
        return Err(Fault(400, "BadParameter", format!("{wanted}"), None));
    }
    let found = vault.keys.entry(key.to_owned()).or_default();
    if found.is_deleted {
        let message = format!(
            "Key {key} is currently in a deleted but recoverable state, and its name cannot be reused."
        );
        return Err(Fault(
            409,
            "Conflict",
            message,
            Some("ObjectIsDeletedButRecoverable"),
        ));
    }
    let made = version(name, key, found.versions.len());
    found.versions.push(made.clone());
    Ok(shown(name, key, &made))
}

fn shown(vault: &str, key: &str, version: &str) -> Value {
    // As long as that of an RSA key with 2048 bits.
    let modulus = BASE64_URL_SAFE_NO_PAD.encode([0xa5; 256]);
    json!({
        "key": {"kid": format!("https://{vault}.{DOMAIN}/keys/{key}/{version}"), "kty": "RSA",
            "key_ops": ["encrypt", "decrypt", "sign", "verify", "wrapKey", "unwrapKey"], "n": modulus, "e": "AQAB"},
        "attributes": {"enabled": true, "created": 1_700_000_000, "updated": 1_700_000_000,
            "recoveryLevel": "Recoverable+Purgeable", "recoverableDays": 90, "exportable": false},
    })
}
