//! A fleet as a rehearsal needs it.
//!
//! In: objects, each once it is compiled. Out: [`Script`], which has the step of each, and what tells the part that it belongs to. It
//! does not know what happens in a rehearsal.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::private_link::is_private;
use super::names::Names;
use super::prerequisites::prerequisites;
use crate::api::embedded;
use crate::compile::Compiled;
use crate::graph::Graph;
use crate::model::{EmbeddedId, Object, ObjectId};
use crate::plan::{ApplySet, Kept, Plan, of_kept};

/// An object in a rehearsal. Copies share its step.
#[derive(Clone, Debug)]
pub(super) struct Role {
    kept: Kept,
    pub(super) names: Names,
    /// The objects that a person must create before it.
    pub(super) prerequisites: Vec<ObjectId>,
    /// The number of objects that it becomes: itself and the resources in it.
    pub(super) count: usize,
    /// True if it is a private cluster of HyperShift.
    pub(super) is_private: bool,
}

/// The objects of a fleet or of a part of it, in their order, and their graph.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub(super) roles: Vec<Role>,
    pub(super) graph: Arc<Graph>,
}

impl Role {
    /// Of an object that is a member of `set`.
    pub(super) fn of(object: &Object, set: &ApplySet) -> Self {
        let is_private = is_private(object);
        Self {
            kept: Kept::of(object, set),
            names: Names::of(object),
            prerequisites: prerequisites(object),
            count: 1 + embedded::items(object).len(),
            is_private,
        }
    }
}

impl Script {
    pub(super) fn of(compiled: &Compiled, set: &ApplySet) -> Self {
        let roles = compiled.objects.par_iter();
        Self {
            roles: roles.map(|object| Role::of(object, set)).collect(),
            graph: Arc::clone(&compiled.graph),
        }
    }

    /// Returns true if it has a private cluster of HyperShift.
    pub(super) fn has_private_cluster(&self) -> bool {
        self.roles.iter().any(|role| role.is_private)
    }

    /// The plan for a cluster that has nothing yet, and the resources that controllers create.
    pub(super) fn plan(&self) -> (Plan, Arc<[EmbeddedId]>) {
        let kept: Vec<Kept> = self.roles.iter().map(|role| role.kept.clone()).collect();
        of_kept(&kept, &self.graph)
    }
}
