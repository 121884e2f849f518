//! What a plan would change in a cluster, without changing it.
//!
//! In: a plan, and what may be removed. Out: the same plan with each step's change, the fields that
//! would change, what would be refused, and what happens to members that the plan lacks. It asks the
//! API server itself (a dry run), so that defaults and webhooks have their say. It does not know: who
//! asks, and whether it will be done.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures::StreamExt as _;
use futures::stream;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::Value as Json;

use super::discovery::{Discovery, Served};
use super::request::{ObjectClient, with_timeout};
use super::{Error, identity, parent};
use crate::api::labels;
use crate::apply::{self, DeletionGuard, DriftState, Member, Parent, PruneDecision, PruneInput};
use crate::health::Live;
use crate::model::{Action, Change, ObjectId, Step};
use crate::plan::{self, ApplySet, Consequence, IdentityUse, Plan, Rolled};

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
    /// Per object: the fields that roll nodes or cannot be changed.
    pub consequences: BTreeMap<ObjectId, Vec<Consequence>>,
    /// What the cluster refuses, or what belongs to another owner.
    pub refused: Vec<(ObjectId, String)>,
    /// What waits for something that neither the cluster nor the fleet has.
    pub blocked: Vec<(ObjectId, String)>,
    /// Members that the plan lacks, and what happens to them.
    pub leaving: BTreeMap<ObjectId, PruneDecision>,
}

