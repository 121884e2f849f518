//! C41 to C43: the encryption of a cluster's data.

use super::fields::{arm_version, missing};
use crate::api::embedded;
use crate::api::kinds::CONTROL_PLANE;
use crate::model::{Finding, Path, message};
use crate::rules::arm::{Field, Resource, World};
use crate::rules::wording::{missing_or_long, one_of};

const ENCRYPTION: &str = "spec.properties.etcd.dataEncryption";
/// What names the vault and the key.
pub(super) const KMS: &str = "spec.properties.etcd.dataEncryption.customerManaged.kms";

/// Whether the customer manages the key.
pub(super) fn is_customers(cluster: &Resource<'_>) -> bool {
    let mode = cluster.field(ENCRYPTION).key("keyManagementMode");
    mode.text() == Some("CustomerManaged")
}

/// C41: the key is managed by the customer.
pub(in crate::rules) fn key_management(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field(ENCRYPTION).key("keyManagementMode");
    let wrong = missing("C41", &field).or_else(|| one_of(&field, "C41", &["CustomerManaged"]));
    let help = "write `keyManagementMode: CustomerManaged`, and name the vault and the key in `customerManaged`";
    wrong
        .map(|finding| finding.help(help))
        .into_iter()
        .collect()
}

/// C42: a customer-managed key is in a vault. C41 reports any other key management.
pub(in crate::rules) fn customer_managed(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    if !is_customers(cluster) {
        return Vec::new();
    }
    let block = cluster.field(ENCRYPTION).key("customerManaged");
    let absent = || {
        unnamed(
            &block,
            "add `customerManaged: {encryptionType: KMS, kms: {...}}`",
        )
    };
    let fault = match block.is_given() {
        true => in_a_vault(&block),
        false => Some(absent()),
    };
    fault.into_iter().collect()
}

/// A finding about a part that is missing without which the vault and the key have no name.
fn unnamed(part: &Field<'_>, help: &str) -> Finding {
    let message = message!(
        "{name} is missing: it names the vault and the key",
        name = part.name()
    );
    part.finding("C42", message).help(help)
}

fn in_a_vault(block: &Field<'_>) -> Option<Finding> {
    let (kind, kms) = (block.key("encryptionType"), block.key("kms"));
    let wrong = missing("C42", &kind).or_else(|| one_of(&kind, "C42", &["KMS"]));
    let wrong = wrong.map(|finding| finding.help("write `encryptionType: KMS`"));
    let help =
        "add `kms: {vaultName: ..., visibility: Public, activeKey: {name: ..., version: ...}}`";
    wrong.or_else(|| (!kms.is_given()).then(|| unnamed(&kms, help)))
}

/// C43: the key's name is complete.
pub(in crate::rules) fn key_is_named(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    const MOST: usize = 255;
    let kms = cluster.field(KMS);
    if !kms.is_given() {
        return Vec::new();
    }
    let key = kms.key("activeKey");
    let beside = arm_version(cluster).names_vault_beside_key();
    let vault = if beside { &kms } else { &key }.key("vaultName");
    let version = key.key("version");
    let is_needed = version.is_given() || !is_version_optional(cluster);
    let named = [vault, key.key("name")];
    let named = named.into_iter().chain(is_needed.then_some(version));
    let named = named.filter_map(|field| missing_or_long(&field, "C43", MOST));
    let mut findings: Vec<Finding> = named.collect();
    let visibility = kms.key("visibility");
    // C26 reports null.
    if beside && !visibility.is_null() {
        let absent = missing("C43", &visibility);
        let absent = absent.map(|finding| finding.help("write `Public` or `Private`"));
        let wrong = absent.or_else(|| one_of(&visibility, "C43", &["Public", "Private"]));
        findings.extend(wrong);
    }
    findings
}

/// The vault that a cluster's `kms` names, in lower case: since 2025-12-23-preview beside the key, before in it.
pub(in crate::rules) fn vault_name(kms: &Field<'_>) -> Option<String> {
    let beside = kms.key("vaultName").text();
    let name = beside.or_else(|| kms.key("activeKey").key("vaultName").text())?;
    Some(name.to_lowercase())
}

/// Whether the controller fills in the version, or V05 reports that it is missing.
fn is_version_optional(cluster: &Resource<'_>) -> bool {
    let path = embedded::KMS
        .iter()
        .fold(Path::default(), |path, key| path.key(*key));
    let path = path.key("activeKey").key("version");
    cluster.carrier.id.is(CONTROL_PLANE, "AROControlPlane")
        || embedded::is_injected(cluster.carrier, &cluster.id.kind, &path)
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;

    fn faults(encryption: &str) -> [usize; 3] {
        let spec = format!("{{properties: {{etcd: {{dataEncryption: {encryption}}}}}}}");
        [key_management, customer_managed, key_is_named].map(|rule| findings_of(rule, &spec).len())
    }

    #[test]
    fn the_key_is_the_customers_and_in_a_vault() {
        let kms = "kms: {vaultName: v, visibility: Public, activeKey: {name: k, version: v}}";
        for (encryption, expected) in [
            (
                format!(
                    "{{keyManagementMode: CustomerManaged, customerManaged: {{encryptionType: KMS, {kms}}}}}"
                ),
                [0, 0, 0],
            ),
            ("{keyManagementMode: PlatformManaged}".to_owned(), [1, 0, 0]),
            ("{}".to_owned(), [1, 0, 0]),
            ("{keyManagementMode: CustomerManaged}".to_owned(), [0, 1, 0]),
            // One mistake: only customer-managed keys have the block.
            (
                format!(
                    "{{keyManagementMode: PlatformManaged, customerManaged: {{encryptionType: KMS, {kms}}}}}"
                ),
                [1, 0, 0],
            ),
            (
                format!(
                    "{{keyManagementMode: CustomerManaged, customerManaged: {{encryptionType: Alternate, {kms}}}}}"
                ),
                [0, 1, 0],
            ),
            (
                "{keyManagementMode: CustomerManaged, customerManaged: {encryptionType: KMS}}"
                    .to_owned(),
                [0, 1, 0],
            ),
        ] {
            assert_eq!(faults(&encryption), expected, "{encryption}");
        }
    }

    #[test]
    fn every_part_of_the_keys_name_is_set_and_not_too_long() {
        let long = "x".repeat(256);
        for (kms, expected) in [
            ("visibility: Public, activeKey: {name: k, version: v}", 1),
            ("vaultName: v, activeKey: {name: k, version: v}", 1),
            (
                "vaultName: v, visibility: Shared, activeKey: {name: k, version: v}",
                1,
            ),
            (
                "vaultName: v, visibility: Public, activeKey: {name: '', version: v}",
                1,
            ),
            ("vaultName: v, visibility: Public, activeKey: {name: k}", 1),
            ("vaultName: v, visibility: Public", 2),
            (
                &format!(
                    "vaultName: {long}, visibility: Public, activeKey: {{name: k, version: v}}"
                ),
                1,
            ),
        ] {
            let encryption = format!(
                "{{keyManagementMode: CustomerManaged, customerManaged: {{encryptionType: KMS, kms: {{{kms}}}}}}}"
            );
            assert_eq!(faults(&encryption), [0, 0, expected], "{kms}");
        }
    }
}
