//! A fleet in parts that can be rehearsed apart from each other.
//!
//! In: a compiled fleet. Out: compiled fleets, each with all that its objects need, so that the same happens to each
//! object as in a rehearsal of the whole: requests take no time on the virtual clock, so nobody waits for others. It does
//! not know what happens in a rehearsal.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::private_link::is_private;
use crate::api::embedded;
use crate::api::kinds::{CONTROL_PLANE, is_aso};
use crate::api::labels::CLUSTER_NAME;
use crate::compile::Compiled;
use crate::graph::{self, Split};
use crate::model::{Node, Object, ObjectId};

/// Small parts are put together as long as they have no more objects than this, embedded ones included: each part has a
/// simulated cluster of its own. A usual ARO cluster is a part by itself, since rehearsing two at once takes longer than
/// one after the other: their objects no longer fit a processor's cache.
pub(super) const SMALL: usize = 64;

/// A part, as indices into the objects of the fleet.
pub(super) type Part = BTreeSet<usize>;

/// The parts, in the order of the fleet; small ones are put together as long as they have `most` objects at most. There
/// is at least one. `management` is the identity with which private clusters are connected.
pub(super) fn parts(compiled: &Compiled, most: usize, management: Option<&ObjectId>) -> Vec<Part> {
    let names = Names::of(compiled, management);
    let names = |object: usize| names.of_object(&compiled.objects[object]);
    let mut parts: Vec<Part> = Vec::new();
    let mut room = 0;
    for part in compiled.graph.parts(names) {
        let size = |at: &usize| 1 + embedded::items(&compiled.objects[*at]).len();
        let size: usize = part.iter().map(size).sum();
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
pub(super) fn compiled(whole: &Compiled, split: &Split<'_>, part: &Part) -> Compiled {
    let objects = part.iter().map(|at| whole.objects[*at].clone());
    Compiled {
        objects: objects.collect(),
        graph: Arc::new(split.part(part)),
        ..Compiled::default()
    }
}

/// Kind and name in Azure, in lower case.
type AzureName = (String, String);

/// The names by which objects of a fleet, and the resources embedded in them, may meet without a reference.
struct Names<'a> {
    /// The identity with which private clusters are connected, if it is in the fleet.
    management: Option<&'a ObjectId>,
    /// Those of resources whose owner is named by an ARM ID. It may be one that another resource names in the cluster.
    by_arm_id: BTreeSet<AzureName>,
}

impl<'a> Names<'a> {
    fn of(compiled: &Compiled, management: Option<&'a ObjectId>) -> Self {
        let is_in_fleet = |id: &&ObjectId| compiled.objects.iter().any(|one| one.id == **id);
        let mut by_arm_id = BTreeSet::new();
        for object in &compiled.objects {
            for one in with_embedded(object) {
                if one.node.at(&OWNER_ID).is_some() {
                    by_arm_id.insert(azure_name(&one));
                }
            }
        }
        Self {
            management: management.filter(is_in_fleet),
            by_arm_id,
        }
    }

    /// Those of an object and its embedded resources: in the cluster their ids, and those of the ConfigMaps and Secrets
    /// that are made of them; in Azure their owners, kinds and names, and the key that encrypts etcd.
    fn of_object(&self, object: &Object) -> Vec<String> {
        let mut names = Vec::new();
        let management = self.management.filter(|_| is_private(object));
        names.extend(management.map(ToString::to_string));
        for one in with_embedded(object) {
            let made = graph::makes(&one.id, &one.node);
            names.extend(made.iter().map(ToString::to_string));
            names.extend(secrets(&one));
            names.push(one.id.to_string());
            if is_aso(&one.id.group) {
                names.push(self.in_azure(&one, object));
                names.extend(key(&one.node));
            }
        }
        names
    }

    /// Resource groups have no owner. What has none and is embedded is completed by its controller.
    fn in_azure(&self, one: &Object, carrier: &Object) -> String {
        let (kind, name) = azure_name(one);
        let owner = one.node.text(&["spec", "owner", "name"]);
        let owner = match owner {
            _ if self.by_arm_id.contains(&(kind.clone(), name.clone())) => String::new(),
            Some(owner) => format!("{}/{owner}", one.id.namespace),
            None if one.id.kind == "ResourceGroup" => String::new(),
            None => carrier.id.to_string(),
        };
        format!("{owner} {kind} {name}")
    }
}

const OWNER_ID: [&str; 3] = ["spec", "owner", "armId"];

fn with_embedded(object: &Object) -> impl Iterator<Item = Object> {
    let embedded = embedded::resources(object).into_iter();
    std::iter::once(object.clone()).chain(embedded.map(|(_, resource)| resource))
}

fn azure_name(object: &Object) -> AzureName {
    let name = object.node.text(&["spec", "azureName"]);
    let name = name.unwrap_or(&object.id.name);
    (object.id.kind.to_lowercase(), name.to_lowercase())
}

/// The Secrets that the controllers make for a cluster.
fn secrets(object: &Object) -> Vec<String> {
    let ObjectId {
        namespace, name, ..
    } = &object.id;
    if !object.id.is(CONTROL_PLANE, "AROControlPlane") {
        return Vec::new();
    }
    let cluster = object.label(CLUSTER_NAME).unwrap_or(name);
    let ends = ["kubeconfig", "ca", "aso-secret"];
    let secret = |end| ObjectId::new("", "Secret", namespace, format!("{cluster}-{end}"));
    ends.map(secret).iter().map(ToString::to_string).collect()
}

/// The vault and the name of the key that encrypts etcd. The vault is beside or under the key, by the version.
fn key(node: &Node) -> Option<String> {
    let kms = ["etcd", "dataEncryption", "customerManaged", "kms"];
    let kms = node.at(&["spec", "properties"])?.at(&kms)?;
    let beside = kms.text(&["vaultName"]);
    let vault = beside.or_else(|| kms.text(&["activeKey", "vaultName"]))?;
    Some(format!("key {vault} {}", kms.text(&["activeKey", "name"])?))
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
        let (compiled, _, _) = fleet(&text.concat(), &[]);
        let id = |name: &str| ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", "ops", name);
        let count = |management: Option<ObjectId>| parts(&compiled, 0, management.as_ref()).len();
        assert_eq!(count(None), 4);
        assert_eq!(count(Some(id("link"))), 2);
        assert_eq!(count(Some(id("other"))), 4, "it is not in the fleet");
    }
}
