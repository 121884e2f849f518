//! The nodes of a simulated API server that is served on a port.

#![allow(clippy::unwrap_used, clippy::panic)]

mod hostile;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::client::Body;
use kube_sim::{Server, SimClock};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::*;

/// How much faster than outside time passes.
const SPEED: u32 = 1000;

/// A workload cluster on a port.
struct Workload {
    server: Server,
    kubeconfig: Vec<u8>,
    /// Whether it answers.
    is_up: Arc<AtomicBool>,
    _task: AbortOnDropHandle<()>,
}

impl Workload {
    async fn start() -> Self {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let server = Server::new(Arc::new(clock));
        let is_up = Arc::new(AtomicBool::new(true));
        let up = Arc::clone(&is_up);
        let router = server
            .router()
            .layer(from_fn(move |request: Request, next: Next| {
                let is_up = up.load(Ordering::Relaxed);
                async move {
                    match is_up {
                        true => next.run(request).await,
                        false => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
                    }
                }
            }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Self {
            server,
            kubeconfig: kubeconfig(&json!({"server": format!("http://{address}")}), &json!({})),
            is_up,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn nodes(&self) -> Api<Node> {
        let client: Client = self.server.client("default");
        Api::all(client)
    }

    async fn apply(&self, node: &Value) {
        let name = node["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("kubelet").force();
        let api = self.nodes();
        api.patch(name, &params, &Patch::Apply(node)).await.unwrap();
        api.patch_status(name, &params, &Patch::Apply(node))
            .await
            .unwrap();
    }
}

fn kubeconfig(cluster: &Value, user: &Value) -> Vec<u8> {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    });
    config.to_string().into_bytes()
}

fn node(name: &str, pool: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {NODE_POOL: pool}},
        "spec": {"providerID": format!("azure:///{name}")},
        "status": {"conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": ready},
        ]},
    })
}

fn heard(kubeconfig: &[u8]) -> BoxStream<'static, Heard> {
    let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, SPEED));
    let cluster = ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "c");
    KubeWorkloads::new(clock).nodes(&cluster, kubeconfig)
}

/// Name, pool, id and readiness of the nodes.
fn read_off(heard: Heard) -> Vec<String> {
    let line = |node: WorkloadNode| {
        format!(
            "{} {} {} {}",
            node.name, node.pool, node.provider_id, node.ready
        )
    };
    heard.unwrap().into_iter().map(line).collect()
}

#[tokio::test]
async fn nodes_are_heard_of_at_once_and_whenever_they_change() {
    let workload = Workload::start().await;
    workload.apply(&node("a", "c-np1", "True")).await;
    let mut without_pool = node("z", "", "True");
    without_pool["metadata"]["labels"] = json!({});
    workload.apply(&without_pool).await;
    let mut nodes = heard(&workload.kubeconfig);
    assert_eq!(
        read_off(nodes.next().await.unwrap()),
        ["a c-np1 azure:///a true"]
    );

    workload.apply(&node("b", "c-np1", "False")).await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        seen = read_off(nodes.next().await.unwrap());
    }
    assert_eq!(seen[1], "b c-np1 azure:///b false");

    // A heartbeat is not worth reporting.
    let mut heartbeat = node("a", "c-np1", "True");
    heartbeat["status"]["conditions"][1]["lastHeartbeatTime"] = json!("2026-01-01T00:00:00Z");
    workload.apply(&heartbeat).await;
    workload
        .nodes()
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(
        read_off(nodes.next().await.unwrap()),
        ["b c-np1 azure:///b false"]
    );
}

#[tokio::test]
async fn a_workload_cluster_that_does_not_answer_is_reported_once_and_found_again() {
    let workload = Workload::start().await;
    workload.is_up.store(false, Ordering::Relaxed);
    let mut nodes = heard(&workload.kubeconfig);
    let error = nodes.next().await.unwrap().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    let text = error.to_string();
    assert!(
        text.starts_with("the nodes of Cluster/ns/c cannot be watched: "),
        "{text}"
    );
    workload.is_up.store(true, Ordering::Relaxed);
    assert_eq!(read_off(nodes.next().await.unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn a_kubeconfig_that_reaches_for_this_machine_is_refused_and_nothing_of_it_is_reported() {
    let here = json!({"server": "https://127.0.0.1:1"});
    let cases = [
        (b"secret: [".to_vec(), "not a kubeconfig"),
        (
            kubeconfig(&here, &json!({"exec": {"command": "secret"}})),
            "users[0].user.exec",
        ),
        (
            kubeconfig(&here, &json!({"tokenFile": "/secret"})),
            "users[0].user.tokenFile",
        ),
        (
            kubeconfig(&here, &json!({"token": "secret\nsecret"})),
            "its token contains",
        ),
        (
            kubeconfig(
                &json!({"server": "https://a", "certificate-authority": "/secret"}),
                &json!({}),
            ),
            "certificate-authority",
        ),
        (
            kubeconfig(&json!({"server": "file:///secret"}), &json!({})),
            "not a URL",
        ),
    ];
    for (kubeconfig, expected) in cases {
        let error = heard(&kubeconfig).next().await.unwrap().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        let text = error.to_string();
        assert!(
            text.contains(expected) && !text.contains("secret"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_certificate_is_verified_whatever_the_kubeconfig_asks_for() {
    let insecure = json!({"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": true});
    let kubeconfig = kubeconfig(&insecure, &json!({}));
    assert!(config_of(&kubeconfig).await.unwrap().accept_invalid_certs);
    assert!(!verified(&kubeconfig).await.unwrap().accept_invalid_certs);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_backs_off_longer_each_time() {
    let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let asked = Arc::clone(&times);
    let client = tower::service_fn(move |_: http::Request<Body>| {
        asked.lock().unwrap().push(start.elapsed().as_secs());
        let mut response = http::Response::new(Body::empty());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        std::future::ready(Ok::<_, std::convert::Infallible>(response))
    });
    let cluster = ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "c");
    let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
    let client = Client::new(client, "default");
    let mut heard = Watch::new(cluster, &client, clock).heard();
    assert!(heard.next().await.unwrap().is_err());
    let silence = tokio::time::timeout(Duration::from_secs(20), heard.next()).await;
    assert!(silence.is_err(), "the same error is not reported again");
    assert_eq!(*times.lock().unwrap(), [0, 1, 3, 7, 15]);
}
