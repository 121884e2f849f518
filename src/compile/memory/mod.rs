//! The parts of a fleet as they were compiled last, and the groups as they were checked.
//!
//! In: a fleet that is compiled again. Out: the parts and groups of it that would become the same. A part becomes the same if its
//! file has the same text and nothing else changed that it is made of: settings, overlays that select it, and objects of the
//! environment that it asks for. A group becomes the same if all of its parts do. It does not know where files come from, and how
//! parts are compiled.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::environment::Environment;
use super::outlines::Outlines;
use super::part::{CheckedGroup, CompiledPart, Member, Part};
use super::sources::Sources;
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::overlay::Overlay;
use crate::graph::Joined;
use crate::model::{Node, Object, ObjectId, Span, Tree};
use crate::overlay::{self, Overlays};
use crate::rules::{Groups, Links};
use crate::schema::strategic::ListKeys;

/// The parts of the fleet that was compiled last, with a value for each object. Copies share it.
pub struct Memory<T> {
    last: Option<Arc<Revision<T>>>,
    graph: Option<Joined>,
    compiled: usize,
    checked: usize,
}

/// A fleet as it was compiled.
pub(super) struct Revision<T> {
    ground: Ground,
    /// By the places of the definitions.
    parts: HashMap<Span, CompiledPart<T>>,
    /// Those of several parts.
    groups: HashMap<Vec<Member>, CheckedGroup>,
    /// What joined the groups.
    joined: Groups,
    outlines: Outlines,
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
pub(super) struct Known<'m, T> {
    before: &'m Revision<T>,
    files: &'m BTreeMap<Arc<str>, Arc<[u8]>>,
    changes: Changes,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            last: None,
            graph: None,
            compiled: 0,
            checked: 0,
        }
    }
}

impl<T> Clone for Memory<T> {
    fn clone(&self) -> Self {
        Self {
            last: self.last.clone(),
            graph: self.graph.clone(),
            ..*self
        }
    }
}

impl<T> Memory<T> {
    /// Of a fleet for which this number of definitions was compiled, and of groups checked.
    pub(super) fn of(revision: Revision<T>, compiled: usize, checked: usize) -> Self {
        Self {
            last: Some(Arc::new(revision)),
            graph: None,
            compiled,
            checked,
        }
    }

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

    /// Remembers the graph of the fleet, too; if the fleet has errors, that of the last fleet without.
    pub(super) fn with_graph(self, graph: Option<&Joined>) -> Self {
        let graph = graph.cloned();
        Self { graph, ..self }
    }

    /// The graph of the last fleet without errors.
    pub(super) const fn graph(&self) -> Option<&Joined> {
        self.graph.as_ref()
    }

    /// The outlines of the files of the last fleet.
    pub(super) fn outlines(&self) -> Outlines {
        let last = self.last.as_ref();
        last.map(|last| last.outlines.clone()).unwrap_or_default()
    }

    /// Compares it with a fleet; `None` if any part may have become another one.
    pub(super) fn compare<'m>(
        &'m self,
        ground: &'m Ground,
        overlays: &Overlays,
    ) -> Option<Known<'m, T>> {
        let before = self.last.as_deref()?;
        Some(Known {
            changes: Changes::between(&before.ground, ground, overlays)?,
            before,
            files: &ground.files,
        })
    }
}

impl<T> Revision<T> {
    /// Remembers the parts of a fleet. The caller adds its groups.
    pub(super) fn of(ground: Ground, sources: &mut Sources, compiled: &[CompiledPart<T>]) -> Self {
        let mut parts: HashMap<Span, CompiledPart<T>> = HashMap::with_capacity(compiled.len());
        let mut twice = Vec::new();
        for (definition, compiled) in sources.definitions.iter().zip(compiled) {
            if sources.documents.lost.is_whole(definition) {
                let span = definition.span();
                let other = parts.insert(span.clone(), compiled.clone());
                twice.extend(other.map(|_| span));
            }
        }
        let mut outlines = sources.documents.new_outlines.take().unwrap_or_default();
        outlines.extend(sources.documents.taken_outlines.clone());
        // The place of an alias may be that of its anchor, and does not tell what is there.
        twice.into_iter().for_each(|span| drop(parts.remove(span)));
        Self {
            ground,
            parts,
            groups: HashMap::new(),
            joined: Groups::default(),
            outlines,
        }
    }

    /// The same with the groups that were checked, and what joined them.
    pub(super) fn with_groups(
        self,
        groups: Vec<(Vec<Member>, CheckedGroup)>,
        joined: Groups,
    ) -> Self {
        Self {
            groups: groups.into_iter().collect(),
            joined,
            ..self
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

impl<T> Known<'_, T> {
    /// The part that a definition becomes, if it is the same as the last time. The caller counts its cost.
    pub(super) fn part(&self, definition: &Node, sources: &Sources) -> Option<&CompiledPart<T>> {
        let span = definition.span();
        let known = self.before.parts.get(span)?;
        let is_same = self.has_same_text(span)
            && sources.documents.lost.is_whole(definition)
            && !self.changes.concern(definition, &known.part);
        is_same.then_some(known)
    }

    /// The groups of all parts.
    pub(super) const fn groups(&self) -> &Groups {
        &self.before.joined
    }

    /// The findings for a group in `namespaces`, none of whose definitions was compiled again. The caller counts its cost.
    pub(super) fn group(
        &self,
        group: &[Member],
        namespaces: &BTreeSet<String>,
    ) -> Option<&CheckedGroup> {
        let known = self.before.groups.get(group)?;
        let mut places = group.iter().map(Member::place);
        let is_same = places.all(|place| self.has_same_text(place))
            && !self.changes.are_asked_for(&known.links, namespaces);
        is_same.then_some(known)
    }

    /// Returns true if the file of a place has the text that it had before.
    fn has_same_text(&self, place: &Span) -> bool {
        let text = self.files.get(&place.path);
        text.is_some() && text == self.before.ground.files.get(&place.path)
    }
}

#[cfg(test)]
mod tests;
