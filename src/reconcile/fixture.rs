//! A bare stage for tests of what actors decide: objects, time, and writes carried out as an API
//! server would at its plainest. No requests, no watches, no async.

#![allow(clippy::panic)]

use std::collections::BTreeMap;

use jiff::{Timestamp, ToSpan};
use serde_json::{Map, Value, json};

use super::outcome::{Actor, Write};
use super::world::World;
use crate::health::{Live, health};
use crate::model::{Health, ObjectId};

/// More rounds than this without time passing is going in circles.
const MOST_ROUNDS: usize = 40;

pub(crate) struct Stage {
    world: World,
    actors: Vec<Actor>,
    ids: Vec<ObjectId>,
    start: Timestamp,
    pub(crate) now: Timestamp,
    changes: u64,
    applied: BTreeMap<(ObjectId, &'static str), Value>,
}

impl Stage {
    pub(crate) fn new(actors: Vec<Actor>) -> Self {
        let start = "2026-01-01T00:00:00Z".parse().expect("a time");
        Self {
            world: World::default(),
            actors,
            ids: Vec::new(),
            start,
            now: start,
            changes: 0,
            applied: BTreeMap::new(),
        }
    }

    /// Somebody makes an object, or edits it; a new spec is a new generation.
    pub(crate) fn put(&mut self, mut object: Value) {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!("ns");
        }
        let id = Live(&object).id();
        let held = self.world.get(&id).map(|live| live.0.clone());
        self.changes += 1;
        let metadata = &mut object["metadata"];
        match held {
            None => {
                metadata["uid"] = json!(format!("uid-{}", self.changes));
                metadata["generation"] = json!(1);
                self.ids.push(id);
                self.ids.sort();
            }
            Some(held) => {
                let generation =
                    Live(&held).generation() + i64::from(held["spec"] != object["spec"]);
                object["metadata"]["generation"] = json!(generation);
            }
        }
        object["metadata"]["resourceVersion"] = json!(self.changes.to_string());
        self.world.insert(object);
        self.world.forget_buried();
    }

    pub(crate) fn live(&self, kind: &str, name: &str) -> Option<Value> {
        let id = self
            .ids
            .iter()
            .find(|id| id.kind == kind && id.name == name)?;
        self.world.get(id).map(|live| live.0.clone())
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
        self.ids.iter().map(|id| id.kind.clone()).collect()
    }

    /// Not ready, and why.
    pub(crate) fn unready(&self) -> Vec<String> {
        let all = self
            .ids
            .iter()
            .filter_map(|id| Some((id, self.world.get(id)?)));
        let states = all.map(|(id, live)| (id, health(live.0)));
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
        while let Some(wake) = self.rest().filter(|wake| *wake <= end) {
            self.now = wake;
        }
        self.now = end;
    }

    /// Lets time pass until nobody waits for anything.
    pub(crate) fn run(&mut self) {
        while let Some(wake) = self.rest() {
            self.now = wake;
        }
    }

    /// Lets everybody act until nobody has anything to do now; the next wake-up.
    fn rest(&mut self) -> Option<Timestamp> {
        for _ in 0..MOST_ROUNDS {
            let (writes, wake) = self.round();
            if writes == 0 {
                return wake;
            }
        }
        panic!("the actors never come to rest: {:#?}", self.unready());
    }

    fn round(&mut self) -> (usize, Option<Timestamp>) {
        let (mut count, mut first) = (0, None);
        for actor in 0..self.actors.len() {
            for id in self.ids.clone() {
                let player = &self.actors[actor];
                let manager = player.manager;
                let Some(live) = self.world.get(&id).filter(|_| (player.plays)(&id)) else {
                    continue;
                };
                let outcome = (player.decide)(&self.world, live, self.now);
                let wake = outcome.wake.into_iter().chain(first);
                first = wake.min();
                count += outcome.writes.len();
                for write in outcome.writes {
                    self.perform(manager, write);
                }
            }
        }
        (count, first)
    }

    fn perform(&mut self, manager: &'static str, write: Write) {
        match write {
            Write::Apply(patch) => self.apply(manager, &patch),
            Write::Status(patch) => {
                let id = Live(&patch).id();
                if let Some(mut object) = self.world.get(&id).map(|live| live.0.clone()) {
                    object["status"] = patch["status"].clone();
                    self.put(object);
                }
            }
            Write::Delete(id, _) => self.delete(&id),
        }
    }

    fn apply(&mut self, manager: &'static str, patch: &Value) {
        let id = Live(patch).id();
        let held = self.world.get(&id).map(|live| live.0.clone());
        let meant = patch["metadata"].get("uid").cloned();
        if meant.is_some() && held.as_ref().map(|held| &held["metadata"]["uid"]) != meant.as_ref() {
            return;
        }
        let mut object = held.unwrap_or_else(|| json!({}));
        let before = self.applied.insert((id.clone(), manager), patch.clone());
        for kind in ["finalizers", "ownerReferences"] {
            let old = before
                .as_ref()
                .map_or(&[][..], |old| list(old, kind))
                .to_vec();
            let mut entries: Vec<Value> = list(&object, kind).to_vec();
            entries.retain(|entry| !old.contains(entry));
            entries.extend(list(patch, kind).iter().cloned());
            entries.dedup();
            if !entries.is_empty() || object["metadata"].get(kind).is_some() {
                object["metadata"][kind] = json!(entries);
            }
        }
        if let (Some(old), Some(held)) = (
            before
                .as_ref()
                .and_then(|old| old["metadata"]["annotations"].as_object()),
            object["metadata"]["annotations"].as_object_mut(),
        ) {
            held.retain(|key, _| !old.contains_key(key));
        }
        merge(&mut object, patch);
        self.put(object);
        self.bury(&id);
    }

    pub(crate) fn delete(&mut self, id: &ObjectId) {
        let Some(mut object) = self.world.get(id).map(|live| live.0.clone()) else {
            return;
        };
        if !Live(&object).is_deleting() {
            object["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
            self.put(object);
        }
        self.bury(id);
    }

    /// Removes an object that is deleted and held by nobody, and lets go what it owned.
    fn bury(&mut self, id: &ObjectId) {
        let Some(live) = self.world.get(id) else {
            return;
        };
        if !live.is_deleting() || !live.list(&["metadata", "finalizers"]).is_empty() {
            return;
        }
        let uid = live.uid().to_owned();
        let children: Vec<ObjectId> = self.world.owned(&uid).map(Live::id).collect();
        self.world.remove(id, &uid);
        self.ids.retain(|held| held != id);
        for child in children {
            let owners = self
                .world
                .get(&child)
                .map(|live| list(live.0, "ownerReferences").to_vec());
            let alive = owners.into_iter().flatten().any(|owner| {
                let named = |id: &ObjectId| owner["kind"] == id.kind && owner["name"] == id.name;
                self.ids.iter().any(named)
            });
            if !alive {
                self.delete(&child);
            }
        }
    }
}

fn list<'a>(object: &'a Value, kind: &str) -> &'a [Value] {
    object["metadata"][kind]
        .as_array()
        .map_or(&[], Vec::as_slice)
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
