//! Which definition has which name: within a group each name belongs to one.
//!
//! In: a definition and the others of its group. Out: the names it may have, and whether those are all
//! it asks for. Source: the naming controller of k8s.io/apiextensions-apiserver. It does not change
//! anything.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::address::{DEFINITIONS, collection};
use super::resources::Resource;
use super::store::State;

/// The names that others have.
#[derive(Debug, Default)]
struct Taken {
    /// Plural, singular and short names.
    resources: BTreeSet<String>,
    /// Kinds and kinds of lists.
    kinds: BTreeSet<String>,
}

/// What became of the names that a definition asks for.
#[derive(Debug)]
pub(super) struct Naming {
    /// `status.acceptedNames`
    pub(super) accepted: Value,
    /// Reason and message of the last conflict.
    pub(super) conflict: Option<(&'static str, String)>,
}

/// Gives `definition` the names it asks for, less those that others have.
pub(super) fn name(state: &State, definition: &Value) -> Naming {
    let taken = taken(state, definition);
    let wanted = &definition["spec"]["names"];
    let known = &definition["status"]["acceptedNames"];
    let mut accepted = match known.is_object() {
        true => known.clone(),
        false => json!({"kind": "", "plural": ""}),
    };
    let mut conflict = None;
    for (key, reason, names) in [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ] {
        match in_use(&wanted[key], &known[key], names) {
            Some(message) => conflict = Some((reason, message)),
            None => take(&mut accepted, key, &wanted[key]),
        }
    }
    take(&mut accepted, "categories", &wanted["categories"]);
    Naming { accepted, conflict }
}

fn take(accepted: &mut Value, key: &str, wanted: &Value) {
    match (wanted, accepted.as_object_mut()) {
        (Value::Null, Some(names)) => {
            names.remove(key);
        }
        (wanted, _) => accepted[key] = wanted.clone(),
    }
}

/// Which of the wanted names others have; those that are the definition's own do not count.
fn in_use(wanted: &Value, known: &Value, names: &BTreeSet<String>) -> Option<String> {
    let taken: Vec<String> = texts(wanted)
        .filter(|name| !texts(known).any(|known| known == *name) && names.contains(*name))
        .map(|name| format!("{name:?} is already in use"))
        .collect();
    match taken.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

/// One name or several.
fn texts(names: &Value) -> impl Iterator<Item = &str> {
    let list = names
        .as_array()
        .map_or(std::slice::from_ref(names), Vec::as_slice);
    list.iter().filter_map(Value::as_str)
}

/// The names of the other definitions of the group. Those that are served are in the registry, so that
/// only the others have to be read.
fn taken(state: &State, definition: &Value) -> Taken {
    let (group, own) = (
        definition["spec"]["group"].as_str().unwrap_or_default(),
        definition["spec"]["names"]["plural"]
            .as_str()
            .unwrap_or_default(),
    );
    let mut taken = Taken::default();
    let definitions = state.registry.of_collection(DEFINITIONS);
    for address in state.addresses(&DEFINITIONS.into(), "") {
        let Some((plural, _)) = address
            .name()
            .split_once('.')
            .filter(|(plural, of)| *of == group && *plural != own)
        else {
            continue;
        };
        if let Some(served) = state.registry.of_collection(&collection(group, plural)) {
            taken.of_resource(served);
        } else if let (Some(stored), Some(definitions)) = (state.get(&address), definitions) {
            taken.of_names(&stored.value(definitions)["status"]["acceptedNames"]);
        }
    }
    taken
}

impl Taken {
    fn of_resource(&mut self, resource: &Resource) {
        let names = [&resource.plural, &resource.singular].into_iter();
        self.resources
            .extend(names.chain(&resource.short_names).cloned());
        self.kinds
            .extend([resource.kind.clone(), resource.list_kind.clone()]);
    }

    fn of_names(&mut self, names: &Value) {
        for key in ["plural", "singular", "shortNames"] {
            self.resources
                .extend(texts(&names[key]).map(ToOwned::to_owned));
        }
        for key in ["kind", "listKind"] {
            self.kinds.extend(texts(&names[key]).map(ToOwned::to_owned));
        }
        // A name that was not accepted is empty.
        self.resources.remove("");
        self.kinds.remove("");
    }
}
