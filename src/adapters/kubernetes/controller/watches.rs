//! One stream of everything that happens to the watched kinds.
//!
//! In: a client, kinds and namespaces. Out: events in order, one watch per kind. A watch that breaks is started
//! again after a pause; after longer and longer ones if its kind is not served, or may not be watched. It does not know
//! what is done about an event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future;
use futures::stream::{self, BoxStream, Stream, StreamExt};
use kube::api::ApiResource;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};

use super::super::Error;
use super::super::any_object::UnreadObject;
use super::super::discovery::Discovery;
use super::super::per_namespace::each;
use super::super::watch::{classified, is_missing, patient};
use super::merged::Merged;
use super::watch_event::missing_right;
pub(crate) use super::watch_event::{Seen, WatchEvent};
use super::writer::resource;
use crate::api::kinds::{self, is_cluster_scoped};
use crate::model::{ErrorClass, Namespaces, ObjectId};
use crate::reconcile::world::GroupKind;

/// Something that happened to one kind.
pub(crate) struct KindEvent {
    /// The kind, by its place.
    pub(crate) kind: usize,
    /// The version at which it is watched.
    pub(crate) version: Option<Arc<str>>,
    /// What happened.
    pub(crate) event: WatchEvent,
}

/// The longest pause, in first ones.
const LONGEST: u32 = 30;

/// How long a watch waits before it reports that it failed, and goes on.
#[derive(Clone)]
struct Pauses {
    first: Duration,
    /// How often in a row waiting did not help.
    vain: Arc<AtomicU32>,
}

impl Pauses {
    /// What a person has to change is asked for less and less often.
    async fn after(&self, event: &WatchEvent) {
        let factor = match event {
            WatchEvent::Failed(_) => 1,
            WatchEvent::Denied { .. } | WatchEvent::NotServed => {
                let times = self.vain.fetch_add(1, Ordering::Relaxed);
                1_u32.checked_shl(times).unwrap_or(LONGEST).min(LONGEST)
            }
            // A list begins before it is known whether it may be read.
            WatchEvent::ListStarted => return,
            _ => return self.vain.store(0, Ordering::Relaxed),
        };
        tokio::time::sleep(self.first * factor).await;
    }

    /// Events, each after its pause.
    fn before(
        &self,
        events: impl Stream<Item = WatchEvent> + Send + 'static,
    ) -> BoxStream<'static, WatchEvent> {
        let pauses = self.clone();
        let after_pause = move |event: WatchEvent| {
            let pauses = pauses.clone();
            async move {
                pauses.after(&event).await;
                event
            }
        };
        events.then(after_pause).boxed()
    }
}

/// Watches the kind at a place, in these namespaces alone if it has some; the stream never ends. A watch that fails is started
/// again after `pause`. The version is the newest we know; the one that the cluster prefers if it does not serve
/// that, or if we do not know the kind.
pub(crate) fn watch(
    client: &Client,
    number: usize,
    kind: GroupKind,
    namespaces: &Namespaces,
    pause: Duration,
) -> BoxStream<'static, KindEvent> {
    let place = (patient(client), namespaces.clone());
    let pauses = Pauses {
        first: pause,
        vain: Arc::default(),
    };
    let attempts = stream::unfold(known(&kind), move |guess| {
        let ((client, namespaces), kind) = (place.clone(), kind.clone());
        let pauses = pauses.clone();
        async move {
            let resource = match guess {
                Some(resource) => Ok(Some(resource)),
                None => served(client.clone(), &kind).await,
            };
            let version = resource.as_ref().ok().and_then(Option::as_ref);
            let version: Option<Arc<str>> = version.map(|found| found.version.as_str().into());
            let events = match resource {
                Ok(Some(resource)) => events(&client, resource, &namespaces, &pauses),
                Ok(None) => pauses.before(stream::iter([WatchEvent::NotServed])),
                Err(error) => {
                    let (class, why) = (error.class(), error.to_string());
                    pauses.before(stream::iter([failed(class, why, &kind, None)]))
                }
            };
            let events = events.map(move |event| KindEvent {
                kind: number,
                version: version.clone(),
                event,
            });
            Some((events, None))
        }
    });
    attempts.flatten().boxed()
}

/// The kind at the newest version we know.
fn known(kind: &GroupKind) -> Option<ApiResource> {
    let GroupKind { group, kind } = kind;
    let version = match group.as_str() {
        "" => Some("v1"),
        _ => kinds::find(group, kind).and_then(|known| known.versions.last().copied()),
    };
    version.map(|version| resource(group, version, kind))
}

/// The kind at the version that the cluster prefers; `None` if it does not serve it.
async fn served(client: Client, kind: &GroupKind) -> Result<Option<ApiResource>, Error> {
    let discovery = Discovery::new(client);
    let id = ObjectId::new(kind.group.as_str(), kind.kind.as_str(), "", "");
    match discovery.preferred(&id).await? {
        Some(version) => Ok(discovery
            .find(&id, &version)
            .await?
            .map(|found| found.resource)),
        None => Ok(None),
    }
}

