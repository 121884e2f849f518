//! The Fleet objects of a cluster.

use kube::Api;
use kube::Resource as _;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::Value as Json;

use super::choice::FleetChoice;
use super::error::is_denied;
use super::read::{Failure, Reader, in_time};
use crate::api::fleet::Fleet;
use crate::status::FleetObjectState;

/// The most Fleets that are read.
const MOST: u32 = 1_000;

/// The API of Fleets, in one namespace or in all.
pub(super) fn api(reader: &Reader, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version, kind) = (Fleet::group(&()), Fleet::version(&()), Fleet::kind(&()));
    let kind = GroupVersionKind::gvk(&group, &version, &kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &Fleet::plural(&()));
    let client = reader.client().clone();
    match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    }
}

/// The Fleet objects, as far as they may be read; none where the kind is not installed. Whoever may read those of one namespace alone
/// gets these.
pub(super) async fn read(reader: &Reader, choice: &FleetChoice) -> Vec<FleetObjectState> {
    let listed = match list(reader, None).await {
        Err(failure) if is_denied(&failure) => list(reader, Some(&choice.namespace)).await,
        listed => listed,
    };
    let listed = listed.unwrap_or_default();
    listed.iter().filter_map(FleetObjectState::read).collect()
}

async fn list(reader: &Reader, namespace: Option<&str>) -> Result<Vec<Json>, Failure> {
    let params = ListParams::default().limit(MOST);
    let list = in_time(api(reader, namespace).list(&params)).await?;
    let items = list.items.into_iter();
    Ok(items
        .filter_map(|one| serde_json::to_value(one).ok())
        .collect())
}
