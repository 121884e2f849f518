//! Embedded resources: applying those of a list, deleting those that left it, and reporting which are
//! ready (facts/aro-controllers.md §6).
//!
//! In: an owner and the resources it wants. Out: writes, what was looked at, and an entry for each.
//! Kinds are recorded on the owner before anything of the kind is applied, so that a restart in
//! between orphans nothing.

mod added;
mod apply;
mod concerns;
mod differences;
mod digest;
mod entry;
mod inherit;
mod items;
mod ledger;
mod owners;
mod pause;
mod payload;
mod policy;
mod prune;
mod report;
mod skip;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(super) use self::added::has_credential;
pub(super) use self::apply::reconcile;
pub(super) use self::entry::{Entry, listed, notes, reported, waiting_for, with_notes};
pub(super) use self::inherit::hand_on;
pub(super) use self::ledger::{Ledger, has_any, mark};
pub(super) use self::owners::policy;
pub(super) use self::pause::{need_recorded, pause, resume};
pub(super) use self::prune::{has_none, remove, step};
pub(super) use self::report::leaving;
use crate::health::Live;
use crate::model::ObjectId;

/// Copies of the embedded resources of `owner`.
pub(super) fn wanted(owner: Live<'_>) -> Vec<Value> {
    owner.list(&["spec", "resources"]).to_vec()
}

/// The id of an embedded resource, which lives in its owner's namespace whatever it specifies.
pub(super) fn id(owner: Live<'_>, item: &Value) -> ObjectId {
    let item = Live(item);
    ObjectId::new(item.group(), item.kind(), owner.namespace(), item.name())
}
