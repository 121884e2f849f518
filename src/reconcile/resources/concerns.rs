//! Events about embedded resources.
//!
//! In: an owner as it is, and entries. Out: events. It does not know what is written to the status, only what it says so
//! far.

use super::entry::Entry;
use crate::health::Live;
use crate::reconcile::outcome::Outcome;

/// An event on the owner for each concern and each note that its status does not have yet: a warning for what somebody
/// should act on.
pub(super) fn report(owner: Live<'_>, entries: &[Entry], outcome: &mut Outcome) {
    let known = owner.list(&["status", "resources"]);
    for entry in entries {
        let Entry { id, message, .. } = entry;
        let is_known = |message: &str| {
            known.iter().map(Live).any(|held| {
                held.text(&["message"]).contains(message)
                    && held.text(&["resource", "name"]) == id.name
                    && held.text(&["resource", "kind"]) == id.kind
            })
        };
        let concern = entry.concern.map(|reason| (true, reason, message));
        let note = entry.note.as_ref();
        let note = note.map(|(reason, message)| (false, *reason, message));
        for (is_warning, reason, message) in concern.into_iter().chain(note) {
            if !is_known(message) {
                let message = format!("{}/{}: {message}", id.kind, id.name);
                outcome.event(owner, is_warning, reason, message);
            }
        }
    }
}
