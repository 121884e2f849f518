//! Hosted clusters that are reached over Azure Private Link: their management cluster must be in Azure.
//!
//! In: HostedClusters and nodes. Out: an item, if there is such a cluster. It does not know whether the connection works.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value as Json;

use super::item::Item;
use super::subject::Subject;
use crate::api::platform::{HYPERSHIFT, HYPERSHIFT_VERSION};
use crate::health::Live;

const ID: &str = "private-link";
/// The most objects of a kind that are looked at.
const MOST: u32 = 500;
/// The beginning of the ids of virtual machines in Azure.
const AZURE: &str = "azure://";

/// Checks the nodes of the management cluster of private clusters.
pub(super) async fn check(subject: &Subject<'_>) -> Option<Item> {
    let kind = GroupVersionKind::gvk(HYPERSHIFT, HYPERSHIFT_VERSION, "HostedCluster");
    let resource = ApiResource::from_gvk(&kind);
    let clusters = listed(Api::all_with(subject.client.clone(), &resource)).await;
    let private = match clusters {
        Ok(clusters) => clusters.into_iter().find(is_private)?,
        // Without HyperShift there are none.
        Err(kube::Error::Api(status)) if status.code == 404 => return None,
        Err(error) => return Some(Item::unknown(ID, &error)),
    };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
    let nodes = match listed(Api::all_with(subject.client.clone(), &resource)).await {
        Ok(nodes) => nodes,
        Err(error) => return Some(Item::unknown(ID, &error)),
    };
    Some(judged(&private, &nodes))
}

async fn listed(api: Api<DynamicObject>) -> kube::Result<Vec<DynamicObject>> {
    let found = api.list(&ListParams::default().limit(MOST)).await?;
    Ok(found.items)
}

/// Returns true if a cluster is reached over Private Link, in either shape of the API.
fn is_private(cluster: &DynamicObject) -> bool {
    let azure = Live(&cluster.data);
    let is = |field| {
        let access = azure.text(&["spec", "platform", "azure", field]);
        !["", "Public"].contains(&access)
    };
    is("topology") || is("endpointAccess")
}

fn judged(cluster: &DynamicObject, nodes: &[DynamicObject]) -> Item {
    let id = |node: &DynamicObject| {
        let id = node.data.pointer("/spec/providerID").and_then(Json::as_str);
        id.unwrap_or_default().to_owned()
    };
    let ids: Vec<String> = nodes.iter().map(id).filter(|id| !id.is_empty()).collect();
    let outside = ids.iter().find(|id| !id.starts_with(AZURE));
    let metadata = &cluster.metadata;
    let [namespace, name] =
        [&metadata.namespace, &metadata.name].map(|text| text.as_deref().unwrap_or_default());
    let cluster = format!("HostedCluster/{namespace}/{name}");
    match outside {
        Some(node) => Item::wrong(
            ID,
            format!(
                "{cluster} is reached over Azure Private Link, and this management cluster is not in Azure: it has the node {node}"
            ),
            "run HyperShift in a cluster in Azure, or make the hosted cluster public under a new name",
        ),
        None if ids.is_empty() => Item::doubtful(
            ID,
            format!(
                "{cluster} is reached over Azure Private Link, and the nodes of this management cluster do not say where they are"
            ),
            "make sure that this cluster is in Azure",
        ),
        None => Item::fine(ID, "the management cluster of private clusters is in Azure"),
    }
}
