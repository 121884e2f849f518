//! Watches what CAPZ does in a cluster, and decides whether our ARO controllers act.
//!
//! In: a client. Out: a decision whenever it changes. Of custom resources only metadata is read, of Deployments
//! only those of CAPZ. The rules are [`Seen`]'s. It does not know who acts.

use std::sync::Arc;
use std::time::Duration;

use futures::future::FutureExt as _;
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::watch;

use super::controller::writer::resource;
use super::watch::{classified, is_missing};
use crate::api::kinds::{ARO, find};
use crate::api::labels::{INFRASTRUCTURE_AZURE, PROVIDER};
use crate::model::{Clock, ErrorClass, ObjectId};
use crate::reconcile::handover::{Decision, Seen};

/// How long a watch that fails waits before it is tried again.
const PAUSE: Duration = Duration::from_secs(5);

const DEPLOYMENT: &str = "Deployment";

/// What was heard of one kind.
enum News {
    /// An object was seen; `None` for its content if it was deleted.
    Object(ObjectId, Option<Value>),
    /// All were seen.
    Listed,
    /// They cannot be seen.
    Failed { denied: bool, why: String },
}

type Heard = (&'static str, News);

/// Decides until nobody listens.
pub(super) async fn decide(
    client: Client,
    clock: Arc<dyn Clock>,
    decisions: watch::Sender<Decision>,
) {
    let mut kinds: Vec<&'static str> = ARO.iter().map(|(_, kind)| *kind).collect();
    kinds.push(DEPLOYMENT);
    let mut seen = Seen::nothing_of(&kinds);
    let mut listed: Vec<&'static str> = Vec::new();
    let mut news = watches(&client, clock.as_ref());
    while !decisions.is_closed() {
        let decision = seen.decide(clock.now());
        let until = match &decision {
            Decision::StepBack { until, .. } => *until,
            Decision::Act => None,
        };
        decisions.send_if_modified(|old| {
            let changed = *old != decision;
            *old = decision;
            changed
        });
        tokio::select! {
            biased;
            Some((kind, heard)) = news.next() => {
                let now = clock.now();
                take(&mut seen, &mut listed, kind, heard, now);
                // A list is many events.
                while let Some(Some((kind, heard))) = news.next().now_or_never() {
                    take(&mut seen, &mut listed, kind, heard, now);
                }
            }
            () = wake(clock.as_ref(), until) => {}
            () = decisions.closed() => return,
        }
    }
}

fn take(
    seen: &mut Seen,
    listed: &mut Vec<&'static str>,
    kind: &'static str,
    news: News,
    now: Timestamp,
) {
    match news {
        News::Object(id, Some(object)) if kind == DEPLOYMENT => seen.deployment(&id, &object, now),
        News::Object(id, None) if kind == DEPLOYMENT => seen.deleted(&id, now),
        News::Object(id, Some(fields)) => seen.object(&id, &fields, now, listed.contains(&kind)),
        News::Object(id, None) => seen.gone(&id, now),
        News::Listed => {
            seen.listed(kind);
            listed.push(kind);
        }
        News::Failed { denied: true, why } => seen.denied(kind, why),
        News::Failed { denied: false, why } => seen.failed(kind, why),
    }
}

/// Waits until `time`; for ever without one.
async fn wake(clock: &dyn Clock, time: Option<Timestamp>) {
    let Some(time) = time else {
        return std::future::pending().await;
    };
    let left = Duration::try_from(time.duration_since(clock.now())).unwrap_or_default();
    tokio::time::sleep(clock.real(left).max(Duration::from_millis(1))).await;
}

/// Everything that is watched.
fn watches(client: &Client, clock: &dyn Clock) -> SelectAll<BoxStream<'static, Heard>> {
    let pause = clock.real(PAUSE);
    let mut all = SelectAll::new();
    for (group, kind) in ARO {
        let newest = find(group, kind).and_then(|known| known.versions.last());
        let resource = resource(group, newest.copied().unwrap_or_default(), kind);
        let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &resource);
        let events = watcher::watcher(api, watcher::Config::default());
        let named = move |object: &PartialObjectMeta<DynamicObject>| {
            ObjectId::new(
                group,
                kind,
                object.namespace().unwrap_or_default(),
                object.name_any(),
            )
        };
        let fields = |object: PartialObjectMeta<DynamicObject>| {
            serde_json::to_value(object.metadata.managed_fields).unwrap_or_default()
        };
        all.push(heard(kind, events.boxed(), named, fields, pause));
    }
    let api: Api<Deployment> = Api::all(client.clone());
    let labels = format!("{PROVIDER}={INFRASTRUCTURE_AZURE}");
    let events = watcher::watcher(api, watcher::Config::default().labels(&labels));
    let named = |object: &Deployment| {
        ObjectId::new(
            "apps",
            DEPLOYMENT,
            object.namespace().unwrap_or_default(),
            object.name_any(),
        )
    };
    let whole = |object: Deployment| serde_json::to_value(object).unwrap_or_default();
    all.push(heard(DEPLOYMENT, events.boxed(), named, whole, pause));
    all
}

/// The events of one kind, in our words. A watch that fails goes on after `pause`.
fn heard<K: Send + 'static>(
    kind: &'static str,
    events: BoxStream<'static, watcher::Result<Event<K>>>,
    named: impl Fn(&K) -> ObjectId + Send + 'static,
    content: impl Fn(K) -> Value + Send + 'static,
    pause: Duration,
) -> BoxStream<'static, Heard> {
    let read = move |event: watcher::Result<Event<K>>| -> Option<News> {
        Some(match event {
            Ok(Event::Init) => return None,
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                let id = named(&object);
                News::Object(id, Some(content(object)))
            }
            Ok(Event::Delete(object)) => News::Object(named(&object), None),
            Ok(Event::InitDone) => News::Listed,
            // What is not served has no objects.
            Err(error) if is_missing(&error) => News::Listed,
            Err(error) => failed(&error),
        })
    };
    let news = events.flat_map(move |event| {
        let failed = event.is_err();
        let rest = async move {
            if failed {
                tokio::time::sleep(pause).await;
            }
        };
        let rest = stream::once(rest).filter_map(|()| std::future::ready(None));
        stream::iter(read(event)).chain(rest)
    });
    news.map(move |news| (kind, news)).boxed()
}

fn failed(error: &watcher::Error) -> News {
    let (class, why) = classified(error);
    let denied = class == ErrorClass::Denied;
    News::Failed { denied, why }
}
