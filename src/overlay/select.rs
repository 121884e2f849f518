//! Which labels a selector matches, and which objects a target matches.

use crate::api::overlay::{Operator, Overlay, Pattern, Requirement, Selector, Target};
use crate::model::{Map, Node, Object};

impl Selector {
    /// Whether an object with these labels is selected.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        let has = |(key, value): (&String, &String)| label(key) == Some(value);
        self.match_labels.iter().all(has)
            && self
                .match_expressions
                .iter()
                .all(|requirement| holds(requirement, label(&requirement.key)))
    }
}

fn holds(requirement: &Requirement, value: Option<&str>) -> bool {
    let listed = |value| requirement.values.iter().any(|one| one == value);
    if !requirement.is_valid() {
        return false;
    }
    match requirement.operator {
        Operator::In => value.is_some_and(listed),
        Operator::NotIn => !value.is_some_and(listed),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
    }
}

/// Whether an overlay selects a definition or object.
#[must_use]
pub fn selects(overlay: &Overlay, document: &Node) -> bool {
    overlay.selector.matches(|key| label(document, key))
}

/// A label of a document.
fn label<'n>(document: &'n Node, key: &str) -> Option<&'n str> {
    document.text(&["metadata", "labels", key])
}

/// Whether `target` matches a top-level object. Adds to `steps` what it takes to see that.
pub(super) fn means(target: &Target, object: &Object, steps: &mut u64) -> bool {
    means_kind(target, &object.node, steps)
        && fits(&target.namespace, &object.id.namespace, steps)
        && selectors(target, object.node.at(&["metadata"]), steps)
        && holds_all(&target.label_selector, |key| object.label(key))
        && holds_all(&target.annotation_selector, |key| object.annotation(key))
}

/// Whether `target` matches `resource`, embedded in `carrier`. It must name the kind. Embedded resources are in the
/// namespace of their carrier, and inherit its labels and annotations.
pub(super) fn means_embedded(
    target: &Target,
    resource: &Node,
    carrier: &Object,
    steps: &mut u64,
) -> bool {
    target.kind.is_some()
        && means_kind(target, resource, steps)
        && fits(&target.namespace, &carrier.id.namespace, steps)
        && selectors(target, carrier.node.at(&["metadata"]), steps)
        && selectors(target, resource.at(&["metadata"]), steps)
        && holds_all(&target.label_selector, |key| {
            label(resource, key).or_else(|| carrier.label(key))
        })
        && holds_all(&target.annotation_selector, |key| {
            let own = resource.text(&["metadata", "annotations", key]);
            own.or_else(|| carrier.annotation(key))
        })
}

fn means_kind(target: &Target, document: &Node, steps: &mut u64) -> bool {
    let api_version = document.text(&["apiVersion"]).unwrap_or_default();
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let text = |names: &[&str]| document.text(names).unwrap_or_default();
    *steps += 1;
    fits(&target.kind, text(&["kind"]), steps)
        && fits(&target.group, group, steps)
        && fits(&target.version, version, steps)
        && fits(&target.name, text(&["metadata", "name"]), steps)
}

/// Adds what it takes to compare the labels and annotations in `metadata`. Always true.
fn selectors(target: &Target, metadata: Option<&Node>, steps: &mut u64) -> bool {
    let mut add = |selector: &Option<Selector>, field: &str| {
        if let Some(selector) = selector {
            let map = metadata
                .and_then(|node| node.get(field))
                .and_then(Node::as_map);
            *steps += selector
                .weight()
                .saturating_mul(4 + map.map_or(0, Map::len) as u64)
                / 8;
        }
    };
    add(&target.label_selector, "labels");
    add(&target.annotation_selector, "annotations");
    true
}

fn holds_all<'l>(selector: &Option<Selector>, value: impl Fn(&str) -> Option<&'l str>) -> bool {
    selector
        .as_ref()
        .is_none_or(|selector| selector.matches(value))
}

fn fits(wanted: &Option<Pattern>, text: &str, steps: &mut u64) -> bool {
    wanted.as_ref().is_none_or(|wanted| {
        *steps += wanted.steps(text);
        wanted.matches(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        Requirement {
            key: key.into(),
            operator,
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    fn selects(requirement: Requirement) -> bool {
        let selector = Selector {
            match_labels: [("env".to_owned(), "prod".to_owned())].into(),
            match_expressions: vec![requirement],
        };
        selector.matches(|key| (key == "env").then_some("prod"))
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        assert!(Selector::default().matches(|_| None));
    }

    #[test]
    fn all_requirements_must_hold() {
        use Operator::{DoesNotExist, Exists, In, NotIn};
        assert!(selects(requirement("env", In, &["dev", "prod"])));
        assert!(!selects(requirement("env", In, &["dev"])));
        assert!(!selects(requirement("absent", In, &[""])));
        assert!(selects(requirement("env", NotIn, &["dev"])));
        assert!(!selects(requirement("env", NotIn, &["prod"])));
        assert!(selects(requirement("absent", NotIn, &["x"])));
        assert!(selects(requirement("env", Exists, &[])));
        assert!(!selects(requirement("absent", Exists, &[])));
        assert!(selects(requirement("absent", DoesNotExist, &[])));
        assert!(!selects(requirement("env", DoesNotExist, &[])));
        // What is not a selector selects nothing.
        assert!(!selects(requirement("absent", NotIn, &[])));
        assert!(!selects(requirement("env", In, &[])));
        assert!(!selects(requirement("env", Exists, &["prod"])));
        assert!(!selects(requirement("absent", DoesNotExist, &["prod"])));
        let labels = Selector {
            match_labels: [("env".to_owned(), "dev".to_owned())].into(),
            ..Selector::default()
        };
        assert!(!labels.matches(|_| Some("prod")));
    }
}
