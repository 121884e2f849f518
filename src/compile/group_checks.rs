//! The parts of a fleet, checked in groups.
//!
//! In: parts that were compiled, and what is remembered of groups. Out: the findings of each group. It does not know what links
//! parts: [`rules::links`] does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::memory::Known;
use super::part::{CheckedGroup, Member, Part};
use super::part_checker::{PartChecker, PartFindings};
use super::sources::Sources;
use crate::model::{Budget, Object};
use crate::rules::{self, Groups};

/// The findings of a group of parts, and the numbers of these parts.
pub(super) struct Group {
    pub(super) parts: Vec<usize>,
    pub(super) found: Arc<PartFindings>,
}

/// All groups of a fleet, checked.
pub(super) struct CheckedGroups {
    pub(super) groups: Vec<Group>,
    /// Those that can be remembered.
    pub(super) remembered: Vec<(Vec<Member>, CheckedGroup)>,
    /// The number of those that were not remembered before.
    pub(super) checked: usize,
    /// What joined them.
    pub(super) joined: Groups,
}

/// Checks groups of parts. Parts are numbered: the definitions, then the plain objects.
pub(super) struct GroupChecks<'a> {
    pub(super) sources: &'a Sources,
    pub(super) raw: &'a [Object],
    pub(super) checker: &'a PartChecker<'a>,
    /// For each definition: true if it was compiled now.
    pub(super) is_new: &'a [bool],
    /// True if groups are compared with remembered ones, or are to be remembered.
    pub(super) has_memory: bool,
}

/// A group that was checked, as it is remembered.
struct Checked {
    group: CheckedGroup,
    members: Option<Vec<Member>>,
    is_new: bool,
}

impl GroupChecks<'_> {
    /// Checks the parts in groups, until nothing that was found links a group with another one.
    pub(super) fn all<T: Send + Sync>(
        &self,
        parts: &[Arc<Part>],
        known: Option<&Known<'_, T>>,
    ) -> CheckedGroups {
        let count = parts.len();
        let mut groups = Groups::of(count + self.raw.len());
        for (number, part) in parts.iter().enumerate() {
            groups.add(number, Arc::clone(&part.links));
            groups.suggest(number, part.found.suggested());
        }
        let links_of_raw: Vec<_> = self
            .raw
            .par_iter()
            .map(|object| rules::links(&[object], self.checker.policy))
            .collect();
        for (at, links) in links_of_raw.into_iter().enumerate() {
            groups.add(count + at, links.into());
        }
        let budget = &self.sources.documents.budget;
        let mut checked: BTreeMap<Vec<usize>, Checked> = BTreeMap::new();
        loop {
            let joined = groups.joined(known.map(Known::groups));
            checked.retain(|group, _| joined.contains(group));
            let is_unchecked = |group: &&Vec<usize>| {
                (group.len() > 1 || group[0] >= count) && !checked.contains_key(*group)
            };
            let joined: Vec<&Vec<usize>> = joined.iter().filter(is_unchecked).collect();
            if joined.is_empty() || budget.exceeded().is_some() {
                break;
            }
            let newly_checked: Vec<_> = joined
                .into_par_iter()
                .map(|group| (self.check(group, parts, known), group.clone()))
                .collect();
            for (one, group) in newly_checked {
                groups.add(group[0], Arc::clone(&one.group.links));
                groups.suggest(group[0], one.group.found.suggested());
                checked.insert(group, one);
            }
        }
        let joined: HashSet<usize> = checked.keys().flatten().copied().collect();
        let alone = parts.iter().enumerate();
        let alone = alone.filter(|(number, part)| !part.is_twice && !joined.contains(number));
        let alone = alone.map(|(number, part)| Group {
            parts: vec![number],
            found: Arc::clone(&part.found),
        });
        let mut all = CheckedGroups {
            groups: alone.collect(),
            remembered: Vec::new(),
            checked: 0,
            joined: groups,
        };
        for (parts, one) in checked {
            all.groups.push(Group {
                parts,
                found: Arc::clone(&one.group.found),
            });
            if let Some(members) = one.members {
                all.checked += usize::from(one.is_new);
                all.remembered.push((members, one.group));
            }
        }
        all
    }

    /// Returns the findings of a group as they are remembered, or else checks it.
    fn check<T>(
        &self,
        group: &[usize],
        parts: &[Arc<Part>],
        known: Option<&Known<'_, T>>,
    ) -> Checked {
        let members = self
            .has_memory
            .then(|| self.members(group, parts))
            .flatten();
        let same = members
            .as_deref()
            .zip(known)
            .and_then(|(members, known)| self.find(group, parts, members, known));
        Checked {
            is_new: same.is_none(),
            group: same.unwrap_or_else(|| self.check_now(group, parts)),
            members,
        }
    }

    fn check_now(&self, group: &[usize], parts: &[Arc<Part>]) -> CheckedGroup {
        let budget = Budget::of_part(&self.sources.documents.budget);
        let objects_of = |number: usize| match number.checked_sub(parts.len()) {
            Some(at) => vec![self.raw[at].clone()],
            None if parts[number].is_twice => Vec::new(),
            None => {
                let definition = &self.sources.definitions[number];
                let (made, _) = self.sources.patched(definition, &budget);
                made.objects
            }
        };
        let members = group.iter().enumerate().flat_map(|(member, number)| {
            let objects = objects_of(*number).into_iter();
            objects.map(move |object| (member, object))
        });
        let (found, links) = self.checker.check(members.collect(), &[]);
        CheckedGroup {
            found: found.into(),
            links: links.into(),
            cost: budget.cost(),
        }
    }

    /// The members of a group that can be remembered: of several parts, none of which has the id of another one.
    fn members(&self, group: &[usize], parts: &[Arc<Part>]) -> Option<Vec<Member>> {
        let is_twice = |number: &usize| parts.get(*number).is_some_and(|part| part.is_twice);
        if group.len() < 2 || group.iter().any(is_twice) {
            return None;
        }
        let member = |number: &usize| match number.checked_sub(parts.len()) {
            Some(at) => Member::plain(&self.raw[at]),
            None => Member::Definition(self.sources.definitions[*number].span().clone()),
        };
        Some(group.iter().map(member).collect())
    }

    /// The remembered findings of a group. Counts its cost again.
    fn find<T>(
        &self,
        group: &[usize],
        parts: &[Arc<Part>],
        members: &[Member],
        known: &Known<'_, T>,
    ) -> Option<CheckedGroup> {
        let (definitions, raw): (Vec<usize>, Vec<usize>) =
            group.iter().partition(|number| **number < parts.len());
        if definitions.iter().any(|number| self.is_new[*number]) {
            return None;
        }
        let of_definitions = definitions.iter().flat_map(|at| &parts[*at].namespaces);
        let of_raw = raw
            .iter()
            .map(|at| &self.raw[at - parts.len()].id.namespace);
        let namespaces = of_definitions.chain(of_raw).cloned().collect();
        let same = known.group(members, &namespaces)?.clone();
        self.sources.documents.budget.spend(same.cost);
        for number in definitions {
            self.sources.overlays.weigh_again(&parts[number].effects);
        }
        Some(same)
    }
}
