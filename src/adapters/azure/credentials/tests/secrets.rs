//! No secret is written to a log, at whatever level.

use super::authority::{KEY, certificate, spellings};
use super::*;
use crate::adapters::azure::log::Log;

/// Texts that must not be found.
fn hunted(pem: &str) -> Vec<String> {
    let secrets = [
        pem,
        KEY,
        "seeded-password",
        "seeded-federated",
        "issued-token",
    ];
    secrets.into_iter().flat_map(spellings).collect()
}

#[tokio::test]
async fn the_hunt_a_trace_of_everything_shows_no_secret() {
    let log = Log::begin();
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
    let text = log.end();
    assert!(
        text.contains("it was refused") && text.contains("TRACE"),
        "{text}"
    );
    for secret in hunted(&pem) {
        assert!(!text.contains(&secret), "{secret} was logged");
    }
}
