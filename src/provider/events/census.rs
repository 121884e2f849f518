//! The instances that exist.
//!
//! In: objects that were observed, are gone, or were listed. Out: the instances that this changes, and the object that counts
//! for each. It holds one status for each object. It does not know what was published.

use std::collections::{BTreeMap, BTreeSet};

use super::command::Warning;
use super::event::Observation;
use crate::provider::status::State;

/// The longest instance id, as long as a label may be.
const LONGEST_ID: usize = 63;

/// The objects that exist, and the instances they stand for.
#[derive(Debug, Default)]
pub(super) struct Census {
    objects: BTreeMap<String, Observation>,
    /// The objects of each instance, of which the first by name counts.
    holders: BTreeMap<String, BTreeSet<String>>,
}

/// The consequence of a change of objects.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// The instances it concerns.
    pub(super) instances: BTreeSet<String>,
    pub(super) warnings: Vec<Warning>,
}

impl Census {
    /// The object that counts for an instance.
    pub(super) fn current(&self, instance: &str) -> Option<&Observation> {
        let object = self.holders.get(instance)?.first()?;
        self.objects.get(object)
    }

    pub(super) fn instances(&self) -> impl Iterator<Item = &String> {
        self.holders.keys()
    }

    /// Takes in one object. A deleted one is as good as gone.
    pub(super) fn observe(&mut self, seen: Observation) -> Changes {
        let mut changes = Changes::default();
        self.take_in(seen, &mut changes);
        changes
    }

    /// Forgets one object.
    pub(super) fn forget(&mut self, object: &str) -> Changes {
        let mut changes = Changes::default();
        self.remove(object, &mut changes);
        changes
    }

    /// Takes in all objects, and forgets those that are not among them.
    pub(super) fn replace(&mut self, all: Vec<Observation>) -> Changes {
        let mut changes = Changes::default();
        let names: BTreeSet<&str> = all.iter().map(|seen| seen.object.as_str()).collect();
        let mut gone: Vec<String> = self.objects.keys().cloned().collect();
        gone.retain(|object| !names.contains(object.as_str()));
        for object in gone {
            self.remove(&object, &mut changes);
        }
        for seen in all {
            self.take_in(seen, &mut changes);
        }
        changes
    }

    fn take_in(&mut self, seen: Observation, changes: &mut Changes) {
        if seen.status.state == State::Deleted {
            self.remove(&seen.object, changes);
            return;
        }
        let before = self.objects.get(&seen.object);
        if before.is_none_or(|before| before.instance != seen.instance) {
            self.leave(&seen.object, changes);
            self.join(&seen, changes);
        }
        if self.holders.contains_key(&seen.instance) {
            changes.instances.insert(seen.instance.clone());
        }
        self.objects.insert(seen.object.clone(), seen);
    }

    fn remove(&mut self, object: &str, changes: &mut Changes) {
        self.leave(object, changes);
        self.objects.remove(object);
    }

    /// Takes an object from the instance it stood for.
    fn leave(&mut self, object: &str, changes: &mut Changes) {
        let Some(before) = self.objects.get(object) else {
            return;
        };
        let Some(holders) = self.holders.get_mut(&before.instance) else {
            return;
        };
        holders.remove(object);
        if holders.is_empty() {
            self.holders.remove(&before.instance);
        }
        changes.instances.insert(before.instance.clone());
    }

    /// Adds an object to the instance it stands for.
    fn join(&mut self, seen: &Observation, changes: &mut Changes) {
        let object = seen.object.clone();
        if !is_instance_id(&seen.instance) {
            changes.warnings.push(Warning::UnusableId { object });
            return;
        }
        let holders = self.holders.entry(seen.instance.clone()).or_default();
        let first = holders.first().cloned();
        holders.insert(object.clone());
        if let Some(first) = first {
            changes.warnings.push(Warning::SharedId {
                instance: seen.instance.clone(),
                used: first.clone().min(object.clone()),
                ignored: first.max(object),
            });
        }
    }
}

/// Returns true for what may be a part of the subject of an event.
pub(super) fn is_instance_id(text: &str) -> bool {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(is_usual)
}
