//! One resource of Azure Service Operator (ASO): kept as it should be, and what is wrong with it.
//!
//! In: a resource as it should be, and as it is. Out: the writes that make it so, and its state. A resource that exists in
//! Azure is only looked at before it is known to be the cluster's, and one of another cluster is left alone. It does not
//! know what the resource is for.

use serde_json::{Map, Value, json};

use super::names::{OWNER, OWNER_TAG};
use crate::api::aso::{self, READY};
use crate::api::labels::{
    CREDENTIAL_FROM, MANAGE, MANAGED_BY, MANAGED_BY_VALUE, RECONCILE_POLICY, SKIP,
};
use crate::api::suppliers;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::outcome::{self, Outcome, Write, covers, patch_of};
use crate::reconcile::world::{GroupKind, Lookup, World};

/// ASO looks at Azure, and deletes nothing there.
pub(super) const DETACH: &str = "detach-on-delete";

/// A resource as it should be.
pub(super) struct Wanted<'a> {
    /// The object.
    pub(super) id: ObjectId,
    /// The version at which it is written, without the group.
    pub(super) version: &'a str,
    /// The hosted cluster that it belongs to, `NAMESPACE/NAME`, or that clusters of its namespace share it.
    pub(super) owner: &'a str,
    /// The spec.
    pub(super) spec: Value,
    /// Annotations besides those that every resource has.
    pub(super) annotations: Value,
    /// The Secret with the credential; empty for the one that ASO has of its own.
    pub(super) credential: &'a str,
    /// ASO's policy once the resource is the cluster's.
    pub(super) policy: &'static str,
    /// How it is known whose the resource in Azure is.
    pub(super) proof: Proof<'a>,
}

/// How it is known that a resource that exists in Azure is the cluster's.
#[derive(Clone, Copy)]
pub(super) enum Proof<'a> {
    /// By its name, or since nothing else makes such a resource.
    Name,
    /// By the value of the tag that all resources of Capstan have here, or because it is the one that the status of the
    /// connection names.
    Tag(&'a str, &'a str),
}

/// How far a resource is.
pub(super) enum State<'a> {
    /// It is as it should be.
    Ready(Live<'a>),
    /// It is not, for this reason: a condition without its own reason.
    Not(Fault),
}

/// Why a resource is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The message for people.
    pub(super) message: String,
    /// Whether nothing is wrong, and it only takes time.
    pub(super) is_waiting: bool,
}

impl Fault {
    fn wrong(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_waiting: false,
        }
    }

    fn waiting(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            is_waiting: true,
        }
    }

    /// A condition that is false: with one reason while it takes time, and with another if something is wrong.
    pub(super) fn condition(&self, waiting: &str, wrong: &str) -> NewCondition {
        let reason = if self.is_waiting { waiting } else { wrong };
        NewCondition::no(reason, self.message.as_str())
    }
}

/// Makes the resource as it should be, and says how far it is.
pub(super) fn keep<'a>(world: World<'a>, wanted: &Wanted<'_>, outcome: &mut Outcome) -> State<'a> {
    let id = &wanted.id;
    outcome.need(id.clone());
    let live = match world.get(id) {
        Lookup::NotSynced => {
            return State::Not(unknown(world, id));
        }
        Lookup::Absent => None,
        Lookup::Present(live) => Some(live),
    };
    if world.is_unserved(&GroupKind::from(id)) {
        let help = suppliers::help(&id.group, &id.kind);
        let message = format!(
            "the cluster does not serve {} of {}: {help}",
            id.kind, id.group
        );
        return State::Not(Fault::wrong(message));
    }
    if let Some(fault) = live.and_then(|live| left_alone(live, wanted)) {
        return State::Not(fault);
    }
    let policy = policy(live, wanted);
    let patch = patch(live, wanted, policy);
    let is_held = live.is_some_and(|live| covers(live.0, &patch));
    if !is_held {
        outcome.write(Write::Apply(patch));
    } else if let Some(live) = live.filter(|live| has_other_credential(*live, wanted)) {
        let mut patch = patch_of(live);
        patch["metadata"]["annotations"] = json!({CREDENTIAL_FROM: null});
        outcome.write(Write::Merge(patch));
    }
    if let Some(refusal) = world.refusal(id) {
        return State::Not(Fault::wrong(refusal.to_string()));
    }
    match live {
        None => State::Not(Fault::waiting(format!("{} is being created", name(id)))),
        Some(live) => reported(live, is_held, policy),
    }
}

