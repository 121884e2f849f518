//! A plan beside a cluster in which others are at work.

use std::collections::BTreeSet;
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

use super::fixture::{Fixture, fleet, set};

fn map(value: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: default}}, data: {{k: {value}}}}}\n"
    )
}

/// The server of `fixture`; somebody writes to the object before each of the first `times` dry runs, which
/// are counted.
fn disturbed(fixture: &Arc<Fixture>, times: usize) -> (Router, Arc<AtomicUsize>) {
    let (fixture, asked) = (Arc::clone(fixture), Arc::new(AtomicUsize::new(0)));
    let (router, count) = (fixture.server.router(), Arc::clone(&asked));
    let layer = from_fn(move |request: Request, next: Next| {
        let (fixture, asked) = (Arc::clone(&fixture), Arc::clone(&asked));
        async move {
            if request.method() == Method::PATCH {
                let at = asked.fetch_add(1, Ordering::SeqCst);
                if at < times {
                    let theirs = json!({
                        "apiVersion": "v1", "kind": "ConfigMap",
                        "metadata": {"name": "a", "namespace": "default"}, "data": {"theirs": at.to_string()},
                    });
                    fixture.apply("somebody", &theirs).await;
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
    let compared = compare(
        &client,
        &set(),
        plan,
        DeletionGuard::default(),
        &BTreeSet::new(),
    )
    .await;
    compared.expect("the server answers")
}

#[tokio::test(start_paused = true)]
async fn what_others_write_meanwhile_is_no_change_of_ours() {
    let fixture = Arc::new(Fixture::new());
    fixture.run(&map("one")).until_ready().await;
    let id = ObjectId::new("", "ConfigMap", "default", "a");
    for times in [0, 1, 3] {
        let compared = compared(disturbed(&fixture, times).0, &map("two")).await;
        assert_eq!(compared.plan.steps[0].change, Change::InPlace, "{times}");
        assert_eq!(compared.fields[&id], ["/data/k"], "{times}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_writes_all_the_time_does_not_hold_a_plan_up() {
    let fixture = Arc::new(Fixture::new());
    fixture.run(&map("one")).until_ready().await;
    let (router, asked) = disturbed(&fixture, 100);
    let compared = compared(router, &map("two")).await;
    assert_eq!(compared.plan.steps[0].change, Change::InPlace);
    assert_eq!(asked.load(Ordering::SeqCst), 5);
}
