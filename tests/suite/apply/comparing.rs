//! A plan beside a cluster in which others are at work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use capstan::adapters::kubernetes::{Compared, compare};
use capstan::apply::DeletionGuard;
use capstan::model::{Change, ObjectId};
use capstan::plan::against_none;
use http::Method;
use kube::Client;
use serde_json::json;

use super::stage::{Stage, fleet, set};

fn map(value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{k: {value}}}}}\n"
    )
}

/// The server of `stage`; somebody writes to the object before each of the first `times` dry runs, which
/// are counted.
fn disturbed(stage: &Arc<Stage>, times: usize) -> (Router, Arc<AtomicUsize>) {
    let (stage, asked) = (Arc::clone(stage), Arc::new(AtomicUsize::new(0)));
    let (router, count) = (stage.server.router(), Arc::clone(&asked));
    let layer = from_fn(move |request: Request, next: Next| {
        let (stage, asked) = (Arc::clone(&stage), Arc::clone(&asked));
        async move {
            if request.method() == Method::PATCH {
                let at = asked.fetch_add(1, Ordering::SeqCst);
                if at < times {
                    let theirs = json!({
                        "apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "a", "namespace": "default"}, "data": {"theirs": at.to_string()},
                    });
                    stage.apply("somebody", &theirs).await;
                }
            }
            next.run(request).await
        }
    });
    (router.layer(layer), count)
}

async fn compared(router: Router, yaml: &str) -> Compared {
    let compiled = fleet(yaml);
    let plan = against_none(&compiled.objects, &compiled.graph, &set());
    let client = Client::new(router, "default");
    let compared = compare(&client, &set(), plan, DeletionGuard::default()).await;
    compared.expect("the server answers")
}

#[tokio::test(start_paused = true)]
async fn what_others_write_meanwhile_is_no_change_of_ours() {
    let stage = Arc::new(Stage::new());
    stage.run(&map("one")).until_ready().await;
    let id = ObjectId::new("", "ConfigMap", "default", "a");
    for times in [0, 1, 3] {
        let compared = compared(disturbed(&stage, times).0, &map("two")).await;
        assert_eq!(compared.plan.steps[0].change, Change::InPlace, "{times}");
        assert_eq!(compared.fields[&id], ["/data/k"], "{times}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_writes_all_the_time_does_not_hold_a_plan_up() {
    let stage = Arc::new(Stage::new());
    stage.run(&map("one")).until_ready().await;
    let (router, asked) = disturbed(&stage, 100);
    let compared = compared(router, &map("two")).await;
    assert_eq!(compared.plan.steps[0].change, Change::InPlace);
    assert_eq!(asked.load(Ordering::SeqCst), 5);
}
