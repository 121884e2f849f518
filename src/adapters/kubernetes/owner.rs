//! Which fleet an object belongs to, for people: its label holds only a digest.
//!
//! In: a client, and why an object is not ours. Out: the same with the name of the other fleet, if that may be
//! read. It does not know: whether the object may be taken.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client};

use crate::api::labels;
use crate::apply::Foreign;
use crate::model::ObjectId;

/// Finds the parent of another set by its label.
pub(super) async fn named(client: &Client, foreign: Foreign) -> Foreign {
    let Foreign::OtherSet { set, .. } = foreign else {
        return foreign;
    };
    let api: Api<ConfigMap> = Api::all(client.clone());
    let label = format!("{}={set}", labels::APPLY_SET_ID);
    let found = api
        .list_metadata(&ListParams::default().labels(&label))
        .await;
    let parent = found.ok().and_then(|found| found.items.into_iter().next());
    let parent = parent.map(|parent| {
        let (name, namespace) = (parent.metadata.name, parent.metadata.namespace);
        let (name, namespace) = (name.unwrap_or_default(), namespace.unwrap_or_default());
        ObjectId::new("", "ConfigMap", namespace, name)
    });
    Foreign::OtherSet { set, parent }
}
