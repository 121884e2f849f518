//! The condition `EncryptionKeyReady`: its messages.
//!
//! In: keys, vaults and versions. Out: texts. It does not know when they are said.

/// AROControlPlane: the etcd encryption key exists.
pub const ENCRYPTION_KEY_READY: &str = "EncryptionKeyReady";

/// Message: `EncryptionKeyReady` without identityRef and without a key.
pub const ACTIVE_KEY_REQUIRED: &str = "activeKey is required when identityRef is not set - CAPZ cannot auto-create or propagate the encryption key without Azure credentials";
/// Message: `EncryptionKeyReady` without identityRef and without a key version, as the proposal has it.
pub const KEY_VERSION_REQUIRED: &str = "identityRef is not set and keyVersion is not specified in HcpOpenShiftCluster - CAPZ cannot auto-create or propagate the encryption key without Azure credentials. Please manually create the vault and key via ASO and specify the keyVersion in spec.properties.etcd.dataEncryption.customerManaged.kms.keyVersion";
/// Message: `EncryptionKeyReady` if the key is managed by hand.
pub const KEY_BY_HAND: &str = "identityRef not set - encryption key must be manually created and specified in HcpOpenShiftCluster";
/// Message: `EncryptionKeyReady` while the vault is created.
pub const VAULT_AWAITED: &str = "Waiting for KeyVault to be created";

/// Message of [`ENCRYPTION_KEY_READY`] while the key is created.
#[must_use]
pub fn creating_key(key: &str, vault: &str) -> String {
    format!("Creating encryption key '{key}' in vault '{vault}'")
}

/// Message of [`ENCRYPTION_KEY_READY`] when true.
#[must_use]
pub fn key_ready(key: &str, version: &str, vault: &str) -> String {
    format!("Encryption key '{key}' version '{version}' ready in vault '{vault}'")
}

/// Message of [`ENCRYPTION_KEY_READY`] when nobody declares the vault.
#[must_use]
pub fn vault_not_declared(vault: &str) -> String {
    format!(
        "vault with azureName \"{vault}\" not found in AROCluster spec.resources - when using encryption with identityRef, the Vault resource must be declared in AROCluster.spec.resources[] (CAPZ will create the encryption key inside the vault, but ASO must create the vault itself). Add a Vault resource with spec.azureName: \"{vault}\" to AROCluster.spec.resources[]"
    )
}

/// Message of [`ENCRYPTION_KEY_READY`] when true, although there is a newer version.
#[must_use]
pub fn key_rotated(key: &str, version: &str, vault: &str, newer: &str, why: &str) -> String {
    let ready = key_ready(key, version, vault);
    format!("{ready}; its newer version '{newer}' is not used, since {why}")
}

/// Message of [`ENCRYPTION_KEY_READY`] while the identity has no permission to create keys.
#[must_use]
pub fn key_officer_awaited(assignment: &str) -> String {
    format!(
        "Waiting for RoleAssignment {assignment}, which gives the identity the role Key Vault Crypto Officer"
    )
}

/// What else helps if nobody gives the identity a role.
pub const KEY_OFFICER_NOT_ASSIGNED: &str = "the AROCluster does not assign that role: add a RoleAssignment to its spec.resources, which a ClusterDefinition does with the ID of the principal in etcd.encryption.keyOfficerPrincipalID";
/// Why a newer version of a key is not used.
pub const ROTATION_UNSUPPORTED: &str =
    "key rotation needs API version 2026-06-30 or later, and OpenShift 4.22 or later";
/// Why a newer version of a key is not used.
pub const VERSION_GIVEN: &str = "the spec sets the version";
