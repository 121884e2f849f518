//! The parts of a fleet as they were compiled last, and the groups as they were checked.
//!
//! In: a fleet that is compiled again. Out: the parts and groups of it that would become the same. A part becomes the same if its
//! file has the same text and nothing else changed that it is made of: settings, overlays that select it, and objects of the
//! environment that it asks for. A group becomes the same if all of its parts do. It does not know where files come from, and how
//! parts are compiled.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::environment::Environment;
use super::part::{CheckedGroup, CompiledPart, Member, Part};
use super::sources::Sources;
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::overlay::Overlay;
use crate::model::{Node, Object, ObjectId, Span, Tree};
use crate::overlay::{self, Overlays};
use crate::rules::Links;
use crate::schema::strategic::ListKeys;

/// The parts of the fleet that was compiled last, with a value for each object.
pub struct Memory<T> {
    ground: Option<Ground>,
    /// By the places of the definitions.
    parts: HashMap<Span, CompiledPart<T>>,
    /// Those of several parts.
    groups: HashMap<Vec<Member>, CheckedGroup>,
    compiled: usize,
    checked: usize,
}

/// The input of parts, beside their own files.
pub(super) struct Ground {
    policy: FleetPolicy,
    lists: ListKeys,
    /// True if there may be overlays that could not be read at all.
    is_blind: bool,
    overlays: Vec<Overlay>,
    environment: HashMap<ObjectId, Object>,
    files: BTreeMap<Arc<str>, Arc<[u8]>>,
}

/// The changes between one input and the next.
struct Changes {
    /// Overlays as they were and as they are. They have no patches.
    overlays: Vec<Overlay>,
    /// Objects of the environment.
    objects: HashSet<ObjectId>,
    /// The namespaces of those that are identities.
    identities: HashSet<String>,
}

/// The memory, compared with a fleet.
pub(super) struct Known<'m, 's, T> {
    memory: &'m mut Memory<T>,
    sources: &'s Sources,
    ground: Ground,
    /// `None` if any part may become another one.
    changes: Option<Changes>,
}

/// The groups that are remembered, compared with a fleet whose parts are remembered already.
pub(super) struct KnownGroups<'m> {
    before: HashMap<Vec<Member>, CheckedGroup>,
    /// The files as they were and as they are.
    files: [BTreeMap<Arc<str>, Arc<[u8]>>; 2],
    changes: Option<Changes>,
    now: &'m mut HashMap<Vec<Member>, CheckedGroup>,
    checked: &'m mut usize,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            ground: None,
            parts: HashMap::new(),
            groups: HashMap::new(),
            compiled: 0,
            checked: 0,
        }
    }
}

impl<T> Memory<T> {
    /// The number of definitions that were compiled the last time, because they were not known before.
    #[must_use]
    pub const fn compiled(&self) -> usize {
        self.compiled
    }

    /// The number of groups of several parts that were checked the last time, because they were not known before.
    #[must_use]
    pub const fn checked(&self) -> usize {
        self.checked
    }

    pub(super) fn compare<'m, 's>(
        &'m mut self,
        ground: Ground,
        sources: &'s Sources,
    ) -> Known<'m, 's, T> {
        let before = self.ground.as_ref();
        Known {
            changes: before.and_then(|before| Changes::between(before, &ground, &sources.overlays)),
            memory: self,
            sources,
            ground,
        }
    }
}

impl Ground {
    pub(super) fn of(
        policy: &FleetPolicy,
        overlays: &Overlays,
        environment: &Environment<'_>,
        tree: &Tree,
    ) -> Self {
        let objects = environment.objects();
        Self {
            policy: policy.clone(),
            lists: overlays.lists().clone(),
            is_blind: overlays.is_blind(),
            overlays: overlays.all().cloned().collect(),
            environment: objects
                .map(|object| (object.id.clone(), object.clone()))
                .collect(),
            files: tree.files.clone(),
        }
    }
}

impl Changes {
    /// The changes; `None` if any part may become another one.
    fn between(before: &Ground, now: &Ground, overlays: &Overlays) -> Option<Self> {
        let overlays = overlays.changes(&before.overlays);
        let (old, new) = (&before.environment, &now.environment);
        let ids = old.keys().chain(new.keys());
        let changed: HashSet<ObjectId> = ids
            .filter(|id| old.get(id) != new.get(id))
            .cloned()
            .collect();
        let is_of_all = before.policy != now.policy
            || before.lists != now.lists
            || before.is_blind != now.is_blind
            // Its patches select objects by labels of their own.
            || overlays.iter().any(|overlay| !overlay.patches.is_empty())
            || changed.iter().any(|id| id.kind == "CustomResourceDefinition");
        let identities = changed.iter().filter(|id| is_identity(id));
        let identities = identities.map(|id| id.namespace.clone()).collect();
        (!is_of_all).then(|| Self {
            overlays: overlays.into_iter().cloned().collect(),
            objects: changed,
            identities,
        })
    }

