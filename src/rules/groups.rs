//! Which parts of a fleet concern each other.
//!
//! In: the links of each part. Out: the groups of parts that links join. It does not know what the links mean.

use std::collections::BTreeSet;

use super::links::{CROWD, Link, Links, suggesting};
use crate::model::{Finding, QuickMap};

/// Sets of parts, which are numbered.
pub(crate) struct Groups {
    parents: Vec<usize>,
    /// The first part with each shared link.
    shared: QuickMap<Link, usize>,
    offered: QuickMap<Link, Vec<usize>>,
    wanted: QuickMap<Link, Vec<usize>>,
    counted: QuickMap<Link, Vec<usize>>,
}

impl Groups {
    /// Of parts that nothing joins yet.
    pub(crate) fn of(count: usize) -> Self {
        Self {
            parents: (0..count).collect(),
            shared: QuickMap::default(),
            offered: QuickMap::default(),
            wanted: QuickMap::default(),
            counted: QuickMap::default(),
        }
    }

    /// Adds links of a part, or of one for its group.
    pub(crate) fn add(&mut self, part: usize, links: &Links) {
        for link in &links.shared {
            let first = *self.shared.entry(*link).or_insert(part);
            self.unite(first, part);
        }
        for link in &links.offered {
            self.offer(*link, part);
        }
        for link in &links.wanted {
            self.want(*link, part);
        }
        for link in &links.counted {
            let parts = self.counted.entry(*link).or_default();
            parts.push(part);
            if parts.len() >= CROWD {
                let crowd = std::mem::take(parts);
                *parts = crowd.clone();
                crowd.into_iter().for_each(|one| self.unite(one, part));
            }
        }
    }

    fn offer(&mut self, link: Link, part: usize) {
        self.offered.entry(link).or_default().push(part);
        if let Some(wanting) = self.wanted.get(&link) {
            let wanting = wanting.clone();
            wanting.into_iter().for_each(|one| self.unite(one, part));
        }
    }

    /// Adds the links to what findings about a part, or about its group, suggest.
    pub(crate) fn suggest<'f>(&mut self, part: usize, found: impl Iterator<Item = &'f Finding>) {
        found
            .filter_map(suggesting)
            .for_each(|link| self.want(link, part));
    }

    fn want(&mut self, link: Link, part: usize) {
        self.wanted.entry(link).or_default().push(part);
        if let Some(offering) = self.offered.get(&link) {
            let offering = offering.clone();
            offering.into_iter().for_each(|one| self.unite(one, part));
        }
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        let (first, later) = (one.min(other), one.max(other));
        self.parents[later] = first;
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
        let mut groups: QuickMap<usize, Vec<usize>> = QuickMap::default();
        for part in 0..self.parents.len() {
            let root = self.root(part);
            groups.entry(root).or_default().push(part);
        }
        groups.into_values().collect()
    }
}
