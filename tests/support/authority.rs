//! An Entra ID of our own on loopback: it issues tokens to whom it knows, and counts who asked.
//!
//! It proves what the real one proves: a password, an assertion by the public key of the certificate and its audience and
//! life, a federated token. Beside it is the endpoint of managed identities, whose fixed address [`Authority::transport`]
//! leads here.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use azure_core::http::{
    AsyncRawResponse, ClientOptions, HttpClient, Request, RetryOptions, Transport,
};
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use futures::FutureExt as _;
use rcgen::{CertificateParams, CertifiedKey, KeyPair};
use ring::signature::{RSA_PSS_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// An RSA key that certificates of tests have.
pub(crate) const KEY: &str =
    include_str!("../../src/adapters/checks/github/tests/app-key-pkcs8.pem");

/// What proves who asks.
#[derive(Clone)]
pub(crate) enum Known {
    Password(String),
    /// A certificate in PEM.
    Certificate(String),
    /// The token of a service account.
    Federated(String),
}

/// Somebody who asked for a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) tenant: String,
    pub(crate) client: String,
    pub(crate) scope: String,
    pub(crate) granted: bool,
}

#[derive(Default)]
struct World {
    /// By tenant and client.
    known: BTreeMap<(String, String), Known>,
    /// Client IDs of managed identities of the machine.
    machine: Vec<String>,
    asked: Vec<Asked>,
    /// Who is being answered, and the most at once for one client.
    answering: BTreeMap<String, usize>,
    most_at_once: usize,
    url: String,
}

/// An Entra ID of our own.
pub(crate) struct Authority {
    world: Arc<Mutex<World>>,
    /// Its certificate in PEM, which clients must trust.
    pub(crate) certificate: String,
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Authority {
    /// Serves from now on.
    pub(crate) async fn start() -> Self {
        let (listener, certificate) = Tls::bind("localhost").await;
        let address = axum::serve::Listener::local_addr(&listener).unwrap();
        let world = Arc::new(Mutex::new(World {
            url: format!("https://localhost:{}", address.port()),
            ..World::default()
        }));
        let router = Router::new()
            .route("/{tenant}/oauth2/v2.0/token", post(token))
            .route("/metadata/identity/oauth2/token", get(machine))
            .with_state(Arc::clone(&world));
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Self {
            world,
            certificate,
            address,
            task,
        }
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// Knows a client of a tenant from now on.
    pub(crate) fn know(&self, tenant: &str, client: &str, proof: Known) {
        let key = (tenant.to_owned(), client.to_owned());
        lock(&self.world).known.insert(key, proof);
    }

    /// The machine has a managed identity from now on.
    pub(crate) fn assign(&self, client: &str) {
        lock(&self.world).machine.push(client.to_owned());
    }

    /// Who asked, oldest first.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        lock(&self.world).asked.clone()
    }

    /// The most requests of one client that were answered at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        lock(&self.world).most_at_once
    }

    /// Whose tokens are whose.
    pub(crate) fn register(&self) -> Register {
        Register(Arc::clone(&self.world))
    }

