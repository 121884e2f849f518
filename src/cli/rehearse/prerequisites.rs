//! What a person must create outside the fleet and the cluster, and a rehearsal takes as created.
//!
//! In: an object of the fleet. Out: the Azure resources that it only reads, and the Secrets of console clients. It does not
//! know how simulated Azure has them.

use crate::api::embedded;
use crate::api::kinds::is_aso;
use crate::api::labels::RECONCILE_POLICY;
use crate::model::{Node, Object, ObjectId};

/// Those of an object and of the resources in it.
pub(super) fn prerequisites(object: &Object) -> Vec<ObjectId> {
    let mut all: Vec<ObjectId> = only_read(object).into_iter().collect();
    for (_, resource) in embedded::resources(object) {
        all.extend(only_read(&resource));
        all.extend(secrets(&resource, &object.id.name));
    }
    all
}

/// The resource, if Azure Service Operator must not create it.
fn only_read(object: &Object) -> Option<ObjectId> {
    let is_skipped = object.annotation(RECONCILE_POLICY) == Some("skip");
    (is_skipped && is_aso(&object.id.group)).then(|| object.id.clone())
}

/// The Secrets that an external authentication waits for (facts/aro-controllers.md §7). Without an owner it belongs to the
/// cluster of the control plane that it is embedded in.
fn secrets(object: &Object, control_plane: &str) -> Vec<ObjectId> {
    if object.id.kind != "HcpOpenShiftClustersExternalAuth" {
        return Vec::new();
    }
    let owner = object.node.text(&["spec", "owner", "name"]);
    let cluster = owner.unwrap_or(control_plane);
    let clients = object.node.at(&["spec", "properties", "clients"]);
    let clients = clients.and_then(Node::as_list).unwrap_or_default().iter();
    let confidential = clients.filter(|client| client.text(&["type"]) == Some("Confidential"));
    let secret = |client: &Node| {
        let name = client.text(&["component", "name"])?;
        let namespace = client.text(&["component", "authClientNamespace"])?;
        let name = format!("{cluster}-ea-{name}-{namespace}");
        Some(ObjectId::new(
            "",
            "Secret",
            object.id.namespace.as_str(),
            name,
        ))
    };
    confidential.filter_map(secret).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::rehearse::fleet;

    #[test]
    fn what_the_fleet_only_reads_and_the_secret_of_the_console_are_named() {
        let text = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: AROControlPlane
metadata: {name: c, namespace: clusters}
spec:
  resources:
  - apiVersion: redhatopenshift.azure.com/v1api20251223preview
    kind: HcpOpenShiftClustersExternalAuth
    metadata: {name: ea}
    spec:
      properties:
        clients:
        - {type: Confidential, component: {name: console, authClientNamespace: openshift-console}}
        - {type: Public, component: {name: cli, authClientNamespace: openshift-console}}
---
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: rg, namespace: clusters, annotations: {serviceoperator.azure.com/reconcile-policy: skip}}
spec: {location: uksouth}
";
        let (compiled, _, _) = fleet(text, &[]);
        let all = compiled.objects.iter().flat_map(prerequisites);
        let names: Vec<String> = all.map(|id| id.to_string()).collect();
        let expected = [
            "Secret/clusters/c-ea-console-openshift-console",
            "ResourceGroup/clusters/rg",
        ];
        assert_eq!(names, expected);
    }
}
