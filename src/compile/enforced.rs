//! What an overlay enforces and `properties` overrides all the same (O06).
//!
//! In: the overlays, and what a definition became, before patches. Out: findings at what overrides.
//! Enforced values lie on top of a definition's, but `properties` is laid on what they become. How that
//! is done is not known here: every value says what it lies on. A `null`, which leaves no value, is not
//! found.

use std::collections::HashMap;

use crate::api::overlay::{Overlay, Precedence};
use crate::model::{Finding, Node, Object, Origin, Span, Value};

/// What is enforced, by its place: the name of the overlay, and the value.
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

    /// What is overridden in `objects`, which a definition became.
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

    /// Looks at the value of `name` and all below.
    fn look(&self, name: &str, node: &Node, tell: &mut dyn FnMut(Finding)) {
        self.overridden(name, node).into_iter().for_each(&mut *tell);
        match &node.value {
            Value::Map(map) => {
                let entries = map.iter();
                entries.for_each(|(key, node)| self.look(&key.name, node, tell));
            }
            Value::List(items) => items.iter().for_each(|item| self.look(name, item, tell)),
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
        let message = format!("`{name}` overrides what the overlay `{overlay}` enforces at {at}");
        let finding = Finding::warning("O06", message).at(node.span());
        Some(finding.help("take it out of `properties`, or let the overlay enforce it there"))
    }
}

/// Notes `node` and all below.
fn note(node: &Node, overlay: &str, values: &mut HashMap<Span, (String, Value)>) {
    let value = (overlay.to_owned(), node.value.clone());
    values.insert(node.span().clone(), value);
    match &node.value {
        Value::Map(map) => map.iter().for_each(|(_, node)| note(node, overlay, values)),
        Value::List(items) => items.iter().for_each(|item| note(item, overlay, values)),
        _ => {}
    }
}
