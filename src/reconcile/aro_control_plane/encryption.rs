//! The etcd encryption key of a control plane.
//!
//! In: the key that a control plane needs, its vault, and what the vault answered. Out: the version of the key, or the
//! condition `EncryptionKeyReady` that says what is missing. Without an identity a person creates the key and writes its
//! version; with one, the key is asked for as soon as its vault and the right to create it are there, and again from time
//! to time. It does not know how a vault is reached.

use std::time::Duration;

use jiff::Timestamp;

use super::super::conditions::{NewCondition, Typed};
use super::super::credentials::unseen;
use super::super::outcome::{Need, Outcome, Write};
use super::super::resources::{self, Ledger};
use super::mutators::{KeyVersion, Wanted};
use super::named_key::Key;
use super::rotation;
use crate::api::conditions as c;
use crate::api::embedded::KEY_VAULT_CRYPTO_OFFICER;
use crate::api::kinds::AUTHORIZATION;
use crate::health::Live;
use crate::model::{ErrorClass, KeyError, KeyFault, KeyRequest, ObjectId};

/// How long an answer is good: a key that somebody rotates is noticed after that.
const POLL: Duration = Duration::from_secs(600);

/// How long a vault may be out of reach before somebody has to know: a refused connection may heal, and a new private
/// endpoint takes its time.
const UNREACHED: Duration = Duration::from_secs(180);

/// What surrounds the key of a control plane.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// The resources as they are to be applied, all but the version of the key.
    pub(super) wanted: &'a Wanted,
    /// The AROCluster.
    pub(super) infrastructure: Live<'a>,
    /// The HCP cluster that exists, if it does.
    pub(super) applied: Option<Live<'a>>,
    /// When the role assignments reach all of Azure: until then a vault that denies access is only waited for.
    pub(super) opens: Timestamp,
}

fn no<T>(reason: &str, message: impl Into<String>) -> Result<T, Typed> {
    Err((c::ENCRYPTION_KEY_READY, NewCondition::no(reason, message)))
}

/// The version of the key and the condition that reports it; asks for it if there is no answer yet, or an old one.
pub(super) fn version(
    ledger: &Ledger<'_>,
    key: Key,
    around: Around<'_>,
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
    exists(ledger, &request.identity, outcome)?;
    outcome.needs.push(Need::Key(request.clone()));
    let used = around.applied.and_then(|hcp| rotation::used(&request, hcp));
    let answer = ledger.world.key(&request);
    if let Some(Ok(newest)) = answer.map(|answer| &answer.version) {
        let again = answer.and_then(|answer| answer.at.checked_add(POLL).ok());
        match again.filter(|again| *again > ledger.now) {
            Some(again) => outcome.wake_at(again),
            None => outcome.write(Write::EnsureKey(request.clone())),
        }
        let (wanted, applied) = (around.wanted, around.applied);
        return Ok(Some(rotation::next(
            &request, newest, used, wanted, applied,
        )));
    }
    // After a restart, and while the vault does not answer, the version in use is good.
    let known = used.and_then(|used| reported(ledger.owner, &request, used));
    if known.is_none() {
        may_ask(ledger, vault, around.infrastructure, outcome)?;
    }
    outcome.write(Write::EnsureKey(request.clone()));
    match (known, answer.map(|answer| (&answer.version, answer.since))) {
        (Some(known), _) => Ok(Some(known)),
        (None, Some((Err(error), since))) => {
            let until = since + UNREACHED;
            let is_new = error.fault == KeyFault::Unreachable && ledger.now < until;
            if is_new {
                outcome.wake_at(until);
            }
            let failed = failed(ledger, &request, (error, is_new), around);
            Err((c::ENCRYPTION_KEY_READY, failed))
        }
        (None, _) => no(
            c::CREATING_KEY,
            c::creating_key(&request.key, &request.vault),
        ),
    }
}

