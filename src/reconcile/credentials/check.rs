//! Whether a credential works.
//!
//! In: what a token call answered. Out: the condition that reports it, and the write that asks. It is asked for once, then
//! every hour, since a password expires without a change of its Secret.

use jiff::{SignedDuration, Timestamp};

use crate::api::azure_cluster_identity::AzureClusterIdentitySpec;
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::{AdapterError, CredentialOf, CredentialRequest, ErrorClass, ObjectId};
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{Need, Outcome, Write};
use crate::reconcile::resources::Ledger;
use crate::reconcile::settings::ProcessIdentity;
use crate::reconcile::world::World;

/// How long an answer counts.
const LIFE: SignedDuration = SignedDuration::from_hours(1);

/// Whether a credential works, and what it is made of.
#[derive(Clone)]
pub(in crate::reconcile) struct State {
    /// What is known.
    pub(in crate::reconcile) condition: NewCondition,
    /// Changes with all that it is made of.
    pub(in crate::reconcile) version: String,
    /// Whether Entra ID gave a token for this version.
    pub(in crate::reconcile) works: bool,
}

/// The hour, as a part of what a credential is made of: it stands for the content of a file.
fn hour(now: Timestamp, outcome: &mut Outcome) -> String {
    let hour = now.as_second() / LIFE.as_secs();
    if let Ok(next) = Timestamp::from_second((hour + 1) * LIFE.as_secs()) {
        outcome.wake_at(next);
    }
    format!("@{hour}")
}

/// What the identity of the process is made of now.
pub(super) fn version_of_process(
    process: &ProcessIdentity,
    now: Timestamp,
    outcome: &mut Outcome,
) -> String {
    let hour = process.has_file.then(|| hour(now, outcome));
    format!("{}{}", process.version, hour.unwrap_or_default())
}

/// What the identity and its Secret are now. A file may change at any time: it counts as another one every hour.
pub(in crate::reconcile) fn version(
    world: World<'_>,
    identity: Live<'_>,
    now: Timestamp,
    outcome: &mut Outcome,
) -> String {
    let spec = AzureClusterIdentitySpec::from_json(identity.0).ok();
    let has_file = spec.as_ref().is_some_and(|spec| {
        spec.cert_path.is_some() || spec.user_assigned_identity_credentials_path.is_some()
    });
    let file = if has_file {
        hour(now, outcome)
    } else {
        String::new()
    };
    let secret = spec.and_then(|spec| spec.secret(identity.namespace()));
    let secret = secret.map_or_else(String::new, |id| {
        let version = world.get(&id).present().map(|secret| {
            let version = secret.text(&["metadata", "resourceVersion"]);
            format!("{}.{version}", secret.uid())
        });
        outcome.need(id);
        version.unwrap_or_else(|| "none".to_owned())
    });
    format!(
        "{}.{}/{secret}{file}",
        identity.uid(),
        identity.generation()
    )
}

