//! A config repository, the shipped daemon that follows it on the embedded cluster, and a client of its API.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::patience::until;
use crate::running::Running;

/// The token of the tests.
const TOKEN: &str = "t0ken";

/// The proposal's example for KubeVirt.
pub(super) fn kube_virt(name: &str) -> Json {
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
pub(super) fn bare_metal(name: &str) -> Json {
    let mut body = kube_virt(name);
    body["providerHints"]["acm"] = json!({
        "platform": "baremetal", "baseDomain": "example.com", "infraEnv": "production-infraenv",
        "agentLabels": {"location": "datacenter-1", "role": "worker"},
    });
    body
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Json,
    pub(super) headers: reqwest::header::HeaderMap,
}

/// The whole of it.
pub(super) struct World {
    pub(super) dir: TempDir,
    daemon: Option<Running>,
    base: String,
    settings: String,
    /// How many times faster than real time the embedded cluster runs.
    speed: String,
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
        Runtime::new().expect("a runtime")
    })
}

/// Runs git in a directory.
#[track_caller]
pub(super) fn git(dir: &Path, arguments: &[&str]) -> String {
    let who = [
        "-c",
        "user.name=a person",
        "-c",
        "user.email=person@example.com",
    ];
    let output = Command::new("git")
        .current_dir(dir)
        .args(who)
        .args(arguments)
        .output();
    let output = output.expect("git runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?}: {words}");
    String::from_utf8(output.stdout).expect("text")
}

impl World {
    /// A repository with the namespace of the clusters, and a daemon whose provider has these settings.
    pub(super) fn start(settings: &str) -> Self {
        Self::with_files(settings, &[])
    }

    /// The same with more files in the repository.
    pub(super) fn with_files(settings: &str, files: &[(&str, &str)]) -> Self {
        Self::at_speed(120, settings, files)
    }

    /// The same on an embedded cluster that runs so many times faster than real time.
    pub(super) fn at_speed(speed: u32, settings: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let at = dir.path();
        git(at, &["init", "-q", "--bare", "-b", "main", "repo.git"]);
        git(at, &["clone", "-q", "repo.git", "work"]);
        let work = at.join("work");
        git(&work, &["checkout", "-q", "-b", "main"]);
        let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: clusters}\n";
        for (path, text) in [("fleet/ns.yaml", namespace)].iter().chain(files) {
            let path = work.join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("written");
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "Start"]);
        git(&work, &["push", "-q", "origin", "main"]);
        let secrets = at.join("secrets");
        std::fs::create_dir(&secrets).expect("a directory");
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
        let mut world = Self {
            dir,
            daemon: None,
            base: String::new(),
            settings: settings.to_owned(),
            speed: speed.to_string(),
        };
        world.start_again();
        world
    }

    /// Starts the daemon, on what an earlier one left.
    pub(super) fn start_again(&mut self) {
        let at = self.dir.path();
        let repository = at.join("repo.git");
        let fleet = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: demo}}\nspec:\n  source: {{git: {{url: {}, path: fleet}}}}\n  serviceProvider: {{namespace: clusters, bareMetal: {{agentNamespace: agents}}, requestsPerSecond: 1000, {}}}\n  serve: {{address: '127.0.0.1:0', serviceProvider: {{address: '127.0.0.1:0'}}}}\n",
            repository.display(),
            self.settings,
        );
        let config = at.join("fleet.yaml");
        std::fs::write(&config, fleet).expect("written");
        let secrets = at.join("secrets");
        let arguments = [
            "--config",
            text(&config),
            "--embedded",
            "--speed",
            &self.speed,
            "--service-provider-secrets",
            text(&secrets),
        ];
        let daemon = Running::start(at, &arguments);
        let said = "the service provider's API on ";
        daemon.wait(said);
        let address = daemon.said();
        let address = address
            .split(said)
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        self.base = format!(
            "{}/api/v1alpha1",
            address.expect("an address").trim_end_matches(';')
        );
        self.daemon = Some(daemon);
        let ready = || {
            // It knows what the hub offers once it can tell what the hub does not.
            let mut unknown = kube_virt("probe");
            unknown["version"] = json!("9.99");
            let is_healthy = self.get("/health").body["status"] == "healthy";
            (is_healthy && self.post("/clusters", &unknown).status == 422).then_some(())
        };
        until(ready, || self.said());
    }

    /// Kills the daemon.
    pub(super) fn kill(&mut self) -> String {
        self.daemon.take().map(Running::words).unwrap_or_default()
    }

    /// The process of the daemon.
    pub(super) fn id(&self) -> u32 {
        self.daemon.as_ref().expect("it runs").id()
    }

    pub(super) fn said(&self) -> String {
        self.daemon.as_ref().map(Running::said).unwrap_or_default()
    }

    /// The checkout of a person.
    pub(super) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// The files of the provider on the branch.
    pub(super) fn files(&self) -> Vec<String> {
        let repository = self.dir.path().join("repo.git");
        let listed = git(
            &repository,
            &["ls-tree", "-r", "--name-only", "main", "fleet/dcm"],
        );
        listed.lines().map(str::to_owned).collect()
    }

    /// The messages of the commits of the branch, the newest first, separated by `---`.
    pub(super) fn messages(&self) -> String {
        git(
            &self.dir.path().join("repo.git"),
            &["log", "--format=%B---", "main"],
        )
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None, None)
    }

    pub(super) fn post(&self, path: &str, body: &Json) -> Answer {
        self.send("POST", path, Some(body), None)
    }

    pub(super) fn post_with_key(&self, path: &str, body: &Json, key: &str) -> Answer {
        self.send("POST", path, Some(body), Some(key))
    }

    pub(super) fn delete(&self, path: &str) -> Answer {
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

    /// Sends all requests at once.
    pub(super) fn post_all(&self, bodies: Vec<Json>) -> Vec<Answer> {
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

    /// Waits until a cluster has this status, and returns it.
    #[track_caller]
    pub(super) fn until_status(&self, id: &str, status: &str) -> Json {
        let path = format!("/clusters/{id}");
        let reached = || {
            let body = self.get(&path).body;
            (body["status"] == status).then_some(body)
        };
        until(reached, || {
            format!("{} is not {status}\n{}", self.get(&path).body, self.said())
        })
    }

    /// Waits until a cluster is gone.
    #[track_caller]
    pub(super) fn until_gone(&self, id: &str) {
        let path = format!("/clusters/{id}");
        let gone = || (self.get(&path).status == 404).then_some(());
        until(gone, || {
            format!("{} is there\n{}", self.get(&path).body, self.said())
        });
    }

    /// A client of the embedded cluster.
    pub(super) fn hub<T>(&self, ask: impl AsyncFnOnce(kube::Client) -> T) -> T {
        let file = self.dir.path().join("cache/embedded/demo.kubeconfig");
        runtime().block_on(async {
            let kubeconfig = kube::config::Kubeconfig::read_from(file).expect("a kubeconfig");
            let config =
                kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
            ask(kube::Client::try_from(config.expect("a config")).expect("a client")).await
        })
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
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
