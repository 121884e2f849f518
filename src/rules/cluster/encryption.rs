//! C41 to C43: the encryption of a cluster's data.

use super::fields::{arm_version, missing, one_of};
use crate::api::embedded;
use crate::api::kinds::CONTROL_PLANE;
use crate::model::{Finding, Path, message};
use crate::rules::arm::{Field, Resource, World};

const ENCRYPTION: &str = "spec.properties.etcd.dataEncryption";

/// C41: the key is managed by the customer.
pub(in crate::rules) fn key_management(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let field = cluster.field(ENCRYPTION).key("keyManagementMode");
    let wrong = missing("C41", &field).or_else(|| one_of("C41", &field, &["CustomerManaged"]));
    let help = "write `keyManagementMode: CustomerManaged`";
    wrong
        .map(|finding| finding.help(help))
        .into_iter()
        .collect()
}

/// C42: a customer-managed key is in a vault, and `customerManaged` is set only for such a key.
pub(in crate::rules) fn customer_managed(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let encryption = cluster.field(ENCRYPTION);
    let customers = encryption.key("keyManagementMode").text() == Some("CustomerManaged");
    let block = encryption.key("customerManaged");
    match (customers, block.is_given()) {
        (true, false) => {
            let message = "customerManaged is missing: it names the vault and the key";
            vec![block.finding("C42", message)]
        }
        (false, true) if encryption.key("keyManagementMode").is_given() => {
            let message = "customerManaged can only be set if keyManagementMode is CustomerManaged";
            vec![block.finding("C42", message)]
        }
        (true, true) => in_a_vault(&block).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn in_a_vault(block: &Field<'_>) -> Option<Finding> {
    let (kind, kms) = (block.key("encryptionType"), block.key("kms"));
    let without_kind = missing("C42", &kind);
    let help = "write `encryptionType: KMS`";
    let of_kind = without_kind.or_else(|| one_of("C42", &kind, &["KMS"]));
    let without_kms = || {
        (!kms.is_given())
            .then(|| kms.finding("C42", "kms is missing: it names the vault and the key"))
    };
    of_kind
        .map(|finding| finding.help(help))
        .or_else(without_kms)
}

/// C43: the key's name is complete.
pub(in crate::rules) fn key_is_named(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    let kms = cluster.field(ENCRYPTION).key("customerManaged").key("kms");
    if !kms.is_given() {
        return Vec::new();
    }
    let key = kms.key("activeKey");
    let beside = arm_version(cluster).names_vault_beside_key();
    let vault = if beside { &kms } else { &key }.key("vaultName");
    let named = [vault, key.key("name")];
    let mut findings: Vec<Finding> = named.iter().filter_map(missing_or_long).collect();
    let version = key.key("version");
    if version.is_given() || !is_version_optional(cluster) {
        findings.extend(missing_or_long(&version));
    }
    let visibility = kms.key("visibility");
    // C26 reports null.
    if beside && !visibility.is_null() {
        let wrong = missing("C43", &visibility);
        let wrong = wrong.or_else(|| one_of("C43", &visibility, &["Public", "Private"]));
        findings.extend(wrong);
    }
    findings
}

fn missing_or_long(field: &Field<'_>) -> Option<Finding> {
    let length = field.text().map_or(0, str::len);
    let long = || {
        let message = message!(
            "{field} has {length} characters, more than 255",
            field = field.name(),
            length
        );
        (length > 255).then(|| field.finding("C43", message))
    };
    missing("C43", field).or_else(long)
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
            (
                format!(
                    "{{keyManagementMode: PlatformManaged, customerManaged: {{encryptionType: KMS, {kms}}}}}"
                ),
                [1, 1, 0],
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
