//! What the cluster says of objects, as it changes.

use std::collections::BTreeSet;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde_json::Value as Json;

use super::discovery::Served;
use crate::model::ObjectId;

/// A live object as it is now, or `None` when it is gone.
pub(super) struct Observation {
    pub(super) object: ObjectId,
    pub(super) live: Option<Json>,
}

/// Observations of all objects of one kind, optionally only of those with a label. Reconnects by
/// itself, with back-off; what vanished while it was away is observed as gone.
pub(super) fn observe(
    client: &Client,
    served: &Served,
    labels: Option<&str>,
) -> BoxStream<'static, Observation> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &served.resource);
    let config = labels.map_or_else(watcher::Config::default, |labels| {
        watcher::Config::default().labels(labels)
    });
    let (group, kind) = (served.resource.group.clone(), served.resource.kind.clone());
    observations(watcher(api, config).default_backoff(), group, kind).boxed()
}

fn observations<E: std::fmt::Display + Send + 'static>(
    events: impl Stream<Item = Result<watcher::Event<DynamicObject>, E>> + Send + 'static,
    group: String,
    kind: String,
) -> impl Stream<Item = Observation> + Send {
    // The objects known to be there, and those seen since a fresh list began.
    let (mut there, mut listed) = (BTreeSet::new(), BTreeSet::new());
    events.flat_map(move |event| {
        let id = |object: &DynamicObject| {
            let meta = &object.metadata;
            let (namespace, name) = (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
            ObjectId::new(group.as_str(), kind.as_str(), namespace, name)
        };
        let found = match event {
            Ok(watcher::Event::Apply(object)) => {
                there.insert(id(&object));
                vec![present(id(&object), object)]
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.insert(id(&object));
                vec![present(id(&object), object)]
            }
            Ok(watcher::Event::Delete(object)) => {
                there.remove(&id(&object));
                vec![Observation { object: id(&object), live: None }]
            }
            Ok(watcher::Event::Init) => {
                listed.clear();
                Vec::new()
            }
            Ok(watcher::Event::InitDone) => {
                let gone: Vec<ObjectId> = there.difference(&listed).cloned().collect();
                there = std::mem::take(&mut listed);
                gone.into_iter().map(|object| Observation { object, live: None }).collect()
            }
            Err(error) => {
                tracing::warn!(%group, %kind, %error, "the watch was interrupted; it will be taken up again");
                Vec::new()
            }
        };
        futures::stream::iter(found)
    })
}

fn present(object: ObjectId, mut live: DynamicObject) -> Observation {
    // Nobody here reads them, and they are the larger half of many objects.
    live.metadata.managed_fields = None;
    // A dynamic object is made of JSON, so it always turns into JSON again.
    Observation {
        object,
        live: serde_json::to_value(live).ok(),
    }
}
