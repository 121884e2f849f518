//! A fleet of 10,000 ConfigMaps that nobody changes: what a restart of the daemon costs, and what the
//! time after it. The API server counts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::ListParams;

use super::process::costs;
use super::{Fixture, Load, MAPS, objects, write_files};

/// How long nothing happens, in seconds; `CAPSTAN_STEADY` overrides it.
const STEADY: u64 = 60;
/// Longer than the daemon needs to list everything.
const STARTED: Duration = Duration::from_secs(20);

/// Where the fleet's ConfigMap is.
const NAMESPACE: &str = "capstan-system";

impl Fixture<'_> {
    /// Prints what the daemon asks, and takes.
    pub(super) fn steady(&self) {
        write_files(self.dir.path(), &objects(Load::Maps));
        commit(self.dir.path());
        let daemon = self.daemon(&["--interval", "10s"]);
        self.until_ready_written();
        let (_, memory) = costs(&daemon.0).unwrap();
        println!("{} MiB at the peak", memory >> 20);
        drop(daemon);

        let (all, writes) = self.requests();
        let daemon = self.daemon(&["--interval", "10s"]);
        sleep(STARTED);
        let started = self.requests();
        println!(
            "\na restart with {MAPS} ConfigMaps: {} requests, {} of them writes",
            started.0 - all,
            started.1 - writes
        );
        let seconds = std::env::var("CAPSTAN_STEADY").ok();
        let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(STEADY);
        let (before, _) = costs(&daemon.0).unwrap();
        sleep(Duration::from_secs(seconds));
        let (after, memory) = costs(&daemon.0).unwrap();
        let ended = self.requests();
        println!(
            "{seconds} s after that: {} requests, {} of them writes; {:.2} s CPU; {} MiB at the peak",
            ended.0 - started.0,
            ended.1 - started.1,
            (after - before).as_secs_f64(),
            memory >> 20
        );
    }

    /// Follows the repository in the stage's directory.
    pub(super) fn daemon(&self, arguments: &[&str]) -> Daemon {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        let command = command
            .args(["run", "--aro", "off", "--source"])
            .arg(self.dir.path())
            .args(arguments)
            .env("KUBECONFIG", self.server.kubeconfig())
            .env("CAPSTAN_NAMESPACE", NAMESPACE)
            .env("CAPSTAN_CACHE", self.dir.path().join(".git/mirrors"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Daemon(command.spawn().unwrap())
    }

    /// Waits until the fleet's ConfigMap reports all objects as ready.
    fn until_ready_written(&self) {
        let start = Instant::now();
        while self.parent("ready").is_none_or(|ready| ready.is_empty()) {
            assert!(start.elapsed() < Duration::from_secs(600), "not ready");
            sleep(Duration::from_millis(200));
        }
        println!(
            "\n{MAPS} ConfigMaps are there after {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }

    /// What the fleet's ConfigMap says under `key`.
    pub(super) fn parent(&self, key: &str) -> Option<String> {
        self.runtime.block_on(async {
            let api: Api<ConfigMap> = Api::namespaced(self.server.client().await, NAMESPACE);
            let all = api.list(&ListParams::default()).await.unwrap();
            let mut data = all.into_iter().filter_map(|map| map.data);
            data.find_map(|mut data| data.remove(key))
        })
    }
}

/// Ends when it is dropped.
pub(super) struct Daemon(pub(super) Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a repository of a directory.
pub(super) fn commit(dir: &Path) {
    git(dir, &["init", "-q", "-b", "main"]);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-qm", "all"]);
}

pub(super) fn git(dir: &Path, arguments: &[&str]) {
    let who = ["user.name=load", "user.email=load@example.invalid"];
    let who = who.iter().flat_map(|who| ["-c", who]);
    let mut command = Command::new("git");
    let command = command.arg("-C").arg(dir).args(who).args(arguments);
    assert!(command.status().unwrap().success(), "git {arguments:?}");
}