/// Whether the identity exists.
fn exists(ledger: &Ledger<'_>, identity: &ObjectId, outcome: &mut Outcome) -> Result<(), Typed> {
    outcome.need(identity.clone());
    if ledger.world.get(identity).present().is_some() {
        return Ok(());
    }
    let (reason, message) = unseen(ledger.world, identity);
    no(reason, message)
}

/// Whether the vault is ready, and the role assignments with the right to create keys in it.
fn may_ask(
    ledger: &Ledger<'_>,
    vault: Option<ObjectId>,
    infrastructure: Live<'_>,
    outcome: &mut Outcome,
) -> Result<(), Typed> {
    let mut is_ready = |id: ObjectId| {
        let found = ledger.world.get(&id).present();
        outcome.need(id);
        found.is_some_and(|found| found.holds(c::READY))
    };
    if vault.is_some_and(|vault| !is_ready(vault)) {
        return no(c::WAITING_FOR_VAULT, c::VAULT_AWAITED);
    }
    match officers(infrastructure).find(|officer| !is_ready(officer.clone())) {
        Some(officer) => {
            let message = c::key_officer_awaited(&officer.name);
            no(c::WAITING_FOR_ROLE_ASSIGNMENTS, message)
        }
        None => Ok(()),
    }
}

/// The role assignments of the infrastructure that let somebody create keys.
fn officers<'a>(infrastructure: Live<'a>) -> impl Iterator<Item = ObjectId> + 'a {
    let items = infrastructure.list(&["spec", "resources"]).iter();
    let assigned = items.filter(|item| {
        let role = Live(item).text(&["spec", "roleDefinitionReference", "armId"]);
        Live(item).group() == AUTHORIZATION
            && role
                .to_ascii_lowercase()
                .ends_with(KEY_VAULT_CRYPTO_OFFICER)
    });
    assigned.map(move |item| resources::id(infrastructure, item))
}

/// The version in use, if the status says that it is good.
fn reported(
    plane: Live<'_>,
    request: &KeyRequest,
    used: &str,
) -> Option<(KeyVersion, NewCondition)> {
    let reported = plane.condition(c::ENCRYPTION_KEY_READY)?;
    let good = c::key_ready(&request.key, used, &request.vault);
    let is_it = reported.is_true() && reported.message().starts_with(&good);
    let condition = || NewCondition::yes(reported.reason(), reported.message());
    is_it.then(|| (KeyVersion::of(request, used), condition()))
}

/// The condition that reports why there is no key.
fn failed(
    ledger: &Ledger<'_>,
    request: &KeyRequest,
    (error, is_new): (&KeyError, bool),
    around: Around<'_>,
) -> NewCondition {
    let text = error.to_string();
    let is_settling = error.error.class() == ErrorClass::Denied && ledger.now < around.opens;
    let may_pass = error.fault == KeyFault::Other && error.error.class() == ErrorClass::Transient;
    let creating = c::creating_key(&request.key, &request.vault);
    if is_settling || may_pass || is_new {
        return NewCondition::no(c::CREATING_KEY, format!("{creating}: {text}"));
    }
    let reason = match error.fault {
        KeyFault::NotConfigured => {
            return NewCondition::no(c::KEY_MANAGEMENT_NOT_CONFIGURED, text);
        }
        KeyFault::VaultNotFound => c::VAULT_NOT_FOUND,
        KeyFault::AccessDenied => c::KEY_ACCESS_DENIED,
        KeyFault::NetworkDenied => c::VAULT_NETWORK_DENIED,
        KeyFault::Unreachable => c::VAULT_UNREACHABLE,
        KeyFault::Deleted => c::KEY_DELETED,
        KeyFault::Unusable => c::KEY_UNUSABLE,
        KeyFault::Other => c::KEY_FAILED,
    };
    let is_unassigned =
        error.fault == KeyFault::AccessDenied && officers(around.infrastructure).next().is_none();
    let hint = match is_unassigned {
        true => format!("; {}", c::KEY_OFFICER_NOT_ASSIGNED),
        false => String::new(),
    };
    NewCondition::no(reason, format!("{creating} failed: {text}{hint}"))
}
