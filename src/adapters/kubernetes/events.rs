//! Events of `events.k8s.io/v1`.
//!
//! In: what happened to an object, and who reports it. Out: one Event in the namespace of the object. It does not know when one is
//! due, or how many are too many.

use jiff::Timestamp;
use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::request::with_timeout;
use super::{Error, address};
use crate::health::Live;
use crate::model::{ObjectId, cut};
use crate::reconcile::outcome::Event;

/// The most bytes of a note, as the API server allows.
const MOST_NOTE: usize = 1024;

/// The reporter of Events, and its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reporter<'a> {
    /// A name with a domain, such as `capstan.dev/daemon`.
    pub(crate) controller: &'static str,
    /// The field manager.
    pub(crate) instance: &'a str,
    /// In CamelCase.
    pub(crate) action: &'static str,
}

/// Writes an Event into the namespace of the object that it is about.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub(crate) async fn report_event(
    client: &Client,
    reporter: Reporter<'_>,
    event: &Event,
    now: Timestamp,
) -> Result<(), Error> {
    let regarding = Live(&event.regarding);
    let [namespace, name] = ["namespace", "name"].map(|key| regarding.text(&[key]));
    let object = ObjectId::new("events.k8s.io", "Event", namespace, "");
    let created = async {
        let failed = |error| Error::new(&object, error);
        let kind = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
        let resource = ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> =
            address::api(client, &resource, (namespace, name)).map_err(failed)?;
        let body = serde_json::from_value(body(reporter, event, now));
        let body = body.map_err(|error| Error::Unsendable {
            object: object.clone(),
            cause: error.to_string(),
        })?;
        let created = api.create(&PostParams::default(), &body).await;
        created.map(drop).map_err(failed)
    };
    with_timeout(&object, created).await
}

/// The message of an event, as far as an Event holds it.
pub(super) fn note(event: &Event) -> &str {
    cut::head(&event.message, MOST_NOTE)
}

fn body(reporter: Reporter<'_>, event: &Event, now: Timestamp) -> Json {
    let regarding = Live(&event.regarding);
    // A prefix may end with a hyphen, but not with a dot.
    let name = format!("{}-", regarding.text(&["name"]));
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"generateName": name, "namespace": regarding.text(&["namespace"])},
        "eventTime": format!("{now:.6}"),
        "reportingController": reporter.controller,
        "reportingInstance": reporter.instance,
        "action": reporter.action,
        "type": if event.is_warning { "Warning" } else { "Normal" },
        "reason": event.reason,
        "note": note(event),
        "regarding": event.regarding,
    })
}
