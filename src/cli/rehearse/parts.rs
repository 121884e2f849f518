//! A fleet in parts that can be rehearsed apart from each other.
//!
//! In: a compiled fleet. Out: compiled fleets, each with all that its objects need, so that the same happens to each
//! object as in a rehearsal of the whole: requests take no time on the virtual clock, so nobody waits for others. A part
//! is small, so that its cluster fits a processor's cache, and parts are rehearsed on all processors. Clusters that
//! use the same key of the same vault are not kept together: the second finds the key at once, the first waits a few
//! seconds for it. It does not know what happens in a rehearsal.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::embedded;
use crate::api::kinds::is_aso;
use crate::compile::Compiled;
use crate::graph::Graph;
use crate::model::Object;

/// Parts that have fewer objects than this, embedded ones included, are put together: each part has a simulated cluster of
/// its own. A usual ARO cluster is a part by itself, since rehearsing two at once takes longer than one after the other:
/// their objects fit a processor's cache no longer.
pub(super) const SMALL: usize = 64;

/// The parts, in the order of the fleet; small ones are put together as long as they have `most` objects at most.
pub(super) fn parts(compiled: &Compiled, most: usize) -> Vec<Compiled> {
    let names = |object: usize| names(&compiled.objects[object]);
    let mut sets: Vec<BTreeSet<usize>> = Vec::new();
    let mut room = 0;
    for part in compiled.graph.parts(names) {
        let size = part
            .iter()
            .map(|at| 1 + embedded::items(&compiled.objects[*at]).len());
        let size: usize = size.sum();
        match sets.last_mut() {
            Some(last) if size <= room => last.extend(part),
            _ => {
                room = most;
                sets.push(part);
            }
        }
        room = room.saturating_sub(size);
    }
    sets.iter().map(|set| part(compiled, set)).collect()
}

fn part(compiled: &Compiled, set: &BTreeSet<usize>) -> Compiled {
    let graph: Graph = compiled.graph.part(set);
    let objects = set.iter().map(|at| compiled.objects[*at].clone());
    Compiled {
        objects: objects.collect(),
        graph: Arc::new(graph),
        ..Compiled::default()
    }
}

/// The names by which an object, or a resource embedded in it, may meet another one: in the cluster by its id, and in
/// Azure by its owner, kind and name.
fn names(object: &Object) -> Vec<String> {
    let embedded = embedded::resources(object);
    let embedded = embedded.iter().map(|(_, resource)| resource);
    let all = std::iter::once(object).chain(embedded);
    all.flat_map(|one| std::iter::once(one.id.to_string()).chain(azure_name(one)))
        .collect()
}

/// Resource groups have no owner. Others are below theirs, which is named in the namespace or by an ARM ID.
fn azure_name(object: &Object) -> Option<String> {
    let (id, node) = (&object.id, &object.node);
    if !is_aso(&id.group) {
        return None;
    }
    let name = node.text(&["spec", "azureName"]).unwrap_or(&id.name);
    let in_cluster = |owner: &str| format!("{}/{owner}", id.namespace);
    let owner = match node.text(&["spec", "owner", "armId"]) {
        Some(owner) => Some(owner.to_owned()),
        None => node.text(&["spec", "owner", "name"]).map(in_cluster),
    };
    let owner = owner.unwrap_or_default();
    Some(format!("{owner}/{}/{name}", id.kind).to_lowercase())
}
