//! Which etcd encryption key a control plane needs.
//!
//! In: an AROControlPlane, its HCP cluster's spec and the resources of its AROCluster. Out: the key to ask for, or the
//! condition `EncryptionKeyReady` that says what a person has to write. It does not know whether the key exists.

use serde_json::Value;

use super::super::conditions::{NewCondition, Typed};
use super::super::resources::{self, Ledger};
use super::mutators::{VERSION, VERSION_BESIDE, Wanted};
use crate::api::aro_control_plane::identity_namespace;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::kinds::{INFRASTRUCTURE, KEYVAULT};
use crate::health::Live;
use crate::model::{KeyRequest, ObjectId};

/// The key that a control plane needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// None.
    NotAsked,
    /// One that a person created.
    ByHand,
    /// One that is created here, in a vault that exists or is embedded in the AROCluster.
    Ours(Box<KeyRequest>, Option<ObjectId>),
}

fn no<T>(reason: &str, message: impl Into<String>) -> Result<T, Typed> {
    Err((c::ENCRYPTION_KEY_READY, NewCondition::no(reason, message)))
}

/// The first of the fields of `kms` with a text.
fn text<'a>(kms: Live<'a>, fields: &[&[&str]]) -> &'a str {
    let mut found = fields.iter().map(|field| kms.text(field));
    found.find(|text| !text.is_empty()).unwrap_or_default()
}

/// The name of the key in these settings; empty if they have none.
pub(super) fn key_of(kms: Live<'_>) -> &str {
    text(kms, &[&["activeKey", "name"], &["keyName"]])
}

/// The name of the vault in these settings, and whether they have its ARM id; empty if they name none.
pub(super) fn vault_of(kms: Live<'_>) -> (&str, bool) {
    let name = text(kms, &[&["vaultName"], &["activeKey", "vaultName"]]);
    if !name.is_empty() {
        return (name, false);
    }
    let id = kms.text(&["keyVaultResourceId"]).trim_end_matches('/');
    (id.rsplit('/').next().unwrap_or_default(), true)
}

/// The key that the HCP cluster needs, as far as the specs say.
pub(super) fn needed(
    ledger: &Ledger<'_>,
    wanted: &Wanted,
    infrastructure: Option<Live<'_>>,
) -> Result<Key, Typed> {
    let Some(kms) = wanted.cluster().at(&KMS).map(Live) else {
        return Ok(Key::NotAsked);
    };
    let plane = ledger.owner;
    let Some(reference) = plane.at(&["spec", "identityRef"]).map(Live) else {
        return by_hand(kms, wanted);
    };
    let (vault, has_id) = vault_of(kms);
    let required = |field: &[&str], what: &str| {
        let path = wanted.path(&[KMS.as_slice(), field].concat());
        format!("{path} is required: it names {what}")
    };
    if vault.is_empty() {
        let what = "the vault in which the encryption key is created";
        return no(c::VAULT_NAME_MISSING, required(&["vaultName"], what));
    }
    let key = key_of(kms);
    if key.is_empty() {
        let what = "the encryption key, which is created if it does not exist";
        return no(c::KEY_NAME_MISSING, required(&["activeKey", "name"], what));
    }
    let declared = match infrastructure.map(|infrastructure| declared(infrastructure, vault)) {
        // An ARM id says that it exists.
        Some(None) if has_id => None,
        Some(None) => return no(c::VAULT_NOT_DECLARED, c::vault_not_declared(vault)),
        Some(Some(declared)) => declared,
        // Its AROCluster is waited for in any case.
        None => None,
    };
    let request = KeyRequest {
        vault: vault.to_owned(),
        key: key.to_owned(),
        identity: identity(plane, reference),
        namespace: plane.namespace().to_owned(),
        environment: plane.text(&["spec", "azureEnvironment"]).to_owned(),
    };
    Ok(Key::Ours(Box::new(request), declared))
}

/// Without an identity the spec must name the key and its version.
fn by_hand(kms: Live<'_>, wanted: &Wanted) -> Result<Key, Typed> {
    let is_named = kms.at(&["activeKey"]).is_some() || kms.at(&["keyName"]).is_some();
    match text(kms, &[VERSION, VERSION_BESIDE]) {
        "" if !is_named => no(c::ACTIVE_KEY_MISSING, c::ACTIVE_KEY_REQUIRED),
        // No API version has the field of the proposal's text.
        "" => {
            let place = wanted.path(&[KMS.as_slice(), VERSION].concat());
            let required = c::KEY_VERSION_REQUIRED;
            let message =
                format!("{required}. No API version has that field: the version goes to {place}");
            no(c::KEY_VERSION_MISSING, message)
        }
        _ => Ok(Key::ByHand),
    }
}

fn identity(plane: Live<'_>, reference: Live<'_>) -> ObjectId {
    let namespace = identity_namespace(Some(reference.text(&["namespace"])), plane.namespace());
    let name = reference.text(&["name"]);
    ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name)
}

/// The vault among the resources of the infrastructure: `Some(None)` if it exists in Azure already, since a resource is
/// assigned to it by its ARM id; `None` if nothing speaks of it.
fn declared(infrastructure: Live<'_>, vault: &str) -> Option<Option<ObjectId>> {
    let items = infrastructure.list(&["spec", "resources"]);
    let is_it = |item: &&Value| {
        let live = Live(item);
        let names = [live.text(&["spec", "azureName"]), live.name()];
        live.group() == KEYVAULT && live.kind() == "Vault" && names.contains(&vault)
    };
    if let Some(item) = items.iter().find(is_it) {
        return Some(Some(resources::id(infrastructure, item)));
    }
    let suffix = format!("/vaults/{}", vault.to_ascii_lowercase());
    let mut owners = items
        .iter()
        .map(|item| Live(item).text(&["spec", "owner", "armId"]));
    owners
        .any(|owner| owner.to_ascii_lowercase().ends_with(&suffix))
        .then_some(None)
}
