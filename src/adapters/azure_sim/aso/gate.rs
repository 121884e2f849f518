//! What a resource waits for before Azure is asked: its owner, what it refers to, and its inputs.
//!
//! In: a resource and the world. Out: what was examined, and the first thing missing in ASO's words
//! (facts/aro-rules.md §1.5 and §1.6).

use serde_json::{Value, json};

use crate::api::aso;
use crate::api::kinds::RESOURCES;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Need;
use crate::reconcile::world::World;

/// The reasons this gate gives, and the one of a resource that was only looked for.
pub(super) const REASONS: &[&str] = &[
    aso::WAITING_FOR_OWNER,
    aso::REFERENCE_NOT_FOUND,
    aso::SECRET_NOT_FOUND,
    aso::CONFIG_MAP_NOT_FOUND,
    aso::AZURE_RESOURCE_NOT_FOUND,
];

/// What was found.
pub(super) struct Gate {
    /// What was examined.
    pub(super) needs: Vec<Need>,
    /// The first thing missing: a reason and a message.
    pub(super) blocked: Option<(&'static str, String)>,
    /// The owner reference to set, for an owner in the cluster.
    pub(super) owner: Option<Value>,
}

/// Looks at everything the resource waits for.
pub(super) fn check(world: World<'_>, live: Live<'_>) -> Gate {
    let owner = owner(live);
    let mut gate = Gate {
        needs: Vec::new(),
        blocked: None,
        owner: owner.as_ref().and_then(|id| reference_to(world, id)),
    };
    if let Some(id) = owner {
        gate.await_ready(world, id, aso::WAITING_FOR_OWNER, "owner");
    }
    let mut inputs = Inputs::default();
    let spec = live.at(&["spec"]).and_then(Value::as_object);
    for (key, value) in spec
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != "owner")
    {
        inputs.collect(key, value, live.namespace());
    }
    for id in inputs.references {
        gate.await_ready(world, id, aso::REFERENCE_NOT_FOUND, "reference");
    }
    for (id, key) in inputs.values {
        gate.await_value(world, id, &key);
    }
    gate
}

impl Gate {
    fn await_ready(&mut self, world: World<'_>, id: ObjectId, reason: &'static str, what: &str) {
        let ready = world
            .get(&id)
            .present()
            .is_some_and(|live| live.holds(aso::READY));
        if !ready && self.blocked.is_none() {
            let message = format!("The {what} \"{}/{}\" is not ready", id.kind, id.name);
            self.blocked = Some((reason, message));
        }
        self.needs.push(Need::Object(id));
    }

    fn await_value(&mut self, world: World<'_>, id: ObjectId, key: &str) {
        let held = world
            .get(&id)
            .present()
            .and_then(|live| live.at(&["data", key]));
        if held.is_none() && self.blocked.is_none() {
            let message = format!("ConfigMap \"{}\" has no value \"{key}\" yet", id.name);
            self.blocked = Some((aso::CONFIG_MAP_NOT_FOUND, message));
        }
        self.needs.push(Need::Object(id));
    }
}

/// The owner in the cluster that a resource names; `None` if it names an ARM id or no owner.
pub(super) fn owner(live: Live<'_>) -> Option<ObjectId> {
    let named = live.text(&["spec", "owner", "name"]);
    if named.is_empty() {
        return None;
    }
    let (group, kind) = match live.text(&["spec", "owner", "kind"]) {
        "" => aso::owner_kind(live.group(), live.kind()).unwrap_or((RESOURCES, "ResourceGroup")),
        kind => (live.text(&["spec", "owner", "group"]), kind),
    };
    Some(ObjectId::new(group, kind, live.namespace(), named))
}

/// An owner reference to an object in the cluster.
pub(super) fn reference_to(world: World<'_>, id: &ObjectId) -> Option<Value> {
    let owner = world.get(id).present()?;
    Some(json!({
        "apiVersion": owner.text(&["apiVersion"]),
        "kind": owner.kind(),
        "name": owner.name(),
        "uid": owner.uid(),
    }))
}

/// What a spec reads from other objects.
#[derive(Default)]
struct Inputs {
    /// Resources named by group, kind and name.
    references: Vec<ObjectId>,
    /// ConfigMaps, each with a key.
    values: Vec<(ObjectId, String)>,
}

impl Inputs {
    fn collect(&mut self, key: &str, value: &Value, namespace: &str) {
        let live = Live(value);
        let [group, kind, name] = ["group", "kind", "name"].map(|part| live.text(&[part]));
        if ![group, kind, name].contains(&"") {
            let id = ObjectId::new(group, kind, namespace, name);
            self.references.push(id);
        } else if key.ends_with("FromConfig") && !name.is_empty() {
            let id = ObjectId::new("", "ConfigMap", namespace, name);
            self.values.push((id, live.text(&["key"]).to_owned()));
        } else {
            for (key, value) in children(value) {
                self.collect(key, value, namespace);
            }
        }
    }
}

/// The values inside a value, each with its key; list items have none.
fn children(value: &Value) -> Vec<(&str, &Value)> {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect(),
        Value::Array(list) => list.iter().map(|value| ("", value)).collect(),
        _ => Vec::new(),
    }
}
