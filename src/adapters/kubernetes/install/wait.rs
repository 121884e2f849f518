//! Waits until an installed object works.
//!
//! In: an object and a time. Out: nothing, or what is still missing. It does not know what the object is for.

use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::runtime::watcher;
use serde_json::Value as Json;
use tokio::time::{Instant, sleep, timeout_at};

use crate::adapters::kubernetes::any_object::AnyObject;
use crate::adapters::kubernetes::discovery::Discovery;
use crate::adapters::kubernetes::request::with_timeout;
use crate::adapters::kubernetes::{Error, address, watch};
use crate::health::{Live, health};
use crate::model::words::said;
use crate::model::{HealthState, ObjectId};

/// The time between two looks for a kind that was just defined.
const PAUSE: Duration = Duration::from_millis(200);

/// Waits until a Deployment is available, or the kind of a CustomResourceDefinition served. Returns the reason if that is not so by
/// `deadline`, or cannot be seen.
pub async fn wait(client: &Client, object: &Json, deadline: Instant) -> Result<(), String> {
    let mut last = "it was not seen".to_owned();
    let ended = timeout_at(deadline, follow(client, object, &mut last)).await;
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(last),
    }
}

/// Follows the object until it is ready; `last` is what was missing when it was seen last.
async fn follow(client: &Client, object: &Json, last: &mut String) -> Result<(), String> {
    let id = Live(object).id();
    let discovery = Discovery::new(client.clone());
    let served = discovery.resolve(&id, Live(object).version());
    let served = with_timeout(&id, served).await;
    let served = served.map_err(|error| error.to_string())?;
    let key = (id.namespace.as_str(), id.name.as_str());
    let api = address::api::<AnyObject>(&watch::patient(client), &served.resource, key);
    let api = api.map_err(|error| Error::new(&id, error).to_string())?;
    let mut states = watch::patiently(watcher::watch_object(api, &id.name), &id.kind).boxed();
    while let Some(state) = states.next().await {
        match state {
            Ok(Some(live)) => {
                let mut live = live.json;
                // Objects in a list lack both.
                for key in ["apiVersion", "kind"] {
                    live[key] = object[key].clone();
                }
                let found = health(&live);
                if found.state == HealthState::Ready {
                    "its kind is not served yet".clone_into(last);
                    return served_at_last(&discovery, &live).await;
                }
                *last = missing(&live, &found.message);
            }
            Ok(None) => "it was deleted".clone_into(last),
            Err(error) if watch::is_denied(&error) => return Err(watch::classified(&error).1),
            Err(error) => *last = watch::classified(&error).1,
        }
    }
    Ok(())
}

/// Waits until the kind of a definition is served, which may be a little after it is established.
async fn served_at_last(discovery: &Discovery, live: &Json) -> Result<(), String> {
    let live = Live(live);
    if live.kind() != "CustomResourceDefinition" {
        return Ok(());
    }
    let kind = live.text(&["spec", "names", "kind"]);
    let id = ObjectId::new(live.text(&["spec", "group"]), kind, "", "");
    loop {
        let versions = with_timeout(&id, discovery.preferred(&id)).await;
        if versions.map_err(|error| error.to_string())?.is_some() {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// The reason why an object does not work. A refusal of pods, such as by OpenShift's `restricted-v2`, says more than their number.
fn missing(live: &Json, message: &str) -> String {
    let refused = Live(live).condition("ReplicaFailure");
    match refused.filter(|condition| condition.is_true()) {
        Some(refused) => said(refused.message()),
        None => said(message),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    fn definition() -> Json {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.dev", "resourceVersion": "1", "uid": "u"},
            "spec": {"group": "x.dev", "names": {"kind": "Thing"}},
            "status": {"conditions": [{"type": "Established", "status": "True"}]}})
    }

    /// The definition as it is in a list.
    fn listed() -> Json {
        let mut listed = definition();
        let fields = listed.as_object_mut().expect("an object");
        fields.retain(|key, _| key != "apiVersion" && key != "kind");
        listed
    }

    /// A server that serves Things once it was asked `after` times which groups there are.
    fn server(after: usize) -> Client {
        let asked = AtomicUsize::new(0);
        let service = tower::service_fn(move |request: Request<Body>| {
            let resources = |name: &str, kind: &str| json!({"resources": [{"name": name, "kind": kind, "namespaced": false, "singularName": "", "verbs": []}]});
            let answer = match request.uri().path() {
                "/apis" => {
                    let version = json!({"groupVersion": "x.dev/v1", "version": "v1"});
                    let group = json!({"name": "x.dev", "versions": [version]});
                    if asked.fetch_add(1, Ordering::Relaxed) < after {
                        json!({"groups": []})
                    } else {
                        json!({"groups": [group]})
                    }
                }
                "/apis/x.dev/v1" => resources("things", "Thing"),
                "/apis/apiextensions.k8s.io/v1" => {
                    resources("customresourcedefinitions", "CustomResourceDefinition")
                }
                _ => json!({"metadata": {"resourceVersion": "1"}, "items": [listed()]}),
            };
            let body = Body::from(answer.to_string().into_bytes());
            async { Ok::<_, std::convert::Infallible>(Response::new(body)) }
        });
        Client::new(service, "default")
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_looked_for_every_200_milliseconds_until_it_is_served() {
        let start = Instant::now();
        let deadline = start + Duration::from_secs(60);
        let served = wait(&server(3), &definition(), deadline).await;
        assert_eq!(served, Ok(()));
        assert_eq!(start.elapsed(), 3 * PAUSE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_work_in_time_is_given_up() {
        let start = Instant::now();
        let deadline = start + Duration::from_secs(5);
        let never = wait(&server(usize::MAX), &definition(), deadline).await;
        assert!(never.is_err_and(|why| why.contains("not served")));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }
}
