//! The Secret that a person made, and that a cluster names as its credential.
//!
//! In: a connection, and the Secret that its cluster names. Out: a finalizer on the Secret, so that a namespace which is
//! deleted keeps the credential for as long as something in Azure has to be deleted with it. The connection records which
//! Secret it holds, so that it can let go of one that the cluster no longer names. No secret value is looked at here.

use serde_json::{Value, json};

use super::super::credential::Source;
use super::super::link::Link;
use super::super::names::{digest, is_held_by};
use crate::api::labels::LINK_CREDENTIAL;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::{self, Outcome};
use crate::reconcile::world::World;

/// Holds the Secret that the cluster names, and lets go of the one before. Returns the annotation that records the Secret
/// on the connection; nothing if there never was one.
pub(super) fn hold(
    world: World<'_>,
    link: &Link<'_>,
    source: &Source,
    outcome: &mut Outcome,
) -> Option<Value> {
    let recorded = link.live.annotation(LINK_CREDENTIAL);
    let named = match source {
        Source::Secret(name) => name.as_str(),
        Source::Identity(_) | Source::Operator => "",
    };
    if recorded != named && !release(world, link, outcome) {
        return Some(record(recorded));
    }
    // It is recorded before it is held: one that nobody knows of would stay for ever.
    if recorded == named && !named.is_empty() {
        keep(world, link, named, outcome);
    }
    (recorded != named || !named.is_empty()).then(|| record(named))
}

fn record(name: &str) -> Value {
    json!({LINK_CREDENTIAL: name})
}

/// Puts the finalizer of the cluster on the Secret.
fn keep(world: World<'_>, link: &Link<'_>, name: &str, outcome: &mut Outcome) {
    let id = id(link, name);
    let held = world.get(&id).present();
    outcome.need(id.clone());
    let Some(held) = held else { return };
    let finalizer = finalizer(link);
    let is_held = is_held_by(held, &finalizer);
    if held.is_deleting() {
        let end = if is_held {
            "it stays until the cluster is gone or names another one"
        } else {
            "create it again, or nothing in Azure can be changed or deleted"
        };
        let message = format!(
            "{id}, the credential of {}, is being deleted: {end}",
            link.cluster
        );
        outcome.event(link.live, true, "CredentialDeleted", message);
    } else if !is_held {
        let before = held.list(&["metadata", "finalizers"]).iter().cloned();
        let finalizers: Vec<Value> = before.chain([json!(finalizer)]).collect();
        outcome.write(outcome::without(held, "finalizers", json!(finalizers)));
    }
}

/// Lets go of the Secret that the connection records. Returns true once it is not held.
pub(super) fn release(world: World<'_>, link: &Link<'_>, outcome: &mut Outcome) -> bool {
    let recorded = link.live.annotation(LINK_CREDENTIAL);
    if recorded.is_empty() {
        return true;
    }
    let id = id(link, recorded);
    let held = world.get(&id).present();
    outcome.need(id);
    let write = held.and_then(|held: Live<'_>| outcome::unfinalize(held, &finalizer(link)));
    let is_free = write.is_none();
    outcome.maybe(write);
    is_free
}

/// The finalizer of one cluster: several may name one Secret.
fn finalizer(link: &Link<'_>) -> String {
    format!(
        "capstan.dev/private-link-credential-{}",
        digest(&link.path())
    )
}

fn id(link: &Link<'_>, name: &str) -> ObjectId {
    ObjectId::new("", "Secret", &link.cluster.namespace, name)
}
