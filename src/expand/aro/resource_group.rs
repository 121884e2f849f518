//! `ResourceGroup`: contains all of the cluster's Azure resources.

use super::blueprint::Blueprint;
use super::write::embedded;
use crate::api::kinds::RESOURCES;
use crate::expand::node::node;
use crate::model::Node;

pub(super) fn resource(b: &Blueprint) -> Node {
    let spec = node!(b.origin(), {
        "location": b.value("location"),
        "tags": b.value("tags"),
    });
    embedded(
        b,
        [RESOURCES, "ResourceGroup", &b.names.resource_group],
        spec,
    )
}
