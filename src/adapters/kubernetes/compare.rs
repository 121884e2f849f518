//! What a plan would change in a cluster, without changing it.
//!
//! In: a plan, and what may be removed. Out: the same plan with each step's change, the fields that
//! would change, what would be refused, and what happens to members that the plan lacks. It asks the
//! API server itself (a dry run), so that defaults and webhooks have their say. It does not know: who
//! asks, and whether it will be done.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use serde_json::Value as Json;

use super::discovery::{Discovery, Served};
use super::members::{Owners, Unseen};
use super::request::{ObjectClient, answers, with_timeout};
use super::{Error, identity, members, namespaces, parent};
use crate::api::labels;
use crate::apply::{self, Claim, DeletionGuard, DriftState, Member, PruneDecision};
use crate::health::Live;
use crate::model::{Action, Change, Object, ObjectId, Step};
use crate::plan::{self, ApplySet, Changes, Consequence, IdentityUse, Plan, Rolled};

/// How many requests are under way at once.
const WIDTH: usize = 32;

/// How often an object is read at most when others write to it between our read and the dry run.
const LOOKS: usize = 5;

/// A plan beside a cluster.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// The plan, its steps with what they change.
    pub plan: Plan,
    /// Per object that is there and changes: the fields, as JSON pointers.
    pub fields: BTreeMap<ObjectId, Vec<String>>,
    /// The same objects, before and after. They may hold secrets: what is printed is [`Self::changes`].
    states: BTreeMap<ObjectId, (Json, Json)>,
    /// Per object: the fields that roll nodes or cannot be changed.
    pub consequences: BTreeMap<ObjectId, Vec<Consequence>>,
    /// What the cluster refuses, or what belongs to another owner. What cannot be changed is in
    /// `consequences`.
    pub refused: Vec<(ObjectId, String)>,
    /// What waits for something that neither the cluster nor the fleet has, or for its own deletion.
    pub blocked: Vec<(ObjectId, String)>,
    /// The kinds of which nothing can be seen now. What of them is in the cluster is not known.
    pub unseen: Unseen,
    /// Members that the plan lacks, and what happens to them.
    pub leaving: BTreeMap<ObjectId, PruneDecision>,
    owners: Owners,
}

/// A plan beside an empty cluster.
impl From<Plan> for Compared {
    fn from(plan: Plan) -> Self {
        Self {
            plan,
            ..Self::default()
        }
    }
}

impl Compared {
    /// The changes of the fields, by the lines of `objects`, which the plan is of.
    #[must_use]
    pub fn changes(&self, objects: &[Object]) -> Changes {
        let mut changes = Changes::default();
        for object in objects {
            if let Some((before, after)) = self.states.get(&object.id) {
                changes.add(object, before, after);
            }
        }
        self.owners.leave(&mut changes, objects, &self.leaving);
        changes
    }

    /// Whether anything of the plan will not be done, or is not known.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let mut consequences = self.consequences.values().flatten();
        let mut leaving = self.leaving.values();
        !self.refused.is_empty()
            || !self.unseen.is_empty()
            || leaving.any(|decision| matches!(decision, PruneDecision::Unapproved(_)))
            || consequences.any(Consequence::is_error)
    }

    /// Takes in what was found of a step. An error that is about more than its object comes back.
    fn take_in(&mut self, at: usize, found: Result<Found, Error>) -> Option<Error> {
        let id = ObjectId::clone(&self.plan.steps[at].object);
        let change = match found {
            Ok(found) => {
                let refused = found.refused.into_iter();
                self.refused.extend(refused.map(|why| (id.clone(), why)));
                let blocked = found.blocked.into_iter();
                self.blocked.extend(blocked.map(|why| (id.clone(), why)));
                if let Some((before, after)) = found.states {
                    let fields = plan::differences(&before, &after);
                    self.fields.insert(id.clone(), fields);
                    self.states.insert(id.clone(), (before, after));
                }
                if !found.consequences.is_empty() {
                    self.consequences.insert(id, found.consequences);
                }
                found.change
            }
            Err(Error::NotServed { .. }) if self.defines(at) => Change::Create,
            Err(error @ Error::NotServed { .. }) => {
                self.blocked.push((id, error.to_string()));
                Change::Blocked
            }
            Err(error) if error.is_about_kind() => {
                let message = error.failure().message;
                self.unseen.entry((id.group, id.kind)).or_insert(message);
                Change::Blocked
            }
            Err(
                error @ (Error::Refused { .. } | Error::Foreign { .. } | Error::Withheld { .. }),
            ) => {
                self.refused.push((id, error.to_string()));
                Change::Refused
            }
            Err(error) => return Some(error),
        };
        self.plan.steps[at].change = change;
        None
    }

    /// Whether the fleet has the definition of the kind of a step.
    fn defines(&self, at: usize) -> bool {
        let steps = &self.plan.steps;
        let mut before = steps[at].after.iter().map(|before| &steps[before.step]);
        let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
        before.any(|step| step.object.is(group, kind))
    }
}

