//! K08: the name of the key.

use super::kept::{Kept, kept};
use crate::api::aro_control_plane::identity_ref;
use crate::model::{Finding, message};
use crate::rules::arm::World;

/// The key that CAPZ creates, whatever the spec says (facts/aro-controllers.md §4).
const KEY: &str = "etcd-data-kms-encryption-key";

/// K08: with an identityRef, the key has the name that CAPZ's controllers use. Capstan's controllers use any name, and no
/// file says which of them run: so it is a warning.
pub(super) fn has_the_name_that_controllers_use(world: &World<'_>) -> Vec<Finding> {
    let made = kept(world).filter(|one| identity_ref(one.cluster.carrier).is_some());
    let fault = |one: Kept<'_>| {
        let field = one.kms.key("activeKey").key("name");
        // C43 reports an empty one, and one that is too long.
        let is_valid = |name: &&str| (1..=255).contains(&name.len());
        let name = field.text().filter(is_valid)?;
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
    fn the_controllers_choose_the_name() {
        let identity = "identityRef: {name: i}";
        assert_eq!(found(identity, KEY), 0);
        assert_eq!(found(identity, "my-key"), 1);
        assert_eq!(found(identity, ""), 0);
        assert_eq!(found("subscriptionID: s", "my-key"), 0);
    }
}
