//! Status messages of the shipped daemon over a real NATS server.

use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use super::api::kube_virt;
use super::nats_server::{NatsServer, create_stream, stored};
use super::world::World;
use crate::patience::until;

/// Another client, which keeps what it hears.
struct Subscriber {
    heard: Arc<Mutex<Vec<Json>>>,
    _runtime: Runtime,
}

impl Subscriber {
    fn listen(server: &NatsServer, subject: &'static str) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let heard = Arc::new(Mutex::new(Vec::new()));
        let client = runtime.block_on(server.client());
        let keep = Arc::clone(&heard);
        let (ready, listening) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            let mut messages = client.subscribe(subject).await.expect("subscribed");
            client.flush().await.expect("flushed");
            ready.send(()).expect("somebody waits");
            while let Some(message) = messages.next().await {
                let event = serde_json::from_slice(&message.payload).expect("JSON");
                keep.lock().expect("no panic").push(event);
            }
        });
        listening.recv().expect("it listens");
        Self {
            heard,
            _runtime: runtime,
        }
    }

    fn heard(&self) -> Vec<Json> {
        self.heard.lock().expect("no panic").clone()
    }

    /// Waits until the last status is this one, and returns all.
    #[track_caller]
    fn until_last(&self, status: &str) -> Vec<String> {
        let statuses = || {
            let heard = self.heard();
            let statuses = heard.iter().map(|event| {
                event["data"]["status"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            });
            statuses.collect::<Vec<_>>()
        };
        let reached = || {
            statuses()
                .last()
                .is_some_and(|last| last == status)
                .then(statuses)
        };
        until(reached, || format!("{:?}", self.heard()))
    }
}

fn settings(server: &NatsServer, mode: &str) -> String {
    format!(
        "writeMode: {mode}, messaging: {{url: '{}', debounce: 50ms}}",
        server.url()
    )
}

#[test]
fn a_rollout_is_pending_then_provisioning_then_ready_and_at_last_deleted() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let consumer = Subscriber::listen(&server, "dcm.cluster");
    let proposal = Subscriber::listen(&server, "dcm.providers.>");
    let world = World::at_speed(60, &settings(&server, "commit"), &[]);
    let made = world.post("/clusters?id=kv-1", &kube_virt("dev"));
    assert_eq!(made.status, 201, "{made:?}");
    let statuses = consumer.until_last("READY");
    assert_eq!(statuses, ["PENDING", "PROVISIONING", "READY"]);
    assert_eq!(world.delete("/clusters/kv-1").status, 204);
    let statuses = consumer.until_last("DELETED");
    assert_eq!(
        statuses,
        ["PENDING", "PROVISIONING", "READY", "DELETING", "DELETED"]
    );
    assert_eq!(proposal.until_last("DELETED"), statuses);
    let first = &proposal.heard()[0];
    assert_eq!(first["specversion"], "1.0");
    assert_eq!(first["type"], "dcm.providers.acm-cluster-sp.status.update");
    assert_eq!(
        first["subject"],
        "dcm.providers.acm-cluster-sp.cluster.instances.kv-1.status"
    );
    let first = &consumer.heard()[0];
    assert_eq!(
        (&first["source"], &first["type"]),
        (
            &json!("dcm/providers/acm-cluster-sp"),
            &json!("dcm.status.cluster")
        )
    );
    assert_eq!(first["data"]["id"], "kv-1");
}

#[test]
fn what_is_known_at_the_end_of_the_process_is_told_before_it() {
    let Some(server) = NatsServer::with_jetstream() else {
        return;
    };
    let consumer = Subscriber::listen(&server, "dcm.cluster");
    let settings = format!(
        "writeMode: direct, messaging: {{url: '{}', debounce: 9s}}",
        server.url()
    );
    let mut world = World::start(&settings);
    let made = world.post("/clusters?id=kv-1", &kube_virt("dev"));
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(consumer.heard(), [Json::Null; 0], "it waits");
    let (code, said) = world.stop();
    assert_eq!(code, Some(0), "{said}");
    let heard = || Some(consumer.heard()).filter(|heard| !heard.is_empty());
    let heard = until(heard, || said.clone());
    // How far it came until then is a matter of speed.
    assert_eq!((heard.len(), &heard[0]["data"]["id"]), (1, &json!("kv-1")));
}

#[test]
fn what_happens_while_nats_is_away_arrives_once_it_is_back() {
    let Some(mut server) = NatsServer::with_jetstream() else {
        return;
    };
    let runtime = Runtime::new().expect("a runtime");
    runtime
        .block_on(async { create_stream(&server.client().await, "dcm-status", &["dcm.*"]).await });
    let world = World::at_speed(120, &settings(&server, "direct"), &[]);
    server.kill();
    assert_eq!(
        world.post("/clusters?id=kv-1", &kube_virt("dev")).status,
        201
    );
    world.until_status("kv-1", "READY");
    server.restart();
    let last = || {
        let all = runtime.block_on(async { stored(&server.client().await, "dcm-status").await });
        let event: Json = serde_json::from_str(&all.last()?.payload).expect("JSON");
        (event["data"]["status"] == "READY").then_some(all)
    };
    let all = until(last, || world.said());
    let mut ids: Vec<&String> = all.iter().map(|message| &message.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all.len(), "no message is there twice");
}
