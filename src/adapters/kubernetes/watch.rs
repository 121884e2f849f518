//! Objects of the cluster as they change.
//!
//! In: a client and a kind. Out: watch events of its objects, for ever: a watch that breaks backs off and
//! is taken up again. It does not know: what follows from the events.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, PartialObjectMeta};
use kube::client::Body;
use kube::core::NamespaceResourceScope;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::time::Instant;

use super::any_object::{AnyObject, Extent, Lean, Reported};
use super::discovery::Served;
use super::error::{NoAnswer, classify};
use super::request::REQUEST_TIMEOUT;
use crate::api::kinds::is_aso;
use crate::apply::{Interruption, Kind, WatchEvent, WatchScope};
use crate::model::{ErrorClass, ObjectId};

/// About how long a watch backs off that breaks for the first time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// About how long it backs off at most. A watch that held for longer counts as whole again.
const LONGEST_BACKOFF: Duration = Duration::from_secs(32);
/// The same for a watch that is not permitted: about what a person waits after a `kubectl apply` of a role.
const LONGEST_DENIED: Duration = Duration::from_secs(8);

/// Why a watch is interrupted, and how to react.
pub(super) fn classified(error: &watcher::Error) -> (ErrorClass, String) {
    let transient = || (ErrorClass::Transient, error.to_string());
    match error {
        watcher::Error::WatchError(status) => classify(&kube::Error::Api(status.clone())),
        error => cause(error).map_or_else(transient, classify),
    }
}

/// Why a watch is interrupted.
fn interruption(error: &watcher::Error) -> Interruption {
    let (class, why) = classified(error);
    let denied = class == ErrorClass::Denied;
    Interruption { why, denied }
}

/// Watches all definitions of custom kinds. Their content, which is large, is not asked for.
pub(super) fn definitions(client: &Client) -> BoxStream<'static, WatchEvent> {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(patient(client));
    let events = watcher(api, watcher::Config::default());
    let events = patiently(events, "CustomResourceDefinition");
    let seen = events.filter_map(async |event| match event {
        Ok(watcher::Event::Apply(crd) | watcher::Event::InitApply(crd)) => {
            let name = crd.name_any();
            let (_, group) = name.split_once('.')?;
            Some(WatchEvent::Defined(group.to_owned()))
        }
        Ok(_) => None,
        Err(error) => {
            let Interruption { why, denied } = interruption(&error);
            if denied {
                tracing::warn!(
                    error = why,
                    "definitions of custom kinds may not be watched, so a new kind is noticed late: grant list and watch on customresourcedefinitions of the API group apiextensions.k8s.io"
                );
            } else {
                tracing::warn!(
                    error = why,
                    "definitions of custom kinds cannot be watched now; trying again"
                );
            }
            None
        }
    });
    seen.boxed()
}

/// A client for watches, which waits for no answer for ever: a list is to come whole in time, and a
/// watch to begin. Once it has begun, the watcher sees by itself that nothing comes any more.
pub(super) fn patient(client: &Client) -> Client {
    let (inner, namespace) = (client.clone(), client.default_namespace().to_owned());
    let service = tower::service_fn(move |request: Request<Body>| {
        let client = inner.clone();
        let query = request.uri().query().unwrap_or_default();
        let watches = query.split('&').any(|part| part == "watch=true");
        let answer = async move {
            let answer = client.send(request).await?;
            if watches {
                return Ok(answer);
            }
            let (parts, body) = answer.into_parts();
            let whole = body.collect().await?.to_bytes();
            Ok::<_, kube::Error>(Response::from_parts(parts, Body::from(whole)))
        };
        async move {
            match tokio::time::timeout(REQUEST_TIMEOUT, answer).await {
                Ok(answer) => answer.map_err(Into::into),
                Err(_) => Err(silence()),
            }
        }
    });
    Client::new(service, namespace)
}

fn silence() -> Box<dyn std::error::Error + Send + Sync> {
    NoAnswer(REQUEST_TIMEOUT).into()
}

