//! S07: objects of Cluster API are written in its current version, v1beta2.
//!
//! The fields that differ are those of the CRDs (data/cluster-api.txt). What is the same in both versions is not looked
//! at. Kinds other than Cluster and MachinePool are not known here.

use crate::api::capi::{self, V1BETA1};
use crate::api::kinds::CAPI;
use crate::model::{Finding, Node, Object, Path, message};

const REFERENCES: [&str; 4] = [
    "spec.infrastructureRef",
    "spec.controlPlaneRef",
    "spec.template.spec.infrastructureRef",
    "spec.template.spec.bootstrap.configRef",
];
/// Timeouts below `spec.template.spec`, which are numbers of seconds below `deletion` now.
const TIMEOUTS: [&str; 3] = [
    "nodeDrainTimeout",
    "nodeVolumeDetachTimeout",
    "nodeDeletionTimeout",
];

/// S07: a Cluster or a MachinePool is not of the previous version.
pub(super) fn is_current(object: &Object) -> Vec<Finding> {
    if !is_previous(object) {
        return Vec::new();
    }
    let field = Path::dotted("apiVersion");
    let message = message!(
        "{object} is written in the previous version of Cluster API, {V1BETA1}",
        object = object.id
    );
    let finding = Finding::warning("S07", message)
        .at(object.node.nearest(&field).span())
        .of(&object.id)
        .field(&field);
    vec![finding.help(changes(object))]
}

/// Whether an object is a Cluster or MachinePool of the previous version.
pub(super) fn is_previous(object: &Object) -> bool {
    let is_known = ["Cluster", "MachinePool"].contains(&&*object.id.kind);
    object.id.group == CAPI && is_known && object.version == V1BETA1
}

/// What to write instead.
fn changes(object: &Object) -> String {
    let mut changes = vec![format!("`apiVersion: {CAPI}/v1beta2`")];
    let at = |field: &str| object.node.lookup(&Path::dotted(field));
    let references = REFERENCES
        .iter()
        .filter_map(|field| reference(field, at(field)?));
    changes.extend(references);
    let timeouts = TIMEOUTS
        .iter()
        .filter(|name| at(&format!("spec.template.spec.{name}")).is_some());
    changes.extend(timeouts.map(|name| {
        format!(
            "`template.spec.deletion.{name}Seconds` with a number instead of `template.spec.{name}`"
        )
    }));
    if at("spec.minReadySeconds").is_some() {
        changes.push("`template.spec.minReadySeconds` instead of `minReadySeconds`".to_owned());
    }
    format!("write {}", changes.join(", and "))
}

/// A reference as it is written in the current version; none if it is.
fn reference(field: &str, node: &Node) -> Option<String> {
    let text = |name: &str| node.text(&[name]);
    let [group, version] = ["apiGroup", "apiVersion"].map(text);
    if !capi::is_v1beta1(group, version) {
        return None;
    }
    let group = capi::group(group, version)?;
    let [kind, name] = ["kind", "name"].map(|name| text(name).unwrap_or("..."));
    let field = field.trim_start_matches("spec.");
    Some(format!(
        "`{field}: {{apiGroup: {group}, kind: {kind}, name: {name}}}`"
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn help(yaml: &str) -> Vec<String> {
        let (documents, findings) = crate::yaml::read(&Arc::from("test.yaml"), yaml.as_bytes());
        assert_eq!(findings, [], "the test's YAML is valid");
        let objects = documents.into_iter();
        let objects = objects.filter_map(|document| Object::from_node(document, "default"));
        let findings = objects.flat_map(|object| is_current(&object));
        findings.filter_map(|finding| finding.help).collect()
    }

    #[test]
    fn the_help_is_what_to_write() {
        let cluster = "{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: c}, spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, name: c, namespace: n}}}";
        assert_eq!(
            help(cluster),
            [
                "write `apiVersion: cluster.x-k8s.io/v1beta2`, and `infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AROCluster, name: c}`"
            ]
        );
        assert_eq!(help(&cluster.replace("io/v1beta1", "io/v1beta2")), [""; 0]);
        let other = cluster.replace("kind: Cluster,", "kind: MachineDeployment,");
        assert_eq!(help(&other), [""; 0]);
        let pool = "{apiVersion: cluster.x-k8s.io/v1beta1, kind: MachinePool, metadata: {name: p}, spec: {minReadySeconds: 5, template: {spec: {nodeDrainTimeout: 5m}}}}";
        assert_eq!(
            help(pool),
            [
                "write `apiVersion: cluster.x-k8s.io/v1beta2`, and `template.spec.deletion.nodeDrainTimeoutSeconds` with a number instead of `template.spec.nodeDrainTimeout`, and `template.spec.minReadySeconds` instead of `minReadySeconds`"
            ]
        );
    }
}