/// Whether an identity works in the cloud of the owner. Its own condition is about all clouds in which it is used, so that it
/// only stands in for an answer that has not come.
pub(super) fn of_identity(
    ledger: &Ledger<'_>,
    id: &ObjectId,
    environment: &str,
    outcome: &mut Outcome,
) -> State {
    let world = ledger.world;
    let Some(identity) = world.get(id).present() else {
        return State {
            condition: NewCondition::unknown(c::CHECKING_CREDENTIALS, ""),
            version: String::new(),
            works: false,
        };
    };
    let named = |message: &str| match message {
        "" => id.to_string(),
        message if message.contains(&id.to_string()) => message.to_owned(),
        message => format!("{id}: {message}"),
    };
    let request = CredentialRequest {
        of: CredentialOf::Identity(id.clone()),
        environment: environment.to_owned(),
        version: version(world, identity, ledger.now, outcome),
    };
    let answer = world.credential(&request).map(|(answer, _)| answer);
    let condition = match answer.map(|answer| answer.map_err(failed)) {
        Some(Ok(())) => NewCondition::yes(c::CREDENTIALS_VALID, ""),
        Some(Err(failed)) if failed.is_false() => {
            NewCondition::no(failed.reason(), named(failed.message()))
        }
        _ => {
            let held = ledger.owner.condition(c::IDENTITY_READY);
            let held = held.is_some_and(|held| held.is_true());
            match identity.condition(c::READY) {
                Some(ready) if ready.is_true() => NewCondition::yes(c::CREDENTIALS_VALID, ""),
                Some(ready) if ready.status() == c::FALSE && held => {
                    NewCondition::yes(c::CREDENTIALS_VALID, "")
                }
                Some(ready) if ready.status() == c::FALSE => {
                    NewCondition::no(ready.reason(), named(ready.message()))
                }
                Some(ready) => NewCondition::unknown(ready.reason(), named(ready.message())),
                None => NewCondition::unknown(c::CHECKING_CREDENTIALS, ""),
            }
        }
    };
    let version = request.version.clone();
    outcome.needs.push(Need::Credential(request));
    State {
        condition,
        version,
        works: matches!(answer, Some(Ok(()))),
    }
}

/// What a token call says; asks for one if there is no answer, or if it is old.
pub(in crate::reconcile) fn ask(
    world: World<'_>,
    request: &CredentialRequest,
    now: Timestamp,
    outcome: &mut Outcome,
) -> State {
    outcome.needs.push(Need::Credential(request.clone()));
    let answer = world.credential(request);
    let is_good = |at: Timestamp| now.duration_since(at) < LIFE;
    let condition = match answer {
        Some((Ok(()), at)) => {
            if is_good(at) {
                outcome.wake_at(at + LIFE);
            } else {
                // The same answer wakes nobody.
                outcome.wake_at(now + LIFE);
                outcome.write(Write::CheckCredential(request.clone()));
            }
            NewCondition::yes(c::CREDENTIALS_VALID, "")
        }
        Some((Err(error), _)) => {
            outcome.write(Write::CheckCredential(request.clone()));
            failed(error)
        }
        None => {
            outcome.write(Write::CheckCredential(request.clone()));
            NewCondition::unknown(c::CHECKING_CREDENTIALS, "")
        }
    };
    State {
        condition,
        version: request.version.clone(),
        works: matches!(answer, Some((Ok(()), _))),
    }
}

fn failed(error: &AdapterError) -> NewCondition {
    let text = error.to_string();
    match error.class() {
        ErrorClass::Denied => NewCondition::no(c::CREDENTIALS_REFUSED, text),
        ErrorClass::Invalid | ErrorClass::Bug => NewCondition::no(c::CREDENTIALS_INVALID, text),
        ErrorClass::Gone => NewCondition::no(c::CREDENTIALS_NOT_FOUND, text),
        ErrorClass::Transient | ErrorClass::Conflict => {
            NewCondition::unknown(c::CREDENTIALS_UNCHECKED, text)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::reconcile::snapshot::Snapshot;

    #[test]
    fn issue_15_a_credential_that_works_is_tried_every_hour() {
        let request = CredentialRequest {
            of: CredentialOf::Default,
            environment: String::new(),
            version: String::new(),
        };
        let mut snapshot = Snapshot::default();
        let mut now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        snapshot.set_credential(request.clone(), Ok(()), now);
        for _ in 0..3 {
            now += LIFE;
            let mut outcome = Outcome::default();
            ask(World::of(&snapshot), &request, now, &mut outcome);
            assert_eq!(outcome.writes, [Write::CheckCredential(request.clone())]);
            // The answer is the same, so that nothing but this time leads to the next decision.
            assert_eq!(outcome.wake, Some(now + LIFE));
            assert!(!snapshot.set_credential(request.clone(), Ok(()), now));
        }
    }
}
