//! The elements of a keyed list while it is merged.
//!
//! In: elements, each with its name among its siblings. Out: the same list with some of them
//! changed, removed or added. It does not know how two elements merge.

use std::collections::HashMap;

use super::list_keys::Keys;
use crate::model::Node;

pub(super) struct Elements {
    /// Empty where an element was taken out.
    slots: Vec<Option<Node>>,
    /// Slots by identity, of equal ones the first, until they are found.
    places: HashMap<String, usize>,
    /// The slots that were put into, in that order.
    changed: Vec<usize>,
}

impl Elements {
    pub(super) fn new(list: Vec<Node>, keys: &Keys) -> Self {
        let mut places = HashMap::new();
        for (place, element) in list.iter().enumerate() {
            if let Some(identity) = keys.identity(element) {
                places.entry(identity).or_insert(place);
            }
        }
        Self {
            slots: list.into_iter().map(Some).collect(),
            places,
            changed: Vec::new(),
        }
    }

    /// The place of the element of this identity, or of a new one at the end. Each element
    /// is found once: a name that is used twice stands for two elements, which is reported later.
    pub(super) fn place(&mut self, identity: Option<String>) -> usize {
        let known = identity.and_then(|identity| self.places.remove(&identity));
        known.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    pub(super) fn take(&mut self, place: usize) -> Option<Node> {
        self.slots[place].take()
    }

    pub(super) fn put(&mut self, place: usize, element: Option<Node>) {
        self.slots[place] = element;
        self.changed.push(place);
    }

    /// The list in the order of its places.
    pub(super) fn in_place(self) -> Vec<Node> {
        self.slots.into_iter().flatten().collect()
    }

    /// The list, what was put in first.
    pub(super) fn changed_first(mut self) -> Vec<Node> {
        let mut list: Vec<Node> = Vec::with_capacity(self.slots.len());
        for place in std::mem::take(&mut self.changed) {
            list.extend(self.take(place));
        }
        list.extend(self.in_place());
        list
    }
}