/// The events of a kind until it turns out not to be served. What failed is reported after a pause.
fn events(
    client: &Client,
    resource: ApiResource,
    namespaces: &Namespaces,
    pauses: &Pauses,
) -> BoxStream<'static, WatchEvent> {
    let resource = Arc::new(resource);
    let kind = GroupKind::new(&resource.group, &resource.kind);
    let is_namespace = kind == GroupKind::new("", "Namespace");
    let id = ObjectId::new(kind.group.as_str(), kind.kind.as_str(), "", "");
    let names = match namespaces {
        Namespaces::Some(names) if is_namespace || !is_cluster_scoped(&id) => names,
        _ => {
            let api = Api::all_with(client.clone(), &*resource);
            let events = part(api, watcher::Config::default(), &resource, None);
            return pauses.before(served_only(events));
        }
    };
    let watches = each(names, |name| {
        let mut config = watcher::Config::default();
        let api = if is_namespace {
            config = config.fields(&format!("metadata.name={name}"));
            Api::all_with(client.clone(), &*resource)
        } else {
            Api::namespaced_with(client.clone(), name, &*resource)
        };
        let events = part(api, config, &resource, Some(name.to_owned()));
        // A namespace that waits does not keep the others waiting.
        let pauses = Pauses {
            first: pauses.first,
            vain: Arc::default(),
        };
        let after_pause = move |event: Option<WatchEvent>| {
            let pauses = pauses.clone();
            async move {
                if let Some(event) = &event {
                    pauses.after(event).await;
                }
                event
            }
        };
        events.then(after_pause).boxed()
    });
    let mut merged = Merged::of(kind, names);
    let watches = watches.map(move |(name, event)| event.map(|event| merged.event(&name, event)));
    served_only(watches).flat_map(stream::iter).boxed()
}

/// The events of a watch until the kind is not served.
fn served_only<T>(events: impl Stream<Item = Option<T>> + Send) -> impl Stream<Item = T> + Send
where
    T: Send,
{
    let served = events.take_while(|event| future::ready(event.is_some()));
    served.filter_map(future::ready)
}

/// The events of one watch, of a namespace or of the whole cluster; `None` if nothing is at the address of the kind.
fn part(
    api: Api<UnreadObject>,
    config: watcher::Config,
    resource: &Arc<ApiResource>,
    namespace: Option<String>,
) -> BoxStream<'static, Option<WatchEvent>> {
    let resource = Arc::clone(resource);
    let events = watcher::watcher(api, config);
    let events = events.map(move |event| read(event, &resource, namespace.as_deref()));
    events.boxed()
}

fn read(
    event: watcher::Result<Event<UnreadObject>>,
    resource: &Arc<ApiResource>,
    namespace: Option<&str>,
) -> Option<WatchEvent> {
    let seen = |object| Seen::new(object, resource);
    Some(match event {
        Ok(Event::Init) => WatchEvent::ListStarted,
        Ok(Event::InitApply(object)) => WatchEvent::Listed(seen(object)),
        Ok(Event::InitDone) => WatchEvent::ListEnded,
        Ok(Event::Apply(object)) => WatchEvent::Applied(seen(object)),
        Ok(Event::Delete(object)) => {
            let gone = seen(object);
            WatchEvent::Deleted(gone.id(), gone.uid().to_owned())
        }
        Err(error) if is_missing(&error) => return None,
        Err(error) => {
            let (class, why) = classified(&error);
            let kind = GroupKind::new(&resource.group, &resource.kind);
            failed(class, why, &kind, namespace)
        }
    })
}

