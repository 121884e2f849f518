//! The client of the registry, against a strict fake: every answer is passed on, and none hangs it or fills it.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use capstan::adapters::service_provider::registry::{Error, Registry, Reply, Settings};
use capstan::model::ErrorClass;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::registry_fake::{Answer, PATH, RegistryFake};

/// Less than the patience of the client.
const FAST: Duration = Duration::from_secs(2);

/// Any time: only dates in answers depend on it.
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

fn registry(settings: &Settings) -> Registry {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Registry::new(settings).expect("usable settings")
}

/// One that waits no longer than a second.
fn impatient() -> Registry {
    let patience = Some(Duration::from_secs(1));
    registry(&Settings {
        patience,
        ..Settings::default()
    })
}

fn provider() -> Value {
    json!({
        "name": "acm-cluster-sp",
        "service_type": "cluster",
        "schema_version": "v1alpha1",
        "endpoint": "https://sp.example.com/api/v1alpha1/clusters",
        "operations": ["CREATE", "DELETE", "READ"],
        "metadata": { "supportedPlatforms": ["kubevirt"] },
    })
}

async fn post(registry: &Registry, fake: &RegistryFake) -> Result<Reply, Error> {
    let body = provider().to_string();
    registry.post(&fake.url(), body.as_bytes(), now()).await
}

#[tokio::test]
async fn a_provider_is_sent_as_json_with_its_token() {
    let fake = RegistryFake::start([]);
    let token = Some("s3cret".to_owned());
    let registry = registry(&Settings {
        token,
        ..Settings::default()
    });
    let reply = post(&registry, &fake).await.unwrap();
    assert_eq!((reply.status, reply.retry_after), (201, None));
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(answer["status"], "registered");
    let requests = fake.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].line, format!("POST {PATH} HTTP/1.1"));
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    assert_eq!(requests[0].header("authorization"), Some("Bearer s3cret"));
    assert_eq!(requests[0].json(), provider());
    let agent = requests[0].header("user-agent").unwrap();
    assert!(agent.starts_with("capstan/"), "{agent}");
}

