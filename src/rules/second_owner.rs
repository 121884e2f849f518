//! U04: no new object owns in Azure what an applied object owns that leaves the fleet.
//!
//! In: objects as they were applied, and those of the new revision. Out: findings. It does not know where the applied
//! objects come from, or whether those that leave are deleted or kept: both are wrong, since Azure Service Operator
//! deletes in Azure what a deleted object owned, and two objects that own one resource overwrite each other.

use std::collections::{BTreeSet, HashMap};

use super::arm::{ArmId, POLICY, Resource, World};
use crate::api::embedded;
use crate::api::kinds::is_aso;
use crate::model::{Finding, Object, ObjectId, Path, message};

/// Finds the resources of `objects` that are new and that `left` owns in Azure. `left` are objects as they were applied
/// that the new revision lacks, or that it has with fewer resources; `is_new` says whether an object is not applied yet.
#[must_use]
pub fn second_owners(
    left: &[Object],
    objects: &[Object],
    is_new: impl Fn(&ObjectId) -> bool,
) -> Vec<Finding> {
    let ids: BTreeSet<&ObjectId> = left.iter().map(|one| &one.id).collect();
    let may_own = |object: &Object| {
        has_resources(&object.id) && (is_new(&object.id) || ids.contains(&object.id))
    };
    let namespaces: BTreeSet<&str> = left
        .iter()
        .chain(objects.iter().filter(|object| may_own(object)))
        .map(|object| object.id.namespace.as_str())
        .collect();
    if left.is_empty() || !objects.iter().any(may_own) {
        return Vec::new();
    }
    let near = || {
        let near = |object: &&Object| namespaces.contains(object.id.namespace.as_str());
        objects.iter().filter(near)
    };
    let kept = near().filter(|object| !ids.contains(&object.id) && !is_new(&object.id));
    let (old, new) = (World::of(left.iter().chain(kept)), World::of(near()));
    let owners = owners(&old, &new, &ids);
    let fresh = new
        .all()
        .filter(|one| may_own(one.carrier) && !one.is_read_only() && old.find(&one.id).is_none());
    let again = fresh.filter_map(|one| {
        let id = new.name_of(one)?;
        let owner = owners.get(&id.clone().named_in(&one.id.namespace))?;
        Some((id, one, *owner))
    });
    let again: Vec<(ArmId, &Resource<'_>, &Resource<'_>)> = again.collect();
    let reported: BTreeSet<&ArmId> = again.iter().map(|(id, ..)| id).collect();
    let outermost = again
        .iter()
        .filter(|(id, ..)| !reported.contains(&id.around()) || id.provider.is_empty());
    let mut findings: Vec<Finding> = outermost.map(finding).collect();
    findings.dedup_by(|one, other| one.span == other.span);
    findings
}

/// Whether an object is or has resources of Azure.
pub(crate) fn has_resources(id: &ObjectId) -> bool {
    is_aso(&id.group) || embedded::carries(id)
}

/// What is owned by resources that the new revision lacks. One that Azure Service Operator only reads, or that it
/// leaves in Azure, may have a successor.
fn owners<'a, 'b>(
    old: &'b World<'a>,
    new: &World<'_>,
    left: &BTreeSet<&ObjectId>,
) -> HashMap<(ArmId, String), &'b Resource<'a>> {
    let gone = old.all().filter(|one| {
        let is_gone = left.contains(&one.carrier.id) && new.find(&one.id).is_none();
        is_gone && !one.is_read_only() && !one.is_detached()
    });
    gone.filter_map(|one| {
        let id = old.name_of(one)?;
        Some((id.named_in(&one.id.namespace), one))
    })
    .collect()
}

