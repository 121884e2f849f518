//! What the cluster has around an object.
//!
//! In: queries. Out: objects; what does not exist is left out. It does not know: what they are for.

use futures::future::{BoxFuture, FutureExt as _, try_join_all};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, Error};
use serde_json::Value as Json;

use crate::admission::{MOST_VALUES, Query};
use crate::api::embedded;
use crate::api::kinds::{INFRASTRUCTURE, KINDS};
use crate::api::labels::CLUSTER_NAME;
use crate::model::{AdapterError, ErrorClass, ObjectId, is_dns_label, is_path_segment};

/// How many pools are read at once.
const PAGE: u32 = 5;
/// The most that are read of one cluster.
const MOST_PAGES: usize = 20;
/// The most keys and values of the objects that carry resources.
const MOST_AROUND: usize = MOST_VALUES;

/// Reads what a review needs.
pub trait Reader: Send + Sync {
    /// The objects that `queries` find.
    fn read(&self, queries: Vec<Query>) -> BoxFuture<'_, Result<Vec<Json>, AdapterError>>;
}

/// Reads from a cluster.
pub struct ClusterReader(pub Client);

impl Reader for ClusterReader {
    fn read(&self, queries: Vec<Query>) -> BoxFuture<'_, Result<Vec<Json>, AdapterError>> {
        async move {
            let read = queries.iter().map(|query| self.answer(query));
            let found = try_join_all(read).await?;
            Ok(bounded(found.into_iter().flatten().collect()))
        }
        .boxed()
    }
}

impl ClusterReader {
    async fn answer(&self, query: &Query) -> Result<Vec<Json>, AdapterError> {
        match query {
            Query::Object(id) => Ok(self.object(id).await?.into_iter().collect()),
            Query::Pools(namespace, cluster) => self.pools(namespace, cluster).await,
        }
    }

    /// The object at the newest version that is served.
    async fn object(&self, id: &ObjectId) -> Result<Option<Json>, AdapterError> {
        // The name is part of an address, and no object can have another.
        let is_inside = id.namespace.is_empty() || is_dns_label(&id.namespace);
        if !is_inside || !is_path_segment(&id.name) {
            return Ok(None);
        }
        for resource in resources(&id.group, &id.kind) {
            let api = self.api(&id.namespace, &resource);
            match api.get(&id.name).await {
                Ok(found) => return Ok(Some(whole(&found, &resource))),
                Err(Error::Api(status)) if status.code == 404 => {
                    // The answer to a version that is not served names no object.
                    let named = status
                        .details
                        .as_ref()
                        .is_some_and(|about| !about.name.is_empty());
                    if named {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(failed(&id.to_string(), &error)),
            }
        }
        Ok(None)
    }

    async fn pools(&self, namespace: &str, cluster: &str) -> Result<Vec<Json>, AdapterError> {
        let selector = format!("{CLUSTER_NAME}={cluster}");
        let parameters = ListParams::default().labels(&selector).limit(PAGE);
        for resource in resources(INFRASTRUCTURE, "AROMachinePool") {
            let api = self.api(namespace, &resource);
            match page_by_page(&api, &resource, &parameters).await {
                Ok(pools) => return Ok(pools),
                Err(Error::Api(status)) if status.code == 404 => {}
                Err(error) => {
                    let what = format!("the AROMachinePools of {namespace}/{cluster}");
                    return Err(failed(&what, &error));
                }
            }
        }
        Ok(Vec::new())
    }

    fn api(&self, namespace: &str, resource: &ApiResource) -> Api<DynamicObject> {
        let client = self.0.clone();
        match namespace {
            "" => Api::all_with(client, resource),
            namespace => Api::namespaced_with(client, namespace, resource),
        }
    }
}

/// The first pools that a list has: whoever may create them decides how many there are, and how large.
async fn page_by_page(
    api: &Api<DynamicObject>,
    resource: &ApiResource,
    parameters: &ListParams,
) -> Result<Vec<Json>, Error> {
    let mut parameters = parameters.clone();
    let mut pools = Vec::new();
    for _ in 0..MOST_PAGES {
        let page = api.list(&parameters).await?;
        pools.extend(page.items.iter().map(|pool| whole(pool, resource)));
        pools = bounded(pools);
        parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if parameters.continue_token.is_none() {
            break;
        }
    }
    Ok(pools)
}

/// The objects without carriers of resources beyond the limit, as if they did not exist yet. All others count for who may
/// use what, and are not that large.
fn bounded(mut objects: Vec<Json>) -> Vec<Json> {
    let mut left = MOST_AROUND;
    objects.retain(|object| {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split('/').next().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        let is_bounded = embedded::carries(&ObjectId::new(group, kind, "", ""));
        if !is_bounded {
            return true;
        }
        let rest = left.checked_sub(values(object));
        left = rest.unwrap_or(left);
        rest.is_some()
    });
    objects
}

fn values(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Json::Object(fields) => {
            1 + fields
                .values()
                .map(|field| 1 + values(field))
                .sum::<usize>()
        }
        _ => 1,
    }
}

/// The versions of a kind, the newest first.
fn resources(group: &str, kind: &str) -> Vec<ApiResource> {
    let with = |version: &str, plural: &str| {
        let kind = GroupVersionKind::gvk(group, version, kind);
        ApiResource::from_gvk_with_plural(&kind, plural)
    };
    if (group, kind) == ("", "Namespace") {
        return vec![with("v1", "namespaces")];
    }
    let known = KINDS
        .iter()
        .find(|known| (known.group, known.kind) == (group, kind));
    let versions = known.into_iter().flat_map(|known| {
        known
            .versions
            .iter()
            .rev()
            .map(|version| with(version, known.plural))
    });
    versions.collect()
}

/// Items of a list may not name their kind.
fn whole(object: &DynamicObject, resource: &ApiResource) -> Json {
    let mut json = serde_json::to_value(object).unwrap_or_default();
    json["apiVersion"] = Json::from(&*resource.api_version);
    json["kind"] = Json::from(&*resource.kind);
    json
}

fn failed(what: &str, error: &Error) -> AdapterError {
    AdapterError::new(class(error), format!("cannot read {what}: {}", why(error)))
}

/// What the API server said; if it was not reached, the innermost cause: the layers above it only repeat that a request
/// failed.
pub(super) fn why(error: &Error) -> String {
    match error {
        Error::Api(status) => return status.message.clone(),
        Error::Service(_) | Error::HyperError(_) => {}
        other => return other.to_string(),
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    format!("the cluster cannot be reached: {cause}")
}

/// What kind of error the API server's answer is.
pub(super) fn class(error: &Error) -> ErrorClass {
    match error {
        Error::Api(status) => match status.code {
            401 | 403 => ErrorClass::Denied,
            404 => ErrorClass::Gone,
            409 => ErrorClass::Conflict,
            429 | 500..=599 => ErrorClass::Transient,
            _ => ErrorClass::Invalid,
        },
        _ => ErrorClass::Transient,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn large_objects_around_count_as_missing_and_identities_never_do() {
        let of = |kind: &str, name: &str, size: usize| {
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
                "metadata": {"name": name}, "spec": {"resources": vec![1; size]}})
        };
        let objects = vec![
            of("AROMachinePool", "a", 10),
            of("AROCluster", "b", MOST_AROUND),
            of("AzureClusterIdentity", "c", MOST_AROUND),
            of("AROMachinePool", "d", 10),
        ];
        let kept = bounded(objects);
        let names: Vec<_> = kept.iter().map(|one| &one["metadata"]["name"]).collect();
        assert_eq!(names, ["a", "c", "d"]);
    }
}