#[tokio::test]
async fn nothing_but_the_token_of_the_settings_is_sent() {
    let fake = RegistryFake::start([]);
    post(&impatient(), &fake).await.unwrap();
    assert_eq!(fake.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn every_status_is_an_answer_and_is_not_repeated() {
    let statuses = [200, 201, 400, 401, 408, 409, 422, 429, 500, 502, 503];
    let answer = |status| Answer::Json(status, None, json!({ "title": status }));
    let fake = RegistryFake::start(statuses.map(answer));
    for status in statuses {
        let reply = Reply {
            status,
            retry_after: None,
            body: format!("{{\"title\":{status}}}"),
        };
        assert_eq!(post(&impatient(), &fake).await, Ok(reply));
    }
    assert_eq!(fake.requests().len(), statuses.len());
}

#[tokio::test]
async fn the_registry_says_when_to_come_again() {
    let after = |value: String| Answer::Json(429, Some(("Retry-After", value)), json!({}));
    let in_a_minute = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(60);
    let date = in_a_minute
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string();
    let fake = RegistryFake::start(["7".to_owned(), date, "soon".to_owned()].map(after));
    let registry = impatient();
    let seconds = post(&registry, &fake).await.unwrap().retry_after;
    assert_eq!(seconds, Some(Duration::from_secs(7)));
    let until = post(&registry, &fake).await.unwrap().retry_after.unwrap();
    let minute = Duration::from_secs(55)..=Duration::from_secs(61);
    assert!(minute.contains(&until), "{until:?}");
    assert_eq!(post(&registry, &fake).await.unwrap().retry_after, None);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = RegistryFake::start([]);
    let location = Some(("Location", elsewhere.url()));
    for status in [301, 302, 303, 307, 308] {
        let fake = RegistryFake::start([Answer::Json(status, location.clone(), json!({}))]);
        let reply = post(&impatient(), &fake).await.unwrap();
        assert_eq!(reply.status, status);
    }
    assert_eq!(elsewhere.requests().len(), 0);
}

#[tokio::test]
async fn an_endless_answer_is_read_to_64_kib() {
    let fake = RegistryFake::start([Answer::Endless]);
    let asked = Instant::now();
    let reply = post(&registry(&Settings::default()), &fake).await.unwrap();
    assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
    assert_eq!((reply.status, reply.body.len()), (201, 64 << 10));
}

#[tokio::test]
async fn an_answer_that_is_not_text_is_no_longer_than_64_kib() {
    let mut bytes = b"HTTP/1.1 500 E\r\nconnection: close\r\n\r\n".to_vec();
    bytes.extend([0xff; 70_000]);
    let fake = RegistryFake::start([Answer::Bytes(bytes)]);
    let reply = post(&impatient(), &fake).await.unwrap();
    assert_eq!(reply.status, 500);
    assert!(
        (65_534..=65_536).contains(&reply.body.len()),
        "{}",
        reply.body.len()
    );
}

#[tokio::test]
async fn the_status_counts_when_the_rest_of_the_answer_does_not_come() {
    let begun = b"HTTP/1.1 201 Created\r\ncontent-length: 9\r\n\r\nab".to_vec();
    let answers = [Answer::Slow(begun.clone()), Answer::Bytes(begun)];
    let fake = RegistryFake::start(answers);
    for _ in 0..2 {
        let asked = Instant::now();
        let reply = post(&impatient(), &fake).await.unwrap();
        assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
        assert_eq!((reply.status, &*reply.body), (201, "ab"));
    }
}

#[tokio::test]
async fn a_registry_that_does_not_answer_is_given_up() {
    let slow = [&b""[..], b"HTTP/1.1 201 Created\r\nx-"];
    let fake = RegistryFake::start(slow.map(|bytes| Answer::Slow(bytes.to_vec())));
    for _ in slow {
        let asked = Instant::now();
        let error = post(&impatient(), &fake).await.unwrap_err();
        assert!(asked.elapsed() < FAST, "{:?}", asked.elapsed());
        assert!(matches!(error, Error::Late { seconds: 1, .. }), "{error:?}");
        assert_eq!(error.class(), ErrorClass::Transient);
    }
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let garbage = [
        &b"SSH-2.0-OpenSSH\r\n"[..],
        b"\0\x01\x02\x03",
        b"HTTP/1.1 abc\r\n\r\n",
        b"",
    ];
    let fake = RegistryFake::start(garbage.map(|bytes| Answer::Bytes(bytes.to_vec())));
    for bytes in garbage {
        let error = post(&impatient(), &fake).await.unwrap_err();
        assert!(
            matches!(error, Error::Broken { .. }),
            "{bytes:?}: {error:?}"
        );
        assert_eq!(error.class(), ErrorClass::Transient);
        assert!(error.to_string().contains(&fake.url()), "{error}");
    }
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_transient() {
    let address = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let url = format!("http://{address}{PATH}?id=s3cret");
    let error = impatient().post(&url, b"{}", now()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[tokio::test]
async fn the_fake_refuses_what_the_registry_would() {
    let fake = RegistryFake::start([]);
    let registry = impatient();
    let wrong = [
        ("name", json!("")),
        ("service_type", json!("vm")),
        ("schema_version", json!("1")),
        ("endpoint", json!("https://sp.example.com/")),
        ("operations", json!(["UPDATE"])),
        ("metadata", json!([])),
        ("serviceType", json!("cluster")),
    ];
    for (key, value) in wrong {
        let mut provider = provider();
        provider[key] = value;
        let body = provider.to_string();
        let reply = registry
            .post(&fake.url(), body.as_bytes(), now())
            .await
            .unwrap();
        assert_eq!(reply.status, 400);
        assert!(reply.body.contains(key), "{}", reply.body);
        assert_eq!(fake.take_faults().len(), 1);
    }
    let url = fake.url().replace("providers", "provider");
    let body = provider().to_string();
    assert_eq!(
        registry
            .post(&url, body.as_bytes(), now())
            .await
            .unwrap()
            .status,
        400
    );
    assert_eq!(fake.take_faults(), ["the path is another"]);
}

/// Answers one request over TLS with 201, or fails to be trusted.
async fn over_tls(trusts_it: bool) -> Result<Reply, Error> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let identity = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (own, other) = (identity(), identity());
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let config = tokio_rustls::rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key);
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config.unwrap()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(mut stream) = acceptor.accept(stream).await else {
            return;
        };
        let _read = stream.read(&mut [0; 4_096]).await;
        let answer = b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    let trusted = if trusts_it { own } else { other };
    std::fs::write(&path, trusted.cert.pem()).unwrap();
    let registry = registry(&Settings {
        authorities: Some(path),
        ..Settings::default()
    });
    let reply = registry
        .post(&format!("https://localhost:{port}{PATH}"), b"{}", now())
        .await;
    served.abort();
    reply
}

#[tokio::test]
async fn a_registry_is_trusted_by_its_authority_alone() {
    assert_eq!(over_tls(true).await.unwrap().status, 201);
    let error = over_tls(false).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(error.to_string().contains("certificate"), "{error}");
}
