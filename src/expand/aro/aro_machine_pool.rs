//! `AROMachinePool`: one node pool.

use super::blueprint::{Blueprint, Pool};
use super::hcp_open_shift_clusters_node_pool;
use super::write::top;
use crate::api::kinds::INFRASTRUCTURE;
use crate::expand::node::node;
use crate::model::Object;

pub(super) fn object(b: &Blueprint, pool: &Pool) -> Object {
    let node_pool = hcp_open_shift_clusters_node_pool::resource(b, pool);
    let spec = node!(b.origin(), {"resources": [node_pool]});
    top(b, INFRASTRUCTURE, "AROMachinePool", &pool.name)
        .in_cluster()
        .spec(spec)
}