/// Whether the resource names a Secret although ASO is to use its own credential.
fn has_other_credential(live: Live<'_>, wanted: &Wanted<'_>) -> bool {
    wanted.credential.is_empty() && !live.annotation(CREDENTIAL_FROM).is_empty()
}

/// That it is not known whether an object exists.
fn unknown(world: World<'_>, id: &ObjectId) -> Fault {
    if world.is_outside(id) {
        return Fault::wrong(format!(
            "{} is in a namespace that these controllers do not watch: add --watch-namespace {}",
            name(id),
            id.namespace
        ));
    }
    Fault::waiting(format!("{} is not known yet", name(id)))
}

/// Why an object that is needed is not there.
pub(super) fn unseen(world: World<'_>, id: &ObjectId) -> String {
    if world.get(id).is_absent() {
        format!("{id} does not exist")
    } else {
        unknown(world, id).message
    }
}

/// Why the object is left as it is.
fn left_alone(live: Live<'_>, wanted: &Wanted<'_>) -> Option<Fault> {
    let owner = live.annotation(OWNER);
    if !is_of(live, wanted.owner) {
        let whose = if owner.is_empty() {
            "was not made for it"
        } else {
            "is another cluster's"
        };
        return Some(Fault::wrong(format!(
            "{} exists and {whose} ({OWNER}: '{owner}'); it is left alone",
            name(&wanted.id)
        )));
    }
    live.is_deleting().then(|| {
        Fault::waiting(format!(
            "{} is being deleted, and is made again after that",
            name(&wanted.id)
        ))
    })
}

/// The policy for ASO: only to look, as long as it is not known whose the resource in Azure is.
fn policy(live: Option<Live<'_>>, wanted: &Wanted<'_>) -> &'static str {
    let Proof::Tag(value, recorded) = wanted.proof else {
        return wanted.policy;
    };
    let Some(live) = live else { return SKIP };
    if live.annotation(RECONCILE_POLICY) != SKIP {
        return wanted.policy;
    }
    let ready = live
        .condition(READY)
        .filter(|ready| live.is_current(*ready));
    let is_absent = ready.is_some_and(|ready| ready.reason() == aso::AZURE_RESOURCE_NOT_FOUND);
    let exists = ready.is_some_and(|ready| ready.is_true());
    if is_absent || exists && is_ours(live, value, recorded) {
        wanted.policy
    } else {
        SKIP
    }
}

/// Has ASO manage what it only looked at, if that turned out to be the cluster's: else it stays in Azure. Returns true
/// once nothing is in the way of the deletion.
fn settle_looked_at(
    world: World<'_>,
    (id, recorded): (&ObjectId, &str),
    owner: &str,
    outcome: &mut Outcome,
) -> bool {
    let looked_at = world.get(id).present().filter(|live| {
        !live.is_deleting()
            && live.annotation(OWNER) == owner
            && live.annotation(RECONCILE_POLICY) == SKIP
    });
    let Some(live) = looked_at else { return true };
    let ready = live.condition(READY);
    if ready.is_none_or(|ready| !live.is_current(ready)) {
        outcome.need(id.clone());
        return false;
    }
    settle(world, (id, recorded), owner, (MANAGE, None), outcome)
}

/// Whether the resource in Azure has our tag, or is the one that the status of the connection names.
fn is_ours(live: Live<'_>, value: &str, recorded: &str) -> bool {
    let is_recorded =
        !recorded.is_empty() && live.text(&["status", "id"]).eq_ignore_ascii_case(recorded);
    live.text(&["status", "tags", OWNER_TAG]) == value || is_recorded
}

