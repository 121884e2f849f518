//! Where a walk through a value stands, without a copy of the way for every step.

use crate::model::{Path, Segment};

/// A place in a value: the steps back to the root.
#[derive(Clone, Copy)]
pub(super) struct At<'a>(Option<(&'a Self, Step<'a>)>);

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    /// A free key of a map: some messages write those in brackets.
    FreeKey(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    pub(super) const ROOT: Self = Self(None);

    pub(super) const fn key(&'a self, name: &'a str) -> Self {
        Self(Some((self, Step::Key(name))))
    }

    pub(super) const fn free_key(&'a self, name: &'a str) -> Self {
        Self(Some((self, Step::FreeKey(name))))
    }

    pub(super) const fn index(&'a self, index: usize) -> Self {
        Self(Some((self, Step::Index(index))))
    }

    pub(super) const fn is_root(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn path(&self) -> Path {
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
    pub(super) fn written(&self) -> String {
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
    pub(super) fn field(&self) -> String {
        match self.0 {
            None => "<nil>".into(),
            Some(_) => self.written(),
        }
    }
}
