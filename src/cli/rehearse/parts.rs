//! A fleet in parts that can be rehearsed apart from each other.
//!
//! In: the objects of a fleet and their graph. Out: parts, each with all that its objects need, so that the same happens to each
//! object as in a rehearsal of the whole: requests take no time on the virtual clock, so nobody waits for others. It does
//! not know what happens in a rehearsal.

use std::collections::{BTreeSet, HashSet};

use super::names::AzureName;
use super::script::{Role, Script};
use crate::graph::{Place, Split};
use crate::model::ObjectId;

/// Small parts are put together as long as they have no more objects than this, embedded ones included: each part has a
/// simulated cluster of its own. A usual ARO cluster is a part by itself, since rehearsing two at once takes longer than
/// one after the other: their objects no longer fit a processor's cache.
pub(super) const SMALL: usize = 64;

/// A part, as indices into the objects of the fleet.
pub(super) type Part = BTreeSet<usize>;

/// The parts, in the order of the fleet; small ones are put together as long as they have `most` objects at most. There
/// is at least one. `management` is the identity with which private clusters are connected.
pub(super) fn parts(script: &Script, most: usize, management: Option<&ObjectId>) -> Vec<Part> {
    let joint = Joint::of(script, management);
    let names = |object: usize| joint.names(&script.roles[object]);
    let mut parts: Vec<Part> = Vec::new();
    let mut room = 0;
    for part in script.graph.parts(names) {
        let size: usize = part.iter().map(|at| script.roles[*at].count).sum();
        match parts.last_mut() {
            Some(last) if size <= room => last.extend(part),
            _ => {
                room = most;
                parts.push(part);
            }
        }
        room = room.saturating_sub(size);
    }
    if parts.is_empty() {
        parts.push(Part::new());
    }
    parts
}

/// The objects of a part, and their graph.
pub(super) fn script(whole: &Script, split: &Split<'_>, part: &Part) -> Script {
    let roles = part.iter().map(|at| whole.roles[*at].clone());
    Script {
        roles: roles.collect(),
        graph: split.part(part).into(),
    }
}

/// Facts about the whole fleet that the names of an object depend on.
struct Joint<'a> {
    /// The identity with which private clusters are connected, if it is in the fleet.
    management: Option<&'a ObjectId>,
    /// The resources whose owner is named by an ARM ID. It may be one that another resource names in the cluster.
    by_arm_id: HashSet<&'a AzureName>,
}

impl<'a> Joint<'a> {
    fn of(script: &'a Script, management: Option<&'a ObjectId>) -> Self {
        let is_in_fleet = |id: &&ObjectId| {
            let mut vertices = script.graph.vertices.iter();
            vertices.any(|one| *one.id == **id && matches!(one.place, Place::TopLevel(_)))
        };
        let resources = script.roles.iter().flat_map(|role| &role.names.in_azure);
        let by_arm_id = resources.filter(|one| one.is_owned_by_arm_id);
        Self {
            management: management.filter(is_in_fleet),
            by_arm_id: by_arm_id.map(|one| &one.name).collect(),
        }
    }

    /// The names of an object; in Azure with their owners and kinds.
    fn names(&self, role: &Role) -> Vec<String> {
        let management = self.management.filter(|_| role.is_private);
        let in_azure = role.names.in_azure.iter().map(|one| {
            let is_ambiguous = self.by_arm_id.contains(&one.name);
            let owner = if is_ambiguous { "" } else { &one.owner };
            let (kind, name) = &one.name;
            format!("{owner} {kind} {name}")
        });
        let management = management.map(ToString::to_string);
        let known = role.names.known.iter().cloned();
        known.chain(in_azure).chain(management).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::kinds::INFRASTRUCTURE;
    use crate::cli::rehearse::fleet;

    #[test]
    fn private_clusters_are_in_the_part_of_the_identity_that_connects_them() {
        let cluster = |name: &str, topology: &str| {
            format!(
                "{{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, metadata: {{name: {name}, namespace: {name}}}, spec: {{platform: {{type: Azure, azure: {{topology: {topology}}}}}}}}}\n---\n"
            )
        };
        let identity = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, metadata: {name: link, namespace: ops}, spec: {type: WorkloadIdentity}}\n";
        let text = [
            cluster("one", "Private"),
            cluster("two", "Private"),
            cluster("three", "Public"),
            identity.to_owned(),
        ];
        let (compiled, set, _) = fleet(&text.concat(), &[]);
        let script = Script::of(&compiled, &set);
        let id = |name: &str| ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", "ops", name);
        let count = |management: Option<ObjectId>| parts(&script, 0, management.as_ref()).len();
        assert_eq!(count(None), 4);
        assert_eq!(count(Some(id("link"))), 2);
        assert_eq!(count(Some(id("other"))), 4, "it is not in the fleet");
    }
}
