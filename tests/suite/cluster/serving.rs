//! What `capstan run` serves beside the fleet: the admission webhook that the Fleet document asks for.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::http::Request;
use capstan::adapters::kubernetes::{Access, connect};
use capstan::daemon::wall_time;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;
use kube::{Client, Config};
use kube_sim::SimClock;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value as Json, json};

use super::pipeline::{apply, runtime};
use crate::patience::until;
use crate::running::Running;
use crate::servers::{anonymous, serve};

const NAMESPACE: &str = "capstan-system";

/// `capstan run` of a fleet without objects whose document asks for the webhook.
fn run(dir: &Path, kubeconfig: &Path) -> Running {
    let (fleet, document) = (dir.join("fleet"), dir.join("fleet.yaml"));
    std::fs::create_dir(&fleet).expect("made");
    let written = json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "prod", "namespace": NAMESPACE},
        "spec": {"source": {"directory": {"path": fleet}}, "controllers": {"aro": "off"},
            "serve": {"address": "127.0.0.1:0", "admission": {"address": "127.0.0.1:0"}}},
    });
    std::fs::write(&document, written.to_string()).expect("written");
    let [document, kubeconfig] =
        [document.as_path(), kubeconfig].map(|path| path.display().to_string());
    Running::start(dir, &["--config", &document, "--kubeconfig", &kubeconfig])
}

fn address(daemon: &Running) -> SocketAddr {
    let address = || {
        let said = daemon.said();
        let (_, rest) = said.split_once("the admission webhook listens on ")?;
        rest.split_whitespace().next()?.parse().ok()
    };
    until(address, || daemon.said())
}

/// Calls the webhook by the name of its Service, with what the Secret says to trust.
fn caller(address: SocketAddr, authority: &[u8]) -> Client {
    let roots = CertificateDer::pem_slice_iter(authority);
    let roots = roots.map(|root| root.expect("PEM").to_vec()).collect();
    let mut config = Config::new(format!("https://{address}").parse().expect("an address"));
    config.root_cert = Some(roots);
    config.tls_server_name = Some(format!("capstan-admission.{NAMESPACE}.svc"));
    Client::try_from(config).expect("a client")
}

#[test]
fn the_daemon_serves_the_admission_webhook_that_its_document_asks_for() {
    let (runtime, dir) = (runtime(), tempfile::tempdir().expect("a directory"));
    let server = kube_sim::Server::new(Arc::new(SimClock::new(wall_time(), 1)));
    let kubeconfig = dir.path().join("kubeconfig");
    let cluster = runtime.block_on(serve(server));
    std::fs::write(&kubeconfig, anonymous(&cluster)).expect("written");
    let access = Access {
        kubeconfig: Some(kubeconfig.clone()),
        context: None,
    };
    let client = runtime
        .block_on(connect(&access))
        .expect("the kubeconfig is whole");
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    runtime.block_on(apply(&client, &namespace));

    let daemon = run(dir.path(), &kubeconfig);
    let address = address(&daemon);
    let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
    let authority = || {
        let found = runtime.block_on(secrets.get_opt("capstan-admission-certificates"));
        found.expect("readable")?.data?.remove("ca.crt")
    };
    let authority = until(authority, || daemon.said()).0;

    let pool = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool",
        "metadata": {"name": "p", "namespace": "n"}, "spec": {"resources": []}});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "infrastructure.cluster.x-k8s.io", "version": "v1beta2", "kind": "AROMachinePool"},
        "name": "p", "namespace": "n", "operation": "CREATE", "object": pool, "oldObject": null}});
    let ask = || {
        let request = Request::post("/validate").body(review.to_string().into_bytes());
        let request = request.expect("a request");
        let answer = async { caller(address, &authority).request::<Json>(request).await };
        runtime.block_on(answer).ok()
    };
    let answer = until(ask, || daemon.said());
    let text = answer["response"]["status"]["message"].as_str();
    let text = text.unwrap_or_default();
    assert!(text.contains("V01 spec.resources"), "{answer}");
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
}
