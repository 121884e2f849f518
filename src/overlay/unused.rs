//! Overlays and patches without effect (O01).
//!
//! In: overlays that were applied, and the labels of the definitions. Out: findings, with what is probably meant.
//! It does not know which definitions need an overlay.

use std::collections::BTreeSet;

use super::{Entry, Overlays};
use crate::api::kinds;
use crate::api::overlay::{Overlay, Patch};
use crate::model::{Finding, Node, message};
use crate::schema::nearest;

impl Overlays {
    /// Notes the labels of a definition, for help.
    pub(super) fn note_labels(&mut self, definition: &Node) {
        let labels = definition.at(&["metadata", "labels"]);
        let labels = labels.and_then(Node::as_map).into_iter();
        for (key, value) in labels.flat_map(|map| map.iter()) {
            if let Some(value) = value.as_str() {
                let values = self.labels.entry(key.name.to_string()).or_default();
                values.insert(value.to_owned());
            }
        }
    }

    /// The overlays that select nothing.
    pub fn idle(&self) -> impl Iterator<Item = &Overlay> {
        let idle = self.entries.iter().filter(|entry| !entry.selected);
        idle.map(|entry| &entry.overlay)
    }

    /// The findings (O01) for overlays that select nothing, and for patches that match none of the objects that
    /// their overlay selects.
    #[must_use]
    pub fn unused(&self) -> Vec<Finding> {
        let of_entry = |entry: &Entry| match entry.selected {
            true => entry.unused_patches(),
            false => vec![self.selects_nothing(&entry.overlay)],
        };
        self.entries.iter().flat_map(of_entry).collect()
    }

    fn selects_nothing(&self, overlay: &Overlay) -> Finding {
        let what = match overlay.patches.as_slice() {
            [] => "definition",
            _ => "definition or object",
        };
        let message = message!(
            "the overlay `{name}` selects no {what}",
            name = overlay.name
        );
        let help = || "compare `selector` with the labels in `metadata.labels`".to_owned();
        Finding::warning("O01", message)
            .at(overlay.selector_origin.span())
            .help(self.meant(overlay).unwrap_or_else(help))
    }

    /// The label that is probably meant by one that no definition has.
    fn meant(&self, overlay: &Overlay) -> Option<String> {
        let none = BTreeSet::new();
        let values = |key: &str| self.labels.get(key).unwrap_or(&none);
        let mut wanted = overlay.selector.match_labels.iter();
        let (key, value) = wanted.find(|(key, value)| !values(key).contains(*value))?;
        let known = values(key).iter().map(String::as_str);
        if let Some(near) = nearest(value, known.clone()) {
            return Some(format!("did you mean `{key}: {near}`?"));
        }
        let others = || {
            self.labels
                .keys()
                .map(String::as_str)
                .filter(|other| other != key)
        };
        let same = others().filter(|other| values(other).contains(value));
        if let Some(near) = nearest(key, same) {
            return Some(match self.is_used(key, overlay) {
                true => format!("a definition has `{near}: {value}`: did you mean `{key}` there?"),
                false => format!("did you mean `{near}: {value}`? A definition has that label"),
            });
        }
        if !values(key).is_empty() {
            let known = known.collect::<Vec<_>>().join("`, `");
            return Some(format!("the definitions have `{key}` with `{known}`"));
        }
        let near = nearest(key, others())?;
        let known: Vec<&str> = values(near).iter().map(String::as_str).collect();
        let known = known.join("`, `");
        Some(format!(
            "did you mean `{near}`? The definitions have it with `{known}`"
        ))
    }

    /// Whether a definition has the label `key`, or an overlay other than `but` selects by it.
    fn is_used(&self, key: &str, but: &Overlay) -> bool {
        let others = self.entries.iter().map(|entry| &entry.overlay);
        let mut others = others.filter(|other| other.origin != but.origin);
        self.labels.contains_key(key)
            || others.any(|other| other.selector.match_labels.contains_key(key))
    }
}

impl Entry {
    fn unused_patches(&self) -> Vec<Finding> {
        let patches = self.overlay.patches.iter().zip(&self.patched);
        let unused = patches.filter(|(_, patched)| !**patched);
        unused.map(|(patch, _)| matches_nothing(patch)).collect()
    }
}

fn matches_nothing(patch: &Patch) -> Finding {
    let kind = patch.target.kind.as_ref().map(|kind| kind.text());
    let help = match kind.and_then(kinds::similar) {
        Some(kind) => format!("did you mean `{kind}`?"),
        None => "compare `target` with the output of `capstan render`".to_owned(),
    };
    let message = "this patch matches no object that the overlay selects";
    let finding = Finding::warning("O01", message);
    finding.at(patch.origin.span()).help(help)
}
