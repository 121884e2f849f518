//! The parts of a fleet as they were compiled last.
//!
//! In: a fleet that is compiled again. Out: the parts of it that would become the same. A part becomes the same if its file
//! has the same text and nothing else changed that it is made of: settings, overlays that select it, and objects of the
//! environment that it asks for. It does not know where files come from, and how parts are compiled.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::environment::Environment;
use super::part::{CompiledPart, Part};
use super::sources::Sources;
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::overlay::Overlay;
use crate::model::{Node, Object, ObjectId, Span, Tree};
use crate::overlay::{self, Overlays};
use crate::schema::strategic::ListKeys;

/// The parts of the fleet that was compiled last, with a value for each object.
pub struct Memory<T> {
    ground: Option<Ground>,
    /// By the places of the definitions.
    parts: HashMap<Span, Remembered<T>>,
    compiled: usize,
}

/// A part, and the text of its file.
struct Remembered<T> {
    text: Arc<[u8]>,
    compiled: CompiledPart<T>,
}

/// The input of parts, beside their own files.
pub(super) struct Ground {
    policy: FleetPolicy,
    lists: ListKeys,
    /// True if there may be overlays that could not be read at all.
    is_blind: bool,
    overlays: Vec<Overlay>,
    environment: HashMap<ObjectId, Object>,
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
    memory: &'m mut Memory<T>,
    sources: &'m Sources,
    tree: &'m Tree,
    ground: Ground,
    /// `None` if any part may become another one.
    changes: Option<Changes>,
}

impl<T> Default for Memory<T> {
    fn default() -> Self {
        Self {
            ground: None,
            parts: HashMap::new(),
            compiled: 0,
        }
    }
}

impl<T> Memory<T> {
    /// The number of definitions that were compiled the last time, because they were not known before.
    #[must_use]
    pub const fn compiled(&self) -> usize {
        self.compiled
    }

    pub(super) fn compare<'m>(
        &'m mut self,
        ground: Ground,
        sources: &'m Sources,
        tree: &'m Tree,
    ) -> Known<'m, T> {
        let before = self.ground.as_ref();
        Known {
            changes: before.and_then(|before| Changes::between(before, &ground, &sources.overlays)),
            memory: self,
            sources,
            tree,
            ground,
        }
    }
}

impl Ground {
    pub(super) fn of(
        policy: &FleetPolicy,
        overlays: &Overlays,
        environment: &Environment<'_>,
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
        overlays.any(|one| overlay::selects(one, definition)) || self.are_asked_for(part)
    }

    /// Returns true if a part asks for an object of the environment that changed.
    fn are_asked_for(&self, part: &Part) -> bool {
        if self.objects.is_empty() {
            return false;
        }
        // An identity that is not there has others beside it that may be meant.
        let is_asked = |id: &ObjectId| {
            self.objects.contains(id) || is_identity(id) && self.identities.contains(&id.namespace)
        };
        let namespace = |name: &String| ObjectId::new("", "Namespace", "", name);
        part.links.needed.iter().any(is_asked)
            || part
                .namespaces
                .iter()
                .any(|name| self.objects.contains(&namespace(name)))
    }
}

fn is_identity(id: &ObjectId) -> bool {
    id.is(INFRASTRUCTURE, "AzureClusterIdentity")
}

impl<T: Clone> Known<'_, T> {
    /// The part that a definition becomes, if it is the same as the last time. Counts what it took then.
    pub(super) fn find(&self, definition: &Node) -> Option<CompiledPart<T>> {
        let changes = self.changes.as_ref()?;
        let span = definition.span();
        let known = self.memory.parts.get(span)?;
        let is_same = self.tree.files.get(&span.path) == Some(&known.text)
            && self.sources.documents.lost.is_whole(definition)
            && !changes.concern(definition, &known.compiled.part);
        if !is_same {
            return None;
        }
        let compiled = &known.compiled;
        self.sources.documents.budget.spend(compiled.cost);
        self.sources.overlays.weigh_again(&compiled.part.effects);
        Some(compiled.clone())
    }

    /// Remembers the parts of this fleet instead of those of the last one.
    pub(super) fn remember(self, compiled: &[CompiledPart<T>]) {
        let mut before = std::mem::take(&mut self.memory.parts);
        let mut twice = Vec::new();
        for (definition, compiled) in self.sources.definitions.iter().zip(compiled) {
            let span = definition.span();
            let is_whole = self.sources.documents.lost.is_whole(definition);
            let Some(text) = self.tree.files.get(&span.path).filter(|_| is_whole) else {
                continue;
            };
            let known = before.remove(span).filter(|_| !compiled.is_new);
            let remembered = known.unwrap_or_else(|| Remembered {
                text: Arc::clone(text),
                compiled: CompiledPart {
                    is_new: false,
                    ..compiled.clone()
                },
            });
            let other = self.memory.parts.insert(span.clone(), remembered);
            twice.extend(other.map(|_| span));
        }
        // The place of an alias may be that of its anchor, and does not tell what is there.
        twice
            .into_iter()
            .for_each(|span| drop(self.memory.parts.remove(span)));
        self.memory.compiled = compiled.iter().filter(|one| one.is_new).count();
        self.memory.ground = Some(self.ground);
    }
}

#[cfg(test)]
mod tests;