    /// Returns true if they may change a part.
    fn concern(&self, definition: &Node, part: &Part) -> bool {
        let overlays = &mut self.overlays.iter();
        overlays.any(|one| overlay::selects(one, definition))
            || self.are_asked_for(&part.links, &part.namespaces)
    }

    /// Returns true if parts with these links, in these namespaces, ask for an object of the environment that changed.
    fn are_asked_for(&self, links: &Links, namespaces: &BTreeSet<String>) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        // An identity that is not there has others beside it that may be meant.
        let is_asked = |id: &ObjectId| {
            self.objects.contains(id) || is_identity(id) && self.identities.contains(&id.namespace)
        };
        let namespace = |name: &String| ObjectId::new("", "Namespace", "", name);
        links.needed.iter().any(is_asked)
            || namespaces
                .iter()
                .any(|name| self.objects.contains(&namespace(name)))
    }
}

fn is_identity(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AzureClusterIdentity")
}

impl<'m, T: Clone> Known<'m, '_, T> {
    /// The part that a definition becomes, if it is the same as the last time. Counts what it took then.
    pub(super) fn find(&self, definition: &Node) -> Option<CompiledPart<T>> {
        let changes = self.changes.as_ref()?;
        let before = &self.memory.ground.as_ref()?.files;
        let span = definition.span();
        let known = self.memory.parts.get(span)?;
        let is_same = is_same(&span.path, before, &self.ground.files)
            && self.sources.documents.lost.is_whole(definition)
            && !changes.concern(definition, &known.part);
        if !is_same {
            return None;
        }
        self.sources.documents.budget.spend(known.cost);
        self.sources.overlays.weigh_again(&known.part.effects);
        Some(known.clone())
    }

    /// Remembers the parts of this fleet instead of those of the last one.
    pub(super) fn remember(self, compiled: &[CompiledPart<T>]) -> KnownGroups<'m> {
        let Memory {
            ground,
            parts,
            groups,
            compiled: count,
            checked,
        } = self.memory;
        let mut before = std::mem::take(parts);
        let mut twice = Vec::new();
        for (definition, compiled) in self.sources.definitions.iter().zip(compiled) {
            let span = definition.span();
            if !self.sources.documents.lost.is_whole(definition) {
                continue;
            }
            let known = before.remove(span).filter(|_| !compiled.is_new);
            let remembered = known.unwrap_or_else(|| CompiledPart {
                is_new: false,
                ..compiled.clone()
            });
            let other = parts.insert(span.clone(), remembered);
            twice.extend(other.map(|_| span));
        }
        // The place of an alias may be that of its anchor, and does not tell what is there.
        twice.into_iter().for_each(|span| drop(parts.remove(span)));
        *count = compiled.iter().filter(|one| one.is_new).count();
        *checked = 0;
        let files = self.ground.files.clone();
        let earlier = ground.replace(self.ground);
        KnownGroups {
            before: std::mem::take(groups),
            files: [earlier.map(|one| one.files).unwrap_or_default(), files],
            changes: self.changes,
            now: groups,
            checked,
        }
    }
}

impl KnownGroups<'_> {
    /// The findings of a group in `namespaces`, none of whose definitions was compiled again. The caller counts its cost.
    pub(super) fn find(
        &self,
        group: &[Member],
        namespaces: &BTreeSet<String>,
    ) -> Option<CheckedGroup> {
        let changes = self.changes.as_ref()?;
        let known = self.before.get(group)?;
        let [before, now] = &self.files;
        let have_same_text = group
            .iter()
            .all(|member| is_same(&member.place().path, before, now));
        let is_known = have_same_text && !changes.are_asked_for(&known.links, namespaces);
        is_known.then(|| known.clone())
    }

    /// Remembers a group of this fleet; `is_new` if it was checked now.
    pub(super) fn remember(&mut self, group: Vec<Member>, checked: &CheckedGroup, is_new: bool) {
        *self.checked += usize::from(is_new);
        self.now.insert(group, checked.clone());
    }
}

/// Returns true if a file has the text that it had before.
fn is_same(
    path: &str,
    before: &BTreeMap<Arc<str>, Arc<[u8]>>,
    now: &BTreeMap<Arc<str>, Arc<[u8]>>,
) -> bool {
    let text = now.get(path);
    text.is_some() && text == before.get(path)
}

#[cfg(test)]
mod tests;
