//! A repository that anybody can propose commits to, the daemon that follows it, and the cluster that it applies to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use capstan::adapters::checks;
use capstan::daemon::wall_time;
use capstan::model::{Check, CheckState};
use kube_sim::SimClock;
use serde_json::json;
use tempfile::TempDir;

use super::heads::Stranger;
use crate::patience::until;
use crate::running::Running;
use crate::servers::{anonymous, serve};
use crate::sources::https::Server;
use crate::sources::repository::{Repository, has};

/// How the daemon reaches the repository.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    Path,
    Https,
}

pub(super) struct World {
    repository: Repository,
    server: Option<Server>,
    pub(super) simulator: kube_sim::Server,
    pub(super) runtime: tokio::runtime::Runtime,
    dir: TempDir,
    /// What planning the head of a fork may cost.
    pub(super) forks: serde_json::Value,
}

impl World {
    /// `None` without git.
    pub(super) fn new(over: Over) -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let repository = Repository::new();
        let receive = ["config", "http.receivepack", "true"];
        repository.git(&receive).expect("configured");
        let server = match over {
            Over::Path => None,
            Over::Https => Some(Server::start(repository.root())),
        };
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        Some(Self {
            repository,
            server,
            simulator: kube_sim::Server::new(Arc::new(SimClock::new(wall_time(), 1))),
            runtime,
            dir: tempfile::tempdir().expect("a directory"),
            forks: json!({"timeout": "10s", "memoryMiB": 160}),
        })
    }

    fn url(&self) -> String {
        match &self.server {
            Some(server) => server.url("/fleet.git"),
            None => self.repository.path().display().to_string(),
        }
    }

    fn write(&self, name: &str, text: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
        std::fs::write(&path, text).expect("written");
        path
    }

    pub(super) fn start(&self) -> Running {
        self.start_program(Path::new(env!("CARGO_BIN_EXE_capstan")))
    }

    pub(super) fn start_program(&self, program: &Path) -> Running {
        let address = self.runtime.block_on(serve(self.simulator.clone()));
        let kubeconfig = self.write("kubeconfig", anonymous(&address).as_bytes());
        let fleet = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": "default"},
            "spec": {
                "source": {"git": {"url": self.url(), "interval": "1s"}},
                "checks": {"pullRequests": {"forks": self.forks}},
            },
        });
        let fleet = self.write("fleet.yaml", fleet.to_string().as_bytes());
        let mut command = Command::new(program);
        command
            .args(["run", "--aro", "off", "--kubeconfig"])
            .arg(kubeconfig)
            .arg("--config")
            .arg(fleet)
            .env("CAPSTAN_CACHE", self.dir.path().join("cache"));
        if let Some(server) = &self.server {
            self.write("keys/ca.crt", &server.authority);
            command
                .arg("--source-credential")
                .arg(self.dir.path().join("keys"));
        }
        Running::spawn(command)
    }

    /// Adds a ConfigMap of this name to `main`.
    pub(super) fn push(&self, name: &str) {
        let text = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n"
        );
        self.push_files(&[(&format!("{name}.yaml"), &text)]);
    }

    /// Adds files to the root of `main`.
    pub(super) fn push_files(&self, files: &[(&str, &str)]) {
        let repository = git2::Repository::open(self.repository.path()).expect("a repository");
        let main = repository.find_reference("refs/heads/main").ok();
        let main = main.map(|main| main.peel_to_commit().expect("a commit"));
        let tree = main.as_ref().map(|main| main.tree().expect("a tree"));
        let mut builder = repository.treebuilder(tree.as_ref()).expect("a tree");
        for (name, text) in files {
            let blob = repository.blob(text.as_bytes()).expect("written");
            builder.insert(name, blob, 0o100_644).expect("added");
        }
        let tree = repository
            .find_tree(builder.write().expect("written"))
            .expect("a tree");
        let who =
            git2::Signature::new("Dev", "dev@example.com", &git2::Time::new(1, 0)).expect("a name");
        let parents: Vec<&git2::Commit<'_>> = main.iter().collect();
        let committed =
            repository.commit(Some("refs/heads/main"), &who, &who, "it", &tree, &parents);
        committed.expect("committed");
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let live = self.simulator.snapshot();
        live.iter()
            .any(|live| live["kind"] == "ConfigMap" && live["metadata"]["name"] == name)
    }

    /// Waits until the cluster has this ConfigMap.
    #[track_caller]
    pub(super) fn applied(&self, name: &str) {
        until(
            || self.has(name).then_some(()),
            || format!("{name} was not applied"),
        );
    }

    /// The repository as a stranger sees it.
    pub(super) fn stranger(&self) -> Stranger {
        let repository = git2::Repository::open(self.repository.path()).expect("a repository");
        Stranger::of(repository)
    }

    /// The plan check of a head, once it has ended.
    #[track_caller]
    pub(super) fn planned(&self, head: &str) -> Check {
        let note = || self.repository.note(head);
        let ended = || {
            let mut checks = checks::read(&note()?).into_iter();
            checks.find(|check| {
                check.context == "capstan/prod/plan" && check.state != CheckState::Pending
            })
        };
        until(ended, || format!("{head} has no check: {:?}", note()))
    }

    /// Writes what a daemon leaves that is killed while it plans this head.
    pub(super) fn was_planning(&self, name: &str, id: &str) {
        let files = std::fs::read_dir(self.dir.path().join("cache")).expect("a cache");
        let mut files = files.flatten().map(|file| file.path());
        let mirror = files.find(|path| path.join("repository.git").exists());
        let left = json!({"v": 1, "planning": [{"name": name, "id": id}], "interrupted": []});
        let file = mirror.expect("a mirror").with_extension("planning.json");
        std::fs::write(file, left.to_string()).expect("written");
    }
}
