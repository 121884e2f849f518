//! A definition by itself, compiled, and a group of parts, checked.
//!
//! In: what was made of it and found in it. Out: the same as one value, which can be kept. It does not know other parts.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::made::Made;
use super::part_checker::PartFindings;
use crate::model::{Cost, Object, Span};
use crate::overlay::Effects;
use crate::rules::Links;

/// A definition by itself, without its objects.
pub(super) struct Part {
    /// True if patches may not have met all of its objects.
    pub(super) is_incomplete: bool,
    pub(super) made: Made,
    pub(super) effects: Effects,
    pub(super) found: Arc<PartFindings>,
    pub(super) links: Arc<Links>,
    /// The namespaces of its objects.
    pub(super) namespaces: BTreeSet<String>,
    /// True if another definition has its id.
    pub(super) is_twice: bool,
}

/// A part, and a value for each of its objects. Copies share both.
pub(super) struct CompiledPart<T> {
    pub(super) part: Arc<Part>,
    pub(super) kept: Arc<Vec<T>>,
    /// The share of the limits that it took.
    pub(super) cost: Cost,
    /// False if it was compiled before.
    pub(super) is_new: bool,
}

/// The findings for some parts together. Copies share them.
#[derive(Clone)]
pub(super) struct CheckedGroup {
    pub(super) found: Arc<PartFindings>,
    pub(super) links: Arc<Links>,
    /// The share of the limits that it took.
    pub(super) cost: Cost,
}

/// A part of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Member {
    /// A definition, by its place.
    Definition(Span),
    /// A plain object, by its place and a digest of its content.
    Plain(Span, [u8; 32]),
}

impl<T> Clone for CompiledPart<T> {
    fn clone(&self) -> Self {
        Self {
            part: Arc::clone(&self.part),
            kept: Arc::clone(&self.kept),
            ..*self
        }
    }
}

impl Part {
    /// The same if another definition has its id: only what was found in the definition itself counts.
    pub(super) fn twice(&self) -> Self {
        Self {
            is_twice: true,
            is_incomplete: true,
            made: Made {
                of_objects: Vec::new(),
                ..self.made.clone()
            },
            effects: Effects::default(),
            found: Arc::default(),
            links: Arc::default(),
            namespaces: self.namespaces.clone(),
        }
    }
}

impl Member {
    pub(super) fn plain(object: &Object) -> Self {
        let content = object.node.to_json().to_string();
        Self::Plain(object.node.span().clone(), Sha256::digest(content).into())
    }

    pub(super) const fn place(&self) -> &Span {
        match self {
            Self::Definition(place) | Self::Plain(place, _) => place,
        }
    }
}
