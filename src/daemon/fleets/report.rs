//! Writes the status of one Fleet object.
//!
//! In: the view of its daemon, what the cluster records of the fleet, and the phase of the daemon. Out: the status, written
//! when it changes. It does not know how the fleet is followed.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::events::Events;
use crate::adapters::kubernetes::{Error, FleetObject, fleet_version, parents, write_fleet_status};
use crate::api::fleet::{self, FleetStatus};
use crate::apply::{Parent, whole_seconds};
use crate::daemon::wall_time;
use crate::follow::View;
use crate::model::ErrorClass;
use crate::plan::ApplySet;
use crate::reporting::{ObservedFleet, Stall, fleet_status, stalled, sync_context};
use crate::settings::SyncConfig;

/// The time between two writes: all that changes in between is one.
const PAUSE: Duration = Duration::from_secs(1);
/// The time after a write that failed.
const RETRY: Duration = Duration::from_secs(5);

/// The work of the daemon of a Fleet.
#[derive(Clone)]
pub(super) enum Phase {
    /// It begins.
    Starting,
    /// It follows the source. The client is that of the cluster with the fleet's objects.
    Following(Client),
    /// It does nothing: the reason, and what to change.
    Stalled(&'static str, String),
    /// It does nothing yet, for a reason that may pass.
    Waiting(&'static str, String),
}

impl Phase {
    /// Returns true if both do nothing for the same reason.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stalled(one, why), Self::Stalled(other, other_why))
            | (Self::Waiting(one, why), Self::Waiting(other, other_why)) => {
                (one, why) == (other, other_why)
            }
            _ => false,
        }
    }
}

/// A Fleet, and everything that its status is made of.
pub(super) struct Reported {
    /// The client of the cluster with the object.
    pub(super) client: Client,
    pub(super) fleet: Arc<FleetObject>,
    /// Its settings; `None` if they cannot be used.
    pub(super) config: Option<SyncConfig>,
    pub(super) view: watch::Receiver<View>,
    pub(super) phases: watch::Receiver<Phase>,
    /// The last request to sync that was handed on.
    pub(super) handled: watch::Receiver<Option<String>>,
}

/// Writes the status until the daemon has ended.
pub(super) async fn report(mut reported: Reported) {
    let before = reported.fleet.json.get("status").cloned();
    let before = before.and_then(|status| serde_json::from_value(status).ok());
    let mut written: FleetStatus = before.unwrap_or_default();
    let version = &reported.fleet.json["metadata"]["resourceVersion"];
    let mut version = version.as_str().map(str::to_owned);
    let mut events = Events::since(&reported.fleet, &written);
    let (recorded, mut parent) = watch::channel(None);
    let mut watching = None;
    loop {
        let phase = reported.phases.borrow_and_update().clone();
        if let (Phase::Following(client), Some(config), None) =
            (&phase, &reported.config, &watching)
        {
            watching = watch_parent(config, client, recorded.clone());
        }
        if !matches!(phase, Phase::Following(_)) {
            // Another attempt may be on another cluster.
            watching = None;
            recorded.send_replace(None);
        }
        let live = parent.borrow_and_update().clone();
        let handled = reported.handled.borrow_and_update().clone();
        let suspended_by = reported.suspended_by(live.as_ref());
        let mut status = reported.status(&phase, live.as_ref(), &written);
        status.last_handled_sync_at = handled;
        date_suspension(&mut status, suspended_by, &written);
        let mut pause = PAUSE;
        if status != written {
            match reported.write(&mut version, &status).await {
                Ok(()) => written = status,
                Err(error) if error.class() == ErrorClass::Conflict => {
                    reported.view.mark_changed();
                }
                Err(error) => {
                    tracing::warn!(fleet = reported.fleet.id.name, namespace = reported.fleet.id.namespace, %error, "the status of the Fleet cannot be written; retrying");
                    pause = RETRY;
                    reported.view.mark_changed();
                }
            }
        }
        events.report(&reported.client, &written).await;
        tokio::time::sleep(pause).await;
        tokio::select! {
            biased;
            changed = reported.view.changed() => if changed.is_err() {
                return;
            },
            changed = reported.phases.changed() => if changed.is_err() {
                return;
            },
            changed = reported.handled.changed() => if changed.is_err() {
                return;
            },
            _ = parent.changed() => {}
        }
    }
}

/// Follows what the cluster of `client` records of the fleet, until the answer is dropped.
fn watch_parent(
    config: &SyncConfig,
    client: &Client,
    recorded: watch::Sender<Option<Option<Parent>>>,
) -> Option<AbortOnDropHandle<()>> {
    if config.is_check_only() {
        return None;
    }
    let mut parents = parents(client, &ApplySet::new(&config.fleet, &config.namespace));
    let watching = async move {
        while let Some(parent) = parents.next().await {
            recorded.send_replace(Some(parent));
        }
    };
    Some(AbortOnDropHandle::new(tokio::spawn(watching)))
}

impl Reported {
    /// Writes the status in place of the one of this version of the Fleet, which is read if it is not known.
    async fn write(&self, version: &mut Option<String>, status: &FleetStatus) -> Result<(), Error> {
        let known = match version.take() {
            None => fleet_version(&self.client, &self.fleet).await?,
            known => known,
        };
        let Some(known) = known else {
            return Ok(());
        };
        let new = write_fleet_status(&self.client, &self.fleet, &known, status).await?;
        *version = Some(new);
        Ok(())
    }