    /// Sends requests over TLS, those of the machine here as well.
    pub(crate) fn options(&self) -> ClientOptions {
        let trusted = reqwest::Certificate::from_pem(self.certificate.as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_merge([trusted]);
        let here = Here {
            client: client.build().unwrap(),
            port: self.address.port(),
        };
        ClientOptions {
            transport: Some(Transport::new(Arc::new(here))),
            retry: RetryOptions::none(),
            ..ClientOptions::default()
        }
    }
}

/// Tells whom a token was issued to.
#[derive(Clone)]
pub(crate) struct Register(Arc<Mutex<World>>);

impl Register {
    /// Who asked for this token; nobody, if it was not issued here.
    pub(crate) fn owner(&self, token: &str) -> Option<Asked> {
        let number: usize = token.strip_prefix(TOKEN)?.parse().ok()?;
        let asked = lock(&self.0).asked.get(number.checked_sub(1)?).cloned();
        asked.filter(|asked| asked.granted)
    }
}

/// How tokens begin; the number of the request follows.
pub(crate) const TOKEN: &str = "issued-token-";

/// A certificate of an application with [`KEY`], valid between these years, and both in one PEM.
pub(crate) fn certificate(from: i32, until: i32) -> (String, String) {
    let key = KeyPair::from_pem(KEY).unwrap();
    let mut params = CertificateParams::new(vec!["app.example".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let certificate = params.self_signed(&key).unwrap().pem();
    let both = format!("{certificate}{KEY}");
    (certificate, both)
}

fn lock(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The endpoint of machines has a fixed address, which nothing but this can change.
#[derive(Debug)]
struct Here {
    client: reqwest::Client,
    port: u16,
}

impl HttpClient for Here {
    fn execute_request<'s, 'r, 'f>(
        &'s self,
        request: &'r Request,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AsyncRawResponse>> + Send + 'f>>
    where
        's: 'f,
        'r: 'f,
        Self: 'f,
    {
        let mut request = request.clone();
        if request.url().host_str() == Some("169.254.169.254") {
            let url = request.url_mut();
            url.set_scheme("https").unwrap();
            url.set_host(Some("localhost")).unwrap();
            url.set_port(Some(self.port)).unwrap();
        }
        async move { self.client.execute_request(&request).await }.boxed()
    }
}

/// A port of loopback behind TLS.
pub(crate) struct Tls {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Tls {
    /// A free port, with a certificate of its own for this host; and that certificate in PEM.
    pub(crate) async fn bind(host: &str) -> (Self, String) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let CertifiedKey { cert, signing_key } =
            rcgen::generate_simple_self_signed(vec![host.to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let tls = Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        };
        (tls, cert.pem())
    }
}

impl axum::serve::Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else {
                continue;
            };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// The fields of a form.
fn fields(form: &str) -> BTreeMap<String, String> {
    let url = reqwest::Url::parse(&format!("https://x/?{form}")).unwrap();
    let pairs = url.query_pairs().into_owned();
    pairs.collect()
}

async fn token(
    State(world): State<Arc<Mutex<World>>>,
    Path(tenant): Path<String>,
    form: String,
) -> Response {
    let form = fields(&form);
    let of = |field: &str| form.get(field).cloned().unwrap_or_default();
    let client = of("client_id");
    begin(&world, &client);
    // Others may ask meanwhile.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let judged = {
        let world = lock(&world);
        judge(&world, &tenant, &client, &form)
    };
    let number = end(&world, &tenant, &client, &of("scope"), judged.is_ok());
    match judged {
        Ok(()) => {
            let token = format!("{TOKEN}{number}");
            let body = json!({"token_type": "Bearer", "access_token": token, "expires_in": 3600});
            (StatusCode::OK, body.to_string()).into_response()
        }
        Err((status, code, why)) => {
            let said = format!("{code}: {why} Trace ID: 1 Correlation ID: 2");
            let body = json!({"error": "invalid_client", "error_description": said});
            (status, body.to_string()).into_response()
        }
    }
}

fn begin(world: &Mutex<World>, client: &str) {
    let mut world = lock(world);
    let answering = world.answering.entry(client.to_owned()).or_default();
    *answering += 1;
    let answering = *answering;
    world.most_at_once = world.most_at_once.max(answering);
}

fn end(world: &Mutex<World>, tenant: &str, client: &str, scope: &str, granted: bool) -> usize {
    let mut world = lock(world);
    if let Some(answering) = world.answering.get_mut(client) {
        *answering -= 1;
    }
    world.asked.push(Asked {
        tenant: tenant.to_owned(),
        client: client.to_owned(),
        scope: scope.to_owned(),
        granted,
    });
    world.asked.len()
}

type Judged = Result<(), (StatusCode, &'static str, String)>;

fn judge(world: &World, tenant: &str, client: &str, form: &BTreeMap<String, String>) -> Judged {
    let no = |status, code, why: &str| Err((status, code, why.to_owned()));
    if !world.known.keys().any(|(known, _)| known == tenant) {
        return no(StatusCode::BAD_REQUEST, "AADSTS90002", "Tenant not found.");
    }
    let Some(known) = world.known.get(&(tenant.to_owned(), client.to_owned())) else {
        return no(
            StatusCode::BAD_REQUEST,
            "AADSTS700016",
            "Application was not found in the directory.",
        );
    };
    let given = |field: &str| form.get(field).map(String::as_str);
    let is_proved = match known {
        Known::Password(password) => given("client_secret") == Some(password),
        Known::Federated(token) => given("client_assertion") == Some(token),
        Known::Certificate(pem) => {
            let audience = format!("{}/{tenant}/oauth2/v2.0/token", world.url);
            let assertion = given("client_assertion").unwrap_or_default();
            return match verify(assertion, pem, client, &audience) {
                Ok(()) => Ok(()),
                Err(why) => no(StatusCode::UNAUTHORIZED, "AADSTS700027", why),
            };
        }
    };
    match is_proved {
        true => Ok(()),
        false => no(
            StatusCode::UNAUTHORIZED,
            "AADSTS7000215",
            "Invalid client secret provided.",
        ),
    }
}

/// Whether the key of a certificate signed an assertion for `audience`.
fn verify(assertion: &str, pem: &str, client: &str, audience: &str) -> Result<(), &'static str> {
    let parts: Vec<&str> = assertion.split('.').collect();
    let [header, claims, signature] = parts.as_slice() else {
        return Err("it has not three parts");
    };
    let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    let read = |part: &str| serde_json::from_slice::<Value>(&decode(part)).unwrap_or_default();
    let (head, said) = (read(header), read(claims));
    let der: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = BASE64_STANDARD.decode(der).unwrap();
    if head["x5t#S256"] != BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&der)) {
        return Err("the thumbprint is of another certificate");
    }
    if head["x5c"][0] != BASE64_STANDARD.encode(&der) {
        return Err("the chain begins with another certificate");
    }
    let key = KeyPair::from_pem(KEY).unwrap();
    let text = format!("{header}.{claims}");
    let key = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, key.public_key_raw().to_vec());
    if key.verify(text.as_bytes(), &decode(signature)).is_err() || head["alg"] != "PS256" {
        return Err("the signature is wrong");
    }
    let now = jiff::Timestamp::now().as_second();
    let lives = said["nbf"].as_i64() <= Some(now) && said["exp"].as_i64() > Some(now);
    if said["aud"] != audience || said["iss"] != client || said["sub"] != client || !lives {
        return Err("the claims are wrong");
    }
    Ok(())
}

async fn machine(State(world): State<Arc<Mutex<World>>>, RawQuery(query): RawQuery) -> Response {
    let query = fields(&query.unwrap_or_default());
    let client = query.get("client_id").cloned().unwrap_or_default();
    let resource = query.get("resource").cloned().unwrap_or_default();
    let granted = lock(&world).machine.contains(&client);
    begin(&world, &client);
    let number = end(&world, "", &client, &resource, granted);
    if !granted {
        return (StatusCode::BAD_REQUEST, "{}").into_response();
    }
    let expires = (jiff::Timestamp::now().as_second() + 3600).to_string();
    let token = format!("{TOKEN}{number}");
    let body = json!({"token_type": "Bearer", "access_token": token, "expires_on": expires, "resource": resource});
    (StatusCode::OK, body.to_string()).into_response()
}

/// How a secret may show: as it is, line by line, and in base64, as Secrets carry it. The whole is what is encoded there,
/// whatever stands before it, and any part of it is too much.
#[allow(dead_code, reason = "only hunts for secrets use it")]
pub(crate) fn spellings(secret: &str) -> Vec<String> {
    const PART: usize = 64;
    let lines = secret.lines().filter(|line| line.len() > 30);
    let mut all: Vec<String> = lines.map(str::to_owned).collect();
    if all.is_empty() {
        return vec![secret.to_owned(), BASE64_STANDARD.encode(secret)];
    }
    for shift in 0..3 {
        let encoded = BASE64_STANDARD.encode(&secret.as_bytes()[shift..]);
        // The first part is the heading, which others have as well.
        let parts = encoded.as_bytes().chunks_exact(PART).skip(1);
        all.extend(parts.map(|part| String::from_utf8_lossy(part).into_owned()));
    }
    all
}
