//! D19 and D20: what no controller of ours makes.
//!
//! In: the objects of a fleet. Out: a Cluster that nothing makes, and the kinds that another provider of Cluster API has to
//! handle. It does not know which providers run in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::parts::{Parts, finding};
use super::references::is_aro;
use crate::api::kinds::find;
use crate::api::suppliers;
use crate::model::{Finding, Object, ObjectId, Path, Value, message};

/// D19: a Cluster has something that makes it: its parts, or a class that has them.
pub(super) fn clusters_are_made_by_something(parts: &Parts<'_>) -> Vec<Finding> {
    let fields = ["infrastructureRef", "controlPlaneRef", "topology"];
    let is_bare = |cluster: &&Object| {
        let mut written = fields.iter().map(|field| cluster.node.at(&["spec", field]));
        // D03 and D04 report one that has parts of the ARO provider.
        written.all(|node| node.is_none_or(|node| node.value == Value::Null))
            && !is_aro(parts, cluster)
    };
    let bare = parts.clusters().filter(is_bare);
    bare.map(|cluster| {
        let message = message!(
            "{cluster} has no infrastructureRef, no controlPlaneRef and no topology: nothing makes it, and it never becomes ready",
            cluster = cluster.id
        );
        let help = "name its infrastructure and its control plane in spec, or a ClusterClass in spec.topology";
        finding("D19", cluster, &Path::dotted("metadata.name"), message).help(help)
    })
    .collect()
}

/// D20: the kinds of Cluster API's providers that our controllers do not handle, each at the first object of it.
pub(super) fn other_providers_are_named(parts: &Parts<'_>) -> Vec<Finding> {
    let is_other = |object: &&Object| {
        let ObjectId { group, kind, .. } = &object.id;
        group.ends_with(".cluster.x-k8s.io") && find(group, kind).is_none()
    };
    let mut kinds: BTreeMap<(&str, &str), Vec<&Object>> = BTreeMap::new();
    for object in parts.objects.iter().filter(is_other) {
        let key = (object.id.group.as_str(), object.id.kind.as_str());
        kinds.entry(key).or_default().push(object);
    }
    let all = parts
        .objects
        .iter()
        .chain(parts.environment.iter().copied());
    let defined: BTreeSet<(&str, &str)> = all.filter_map(defined).collect();
    let unhandled = kinds.into_iter().filter_map(|(kind, objects)| {
        let first = *objects.first()?;
        (!defined.contains(&kind)).then(|| unhandled(first, objects.len()))
    });
    unhandled.collect()
}

/// The group and the kind that a CustomResourceDefinition defines.
fn defined(object: &Object) -> Option<(&str, &str)> {
    let is_definition = object
        .id
        .is("apiextensions.k8s.io", "CustomResourceDefinition");
    let spec = object.node.at(&["spec"]).filter(|_| is_definition)?;
    Some((spec.text(&["group"])?, spec.text(&["names", "kind"])?))
}

fn unhandled(first: &Object, count: usize) -> Finding {
    let ObjectId { group, kind, .. } = &first.id;
    let message = message!(
        "no controller of Capstan handles {kind} of {group} ({count} in the fleet): whoever runs its provider must",
        kind,
        group,
        count
    );
    let help = format!(
        "nothing to do if the cluster runs that provider; otherwise {}",
        suppliers::help(group, kind)
    );
    finding("D20", first, &Path::dotted("kind"), message).help(help)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;

    #[test]
    fn a_cluster_that_nothing_makes_is_reported() {
        let bare = |spec: &str| {
            let text = format!(
                "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: b, namespace: ns}}, spec: {{{spec}}}}}"
            );
            let found = findings_of(&text);
            let ids = found
                .iter()
                .map(|one| one.chars().take(3).collect::<String>());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(bare(""), ["D19"]);
        assert_eq!(bare("infrastructureRef: null, paused: true"), ["D19"]);
        assert_eq!(bare("topology: {classRef: {name: x}}"), [""; 0]);
        let reference = "{apiGroup: infrastructure.cluster.x-k8s.io, kind: AzureCluster, name: b}";
        assert_eq!(bare(&format!("infrastructureRef: {reference}")), [""; 0]);
    }

    #[test]
    fn a_kind_of_another_provider_is_named_once() {
        let object = |kind: &str, name: &str| {
            format!(
                "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: {kind}, metadata: {{name: {name}, namespace: ns}}}}"
            )
        };
        let fleet = [
            object("AzureCluster", "a"),
            object("AzureCluster", "b"),
            object("AzureMachineTemplate", "c"),
            object("AzureClusterIdentity", "d"),
        ];
        let found = findings_of(&fleet.join("\n---\n"));
        let named = |found: &str, text: &str| found.starts_with("D20 ") && found.contains(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            named(
                &found[0],
                "handles AzureCluster of infrastructure.cluster.x-k8s.io (2 in the fleet)"
            ),
            "{found:?}"
        );
        assert!(named(&found[1], "(1 in the fleet)"), "{found:?}");
        let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: azureclusters.infrastructure.cluster.x-k8s.io}, spec: {group: infrastructure.cluster.x-k8s.io, names: {kind: AzureCluster}}}";
        let found = findings_of(&[definition, &fleet[0]].join("\n---\n"));
        assert_eq!(found, [""; 0], "the fleet brings the provider");
    }
}
