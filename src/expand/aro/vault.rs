//! `Vault`: holds the key that encrypts the cluster's data.

use super::blueprint::Blueprint;
use super::write::{embedded, reference};
use crate::api::kinds::KEYVAULT;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "Vault";

/// The vault, unless the definition names one that exists.
pub(super) fn resource(b: &Blueprint) -> Option<Node> {
    if b.spec().etcd.encryption.vault.is_some() {
        return None;
    }
    let spec = node!(b.origin(), {
        "location": b.value("location"),
        "owner": {"name": &b.names.resource_group},
        "properties": {
            "createMode": "createOrRecover",
            "tenantId": b.value("tenantID"),
            "sku": {"family": "A", "name": "standard"},
            "accessPolicies": [],
            "enableRbacAuthorization": true,
            "enableSoftDelete": true,
            "enabledForDiskEncryption": false,
            "enabledForTemplateDeployment": false,
        },
        "tags": b.value("tags"),
    });
    Some(embedded(b, [KEYVAULT, KIND, &b.names.vault], spec))
}

/// Its Azure name.
pub(super) fn name(b: &Blueprint) -> Node {
    let given = b.value("etcd.encryption.vault.name");
    given.unwrap_or_else(|| b.text(&*b.names.vault))
}

/// The vault as the scope of a role: by reference when it is made here, else by its ARM id.
pub(super) fn scope(b: &Blueprint) -> Node {
    let Some(vault) = &b.spec().etcd.encryption.vault else {
        return reference(b, KEYVAULT, KIND, &b.names.vault);
    };
    let (group, name) = (&vault.resource_group, &vault.name);
    let subscription = &b.spec().subscription_id;
    let id = format!(
        "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.KeyVault/vaults/{name}"
    );
    node!(b.origin(), {"armId": b.values.made_from("etcd.encryption.vault.name", id)})
}
