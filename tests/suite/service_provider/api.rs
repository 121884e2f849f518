//! A client of the API that a daemon serves, and the requests of the proposal.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use crate::patience::until;
use crate::running::Running;

/// The token of the tests.
const TOKEN: &str = "t0ken";

/// The proposal's example for KubeVirt.
pub(crate) fn kube_virt(name: &str) -> Json {
    json!({
        "version": "4.15",
        "nodes": {
            "controlPlane": {"count": 3, "cpu": 4, "memory": "16GB", "storage": "120GB"},
            "worker": {"count": 3, "cpu": 8, "memory": "32GB", "storage": "250GB"},
        },
        "metadata": {"name": name},
        "providerHints": {"acm": {"platform": "kubevirt", "baseDomain": "example.com"}},
        "schemaVersion": "v1alpha1",
        "serviceType": "cluster",
    })
}

/// The proposal's example for bare metal.
pub(crate) fn bare_metal(name: &str) -> Json {
    let mut body = kube_virt(name);
    body["providerHints"]["acm"] = json!({
        "platform": "baremetal", "baseDomain": "example.com", "infraEnv": "production-infraenv",
        "agentLabels": {"location": "datacenter-1", "role": "worker"},
    });
    body
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Json,
    pub(crate) headers: reqwest::header::HeaderMap,
}

/// The API of a daemon.
#[derive(Default)]
pub(crate) struct Api {
    base: String,
}

pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Runtime::new().expect("a runtime")
    })
}

/// Writes the secrets of a provider: the token of the tests, and a pull secret.
pub(crate) fn write_secrets(secrets: &Path) {
    std::fs::write(
        secrets.join(".dockerconfigjson"),
        r#"{"auths": {"quay.io": {"auth": "YTpi"}}}"#,
    )
    .expect("written");
    let digest = Command::new("sh")
        .args(["-c", &format!("printf %s {TOKEN} | sha256sum")])
        .output();
    let digest = String::from_utf8(digest.expect("sha256sum runs").stdout).expect("text");
    let digest = digest.split_whitespace().next().expect("a digest");
    std::fs::write(secrets.join("tokens"), format!("tests {digest}\n")).expect("written");
}

impl Api {
    /// The API of a daemon that serves it soon.
    #[track_caller]
    pub(crate) fn of(daemon: &Running) -> Self {
        let said = "the service provider's API on ";
        daemon.wait(said);
        let address = daemon.said();
        let address = address
            .split(said)
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        let address = address.expect("an address");
        Self {
            base: format!("{address}/api/v1alpha1"),
        }
    }

    /// Its address, `HOST:PORT`.
    pub(crate) fn address(&self) -> String {
        let address = self.base.trim_start_matches("http://");
        address.split('/').next().unwrap_or_default().to_owned()
    }

    /// Waits until it knows the hub and the repository.
    #[track_caller]
    pub(crate) fn wait_until_ready(&self, said: impl FnOnce() -> String) {
        let ready = || {
            // It knows what the hub offers once it can tell what the hub does not.
            let mut unknown = kube_virt("probe");
            unknown["version"] = json!("9.99");
            let is_healthy = self.get("/health").body["status"] == "healthy";
            (is_healthy && self.post("/clusters", &unknown).status == 422).then_some(())
        };
        until(ready, said);
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Json) -> Answer {
        self.send("POST", path, Some(body), None)
    }

    pub(crate) fn post_with_key(&self, path: &str, body: &Json, key: &str) -> Answer {
        self.send("POST", path, Some(body), Some(key))
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None, None)
    }

    fn send(&self, method: &str, path: &str, body: Option<&Json>, key: Option<&str>) -> Answer {
        let url = format!("{}{path}", self.base);
        runtime().block_on(send(
            method.to_owned(),
            url,
            body.cloned(),
            key.map(str::to_owned),
        ))
    }

    /// Waits until a read of a cluster is answered so, and returns the answer.
    #[track_caller]
    pub(crate) fn until(
        &self,
        id: &str,
        is_so: impl Fn(&Answer) -> bool,
        said: impl FnOnce() -> String,
    ) -> Answer {
        let path = format!("/clusters/{id}");
        let reached = || Some(self.get(&path)).filter(&is_so);
        until(reached, || format!("{:?}\n{}", self.get(&path), said()))
    }

    /// Reads these paths one `pause` after the other, whether the answers come in time or not; returns how long each took from when it was due.
    /// All must be answered with 200.
    pub(crate) fn get_at_pace(&self, paths: Vec<String>, pause: Duration) -> Vec<Duration> {
        let base = self.base.clone();
        runtime().block_on(async move {
            let client = reqwest::Client::new();
            let begun = tokio::time::Instant::now();
            let mut reads = tokio::task::JoinSet::new();
            for (due, path) in (0u32..).map(|number| begun + pause * number).zip(paths) {
                tokio::time::sleep_until(due).await;
                let request = client.get(format!("{base}{path}")).bearer_auth(TOKEN);
                reads.spawn(async move {
                    let answer = request.send().await.expect("an answer");
                    assert_eq!(answer.status(), 200, "{path}");
                    answer.bytes().await.expect("a body");
                    due.elapsed()
                });
            }
            reads.join_all().await
        })
    }

    /// Sends all requests at once.
    pub(crate) fn post_all(&self, bodies: Vec<Json>) -> Vec<Answer> {
        let url = format!("{}/clusters", self.base);
        runtime().block_on(async {
            let sent = bodies
                .into_iter()
                .map(|body| tokio::spawn(send("POST".to_owned(), url.clone(), Some(body), None)));
            let answers = futures::future::join_all(sent).await;
            answers
                .into_iter()
                .map(|answer| answer.expect("no panic"))
                .collect()
        })
    }
}

async fn send(method: String, url: String, body: Option<Json>, key: Option<String>) -> Answer {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(60))
        .build()
        .expect("a client");
    let method = method.parse().expect("a method");
    let mut request = client.request(method, url).bearer_auth(TOKEN);
    if let Some(body) = body {
        request = request
            .header("content-type", "application/json")
            .body(body.to_string());
    }
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    match request.send().await {
        Ok(response) => {
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let text = response.text().await.unwrap_or_default();
            Answer {
                status,
                headers,
                body: serde_json::from_str(&text).unwrap_or_default(),
            }
        }
        Err(_) => Answer {
            status: 0,
            headers: Default::default(),
            body: Json::Null,
        },
    }
}