/// Watches the objects of one kind that carry `labels`, in a namespace or all.
pub(super) fn members(
    client: &Client,
    served: &Served,
    labels: &str,
    namespace: Option<&str>,
) -> BoxStream<'static, WatchEvent> {
    let api: Api<AnyObject> = api_in(patient(client), served, namespace);
    let config = watcher::Config::default().labels(labels);
    objects(api, served, config, WatchScope::Members)
}

/// Watches all objects of one kind, in a namespace or all, as far as their health needs it: their managed fields are not read, nor is
/// the spec of what Azure Service Operator reports on.
pub(super) fn all(
    client: &Client,
    served: &Served,
    namespace: Option<&str>,
) -> BoxStream<'static, WatchEvent> {
    fn of<E: Extent>(
        client: Client,
        served: &Served,
        namespace: Option<&str>,
    ) -> BoxStream<'static, WatchEvent> {
        let api: Api<AnyObject<E>> = api_in(client, served, namespace);
        let config = watcher::Config::default();
        objects(api, served, config, WatchScope::Embedded)
    }
    match is_aso(&served.resource.group) {
        true => of::<Reported>(patient(client), served, namespace),
        false => of::<Lean>(patient(client), served, namespace),
    }
}

fn api_in<E: Extent>(
    client: Client,
    served: &Served,
    namespace: Option<&str>,
) -> Api<AnyObject<E>> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &served.resource),
        None => Api::all_with(client, &served.resource),
    }
}

/// One object as it is now, and as it changes; `None` when it is not there. Nothing else of its kind
/// has to be permitted.
pub(super) fn object<K>(
    client: &Client,
    namespace: &str,
    name: &str,
) -> BoxStream<'static, watcher::Result<Option<K>>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static,
{
    let api = Api::namespaced(patient(client), namespace);
    patiently(watcher::watch_object(api, name), &K::kind(&())).boxed()
}

/// Reconnects by itself, with back-off; objects deleted in the meantime are reported as gone.
fn objects<E: Extent>(
    api: Api<AnyObject<E>>,
    served: &Served,
    config: watcher::Config,
    scope: WatchScope,
) -> BoxStream<'static, WatchEvent> {
    let events = patiently(watcher(api, config), &served.resource.kind);
    watch_events(events, served.resource.clone(), scope).boxed()
}

fn watch_events<E: Extent>(
    events: impl Stream<Item = watcher::Result<watcher::Event<AnyObject<E>>>> + Send + 'static,
    resource: ApiResource,
    scope: WatchScope,
) -> impl Stream<Item = WatchEvent> + Send {
    // The objects known to be there, and those seen since a fresh list began.
    let (mut there, mut listed) = (BTreeSet::new(), BTreeSet::new());
    let (mut over, mut was_denied) = (false, false);
    let seen = events.map(move |event| match event {
        Err(error) if scope == WatchScope::Members && is_missing(&error) => {
            vec![WatchEvent::Lost(kind(&resource))]
        }
        Ok(watcher::Event::Apply(object)) => {
            there.insert(id(&object, &resource));
            vec![present(object, &resource, scope)]
        }
        Ok(watcher::Event::InitApply(object)) => {
            listed.insert(id(&object, &resource));
            vec![present(object, &resource, scope)]
        }
        Ok(watcher::Event::Delete(object)) => {
            let id = id(&object, &resource);
            there.remove(&id);
            vec![WatchEvent::Object(scope, id, None)]
        }
        Ok(watcher::Event::Init) => {
            listed.clear();
            Vec::new()
        }
        Ok(watcher::Event::InitDone) => {
            was_denied = false;
            let gone: Vec<ObjectId> = there.difference(&listed).cloned().collect();
            there = std::mem::take(&mut listed);
            let gone = gone
                .into_iter()
                .map(|id| WatchEvent::Object(scope, id, None));
            let listed = WatchEvent::Listed(scope, kind(&resource), there.clone());
            gone.chain([listed]).collect()
        }
        Err(error) => {
            let interruption = interruption(&error);
            let was_denied = std::mem::replace(&mut was_denied, interruption.denied);
            warn(&resource, &interruption, was_denied);
            vec![WatchEvent::Interrupted(
                scope,
                kind(&resource),
                interruption,
            )]
        }
    });
    let whole = seen.take_while(move |events| {
        let goes_on = !over;
        over = matches!(events.as_slice(), [WatchEvent::Lost(_)]);
        std::future::ready(goes_on)
    });
    whole.flat_map(futures::stream::iter)
}

