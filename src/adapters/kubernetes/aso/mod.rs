//! Reads what a cluster has of Azure Service Operator.
//!
//! In: a client, and where clusters are. Out: a report. Nothing is written. Of the Secret with its settings only
//! metadata is read, whose managed fields name its keys, so that no value leaves the API server. What may not be read
//! is part of the report. It does not know what should be there.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{join_all, try_join};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::metadata::PartialObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use super::Error;
use super::controller::writer::resource;
use super::discovery::unserved;
use super::request::in_time;
use crate::api::kinds::{ARO, CONTROL_PLANE, KINDS, Kind, find, is_aso};
use crate::model::{Namespaces, ObjectId};
use crate::reconcile::preflight::{
    DEPLOYMENT, Keys, LABEL, Operator, Report, SETTINGS, Seen, report,
};

/// The kinds of ASO that ARO clusters need.
pub(crate) fn aro_kinds() -> Vec<Kind> {
    let needed = KINDS.iter().filter(|kind| is_aso(kind.group));
    needed.copied().collect()
}

/// What is there of ASO, and what to do about it, for these kinds. `namespaces` are those with clusters, of those that are
/// `watched`.
pub(crate) async fn examine_aso(
    client: &Client,
    needed: &[Kind],
    namespaces: BTreeSet<String>,
    watched: &Namespaces,
) -> Report {
    let about = ObjectId::new("apps", "Deployment", "", DEPLOYMENT);
    let (operators, unserved, environments) = tokio::join!(
        operators(client, &about, watched),
        in_time(&about, unserved(client, needed)),
        environments(client, watched)
    );
    report(&Seen {
        operators: operators.map_err(|error| error.to_string()),
        unserved: unserved.map_err(|error| error.to_string()),
        namespaces,
        environments,
    })
}

/// The clouds that clusters name, as far as they may be seen.
async fn environments(client: &Client, watched: &Namespaces) -> BTreeSet<String> {
    let newest = find(CONTROL_PLANE, "AROControlPlane").and_then(|known| known.versions.last());
    let newest = newest.copied().unwrap_or_default();
    let resource = resource(CONTROL_PLANE, newest, "AROControlPlane");
    let id = ObjectId::new(CONTROL_PLANE, "AROControlPlane", "", "");
    let lists = places(client, &resource, watched).into_iter().map(|api| {
        let id = &id;
        let list = async move {
            let list = api.list(&ListParams::default()).await;
            list.map_err(|error| Error::new(id, error))
        };
        in_time(id, list)
    });
    let found = join_all(lists).await.into_iter().flatten();
    let found = found.flat_map(|list| list.items);
    let named = |plane: DynamicObject| {
        let environment = plane.data["spec"]["azureEnvironment"].as_str();
        environment.unwrap_or_default().to_owned()
    };
    found.map(named).collect()
}

/// The namespaces with clusters of ours, as far as they may be seen, of those that are `watched`.
pub(crate) async fn cluster_namespaces(client: &Client, watched: &Namespaces) -> BTreeSet<String> {
    let lists = ARO.iter().flat_map(|(group, kind)| {
        let newest = find(group, kind).and_then(|known| known.versions.last());
        let resource = resource(group, newest.copied().unwrap_or_default(), kind);
        let apis = places(client, &resource, watched).into_iter();
        apis.map(move |api| names(api, ObjectId::new(*group, *kind, "", "")))
    });
    join_all(lists).await.into_iter().flatten().collect()
}

/// The namespaces of objects; none if they may not be seen.
async fn names(api: Api<DynamicObject>, id: ObjectId) -> Vec<String> {
    let list = async {
        let list = api.list_metadata(&ListParams::default()).await;
        list.map_err(|error| Error::new(&id, error))
    };
    let list = in_time(&id, list).await;
    let found = list.map(|list| list.items).unwrap_or_default();
    found.iter().filter_map(|one| one.namespace()).collect()
}

/// The objects of a kind, where they may be looked at.
fn places(
    client: &Client,
    resource: &ApiResource,
    watched: &Namespaces,
) -> Vec<Api<DynamicObject>> {
    match watched {
        Namespaces::All => vec![Api::all_with(client.clone(), resource)],
        Namespaces::Some(names) => names
            .iter()
            .map(|name| Api::namespaced_with(client.clone(), name, resource))
            .collect(),
    }
}

/// The Deployments of ASO in all namespaces, by their name or their label.
async fn operators(
    client: &Client,
    about: &ObjectId,
    watched: &Namespaces,
) -> Result<Vec<Operator>, Error> {
    let all = deployments(client, about, DEPLOYMENT, LABEL).await?;
    let read = all.into_iter().map(|deployment| async move {
        let namespace = deployment.namespace().unwrap_or_default();
        let keys = if watched.has(&namespace) {
            keys(client, &namespace).await
        } else {
            Keys::Unseen(format!("the namespace {namespace} is not watched"))
        };
        let json = serde_json::to_value(deployment).unwrap_or_default();
        Operator::read(&json, keys)
    });
    Ok(join_all(read).await)
}

/// The Deployments in all namespaces with this name or this label.
pub(super) async fn deployments(
    client: &Client,
    about: &ObjectId,
    name: &str,
    (key, value): (&str, &str),
) -> Result<Vec<Deployment>, Error> {
    let api: Api<Deployment> = Api::all(client.clone());
    let list = |params: ListParams| {
        let api = &api;
        let listed = async move {
            let listed = api.list(&params).await;
            listed.map_err(|error| Error::new(about, error))
        };
        in_time(about, listed)
    };
    let named = list(ListParams::default().fields(&format!("metadata.name={name}")));
    let labelled = list(ListParams::default().labels(&format!("{key}={value}")));
    let (named, labelled) = try_join(named, labelled).await?;
    let all = named.items.into_iter().chain(labelled.items);
    let all: BTreeMap<(String, String), Deployment> = all
        .map(|one| ((one.namespace().unwrap_or_default(), one.name_any()), one))
        .collect();
    Ok(all.into_values().collect())
}

/// The names of the keys of the settings.
async fn keys(client: &Client, namespace: &str) -> Keys {
    let id = ObjectId::new("", "Secret", namespace, SETTINGS);
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let read = async {
        let read = api.get_metadata_opt(SETTINGS).await;
        read.map_err(|error| Error::new(&id, error))
    };
    match in_time(&id, read).await {
        Ok(Some(secret)) => Keys::Named(named(&secret)),
        Ok(None) => Keys::Missing,
        Err(error) => Keys::Unseen(error.to_string()),
    }
}

/// The keys that managed fields name.
fn named(secret: &PartialObjectMeta<Secret>) -> BTreeSet<String> {
    let managers = secret.managed_fields().iter();
    let fields = managers.filter_map(|one| one.fields_v1.as_ref());
    let data = fields.flat_map(|fields| ["f:data", "f:stringData"].map(|part| &fields.0[part]));
    let names = data
        .filter_map(Value::as_object)
        .flat_map(|data| data.keys());
    names
        .filter_map(|name| Some(name.strip_prefix("f:")?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests;
