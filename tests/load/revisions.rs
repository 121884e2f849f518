//! The memory of the daemon when, ten times, a pull request is planned and a push replaces a revision that is
//! still being applied, and how soon each pull request has its check. The clusters never become ready, since no controllers run, and every push changes
//! every cluster.
//!
//! The CRDs are read from `CAPSTAN_CRDS` or `../shared/crds`; without either they are the permissive ones that
//! the simulator serves. `CAPSTAN_DEFINITIONS` sets the number of clusters.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim::crds::foreign;
use capstan::api::crds::crds;
use capstan::yaml;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::Value as Json;

use super::Fixture;
use super::generate::definition;
use super::process::memory;
use super::steady::{Daemon, commit, git};

const DEFINITIONS: usize = 500;
const ROUNDS: usize = 10;
/// How long a revision is applied before the next one replaces it.
const UNDER_WAY: Duration = Duration::from_secs(3);
/// How often the daemon looks at the repository: the time to a check includes up to this much.
const INTERVAL: &str = "100ms";
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// The directories with the CRDs of the fleet's kinds.
const DIRECTORIES: [&str; 3] = ["capz", "cluster-api", "aso-2.13"];
const BASE: &str = "base.yaml";

impl Fixture<'_> {
    /// Prints the resident memory and its peak after each round.
    pub(super) fn revisions(&self) {
        let count = std::env::var("CAPSTAN_DEFINITIONS").ok();
        let count = count.and_then(|text| text.parse().ok());
        let count = count.unwrap_or(DEFINITIONS);
        self.install();
        let fleet = self.dir.path();
        std::fs::write(fleet.join(BASE), base("0")).unwrap();
        for at in 0..count {
            std::fs::write(fleet.join(format!("c{at}.yaml")), definition(at)).unwrap();
        }
        commit(fleet);

        println!("\n| {count} definitions | resident | peak | check |\n|---|---|---|---|");
        let daemon = self.daemon(&["--branch", "main", "--interval", INTERVAL]);
        self.until("applied", &head(fleet));
        let _ = row(&daemon, "applied", None);
        let mut peaks = Vec::new();
        for round in 1..=ROUNDS {
            let check = plan(fleet, round);
            let _ = row(&daemon, &format!("plan {round}"), Some(check));
            std::fs::write(fleet.join(BASE), base(&round.to_string())).unwrap();
            git(fleet, &["commit", "-qam", "push"]);
            self.until("applying", &head(fleet));
            sleep(UNDER_WAY);
            peaks.push(row(&daemon, &format!("push {round}"), None));
        }
        self.until("applied", &head(fleet));
        let last = row(&daemon, "all applied", None);
        println!(
            "\nthe peak is {:.2} times that of the first round",
            last / peaks[0]
        );
    }

    /// Creates the CRDs of the fleet's kinds.
    fn install(&self) {
        let crds = from_files().unwrap_or_else(|| [crds(), foreign()].concat());
        self.runtime.block_on(async {
            let api: Api<CustomResourceDefinition> = Api::all(self.server.client().await);
            for mut crd in crds {
                // The conversion webhooks do not run here.
                crd["spec"].as_object_mut().unwrap().remove("conversion");
                let crd = serde_json::from_value(crd).unwrap();
                api.create(&PostParams::default(), &crd).await.unwrap();
            }
            let is_served = |crd: &CustomResourceDefinition| {
                let conditions = crd.status.iter().flat_map(|status| &status.conditions);
                let mut conditions = conditions.flatten();
                conditions.any(|one| one.type_ == "Established" && one.status == "True")
            };
            loop {
                let all = api.list(&ListParams::default()).await.unwrap();
                if all.items.iter().all(is_served) {
                    return;
                }
                sleep(Duration::from_millis(200));
            }
        });
    }

    /// Waits until the fleet's ConfigMap names `revision` under `key`.
    fn until(&self, key: &str, revision: &str) {
        let start = Instant::now();
        while self.parent(key).as_deref() != Some(revision) {
            assert!(start.elapsed() < PATIENCE, "{revision} is not {key}");
            sleep(Duration::from_millis(200));
        }
    }
}

/// The CRDs from files, if there are any.
fn from_files() -> Option<Vec<Json>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/crds");
    let root = std::env::var_os("CAPSTAN_CRDS").map_or_else(beside, PathBuf::from);
    let mut all = Vec::new();
    for directory in DIRECTORIES {
        for entry in std::fs::read_dir(root.join(directory)).ok()? {
            let text = std::fs::read(entry.unwrap().path()).unwrap();
            let (documents, _) = yaml::read(&Arc::from("crd"), &text);
            all.extend(documents.iter().map(capstan::model::Node::to_json));
        }
    }
    Some(all)
}

/// Prints one row, and returns the peak in MiB.
fn row(daemon: &Daemon, after: &str, check: Option<Duration>) -> f64 {
    let (resident, peak) = memory(&daemon.0).unwrap();
    let (resident, peak) = (resident >> 20, peak >> 20);
    let check = check.map(|check| format!("{:.2} s", check.as_secs_f64()));
    let check = check.unwrap_or_default();
    println!("| {after} | {resident} MiB | {peak} MiB | {check} |");
    f64::from(u32::try_from(peak).unwrap())
}

/// Makes a pull request that changes one cluster; returns how long its plan check took.
fn plan(fleet: &Path, round: usize) -> Duration {
    let branch = format!("pr/{round}");
    git(fleet, &["checkout", "-qb", &branch]);
    let changed = definition(round).replace("max: 10", "max: 11");
    std::fs::write(fleet.join(format!("c{round}.yaml")), changed).unwrap();
    git(fleet, &["commit", "-qam", &branch]);
    let start = Instant::now();
    let commit = head(fleet);
    git(fleet, &["checkout", "-q", "main"]);
    while !is_planned(fleet, &commit) {
        assert!(start.elapsed() < PATIENCE, "{branch} is not planned");
        sleep(Duration::from_millis(10));
    }
    start.elapsed()
}

fn is_planned(fleet: &Path, commit: &str) -> bool {
    let note = Command::new("git")
        .arg("-C")
        .arg(fleet)
        .args(["notes", "--ref=capstan", "show", commit])
        .output()
        .unwrap();
    let note = String::from_utf8_lossy(&note.stdout);
    note.contains("1 to change")
}

fn head(fleet: &Path) -> String {
    let head = Command::new("git")
        .arg("-C")
        .arg(fleet)
        .args(["rev-parse", "HEAD"])
        .output()
        .unwrap();
    String::from_utf8(head.stdout).unwrap().trim().to_owned()
}

/// What all clusters share; every one of them carries `revision`.
fn base(revision: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: Namespace
metadata: {{name: clusters}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {{name: cluster-identity, namespace: clusters}}
spec:
  type: WorkloadIdentity
  clientID: c1d5b0a2-7e4f-4a35-b6a8-0d9e2f3c4b5a
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  allowedNamespaces: {{list: [clusters]}}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {{name: base}}
spec:
  merge:
    identityRef: {{name: cluster-identity}}
    tags: {{revision: \"{revision}\"}}
  patches:
  - target: {{kind: MachinePool}}
    patch: {{metadata: {{annotations: {{example.com/revision: \"{revision}\"}}}}}}
  selector: {{}}
"
    )
}