    fn status(
        &mut self,
        phase: &Phase,
        read: Option<&Option<Parent>>,
        before: &FleetStatus,
    ) -> FleetStatus {
        let (generation, now) = (self.fleet.generation, wall_time());
        let may_pass = matches!(phase, Phase::Waiting(..));
        if let Phase::Stalled(reason, message) | Phase::Waiting(reason, message) = phase {
            let stall = Stall {
                reason,
                message,
                may_pass,
            };
            return stalled(before, &stall, generation, now);
        }
        let view = self.view.borrow_and_update();
        let revision = view.examined.as_deref();
        let name = self.config.as_ref().map(SyncConfig::checks_name);
        let context = sync_context(&name.unwrap_or_default());
        let is_current = revision == view.revision.as_deref();
        let source = view.source_error.as_ref().map(Err);
        let config = self.config.as_ref();
        let is_check_only = config.is_some_and(SyncConfig::is_check_only);
        let observed = ObservedFleet {
            generation,
            source: source.or_else(|| revision.map(|_| Ok(()))),
            revision,
            check: revision.and_then(|revision| view.check(&context, revision)),
            summary: view.summary.as_ref().filter(|_| is_current),
            parent: read.and_then(Option::as_ref),
            is_parent_read: is_check_only || read.is_some(),
            is_suspended: config.is_some_and(|config| config.suspend),
            is_check_only,
        };
        fleet_status(before, &observed, now)
    }
}

/// A suspension that the parent does not record began when it was first seen.
fn date_suspension(status: &mut FleetStatus, by: Option<String>, before: &FleetStatus) {
    if by.is_some() && status.suspended_since.is_none() {
        let before = before.suspended_since.clone();
        let now = || whole_seconds(&wall_time().to_string());
        status.suspended_since = Some(before.unwrap_or_else(now));
    }
    if by.is_none() {
        status.suspended_since = None;
    }
    status.suspended_by = by;
}

impl Reported {
    /// The way in which the fleet is suspended, if it is.
    fn suspended_by(&self, read: Option<&Option<Parent>>) -> Option<String> {
        fleet::suspended_by(&self.fleet.json).or_else(|| {
            let parent = read.and_then(Option::as_ref);
            let by_hand = parent.is_some_and(|parent| !parent.suspended.is_empty());
            by_hand.then(|| "capstan suspend".to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Mutex;

    use http::{Method, Request, Response};
    use http_body_util::BodyExt as _;
    use kube::client::Body;
    use serde_json::{Value as Json, json};
    use tokio::time::Instant;

    use super::*;
    use crate::model::ObjectId;

    /// When the message of the first condition, or the note of an Event, was written, in seconds; with the version that a status replaces.
    type Writes = Arc<Mutex<Vec<(u64, String)>>>;

    const FLEET: fn(u64) -> Json = |version| {
        json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "f", "uid": "u", "resourceVersion": version.to_string()}})
    };

    /// Refuses the third write and the fifth. Somebody else changes the Fleet before the fifth.
    fn server(writes: &Writes) -> Client {
        let (writes, start) = (Arc::clone(writes), Instant::now());
        let service = tower::service_fn(move |request: Request<Body>| {
            let writes = Arc::clone(&writes);
            async move {
                let is_read = request.method() == Method::GET;
                let body = request.into_body().collect().await;
                let body = body.expect("whole").to_bytes();
                let mut writes = writes.lock().expect("no panic");
                if !is_read {
                    let body: Json = serde_json::from_slice(&body).expect("JSON");
                    let written = match &body["note"] {
                        Json::Null => format!(
                            "{} {}",
                            body["metadata"]["resourceVersion"],
                            body["status"]["conditions"][0]["message"]
                        ),
                        note => format!("Event {note}"),
                    };
                    writes.push((start.elapsed().as_secs(), written));
                }
                let count = writes.len() as u64;
                let refused = |reason: &str, code: u16| {
                    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": reason, "code": code});
                    (code, status)
                };
                let (code, answer) = match count {
                    3 if !is_read => refused("InternalError", 500),
                    5 if !is_read => refused("Conflict", 409),
                    _ => (200, FLEET(count)),
                };
                let answer = Body::from(answer.to_string().into_bytes());
                let answer = Response::builder().status(code).body(answer);
                Ok::<_, Infallible>(answer.expect("an answer"))
            }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_is_written_once_a_second_and_again_after_a_failure_or_a_change() {
        let writes = Writes::default();
        let (view, viewed) = watch::channel(View::default());
        let stalled = |why: &str| Phase::Stalled("InvalidSpec", why.to_owned());
        let (phase, phases) = watch::channel(stalled("one"));
        let (_handled, handled) = watch::channel(None);
        let fleet = FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", "f"),
            uid: "u".to_owned(),
            generation: Some(1),
            json: FLEET(0),
        };
        let reporting = tokio::spawn(report(Reported {
            client: server(&writes),
            fleet: Arc::new(fleet),
            config: None,
            view: viewed,
            phases,
            handled,
        }));
        tokio::time::sleep(Duration::from_millis(100)).await;
        phase.send_replace(stalled("two"));
        tokio::time::sleep(Duration::from_millis(100)).await;
        phase.send_replace(stalled("three"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        phase.send_replace(stalled("four"));
        tokio::time::sleep(Duration::from_secs(20)).await;
        let expected = [
            (0, r#""0" "one""#),
            (0, r#"Event "one""#),
            // After the failure it is not known what was written.
            (1, r#""1" "three""#),
            (6, r#""3" "three""#),
            (20, r#""4" "four""#),
            (21, r#""5" "four""#),
        ];
        let expected = expected.map(|(at, why)| (at, why.to_owned()));
        assert_eq!(*writes.lock().expect("no panic"), expected);
        drop((view, phase));
        reporting.await.expect("it ends");
    }
}
