//! The shipped daemon beside a forge: it applies to a cluster that outlives it, and its port takes webhooks.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use capstan::adapters::azure_sim::crds::foreign;
use capstan::daemon::wall_time;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube_sim::SimClock;
use serde_json::json;

use crate::patience::until;
use crate::running::Running;
use crate::servers::serve;

/// The daemon, and where its webhooks go.
pub(super) struct Served {
    pub(super) daemon: Running,
    pub(super) address: SocketAddr,
}

impl Served {
    /// `capstan run` with these arguments, `--serve` among them; its own files are in `dir`.
    pub(super) fn start(dir: &Path, arguments: &[&str]) -> Self {
        let daemon = Running::start(dir, arguments);
        let address = || {
            let said = daemon.said();
            let (_, rest) = said.split_once("webhooks on http://")?;
            rest.split_whitespace().next()?.parse().ok()
        };
        let address = until(address, || daemon.said());
        Self { daemon, address }
    }
}

/// A ConfigMap of this name, as the only object of a fleet.
pub(super) fn config_map(name: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n")
}

/// A cluster with the namespace of the fleet and the kinds of Cluster API, and its address.
pub(super) fn cluster() -> (tokio::runtime::Runtime, String) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let simulator = kube_sim::Server::new(Arc::new(SimClock::new(wall_time(), 1)));
    let address = runtime.block_on(async {
        let all: Api<Namespace> = Api::all(simulator.client("default"));
        let namespace = json!({"metadata": {"name": "fleets"}});
        let namespace = serde_json::from_value(namespace).expect("a Namespace");
        let created = all.create(&PostParams::default(), &namespace).await;
        created.expect("it is new");
        for definition in foreign() {
            install(&simulator, &definition).await;
        }
        serve(simulator).await
    });
    (runtime, address)
}

async fn install(simulator: &kube_sim::Server, definition: &serde_json::Value) {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let client = simulator.client("default");
    let api: Api<DynamicObject> = Api::all_with(client, &ApiResource::from_gvk(&kind));
    let definition = serde_json::from_value(definition.clone()).expect("a definition");
    let created = api.create(&PostParams::default(), &definition).await;
    created.expect("it is new");
}