impl Compared {
    /// Takes in what was found of a step. An error that is about more than its object comes back.
    fn take_in(&mut self, at: usize, found: Result<Found, Error>) -> Option<Error> {
        let id = self.plan.steps[at].object.clone();
        let change = match found {
            Ok(found) => {
                let refused = found.refused.into_iter();
                self.refused.extend(refused.map(|why| (id.clone(), why)));
                if !found.fields.is_empty() {
                    self.fields.insert(id.clone(), found.fields);
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

/// Compares `plan` with the cluster. `guard` limits what may be removed.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn compare(
    client: &Client,
    set: &ApplySet,
    plan: Plan,
    guard: DeletionGuard,
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
        with_timeout(&step.object, change).await
    });
    let found: Vec<Result<Found, Error>> = found.buffered(WIDTH).collect().await;
    let known = parent::read(client, set).await?;
    let known = known.map(|(parent, _)| parent).unwrap_or_default();
    let mut compared = Compared {
        leaving: leaving(client, &discovery, set, &known, &plan, guard).await?,
        plan,
        ..Compared::default()
    };
    for (at, found) in found.into_iter().enumerate() {
        if let Some(error) = compared.take_in(at, found) {
            return Err(error);
        }
    }
    let payloads = compared.plan.steps.iter().map(|step| {
        let Action::Apply { payload, .. } = &step.action;
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
            PruneDecision::Orphan => Change::Orphan,
            PruneDecision::Held(_) => continue,
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
    /// The fields of an object that is there.
    fields: Vec<String>,
    consequences: Vec<Consequence>,
    /// Why it will not be done.
    refused: Vec<String>,
    /// Of which version of the object all this is true; empty when it is not there.
    version: String,
}

impl Found {
    /// All of an object is made, or nothing of it changes.
    const fn plainly(change: Change, version: String) -> Self {
        Self {
            change,
            fields: Vec::new(),
            consequences: Vec::new(),
            refused: Vec::new(),
            version,
        }
    }

    /// `before` is changed into `after`.
    fn between(before: &Json, after: &Json) -> Self {
        let consequences = plan::consequences(before, after);
        let replaced = |one: &&Consequence| one.change == Change::Replace;
        let refused = consequences.iter().filter(replaced);
        let fields = differences(before, after);
        Self {
            change: match fields.is_empty() {
                true => Change::NoOp,
                false => plan::heaviest(&consequences),
            },
            fields,
            version: version(after),
            refused: refused
                .map(|one| format!("{}; {}", one.message(), one.help()))
                .collect(),
            consequences,
        }
    }
}

async fn change(
    client: &Client,
    discovery: &Discovery,
    set: &ApplySet,
    step: &Step,
) -> Result<Found, Error> {
    let Action::Apply { payload, .. } = &step.action;
    let served = discovery.resolve(&step.object, payload.version()).await?;
    let object_client = object_client(client, &served, &step.object);
    let mut looks = 0;
    loop {
        let Some(live) = object_client.read().await? else {
            return Ok(Found::plainly(Change::Create, String::new()));
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
    let Action::Apply {
        payload, manager, ..
    } = &step.action;
    let payload = payload.json();
    apply::claim(live, &payload, &set.id()).map_err(|foreign| Error::Foreign {
        object: step.object.clone(),
        foreign,
    })?;
    let member = Member::read(live, Some(&step.action), None);
    if member.drift == DriftState::InSync {
        return Ok(Found::plainly(Change::NoOp, version(live)));
    }
    let lacks_label = Live(live).label(labels::PART_OF).is_empty();
    let takes_back = member.drift.takes_back(lacks_label);
    match object_client.try_apply(step, takes_back).await {
        Ok(would_be) => Ok(Found::between(live, &would_be)),
        Err(error @ Error::Refused { .. }) => {
            let would_be = plan::would_be(live, &payload, manager);
            let mut found = Found::between(live, &would_be);
            if found.change != Change::Replace {
                return Err(error);
            }
            found.refused.insert(0, error.to_string());
            Ok(found)
        }
        Err(error) => Err(error),
    }
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

/// Members that the plan lacks.
async fn leaving(
    client: &Client,
    discovery: &Discovery,
    set: &ApplySet,
    known: &Parent,
    plan: &Plan,
    guard: DeletionGuard,
) -> Result<BTreeMap<ObjectId, PruneDecision>, Error> {
    let (mut members, mut refers) = (BTreeMap::new(), BTreeMap::new());
    let steps: HashMap<ObjectId, usize> = plan
        .steps
        .iter()
        .map(|step| step.object.clone())
        .zip(0..)
        .collect();
    for (group, kind) in &known.kinds {
        let example = ObjectId::new(&**group, &**kind, "", "");
        let Some(version) = discovery.preferred(&example).await? else {
            continue;
        };
        let served = discovery.resolve(&example, &version).await?;
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &served.resource);
        let labelled = ListParams::default().labels(&format!("{}={}", labels::PART_OF, set.id()));
        let listed = api
            .list(&labelled)
            .await
            .map_err(|error| Error::new(&example, error))?;
        for object in listed {
            let mut live = serde_json::to_value(object).unwrap_or_default();
            live["apiVersion"] = Json::from(&*served.resource.api_version);
            live["kind"] = Json::from(kind.as_str());
            let id = Live(&live).id();
            if !steps.contains_key(&id) {
                refers.insert(
                    id.clone(),
                    apply::references(std::slice::from_ref(&live))
                        .remove(&id)
                        .unwrap_or_default(),
                );
            }
            members.insert(id, Member::read(&live, None, None));
        }
    }
    Ok(apply::prune(&PruneInput {
        members: &members,
        leaving: &refers,
        steps: &steps,
        unapplied: &BTreeMap::new(),
        needed: &plan.outside,
        guard: &guard,
    }))
}

/// The fields in which two states of an object differ, as JSON pointers; not those that every write
/// changes, or that are not ours to write.
fn differences(before: &Json, after: &Json) -> Vec<String> {
    let mut found = Vec::new();
    differ(
        &tidied(before),
        &tidied(after),
        &mut String::new(),
        &mut found,
    );
    found
}

fn tidied(object: &Json) -> Json {
    let mut object = object.clone();
    // What controllers write meanwhile.
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for key in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(key);
        }
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(labels::APPLIED);
    }
    object
}

fn differ(before: &Json, after: &Json, at: &mut String, found: &mut Vec<String>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Json::Object(old), Json::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let length = at.len();
                at.push('/');
                at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                let (old, new) = (old.get(name), new.get(name));
                differ(
                    old.unwrap_or(&Json::Null),
                    new.unwrap_or(&Json::Null),
                    at,
                    found,
                );
                at.truncate(length);
            }
        }
        (Json::Array(old), Json::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                let length = at.len();
                at.push_str(&format!("/{index}"));
                differ(old, new, at, found);
                at.truncate(length);
            }
        }
        _ => found.push(at.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_pointers_to_what_changes() {
        let before = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "spec": {"ports": [{"port": 1}], "list": [1]}, "status": {"a": 1}});
        let after = json!({"metadata": {"resourceVersion": "2", "labels": {"a": "1", "b/c": "2"}}, "spec": {"ports": [{"port": 2}], "list": [1, 2]}, "status": {"a": 2}});
        let expected = ["/metadata/labels/b~1c", "/spec/list", "/spec/ports/0/port"];
        assert_eq!(differences(&before, &after), expected);
        assert_eq!(differences(&before, &before), [] as [&str; 0]);
    }
}
