//! What is watched beside the jobs: the cluster for what people ask, webhooks, and a directory.
//!
//! In: what to watch. Out: events, until the answer is dropped.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Notify, watch};
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::spans::spawn_blocking;
use crate::adapters::git::FollowedDirectory;
use crate::adapters::http::Hints;
use crate::adapters::kubernetes;
use crate::apply::{SourceError, whole_seconds};
use crate::daemon::wall_time;
use crate::follow::{Event, GitEvent, PeopleEvent, View};
use crate::model::{ApprovalButtons, Hint};
use crate::plan::ApplySet;

/// How long after one hint the next is heard: all that come in between are one.
const PAUSE: Duration = Duration::from_secs(2);
/// The time after which a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);
/// The same for one change of a directory and the next.
const CHANGES_PAUSE: Duration = Duration::from_millis(500);

/// Follows what people ask of the fleet of `set`. A signed hint that another process left goes to `relayed`.
pub(super) fn follow_steering(
    client: &Client,
    set: &ApplySet,
    relayed: watch::Sender<Option<String>>,
    events: UnboundedSender<Event>,
) -> AbortOnDropHandle<()> {
    let mut asked = kubernetes::steering(client, set);
    let following = async move {
        while let Some(mut steering) = asked.next().await {
            let text = steering.webhook.take();
            relayed.send_if_modified(|known| {
                let is_new = *known != text;
                *known = text;
                is_new
            });
            let _ = events.send(Event::People(PeopleEvent::Steered(steering)));
        }
    };
    AbortOnDropHandle::new(tokio::spawn(following.in_current_span()))
}

/// Records in the parent of `set` that the source cannot be read, when that begins and when it ends.
pub(super) fn record_source_errors(
    client: &Client,
    set: &ApplySet,
    mut view: watch::Receiver<View>,
) -> AbortOnDropHandle<()> {
    let (client, set) = (client.clone(), set.clone());
    let recording = async move {
        // An earlier process may have recorded one.
        let mut recorded = None;
        loop {
            let failed = {
                let view = view.borrow_and_update();
                let is_looked = view.source_error.is_some() || view.examined.is_some();
                is_looked.then(|| view.source_error.as_ref().map(ToString::to_string))
            };
            let is_failing = failed.as_ref().map(Option::is_some);
            if let Some(why) = failed.filter(|_| recorded != is_failing) {
                let error = why.map(|why| SourceError::new(&now(), &why));
                match kubernetes::record_source_error(&client, &set, error.as_ref()).await {
                    Ok(()) => recorded = is_failing,
                    Err(error) => {
                        tracing::debug!(%error, "cannot record in the parent that the source cannot be read");
                        tokio::time::sleep(RETRY).await;
                        continue;
                    }
                }
            }
            if view.changed().await.is_err() {
                return;
            }
        }
    };
    AbortOnDropHandle::new(tokio::spawn(recording.in_current_span()))
}

fn now() -> String {
    whole_seconds(&wall_time().to_string())
}

/// Follows the webhooks, once the view tells what the fleet reports on: a press or a re-run that came before would be for nothing. What they
/// ask of the checks of other apps than that with these `buttons` is left out.
pub(super) fn follow_hints(
    hints: Arc<Hints>,
    buttons: Option<Arc<dyn ApprovalButtons>>,
    mut view: watch::Receiver<View>,
    events: UnboundedSender<Event>,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let is_known = |view: &View| view.examined.is_some() || view.source_error.is_some();
        if view.wait_for(is_known).await.is_err() {
            return;
        }
        loop {
            let hint = of_own_app(hints.next().await, buttons.as_deref());
            let _ = events.send(Event::People(PeopleEvent::WebhookReceived(hint)));
            tokio::time::sleep(PAUSE).await;
        }
    }))
}

/// Follows a directory.
pub(super) fn follow_directory(
    directory: Arc<FollowedDirectory>,
    events: UnboundedSender<Event>,
) -> AbortOnDropHandle<()> {
    let changed = Arc::new(Notify::new());
    let notice = Arc::clone(&changed);
    let following = async move {
        // It reads all that is to be watched.
        let watching = move || directory.watch(move || notice.notify_one());
        drop(spawn_blocking(watching).await);
        let look = || drop(events.send(Event::Git(GitEvent::DirectoryChanged)));
        pass_on(&changed, look).await;
    };
    AbortOnDropHandle::new(tokio::spawn(following.in_current_span()))
}

/// Looks after each change, for ever.
pub(super) async fn pass_on(changed: &Notify, look: impl Fn()) {
    loop {
        changed.notified().await;
        look();
        tokio::time::sleep(CHANGES_PAUSE).await;
    }
}

/// The hint without what is asked of the checks of other GitHub Apps.
pub(super) fn of_own_app(mut hint: Hint, buttons: Option<&dyn ApprovalButtons>) -> Hint {
    let own = buttons.and_then(ApprovalButtons::app);
    hint.presses.retain(|press| own == Some(press.app));
    hint.reruns
        .retain(|rerun| rerun.app.zip(own).is_none_or(|(asked, own)| asked == own));
    hint
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use http::{Method, Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::apply::Parent;
    use crate::model::{AdapterError, ErrorClass};

    #[tokio::test(start_paused = true)]
    async fn a_source_error_is_recorded_when_it_begins_and_ends_and_tried_again_after_5_seconds() {
        let set = ApplySet::new("f", "n");
        let (start, patches) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let live = Arc::new(Mutex::new(Parent::default().payload(&set)));
        let seen = Arc::clone(&patches);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (live, seen) = (Arc::clone(&live), Arc::clone(&seen));
            async move {
                let is_patch = request.method() == Method::PATCH;
                let body = http_body_util::BodyExt::collect(request.into_body()).await;
                let body = body.expect("whole").to_bytes();
                let mut live = live.lock().expect("no panic");
                let mut code = 200;
                if is_patch {
                    let patch: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
                    let error = patch["data"]["sourceError"].clone();
                    let mut seen = seen.lock().expect("no panic");
                    seen.push((start.elapsed().as_secs(), error.is_string()));
                    if seen.len() == 1 {
                        code = 500;
                    } else {
                        live["data"]["sourceError"] = error;
                    }
                }
                let answer = match code {
                    200 => live.clone(),
                    _ => json!({"kind": "Status", "status": "Failure", "code": code}),
                };
                let body = Body::from(answer.to_string().into_bytes());
                let answer = Response::builder().status(code).body(body);
                Ok::<_, Infallible>(answer.expect("an answer"))
            }
        });
        let client = Client::new(service, "n");
        let (view, viewed) = watch::channel(View::default());
        let _task = record_source_errors(&client, &set, viewed);
        let fails = |why: &str| View {
            source_error: Some(AdapterError::new(ErrorClass::Transient, why.to_owned())),
            ..View::default()
        };
        let works = || View {
            examined: Some("1".to_owned()),
            ..View::default()
        };
        let pause = async || tokio::time::sleep(Duration::from_secs(20)).await;
        view.send_replace(fails("no route"));
        pause().await;
        // Another reason is the same outage.
        view.send_replace(fails("no answer"));
        pause().await;
        view.send_replace(works());
        pause().await;
        let expected = [(0, true), (5, true), (40, false)];
        assert_eq!(*patches.lock().expect("no panic"), expected);
    }
}
