//! What an entry says of a resource.
//!
//! In: an item, the resource as it is, and what is done about it. Out: an entry. It does not know what is written.

use super::differences;
use super::entry::{Entry, severity};
use super::items::{Fault, Item};
use super::ledger::Ledger;
use crate::api::aso;
use crate::api::conditions::{
    APPLY_FAILED, APPLY_REFUSED, BEING_DELETED, CLUSTER_PROVISIONED, DELETION_FAILED,
    INVALID_RESOURCE, KIND_NOT_SERVED, LAST_NODE_POOL_HELP, NOT_MANAGED, NOT_OWNED, READY,
    WAITING_FOR_ASO, WAITING_TO_BE_CREATED,
};
use crate::api::labels::{ADOPT_EXISTING, RECONCILE_POLICY, SKIP};
use crate::api::suppliers;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId};
use crate::reconcile::world::World;

/// How a resource and its item stand to each other.
pub(super) enum State {
    /// As it is in the list, as far as the cluster knows.
    Applied,
    /// Something is to be sent, or waits to be sent.
    Pending,
    /// It exists in Azure and is not managed.
    Foreign,
    /// It is managed, but for a policy of somebody else, by which ASO skips it.
    Skipped,
    /// Somebody else controls it.
    LeftTo(String),
    /// It is in the cluster and nobody controls it.
    LeftAlone,
}

/// The entry of an item that is wrong.
pub(super) fn faulty(id: ObjectId, version: &str, fault: &Fault) -> Entry {
    let ready = false;
    concern(id, version, ready, fault.reason, fault.message.clone())
}

/// The entry of an item.
pub(super) fn entry(
    ledger: &Ledger<'_>,
    item: Item<'_>,
    live: Option<Live<'_>>,
    state: &State,
) -> Entry {
    let is_ready = live.is_some_and(|live| live.holds(READY) && !live.is_deleting());
    let ready = is_ready && matches!(state, State::Applied | State::Foreign);
    let version = item.value.version();
    let concerned = problem(ledger, &item, live, state);
    let Item { id, fault, .. } = item;
    let note = fault.map(|fault| (fault.reason, fault.message));
    let entry = match concerned {
        Some((reason, message)) => concern(id, version, ready, reason, message),
        None => Entry {
            message: live.map_or_else(|| WAITING_TO_BE_CREATED.to_owned(), message),
            version: version.to_owned(),
            id,
            ready,
            concern: None,
            note: None,
        },
    };
    Entry { note, ..entry }
}

/// The entry of a resource that is not in the list.
pub(super) fn unlisted(id: &ObjectId, live: Live<'_>, why: &str) -> Entry {
    Entry {
        id: id.clone(),
        version: live.version().to_owned(),
        ready: false,
        message: why.to_owned(),
        concern: None,
        note: None,
    }
}

/// The entry of a resource that is being deleted: why that is refused, or what ASO says of it, if it is at it.
pub(in crate::reconcile) fn leaving(world: World<'_>, id: &ObjectId, live: Live<'_>) -> Entry {
    if let Some(refusal) = world.refusal(id).filter(|_| !live.is_deleting()) {
        let version = live.version();
        let said = said(id, refusal);
        return concern(id.clone(), version, false, APPLY_REFUSED, said);
    }
    let said = live
        .condition(READY)
        .filter(|ready| !ready.is_true() && live.is_current(*ready));
    match said.filter(|_| live.is_deleting()) {
        Some(said) if severity(said).is_empty() => unlisted(id, live, &message(live)),
        Some(_) => {
            let message = helped(message(live));
            concern(id.clone(), live.version(), false, DELETION_FAILED, message)
        }
        None => unlisted(id, live, BEING_DELETED),
    }
}

/// A message with what to do, where Azure does not say it.
fn helped(message: String) -> String {
    match message.contains(aso::LAST_NODE_POOL) {
        true => format!("{}: {LAST_NODE_POOL_HELP}", message.trim_end_matches('.')),
        false => message,
    }
}

/// What the cluster says of a refused write, without the names of the resource, which stand before every message about it.
fn said(id: &ObjectId, refusal: &AdapterError) -> String {
    let text = refusal.to_string();
    let text = text.strip_prefix(&format!("{id}: ")).unwrap_or(&text);
    text.replacen(&is_invalid(id), "", 1)
}

