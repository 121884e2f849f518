//! The way to a value, which becomes a path for the few that are told of.

use crate::model::Path;

/// Where a value stands, seen from its document.
pub(super) enum Way<'a> {
    /// It is the document.
    Top,
    /// In a map, under a key.
    Key(&'a Self, &'a str),
    /// In a list.
    Index(&'a Self, usize),
}

impl Way<'_> {
    /// The same as a path.
    pub(super) fn path(&self) -> Path {
        match self {
            Self::Top => Path::default(),
            Self::Key(way, name) => way.path().key(*name),
            Self::Index(way, index) => way.path().index(*index),
        }
    }

    /// The key it stands under, of a list that the list stands under; empty of a document.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Top => "",
            Self::Key(_, name) => name,
            Self::Index(way, _) => way.name(),
        }
    }

    /// What it stands in.
    pub(super) const fn around(&self) -> &Self {
        match self {
            Self::Top => self,
            Self::Key(way, _) | Self::Index(way, _) => way,
        }
    }

    /// Whether it stands under one of these keys, at whatever depth.
    pub(super) fn is_below(&self, keys: &[&str]) -> bool {
        match self {
            Self::Top => false,
            Self::Key(way, name) => keys.contains(name) || way.is_below(keys),
            Self::Index(way, _) => way.is_below(keys),
        }
    }
}