/// Compares `plan` with the cluster. `guard` limits what may be removed; `elsewhere` has the namespaces that
/// the fleet makes outside the plan.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn compare(
    client: &Client,
    set: &ApplySet,
    plan: Plan,
    guard: DeletionGuard,
    elsewhere: &BTreeSet<String>,
) -> Result<Compared, Error> {
    let discovery = Discovery::new(client.clone());
    let found = stream::iter(&plan.steps).map(|step| async {
        let change = async {
            // One of the fleet is made or changed before, and was judged as the fleet has it.
            if uses_outside(&plan, step) {
                identity::check(client, &discovery, step, &plan.steps).await?;
            }
            change(client, &discovery, set, step).await
        };
        match with_timeout(&step.object, change).await {
            // It would say nothing of the next steps, either.
            Err(error) if error.is_silence() && !answers(client).await => Err(error),
            found => Ok(found),
        }
    });
    let mut found: Vec<Result<Found, Error>> = found.buffered(WIDTH).try_collect().await?;
    wait_for_namespaces(client, set, &plan, elsewhere, &mut found).await?;
    let known = parent::read(client, set).await?;
    let known = known.map(|(parent, _)| parent).unwrap_or_default();
    let (members, unseen) = members::read(client, &discovery, set, &known.kinds).await?;
    let mut compared = Compared {
        unseen,
        leaving: members::leaving(&members, &plan, &guard),
        owners: Owners::of(
            members,
            plan.steps.iter().map(|step| &*step.object),
            guard.prune,
        ),
        ..Compared::from(plan)
    };
    for (at, found) in found.into_iter().enumerate() {
        if let Some(error) = compared.take_in(at, found) {
            return Err(error);
        }
    }
    let payloads = compared.plan.steps.iter().map(|step| {
        let payload = &step.action.payload;
        payload.json()
    });
    let payloads: Vec<Json> = payloads.collect();
    let consequences = compared.consequences.values().flatten();
    compared.plan.impact.rolled = Rolled::count(payloads.iter(), consequences);
    let mut changes = BTreeMap::new();
    for step in &compared.plan.steps {
        *changes.entry(step.change).or_insert(0) += 1;
    }
    for decision in compared.leaving.values() {
        let change = match decision {
            decision if decision.is_release() => Change::Orphan,
            PruneDecision::Held(_) | PruneDecision::Unapproved(_) => continue,
            _ => Change::Delete,
        };
        *changes.entry(change).or_insert(0) += 1;
    }
    compared.plan.impact.changes = changes;
    Ok(compared)
}

/// Whether `step` uses an identity that `plan` does not have.
fn uses_outside(plan: &Plan, step: &Step) -> bool {
    IdentityUse::of(step).is_some_and(|uses| plan.outside.contains(&uses.identity))
}

/// What a step changes.
struct Found {
    change: Change,
    /// An object that is there and changes, before and after.
    states: Option<(Json, Json)>,
    consequences: Vec<Consequence>,
    /// Why the cluster will not do it.
    refused: Option<String>,
    /// What it waits for.
    blocked: Option<String>,
    /// The namespace of an object that does not exist; empty for one that has none.
    namespace: String,
    /// Of which version of the object all this is true; empty when it is not there.
    version: String,
}

impl Found {
    /// All of an object is made, or nothing of it changes.
    const fn plainly(change: Change, version: String) -> Self {
        Self {
            change,
            states: None,
            consequences: Vec::new(),
            refused: None,
            blocked: None,
            namespace: String::new(),
            version,
        }
    }

    /// Nothing is done until something else has happened.
    fn wait(&mut self, object: &ObjectId, why: &str) {
        self.change = Change::Blocked;
        self.blocked = Some(format!("{object}: {why}"));
    }

