//! An approval to recreate an HCP cluster, from the trailer of a commit to the annotation that the controllers heed.

use std::sync::Mutex;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::apply::ApprovalsRequest;

const LOST: &str = "Cluster 'c' is in state 'error', can't update";

/// A cluster with an HCP cluster that Azure failed to create. It does not answer the first `failures` requests; what is
/// written to it is kept.
fn cluster(failures: usize) -> (Client, Arc<Mutex<Vec<Value>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let (log, count) = (Arc::clone(&written), Arc::new(Mutex::new(0)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (log, count) = (Arc::clone(&log), Arc::clone(&count));
        async move {
            let is_away = {
                let mut count = count.lock().unwrap();
                *count += 1;
                *count <= failures
            };
            let is_hcp = request.uri().path().contains("hcpopenshiftclusters");
            if request.method() == Method::PATCH && !is_away {
                let body = request.into_body().collect_bytes().await.unwrap();
                let patch = serde_json::from_slice(&body).unwrap();
                log.lock().unwrap().push(patch);
            }
            let (code, answer) = match (is_away, is_hcp) {
                (true, _) => (StatusCode::SERVICE_UNAVAILABLE, failure()),
                (_, true) => (StatusCode::OK, hcp()),
                _ => (StatusCode::OK, plane()),
            };
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    (Client::new(service, "default"), written)
}

fn failure() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 503,
        "reason": "ServiceUnavailable", "message": "away", "metadata": {}})
}

fn plane() -> Value {
    let resource = json!({"group": "redhatopenshift.azure.com", "version": "v1", "kind": "HcpOpenShiftCluster", "name": "c"});
    json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
        "metadata": {"name": "c", "namespace": "ns"}, "status": {"resources": [{"resource": resource, "ready": false}]}})
}

fn hcp() -> Value {
    let ready =
        json!({"type": "Ready", "status": "False", "observedGeneration": 1, "message": LOST});
    json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": "HcpOpenShiftCluster",
        "metadata": {"name": "c", "uid": "u7", "generation": 1}, "status": {"conditions": [ready]}})
}

#[tokio::test(start_paused = true)]
async fn an_approval_in_a_commit_reaches_a_cluster_that_did_not_answer_at_first() {
    let mut case = Case::new();
    let (client, written) = cluster(6);
    case.daemon.target.account = client;
    let author = Author::init(&case._dir.path().join("config.git")).unwrap();
    let files: Files = [("a.yaml".to_owned(), "# again\n".to_owned())].into();
    let message = "again\n\nCapstan-Approve: recreate ns/c\n";
    let (first, now) = (case.commit.clone(), Timestamp::UNIX_EPOCH);
    let second = author.push("main", Some(&first), &files, message, now);
    let second = second.unwrap();
    let Origin::Repository(mirror) = &case.daemon.source.revisions.origin else {
        panic!("a repository");
    };
    mirror.fetch().unwrap();
    case.parts().heads.set(&second, &second);
    case.examined(case.examination(&second, config_maps(&["b"])));
    let request = ApprovalsRequest {
        number: case.number(),
        applied: first,
    };
    case.daemon.jobs.abort_all();
    while case.daemon.jobs.join_next().await.is_some() {}
    case.only(Event::Cluster(ClusterEvent::ApprovalsAsked(request)));
    let read = case.daemon.jobs.join_next().await.unwrap().unwrap();
    let start = Instant::now();
    case.only(read);
    let is_progress = |event| matches!(event, Event::Time(TimeEvent::Progress));
    while !is_progress(case.daemon.jobs.join_next().await.unwrap().unwrap()) {
        assert!(written.lock().unwrap().is_empty());
    }
    let pauses = [15, 30, 60, 120, 240, 300];
    assert_eq!(start.elapsed().as_secs(), pauses.iter().sum::<u64>());
    let annotation = json!({"metadata": {"annotations": {"capstan.dev/recreate": "u7"}}});
    assert_eq!(*written.lock().unwrap(), [annotation]);
}
