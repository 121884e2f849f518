//! The etcd encryption key of a control plane.
//!
//! In: an AROControlPlane, its HCP cluster's spec, the resources of its AROCluster, and what the vault answered. Out: the
//! version of the key, or the condition `EncryptionKeyReady` that says what is missing. Without an identity a person
//! creates the key and writes its version; with one, the key is asked for as soon as its vault is ready. It does not know
//! how a vault is reached.

use jiff::Timestamp;
use serde_json::Value;

use super::super::conditions::{NewCondition, Typed};
use super::super::outcome::{Need, Outcome, Write};
use super::super::resources::{self, Ledger};
use super::mutators::{KeyVersion, VERSION, VERSION_BESIDE, Wanted};
use crate::api::aro_control_plane::identity_namespace;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::kinds::{INFRASTRUCTURE, KEYVAULT};
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, KeyRequest, ObjectId};

/// The key that is created when the spec names none.
const DEFAULT_KEY: &str = "etcd-data-kms-encryption-key";

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
        return by_hand(kms);
    };
    let vault = text(kms, &[&["vaultName"], &["activeKey", "vaultName"]]);
    if vault.is_empty() {
        let path = wanted.path(&[KMS.as_slice(), &["vaultName"]].concat());
        return no(
            c::VAULT_NAME_MISSING,
            format!(
                "{path} is required: it names the vault in which the encryption key is created"
            ),
        );
    }
    let declared = match infrastructure.map(|infrastructure| declared(infrastructure, vault)) {
        Some(None) => return no(c::VAULT_NOT_DECLARED, c::vault_not_declared(vault)),
        Some(Some(declared)) => declared,
        // Its AROCluster is waited for in any case.
        None => None,
    };
    let name = text(kms, &[&["activeKey", "name"], &["keyName"]]);
    let name = if name.is_empty() { DEFAULT_KEY } else { name };
    let request = KeyRequest {
        vault: vault.to_owned(),
        key: name.to_owned(),
        identity: identity(plane, reference),
        namespace: plane.namespace().to_owned(),
        environment: plane.text(&["spec", "azureEnvironment"]).to_owned(),
    };
    Ok(Key::Ours(Box::new(request), declared))
}

/// Without an identity the spec must name the key and its version.
fn by_hand(kms: Live<'_>) -> Result<Key, Typed> {
    let is_named = kms.at(&["activeKey"]).is_some() || kms.at(&["keyName"]).is_some();
    match text(kms, &[VERSION, VERSION_BESIDE]) {
        "" if !is_named => no(c::ACTIVE_KEY_MISSING, c::ACTIVE_KEY_REQUIRED),
        "" => no(c::KEY_VERSION_MISSING, c::KEY_VERSION_REQUIRED),
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

/// The version of the key and the condition that reports it; asks for it if there is no answer yet. `opens` is when the
/// role assignments reach all of Azure: until then a vault that denies access is only waited for.
pub(super) fn version(
    ledger: &Ledger<'_>,
    key: Key,
    applied: Option<Live<'_>>,
    opens: Timestamp,
    outcome: &mut Outcome,
) -> Result<Option<(KeyVersion, NewCondition)>, Typed> {
    let (request, vault) = match key {
        Key::NotAsked => return Ok(None),
        Key::ByHand => {
            let condition = NewCondition::unknown(c::MANUAL_KEY_MANAGEMENT, c::KEY_BY_HAND);
            return Ok(Some((KeyVersion::ByHand, condition)));
        }
        Key::Ours(request, vault) => (*request, vault),
    };
    outcome.need(request.identity.clone());
    if ledger.world.get(&request.identity).present().is_none() {
        let ObjectId {
            namespace, name, ..
        } = &request.identity;
        let message = format!(
            "failed to retrieve AzureClusterIdentity external object {namespace:?}/{name:?}: it does not exist"
        );
        return no(c::IDENTITY_NOT_FOUND, message);
    }
    outcome.needs.push(Need::Key(request.clone()));
    let answer = ledger.world.key(&request);
    if let Some(Ok(version)) = answer {
        return Ok(Some(ready(&request, version)));
    }
    // After a restart the version that was applied is good until the vault answers.
    let known = applied.and_then(|applied| known(ledger.owner, &request, applied));
    if known.is_none()
        && let Some(vault) = vault
    {
        let is_ready = ledger.world.get(&vault).present();
        outcome.need(vault);
        if !is_ready.is_some_and(|vault| vault.holds(c::READY)) {
            return no(c::WAITING_FOR_VAULT, c::VAULT_AWAITED);
        }
    }
    outcome.write(Write::EnsureKey(request.clone()));
    match (known, answer) {
        (Some(known), _) => Ok(Some(known)),
        (None, Some(Err(error))) => Err((
            c::ENCRYPTION_KEY_READY,
            failed(ledger, &request, error, opens),
        )),
        (None, _) => no(
            c::CREATING_KEY,
            c::creating_key(&request.key, &request.vault),
        ),
    }
}

fn ready(request: &KeyRequest, version: &str) -> (KeyVersion, NewCondition) {
    let KeyRequest { key, vault, .. } = request;
    let condition = NewCondition::yes(c::KEY_READY, c::key_ready(key, version, vault));
    let version = KeyVersion::Of {
        name: key.clone(),
        vault: vault.clone(),
        version: version.to_owned(),
    };
    (version, condition)
}

/// The version that the HCP cluster has, if the status says that it is of this key.
fn known(
    plane: Live<'_>,
    request: &KeyRequest,
    applied: Live<'_>,
) -> Option<(KeyVersion, NewCondition)> {
    let version = applied.text(&[KMS.as_slice(), VERSION].concat());
    let reported = plane.condition(c::ENCRYPTION_KEY_READY)?;
    let message = c::key_ready(&request.key, version, &request.vault);
    let is_it = reported.is_true() && !version.is_empty() && reported.message() == message;
    is_it.then(|| ready(request, version))
}

/// The condition that reports an error of the vault.
fn failed(
    ledger: &Ledger<'_>,
    request: &KeyRequest,
    error: &AdapterError,
    opens: Timestamp,
) -> NewCondition {
    let text = error.to_string();
    if text.starts_with(c::KEYS_NOT_CONFIGURED) {
        return NewCondition::no(c::KEY_MANAGEMENT_NOT_CONFIGURED, text);
    }
    let creating = c::creating_key(&request.key, &request.vault);
    let may_pass = match error.class() {
        ErrorClass::Transient => true,
        ErrorClass::Denied => ledger.now < opens,
        _ => false,
    };
    if may_pass {
        return NewCondition::no(c::CREATING_KEY, format!("{creating}: {text}"));
    }
    NewCondition::no(c::KEY_FAILED, format!("{creating} failed: {text}"))
}
