//! The path to a value, built only for the few values that are reported.

use crate::model::Path;

/// The path to a value from the top of its document, as a linked list on the stack.
pub(super) enum Way<'a> {
    /// The document itself.
    Top,
    /// In a map, under a key.
    Key(&'a Self, &'a str),
    /// In a list.
    Index(&'a Self, usize),
}

impl Way<'_> {
    /// The same as a [`Path`].
    pub(super) fn path(&self) -> Path {
        match self {
            Self::Top => Path::default(),
            Self::Key(way, name) => way.path().key(*name),
            Self::Index(way, index) => way.path().index(*index),
        }
    }

    /// The nearest key above it; empty for the document.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Top => "",
            Self::Key(_, name) => name,
            Self::Index(way, _) => way.name(),
        }
    }

    /// The path to its parent.
    pub(super) const fn around(&self) -> &Self {
        match self {
            Self::Top => self,
            Self::Key(way, _) | Self::Index(way, _) => way,
        }
    }

    /// Whether it is below one of these keys, at any depth.
    pub(super) fn is_below(&self, keys: &[&str]) -> bool {
        match self {
            Self::Top => false,
            Self::Key(way, name) => keys.contains(name) || way.is_below(keys),
            Self::Index(way, _) => way.is_below(keys),
        }
    }
}