/// Reports an interrupted watch. One that is denied stays so until somebody grants the right: it is reported once.
fn warn(resource: &ApiResource, interruption: &Interruption, was_denied: bool) {
    let (kind, error) = (&resource.kind, &interruption.why);
    if !interruption.denied {
        tracing::warn!(
            kind,
            error,
            "the watch was interrupted; it will be taken up again"
        );
    } else if !was_denied {
        let right = right("list and watch", resource, "in all namespaces");
        tracing::warn!(
            kind,
            error,
            "a kind may not be watched, so its objects are not seen: grant {right}; it is tried again"
        );
    }
}

/// The right to use these verbs on a kind, at a place such as `in all namespaces`.
pub(super) fn right(verbs: &str, resource: &ApiResource, place: &str) -> String {
    let ApiResource { plural, group, .. } = resource;
    let group = if group.is_empty() { "\"\"" } else { group };
    format!("{verbs} on {plural} of the API group {group}, {place}")
}

/// What a request of the watcher came to.
pub(super) fn cause(error: &watcher::Error) -> Option<&kube::Error> {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    match error {
        InitialListFailed(cause) | WatchStartFailed(cause) | WatchFailed(cause) => Some(cause),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
    }
}

/// Whether nothing is at the address of the kind.
pub(super) fn is_missing(error: &watcher::Error) -> bool {
    matches!(cause(error), Some(kube::Error::Api(status)) if status.code == 404)
}

/// Whether the cluster does not permit the watch.
pub(super) fn is_denied(error: &watcher::Error) -> bool {
    interruption(error).denied
}

fn id<E: Extent>(object: &AnyObject<E>, resource: &ApiResource) -> ObjectId {
    let namespace = object.namespace().unwrap_or_default();
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    ObjectId::new(group, kind, namespace, object.name_any())
}

fn kind(resource: &ApiResource) -> Kind {
    let ApiResource {
        group,
        version,
        kind,
        ..
    } = resource;
    (group.clone(), version.clone(), kind.clone())
}

fn present<E: Extent>(live: AnyObject<E>, resource: &ApiResource, scope: WatchScope) -> WatchEvent {
    let id = id(&live, resource);
    let mut live = live.json;
    // API servers leave it out of the items of a list.
    live["apiVersion"] = Json::from(resource.api_version.as_str());
    live["kind"] = Json::from(resource.kind.as_str());
    WatchEvent::Object(scope, id, Some(Box::new(live)))
}

/// The events of a watch of this kind, which backs off when it breaks.
pub(super) fn patiently<T, S>(
    events: S,
    kind: &str,
) -> impl Stream<Item = watcher::Result<T>> + Send + use<T, S>
where
    S: Stream<Item = watcher::Result<T>> + Send,
{
    let backoffs = Backoffs::of(kind);
    let denied = Arc::clone(&backoffs.denied);
    let events = events.inspect(move |event| {
        if let Err(error) = event {
            denied.store(is_denied(error), Ordering::Relaxed);
        }
    });
    events.backoff(backoffs)
}

/// The back-offs of a watch that breaks again and again: each twice as long as the one before. They
/// differ from kind to kind, so that they do not all reconnect at once after an outage of the API server, and
/// are the same in every run, as a rehearsal must be.
struct Backoffs {
    /// How many 512ths of a back-off are added to it.
    share: u8,
    failures: u32,
    /// Whether it broke for want of a permission, which somebody may grant at any time.
    denied: Arc<AtomicBool>,
    /// When the last back-off ends.
    resumes: Instant,
}

