//! Values that an overlay enforces and `properties` overrides (O06).
//!
//! In: the overlays, and the objects of a definition before patches. Out: findings at the overriding values.
//! Enforced values override those of a definition, but `properties` is merged onto the result. This module does not
//! know how: every value knows what it overrode. A `null` leaves no value and is not found.

use std::collections::HashMap;

use crate::api::overlay::{Overlay, Precedence};
use crate::model::{Finding, Node, Object, Origin, Span, Value, message};

/// The enforced values by place, with the name of the overlay.
#[derive(Debug, Default)]
pub(super) struct Enforced(HashMap<Span, (String, Value)>);

impl Enforced {
    pub(super) fn of(overlays: &[Overlay]) -> Self {
        let enforced = |overlay: &&Overlay| overlay.precedence == Precedence::Enforced;
        let mut values = HashMap::new();
        for overlay in overlays.iter().filter(enforced) {
            let merged = overlay.merge.iter();
            merged.for_each(|node| note(node, &overlay.name, &mut values));
        }
        Self(values)
    }

    /// The overridden values in the objects of a definition.
    pub(super) fn findings(&self, objects: &[Object]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for object in objects.iter().filter(|_| !self.0.is_empty()) {
            self.look("", &object.node, &mut |finding| {
                findings.push(match &object.definition {
                    Some(id) => finding.of(id),
                    None => finding,
                });
            });
        }
        findings
    }

    /// Checks the value of `name` and everything below it.
    fn look(&self, name: &str, node: &Node, report: &mut dyn FnMut(Finding)) {
        self.overridden(name, node)
            .into_iter()
            .for_each(&mut *report);
        match &node.value {
            Value::Map(map) => {
                let entries = map.iter();
                entries.for_each(|(key, node)| self.look(&key.name, node, report));
            }
            Value::List(items) => items.iter().for_each(|item| self.look(name, item, report)),
            _ => {}
        }
    }

    fn overridden(&self, name: &str, node: &Node) -> Option<Finding> {
        let beneath = std::iter::successors(node.origin.beneath(), |origin| origin.beneath());
        let mut beneath = beneath.map(Origin::span);
        let (at, (overlay, value)) = beneath.find_map(|span| Some((span, self.0.get(span)?)))?;
        if self.0.contains_key(node.span()) || *value == node.value {
            return None;
        }
        let message = message!(
            "`{name}` overrides a value that the overlay `{overlay}` enforces at {at}",
            name,
            overlay
        );
        let finding = Finding::warning("O06", message).at(node.span());
        Some(finding.help("remove it from `properties`, or enforce it there in the overlay"))
    }
}

/// Records `node` and everything below it.
fn note(node: &Node, overlay: &str, values: &mut HashMap<Span, (String, Value)>) {
    let value = (overlay.to_owned(), node.value.clone());
    values.insert(node.span().clone(), value);
    match &node.value {
        Value::Map(map) => map.iter().for_each(|(_, node)| note(node, overlay, values)),
        Value::List(items) => items.iter().for_each(|item| note(item, overlay, values)),
        _ => {}
    }
}
