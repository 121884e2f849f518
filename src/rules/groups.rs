//! Which parts of a fleet concern each other.
//!
//! In: the links of each part. Out: the groups of parts that links join. It does not know what the links mean.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rayon::prelude::*;

use super::links::{CROWD, Link, Links, Role, suggesting};
use crate::model::Finding;

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
        let links = self.links.iter().flat_map(|(_, links)| links.by_role());
        let shards = Shards::for_count(links.map(|(_, links)| links.len()).sum());
        let held: Vec<Vec<Held>> = (0..shards.count())
            .into_par_iter()
            .map(|shard| self.held_by_several(&shards, shard))
            .collect();
        let mut sets = Sets {
            parents: (0..self.count).collect(),
        };
        for shard in &held {
            let links = shard.chunk_by(|one, other| one.link == other.link);
            links.for_each(|held| sets.join(held));
        }
        sets.groups()
    }

    /// The links of a shard that several parts have, sorted. Most of the hundreds of links of a part are in no other part, so they
    /// are counted first, in a table that fits into the cache of a core.
    fn held_by_several(&self, shards: &Shards, shard: u64) -> Vec<Held> {
        let mut times = vec![0_u8; Shards::PLACES];
        self.visit(shards, shard, |held| {
            let times = &mut times[Shards::place(held.link)];
            *times = times.saturating_add(1);
        });
        let mut several = Vec::new();
        self.visit(shards, shard, |held| {
            if times[Shards::place(held.link)] > 1 {
                several.push(held);
            }
        });
        several.sort_unstable();
        several
    }

    /// Visits all links of a shard.
    fn visit(&self, shards: &Shards, shard: u64, mut visit: impl FnMut(Held)) {
        for (part, links) in &self.links {
            for (role, links) in links.by_role() {
                for link in links.iter().filter(|link| shards.shard(**link) == shard) {
                    visit(Held {
                        link: *link,
                        role,
                        part: *part,
                    });
                }
            }
        }
    }
}

/// A link of a part, and what the part has it for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    link: Link,
    role: Role,
    part: usize,
}

/// All links, divided by their first bits. A table counts how often each link of a shard occurs, by its last bits.
struct Shards {
    /// The binary logarithm of their number.
    bits: u32,
}

impl Shards {
    /// The size of the table: a power of two.
    const PLACES: usize = 1 << 20;
    /// The number of places for a link, so that few share one by chance.
    const PLACES_PER_LINK: usize = 4;

    fn for_count(links: usize) -> Self {
        let tables = (links * Self::PLACES_PER_LINK).div_ceil(Self::PLACES);
        let bits = tables.next_power_of_two().ilog2();
        Self { bits }
    }

    const fn count(&self) -> u64 {
        1 << self.bits
    }

    /// Links are hashes, so that each bit of them is as good as any other one.
    fn shard(&self, link: Link) -> u64 {
        link.checked_shr(Link::BITS - self.bits).unwrap_or(0)
    }

    #[allow(clippy::cast_possible_truncation)]
    const fn place(link: Link) -> usize {
        link as usize & (Self::PLACES - 1)
    }
}

/// Sets of parts.
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    /// Unites parts that one link joins, given all that have it, in order.
    fn join(&mut self, held: &[Held]) {
        let of = |roles: &[Role]| -> Vec<usize> {
            let parts = held.iter().filter(|one| roles.contains(&one.role));
            parts.map(|one| one.part).collect()
        };
        self.unite(&of(&[Role::Shared]));
        let offering = of(&[Role::Offered, Role::Own]);
        let wanting = of(&[Role::Wanted, Role::Own]);
        // None of them concern each other until there are both; then all do.
        if !offering.is_empty() && !wanting.is_empty() {
            self.unite(&[offering, wanting].concat());
        }
        let mut counted = of(&[Role::Counted]);
        // A group has the links of its parts, too.
        counted.dedup();
        if counted.len() >= CROWD {
            self.unite(&counted);
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
    fn what_a_part_offers_and_refers_to_itself_joins_it_with_others() {
        let own = || {
            Arc::new(Links {
                own: [1].into_iter().collect(),
                ..Links::default()
            })
        };
        for other in [own(), links(&[1], &[]), links(&[], &[1])] {
            let mut groups = Groups::of(2);
            groups.add(0, own());
            assert_eq!(groups.joined().len(), 2);
            groups.add(1, other);
            assert_eq!(groups.joined(), BTreeSet::from([vec![0, 1]]));
        }
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
