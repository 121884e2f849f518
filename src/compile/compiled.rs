//! What a tree becomes, and what is wrong with it.
//!
//! In: objects, their graph and findings. Out: the same as one value, and questions about it. It does not know how they
//! were made.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::allow::Allowed;
use super::limits;
use crate::api::embedded;
use crate::graph::{Graph, Place};
use crate::model::{EmbeddedId, Finding, Object, ObjectId, Severity};

/// The findings about a tree, and its size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The findings, by path, line and id.
    pub findings: Vec<Finding>,
    /// The warnings that a comment allows, in the same order; they are not in `findings`.
    pub allowed: Vec<Allowed>,
    /// The number of definitions.
    pub definitions: usize,
    /// The number of those that cannot be read, so that their rules were not checked.
    pub unread: usize,
    /// The number of top-level objects that it becomes, without encrypted ones.
    pub object_count: usize,
    /// The number of resources that are embedded in these.
    pub embedded_count: usize,
}

/// The result of compiling a tree.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The findings about it.
    pub checked: Checked,
    /// The top-level objects, in the order of the files; ids are unique. Encrypted objects are excluded: they
    /// are neither applied nor removed.
    pub objects: Vec<Object>,
    /// The dependencies.
    pub graph: Arc<Graph>,
}

/// The findings about a tree, and the values that the caller kept of its objects.
#[derive(Clone, Debug, Default)]
pub struct Digest<T> {
    /// The findings.
    pub checked: Checked,
    /// A value for each object, in the order of [`Compiled::objects`]. Objects that share an id, which is an error, have one each.
    pub kept: Vec<T>,
    /// The dependencies; empty for a tree with errors.
    pub graph: Arc<Graph>,
}

/// Makes the value that is kept of an object.
pub(super) type Keep<'a, T> = &'a (dyn Fn(&Object) -> T + Sync);

impl Deref for Compiled {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        &self.checked
    }
}

impl DerefMut for Compiled {
    fn deref_mut(&mut self) -> &mut Checked {
        &mut self.checked
    }
}

impl Checked {
    /// The number of findings with this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    }

    /// Returns true if any finding is an error: then the tree must not be applied.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// The result for a tree that exceeds a limit: it has no objects, and nothing is known of any.
    pub(super) fn stopped(finding: Finding) -> Self {
        Self {
            findings: vec![finding],
            ..Self::default()
        }
    }

    /// Returns true if the tree exceeds a limit.
    pub(super) fn is_stopped(&self) -> bool {
        self.findings.iter().any(|finding| finding.id == limits::ID)
    }
}

impl From<Checked> for Compiled {
    /// A tree without objects.
    fn from(checked: Checked) -> Self {
        Self {
            checked,
            ..Self::default()
        }
    }
}

impl<T> From<Checked> for Digest<T> {
    /// A tree of which nothing was kept.
    fn from(checked: Checked) -> Self {
        Self {
            checked,
            kept: Vec::new(),
            graph: Arc::default(),
        }
    }
}

impl<T> Digest<T> {
    /// The values, each with the id of its object; none of a tree with errors.
    pub fn with_ids(&self) -> impl Iterator<Item = (&Arc<ObjectId>, &T)> + Clone {
        let vertices = self.graph.vertices.iter();
        vertices.filter_map(|vertex| match vertex.place {
            Place::TopLevel(at) => Some((&vertex.id, self.kept.get(at)?)),
            Place::Embedded(_) | Place::Outside => None,
        })
    }
}

impl Compiled {
    /// Replaces each object with the value that `keep` makes of it.
    pub fn digest<T>(self, keep: impl FnMut(&Object) -> T) -> Digest<T> {
        let graph = match self.checked.has_errors() {
            true => Arc::default(),
            false => self.graph,
        };
        Digest {
            checked: self.checked,
            kept: self.objects.iter().map(keep).collect(),
            graph,
        }
    }

    /// The resources embedded in the objects, each with the version it is written in.
    #[must_use]
    pub fn embedded(&self) -> Vec<EmbeddedId> {
        let ids = self.objects.iter().flat_map(embedded::ids);
        ids.map(|(id, version)| (id.into(), version.into()))
            .collect()
    }
}
