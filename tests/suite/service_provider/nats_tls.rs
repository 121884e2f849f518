//! NATS over TLS: the server is who it says, or nothing is sent to it.

use std::fs;

use capstan::adapters::service_provider::nats::{Credentials, Delivered, Error, Settings};
use rcgen::{CertifiedKey, KeyPair};

use super::nats::{connected, settings, start};
use super::nats_server::NatsServer;
use crate::patience::PATIENCE;

const TLS: &str = "tls { cert_file: \"DIR/tls.crt\", key_file: \"DIR/tls.key\" }
    authorization { token: t0ken }";

fn identity() -> CertifiedKey<KeyPair> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    rcgen::generate_simple_self_signed(names).expect("made")
}

fn secured(server: &NatsServer, authority: &std::path::Path) -> Settings {
    let url = format!("tls://127.0.0.1:{}", server.port);
    Settings {
        credentials: Credentials::Token("t0ken".to_owned()),
        authorities: Some(authority.to_owned()),
        ..settings(&url)
    }
}

/// The first error after the first attempt.
async fn refused(settings: &Settings, words: &str) {
    let messenger = start(settings).await;
    let start = std::time::Instant::now();
    loop {
        let error = messenger
            .publish("dcm.cluster", "1", b"")
            .await
            .unwrap_err();
        let is_it = matches!(&error, Error::Disconnected { cause, .. } if cause.contains(words));
        if is_it {
            return assert!(!error.to_string().contains("t0ken"), "{error}");
        }
        assert!(start.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_trusted_by_its_authority_alone() {
    let (own, other) = (identity(), identity());
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    let files = [("tls.crt", &*certificate), ("tls.key", &*key)];
    let Some(server) = NatsServer::with_files(TLS, &files, 0) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    fs::write(&path, other.cert.pem()).unwrap();
    refused(&secured(&server, &path), "certificate").await;
    fs::write(&path, certificate).unwrap();
    let messenger = start(&secured(&server, &path)).await;
    connected(&messenger).await;
    let delivered = messenger.publish("dcm.cluster", "1", b"").await;
    assert_eq!(delivered, Ok(Delivered::Sent));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_credential_goes_to_a_server_without_tls_when_an_authority_is_named() {
    let Some(server) = NatsServer::start("authorization { token: t0ken }") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.crt");
    fs::write(&path, identity().cert.pem()).unwrap();
    for scheme in ["tls", "nats"] {
        let mut settings = secured(&server, &path);
        settings.servers = vec![format!("{scheme}://127.0.0.1:{}", server.port)];
        refused(&settings, "error").await;
    }
}
