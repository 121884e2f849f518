//! The CRDs of our ARO kinds beside CAPZ's: what one takes, the other takes and keeps, as a cluster that changes
//! over from one to the other needs. Both are tried on the simulator and on a real kube-apiserver.

use std::process::Command;

use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use serde_json::{Value as Json, json};

use super::pipeline::{apply, established, runtime};
use crate::kubernetes::{Kubernetes, if_asked};
use crate::real;
use crate::servers::Server;

mod cases;

use cases::{Case, cases};

/// What a cluster made of an object: its spec and status as they were kept, or what is wrong with which part.
#[derive(Debug, PartialEq)]
enum Verdict {
    Kept(Json, Json),
    Refused(&'static str),
}

/// Tries every case under these definitions.
async fn verdicts(client: &Client, definitions: &[Json], cases: &[Case]) -> Vec<Verdict> {
    for definition in definitions {
        let mut definition = definition.clone();
        // Its webhook is not there, and a single version needs none.
        if let Some(spec) = definition["spec"].as_object_mut() {
            spec.remove("conversion");
        }
        apply(client, &definition).await;
    }
    established(client).await;
    let mut verdicts = Vec::new();
    for case in cases {
        verdicts.push(verdict(client, case).await);
    }
    verdicts
}

async fn verdict(client: &Client, case: &Case) -> Verdict {
    let object = &case.object;
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let api_version = text(&object["apiVersion"]);
    let (group, version) = api_version.split_once('/').expect("a group");
    let kind = GroupVersionKind::gvk(group, version, &text(&object["kind"]));
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    let mut created = object.clone();
    let status = created.as_object_mut().expect("a map").remove("status");
    let name = text(&object["metadata"]["name"]);
    let refused = |error: kube::Error, part| match error {
        kube::Error::Api(status) if status.code == 422 => Verdict::Refused(part),
        error => panic!("{}: {error}", case.name),
    };
    let created = serde_json::from_value(created).expect("an object");
    let mut kept = match api.create(&PostParams::default(), &created).await {
        Ok(kept) => kept,
        Err(error) => return refused(error, "spec"),
    };
    let mut result = None;
    if let Some(status) = status {
        let patch = Patch::Merge(json!({"status": status}));
        match api
            .patch_status(&name, &PatchParams::default(), &patch)
            .await
        {
            Ok(after) => kept = after,
            Err(error) => result = Some(refused(error, "status")),
        }
    }
    let deleted = api.delete(&name, &DeleteParams::default()).await;
    deleted.expect("it is there");
    let part = |part: &str| kept.data.get(part).cloned().unwrap_or_default();
    result.unwrap_or_else(|| Verdict::Kept(without_nulls(part("spec")), part("status")))
}

/// One keeps a null, the other drops it: both read it as absent.
fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        other => other,
    }
}

/// Compares the verdicts under both with each other and with what is expected.
fn compare(cases: &[Case], ours: &[Verdict], theirs: Option<&[Verdict]>) {
    for (place, case) in cases.iter().enumerate() {
        let expected = match case.refused {
            None => matches!(ours[place], Verdict::Kept(..)),
            Some(part) => ours[place] == Verdict::Refused(part),
        };
        assert!(expected, "ours, {}: {:?}", case.name, ours[place]);
        if let Some(theirs) = theirs {
            assert_eq!(ours[place], theirs[place], "CAPZ's, {}", case.name);
        }
    }
}

/// Objects that people wrote by hand, and those that Capstan writes.
fn written() -> Vec<Case> {
    let samples = ["aro-hcp-2025-12-23", "aro-hcp-2026-09-01"];
    let samples = samples.into_iter().filter_map(|sample| {
        let file = real::shared(&format!("samples/{sample}/aro.yaml"))?;
        let documents = real::documents(&file);
        Some(documents.into_iter().map(|node| node.to_json()))
    });
    let mut objects: Vec<Json> = samples.flatten().collect();
    let render = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .arg("render")
        .args(crate::cli::FLEET)
        .args(["-o", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("it runs");
    let rendered: Json = serde_json::from_slice(&render.stdout).expect("a list");
    objects.extend(rendered["items"].as_array().expect("items").iter().cloned());
    let aro = [
        "AROCluster",
        "AROControlPlane",
        "AROMachinePool",
        "AzureClusterIdentity",
    ];
    objects.retain(|object| aro.iter().any(|kind| object["kind"] == *kind));
    objects
        .into_iter()
        .map(|mut object| {
            let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
            object["metadata"]["namespace"] = json!("default");
            Case {
                name,
                object,
                refused: None,
            }
        })
        .collect()
}

/// All cases, and whether each is in the common fields.
fn all() -> Vec<Case> {
    let written = written();
    assert!(written.len() > 10, "only {} were written", written.len());
    cases().into_iter().chain(written).collect()
}

fn ours() -> Vec<Json> {
    capstan::api::crds::crds()
}

/// The fields of the proposal that CAPZ dropped are kept by ours.
fn what_is_added_is_kept(client: &Client, runtime: &tokio::runtime::Runtime) {
    let added = cases::added();
    let verdicts = runtime.block_on(verdicts(client, &ours(), &added));
    for (case, verdict) in added.iter().zip(verdicts) {
        let object = &case.object;
        let kept = Verdict::Kept(object["spec"].clone(), object["status"].clone());
        assert_eq!(verdict, kept, "{}", case.name);
    }
}

#[test]
fn what_one_takes_the_other_takes_on_the_simulator() {
    let all = all();
    let tried = |definitions: &[Json]| {
        let server = Server::simulator();
        server.runtime().block_on(async {
            let client = server.client().await;
            verdicts(&client, definitions, &all).await
        })
    };
    let theirs = real::crds("capz").map(|theirs| tried(&theirs));
    compare(&all, &tried(&ours()), theirs.as_deref());
    let server = Server::simulator();
    let runtime = server.runtime();
    let client = runtime.block_on(server.client());
    what_is_added_is_kept(&client, &runtime);
}

#[test]
fn what_one_takes_the_other_takes_on_kube_apiserver() {
    let all = all();
    let runtime = runtime();
    let tried = |definitions: &[Json]| {
        let server = if_asked(Kubernetes::own)?;
        Some(runtime.block_on(async {
            let client = server.client().await;
            verdicts(&client, definitions, &all).await
        }))
    };
    let Some(of_ours) = tried(&ours()) else {
        return;
    };
    let theirs = real::crds("capz").and_then(|theirs| tried(&theirs));
    compare(&all, &of_ours, theirs.as_deref());
    let server = if_asked(Kubernetes::own).expect("there was one");
    let client = runtime.block_on(server.client());
    what_is_added_is_kept(&client, &runtime);
}
