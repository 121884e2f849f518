//! The etcd encryption key of a control plane.
//!
//! In: an AROControlPlane, its HCP cluster's spec, and the vault among the infrastructure's resources.
//! Out: the version to inject, and the condition `EncryptionKeyReady`. With an identity the key exists a
//! few seconds after its vault; its version is a number made of its name. Without one a person must
//! create the key.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::conditions::NewCondition;
use super::super::outcome::Outcome;
use super::super::resources;
use super::super::world::World;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::kinds::{INFRASTRUCTURE, KEYVAULT};
use crate::health::Live;
use crate::model::ObjectId;

/// How long making a key takes.
const MAKING: Duration = Duration::from_secs(5);

/// The state of the key.
pub(super) enum Key {
    /// The cluster needs none.
    NotAsked,
    /// It exists: the version to inject, if it is ours to inject.
    Ready(Option<String>, NewCondition),
    /// It does not exist yet, and this is why.
    Awaited(NewCondition),
}

/// Looks for the key of `hcp`, embedded in `plane`.
pub(super) fn find(
    world: World<'_>,
    plane: Live<'_>,
    hcp: Live<'_>,
    infrastructure: Live<'_>,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Key {
    let Some(kms) = hcp.at(&KMS).map(Live) else {
        return Key::NotAsked;
    };
    let Some(reference) = plane.at(&["spec", "identityRef"]).map(Live) else {
        return by_hand(kms);
    };
    let (vault, name) = (kms.text(&["vaultName"]), kms.text(&["activeKey", "name"]));
    let identity = identity(plane, reference);
    outcome.need(identity.clone());
    if world.get(&identity).present().is_none() {
        let message = format!("{identity} does not exist");
        return Key::Awaited(NewCondition::no(c::CREATING_KEY, message));
    }
    match vault_ready(world, infrastructure, vault, outcome) {
        None => Key::Awaited(NewCondition::no(c::WAITING_FOR_VAULT, c::VAULT_AWAITED)),
        Some(since) if now < since + MAKING => {
            outcome.wake_at(since + MAKING);
            Key::Awaited(NewCondition::no(
                c::CREATING_KEY,
                c::creating_key(name, vault),
            ))
        }
        Some(_) => {
            let version = version(vault, name);
            let condition = NewCondition::yes(c::KEY_READY, c::key_ready(name, &version, vault));
            Key::Ready(Some(version), condition)
        }
    }
}

/// Without an identity the spec must name the key and its version.
fn by_hand(kms: Live<'_>) -> Key {
    if kms.at(&["activeKey"]).is_none() {
        return Key::Awaited(NewCondition::no(
            c::ACTIVE_KEY_MISSING,
            c::ACTIVE_KEY_REQUIRED,
        ));
    }
    match kms.text(&["activeKey", "version"]) {
        "" => Key::Awaited(NewCondition::no(
            c::KEY_VERSION_MISSING,
            c::KEY_VERSION_REQUIRED,
        )),
        _ => Key::Ready(
            None,
            NewCondition::unknown(c::MANUAL_KEY_MANAGEMENT, c::KEY_BY_HAND),
        ),
    }
}

fn identity(plane: Live<'_>, reference: Live<'_>) -> ObjectId {
    let named = reference.text(&["namespace"]);
    let namespace = if named.is_empty() {
        plane.namespace()
    } else {
        named
    };
    let name = reference.text(&["name"]);
    ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name)
}

/// Since when the vault is ready. A vault that is not among the resources was there all along.
fn vault_ready(
    world: World<'_>,
    infrastructure: Live<'_>,
    vault: &str,
    outcome: &mut Outcome,
) -> Option<Timestamp> {
    let named = |item: &&Value| {
        let live = Live(item);
        let azure_name = live.text(&["spec", "azureName"]);
        let name = if azure_name.is_empty() {
            live.name()
        } else {
            azure_name
        };
        live.group() == KEYVAULT && name == vault
    };
    let items = infrastructure.list(&["spec", "resources"]);
    let Some(item) = items.iter().find(named) else {
        return Some(Timestamp::UNIX_EPOCH);
    };
    let id = resources::id(infrastructure, item);
    outcome.need(id.clone());
    let live = world
        .get(&id)
        .present()
        .filter(|live| live.holds(c::READY))?;
    live.condition(c::READY)?.since().parse().ok()
}

/// 32 hex digits, as Key Vault numbers versions.
fn version(vault: &str, key: &str) -> String {
    let digest = Sha256::digest(format!("{vault}/{key}").as_bytes());
    digest.iter().take(16).map(|b| format!("{b:02x}")).collect()
}
