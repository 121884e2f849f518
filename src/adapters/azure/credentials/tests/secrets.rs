//! No secret is written to a log, at whatever level.

use std::io::Write;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::authority::{KEY, certificate};
use super::*;

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Texts that must not be found.
fn hunted(pem: &str) -> Vec<String> {
    let lines = pem.lines().chain(KEY.lines());
    let lines = lines.filter(|line| line.len() > 30).map(str::to_owned);
    let texts = ["seeded-password", "seeded-federated", "issued-token"];
    lines.chain(texts.map(str::to_owned)).collect()
}

#[tokio::test]
async fn the_hunt_a_trace_of_everything_shows_no_secret() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(move || writer.clone())
        .finish();
    let guard = subscriber.set_default();
    let stage = Stage::new().await;
    let (public, pem) = certificate(2020, 2090);
    let id = stage.principal("sp", "seeded-password");
    stage
        .authority
        .know("tenant", "app", Known::Certificate(public));
    stage.secret("team-a", "app", &[("certificate", &pem)]);
    let spec = json!({"type": "ServicePrincipalCertificate", "clientSecret": {"name": "app"}});
    let app = stage.identity("app", spec);
    let known = Known::Federated("seeded-federated".to_owned());
    stage.authority.know("tenant", "workload", known);
    stage.file("token", "seeded-federated");
    let workload = stage.identity("workload", json!({"type": "WorkloadIdentity"}));
    let credentials = stage.credentials();
    for id in [&id, &app, &workload] {
        credentials.check(&request(id)).await.unwrap();
        aso(&credentials, &secret_request(id, "x")).await.unwrap();
        let credential = credentials.credential(id, "x", "").await.unwrap();
        tracing::info!(?credential, "it has a form for logs");
    }
    stage
        .authority
        .know("tenant", "sp", Known::Password("another".to_owned()));
    let error = stage.credentials().check(&request(&id)).await.unwrap_err();
    tracing::info!(?error, "it was refused");
    drop(guard);
    let text = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(
        text.contains("it was refused") && text.contains("TRACE"),
        "{text}"
    );
    for secret in hunted(&pem) {
        assert!(!text.contains(&secret), "{secret} was logged");
    }
}
