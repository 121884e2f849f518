//! Overlays: which definitions and objects they select, and how they change them.
//!
//! In: overlays, definitions as documents, and objects. Out: definitions with the overlays merged in, patched
//! objects, and findings: O01 for overlays and patches without effect, O02 for patches that cannot be applied.
//! Every value still knows where it is written and what it overrode.
//!
//! Layers may be merged in any grouping, `(a, b), c` as `a, (b, c)`, while every field is of one kind in
//! all of them, and elements of keyed lists have their keys, each once. It is not so where one layer
//! puts a scalar, a list, `null` or a directive where the layers around it have a map: what takes the
//! place of a map takes what lies beneath out of sight. So overlays are merged one by one, lowest first.
//! The same layer twice is the layer once, under the same conditions, `null` included.
//!
//! [`onto`] merges the parts of a definition that Azure's API defines onto the generated objects.
//!
//! It does not know what fields of a definition mean, or how a definition becomes objects.

mod layers;
mod patches;
mod select;
mod unused;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

pub use patches::Effects;
pub use select::selects;

use crate::api::overlay::{Overlay, Selector};
use crate::model::{Budget, Limit, Map, Node, Path, Span};
use crate::schema::strategic::{self, ListKeys};

/// The overlays of a fleet. They are applied to all of its definitions, then to all of its objects, and record
/// which of them have an effect.
#[derive(Debug)]
pub struct Overlays {
    /// In the order they apply.
    entries: Vec<Entry>,
    lists: ListKeys,
    /// The labels of the definitions, with their values.
    labels: BTreeMap<String, BTreeSet<String>>,
    /// Whether there may be overlays that could not be read at all.
    blind: bool,
    budget: Arc<Budget>,
    /// The patch that the budget did not allow.
    stopped_at: Option<Span>,
}

/// An overlay, and its effects so far.
#[derive(Debug)]
struct Entry {
    overlay: Overlay,
    selected: bool,
    /// Whether each of the patches matched an object, or could have.
    patched: Vec<bool>,
    /// Per file, a definition or object in it that the overlay changes.
    reached: BTreeMap<Arc<str>, Span>,
}

impl Overlays {
    /// The overlays in the order they apply: by `order`, then by their place. Lists merge by the keys of `lists`.
    #[must_use]
    pub fn new(mut overlays: Vec<Overlay>, lists: ListKeys) -> Self {
        overlays.sort_by(|a, b| (a.order, a.origin.span()).cmp(&(b.order, b.origin.span())));
        let entry = |overlay: Overlay| Entry {
            // Nobody knows what an overlay without a readable selector selects.
            selected: overlay.lost.contains(&Path::default()),
            patched: vec![false; overlay.patches.len()],
            reached: BTreeMap::new(),
            overlay,
        };
        Self {
            entries: overlays.into_iter().map(entry).collect(),
            lists,
            labels: BTreeMap::new(),
            blind: false,
            budget: Arc::default(),
            stopped_at: None,
        }
    }

    /// The same overlays, which count their work and stop when `budget` allows no more.
    #[must_use]
    pub fn within(mut self, budget: Arc<Budget>) -> Self {
        self.budget = budget;
        self
    }