/// What is applied.
fn patch(live: Option<Live<'_>>, wanted: &Wanted<'_>, policy: &str) -> Value {
    let ObjectId {
        group,
        kind,
        namespace,
        name,
    } = &wanted.id;
    let mut annotations = wanted.annotations.clone();
    if !annotations.is_object() {
        annotations = json!({});
    }
    annotations[RECONCILE_POLICY] = json!(policy);
    annotations[OWNER] = json!(wanted.owner);
    if !wanted.credential.is_empty() {
        annotations[CREDENTIAL_FROM] = json!(wanted.credential);
    }
    let mut patch = json!({
        "apiVersion": format!("{group}/{}", wanted.version),
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {MANAGED_BY: MANAGED_BY_VALUE},
            "annotations": annotations,
        },
        "spec": wanted.spec,
    });
    if let Some(live) = live {
        patch["metadata"]["uid"] = json!(live.uid());
        // Its name in Azure cannot change.
        if let Some(held) = live.at(&["spec", "azureName"]) {
            patch["spec"]["azureName"] = held.clone();
        }
    }
    let mut held = live.map_or(Value::Null, |live| live.0["spec"].clone());
    keep_case(&mut patch["spec"], &mut held);
    patch
}

/// Leaves IDs of Azure as they are if they differ only in their case, which means nothing: two clusters that share a resource
/// may write them in two ways.
fn keep_case(wanted: &mut Value, held: &mut Value) {
    match (wanted, held) {
        (Value::Object(wanted), Value::Object(held)) => {
            for (key, wanted) in wanted {
                let Some(held) = held.get_mut(key) else {
                    continue;
                };
                let same = |text: &str| {
                    held.as_str()
                        .is_some_and(|held| held.eq_ignore_ascii_case(text))
                };
                if key == "armId" && wanted.as_str().is_some_and(same) {
                    *wanted = held.take();
                } else {
                    keep_case(wanted, held);
                }
            }
        }
        (Value::Array(wanted), Value::Array(held)) => {
            let pairs = wanted.iter_mut().zip(held);
            pairs.for_each(|(wanted, held)| keep_case(wanted, held));
        }
        _ => {}
    }
}

/// How far ASO is with a resource that should have this policy.
fn reported<'a>(live: Live<'a>, is_held: bool, policy: &str) -> State<'a> {
    let id = live.id();
    let ready = live
        .condition(READY)
        .filter(|ready| live.is_current(*ready));
    match ready {
        Some(ready) if ready.is_true() && is_held && policy != SKIP => State::Ready(live),
        Some(ready) if ready.is_true() && policy == SKIP => State::Not(Fault::wrong(format!(
            "{} exists in Azure and does not belong to this cluster; it is left alone: delete it, or give it another name",
            name(&id)
        ))),
        Some(ready) if ready.is_true() => {
            State::Not(Fault::waiting(format!("{} is being updated", name(&id))))
        }
        Some(ready) if is_progress(ready.reason(), ready.severity()) => State::Not(Fault::waiting(
            format!("{}: {}", name(&id), ready.message()),
        )),
        Some(ready) => {
            let said = classified(ready.reason(), ready.message());
            State::Not(Fault::wrong(format!("{}: {said}", name(&id))))
        }
        None => State::Not(Fault::waiting(format!(
            "{} waits for Azure Service Operator",
            name(&id)
        ))),
    }
}

/// Whether ASO works, or waits for something else of ours.
fn is_progress(reason: &str, severity: &str) -> bool {
    severity == aso::INFO
        || [aso::WAITING_FOR_OWNER, aso::AZURE_RESOURCE_NOT_FOUND].contains(&reason)
}

/// The codes by which Azure says that a permission is missing.
const DENIED: [&str; 4] = [
    "AuthorizationFailed",
    "LinkedAuthorizationFailed",
    "AuthorizationPermissionMismatch",
    "Forbidden",
];
/// The codes by which Azure says that there were too many requests.
const THROTTLED: [&str; 3] = [
    "TooManyRequests",
    "SubscriptionRequestsThrottled",
    "OperationNotAllowedThrottled",
];
/// The codes by which Azure says that something else works on the resource.
const CONFLICT: [&str; 4] = [
    "Conflict",
    "AnotherOperationInProgress",
    "RetryableError",
    "CanceledAndSupersededDueToAnotherOperation",
];

