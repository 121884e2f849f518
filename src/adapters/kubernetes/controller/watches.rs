//! One stream of everything that happens to the watched kinds.
//!
//! In: a client and kinds. Out: events in order, one watch per kind. A watch that breaks is started
//! again after a pause; after longer and longer ones if its kind is not served, or may not be watched. It does not know
//! what is done about an event.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future;
use futures::stream::{self, BoxStream, StreamExt};
use kube::ResourceExt as _;
use kube::api::ApiResource;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource as _};
use serde_json::Value;

use super::super::Error;
use super::super::any_object::UnreadObject;
use super::super::discovery::Discovery;
use super::super::watch::{classified, is_missing, patient, right};
use super::writer::resource;
use crate::api::kinds;
use crate::model::{ErrorClass, ObjectId};
use crate::reconcile::world::GroupKind;

/// Something that happened to one kind.
pub(crate) struct KindEvent {
    /// The kind, by its place.
    pub(crate) kind: usize,
    /// What happened.
    pub(crate) event: WatchEvent,
}

/// What a watch can show.
pub(crate) enum WatchEvent {
    /// A list of all objects begins.
    ListStarted,
    /// An object of that list.
    Listed(Seen),
    /// The list is complete: what was not in it does not exist.
    ListEnded,
    /// An object was created or changed.
    Applied(Seen),
    /// The object of this id and uid was deleted.
    Deleted(ObjectId, String),
    /// The cluster does not serve the kind: there are no objects.
    NotServed,
    /// The cluster does not permit the watch; it is started again.
    Denied(String),
    /// The watch failed; it is started again.
    Failed(String),
}

/// An object as a watch shows it. Whoever has its version already need not read it.
pub(crate) struct Seen {
    object: UnreadObject,
    resource: Arc<ApiResource>,
}

impl Seen {
    /// Its id.
    pub(crate) fn id(&self) -> ObjectId {
        let ApiResource { group, kind, .. } = &*self.resource;
        let namespace = self.object.namespace().unwrap_or_default();
        ObjectId::new(
            group.as_str(),
            kind.as_str(),
            namespace,
            self.object.name_any(),
        )
    }

    /// Its uid.
    pub(crate) fn uid(&self) -> &str {
        self.object.meta().uid.as_deref().unwrap_or_default()
    }

    /// Its resource version.
    pub(crate) fn version(&self) -> &str {
        self.object
            .meta()
            .resource_version
            .as_deref()
            .unwrap_or_default()
    }

    /// The object as JSON. Items of a list of a built-in kind do not say what they are.
    ///
    /// # Errors
    /// When it is nested too deeply, or has a number out of range.
    pub(crate) fn read(&self) -> serde_json::Result<Value> {
        let mut value = self.object.read()?;
        value["apiVersion"] = Value::from(self.resource.api_version.as_str());
        value["kind"] = Value::from(self.resource.kind.as_str());
        Ok(value)
    }
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
            WatchEvent::Denied(_) | WatchEvent::NotServed => {
                let times = self.vain.fetch_add(1, Ordering::Relaxed);
                1_u32.checked_shl(times).unwrap_or(LONGEST).min(LONGEST)
            }
            // A list begins before it is known whether it may be read.
            WatchEvent::ListStarted => return,
            _ => return self.vain.store(0, Ordering::Relaxed),
        };
        tokio::time::sleep(self.first * factor).await;
    }
}

/// Watches the kind at a place; the stream never ends. A watch that fails is started again after
/// `pause`. The version is the newest we know; the one that the cluster prefers if it does not serve
/// that, or if we do not know the kind.
pub(crate) fn watch(
    client: &Client,
    place: usize,
    kind: GroupKind,
    pause: Duration,
) -> BoxStream<'static, KindEvent> {
    let client = patient(client);
    let pauses = Pauses {
        first: pause,
        vain: Arc::default(),
    };
    let attempts = stream::unfold(known(&kind), move |guess| {
        let (client, kind, pauses) = (client.clone(), kind.clone(), pauses.clone());
        async move {
            let resource = match guess {
                Some(resource) => Ok(Some(resource)),
                None => served(client.clone(), &kind).await,
            };
            Some((attempt(client, resource, pauses), None))
        }
    });
    let events = attempts.flatten();
    events
        .map(move |event| KindEvent { kind: place, event })
        .boxed()
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

/// The right that is missing for a watch that the cluster does not permit.
pub(super) fn missing_right(kind: &GroupKind) -> String {
    let GroupKind { group, kind } = kind;
    right("get, list and watch", &resource(group, "", kind))
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
fn attempt(
    client: Client,
    resource: Result<Option<ApiResource>, Error>,
    pauses: Pauses,
) -> BoxStream<'static, WatchEvent> {
    let after_pause = move |event: WatchEvent| {
        let pauses = pauses.clone();
        async move {
            pauses.after(&event).await;
            event
        }
    };
    let events = match resource {
        Ok(Some(resource)) => events(client, resource),
        Ok(None) => stream::iter([WatchEvent::NotServed]).boxed(),
        Err(error) => stream::iter([failed(error.class(), error.to_string())]).boxed(),
    };
    events.then(after_pause).boxed()
}

fn events(client: Client, resource: ApiResource) -> BoxStream<'static, WatchEvent> {
    let api: Api<UnreadObject> = Api::all_with(client, &resource);
    let events = watcher::watcher(api, watcher::Config::default());
    let served = |event: &watcher::Result<_>| !event.as_ref().is_err_and(is_missing);
    let events = events.take_while(move |event| future::ready(served(event)));
    let resource = Arc::new(resource);
    let events = events.map(move |event| read(event, &resource));
    events.boxed()
}

fn read(event: watcher::Result<Event<UnreadObject>>, resource: &Arc<ApiResource>) -> WatchEvent {
    let seen = |object| Seen {
        object,
        resource: Arc::clone(resource),
    };
    match event {
        Ok(Event::Init) => WatchEvent::ListStarted,
        Ok(Event::InitApply(object)) => WatchEvent::Listed(seen(object)),
        Ok(Event::InitDone) => WatchEvent::ListEnded,
        Ok(Event::Apply(object)) => WatchEvent::Applied(seen(object)),
        Ok(Event::Delete(object)) => {
            let gone = seen(object);
            WatchEvent::Deleted(gone.id(), gone.uid().to_owned())
        }
        Err(error) => {
            let (class, why) = classified(&error);
            failed(class, why)
        }
    }
}

fn failed(class: ErrorClass, why: String) -> WatchEvent {
    match class {
        ErrorClass::Denied => WatchEvent::Denied(why),
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
    use serde_json::json;
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
        let failed = watch(&client, 0, kind, Duration::from_millis(700))
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
        let mut events = watch(&client, 0, kind.clone(), Duration::from_secs(1));
        let is_denied = |event| matches!(event, WatchEvent::Denied(_));
        let mut last = false;
        for _ in 0..2 {
            last = events
                .next()
                .await
                .is_some_and(|seen| is_denied(seen.event));
        }
        assert!(last, "after the begin of the list");
        let right = "get, list and watch on secrets of the API group \"\", in all namespaces";
        assert_eq!(missing_right(&kind), right);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_not_served_is_asked_for_less_and_less_often() {
        let start = Instant::now();
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        let client = Server::new(clock).client("default");
        let kind = GroupKind::new("resources.azure.com", "ResourceGroup");
        let times = watch(&client, 0, kind, Duration::from_secs(1))
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
        let mut events = watch(&client, 0, kind, Duration::from_secs(1));
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
}