    /// Counts what it takes to select among these documents, before it is done, and returns whether it is allowed.
    pub fn weigh<'n>(&self, documents: impl Iterator<Item = &'n Node>) -> bool {
        self.weigh_width(width(documents))
    }

    /// The same, for documents of this width.
    fn weigh_width(&self, width: u64) -> bool {
        let selectors = self.entries.iter().map(|entry| &entry.overlay.selector);
        let selectors: u64 = selectors.map(Selector::weight).sum();
        // To compare a label is less than a step.
        let steps = width.saturating_mul(selectors) / 8;
        self.budget.allows(Limit::Overlays, steps)
    }

    /// The patch at which the budget was exceeded, if it was one.
    #[must_use]
    pub fn stopped_at(&self) -> Option<&Span> {
        self.stopped_at.as_ref()
    }

    /// The overlays that are not those of `earlier` at the same place, and those in whose place they are.
    pub fn changes<'o>(&'o self, earlier: &'o [Overlay]) -> Vec<&'o Overlay> {
        let count = self.entries.len().max(earlier.len());
        let pairs = (0..count).map(|at| {
            let now = self.entries.get(at).map(|entry| &entry.overlay);
            (now, earlier.get(at))
        });
        let changed = pairs.filter(|(now, before)| now != before);
        changed
            .flat_map(|(now, before)| now.into_iter().chain(before))
            .collect()
    }

    /// All overlays, in the order they apply.
    pub fn all(&self) -> impl Iterator<Item = &Overlay> {
        self.entries.iter().map(|entry| &entry.overlay)
    }

    /// The keys of keyed lists.
    #[must_use]
    pub const fn lists(&self) -> &ListKeys {
        &self.lists
    }

    /// Returns true if there may be overlays that could not be read at all.
    #[must_use]
    pub const fn is_blind(&self) -> bool {
        self.blind
    }

    /// Each overlay, with a definition or object that it changes per file.
    pub fn reached(&self) -> impl Iterator<Item = (&Overlay, &BTreeMap<Arc<str>, Span>)> {
        let entries = self.entries.iter();
        entries.map(|entry| (&entry.overlay, &entry.reached))
    }

    /// Records that a definition has no objects: patches that select it could have matched them.
    pub fn without_objects(&mut self, definition: &Node) {
        let its = |entry: &&mut Entry| select::selects(&entry.overlay, definition);
        let entries = self.entries.iter_mut().filter(its);
        entries.for_each(|entry| entry.patched.fill(true));
    }

    /// Records what was read of a document that cannot be read as a whole: overlays may select it.
    pub fn without(&mut self, broken: &Node) {
        let keys = broken.as_map().into_iter().flat_map(|map| map.iter());
        let keys: Vec<&str> = keys.map(|(key, _)| &*key.name).collect();
        // A document without any fields may be an overlay, too.
        self.blind |= keys.is_empty();
        // The metadata is complete if something follows it.
        let has_labels = keys.contains(&"metadata") && keys.last() != Some(&"metadata");
        let its = |entry: &&mut Entry| !has_labels || select::selects(&entry.overlay, broken);
        for entry in self.entries.iter_mut().filter(its) {
            entry.selected = true;
            entry.patched.fill(true);
        }
    }

    /// The fields of a definition that overlays may set, but that cannot be read. The empty path stands for all.
    #[must_use]
    pub fn lost(&self, definition: &Node) -> Vec<Path> {
        let entries = self.entries.iter().map(|entry| &entry.overlay);
        let its = entries.filter(|overlay| select::selects(overlay, definition));
        let lost = its.flat_map(|overlay| overlay.lost.iter().cloned());
        lost.chain(self.blind.then(Path::default)).collect()
    }
}

/// Merges `over` onto what expansion `made`, by the rules of patches: `null` removes. Its directives were applied
/// when the definition was merged, so there are no findings.
#[must_use]
pub fn onto(made: Node, over: &Node) -> Node {
    static LISTS: LazyLock<ListKeys> = LazyLock::new(ListKeys::default);
    strategic::merge(made, over, &LISTS, &mut Vec::new())
}

/// The number of labels and other fields that a selector may compare in these documents.
fn width<'n>(documents: impl Iterator<Item = &'n Node>) -> u64 {
    let labels = |node: &Node| {
        node.at(&["metadata", "labels"])
            .and_then(Node::as_map)
            .map_or(0, Map::len)
    };
    documents.map(|node| 4 + labels(node) as u64).sum()
}

impl Entry {
    fn reach(&mut self, span: &Span) {
        if !self.reached.contains_key(&span.path) {
            self.reached.insert(Arc::clone(&span.path), span.clone());
        }
    }
}

#[cfg(test)]
mod tests;
