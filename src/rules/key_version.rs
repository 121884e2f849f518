//! V05: without Azure credentials for the cluster, the author must give the version of its encryption key
//! (the proposal, "Encryption key version validation"; both the proposal's fields and the current ones).

use crate::api::aro_control_plane::identity_ref;
use crate::api::embedded::{self, KMS};
use crate::api::kinds::{CONTROL_PLANE, RED_HAT_OPENSHIFT};
use crate::model::{Finding, Node, Object, Path};

const WHY: &str = "is required when identityRef is not set - CAPZ cannot auto-create or propagate the encryption key without Azure credentials";

/// V05: `kms.activeKey.version` (or the proposal's `kms.keyVersion`, which the controller reads too) is set if identityRef
/// is not.
pub(super) fn key_version_given(object: &Object) -> Vec<Finding> {
    if identity_ref(object).is_some() || !object.id.is(CONTROL_PLANE, "AROControlPlane") {
        return Vec::new();
    }
    let path = Path::dotted("spec.resources");
    let fault = |(index, item): (usize, &Node)| {
        let is_hcp = item.text(&["kind"]) == Some("HcpOpenShiftCluster")
            && item
                .text(&["apiVersion"])
                .is_some_and(|version| version.contains(RED_HAT_OPENSHIFT));
        let kms = item.at(&KMS).filter(|_| is_hcp)?;
        let (field, at, message) = missing(kms)?;
        let path = KMS
            .iter()
            .fold(path.index(index), |path, key| path.key(*key));
        let path = field.iter().fold(path, |path, key| path.key(*key));
        let help = "set etcd.encryption.keyVersion in the definition (kms.activeKey.version in a plain object), or identityRef";
        Some(
            Finding::error("V05", message)
                .at(at.span())
                .of(&object.id)
                .field(&path)
                .help(help),
        )
    };
    let items = embedded::items(object).iter().enumerate();
    items.filter_map(fault).collect()
}

/// The field to set, the node to point at, and the message, unless one of the two places has a version. No API version has
/// the proposal's fields, so that the field to set is the current one.
fn missing(kms: &Node) -> Option<(&'static [&'static str], &Node, String)> {
    const VERSION: &[&str] = &["activeKey", "version"];
    let given = |path: &[&str]| kms.text(path).is_some_and(|text| !text.is_empty());
    if given(VERSION) || given(&["keyVersion"]) {
        return None;
    }
    if let Some(key) = kms.get("activeKey") {
        return Some((VERSION, key, format!("activeKey.version {WHY}")));
    }
    let older = ["keyName", "keyVaultResourceId", "keyVersion"]
        .iter()
        .any(|field| kms.get(field).is_some());
    if older {
        return Some((VERSION, kms, format!("keyVersion {WHY}")));
    }
    let message = "activeKey is required when KMS encryption is configured";
    Some((&["activeKey"], kms, message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of;

    fn control_plane(identity: &str, kms: &str) -> String {
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: AROControlPlane\nmetadata: {{name: c}}\nspec:\n  {identity}\n  resources:\n  - apiVersion: redhatopenshift.azure.com/v1api20251223preview\n    kind: HcpOpenShiftCluster\n    metadata: {{name: c}}\n    spec: {{properties: {{etcd: {{dataEncryption: {{customerManaged: {{kms: {kms}}}}}}}}}}}\n"
        )
    }

    #[test]
    fn without_identity_the_version_is_required_in_either_shape() {
        let cases = [
            (
                "{vaultName: v, activeKey: {name: k}}",
                Some(format!("activeKey.version {WHY}")),
            ),
            (
                "{activeKey: {name: k, version: ''}}",
                Some(format!("activeKey.version {WHY}")),
            ),
            (
                "{keyVaultResourceId: /x, keyName: k}",
                Some(format!("keyVersion {WHY}")),
            ),
            (
                "{vaultName: v}",
                Some("activeKey is required when KMS encryption is configured".to_owned()),
            ),
            ("{activeKey: {name: k, version: abc}}", None),
            ("{keyName: k, keyVersion: abc}", None),
            // The proposal's own sample without an identity.
            (
                "{activeKey: {name: k, vaultName: v}, keyVersion: abc123def456}",
                None,
            ),
        ];
        for (kms, expected) in cases {
            let reported = findings_of(key_version_given, &control_plane("subscriptionID: s", kms));
            let messages: Vec<&str> = reported
                .iter()
                .map(|line| line.splitn(3, ' ').nth(2).unwrap_or_default())
                .collect();
            assert_eq!(
                messages,
                expected.as_deref().into_iter().collect::<Vec<_>>(),
                "{kms}"
            );
        }
    }

    #[test]
    fn a_null_identity_is_no_identity() {
        let kms = "{activeKey: {name: k}}";
        let reported = findings_of(key_version_given, &control_plane("identityRef: null", kms));
        assert_eq!(reported.len(), 1, "{reported:?}");
    }

    #[test]
    fn with_identity_the_controller_supplies_the_version() {
        let reported = findings_of(
            key_version_given,
            &control_plane("identityRef: {name: i}", "{activeKey: {name: k}}"),
        );
        assert!(reported.is_empty(), "{reported:?}");
    }
}
