//! A kind that cannot be read because the webhook that converts its objects is down, on both servers: the shipped
//! program names it with the server's own words, does the rest, and removes nothing of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use capstan::adapters::kubernetes::{Access, connect};
use capstan::daemon::wall_time;
use http::StatusCode;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};

use super::pipeline::{apply, runtime};
use crate::kubernetes::{Kubernetes, if_asked};
use crate::servers::{anonymous, serve, serve_router};

/// The newer version is preferred, and the other one is stored: each request converts.
fn definition() -> Json {
    let version = |name: &str, stored: bool| {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({"name": name, "served": true, "storage": stored, "schema": {"openAPIV3Schema": schema}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev", "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [version("v2", false), version("v1", true)],
        },
    })
}

/// A fleet of a ConfigMap with this value, and a Widget.
fn write(dir: &Path, value: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside", "namespace": "default"}, "data": {"a": value}});
    let widget = json!({"apiVersion": "example.dev/v2", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}});
    std::fs::write(dir.join("map.json"), map.to_string()).expect("written");
    std::fs::write(dir.join("widget.json"), widget.to_string()).expect("written");
}

/// Both output streams of the program, and its exit code.
fn capstan(kubeconfig: &Path, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command.args(arguments).arg("--kubeconfig").arg(kubeconfig);
    let output = command.output().expect("it runs");
    let both = [output.stdout, output.stderr].concat();
    (
        String::from_utf8_lossy(&both).into_owned(),
        output.status.code(),
    )
}

async fn value_of(client: &Client) -> Option<String> {
    let maps: Api<DynamicObject> =
        Api::namespaced_with(client.clone(), "default", &resource("", "v1", "ConfigMap"));
    let map = maps.get("beside").await.expect("it is there");
    map.data
        .pointer("/data/a")
        .and_then(Json::as_str)
        .map(str::to_owned)
}

fn resource(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// `whole` reaches the cluster; so does what `break_kind` returns, in which the kind cannot be read until
/// `repair` was called.
fn the_rest_goes_on(
    runtime: &tokio::runtime::Runtime,
    (client, whole): (&Client, &Path),
    break_kind: impl FnOnce() -> PathBuf,
    repair: impl FnOnce(),
) {
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = dir.path().display().to_string();
    write(dir.path(), "1");
    let (first, code) = capstan(whole, &["apply", &fleet, "--timeout", "60s"]);
    assert_eq!(code, Some(0), "{first}");

    let broken = break_kind();
    write(dir.path(), "2");
    for arguments in [
        &["plan", &fleet, "--against", "live"][..],
        &["apply", &fleet, "--dry-run"][..],
    ] {
        let (plan, code) = capstan(&broken, arguments);
        assert_eq!(code, Some(1), "what is not known is no success: {plan}");
        let line = plan
            .lines()
            .find(|line| line.starts_with("not seen: Widget: "));
        assert!(
            line.is_some_and(|line| line.contains("conversion webhook for ")),
            "{plan}"
        );
        assert!(plan.contains("ConfigMap/default/beside"), "{plan}");
        assert!(!plan.contains("cannot reach the cluster"), "{plan}");
    }
    let (applied, code) = capstan(&broken, &["apply", &fleet, "--timeout", "5s"]);
    assert_eq!(code, Some(1), "{applied}");
    assert!(
        applied.contains("not seen: Widget: ")
            && applied.contains("updated    ConfigMap/default/beside"),
        "{applied}"
    );
    assert_eq!(runtime.block_on(value_of(client)).as_deref(), Some("2"));
    let (status, _) = capstan(&broken, &["status"]);
    // Long lines are wrapped.
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        status.contains("not seen: Widget ") && status.contains("conversion webhook for "),
        "{status}"
    );
    let (why, _) = capstan(&broken, &["why", "ConfigMap/default/beside"]);
    assert!(why.contains("ConfigMap/default/beside"), "{why}");
    let (why, _) = capstan(&broken, &["why", "Widget/default/other"]);
    assert!(why.contains("not seen: Widget "), "it may be there: {why}");

    std::fs::remove_file(dir.path().join("widget.json")).expect("removed");
    let (pruned, code) = capstan(&broken, &["apply", &fleet, "--prune", "--timeout", "5s"]);
    assert_eq!(code, Some(1), "{pruned}");
    assert!(pruned.contains("not seen: Widget: "), "{pruned}");
    let late = pruned
        .lines()
        .find(|line| line.contains("not ready within 5s"));
    assert!(
        late.is_some_and(|line| line.ends_with("; not seen: Widget")),
        "{pruned}"
    );
    repair();
    let widgets = resource("example.dev", "v1", "Widget");
    let widgets: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &widgets);
    let there = runtime.block_on(widgets.get_opt("w")).expect("it is read");
    assert!(there.is_some(), "what cannot be seen is not removed");
    let (pruned, code) = capstan(whole, &["apply", &fleet, "--prune", "--timeout", "60s"]);
    assert_eq!(code, Some(0), "{pruned}");
    assert!(pruned.contains("removed    Widget/default/w"), "{pruned}");
}