    /// `before` is changed into `after`.
    fn between(before: &Json, after: Json) -> Self {
        let version = version(&after);
        if plan::is_same(before, &after) {
            return Self::plainly(Change::NoOp, version);
        }
        let consequences = plan::consequences(before, &after);
        let change = plan::heaviest(&consequences);
        Self {
            states: Some((before.clone(), after)),
            consequences,
            ..Self::plainly(change, version)
        }
    }
}

async fn change(
    client: &Client,
    discovery: &Discovery,
    set: &ApplySet,
    step: &Step,
) -> Result<Found, Error> {
    let payload = &step.action.payload;
    let served = discovery.resolve(&step.object, payload.version()).await?;
    let object_client = object_client(client, &served, &step.object);
    let mut looks = 0;
    loop {
        let Some(live) = object_client.read().await? else {
            return Ok(Found {
                namespace: object_client.id.namespace,
                ..Found::plainly(Change::Create, String::new())
            });
        };
        looks += 1;
        let found = beside(&object_client, set, step, &live).await?;
        if found.version == version(&live) || looks == LOOKS {
            return Ok(found);
        }
    }
}

/// What a step changes of `live`.
async fn beside(
    object_client: &ObjectClient,
    set: &ApplySet,
    step: &Step,
    live: &Json,
) -> Result<Found, Error> {
    let Action {
        payload, manager, ..
    } = &*step.action;
    let payload = payload.json();
    let claim = object_client.claim(live, &payload, &set.id()).await?;
    let member = Member::read(live, Some(&step.action), None);
    if member.deleting {
        let mut found = Found::plainly(Change::Blocked, version(live));
        found.wait(
            &step.object,
            "it is being deleted, and is applied again once it is gone",
        );
        return Ok(found);
    }
    if member.drift == DriftState::InSync && claim == Claim::Own {
        return Ok(Found::plainly(Change::NoOp, version(live)));
    }
    let lacks_label = Live(live).label(labels::PART_OF).is_empty();
    let takes_back = member.drift.takes_back(lacks_label) || !member.applied_by_us;
    match object_client.try_apply(step, takes_back).await {
        Ok(mut would_be) => {
            if claim == Claim::TakeOver {
                let api_version = &object_client.served.resource.api_version;
                apply::hand_over(live, api_version, &mut would_be);
            }
            Ok(Found::between(live, would_be))
        }
        Err(error @ Error::Refused { .. }) => {
            let would_be = plan::would_be(live, &payload, manager);
            let found = Found::between(live, would_be);
            if !found.consequences.iter().any(Consequence::is_error) {
                return Err(error);
            }
            Ok(Found {
                refused: Some(error.to_string()),
                ..found
            })
        }
        Err(error) => Err(error),
    }
}

/// What is to be created in a namespace that does not exist, and that nobody makes, waits for it.
async fn wait_for_namespaces(
    client: &Client,
    set: &ApplySet,
    plan: &Plan,
    elsewhere: &BTreeSet<String>,
    found: &mut [Result<Found, Error>],
) -> Result<(), Error> {
    let steps = || plan.steps.iter();
    let made = steps().zip(found.iter()).filter(|(step, found)| {
        let is_new = matches!(found, Ok(found) if found.change == Change::Create);
        is_new && step.object.is("", "Namespace")
    });
    let mut made: BTreeSet<&str> = made.map(|(step, _)| &*step.object.name).collect();
    // An apply creates the one of the parent.
    made.insert(set.namespace());
    made.extend(elsewhere.iter().map(String::as_str));
    let mut faults: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (step, found) in steps().zip(found) {
        let Ok(found) = found else { continue };
        let name = found.namespace.as_str();
        if found.change != Change::Create || name.is_empty() || made.contains(name) {
            continue;
        }
        if !faults.contains_key(name) {
            let fault = namespaces::fault(client, name).await?;
            faults.insert(name.to_owned(), fault);
        }
        if let Some(Some(why)) = faults.get(name) {
            found.wait(&step.object, why);
        }
    }
    Ok(())
}

fn version(object: &Json) -> String {
    Live(object)
        .text(&["metadata", "resourceVersion"])
        .to_owned()
}

fn object_client(client: &Client, served: &Served, id: &ObjectId) -> ObjectClient {
    let namespace = match (served.namespaced, id.namespace.as_str()) {
        (false, _) => "",
        (true, "") => "default",
        (true, namespace) => namespace,
    };
    ObjectClient {
        client: client.clone(),
        served: served.clone(),
        id: ObjectId::new(&*id.group, &*id.kind, namespace, &*id.name),
    }
}
