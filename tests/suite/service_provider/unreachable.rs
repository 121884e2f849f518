//! A provider whose hub does not answer.

use serde_json::json;

use super::api::{Answer, Api, kube_virt, write_secrets};
use crate::patience::until;
use crate::running::Running;
use crate::servers::anonymous;

#[test]
fn a_provider_that_does_not_reach_its_hub_says_so_and_asks_to_come_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    std::fs::create_dir(at("secrets")).expect("made");
    write_secrets(&at("secrets"));
    // Nobody listens there.
    std::fs::write(at("kubeconfig"), anonymous("127.0.0.1:1")).expect("written");
    let fleet = json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "unreachable"},
        "spec": {
            "serviceProvider": {"writeMode": "direct", "namespace": "clusters"},
            "serve": {"serviceProvider": {"address": "127.0.0.1:0"}},
        },
    });
    std::fs::write(at("fleet.yaml"), fleet.to_string()).expect("written");
    let [fleet, kubeconfig, secrets] =
        ["fleet.yaml", "kubeconfig", "secrets"].map(|name| at(name).display().to_string());
    let arguments = [
        "--config",
        &fleet,
        "--kubeconfig",
        &kubeconfig,
        "--service-provider-secrets",
        &secrets,
    ];
    let daemon = Running::start(dir.path(), &arguments);
    let api = Api::of(&daemon);
    let is_told = |health: &Answer| {
        let reasons = health.body["reasons"].to_string();
        health.body["status"] == "unhealthy"
            && reasons.contains("the API of the hub is not available")
    };
    let told = || Some(api.get("/health")).filter(is_told);
    assert_eq!(until(told, || daemon.said()).status, 200);
    let refused = api.post("/clusters", &kube_virt("dev"));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(api.get("/clusters/dev").status, 503);
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
}