fn client(runtime: &tokio::runtime::Runtime, kubeconfig: &Path) -> Client {
    let access = Access {
        kubeconfig: Some(kubeconfig.to_owned()),
        context: None,
    };
    let client = runtime
        .block_on(connect(&access))
        .expect("the kubeconfig is whole");
    runtime.block_on(apply(&client, &definition()));
    client
}

#[test]
fn one_kind_that_cannot_be_read_stops_only_itself_on_the_simulator() {
    let runtime = runtime();
    let server = kube_sim::Server::new(Arc::new(SimClock::new(wall_time(), 1)));
    let dir = tempfile::tempdir().expect("a directory");
    let kubeconfig = |name: &str, address: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, anonymous(address)).expect("written");
        path
    };
    let whole = kubeconfig("whole", &runtime.block_on(serve(server.clone())));
    let client = client(&runtime, &whole);
    let front = from_fn(|request: Request, next: Next| async move {
        if !request.uri().path().contains("/widgets") {
            return next.run(request).await;
        }
        // As a kube-apiserver has it whose watch cache cannot list the kind.
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests",
            "message": "storage is (re)initializing: failed to list example.dev/v2, Kind=Widget: conversion webhook for example.dev/v1, Kind=Widget failed: Post \"https://gone.default.svc:443/\": service \"gone\" not found"});
        let headers = [("content-type", "application/json"), ("retry-after", "1")];
        (StatusCode::TOO_MANY_REQUESTS, headers, status.to_string()).into_response()
    });
    let router = server.router().layer(front);
    let broken = || kubeconfig("broken", &runtime.block_on(serve_router(router)));
    the_rest_goes_on(&runtime, (&client, &whole), broken, || {});
}

#[test]
fn one_kind_that_cannot_be_read_stops_only_itself_on_kube_apiserver() {
    let Some(real) = if_asked(Kubernetes::own) else {
        return;
    };
    let (runtime, kubeconfig) = (runtime(), real.kubeconfig().to_owned());
    let client = client(&runtime, &kubeconfig);
    let convert = |conversion: Json| {
        let crds = resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &crds);
        let patch = Patch::Merge(json!({"spec": {"conversion": conversion}}));
        let patched =
            runtime.block_on(crds.patch("widgets.example.dev", &PatchParams::default(), &patch));
        patched.expect("it is patched");
    };
    // The API server takes a moment to serve a kind by its new definition.
    let reads = |is_read: bool| {
        let widgets: Api<DynamicObject> =
            Api::all_with(client.clone(), &resource("example.dev", "v2", "Widget"));
        crate::patience::until(
            || {
                let listed = runtime.block_on(widgets.list(&kube::api::ListParams::default()));
                (listed.is_ok() == is_read).then_some(())
            },
            || format!("Widgets are read: {is_read}"),
        );
    };
    let service = json!({"namespace": "default", "name": "gone", "path": "/"});
    let webhook = json!({"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}});
    let broken = || {
        convert(json!({"strategy": "Webhook", "webhook": webhook}));
        reads(false);
        kubeconfig.clone()
    };
    let repair = || {
        convert(json!({"strategy": "None", "webhook": null}));
        reads(true);
    };
    the_rest_goes_on(&runtime, (&client, &kubeconfig), broken, repair);
}
