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
    // Selectors of a chart may name the manager that it wrote.
    let manager = ["metadata", "labels", labels::MANAGED_BY];
    if object.node.at(&manager).is_none() {
        let value = text(labels::MANAGED_BY_VALUE.to_owned());
        set(&mut object.node, manager, value, &origin);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_that_the_file_names_is_kept() {
        let manager = |labels: &str| {
            let text = format!(
                "{{apiVersion: v1, kind: Service, metadata: {{name: a, labels: {labels}}}}}\n"
            );
            let (mut documents, _) = crate::yaml::read(&"a.yaml".into(), text.as_bytes());
            let document = documents.pop().expect("a document");
            let mut object = Object::from_node(document, "default").expect("an object");
            mark(&mut object);
            object.label(labels::MANAGED_BY).map(str::to_owned)
        };
        let helm = "{app.kubernetes.io/managed-by: Helm}";
        assert_eq!(manager(helm).as_deref(), Some("Helm"));
        for none in ["{}", "{a: b}", "null"] {
            assert_eq!(manager(none).as_deref(), Some("capstan"), "{none}");
        }
    }
}
