//! The condition `EncryptionKeyReady`: its reasons and messages.
//!
//! In: keys, vaults and versions. Out: texts. It does not know when they are said.

/// AROControlPlane: the etcd encryption key exists.
pub const ENCRYPTION_KEY_READY: &str = "EncryptionKeyReady";
/// Reason of [`ENCRYPTION_KEY_READY`] when true.
pub const KEY_READY: &str = "KeyReady";
/// Reason: the vault does not exist yet.
pub const WAITING_FOR_VAULT: &str = "WaitingForVault";
/// Reason: the key is being created.
pub const CREATING_KEY: &str = "CreatingKey";
/// Reason: there is no identityRef and no key.
pub const ACTIVE_KEY_MISSING: &str = "ActiveKeyMissing";
/// Reason: there is no identityRef and no key version.
pub const KEY_VERSION_MISSING: &str = "KeyVersionMissing";
/// Reason, with status Unknown: the key is managed by hand.
pub const MANUAL_KEY_MANAGEMENT: &str = "ManualKeyManagement";
/// Reason: the spec names a key, but no vault.
pub const VAULT_NAME_MISSING: &str = "VaultNameMissing";
/// Reason: the spec names a vault, but no key.
pub const KEY_NAME_MISSING: &str = "KeyNameMissing";
/// Reason: the vault is not among the resources of the AROCluster.
pub const VAULT_NOT_DECLARED: &str = "VaultNotDeclared";
/// Reason: the identity does not exist.
pub const IDENTITY_NOT_FOUND: &str = "IdentityNotFound";
/// Reason: the vault refused to create the key, or to read its version.
pub const KEY_FAILED: &str = "KeyFailed";
/// Reason: nothing here can create keys.
pub const KEY_MANAGEMENT_NOT_CONFIGURED: &str = "KeyManagementNotConfigured";
/// Reason: no vault answers to the name.
pub const VAULT_NOT_FOUND: &str = "VaultNotFound";
/// Reason: the identity lacks a permission in the vault.
pub const KEY_ACCESS_DENIED: &str = "KeyAccessDenied";
/// Reason: the vault takes no connection from the network of this process.
pub const VAULT_NETWORK_DENIED: &str = "VaultNetworkDenied";
/// Reason of [`ENCRYPTION_KEY_READY`]: nobody answers at the address of the vault, not even after some time.
pub const VAULT_UNREACHABLE: &str = "VaultUnreachable";
/// Reason: the key was deleted, and can be recovered.
pub const KEY_DELETED: &str = "KeyDeleted";
/// Reason: the newest version of the key is disabled, expired or of another type.
pub const KEY_UNUSABLE: &str = "KeyUnusable";
/// Reason of [`ENCRYPTION_KEY_READY`] when true: the key has a newer version, which the cluster does not use.
pub const KEY_ROTATED: &str = "KeyRotated";

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
pub const KEY_OFFICER_NOT_ASSIGNED: &str = "the AROCluster does not assign that role: with the ID of the principal in etcd.encryption.keyOfficerPrincipalID, the definition does";
/// Why a newer version of a key is not used.
pub const ROTATION_UNSUPPORTED: &str =
    "key rotation needs API version 2026-06-30 or later, and OpenShift 4.22 or later";
/// Why a newer version of a key is not used.
pub const VERSION_GIVEN: &str = "the spec sets the version";
