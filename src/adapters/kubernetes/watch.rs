//! What the cluster says of objects, as it changes.

use std::collections::BTreeSet;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, PartialObjectMeta, TypeMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value as Json;

use super::discovery::Served;
use crate::model::ObjectId;

/// News from the cluster.
pub(super) enum News {
    /// A live object as it is now, or `None` when it is gone.
    Object(ObjectId, Option<Json>),
    /// The definition of a kind of this group appeared or changed.
    Definition(String),
}

/// News of all definitions of custom kinds. Their content, which is large, is not asked for.
pub(super) fn definitions(client: &Client) -> BoxStream<'static, News> {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client.clone());
    let events = watcher(api, watcher::Config::default()).default_backoff();
    let news = events.filter_map(async |event| match event {
        Ok(watcher::Event::Apply(crd) | watcher::Event::InitApply(crd)) => {
            let name = crd.name_any();
            let (_, group) = name.split_once('.')?;
            Some(News::Definition(group.to_owned()))
        }
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(%error, "definitions of custom kinds cannot be watched now; trying again");
            None
        }
    });
    news.boxed()
}

/// News of all objects of one kind, optionally only of those with a label. Reconnects by itself,
/// with back-off; what vanished while it was away is told as gone.
pub(super) fn objects(
    client: &Client,
    served: &Served,
    labels: Option<&str>,
) -> BoxStream<'static, News> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &served.resource);
    let config = labels.map_or_else(watcher::Config::default, |labels| {
        watcher::Config::default().labels(labels)
    });
    news(
        watcher(api, config).default_backoff(),
        served.resource.clone(),
    )
    .boxed()
}

fn news<E: std::fmt::Display + Send + 'static>(
    events: impl Stream<Item = Result<watcher::Event<DynamicObject>, E>> + Send + 'static,
    resource: ApiResource,
) -> impl Stream<Item = News> + Send {
    // The objects known to be there, and those seen since a fresh list began.
    let (mut there, mut listed) = (BTreeSet::new(), BTreeSet::new());
    events.flat_map(move |event| {
        let found = match event {
            Ok(watcher::Event::Apply(object)) => {
                there.insert(id(&object, &resource));
                vec![present(object, &resource)]
            }
            Ok(watcher::Event::InitApply(object)) => {
                listed.insert(id(&object, &resource));
                vec![present(object, &resource)]
            }
            Ok(watcher::Event::Delete(object)) => {
                let id = id(&object, &resource);
                there.remove(&id);
                vec![News::Object(id, None)]
            }
            Ok(watcher::Event::Init) => {
                listed.clear();
                Vec::new()
            }
            Ok(watcher::Event::InitDone) => {
                let gone: Vec<ObjectId> = there.difference(&listed).cloned().collect();
                there = std::mem::take(&mut listed);
                gone.into_iter().map(|id| News::Object(id, None)).collect()
            }
            Err(error) => {
                let kind = &resource.kind;
                tracing::warn!(kind, %error, "the watch was interrupted; it will be taken up again");
                Vec::new()
            }
        };
        futures::stream::iter(found)
    })
}

fn id(object: &DynamicObject, resource: &ApiResource) -> ObjectId {
    let namespace = object.namespace().unwrap_or_default();
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    ObjectId::new(group, kind, namespace, object.name_any())
}

fn present(mut live: DynamicObject, resource: &ApiResource) -> News {
    let id = id(&live, resource);
    // Nobody here reads them, and they are the larger half of many objects.
    live.metadata.managed_fields = None;
    // API servers leave it out of the items of a list.
    live.types = Some(TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    });
    // A dynamic object is made of JSON, so it always turns into JSON again.
    News::Object(id, serde_json::to_value(live).ok())
}
