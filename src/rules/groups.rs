//! Which parts of a fleet concern each other.
//!
//! In: the links of each part. Out: the groups of parts that links join. It does not know what the links mean.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use super::links::{CROWD, Link, Links, suggesting};
use crate::model::{Finding, QuickMap};

/// Sets of parts, which are numbered.
pub(crate) struct Groups {
    parents: Vec<usize>,
    /// A part with each shared link.
    shared: QuickMap<Link, usize>,
    references: QuickMap<Link, References>,
    counted: QuickMap<Link, Vec<usize>>,
}

/// The parts that offer a link and those that want it. None of them concern each other until there are both; then all do, and
/// one stands for them. Of hundreds of links of a part, most are known to no other.
struct References {
    /// The side of all parts so far; `None` once there are both.
    side: Option<Side>,
    first: usize,
    others: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Offering,
    Wanting,
}

impl Groups {
    /// Of parts that nothing joins yet.
    pub(crate) fn of(count: usize) -> Self {
        Self {
            parents: (0..count).collect(),
            shared: QuickMap::default(),
            references: QuickMap::default(),
            counted: QuickMap::default(),
        }
    }

    /// Adds links of a part, or of one for its group.
    pub(crate) fn add(&mut self, part: usize, links: &Links) {
        for link in &links.shared {
            let first = *self.shared.entry(*link).or_insert(part);
            self.unite(&[first, part]);
        }
        for link in &links.offered {
            self.refer(*link, part, Side::Offering);
        }
        for link in &links.wanted {
            self.refer(*link, part, Side::Wanting);
        }
        for link in &links.counted {
            let parts = self.counted.entry(*link).or_default();
            let crowd = match parts.first() {
                Some(first) if parts.len() >= CROWD => vec![*first, part],
                _ => {
                    parts.push(part);
                    if parts.len() < CROWD {
                        continue;
                    }
                    parts.clone()
                }
            };
            self.unite(&crowd);
        }
    }

    /// Adds the links to what findings about a part, or about its group, suggest.
    pub(crate) fn suggest<'f>(&mut self, part: usize, found: impl Iterator<Item = &'f Finding>) {
        for link in found.filter_map(suggesting) {
            self.refer(link, part, Side::Wanting);
        }
    }

    fn refer(&mut self, link: Link, part: usize, side: Side) {
        let references = match self.references.entry(link) {
            Entry::Vacant(entry) => {
                entry.insert(References {
                    side: Some(side),
                    first: part,
                    others: Vec::new(),
                });
                return;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        references.others.push(part);
        if references.side == Some(side) {
            return;
        }
        references.side = None;
        let first = references.first;
        let others = std::mem::take(&mut references.others);
        others
            .into_iter()
            .for_each(|other| self.unite(&[first, other]));
    }

    fn unite(&mut self, parts: &[usize]) {
        for pair in parts.windows(2) {
            let (one, other) = (self.root(pair[0]), self.root(pair[1]));
            let (first, later) = (one.min(other), one.max(other));
            self.parents[later] = first;
        }
    }

    fn root(&mut self, mut part: usize) -> usize {
        while self.parents[part] != part {
            self.parents[part] = self.parents[self.parents[part]];
            part = self.parents[part];
        }
        part
    }

    /// The groups, each in order.
    pub(crate) fn joined(&mut self) -> BTreeSet<Vec<usize>> {
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for part in 0..self.parents.len() {
            let root = self.root(part);
            groups.entry(root).or_default().push(part);
        }
        groups.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(offered: &[Link], wanted: &[Link]) -> Links {
        Links {
            offered: offered.iter().copied().collect(),
            wanted: wanted.iter().copied().collect(),
            ..Links::default()
        }
    }

    #[test]
    fn only_what_is_offered_and_wanted_joins() {
        let mut groups = Groups::of(5);
        groups.add(0, &links(&[], &[1]));
        groups.add(1, &links(&[], &[1]));
        groups.add(2, &links(&[2], &[]));
        groups.add(3, &links(&[2], &[]));
        let alone = [vec![0], vec![1], vec![2], vec![3], vec![4]];
        assert_eq!(groups.joined(), BTreeSet::from(alone));
        groups.add(4, &links(&[1], &[]));
        let joined = [vec![0, 1, 4], vec![2], vec![3]];
        assert_eq!(groups.joined(), BTreeSet::from(joined));
        groups.add(3, &links(&[1], &[]));
        let joined = [vec![0, 1, 3, 4], vec![2]];
        assert_eq!(groups.joined(), BTreeSet::from(joined));
    }

    #[test]
    fn a_crowd_is_joined_as_soon_as_it_is_one() {
        let mut groups = Groups::of(CROWD + 1);
        let counted = Links {
            counted: [1].into_iter().collect(),
            ..Links::default()
        };
        for part in 0..CROWD - 1 {
            groups.add(part, &counted);
        }
        assert_eq!(groups.joined().len(), CROWD + 1);
        groups.add(CROWD - 1, &counted);
        assert_eq!(groups.joined().len(), 2);
        groups.add(CROWD, &counted);
        assert_eq!(groups.joined().len(), 1);
    }
}
