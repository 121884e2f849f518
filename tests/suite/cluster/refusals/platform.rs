//! A fleet of the daemon's own namespace, with a cluster that whoever plays Azure and the controllers makes ready.

use std::sync::Arc;

use capstan::adapters::azure_sim::Options;
use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::kubernetes::controller::Running;
use capstan::daemon::wall_time;
use capstan::model::Clock;
use kube_sim::SimClock;
use serde_json::json;

use super::fixture::Fixture;
use super::fleets::{map, path_in, wait};
use super::tenants::Remote;
use crate::cluster::pipeline::{apply, established, expected};
use crate::daemon::{DEFINITION, identity};
use crate::play::play;

/// How much faster than outside time passes for Azure.
const SPEED: u32 = 600;

const SECOND_POOL: &str = "  - name: mp2\n    version: 4.20.17\n    vmSize: Standard_D4s_v3\n";

/// The fleet, and who plays the rest.
pub(super) struct Platform<'a> {
    fixture: &'a Fixture,
    remote: Remote,
    /// The directory of the fleet.
    pub(super) dir: String,
    /// The file of the Fleet `platform`.
    pub(super) file: String,
    _actors: Running,
}

impl<'a> Platform<'a> {
    pub(super) fn start(fixture: &'a Fixture) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(wall_time(), SPEED));
        let actors = fixture.runtime.block_on(async {
            let own = capstan::api::crds::crds();
            // The installation brings this one.
            let own = own
                .into_iter()
                .filter(|it| it["metadata"]["name"] != "fleets.capstan.dev");
            for definition in foreign().into_iter().chain(own) {
                apply(&fixture.client, &definition).await;
            }
            established(&fixture.client).await;
            expected(&fixture.client, "clusters").await;
            let labels = json!({"team": "platform"});
            let home = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": "clusters", "labels": labels}});
            apply(&fixture.client, &home).await;
            let allowed = json!({"selector": {"matchLabels": labels}});
            apply(&fixture.client, &identity(&allowed)).await;
            play(&fixture.client, &clock, &Options::default())
        });
        let remote = Remote::start();
        let namespace = &fixture.namespace;
        fixture.put(&remote.secret(namespace, "s3cret"));
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "platform", "namespace": namespace},
            "spec": {"source": remote.source(), "deletionPolicy": "Delete"}});
        let (dir, file) = (
            fixture.dir.path().join("platform"),
            fixture.dir.path().join("platform.yaml"),
        );
        std::fs::create_dir_all(&dir).expect("made");
        let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
        let platform = Self {
            fixture,
            remote,
            dir: text(&dir),
            file: text(&file),
            _actors: actors,
        };
        std::fs::write(file, fleet.to_string()).expect("written");
        for (name, content) in platform.files(2) {
            std::fs::write(dir.join(name), content).expect("written");
        }
        platform
    }

    /// The files with so many node pools, or without the cluster.
    fn files(&self, pools: usize) -> Vec<(&'static str, String)> {
        let cluster = DEFINITION.replace("  location:", "  deletionPolicy: Delete\n  location:");
        let more = if pools > 1 { SECOND_POOL } else { "" };
        let cluster = (pools > 0).then(|| ("cluster.yaml", cluster + more));
        let name = if pools > 0 { "first" } else { "second" };
        let map = map(self.fixture, name);
        cluster.into_iter().chain([("map.yaml", map)]).collect()
    }

    fn push(&self, message: &str, pools: usize) {
        let repository = &self.remote.repository;
        let parent = repository.git(&["rev-parse", "--verify", "--quiet", "main"]);
        let files = self.files(pools);
        let files = files.iter().map(|(name, text)| (*name, text.as_str()));
        let files: Vec<(&str, &str)> = files.collect();
        let parent = parent.ok();
        let revision = repository.push_saying(message, "main", parent.as_deref(), &files);
        wait(self.fixture, "platform", "Applied", "True", &revision);
        wait(self.fixture, "platform", "Ready", "True", "");
    }

    fn is_gone(&self, path: &str) {
        self.fixture.until(path, || !self.fixture.has(path));
    }

    /// Everything is made, and ready.
    pub(super) fn comes_up(&self) {
        self.push("begin", 2);
    }

    /// A node pool leaves the fleet, then the cluster and a ConfigMap, and then the Fleet is deleted with the rest.
    pub(super) fn goes(&self) {
        self.push("fewer\n\nCapstan-Approve: delete clusters/one/mp2\n", 1);
        let clusters = "/apis/cluster.x-k8s.io/v1beta2/namespaces/clusters";
        self.is_gone(&format!("{clusters}/machinepools/one-mp2"));
        self.push("end\n\nCapstan-Approve: delete clusters/one\n", 0);
        self.is_gone(&format!("{clusters}/clusters/one"));
        self.is_gone(&self.fixture.path("configmaps/first"));
        let fleet = path_in(&self.fixture.namespace, "platform");
        self.fixture.must("DELETE", &fleet, &json!({}));
        self.is_gone(&fleet);
        assert!(!self.fixture.has(&self.fixture.path("configmaps/second")));
    }
}
