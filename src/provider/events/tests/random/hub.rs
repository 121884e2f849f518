//! What exists on a hub, and what happened to it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::*;

/// The instances; each may have two objects.
pub(super) const IDS: [&str; 4] = ["a", "b", "c", "d"];
const STATES: [State; 6] = [Pending, Provisioning, Ready, Unavailable, Failed, Deleting];

#[derive(Clone)]
struct Object {
    instance: &'static str,
    state: State,
    words: u8,
}

/// See the module. Each change returns the name of the object that a number stands for.
#[derive(Default)]
pub(super) struct Hub {
    objects: BTreeMap<String, Object>,
    /// The states of each instance, one after the other.
    pub(super) history: BTreeMap<String, Vec<State>>,
}

impl Hub {
    /// The state of an instance, of which the first object by name counts.
    pub(super) fn newest(&self, instance: &str) -> Option<State> {
        let mut objects = self.objects.values();
        let first = objects.find(|object| object.instance == instance);
        first.map(|object| object.state)
    }

    pub(super) fn existing(&self) -> BTreeSet<&'static str> {
        self.objects
            .values()
            .map(|object| object.instance)
            .collect()
    }

    fn at(which: u8) -> (String, Object) {
        let instance = IDS[usize::from(which) % IDS.len()];
        // One in eight objects has the id of another.
        let second = if which % 8 == 7 { "2" } else { "1" };
        let state = STATES[usize::from(which / 8) % STATES.len()];
        let object = Object {
            instance,
            state,
            words: 0,
        };
        (format!("{instance}{second}"), object)
    }

    pub(super) fn change(&mut self, which: u8) -> String {
        let (name, new) = Self::at(which);
        if let Some(object) = self.objects.get_mut(&name) {
            object.state = new.state;
        }
        self.note(name)
    }

    pub(super) fn reword(&mut self, which: u8) -> String {
        let (name, _) = Self::at(which);
        if let Some(object) = self.objects.get_mut(&name) {
            object.words = which;
        }
        self.note(name)
    }

    pub(super) fn create(&mut self, which: u8) -> String {
        let (name, new) = Self::at(which);
        self.objects.entry(name.clone()).or_insert(new);
        self.note(name)
    }

    pub(super) fn delete(&mut self, which: u8) -> String {
        let (name, _) = Self::at(which);
        self.objects.remove(&name);
        self.note(name)
    }

    fn note(&mut self, name: String) -> String {
        for instance in IDS {
            let newest = self.newest(instance).unwrap_or(Deleted);
            let states = self.history.entry(instance.to_owned()).or_default();
            if states.last() != Some(&newest) {
                states.push(newest);
            }
        }
        name
    }

    pub(super) fn observation(&self, name: &str, time: Timestamp) -> Option<Observation> {
        let object = self.objects.get(name)?;
        Some(Observation {
            object: name.to_owned(),
            instance: object.instance.to_owned(),
            status: status(object.state, &object.words.to_string()),
            time,
        })
    }

    pub(super) fn all(&self, time: Timestamp) -> Vec<Observation> {
        let names = self.objects.keys();
        names
            .filter_map(|name| self.observation(name, time))
            .collect()
    }
}