fn finding((id, new, old): &(ArmId, &Resource<'_>, &Resource<'_>)) -> Finding {
    let message = message!(
        "{new} is the same resource in Azure as {old}, which is applied and would leave the fleet: {id}",
        new = new.id,
        old = old.id,
        id
    );
    let detach = format!("or first apply it with the annotation `{POLICY}: detach-on-delete`");
    let (name, namespace) = (&old.id.name, &old.id.namespace);
    if new.id.namespace != *namespace {
        let field = Path::dotted("metadata.namespace");
        let place = new.carrier.node.nearest(&field);
        let finding = Finding::error("U04", message).at(place.span());
        return finding
            .of(&new.id)
            .field(&field)
            .help(format!("keep it in the namespace {namespace}, {detach}"));
    }
    let finding = new.azure_name().finding("U04", message);
    finding.help(format!("keep the name {name}, {detach}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn objects(yaml: &str) -> Vec<Object> {
        let (documents, findings) = crate::yaml::read(&Arc::from("test.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is sound");
        let objects = documents.into_iter();
        objects
            .filter_map(|document| Object::from_node(document, "default"))
            .collect()
    }

    /// A cluster in Azure with its subscription, and a pool, in a namespace.
    fn cluster(namespace: &str, pool: &str) -> String {
        let meta = |name: &str| {
            format!(
                "metadata: {{name: {name}, namespace: {namespace}, labels: {{cluster.x-k8s.io/cluster-name: one}}}}"
            )
        };
        let (infra, azure) = (
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "redhatopenshift.azure.com/v20260901preview",
        );
        let group = "{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: one-rg}, spec: {}}";
        let hcp = format!(
            "{{apiVersion: {azure}, kind: HcpOpenShiftCluster, metadata: {{name: one}}, spec: {{owner: {{name: one-rg}}}}}}"
        );
        let np = format!(
            "{{apiVersion: {azure}, kind: HcpOpenShiftClustersNodePool, metadata: {{name: {pool}}}, spec: {{azureName: np1, owner: {{name: one}}}}}}"
        );
        format!(
            "---\n{{apiVersion: {infra}, kind: AROCluster, {one}, spec: {{resources: [{group}]}}}}\n---\n{{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, {one}, spec: {{subscriptionID: s, resources: [{hcp}]}}}}\n---\n{{apiVersion: {infra}, kind: AROMachinePool, {pool}, spec: {{resources: [{np}]}}}}\n",
            one = meta("one"),
            pool = meta(pool),
        )
    }

    fn reported(old: &str, new: &str) -> Vec<String> {
        let (old, new) = (objects(old), objects(new));
        let has = |all: &[Object], id: &ObjectId| all.iter().any(|one| one.id == *id);
        let left = old.iter().filter(|one| {
            let now = new.iter().find(|other| other.id == one.id);
            now.is_none_or(|now| embedded::ids(now).count() < embedded::ids(one).count())
        });
        let left: Vec<Object> = left.cloned().collect();
        let found = second_owners(&left, &new, |id| !has(&old, id)).into_iter();
        let pair = |one: Finding| format!("{} {}", one.args[0].1, one.args[1].1);
        found.map(pair).collect()
    }

    #[test]
    fn a_cluster_in_another_namespace_is_the_same_one_in_azure() {
        let (old, new) = (cluster("team-a", "p"), cluster("default", "p"));
        let expected = ["ResourceGroup/default/one-rg ResourceGroup/team-a/one-rg"];
        assert_eq!(reported(&old, &new), expected);
        assert_eq!(reported(&old, &old), [""; 0]);
        assert_eq!(reported(&old, ""), [""; 0]);
        assert_eq!(reported("", &new), [""; 0]);
        let elsewhere = new.replace("subscriptionID: s", "subscriptionID: t");
        assert_eq!(reported(&old, &elsewhere), [""; 0]);
        let unknown = |text: &str| text.replace("subscriptionID: s, ", "");
        let found = reported(&unknown(&old), &unknown(&new));
        assert_eq!(
            found, [""; 0],
            "another namespace may be another subscription"
        );
    }

    #[test]
    fn a_renamed_pool_with_the_name_in_azure_of_another_is_that_one() {
        let (old, new) = (cluster("ns", "p"), cluster("ns", "q"));
        let kind = "HcpOpenShiftClustersNodePool/ns";
        assert_eq!(reported(&old, &new), [format!("{kind}/q {kind}/p")]);
        assert_eq!(reported(&old, &new.replace("np1", "np2")), [""; 0]);
        // Both were there, and one is removed.
        let both = format!("{old}---{}", new.rsplit("---").next().unwrap_or_default());
        assert_eq!(reported(&both, &new), [""; 0]);
    }

    #[test]
    fn what_is_only_read_or_left_in_azure_may_have_a_successor() {
        let group = |name: &str, policy: &str| {
            format!(
                "{{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {{name: {name}, namespace: ns, annotations: {{{POLICY}: {policy}}}}}, spec: {{azureName: rg}}}}\n"
            )
        };
        let all = |policy| reported(&group("a", policy), &group("b", "manage"));
        assert_eq!(all("manage"), ["ResourceGroup/ns/b ResourceGroup/ns/a"]);
        assert_eq!(all("skip"), [""; 0]);
        assert_eq!(all("detach-on-delete"), [""; 0]);
        let reads = reported(&group("a", "manage"), &group("b", "skip"));
        assert_eq!(reads, [""; 0]);
    }
}
