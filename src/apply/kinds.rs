//! What is known of the kinds that are watched.
//!
//! In: what the cluster answered. Out: how far the members of a kind are known. It does not know: what is
//! asked, and when.

use std::collections::{BTreeMap, BTreeSet};

use super::Kind;
use crate::model::ObjectId;

/// How far the members of a kind are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindState {
    /// The cluster was asked how it serves the kind.
    Asked,
    /// Its members are being listed.
    Listing { namespaced: bool },
    /// Its members are known, and watched.
    Listed { namespaced: bool },
    /// Its watch found nothing at its address: after a while, the cluster is asked how it serves it.
    Lost,
    /// The cluster did not answer, or does not serve it.
    Unserved,
}

impl KindState {
    /// Whether its members will be known, or the question fails.
    const fn is_pending(self) -> bool {
        matches!(self, Self::Asked | Self::Lost | Self::Listing { .. })
    }

    /// Whether its objects are in namespaces, if the cluster has reported it.
    const fn is_namespaced(self) -> Option<bool> {
        match self {
            Self::Listing { namespaced } | Self::Listed { namespaced } => Some(namespaced),
            Self::Asked | Self::Lost | Self::Unserved => None,
        }
    }
}

/// Everything that is watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinds {
    members: BTreeMap<Kind, KindState>,
    /// Kinds of embedded resources, all of which are watched.
    embedded: BTreeSet<Kind>,
    /// Those of them whose objects were seen.
    embedded_listed: BTreeSet<Kind>,
    /// Whether definitions of custom kinds are watched.
    defining: bool,
}

impl Kinds {
    /// How far the members of a kind are known.
    pub(crate) fn state(&self, kind: &Kind) -> Option<KindState> {
        self.members.get(kind).copied()
    }

    /// Moves a kind to another state.
    pub(crate) fn enter(&mut self, kind: &Kind, state: KindState) {
        self.members.insert(kind.clone(), state);
    }

    /// Whether the members of a kind are known.
    pub(crate) fn is_listed(&self, kind: &Kind) -> bool {
        matches!(self.state(kind), Some(KindState::Listed { .. }))
    }

    /// The kind of an object at the version at which its members are known.
    pub(crate) fn listed(&self, id: &ObjectId) -> Option<&Kind> {
        let listed = |(kind, state): (&_, &KindState)| {
            let (group, _, name): &Kind = kind;
            id.is(group, name) && matches!(state, KindState::Listed { .. })
        };
        let mut members = self.members.iter();
        let found = members.find(|(kind, state)| listed((kind, state)));
        found.map(|(kind, _)| kind)
    }

    /// Every kind that the cluster serves, as far as is known, and whether its objects are in namespaces.
    pub(crate) fn served(&self) -> Vec<(Kind, bool)> {
        let served =
            |(kind, state): (&Kind, &KindState)| Some((kind.clone(), state.is_namespaced()?));
        self.members.iter().filter_map(served).collect()
    }

    /// Whether no answer about members is awaited.
    pub(crate) fn are_known(&self) -> bool {
        !self.members.values().any(|state| state.is_pending())
    }

    /// Whether all objects of a kind are watched.
    pub(crate) fn is_embedded(&self, kind: &Kind) -> bool {
        self.embedded.contains(kind)
    }

    /// All objects of a kind are watched from now on.
    pub(crate) fn watch_embedded(&mut self, kind: &Kind) {
        self.embedded.insert(kind.clone());
    }

    /// Whether all objects of a kind were seen.
    pub(crate) fn is_embedded_listed(&self, kind: &Kind) -> bool {
        self.embedded_listed.contains(kind)
    }

    /// All objects of a kind were seen.
    pub(crate) fn list_embedded(&mut self, kind: &Kind) {
        self.embedded_listed.insert(kind.clone());
    }

    /// Definitions are watched from now on; `true` for the first time.
    pub(crate) fn watch_definitions(&mut self) -> bool {
        !std::mem::replace(&mut self.defining, true)
    }
}
