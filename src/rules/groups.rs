//! Which parts of a fleet concern each other.
//!
//! In: the links of each part. Out: the groups of parts that links join. It does not know what the links mean.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::links::{CROWD, Link, Links, Role, suggesting};
use crate::model::Finding;

/// Parts, which are numbered, and their links.
#[derive(Default)]
pub(crate) struct Groups {
    count: usize,
    links: Vec<(usize, Arc<Links>)>,
    /// The groups by the number of links that there were.
    known: Vec<(usize, Arc<Joined>)>,
}

/// Groups of parts, each in order.
pub(crate) type Joined = BTreeSet<Vec<usize>>;

impl Groups {
    /// Of parts that nothing joins yet.
    pub(crate) fn of(count: usize) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    /// Adds links of a part, or of one for its group.
    pub(crate) fn add(&mut self, part: usize, links: Arc<Links>) {
        self.links.push((part, links));
    }

    /// Adds the links to what findings about a part, or about its group, suggest.
    pub(crate) fn suggest<'f>(&mut self, part: usize, found: impl Iterator<Item = &'f Finding>) {
        let mut wanted: Box<[Link]> = found.filter_map(suggesting).collect();
        wanted.sort_unstable();
        if !wanted.is_empty() {
            let links = Links {
                wanted,
                ..Links::default()
            };
            self.add(part, links.into());
        }
    }

    /// The groups. If `before` had the same links, its groups are taken.
    pub(crate) fn joined(&mut self, before: Option<&Self>) -> Arc<Joined> {
        let known = before.and_then(|before| before.find(self));
        let joined = known.unwrap_or_else(|| self.join().into());
        self.known.push((self.links.len(), Arc::clone(&joined)));
        joined
    }

    /// The groups of the same parts with these links, if they are known.
    fn find(&self, other: &Self) -> Option<Arc<Joined>> {
        let count = other.links.len();
        let (_, joined) = self.known.iter().find(|(known, _)| *known == count)?;
        let is_same = self.count == other.count && self.links[..count] == other.links;
        is_same.then(|| Arc::clone(joined))
    }

    fn join(&self) -> Joined {
        let repeated = Repeated::new(&self.links);
        let held = self.links.par_iter().flat_map_iter(held);
        // Most of the hundreds of links of a part are in no other part.
        let mut held: Vec<Held> = held.filter(|one| repeated.has(one)).collect();
        held.par_sort_unstable();
        let mut sets = Sets {
            parents: (0..self.count).collect(),
        };
        let links = held.chunk_by(|one, other| one.link == other.link);
        links.for_each(|held| sets.join(held));
        sets.groups()
    }
}

/// The links that several parts have for the same purpose, and a few false positives: a link is known by some of its bits.
struct Repeated {
    /// One bit for each link that is there.
    once: Vec<AtomicU64>,
    /// One bit for each that is there again.
    again: Vec<AtomicU64>,
}

impl Repeated {
    fn new(parts: &[(usize, Arc<Links>)]) -> Self {
        let count = parts.par_iter().flat_map_iter(held).count();
        // About one in sixteen links has the bit of another one.
        let words = (count / 4).next_power_of_two();
        let repeated = Self {
            once: zeros(words),
            again: zeros(words),
        };
        parts
            .par_iter()
            .flat_map_iter(held)
            .for_each(|held| repeated.note(&held));
        repeated
    }

    /// The word and the bit of a link. A part has a link once for each purpose, and its group has it again.
    const fn place(&self, held: &Held) -> (usize, u64) {
        let purpose = match held.role {
            Role::Offered | Role::Wanted | Role::Own => 0,
            Role::Shared => 0x5555_5555_5555_5555,
            Role::Counted => 0x3333_3333_3333_3333,
        };
        let bits = held.link ^ purpose;
        let word = (bits >> 6) as usize & (self.once.len() - 1);
        (word, 1 << (bits & 63))
    }

    fn note(&self, held: &Held) {
        let (word, bit) = self.place(held);
        let before = self.once[word].fetch_or(bit, Ordering::Relaxed);
        if before & bit != 0 {
            self.again[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn has(&self, held: &Held) -> bool {
        let (word, bit) = self.place(held);
        self.again[word].load(Ordering::Relaxed) & bit != 0
    }
}

fn zeros(count: usize) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::default()).collect()
}

/// A link of a part, and what the part has it for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    link: Link,
    role: Role,
    part: usize,
}

/// The links of a part.
fn held((part, links): &(usize, Arc<Links>)) -> impl Iterator<Item = Held> {
    let roles = links.by_role().into_iter();
    roles.flat_map(move |(role, links)| {
        links.iter().map(move |link| Held {
            link: *link,
            role,
            part: *part,
        })
    })
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

    fn groups(mut self) -> Joined {
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
        assert_eq!(*groups.joined(None), BTreeSet::from(alone));
        groups.add(4, links(&[1], &[]));
        let joined = [vec![0, 1, 4], vec![2], vec![3]];
        assert_eq!(*groups.joined(None), BTreeSet::from(joined));
        groups.add(3, links(&[1], &[]));
        let joined = [vec![0, 1, 3, 4], vec![2]];
        assert_eq!(*groups.joined(None), BTreeSet::from(joined));
    }

    #[test]
    fn groups_are_the_same_as_before_only_with_the_same_links() {
        let groups = |third: &[Link]| {
            let mut groups = Groups::of(3);
            groups.add(0, links(&[], &[1]));
            groups.add(1, links(&[1], &[]));
            groups.add(2, links(&[], third));
            groups
        };
        let mut before = groups(&[2]);
        let joined = before.joined(None);
        assert_eq!(*joined, BTreeSet::from([vec![0, 1], vec![2]]));
        let mut same = groups(&[2]);
        assert!(Arc::ptr_eq(&same.joined(Some(&before)), &joined));
        same.add(2, links(&[1], &[]));
        let expected = BTreeSet::from([vec![0, 1, 2]]);
        assert_eq!(*same.joined(Some(&before)), expected, "more links");
        let mut other = groups(&[1]);
        assert_eq!(*other.joined(Some(&before)), expected, "another link");
    }

    #[test]
    fn what_a_part_both_offers_and_refers_to_joins_it_with_others() {
        let own = || {
            Arc::new(Links {
                own: [1].into_iter().collect(),
                ..Links::default()
            })
        };
        for other in [own(), links(&[1], &[]), links(&[], &[1])] {
            let mut groups = Groups::of(2);
            groups.add(0, own());
            assert_eq!(groups.joined(None).len(), 2);
            groups.add(1, other);
            assert_eq!(*groups.joined(None), BTreeSet::from([vec![0, 1]]));
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
        assert_eq!(groups.joined(None).len(), CROWD + 1);
        groups.add(CROWD - 1, Arc::clone(&counted));
        assert_eq!(groups.joined(None).len(), 2);
        groups.add(CROWD, counted);
        assert_eq!(groups.joined(None).len(), 1);
    }
}
