//! Watches what CAPZ does in a cluster, and decides whether our ARO controllers act.
//!
//! In: a client, and the namespaces whose custom resources count. Out: a decision whenever it changes. Of custom resources only metadata is read, of Deployments
//! only those of CAPZ. The rules are [`Seen`]'s. It does not know who acts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{self, FutureExt as _};
use futures::stream::{self, BoxStream, SelectAll, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, PartialObjectMeta, Patch};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::controller::writer::{merging, resource};
use super::per_namespace::{Awaited, each};
use super::watch::{classified, is_missing};
use crate::api::kinds::{ARO, find};
use crate::api::labels::{INFRASTRUCTURE_AZURE, PROVIDER, STEPPED_BACK};
use crate::model::{Clock, ErrorClass, Namespaces, ObjectId};
use crate::reconcile::handover::{Decision, Reason, Seen};

/// How long a watch that fails waits before it is tried again.
const PAUSE: Duration = Duration::from_secs(5);

const DEPLOYMENT: &str = "Deployment";

/// The field manager of notes.
const MANAGER: &str = "capstan-handover";

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
    watched: Namespaces,
    decisions: watch::Sender<Decision>,
) {
    let mut kinds: Vec<&'static str> = ARO.iter().map(|(_, kind)| *kind).collect();
    kinds.push(DEPLOYMENT);
    let mut seen = Seen::nothing_of(&kinds);
    let mut listed: Vec<&'static str> = Vec::new();
    let mut notes = Notes::of(&client);
    let mut news = watches(&client, clock.as_ref(), &watched);
    while !decisions.is_closed() {
        let decision = seen.decide(clock.now());
        let until = match &decision {
            Decision::StepBack { until, .. } => *until,
            Decision::Act => None,
        };
        decisions.send_if_modified(|old| {
            let changed = *old != decision;
            old.clone_from(&decision);
            changed
        });
        match &decision {
            Decision::StepBack { why, .. } => notes.put(why, clock.now()),
            Decision::Act => notes.put_before.clear(),
        }
        tokio::select! {
            biased;
            Some((kind, heard)) = news.next() => {
                let now = clock.now();
                notes.hear(kind, &heard);
                take(&mut seen, &mut listed, kind, heard, now);
                // A list is many events.
                while let Some(Some((kind, heard))) = news.next().now_or_never() {
                    notes.hear(kind, &heard);
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
        News::Object(id, Some(seen_of)) => {
            let is_new = listed.contains(&kind);
            seen.object(&id, &seen_of["managedFields"], now, is_new);
        }
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

/// The objects that do not say yet that our controllers step back for CAPZ's.
struct Notes {
    client: Client,
    missing: BTreeSet<ObjectId>,
    /// Those that got a note since our controllers acted last: who takes it off wants none.
    put_before: BTreeSet<ObjectId>,
    writing: Option<AbortOnDropHandle<()>>,
}

impl Notes {
    fn of(client: &Client) -> Self {
        Self {
            client: client.clone(),
            missing: BTreeSet::new(),
            put_before: BTreeSet::new(),
            writing: None,
        }
    }

    fn hear(&mut self, kind: &str, news: &News) {
        match news {
            News::Object(id, Some(object)) if kind != DEPLOYMENT && object["note"].is_null() => {
                self.missing.insert(id.clone());
            }
            News::Object(id, _) => drop(self.missing.remove(id)),
            News::Listed | News::Failed { .. } => {}
        }
    }

    /// Puts a note on each of them, once the last ones are written. Nobody waits for that.
    fn put(&mut self, why: &Reason, now: Timestamp) {
        let is_busy = self
            .writing
            .as_ref()
            .is_some_and(|task| !task.is_finished());
        let missing = self.missing.difference(&self.put_before).cloned();
        let missing: BTreeSet<ObjectId> = missing.collect();
        if !why.is_capz() || missing.is_empty() || is_busy {
            return;
        }
        self.put_before.extend(missing.iter().cloned());
        let (client, text) = (self.client.clone(), format!("{now:.0}: {why}"));
        let task = async move {
            for id in missing {
                if let Err(error) = note(&client, &id, &text).await {
                    tracing::debug!(%error, "a note on {id} could not be written");
                }
            }
        };
        self.writing = Some(AbortOnDropHandle::new(tokio::spawn(task)));
    }
}

/// Says on an object that our controllers step back.
async fn note(client: &Client, id: &ObjectId, text: &str) -> kube::Result<()> {
    let newest = find(&id.group, &id.kind).and_then(|known| known.versions.last());
    let resource = resource(&id.group, newest.copied().unwrap_or_default(), &id.kind);
    let api: Api<PartialObjectMeta<DynamicObject>> =
        Api::namespaced_with(client.clone(), &id.namespace, &resource);
    let patch = Patch::Merge(json!({"metadata": {"annotations": {STEPPED_BACK: text}}}));
    api.patch_metadata(&id.name, &merging(MANAGER), &patch)
        .await?;
    Ok(())
}

/// Everything that is watched. Deployments are in the whole cluster: nobody knows where CAPZ is.
fn watches(
    client: &Client,
    clock: &dyn Clock,
    watched: &Namespaces,
) -> SelectAll<BoxStream<'static, Heard>> {
    let pause = clock.real(PAUSE);
    let mut all = SelectAll::new();
    for (group, kind) in ARO {
        let newest = find(group, kind).and_then(|known| known.versions.last());
        let resource = resource(group, newest.copied().unwrap_or_default(), kind);
        all.push(match watched {
            Namespaces::All => {
                let api = Api::all_with(client.clone(), &resource);
                custom(api, group, kind, pause)
            }
            Namespaces::Some(names) => {
                let watches = each(names, |name| {
                    let api = Api::namespaced_with(client.clone(), name, &resource);
                    custom(api, group, kind, pause)
                });
                together(watches, Awaited::of(names))
            }
        });
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

/// The news of a custom kind of ours.
fn custom(
    api: Api<PartialObjectMeta<DynamicObject>>,
    group: &'static str,
    kind: &'static str,
    pause: Duration,
) -> BoxStream<'static, Heard> {
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
        let annotations = object.metadata.annotations.unwrap_or_default();
        let managed = serde_json::to_value(object.metadata.managed_fields);
        json!({"managedFields": managed.unwrap_or_default(), "note": annotations.get(STEPPED_BACK)})
    };
    heard(kind, events.boxed(), named, fields, pause)
}

/// The news of a kind in several namespaces. It is listed once it is listed in every namespace.
fn together(
    watches: BoxStream<'static, (Arc<str>, Heard)>,
    mut awaited: Awaited,
) -> BoxStream<'static, Heard> {
    let heard = watches.filter_map(move |(namespace, (kind, news))| {
        let counts = match &news {
            News::Listed => awaited.listed(&namespace),
            // One that passes is followed by what has changed, not by a new list.
            News::Failed { denied: true, .. } => {
                awaited.lost(&namespace);
                true
            }
            News::Failed { .. } | News::Object(..) => true,
        };
        future::ready(counts.then_some((kind, news)))
    });
    heard.boxed()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_seen_once_it_is_listed_in_every_namespace() {
        let denied = || News::Failed {
            denied: true,
            why: "no".to_owned(),
        };
        let news = [
            ("a", News::Listed),
            ("b", denied()),
            ("a", News::Listed),
            ("b", News::Listed),
            ("b", News::Listed),
        ];
        let names = ["a", "b"].map(str::to_owned);
        let news = news.map(|(namespace, news)| (Arc::from(namespace), (DEPLOYMENT, news)));
        let heard = together(stream::iter(news).boxed(), Awaited::of(&names));
        let words = heard.map(|(_, news)| match news {
            News::Listed => "listed",
            News::Failed { .. } => "failed",
            News::Object(..) => "object",
        });
        let words: Vec<&str> = futures::executor::block_on(words.collect());
        assert_eq!(words, ["failed", "listed", "listed"]);
    }
}
