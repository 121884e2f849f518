//! The label and annotations that Capstan adds to plain objects: the manager, the source and the deletion policy.
//!
//! In: an object as written. Out: the same with the label and annotations. It does not know the objects of
//! definitions; expansion adds theirs.

use crate::api::deletion_policy::default_deletion_policy;
use crate::api::labels;
use crate::model::{Key, Map, Node, Object, Origin, Value};

/// Adds the label and annotations to a plain object (DESIGN §4).
pub(super) fn mark(object: &mut Object) {
    let origin = object.origin.clone();
    let text = |text: String| Node::new(Value::String(text.into()), &origin);
    // An invalid policy is reported, and not replaced.
    let written = ["metadata", "annotations", labels::DELETION_POLICY];
    let policy = match object.node.at(&written) {
        Some(_) => None,
        None => Some((
            labels::DELETION_POLICY,
            default_deletion_policy(&object.id).to_owned(),
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
