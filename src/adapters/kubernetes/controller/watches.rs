//! One stream of everything that happens to the watched kinds.
//!
//! In: a client and kinds. Out: events in order, one watch per kind. A watch that breaks is taken up
//! again after a pause; a kind that is not served counts as empty until it is. It does not know what
//! is done about an event.

use std::time::Duration;

use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, future, stream};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use serde_json::Value;

/// Something seen on the watch of one kind.
pub(crate) struct Seen {
    /// The kind, by its place in the list.
    pub(crate) kind: usize,
    /// What was seen.
    pub(crate) sight: Sight,
}

/// What a watch can show.
pub(crate) enum Sight {
    /// A list of all objects begins.
    ListBegins,
    /// An object of that list.
    Listed(Value),
    /// The list is complete: what was not in it is gone.
    ListEnds,
    /// An object was made or changed.
    Applied(Value),
    /// An object is gone.
    Deleted(Value),
    /// The watch broke; it goes on after a pause.
    Broken(watcher::Error),
}

/// All watches in one stream, which never ends. A broken one rests for `pause`.
pub(crate) fn all(
    client: &Client,
    kinds: &[ApiResource],
    pause: Duration,
) -> SelectAll<BoxStream<'static, Seen>> {
    let streams = kinds
        .iter()
        .enumerate()
        .map(|(place, kind)| one(client, place, kind.clone(), pause));
    stream::select_all(streams)
}

fn one(
    client: &Client,
    place: usize,
    kind: ApiResource,
    pause: Duration,
) -> BoxStream<'static, Seen> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
    let events = watcher::watcher(api, watcher::Config::default());
    let rested = events.then(move |event| async move {
        if event.is_err() {
            tokio::time::sleep(pause).await;
        }
        event
    });
    let seen = rested.filter_map(move |event| future::ready(sight(event, &kind)));
    seen.map(move |sight| Seen { kind: place, sight }).boxed()
}

fn sight(event: watcher::Result<Event<DynamicObject>>, kind: &ApiResource) -> Option<Sight> {
    Some(match event {
        Ok(Event::Init) => Sight::ListBegins,
        Ok(Event::InitApply(object)) => Sight::Listed(value(object, kind)?),
        Ok(Event::InitDone) => Sight::ListEnds,
        Ok(Event::Apply(object)) => Sight::Applied(value(object, kind)?),
        Ok(Event::Delete(object)) => Sight::Deleted(value(object, kind)?),
        Err(error) => Sight::Broken(error),
    })
}

/// The object as JSON. Items of a list of a built-in kind do not say what they are.
fn value(mut object: DynamicObject, kind: &ApiResource) -> Option<Value> {
    object.metadata.managed_fields = None;
    let mut value = serde_json::to_value(object).ok()?;
    value["apiVersion"] = Value::from(kind.api_version.clone());
    value["kind"] = Value::from(kind.kind.clone());
    Some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use http::{Request, Response, StatusCode};
    use kube::client::Body;
    use tokio::time::Instant;

    use super::super::writer::resource;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_broken_watch_is_taken_up_again_after_the_pause() {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let asked = Arc::clone(&times);
        let client = tower::service_fn(move |_: Request<Body>| {
            asked.lock().unwrap().push(start.elapsed().as_millis());
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            std::future::ready(Ok::<_, std::convert::Infallible>(response))
        });
        let client = Client::new(client, "default");
        let kinds = [resource("", "v1", "ConfigMap")];
        let broken = all(&client, &kinds, Duration::from_millis(700))
            .filter(|seen| future::ready(matches!(seen.sight, Sight::Broken(_))));
        assert_eq!(broken.take(3).count().await, 3);
        assert_eq!(*times.lock().unwrap(), [0, 700, 1400]);
    }
}