/// The reason of a refused write. Only an invalid value is for a person to change: what a schema does not have may come with
/// the next version of its kind, and what a policy denies with the next policy.
fn reason(id: &ObjectId, refusal: &AdapterError) -> &'static str {
    let about_value = format!("the API server refused it: {}", is_invalid(id));
    match refusal.class() {
        ErrorClass::Transient => APPLY_FAILED,
        ErrorClass::Invalid if refusal.to_string().contains(&about_value) => INVALID_RESOURCE,
        _ => APPLY_REFUSED,
    }
}

/// The API server's words before the values that it finds invalid.
fn is_invalid(id: &ObjectId) -> String {
    let ObjectId { group, kind, .. } = id;
    format!("{kind}.{group} \"{}\" is invalid: ", id.name)
}

/// Says why a write to a resource is refused, if it is.
pub(super) fn refused(world: World<'_>, entry: &mut Entry) {
    if let Some(refusal) = world.refusal(&entry.id) {
        entry.message = said(&entry.id, refusal);
        entry.concern = Some(APPLY_REFUSED);
    }
}

fn concern(
    id: ObjectId,
    version: &str,
    ready: bool,
    reason: &'static str,
    message: String,
) -> Entry {
    Entry {
        id,
        version: version.to_owned(),
        ready,
        message,
        concern: Some(reason),
        note: None,
    }
}

/// What somebody should act on: a reason and a message.
fn problem(
    ledger: &Ledger<'_>,
    item: &Item<'_>,
    live: Option<Live<'_>>,
    state: &State,
) -> Option<(&'static str, String)> {
    let ObjectId { group, kind, .. } = &item.id;
    match state {
        State::LeftTo(controller) => {
            let message = format!(
                "{controller} controls the existing {kind}, which is left as it is: rename this resource, or remove it from one of the two"
            );
            Some((NOT_OWNED, message))
        }
        State::LeftAlone => {
            let message = format!(
                "The {kind} exists in the cluster and was not created for this object: rename this resource, or set the annotation {ADOPT_EXISTING}: \"true\" to take it over"
            );
            Some((NOT_OWNED, message))
        }
        State::Foreign => Some((NOT_MANAGED, foreign(item, live?))),
        State::Skipped => {
            let message = format!(
                "Somebody set the annotation {RECONCILE_POLICY}: {SKIP} on the {kind}, so no change to it reaches Azure. Remove the annotation, or set it in the list if that is meant"
            );
            Some((NOT_MANAGED, message))
        }
        State::Applied => None,
        State::Pending if ledger.world.is_unserved(&(&item.id).into()) => {
            let help = suppliers::help(group, kind);
            let message = format!("The cluster does not serve {kind} of {group}: {help}");
            Some((KIND_NOT_SERVED, message))
        }
        State::Pending => {
            let refusal = ledger.world.refusal(&item.id)?;
            Some((reason(&item.id, refusal), said(&item.id, refusal)))
        }
    }
}

/// That a resource in Azure is not the cluster's, and how it differs.
fn foreign(item: &Item<'_>, live: Live<'_>) -> String {
    let differences = differences::describe(item.value, live);
    let compared = match differences.as_str() {
        "" => "it does not differ from the listed one".to_owned(),
        _ => format!("it differs in {differences}"),
    };
    format!(
        "It exists in Azure, does not belong to this cluster and is only read; {compared}. Set the annotation {ADOPT_EXISTING}: \"true\" to manage it"
    )
}

/// What ASO says of a resource.
fn message(live: Live<'_>) -> String {
    let ready = live
        .condition(READY)
        .filter(|ready| live.is_current(*ready));
    let Some(ready) = ready else {
        return WAITING_FOR_ASO.to_owned();
    };
    if ready.is_true() {
        let is_cluster = live.kind() == "HcpOpenShiftCluster";
        let said = ready.message();
        let default = if is_cluster { CLUSTER_PROVISIONED } else { "" };
        return if said.is_empty() { default } else { said }.to_owned();
    }
    let said = match (ready.reason(), ready.message()) {
        (reason, "") => reason.to_owned(),
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    format!("{}{said}", severity(ready))
}
