//! The server through `kube::Client`, as its users see it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::needless_pass_by_value)]

mod apply;
mod collect;
mod controllers;
mod definitions;
mod lists;
mod objects;
mod rules;
mod watches;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind, Status};
use serde_json::{Value, json};

use super::Server;
use crate::Clock;

/// Starts at a fixed time and runs with tokio's clock, paused or not.
struct TestClock {
    start: tokio::time::Instant,
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let epoch: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let elapsed = self.start.elapsed().as_secs();
        epoch + Duration::from_secs(elapsed)
    }

    fn real(&self, duration: Duration) -> Duration {
        duration
    }
}

/// A new server.
fn server() -> Server {
    let start = tokio::time::Instant::now();
    Server::new(Arc::new(TestClock { start }))
}

/// ConfigMaps in the namespace `default` of a new server.
fn config_maps() -> (Server, Api<ConfigMap>) {
    let server = server();
    let api = Api::default_namespaced(server.client("default"));
    (server, api)
}

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

async fn apply(api: &Api<ConfigMap>, manager: &str, object: Value) -> kube::Result<ConfigMap> {
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    api.patch(&name, &PatchParams::apply(manager), &Patch::Apply(object))
        .await
}

/// Objects of any kind, in the namespace `default`.
fn dynamic(server: &Server, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk(group, version, kind);
    Api::default_namespaced_with(server.client("default"), &ApiResource::from_gvk(&kind))
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

/// The `Status` that a request was refused with.
fn refusal<T: std::fmt::Debug>(result: kube::Result<T>) -> Status {
    match result {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("not refused: {other:?}"),
    }
}
