//! The place that a walk through a value has reached, without a copy of the path at every step.

use crate::{Path, Segment};

/// A place in a value: the steps back to the root.
#[derive(Clone, Copy)]
pub struct At<'a>(Option<(&'a Self, Step<'a>)>);

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    /// A free key of a map: some messages write those in brackets.
    FreeKey(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The value that the walk starts from.
    pub const ROOT: Self = Self(None);

    /// The field `name` of the map here.
    #[must_use]
    pub const fn key(&'a self, name: &'a str) -> Self {
        Self(Some((self, Step::Key(name))))
    }

    /// The entry `name` of a map whose keys are free.
    #[must_use]
    pub const fn free_key(&'a self, name: &'a str) -> Self {
        Self(Some((self, Step::FreeKey(name))))
    }

    /// The item at a 0-based index of the list here.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        Self(Some((self, Step::Index(index))))
    }

    /// Whether the walk has not left the value it starts from.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.0.is_none()
    }

    /// The place as a path from the root.
    #[must_use]
    pub fn path(&self) -> Path {
        let Some((above, step)) = self.0 else {
            return Path::default();
        };
        let mut path = above.path();
        path.0.push(match step {
            Step::Key(name) | Step::FreeKey(name) => Segment::Key(name.into()),
            Step::Index(index) => Segment::Index(index),
        });
        path
    }

    /// The way in the words of the API server: `spec.list[0].map[key]`.
    pub fn written(&self) -> String {
        let Some((above, step)) = self.0 else {
            return String::new();
        };
        let mut text = above.written();
        match step {
            Step::Index(index) => text += &format!("[{index}]"),
            Step::FreeKey(name) => text += &format!("[{name}]"),
            Step::Key(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text += name;
            }
        }
        text
    }

    /// As [`At::written`]; the API server has a name of its own for the root.
    pub fn field(&self) -> String {
        match self.0 {
            None => "<nil>".into(),
            Some(_) => self.written(),
        }
    }
}
