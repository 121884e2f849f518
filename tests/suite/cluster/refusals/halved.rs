//! A service provider that is killed between the two objects of a cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use http::Method;
use serde_json::{Value as Json, json};

use super::fixture::Fixture;
use super::provider::play_a_hub;
use crate::running::Running;
use crate::service_provider::api::{Answer, Api, kube_virt, write_secrets};

/// The shipped program, which writes to the hub and follows nothing.
fn start(fixture: &Fixture) -> (Running, Api) {
    let dir = fixture.dir.path();
    let secrets = dir.join("secrets");
    std::fs::create_dir_all(&secrets).expect("made");
    write_secrets(&secrets);
    let fleet = json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "halved", "namespace": fixture.namespace},
        "spec": {
            "controllers": {"aro": "off"},
            "serviceProvider": {"writeMode": "direct", "namespace": fixture.namespace},
            "serve": {"serviceProvider": {"address": "127.0.0.1:0"}},
        },
    });
    let file = dir.join("halved.yaml");
    std::fs::write(&file, fleet.to_string()).expect("written");
    let [file, kubeconfig, secrets] =
        [&file, &fixture.kubeconfig, &secrets].map(|path| path.to_str().expect("UTF-8"));
    let arguments = [
        "--config",
        file,
        "--kubeconfig",
        kubeconfig,
        "--service-provider-secrets",
        secrets,
    ];
    let running = Running::start(dir, &arguments);
    let api = Api::of(&running);
    api.wait_until_ready(|| running.said());
    (running, api)
}

#[test]
fn a_kill_between_cluster_and_node_pool_leaves_one_whole_cluster() {
    let holds = Arc::new(AtomicBool::new(true));
    let front = |router: Router| {
        let holds = Arc::clone(&holds);
        router.layer(from_fn(move |request: Request, next: Next| {
            let is_pool =
                request.method() == Method::POST && request.uri().path().ends_with("/nodepools");
            let holds = is_pool && holds.load(Ordering::Relaxed);
            async move {
                if holds {
                    std::future::pending::<()>().await;
                }
                next.run(request).await
            }
        }))
    };
    let fixture = &Fixture::simulated("halved", front);
    let _actors = play_a_hub(fixture);
    let of = |resource: &str| {
        let path = format!(
            "/apis/hypershift.openshift.io/v1beta1/namespaces/{}/{resource}",
            fixture.namespace
        );
        let listed = fixture.must("GET", &path, &Json::Null);
        listed["items"].as_array().map_or(0, Vec::len)
    };
    let (running, api) = start(fixture);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| api.post("/clusters?id=kv-1", &kube_virt("dev")));
        fixture.until("the cluster is there", || of("hostedclusters") == 1);
        running.words();
        assert_eq!(
            asked.join().expect("no panic").status,
            0,
            "it was not answered"
        );
    });
    assert_eq!(of("nodepools"), 0);

    holds.store(false, Ordering::Relaxed);
    let (running, api) = start(fixture);
    let ready = |answer: &Answer| answer.body["status"] == "READY";
    let body = api.until("kv-1", ready, || running.said()).body;
    assert_eq!(body["spec"], kube_virt("dev"));
    assert_eq!((of("hostedclusters"), of("nodepools")), (1, 1));
    assert_eq!(api.post("/clusters?id=kv-1", &kube_virt("dev")).status, 409);
    assert_eq!(api.delete("/clusters/kv-1").status, 204);
    let gone = |answer: &Answer| answer.status == 404;
    api.until("kv-1", gone, || running.said());
    assert_eq!((of("hostedclusters"), of("nodepools")), (0, 0));
}
