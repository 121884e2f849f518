//! A config repository, the shipped daemon that follows it on the embedded cluster, and a client of its API.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use tempfile::TempDir;

use super::api::{Answer, Api, runtime, write_secrets};
use crate::running::Running;

/// The whole of it.
pub(super) struct World {
    pub(super) dir: TempDir,
    daemon: Option<Running>,
    api: Api,
    settings: String,
    /// Whether the daemon follows the repository.
    follows: bool,
    /// How many times faster than real time the embedded cluster runs.
    speed: String,
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

    /// A daemon that follows nothing, whose provider has these settings.
    pub(super) fn without_source(settings: &str) -> Self {
        let mut world = Self::prepared(120, settings, &[]);
        world.follows = false;
        world.start_again();
        world
    }

    /// The same with more files in the repository.
    pub(super) fn with_files(settings: &str, files: &[(&str, &str)]) -> Self {
        Self::at_speed(120, settings, files)
    }

    /// The same on an embedded cluster that runs so many times faster than real time.
    pub(super) fn at_speed(speed: u32, settings: &str, files: &[(&str, &str)]) -> Self {
        let mut world = Self::prepared(speed, settings, files);
        world.start_again();
        world
    }

    fn prepared(speed: u32, settings: &str, files: &[(&str, &str)]) -> Self {
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
        write_secrets(&secrets);
        Self {
            dir,
            daemon: None,
            api: Api::default(),
            settings: settings.to_owned(),
            follows: true,
            speed: speed.to_string(),
        }
    }

    /// Starts the daemon, on what an earlier one left.
    pub(super) fn start_again(&mut self) {
        let at = self.dir.path();
        let repository = at.join("repo.git");
        let (source, namespace) = match self.follows {
            true => {
                let url = repository.display();
                (
                    format!("  source: {{git: {{url: {url}, path: fleet}}}}\n"),
                    "clusters",
                )
            }
            false => (String::new(), "default"),
        };
        let fleet = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: demo}}\nspec:\n{source}  serviceProvider: {{namespace: {namespace}, bareMetal: {{agentNamespace: agents}}, requestsPerSecond: 1000, {}}}\n  serve: {{address: '127.0.0.1:0', serviceProvider: {{address: '127.0.0.1:0'}}}}\n",
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
        let daemon = Running::with_few_files(at, &arguments);
        self.api = Api::of(&daemon);
        self.daemon = Some(daemon);
        self.api.wait_until_ready(|| self.said());
    }

    /// Asks the daemon to stop, and waits for its end.
    pub(super) fn stop(&mut self) -> (Option<i32>, String) {
        self.daemon.take().expect("it runs").stop()
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

    /// Waits until a cluster has this status, and returns it.
    #[track_caller]
    pub(super) fn until_status(&self, id: &str, status: &str) -> Json {
        let is_so = |answer: &Answer| answer.body["status"] == status;
        self.api.until(id, is_so, || self.said()).body
    }

    /// Waits until a cluster is gone.
    #[track_caller]
    pub(super) fn until_gone(&self, id: &str) {
        self.api
            .until(id, |answer| answer.status == 404, || self.said());
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

impl Deref for World {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}
