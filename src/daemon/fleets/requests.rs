//! The requests to sync on a Fleet object.
//!
//! In: the annotation of the Fleet. Out: the same on the parent of its set, which its daemon watches, and the value that was handed on.
//! It does not know what the daemon does then.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::kubernetes::{FleetObject, annotate_parent};
use crate::api::labels::SYNC_REQUESTED;
use crate::plan::ApplySet;

/// The time after which a request that cannot be handed on is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The request on a Fleet, if there is one.
pub(super) fn request(fleet: &FleetObject) -> Option<String> {
    let value = fleet.json["metadata"]["annotations"][SYNC_REQUESTED].as_str();
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Hands requests on until the answer is dropped. `handled` is the last one that was.
pub(super) fn hand_on(
    client: &Client,
    set: ApplySet,
    mut requests: watch::Receiver<Option<String>>,
    handled: watch::Sender<Option<String>>,
) -> AbortOnDropHandle<()> {
    let client = client.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let request = requests.borrow_and_update().clone();
            if let Some(request) =
                request.filter(|request| handled.borrow().as_ref() != Some(request))
            {
                let asked = annotate_parent(&client, &set, SYNC_REQUESTED, Some(&request)).await;
                if let Err(error) = asked {
                    tracing::warn!(%error, "a request to sync on the Fleet cannot be handed on; retrying");
                    tokio::time::sleep(RETRY).await;
                    requests.mark_changed();
                } else {
                    handled.send_replace(Some(request));
                }
            }
            if requests.changed().await.is_err() {
                return;
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::apply::Parent;

    #[tokio::test(start_paused = true)]
    async fn a_request_that_cannot_be_handed_on_is_tried_again_after_5_seconds() {
        let set = ApplySet::new("f", "n");
        let (start, patches) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let (parent, seen) = (Parent::default().payload(&set), Arc::clone(&patches));
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_patch = request.method() == Method::PATCH;
            let mut seen = seen.lock().expect("no panic");
            if is_patch {
                seen.push(start.elapsed().as_secs());
            }
            let (code, answer) = match is_patch && seen.len() == 1 {
                true => (
                    500,
                    json!({"kind": "Status", "status": "Failure", "code": 500}),
                ),
                false => (200, parent.clone()),
            };
            let body = Body::from(answer.to_string().into_bytes());
            let answer = Response::builder()
                .status(code)
                .body(body)
                .expect("an answer");
            std::future::ready(Ok::<_, Infallible>(answer))
        });
        let client = Client::new(service, "n");
        let (asked, requests) = watch::channel(Some("1".to_owned()));
        let (handled, mut last) = watch::channel(None);
        let _task = hand_on(&client, set, requests, handled);
        let is = |value: &'static str| move |last: &Option<String>| last.as_deref() == Some(value);
        last.wait_for(is("1")).await.expect("it goes on");
        asked.send_replace(Some("2".to_owned()));
        last.wait_for(is("2")).await.expect("it goes on");
        asked.send_replace(None);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(*patches.lock().expect("no panic"), [0, 5, 5]);
    }
}
