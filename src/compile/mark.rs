//! What plain objects of a fleet are given: whose they are, where from, and what becomes of them.
//!
//! In: an object as it was written. Out: the same with our label and annotations. It does not know what
//! definitions become, which says so itself.

use crate::api::{kinds, labels};
use crate::model::{Key, Map, Node, Object, ObjectId, Origin, Value};

/// Says on a raw object that it is ours and where it came from (DESIGN §4).
pub(super) fn mark(object: &mut Object) {
    let origin = object.origin.clone();
    let text = |text: String| Node::new(Value::String(text.into()), &origin);
    // One that nobody can read is an error, and no reason to take another.
    let said = ["metadata", "annotations", labels::DELETION_POLICY];
    let policy = match object.node.at(&said) {
        Some(_) => None,
        None => Some((
            labels::DELETION_POLICY,
            default_policy(&object.id).to_owned(),
        )),
    };
    let source = (labels::SOURCE, origin.span().path.to_string());
    for (name, value) in policy.into_iter().chain([source]) {
        set(
            &mut object.node,
            ["metadata", "annotations", name],
            text(value),
            &origin,
        );
    }
    let manager = text(labels::MANAGED_BY_VALUE.to_owned());
    set(
        &mut object.node,
        ["metadata", "labels", labels::MANAGED_BY],
        manager,
        &origin,
    );
}

/// Namespaces, identities and clusters default to Orphan (DESIGN §7); what else is removed from the
/// fleet is meant to go.
fn default_policy(id: &ObjectId) -> &'static str {
    let kept = id.is("", "Namespace")
        || id.kind == "AzureClusterIdentity"
        || id.is(kinds::CAPI, "Cluster");
    if kept { "Orphan" } else { "Delete" }
}

fn set(node: &mut Node, [outer, inner, name]: [&'static str; 3], value: Node, origin: &Origin) {
    let key = |name: &'static str| Key {
        name: name.into(),
        origin: origin.clone(),
    };
    let mut at = node;
    for step in [outer, inner] {
        let Value::Map(map) = &mut at.value else {
            return;
        };
        if map.get(step).is_none() {
            map.insert(key(step), Node::new(Value::Map(Map::default()), origin));
        }
        let Some(next) = map.get_mut(step) else {
            return;
        };
        if next.value == Value::Null {
            next.value = Value::Map(Map::default());
        }
        at = next;
    }
    if let Value::Map(map) = &mut at.value {
        map.insert(key(name), value);
    }
}