/// The class of one of Azure's errors, as ASO reports it, and its text.
pub(super) fn classified(reason: &str, message: &str) -> String {
    let class = if DENIED.contains(&reason) {
        "Azure API permission denied, check service principal permissions".to_owned()
    } else if THROTTLED.contains(&reason) {
        "Azure API rate limit exceeded, retrying".to_owned()
    } else if CONFLICT.contains(&reason) {
        "Azure resource conflict, retrying".to_owned()
    } else {
        format!("Azure API error: {reason}")
    };
    if message.is_empty() {
        class
    } else {
        format!("{class}: {message}")
    }
}

/// `Kind NAMESPACE/NAME`.
pub(super) fn name(id: &ObjectId) -> String {
    format!("{} {}/{}", id.kind, id.namespace, id.name)
}

/// Whether the object was made for this owner.
pub(super) fn is_of(live: Live<'_>, owner: &str) -> bool {
    live.annotation(OWNER) == owner && live.label(MANAGED_BY) == MANAGED_BY_VALUE
}

/// Whether ASO only looks at what Azure has, since it is not known to be the cluster's.
pub(super) fn is_foreign(live: Live<'_>) -> bool {
    live.annotation(RECONCILE_POLICY) == SKIP
}

/// Gives a resource of this owner, which is to be deleted, another policy and the credential to delete it with, if that is
/// known. Returns true once it has both, or must not have them: what exists in Azure and is not known to be the cluster's
/// stays.
pub(super) fn settle(
    world: World<'_>,
    (id, recorded): (&ObjectId, &str),
    owner: &str,
    (policy, credential): (&str, Option<&str>),
    outcome: &mut Outcome,
) -> bool {
    outcome.need(id.clone());
    let ours = |live: &Live<'_>| {
        live.annotation(OWNER) == owner && (!is_foreign(*live) || is_proven(*live, recorded))
    };
    let Some(live) = world.get(id).present().filter(ours) else {
        return true;
    };
    let mut annotations = json!({});
    if !live.is_deleting() && live.annotation(RECONCILE_POLICY) != policy {
        annotations[RECONCILE_POLICY] = json!(policy);
    }
    if let Some(name) = credential.filter(|name| live.annotation(CREDENTIAL_FROM) != *name) {
        annotations[CREDENTIAL_FROM] = Some(name).filter(|name| !name.is_empty()).into();
    }
    if annotations.as_object().is_none_or(Map::is_empty) {
        return true;
    }
    let mut patch = patch_of(live);
    patch["metadata"]["annotations"] = annotations;
    outcome.write(Write::Merge(patch));
    false
}

/// Returns true if a resource that ASO only looks at is known to be the cluster's in Azure.
fn is_proven(live: Live<'_>, recorded: &str) -> bool {
    let ready = live
        .condition(READY)
        .filter(|ready| live.is_current(*ready));
    let tag = live.text(&["spec", "tags", OWNER_TAG]);
    ready.is_some_and(|ready| ready.is_true()) && !tag.is_empty() && is_ours(live, tag, recorded)
}

/// Deletes a resource of this cluster, which is known by the ID in the status if that has one. Returns what is still there
/// of it, for people.
pub(super) fn remove(
    world: World<'_>,
    (id, recorded): (&ObjectId, &str),
    owner: &str,
    outcome: &mut Outcome,
) -> Option<String> {
    if !settle_looked_at(world, (id, recorded), owner, outcome) {
        return Some(format!("{} is being prepared for its deletion", name(id)));
    }
    outcome.need(id.clone());
    match world.get(id) {
        Lookup::Absent => None,
        Lookup::NotSynced => Some(unknown(world, id).message),
        Lookup::Present(live) if live.annotation(OWNER) != owner => None,
        Lookup::Present(live) => {
            outcome.maybe(outcome::delete(live));
            let refused = world.refusal(id).map(ToString::to_string);
            let why = refused.or_else(|| undeletable(live));
            Some(match why {
                Some(why) => format!("{}: {why}", name(id)),
                None => format!("{} is being deleted", name(id)),
            })
        }
    }
}

/// Why Azure does not delete a resource, if it says so.
pub(super) fn undeletable(live: Live<'_>) -> Option<String> {
    let ready = live.condition(READY).filter(|_| live.is_deleting())?;
    let has_failed = ready.is_false() && ready.severity() != aso::INFO;
    has_failed.then(|| classified(ready.reason(), ready.message()))
}
