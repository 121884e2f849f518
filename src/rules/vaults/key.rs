//! K08 and K10: the names of the key and its vault.

use super::kept::{Kept, kept};
use crate::api::aro_control_plane::identity_ref;
use crate::model::{Finding, message};
use crate::rules::arm::{Field, World};
use crate::rules::resources::names::{Form, VAULT, VAULT_KEY};

/// The key that CAPZ creates, whatever the spec says (facts/aro-controllers.md §4).
const KEY: &str = "etcd-data-kms-encryption-key";

/// K08: with an identityRef, the key has the name that CAPZ's controllers use. Capstan's controllers use any name, and no
/// file says which of them run: so it is a warning.
pub(super) fn has_the_name_that_controllers_use(world: &World<'_>) -> Vec<Finding> {
    let made = kept(world).filter(|one| identity_ref(one.cluster.carrier).is_some());
    let fault = |one: Kept<'_>| {
        let field = one.kms.key("activeKey").key("name");
        let name = field.text().filter(|name| is_reported_here(name))?;
        let message = message!(
            "the cluster names the key `{name}`, but CAPZ's controllers would create the key {KEY} and use its version",
            name
        );
        let help = format!(
            "allow this warning if Capstan's controllers run, which use the name in the spec; otherwise name the key {KEY}"
        );
        (name != KEY).then(|| field.finding("K08", message).help(help))
    };
    made.filter_map(fault).collect()
}

/// C43 reports an empty name, and one that is longer than Azure's API for clusters takes.
fn is_reported_here(name: &str) -> bool {
    (1..=255).contains(&name.len())
}

/// K10: Key Vault accepts the names of the vault and the key.
pub(super) fn names_are_valid(world: &World<'_>) -> Vec<Finding> {
    let named = kept(world).flat_map(|one| {
        let key = one.kms.key("activeKey");
        let vaults = [one.kms.key("vaultName"), key.key("vaultName")];
        let vaults = vaults.map(|field| (field, "vault", VAULT));
        vaults
            .into_iter()
            .chain([(key.key("name"), "key", VAULT_KEY)])
    });
    let fault = |(field, what, form): (Field<'_>, &str, Form)| {
        let name = field.text().filter(|name| is_reported_here(name))?;
        let (why, help) = form.refusal(name)?;
        let message = message!("the name {name:?} of the {what} {why}", name, what);
        Some(field.finding("K10", message).help(help))
    };
    named.filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::findings_of_fleet;

    fn found(identity: &str, name: &str) -> usize {
        let yaml = format!(
            "{{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: AROControlPlane, metadata: {{name: c}}, spec: {{{identity}, resources: [{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: c}}, spec: {{properties: {{etcd: {{dataEncryption: {{customerManaged: {{kms: {{vaultName: v, activeKey: {{name: {name:?}}}}}}}}}}}}}}}}}]}}}}"
        );
        findings_of_fleet(has_the_name_that_controllers_use, &yaml).len()
    }

    #[test]
    fn the_names_of_vault_and_key_are_valid() {
        let found = |vault: &str, key: &str| {
            let yaml = format!(
                "{{apiVersion: redhatopenshift.azure.com/v1api20251223preview, kind: HcpOpenShiftCluster, metadata: {{name: c}}, spec: {{properties: {{etcd: {{dataEncryption: {{customerManaged: {{kms: {{vaultName: {vault}, activeKey: {{name: {key}}}}}}}}}}}}}}}}}"
            );
            findings_of_fleet(names_are_valid, &yaml).len()
        };
        assert_eq!(found("my-vault", "my-key"), 0);
        assert_eq!(found("my-vault", &"k".repeat(127)), 0);
        assert_eq!(found("my-vault", &"k".repeat(128)), 1);
        assert_eq!(found("my--vault", "my_key"), 2);
        assert_eq!(found("kv", "\"\""), 1);
    }

    #[test]
    fn the_controllers_choose_the_name() {
        let identity = "identityRef: {name: i}";
        assert_eq!(found(identity, KEY), 0);
        assert_eq!(found(identity, "my-key"), 1);
        assert_eq!(found(identity, ""), 0);
        assert_eq!(found("subscriptionID: s", "my-key"), 0);
    }
}
