//! Passes on the approval to recreate an HCP cluster that Azure failed to create.
//!
//! In: the cluster that a person named. Out: the annotation on its AROControlPlane, which names the uid of the
//! HcpOpenShiftCluster that is there now, so that the approval is good for no later one. Nothing is passed on for a cluster
//! that ever ran, or that has an approval for an earlier one: a commit may be read more than once.

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::controller::writer::resource;
use super::request::with_timeout;
use super::{Error, address};
use crate::api::kinds::CONTROL_PLANE;
use crate::api::labels::RECREATE;
use crate::health::Live;
use crate::model::ObjectId;
use crate::plan::MANAGER;
use crate::reconcile::heeds_trailer;

const HCP: &str = "HcpOpenShiftCluster";

/// Annotates the AROControlPlane `name`. Returns the uid of its HcpOpenShiftCluster; `None` if one of them does not exist,
/// or if there is nothing to approve.
///
/// # Errors
/// When the cluster does not answer, or does not let us read or write.
pub async fn approve_recreation(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<String>, Error> {
    let id = ObjectId::new(CONTROL_PLANE, "AROControlPlane", namespace, name);
    with_timeout(&id, approve(client, &id)).await
}

async fn approve(client: &Client, id: &ObjectId) -> Result<Option<String>, Error> {
    let Some(plane) = read(client, id, "v1beta2").await? else {
        return Ok(None);
    };
    let resources = Live(&plane).list(&["status", "resources"]).iter();
    let mut resources = resources.map(|entry| Live(&entry["resource"]));
    let Some(resource) = resources.find(|resource| resource.kind() == HCP) else {
        return Ok(None);
    };
    let [group, version, name] = ["group", "version", "name"].map(|part| resource.text(&[part]));
    let hcp = ObjectId::new(group, HCP, id.namespace.as_str(), name);
    let Some(hcp) = read(client, &hcp, version).await? else {
        return Ok(None);
    };
    let uid = Live(&hcp).uid().to_owned();
    if !Live(&hcp).is_lost() || !heeds_trailer(Live(&plane), &uid) {
        return Ok(None);
    }
    let patch = json!({"metadata": {"annotations": {RECREATE: uid}}});
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = api(client, id, "v1beta2").map_err(|error| Error::new(id, error))?;
    let patch = Patch::Merge(patch);
    let patched = api.patch(&id.name, &params, &patch).await;
    patched.map_err(|error| Error::new(id, error))?;
    Ok(Some(uid))
}

async fn read(client: &Client, id: &ObjectId, version: &str) -> Result<Option<Value>, Error> {
    let api = api(client, id, version).map_err(|error| Error::new(id, error))?;
    let found = api.get_opt(&id.name).await;
    let found = found.map_err(|error| Error::new(id, error))?;
    Ok(found.and_then(|found| serde_json::to_value(found).ok()))
}

fn api(client: &Client, id: &ObjectId, version: &str) -> kube::Result<Api<DynamicObject>> {
    let resource = resource(&id.group, version, &id.kind);
    address::api(client, &resource, (&id.namespace, &id.name))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response, StatusCode};
    use kube::client::Body;

    use super::*;

    /// The result, and what was sent, of a cluster that has this AROControlPlane.
    async fn approved(plane: Value) -> (Option<String>, Vec<Value>) {
        let sent = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&sent);
        let service = tower::service_fn(move |request: Request<Body>| {
            let (plane, seen) = (plane.clone(), Arc::clone(&seen));
            async move {
                let path = request.uri().path().to_owned();
                let answer = match path.rsplit('/').nth(1) {
                    Some("hcpopenshiftclusters") => {
                        json!({"apiVersion": "redhatopenshift.azure.com/v1", "kind": HCP, "metadata": {"name": "c", "uid": "u7", "generation": 1},
                            "status": {"conditions": [{"type": "Ready", "status": "False", "observedGeneration": 1, "message": "Cluster 'c' is in state 'error', can't update"}]}})
                    }
                    _ => plane,
                };
                if request.method() == Method::PATCH {
                    let body = request.into_body().collect_bytes().await.unwrap();
                    seen.lock()
                        .unwrap()
                        .push(serde_json::from_slice(&body).unwrap());
                }
                let status = if answer.is_null() {
                    StatusCode::NOT_FOUND
                } else {
                    StatusCode::OK
                };
                let answer = match status {
                    StatusCode::OK => answer,
                    _ => {
                        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound", "message": "", "metadata": {}})
                    }
                };
                let body = Body::from(answer.to_string().into_bytes());
                Ok::<_, std::convert::Infallible>(
                    Response::builder().status(status).body(body).unwrap(),
                )
            }
        });
        let client = Client::new(service, "default");
        let uid = approve_recreation(&client, "ns", "c").await.unwrap();
        let sent = sent.lock().unwrap().clone();
        (uid, sent)
    }

    #[tokio::test]
    async fn the_approval_names_the_uid_of_the_cluster_that_is_there() {
        let of = |resources: Value| json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane", "metadata": {"name": "c", "namespace": "ns"}, "status": {"resources": resources}});
        let hcp = json!([{"resource": {"group": "redhatopenshift.azure.com", "version": "v1", "kind": HCP, "name": "c"}, "ready": false}]);
        let (uid, sent) = approved(of(hcp.clone())).await;
        assert_eq!(uid.as_deref(), Some("u7"));
        assert_eq!(
            sent,
            [json!({"metadata": {"annotations": {"capstan.dev/recreate": "u7"}}})]
        );
        let [mut ran, mut used] = [of(hcp.clone()), of(hcp)];
        ran["status"]["initialization"]["controlPlaneInitialized"] = json!(true);
        used["metadata"]["annotations"] = json!({RECREATE: "u6"});
        for plane in [Value::Null, of(json!([])), ran, used] {
            assert_eq!(approved(plane).await, (None, Vec::new()));
        }
    }
}
