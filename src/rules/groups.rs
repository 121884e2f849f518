//! Which parts of a fleet concern each other.
//!
//! In: the links of each part. Out: the groups of parts that links join. It does not know what the links mean.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::links::{CROWD, Link, Links, suggesting};
use crate::model::{Finding, QuickMap};

/// Parts, which are numbered, and their links.
pub(crate) struct Groups {
    count: usize,
    links: Vec<(usize, Arc<Links>)>,
}

impl Groups {
    /// Of parts that nothing joins yet.
    pub(crate) const fn of(count: usize) -> Self {
        let links = Vec::new();
        Self { count, links }
    }

    /// Adds links of a part, or of one for its group.
    pub(crate) fn add(&mut self, part: usize, links: Arc<Links>) {
        self.links.push((part, links));
    }

    /// Adds the links to what findings about a part, or about its group, suggest.
    pub(crate) fn suggest<'f>(&mut self, part: usize, found: impl Iterator<Item = &'f Finding>) {
        let wanted: Box<[Link]> = found.filter_map(suggesting).collect();
        if !wanted.is_empty() {
            let links = Links {
                wanted,
                ..Links::default()
            };
            self.add(part, links.into());
        }
    }

    /// The groups, each in order.
    pub(crate) fn joined(&self) -> BTreeSet<Vec<usize>> {
        let several = Several::of(self.links.iter().map(|(_, links)| &**links));
        let mut sets = Sets {
            parents: (0..self.count).collect(),
            shared: QuickMap::default(),
            references: QuickMap::default(),
            counted: QuickMap::default(),
        };
        for (part, links) in &self.links {
            sets.add(*part, links, &several);
        }
        sets.groups()
    }
}

/// The links that several parts may have. Most of the hundreds of links of a part are in no other part.
struct Several {
    /// The number of times that a link of each place was seen, up to two. The place of a link is its remainder modulo the number of
    /// places.
    times: Vec<u8>,
}

impl Several {
    /// The number of places for a link, so that few share one by chance.
    const PLACES: usize = 4;

    fn of<'l>(parts: impl Iterator<Item = &'l Links> + Clone) -> Self {
        let count: usize = parts.clone().map(|links| links.all().count()).sum();
        let places = (count * Self::PLACES).next_power_of_two();
        let mut several = Self {
            times: vec![0; places],
        };
        for link in parts.flat_map(Links::all) {
            let place = several.place(link);
            several.times[place] = (several.times[place] + 1).min(2);
        }
        several
    }

    fn has(&self, link: Link) -> bool {
        self.times[self.place(link)] > 1
    }

    /// The number of places is a power of two.
    const fn place(&self, link: Link) -> usize {
        link as usize & (self.times.len() - 1)
    }
}

/// Sets of parts.
struct Sets {
    parents: Vec<usize>,
    /// A part with each shared link.
    shared: QuickMap<Link, usize>,
    references: QuickMap<Link, References>,
    counted: QuickMap<Link, Vec<usize>>,
}

/// The parts that offer a link and those that want it. None of them concern each other until there are both; then all do.
#[derive(Default)]
struct References {
    offering: Vec<usize>,
    wanting: Vec<usize>,
}

impl Sets {
    /// Adds links of a part, of which `several` says which are worth a look.
    fn add(&mut self, part: usize, links: &Links, several: &Several) {
        let common = |link: &&Link| several.has(**link);
        for link in links.shared.iter().filter(common) {
            let first = *self.shared.entry(*link).or_insert(part);
            self.unite(&[first, part]);
        }
        for link in links.offered.iter().filter(common) {
            self.references
                .entry(*link)
                .or_default()
                .offering
                .push(part);
        }
        for link in links.wanted.iter().filter(common) {
            self.references.entry(*link).or_default().wanting.push(part);
        }
        for link in links.counted.iter().filter(common) {
            self.counted.entry(*link).or_default().push(part);
        }
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

    fn groups(mut self) -> BTreeSet<Vec<usize>> {
        for References { offering, wanting } in std::mem::take(&mut self.references).into_values() {
            if let (Some(one), Some(other)) = (offering.first(), wanting.first()) {
                self.unite(&[*one, *other]);
                self.unite(&offering);
                self.unite(&wanting);
            }
        }
        for mut parts in std::mem::take(&mut self.counted).into_values() {
            // A group has the links of its parts, too.
            parts.sort_unstable();
            parts.dedup();
            if parts.len() >= CROWD {
                self.unite(&parts);
            }
        }
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

    fn links(offered: &[Link], wanted: &[Link]) -> Arc<Links> {
        let links = Links {
            offered: offered.iter().copied().collect(),
            wanted: wanted.iter().copied().collect(),
            ..Links::default()
        };
        links.into()
    }

    #[test]
    fn only_what_is_offered_and_wanted_joins() {
        let mut groups = Groups::of(5);
        groups.add(0, links(&[], &[1]));
        groups.add(1, links(&[], &[1]));
        groups.add(2, links(&[2], &[]));
        groups.add(3, links(&[2], &[]));
        let alone = [vec![0], vec![1], vec![2], vec![3], vec![4]];
        assert_eq!(groups.joined(), BTreeSet::from(alone));
        groups.add(4, links(&[1], &[]));
        let joined = [vec![0, 1, 4], vec![2], vec![3]];
        assert_eq!(groups.joined(), BTreeSet::from(joined));
        groups.add(3, links(&[1], &[]));
        let joined = [vec![0, 1, 3, 4], vec![2]];
        assert_eq!(groups.joined(), BTreeSet::from(joined));
    }

    #[test]
    fn a_crowd_is_joined_as_soon_as_it_is_one() {
        let mut groups = Groups::of(CROWD + 1);
        let counted = Arc::new(Links {
            counted: [1].into_iter().collect(),
            ..Links::default()
        });
        for part in 0..CROWD - 1 {
            groups.add(part, Arc::clone(&counted));
        }
        assert_eq!(groups.joined().len(), CROWD + 1);
        groups.add(CROWD - 1, Arc::clone(&counted));
        assert_eq!(groups.joined().len(), 2);
        groups.add(CROWD, counted);
        assert_eq!(groups.joined().len(), 1);
    }
}