impl Backoffs {
    fn of(kind: &str) -> Self {
        let mixed = |sum: u8, byte: u8| sum.wrapping_mul(31).wrapping_add(byte);
        Self {
            share: kind.bytes().fold(0, mixed),
            failures: 0,
            denied: Arc::default(),
            resumes: Instant::now(),
        }
    }
}

impl Iterator for Backoffs {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = Instant::now();
        if now > self.resumes + LONGEST_BACKOFF {
            self.failures = 0;
        }
        let whole = FIRST_BACKOFF.saturating_mul(1 << self.failures.min(8));
        let longest = match self.denied.load(Ordering::Relaxed) {
            true => LONGEST_DENIED,
            false => LONGEST_BACKOFF,
        };
        let whole = whole.min(longest);
        let wait = whole + whole * u32::from(self.share) / 512;
        self.failures = self.failures.saturating_add(1);
        self.resumes = now + wait;
        Some(wait)
    }
}

impl Backoff for Backoffs {
    /// Called with every event, also with the one that a list begins, which comes before any request:
    /// only time shows that a watch works.
    fn reset(&mut self) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use http::{Request, Response, StatusCode};
    use k8s_openapi::api::core::v1::Secret;
    use kube::client::Body;
    use kube::core::GroupVersionKind;

    use super::*;

    /// The milliseconds between the requests of a watch to a cluster that refuses all of them.
    async fn refused_requests(kind: &str, seconds: u64, code: StatusCode) -> Vec<u128> {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let asked = Arc::clone(&times);
        let service = tower::service_fn(move |_: Request<Body>| {
            asked.lock().unwrap().push(start.elapsed().as_millis());
            let mut response = Response::new(Body::empty());
            *response.status_mut() = code;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let served = Served {
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)),
            namespaced: true,
        };
        let client = Client::new(service, "default");
        let watching = async {
            match kind {
                "Secret" => {
                    let watched = object::<Secret>(&client, "default", "one");
                    watched.for_each(async |_| {}).await;
                }
                _ => all(&client, &served, None).for_each(async |_| {}).await,
            }
        };
        let limit = Duration::from_secs(seconds);
        assert!(tokio::time::timeout(limit, watching).await.is_err());
        let times = times.lock().unwrap();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_refused_is_retried_less_and_less_often() {
        let down = StatusCode::SERVICE_UNAVAILABLE;
        let waits = refused_requests("ConfigMap", 150, down).await;
        assert_eq!(waits, [1301, 2602, 5204, 10407, 20813, 41625, 41625]);
        let others = refused_requests("Secret", 10, down).await;
        assert_eq!(others, [1407, 2813, 5625]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_not_permitted_is_retried_every_few_seconds() {
        let waits = refused_requests("ConfigMap", 45, StatusCode::FORBIDDEN).await;
        assert_eq!(waits, [1301, 2602, 5204, 10407, 10407, 10407]);
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_not_permitted_says_once_which_right_it_lacks() {
        let lines = Lines::default();
        let written = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || lines.clone());
        let _logging = tracing::subscriber::set_default(subscriber.finish());
        // A place that logs for the first time in another test just now may miss that this one listens.
        refused_requests("ConfigMap", 1, StatusCode::FORBIDDEN).await;
        tracing::callsite::rebuild_interest_cache();
        written.0.lock().unwrap().clear();
        refused_requests("ConfigMap", 45, StatusCode::FORBIDDEN).await;
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let right = "grant list and watch on configmaps of the API group \"\", in all namespaces";
        assert_eq!(text.matches(right).count(), 1, "{text}");
        assert!(!text.contains("interrupted"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_outlasted_the_longest_backoff_starts_anew() {
        let mut waits = Backoffs::of("");
        let mut wait = || waits.next().unwrap().as_secs();
        for (held, expected) in [(0, 1), (32, 2), (0, 4), (33, 1), (0, 2)] {
            tokio::time::advance(Duration::from_secs(held)).await;
            let wait = wait();
            assert_eq!(wait, expected);
            tokio::time::advance(Duration::from_secs(wait)).await;
        }
    }
}
