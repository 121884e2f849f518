//! D18: what the infrastructure of a cluster and its control plane both say of their credential.

use super::parts::{CONTROL_PLANE_REF, INFRASTRUCTURE_REF, Parts, finding};
use crate::api::aro_control_plane::{identity_namespace, used_identity};
use crate::api::capi;
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{Finding, Object, Path, Severity, message};

/// D18: an AROCluster is in the subscription of its control plane, and names no other identity.
pub(super) fn infrastructure_agrees(parts: &Parts<'_>) -> Vec<Finding> {
    let pair = |cluster: &Object| {
        let named = |field| parts.find(&capi::target(cluster, field)?);
        let infrastructure = named(INFRASTRUCTURE_REF)?;
        let is_its = infrastructure.id.is(INFRASTRUCTURE, "AROCluster");
        is_its.then_some((infrastructure, named(CONTROL_PLANE_REF)?))
    };
    let pairs = parts.clusters().filter_map(pair);
    let found = pairs.flat_map(|(infrastructure, plane)| {
        [
            other_subscription(infrastructure, plane),
            other_identity(infrastructure, plane),
        ]
    });
    found.flatten().collect()
}

fn other_subscription(infrastructure: &Object, plane: &Object) -> Option<Finding> {
    let named = |object: &'_ Object| {
        let named = object.node.text(&["spec", "subscriptionID"]);
        named
            .filter(|named| !named.is_empty())
            .map(str::to_lowercase)
    };
    let (part, whole) = (named(infrastructure)?, named(plane)?);
    let message = message!(
        "{infrastructure} is in the subscription {part}, but {plane} is in {whole}: the controller applies nothing of the first",
        infrastructure = infrastructure.id,
        part,
        plane = plane.id,
        whole
    );
    let help = "write the same subscription, or leave it out of the AROCluster";
    let field = Path::dotted("spec.subscriptionID");
    (part != whole).then(|| finding("D18", infrastructure, &field, message).help(help))
}

/// It stops nothing: the control plane's is used.
fn other_identity(infrastructure: &Object, plane: &Object) -> Option<Finding> {
    let named = |object: &'_ Object| {
        let reference = used_identity(object)?;
        let namespace = identity_namespace(reference.text(&["namespace"]), &object.id.namespace);
        let name = reference.text(&["name"]).filter(|name| !name.is_empty())?;
        Some(format!("{namespace}/{name}"))
    };
    let (part, whole) = (named(infrastructure)?, named(plane)?);
    let message = message!(
        "the identity {part} of {infrastructure} is not used, since {plane} names {whole}, which is that of the whole cluster",
        part,
        infrastructure = infrastructure.id,
        plane = plane.id,
        whole
    );
    let help = "name the same identity, or leave identityRef out of the AROCluster";
    let field = Path::dotted("spec.identityRef.name");
    (part != whole).then(|| Finding {
        severity: Severity::Warning,
        ..finding("D18", infrastructure, &field, message).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::super::ids;

    #[test]
    fn the_infrastructure_says_the_same_as_its_control_plane_or_nothing() {
        const PART: &str = "kind: AROCluster, metadata: {name: c}}";
        const PLANE: &str = "kind: AROControlPlane, metadata: {name: c}, spec: {";
        const CLOUD: &str = "azureEnvironment: AzurePublicCloud, ";
        let found = |part: &str, whole: &str| {
            let part = format!("kind: AROCluster, metadata: {{name: c}}, spec: {{{part}}}}}");
            ids(&[(PART, &part), (PLANE, &format!("{PLANE}{CLOUD}{whole}"))])
        };
        let cases = [
            ("subscriptionID: a", "subscriptionID: A, ", 0),
            ("subscriptionID: a", "", 0),
            ("", "subscriptionID: a, ", 0),
            ("subscriptionID: a", "subscriptionID: b, ", 1),
            ("identityRef: {name: a}", "", 0),
            (
                "identityRef: {name: a}",
                "identityRef: {name: a, namespace: ns}, ",
                0,
            ),
            ("identityRef: {name: a}", "identityRef: {name: b}, ", 1),
            (
                "subscriptionID: a, identityRef: {name: a}",
                "subscriptionID: b, identityRef: {name: b}, ",
                2,
            ),
        ];
        for (part, whole, count) in cases {
            assert_eq!(found(part, whole), vec!["D18"; count], "{part} {whole}");
        }
    }
}
