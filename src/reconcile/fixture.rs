//! A fixture for tests of what controllers decide: objects, time, and writes carried out as an API
//! server would at its simplest. No requests, no watches, no async.

#![allow(clippy::panic)]

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use serde_json::{Map, Value, json};

use super::controller::Controller;
use super::outcome::{Event, Write};
use super::snapshot::Snapshot;
use super::world::{GroupKind, World};
use crate::api::conditions as c;
use crate::api::kinds::{ARO, CAPI, KINDS, is_cluster_scoped};
use crate::health::{Live, health};
use crate::model::{AdapterError, ErrorClass, Health, ObjectId, WorkloadNode};

/// More rounds than this without time passing is an endless loop.
const MOST_ROUNDS: usize = 40;

/// Longer than anything takes, in seconds.
const LONGEST: i64 = 6 * 3600;

/// The nodes of the workload cluster of a Cluster.
type Nodes = fn(World<'_>, &ObjectId) -> Vec<WorkloadNode>;

/// A cluster and its controllers.
pub(crate) struct Fixture {
    pub(crate) snapshot: Snapshot,
    pub(super) controllers: Vec<Controller>,
    /// What the workload cluster of a Cluster with a kubeconfig has.
    pub(crate) nodes: Option<Nodes>,
    /// What Entra ID answers.
    pub(crate) credential: Result<(), AdapterError>,
    /// The clouds whose Entra ID refuses instead.
    pub(crate) refusing: Vec<&'static str>,
    start: Timestamp,
    pub(crate) now: Timestamp,
    changes: u64,
    applied: BTreeMap<(ObjectId, &'static str), Value>,
    /// The events that were reported, oldest first.
    pub(crate) events: Vec<Event>,
}

/// Conditions that repeat the reason of another one.
const SUMMARIES: [&str; 3] = [c::READY, c::ARO_MACHINE_POOL_READY, c::AGENT_POOLS_READY];

/// Panics if a condition has one of our reasons that is not among those of its type: readiness would not know it.
fn hold_to_the_table(object: Live<'_>) {
    for condition in object.list(&["status", "conditions"]).iter().map(Live) {
        let [kind, reason] = ["type", "reason"].map(|field| condition.text(&[field]));
        let row = c::find(reason).filter(|row| !row.conditions.is_empty());
        let is_known = row.is_none_or(|row| row.conditions.contains(&kind));
        assert!(
            is_known || SUMMARIES.contains(&kind),
            "the row of {reason} does not name {kind}"
        );
    }
}

impl Fixture {
    /// An empty cluster in which every known kind is synced.
    pub(crate) fn new(controllers: Vec<Controller>) -> Self {
        let start = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut snapshot = Snapshot::default();
        for kind in KINDS {
            snapshot.sync(&GroupKind::new(kind.group, kind.kind), true);
        }
        for kind in ["ConfigMap", "Namespace", "Secret"] {
            snapshot.sync(&GroupKind::new("", kind), true);
        }
        Self {
            snapshot,
            controllers,
            nodes: None,
            credential: Ok(()),
            refusing: Vec::new(),
            start,
            now: start,
            changes: 0,
            applied: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Creates an object, or edits it; a new spec is a new generation.
    pub(crate) fn put(&mut self, mut object: Value) {
        let is_namespaced = !is_cluster_scoped(&Live(&object).id());
        if is_namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("ns");
        }
        let id = Live(&object).id();
        self.changes += 1;
        let generation = match self.snapshot.get(&id) {
            None => {
                object["metadata"]["uid"] = json!(format!("uid-{}", self.changes));
                1
            }
            Some(held) => held.generation() + i64::from(held.0["spec"] != object["spec"]),
        };
        object["metadata"]["generation"] = json!(generation);
        object["metadata"]["resourceVersion"] = json!(self.changes.to_string());
        self.snapshot.insert(object);
    }

    fn held(&self, id: &ObjectId) -> Option<Value> {
        self.snapshot.get(id).map(|live| live.0.clone())
    }

    pub(crate) fn live(&self, kind: &str, name: &str) -> Option<Value> {
        let mut objects = self.snapshot.all();
        let found = objects.find(|live| live.kind() == kind && live.name() == name);
        found.map(|live| live.0.clone())
    }

    pub(crate) fn health(&self, kind: &str, name: &str) -> Health {
        health(&self.live(kind, name).unwrap_or_default())
    }

    /// The reason and severity of ASO's condition.
    pub(crate) fn ready(&self, kind: &str, name: &str) -> (String, String) {
        let object = self.live(kind, name).unwrap_or_default();
        let ready = Live(&object).condition("Ready");
        ready.map_or_else(Default::default, |ready| {
            (ready.reason().to_owned(), ready.severity().to_owned())
        })
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.snapshot.ids().map(|id| id.kind.clone()).collect()
    }

    /// Not ready, and why.
    pub(crate) fn unready(&self) -> Vec<String> {
        let states = self.snapshot.all().map(|live| (live.id(), health(live.0)));
        let unready = states.filter(|(_, health)| !health.is_ready());
        unready
            .map(|(id, health)| format!("{id}: {health:?}"))
            .collect()
    }

    pub(crate) fn elapsed(&self) -> i64 {
        self.now.duration_since(self.start).as_secs()
    }

    /// Lets time pass up to this many seconds after the start.
    pub(crate) fn run_to(&mut self, seconds: i64) {
        let end = self.start.checked_add(seconds.seconds()).expect("a time");
        while let Some(wake) = self.settle().filter(|wake| *wake <= end) {
            self.now = wake;
        }
        self.now = end;
    }

    /// Lets time pass until no controller waits for anything but the next hourly check of a credential.
    pub(crate) fn run(&mut self) {
        let end = self.elapsed() + LONGEST;
        let is_near = |wake: &Timestamp, now| wake.duration_since(now).as_secs() < 3600;
        while let Some(wake) = self.settle().filter(|wake| is_near(wake, self.now)) {
            self.now = wake;
            assert!(self.elapsed() < end, "it never ends: {:#?}", self.unready());
        }
    }

    /// No test lasts that long. What vaults answer is good until then.
    fn end_of_time(&self) -> Timestamp {
        self.start.checked_add(10_000.hours()).expect("a time")
    }

    /// Reconciles until there is nothing to do now; the next wake-up.
    fn settle(&mut self) -> Option<Timestamp> {
        for _ in 0..MOST_ROUNDS {
            let (writes, wake) = self.round();
            if writes == 0 {
                return wake;
            }
        }
        panic!("the controllers never settle: {:#?}", self.unready());
    }

    fn round(&mut self) -> (usize, Option<Timestamp>) {
        // Whether objects are kept as text changes nothing.
        (0..2).for_each(|_| self.snapshot.fold(0));
        assert_eq!(self.snapshot.folded(), self.snapshot.ids().count());
        let (mut count, mut first) = (self.connect(), None);
        for place in 0..self.controllers.len() {
            for id in self.snapshot.ids().cloned().collect::<Vec<_>>() {
                let controller = &self.controllers[place];
                let manager = controller.manager;
                let Some(live) = self.snapshot.get(&id).filter(|_| (controller.handles)(&id))
                else {
                    continue;
                };
                let world = World::of(&self.snapshot);
                let outcome = (controller.reconcile)(world, live, self.now);
                let wake = outcome.wake.into_iter().chain(first);
                first = wake.min();
                // What was answered before is not asked for again at once.
                let is_answered = |write: &&Write| match write {
                    Write::CheckCredential(request) => World::of(&self.snapshot)
                        .credential(request)
                        .is_some_and(|(_, at)| at == self.now),
                    _ => false,
                };
                count += outcome
                    .writes
                    .iter()
                    .filter(|write| !is_answered(write))
                    .count();
                self.events.extend(outcome.events);
                for write in outcome.writes {
                    self.perform(manager, write);
                }
            }
        }
        (count, first)
    }

    /// Looks at the nodes of workload clusters; how many clusters have others than before.
    fn connect(&mut self) -> usize {
        let Some(nodes) = self.nodes else { return 0 };
        let kind = GroupKind::new(CAPI, "Cluster");
        let clusters = self.snapshot.of_kind(&kind);
        let reached = |id: &&ObjectId| {
            let name = format!("{}-kubeconfig", id.name);
            let secret = ObjectId::new("", "Secret", id.namespace.as_str(), name);
            self.snapshot.get(&secret).is_some()
        };
        let reached: Vec<ObjectId> = clusters.filter(reached).cloned().collect();
        let mut news = 0;
        for id in &reached {
            let nodes = nodes(World::of(&self.snapshot), id);
            news += usize::from(self.snapshot.set_nodes(id, Some(Ok(nodes))));
        }
        news
    }

    pub(crate) fn perform(&mut self, manager: &'static str, write: Write) {
        match write {
            Write::Apply(patch) => self.apply(manager, &patch),
            Write::ApplyAs(manager, patch) => self.apply(manager, &patch),
            Write::Merge(patch) => {
                let id = Live(&patch).id();
                if let Some(held) = self.snapshot.get(&id) {
                    let mut object = held.0.clone();
                    merge_patch(&mut object, &patch);
                    self.put(object);
                    self.collect(&id);
                }
            }
            Write::CheckCredential(request) => {
                let now = self.now;
                let answer = match self.refusing.contains(&request.environment.as_str()) {
                    true => Err(AdapterError::new(ErrorClass::Denied, "unknown here")),
                    false => self.credential.clone(),
                };
                self.snapshot.set_credential(request, answer, now);
            }
            Write::CredentialSecret(_, patch) => {
                let id = Live(&patch).id();
                self.apply(manager, &patch);
                let version = self
                    .held(&id)
                    .map(|held| held["metadata"]["resourceVersion"].clone());
                if let Some(Value::String(version)) = version {
                    self.snapshot.set_written(&id, &version);
                }
            }
            Write::EnsureKey(request) => {
                let version = format!("{}-{}-v1", request.vault, request.key);
                let answered = self.end_of_time();
                self.snapshot.set_key(request, Ok(version), answered);
            }
            // Nobody answers here.
            Write::RejectConnections(_) => {}
            Write::Status(patch) => {
                let id = Live(&patch).id();
                if ARO.contains(&(&*id.group, &*id.kind)) {
                    hold_to_the_table(Live(&patch));
                }
                if let Some(mut object) = self.held(&id) {
                    object["status"] = patch["status"].clone();
                    self.put(object);
                }
            }
            Write::Delete { id, .. } => self.delete(&id),
        }
    }

    fn apply(&mut self, manager: &'static str, patch: &Value) {
        let id = Live(patch).id();
        let held = self.held(&id);
        let uid = patch["metadata"].get("uid").cloned();
        if uid.is_some() && held.as_ref().map(|held| &held["metadata"]["uid"]) != uid.as_ref() {
            return;
        }
        let mut object = held.unwrap_or_else(|| json!({}));
        let before = self.applied.insert((id.clone(), manager), patch.clone());
        let others = self
            .applied
            .iter()
            .filter(|((of, by), _)| *of == id && *by != manager);
        let others: Vec<&Value> = others.map(|(_, applied)| applied).collect();
        for kind in ["finalizers", "ownerReferences"] {
            let is_shared =
                |entry: &Value| others.iter().any(|other| list(other, kind).contains(entry));
            let old = before
                .as_ref()
                .map_or(&[][..], |old| list(old, kind))
                .iter();
            let old: Vec<Value> = old.filter(|entry| !is_shared(entry)).cloned().collect();
            let mut entries: Vec<Value> = list(&object, kind).to_vec();
            entries.retain(|entry| !old.contains(entry));
            entries.extend(list(patch, kind).iter().cloned());
            entries.dedup();
            if !entries.is_empty() || object["metadata"].get(kind).is_some() {
                object["metadata"][kind] = json!(entries);
            }
        }
        if let Some(before) = &before {
            drop_left_out(&mut object, before, patch, &others);
        }
        merge(&mut object, patch);
        let applied = self.applied.keys().filter(|(of, _)| *of == id);
        let entries = applied.map(|(_, by)| json!({"manager": by, "operation": "Apply"}));
        object["metadata"]["managedFields"] = entries.collect();
        self.put(object);
        self.collect(&id);
    }

    pub(crate) fn delete(&mut self, id: &ObjectId) {
        let Some(mut object) = self.held(id) else {
            return;
        };
        if !Live(&object).is_deleting() {
            object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
            self.put(object);
        }
        self.collect(id);
    }

    /// Removes an object that is being deleted and has no finalizer, then what only it owned.
    fn collect(&mut self, id: &ObjectId) {
        let Some(live) = self.snapshot.get(id) else {
            return;
        };
        if !live.is_deleting() || !live.list(&["metadata", "finalizers"]).is_empty() {
            return;
        }
        let world = World::of(&self.snapshot);
        let children: Vec<ObjectId> = world.owned(live.uid()).map(Live::id).collect();
        self.snapshot.remove(id);
        for child in children {
            let object = self.snapshot.get(&child);
            let mut owners = object
                .map_or(&[][..], |object| list(object.0, "ownerReferences"))
                .iter();
            let alive = owners.any(|owner| {
                let named = |id: &ObjectId| owner["kind"] == id.kind && owner["name"] == id.name;
                self.snapshot.ids().any(named)
            });
            if !alive {
                self.delete(&child);
            }
        }
    }
}

/// A JSON merge patch (RFC 7386).
fn merge_patch(under: &mut Value, over: &Value) {
    let Some(over) = over.as_object() else {
        *under = over.clone();
        return;
    };
    if !under.is_object() {
        *under = Value::Object(Map::new());
    }
    for (key, value) in over {
        match (value, under.as_object_mut()) {
            (Value::Null, Some(under)) => drop(under.remove(key)),
            _ => merge_patch(&mut under[key], value),
        }
    }
}

fn list<'a>(object: &'a Value, kind: &str) -> &'a [Value] {
    object["metadata"][kind]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// Takes out what a manager applied before and leaves out now, unless others applied it, too.
fn drop_left_out(object: &mut Value, before: &Value, now: &Value, others: &[&Value]) {
    let (Some(object), Some(before)) = (object.as_object_mut(), before.as_object()) else {
        return;
    };
    for (key, before) in before {
        if ["finalizers", "ownerReferences"].contains(&key.as_str()) {
            continue;
        }
        let others = others.iter().filter_map(|other| other.get(key));
        let others: Vec<&Value> = others.collect();
        match (object.get_mut(key), now.get(key)) {
            (Some(held), Some(now)) => drop_left_out(held, before, now, &others),
            (Some(held), None) if !others.is_empty() => {
                drop_left_out(held, before, &Value::Null, &others);
            }
            // Who changed a value since owns it.
            (Some(held), None) if !held.is_object() && held != before => {}
            _ => drop(object.remove(key)),
        }
    }
}

fn merge(under: &mut Value, over: &Value) {
    let Some(over) = over.as_object() else {
        *under = over.clone();
        return;
    };
    if !under.is_object() {
        *under = Value::Object(Map::new());
    }
    for (key, value) in over {
        if ["finalizers", "ownerReferences"].contains(&key.as_str()) {
            continue;
        }
        merge(&mut under[key], value);
    }
}
