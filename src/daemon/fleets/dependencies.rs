//! The Fleets that others wait for.
//!
//! In: Fleets as the cluster has them. Out: what one of them still waits for. It does not know who follows them.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::kubernetes::FleetObject;
use crate::model::ObjectId;

/// The most Fleets that one may wait for, as the schema says.
const MOST_DEPENDENCIES: usize = 64;

/// The part of a Fleet that others need to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The newest revision of its spec is applied, and all its objects are ready.
    is_ready: bool,
    /// The names of the Fleets of its namespace that it waits for itself.
    depends_on: Vec<String>,
}

/// All Fleets.
pub(super) type States = BTreeMap<ObjectId, State>;

impl State {
    pub(super) fn read(fleet: &FleetObject) -> Self {
        let (spec, status) = (&fleet.json["spec"], &fleet.json["status"]);
        let names = spec["dependsOn"].as_array().into_iter().flatten();
        let names = names.filter_map(|one| one["name"].as_str());
        let ready = status["readyRevision"].as_str();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let is_of_spec = conditions.into_iter().any(|condition| {
            condition["type"] == "Ready"
                && condition["status"] == "True"
                && condition["observedGeneration"].as_i64() == fleet.generation
        });
        Self {
            is_ready: ready.is_some()
                && ready == status["attemptedRevision"].as_str()
                && is_of_spec,
            depends_on: names.take(MOST_DEPENDENCIES).map(str::to_owned).collect(),
        }
    }
}

/// The wait of a Fleet for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It may begin.
    Over,
    /// It waits, and for what.
    For(String),
    /// It waits for itself.
    Cycle(String),
}

/// The wait of the Fleet `id` for these Fleets of its namespace.
pub(super) fn wait(id: &ObjectId, depends_on: &[String], states: &States) -> Wait {
    if let Some(name) = cycle(id, depends_on, states) {
        return Wait::Cycle(format!(
            "this Fleet waits for {name}, which waits for this Fleet: remove one of them from spec.dependsOn"
        ));
    }
    let of_name = |name: &String| states.get(&sibling(id, name));
    let missing = depends_on.iter().find(|name| of_name(name).is_none());
    if let Some(name) = missing {
        return Wait::For(format!(
            "waits for the Fleet {name}, which does not exist in namespace {}",
            id.namespace
        ));
    }
    let unready = depends_on.iter();
    let mut unready = unready.filter(|name| of_name(name).is_none_or(|state| !state.is_ready));
    match unready.next() {
        Some(name) => Wait::For(format!(
            "waits for the Fleet {name}, whose newest revision is not ready yet"
        )),
        None => Wait::Over,
    }
}

fn sibling(id: &ObjectId, name: &str) -> ObjectId {
    ObjectId {
        name: name.to_owned(),
        ..id.clone()
    }
}

/// The first of these names whose Fleet waits for `id`, directly or through others. Each Fleet is looked at once.
fn cycle<'a>(id: &ObjectId, depends_on: &'a [String], states: &States) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    depends_on.iter().find(|name| {
        let mut next = vec![name.as_str()];
        while let Some(name) = next.pop() {
            if name == id.name {
                return true;
            }
            if let (true, Some(state)) =
                (seen.insert(name.to_owned()), states.get(&sibling(id, name)))
            {
                next.extend(state.depends_on.iter().map(String::as_str));
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(name: &str) -> ObjectId {
        ObjectId::new("capstan.dev", "Fleet", "n", name)
    }

    fn fleet(name: &str, depends_on: &[&str], ready: &str, observed: i64) -> FleetObject {
        let names: Vec<_> = depends_on
            .iter()
            .map(|name| json!({"name": name}))
            .collect();
        FleetObject {
            id: id(name),
            uid: "u".to_owned(),
            generation: Some(2),
            json: json!({"spec": {"dependsOn": names}, "status": {
                "readyRevision": ready, "attemptedRevision": "new",
                "conditions": [{"type": "Ready", "status": "True", "observedGeneration": observed}]}}),
        }
    }

    fn states(fleets: &[FleetObject]) -> States {
        let states = fleets.iter();
        states
            .map(|fleet| (fleet.id.clone(), State::read(fleet)))
            .collect()
    }

    #[test]
    fn a_fleet_waits_until_the_newest_revision_of_the_others_is_ready() {
        let all = states(&[
            fleet("new", &[], "new", 2),
            fleet("old", &[], "old", 2),
            fleet("edited", &[], "new", 1),
        ]);
        for (names, expected) in [
            (&[][..], None),
            (&["new"], None),
            (&["new", "old"], Some("old")),
            (&["edited"], Some("edited")),
            (&["none"], Some("none, which does not exist")),
        ] {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let wait = wait(&id("mine"), &names, &all);
            match (&wait, expected) {
                (Wait::Over, None) => {}
                (Wait::For(why), Some(word)) => assert!(why.contains(word), "{why}"),
                _ => unreachable!("{names:?}: {wait:?}"),
            }
        }
    }

    #[test]
    fn fleets_that_wait_for_each_other_are_told_so() {
        let all = states(&[
            fleet("a", &["b"], "new", 2),
            fleet("b", &["c", "b"], "new", 2),
            fleet("c", &["a"], "new", 2),
        ]);
        let names = ["b".to_owned()];
        assert!(matches!(wait(&id("a"), &names, &all), Wait::Cycle(_)));
        // It waits for a cycle, but is no part of it.
        assert_eq!(wait(&id("other"), &names, &all), Wait::Over);
        let own = ["other".to_owned()];
        assert!(matches!(wait(&id("other"), &own, &all), Wait::Cycle(_)));
    }
}
