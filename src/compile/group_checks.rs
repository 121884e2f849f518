//! The parts of a fleet, checked in groups.
//!
//! In: parts that were compiled, and what is remembered of groups. Out: the findings of each group. It does not know what links
//! parts: [`rules::links`] does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::memory::KnownGroups;
use super::part::{CheckedGroup, Member, Part};
use super::part_checker::{PartChecker, PartFindings};
use super::sources::Sources;
use crate::model::{Budget, Object};
use crate::rules::{self, Groups};

/// The findings of a group of parts, and the numbers of these parts.
pub(super) struct Group {
    pub(super) parts: Vec<usize>,
    pub(super) found: PartFindings,
}

/// Checks groups of parts. Parts are numbered: the definitions, then the plain objects.
pub(super) struct GroupChecks<'a> {
    pub(super) sources: &'a Sources,
    pub(super) raw: &'a [Object],
    pub(super) checker: &'a PartChecker<'a>,
    /// For each definition: true if it was compiled now.
    pub(super) is_new: &'a [bool],
}

/// A group that was checked, as it is remembered.
struct Checked {
    group: CheckedGroup,
    members: Option<Vec<Member>>,
    is_new: bool,
}

impl GroupChecks<'_> {
    /// Checks the parts in groups, until nothing that was found links a group with another one.
    pub(super) fn all(&self, parts: &mut [Part], mut known: Option<KnownGroups<'_>>) -> Vec<Group> {
        let count = parts.len();
        let mut groups = Groups::of(count + self.raw.len());
        for (number, part) in parts.iter_mut().enumerate() {
            groups.add(number, std::mem::take(&mut part.links));
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
            let mut joined = groups.joined();
            joined.retain(|group| group.len() > 1 || group[0] >= count);
            checked.retain(|group, _| joined.contains(group));
            joined.retain(|group| !checked.contains_key(group));
            if joined.is_empty() || budget.exceeded().is_some() {
                break;
            }
            let (parts, known) = (&*parts, known.as_ref());
            let newly_checked: Vec<_> = joined
                .into_par_iter()
                .map(|group| (self.check(&group, parts, known), group))
                .collect();
            for (one, group) in newly_checked {
                groups.add(group[0], Arc::clone(&one.group.links));
                groups.suggest(group[0], one.group.found.suggested());
                checked.insert(group, one);
            }
        }
        if let Some(known) = &mut known {
            for one in checked.values_mut() {
                let members = one.members.take().into_iter();
                members.for_each(|members| known.remember(members, &one.group, one.is_new));
            }
        }
        let joined: HashSet<usize> = checked.keys().flatten().copied().collect();
        let alone = parts.iter_mut().enumerate();
        let alone = alone.filter(|(number, part)| !part.is_twice && !joined.contains(number));
        let alone = alone.map(|(number, part)| Group {
            parts: vec![number],
            found: std::mem::take(&mut part.found),
        });
        let checked = checked.into_iter();
        let checked = checked.map(|(parts, one)| Group {
            parts,
            found: one.group.found,
        });
        alone.chain(checked).collect()
    }

    /// Returns the findings of a group as they are remembered, or else checks it.
    fn check(&self, group: &[usize], parts: &[Part], known: Option<&KnownGroups<'_>>) -> Checked {
        let members = known.and_then(|_| self.members(group, parts));
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

    fn check_now(&self, group: &[usize], parts: &[Part]) -> CheckedGroup {
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
            found,
            links: links.into(),
            cost: budget.cost(),
        }
    }

    /// The members of a group that can be remembered: of several parts, none of which has the id of another one.
    fn members(&self, group: &[usize], parts: &[Part]) -> Option<Vec<Member>> {
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
    fn find(
        &self,
        group: &[usize],
        parts: &[Part],
        members: &[Member],
        known: &KnownGroups<'_>,
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
        let same = known.find(members, &namespaces)?;
        self.sources.documents.budget.spend(same.cost);
        for number in definitions {
            self.sources.overlays.weigh_again(&parts[number].effects);
        }
        Some(same)
    }
}
