//! Controllers of kube-runtime on a paused clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::core::PartialObjectMeta;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::watcher::{self, watcher};
use kube::{Resource, ResourceExt};
use serde_json::json;

use super::{apply, config_map, config_maps, server};

fn deployment(name: &str) -> Deployment {
    serde_json::from_value(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}))
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_requeues_and_writes_status() {
    let server = server();
    let api: Api<Deployment> = Api::default_namespaced(server.client("default"));
    api.create(&PostParams::default(), &deployment("a"))
        .await
        .unwrap();
    let start = tokio::time::Instant::now();
    let runs: Arc<Mutex<Vec<u64>>> = Arc::default();
    let (stop, stopped) = futures::channel::oneshot::channel::<()>();
    let stop = Arc::new(Mutex::new(Some(stop)));
    let reconcile = {
        let (api, runs) = (api.clone(), runs.clone());
        move |object: Arc<Deployment>, _: Arc<()>| {
            let (api, runs, stop) = (api.clone(), runs.clone(), stop.clone());
            async move {
                runs.lock().unwrap().push(start.elapsed().as_secs());
                let status = json!({"apiVersion": "apps/v1", "kind": "Deployment",
                    "status": {"observedGeneration": object.metadata.generation, "readyReplicas": 1}});
                let params = PatchParams::apply("test-controller");
                api.patch_status(&object.name_any(), &params, &Patch::Apply(status))
                    .await?;
                if start.elapsed() > Duration::from_secs(3600) {
                    stop.lock().unwrap().take().map(|stop| stop.send(()));
                }
                Ok::<_, kube::Error>(Action::requeue(Duration::from_secs(3600)))
            }
        }
    };
    Controller::new(api.clone(), watcher::Config::default())
        .graceful_shutdown_on(stopped.map(|_| ()))
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(()))
        .for_each(|_| async {})
        .await;
    // Once for the object, once for its status, and an hour later.
    let runs = runs.lock().unwrap().clone();
    assert_eq!(runs[..2], [0, 0]);
    assert!(runs[2] >= 3600, "{runs:?}");
    let status = api.get("a").await.unwrap().status.unwrap();
    assert_eq!(status.observed_generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_metadata_gets_nothing_else() {
    let (server, api) = config_maps();
    apply(&api, "me", config_map("a", json!({"k": "v"})))
        .await
        .unwrap();
    let partial: Api<PartialObjectMeta<ConfigMap>> =
        Api::default_namespaced(server.client("default"));
    let mut seen = watcher(partial, watcher::Config::default()).boxed();
    while !matches!(
        seen.try_next().await.unwrap().unwrap(),
        watcher::Event::InitDone
    ) {}
    apply(&api, "me", config_map("b", json!({"k": "v"})))
        .await
        .unwrap();
    let watcher::Event::Apply(object) = seen.try_next().await.unwrap().unwrap() else {
        panic!("an apply is expected")
    };
    assert_eq!(object.name_any(), "b");
    assert_eq!(object.types.unwrap().kind, "PartialObjectMetadata");
}

#[tokio::test(start_paused = true)]
async fn a_recorder_counts_an_event_that_repeats() {
    let (server, api) = config_maps();
    let object = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let recorder = Recorder::new(server.client("default"), "test".into());
    let event = Event {
        type_: EventType::Normal,
        reason: "Applied".into(),
        note: Some("ok".into()),
        action: "Apply".into(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder
            .publish(&event, &object.object_ref(&()))
            .await
            .unwrap();
    }
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::default_namespaced(server.client("default"));
    let events = events.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].series.as_ref().unwrap().count, 3);
}