fn failed(class: ErrorClass, why: String, kind: &GroupKind, namespace: Option<&str>) -> WatchEvent {
    match class {
        ErrorClass::Denied => WatchEvent::Denied {
            right: missing_right(kind, namespace.as_slice()),
            why,
        },
        _ => WatchEvent::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use http::{Request, Response, StatusCode};
    use jiff::Timestamp;
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::super::writer::perform;
    use super::*;
    use crate::reconcile::outcome::Write;
    use kube_sim::Server;
    use kube_sim::SimClock;

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_fails_is_started_again_after_the_pause() {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let asked = Arc::clone(&times);
        let client = tower::service_fn(move |_: Request<Body>| {
            asked.lock().unwrap().push(start.elapsed().as_millis());
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let client = Client::new(client, "default");
        let kind = GroupKind::new("", "ConfigMap");
        let failed = watch(
            &client,
            0,
            kind,
            &Namespaces::All,
            Duration::from_millis(700),
        )
        .filter(|seen| future::ready(matches!(seen.event, WatchEvent::Failed(_))));
        assert_eq!(failed.take(3).count().await, 3);
        assert_eq!(*times.lock().unwrap(), [0, 700, 1400]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_not_permitted_says_so() {
        let client = tower::service_fn(|_: Request<Body>| {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "vaults is forbidden", "reason": "Forbidden", "code": 403});
            let mut response = Response::new(Body::from(status.to_string().into_bytes()));
            *response.status_mut() = StatusCode::FORBIDDEN;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let client = Client::new(client, "default");
        let kind = GroupKind::new("", "Secret");
        let mut events = watch(&client, 0, kind, &Namespaces::All, Duration::from_secs(1));
        let begin = events.next().await.map(|seen| seen.event);
        assert!(matches!(begin, Some(WatchEvent::ListStarted)));
        let Some(WatchEvent::Denied { right, .. }) = events.next().await.map(|seen| seen.event)
        else {
            unreachable!("after the begin of the list");
        };
        let expected = "get, list and watch on secrets of the API group \"\", in all namespaces";
        assert_eq!(right, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_served_is_asked_for_less_and_less_often() {
        let start = Instant::now();
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        let client = Server::new(clock).client("default");
        let kind = GroupKind::new("resources.azure.com", "ResourceGroup");
        let times = watch(&client, 0, kind, &Namespaces::All, Duration::from_secs(1))
            .filter(|seen| future::ready(!matches!(seen.event, WatchEvent::ListStarted)))
            .map(|_| start.elapsed().as_secs());
        let times: Vec<u64> = times.take(8).collect().await;
        assert_eq!(times, [1, 3, 7, 15, 31, 61, 91, 121]);
    }

    /// The version at which a ResourceGroup is seen in a cluster that serves this one alone.
    async fn seen_at(version: &str) -> String {
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        let client = Server::new(clock).client("default");
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "resourcegroups.resources.azure.com"},
            "spec": {"group": "resources.azure.com", "scope": "Namespaced",
                "names": {"kind": "ResourceGroup", "plural": "resourcegroups"},
                "versions": [{"name": version, "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema}}]}});
        let group = json!({"apiVersion": format!("resources.azure.com/{version}"), "kind": "ResourceGroup",
            "metadata": {"name": "rg", "namespace": "default"}});
        let kind = GroupKind::new("resources.azure.com", "ResourceGroup");
        let mut events = watch(&client, 0, kind, &Namespaces::All, Duration::from_secs(1));
        let missing = events.next().await.map(|seen| seen.event);
        assert!(matches!(missing, Some(WatchEvent::ListStarted)));
        let missing = events.next().await.map(|seen| seen.event);
        assert!(matches!(missing, Some(WatchEvent::NotServed)));
        let writes = vec![Write::Apply(definition), Write::Apply(group)];
        perform(&client, "somebody", writes).await.1.unwrap();
        while let Some(seen) = events.next().await {
            if let WatchEvent::Listed(seen) = seen.event {
                let object = seen.read().unwrap();
                return object["apiVersion"].as_str().unwrap().to_owned();
            }
        }
        String::new()
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_watched_at_the_version_that_is_served_once_it_is() {
        for version in ["v1api20200601", "v9"] {
            assert_eq!(
                seen_at(version).await,
                format!("resources.azure.com/{version}")
            );
        }
    }

    /// Applies objects to a cluster, and returns a watch of their kind in the namespaces `a` and `b`.
    async fn watched(server: &Server, kind: &GroupKind, objects: Vec<Value>) -> Vec<String> {
        let client = server.client("default");
        let writes = objects.into_iter().map(Write::Apply).collect();
        perform(&client, "somebody", writes).await.1.unwrap();
        let namespaces = Namespaces::of_text("a,b");
        let events = watch(
            &client,
            0,
            kind.clone(),
            &namespaces,
            Duration::from_secs(1),
        );
        let is_open = |seen: &KindEvent| !matches!(seen.event, WatchEvent::ListEnded);
        let list = events.take_while(|seen| future::ready(is_open(seen)));
        let names = list.filter_map(|seen| {
            future::ready(match seen.event {
                WatchEvent::Listed(seen) => Some(seen.id().to_string()),
                _ => None,
            })
        });
        let mut names: Vec<String> = names.collect().await;
        names.sort();
        names
    }

    #[tokio::test(start_paused = true)]
    async fn objects_outside_of_the_namespaces_are_not_seen() {
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        let server = Server::new(clock);
        let names = ["a", "b", "c"];
        let namespace =
            |name| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let kind = GroupKind::new("", "Namespace");
        let seen = watched(&server, &kind, names.map(namespace).to_vec()).await;
        assert_eq!(seen, ["Namespace//a", "Namespace//b"]);
        let secret = |name| {
            json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "one", "namespace": name}})
        };
        let kind = GroupKind::new("", "Secret");
        let seen = watched(&server, &kind, names.map(secret).to_vec()).await;
        assert_eq!(seen, ["Secret/a/one", "Secret/b/one"]);
    }
}
