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
        let daemon = self.daemon();
        self.until_ready_written();
        let (_, memory) = costs(&daemon.0).unwrap();
        println!("{} MiB at the peak", memory >> 20);
        drop(daemon);

        let (all, writes) = self.requests();
        let daemon = self.daemon();
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

    fn daemon(&self) -> Daemon {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        let command = command
            .args(["run", "--interval", "10s", "--source"])
            .arg(self.dir.path())
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
        while !self.parent_is_ready() {
            assert!(start.elapsed() < Duration::from_secs(600), "not ready");
            sleep(Duration::from_millis(200));
        }
        println!(
            "\n{MAPS} ConfigMaps are there after {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }

    fn parent_is_ready(&self) -> bool {
        self.runtime.block_on(async {
            let api: Api<ConfigMap> = Api::namespaced(self.server.client().await, NAMESPACE);
            let all = api.list(&ListParams::default()).await.unwrap();
            let data = all.into_iter().filter_map(|map| map.data);
            data.flatten()
                .any(|(key, value)| key == "ready" && !value.is_empty())
        })
    }
}

/// Ends when it is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Makes a repository of a directory.
fn commit(dir: &Path) {
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=load",
            "-c",
            "user.email=load@example.invalid",
            "commit",
            "-qm",
            "all",
        ],
    ] {
        let done = Command::new("git")
            .arg("-C")
            .arg(dir)
            .args(arguments)
            .status();
        assert!(done.unwrap().success(), "git {arguments:?}");
    }
}
