//! One thing to do.

use std::sync::Arc;

use super::{ObjectId, Payload};

/// The state in which another step's object must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needed {
    /// The object exists.
    Applied,
    /// The object is ready.
    Ready,
}

/// Another step that must come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Predecessor {
    /// Its index in the plan.
    pub step: usize,
    /// The state that its object must reach.
    pub until: Needed,
}

/// A server-side apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The whole object in the form in which it is sent.
    pub payload: Payload,
    /// The field manager.
    pub manager: String,
    /// Whether to take over fields from other managers.
    pub force: bool,
    /// JSON pointers to the fields that are left to others once the object exists.
    pub left: Vec<String>,
}

/// How a step changes the cluster (DESIGN §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The object is created.
    Create,
    /// The object already matches.
    NoOp,
    /// The object is updated in place.
    InPlace,
    /// The object is updated in place, and nodes are replaced.
    Rolling,
    /// An immutable field changes: that needs a new object.
    Replace,
    /// The object is released and stays in the cluster.
    Orphan,
    /// The object is deleted.
    Delete,
    /// Nothing is done yet: something that it needs is neither in the cluster nor in the fleet, or it is being
    /// deleted.
    Blocked,
    /// Nothing is done: the cluster refuses it, Azure would refuse it, or the object belongs to somebody else.
    Refused,
}

/// One thing to do, once its predecessors have reached the states it needs. Plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The object. Copies share it, and what to do.
    pub object: Arc<ObjectId>,
    /// What to do.
    pub action: Arc<Action>,
    /// The effect on the object.
    pub change: Change,
    /// The predecessors, ordered by index.
    pub after: Vec<Predecessor>,
}

#[cfg(test)]
impl Step {
    /// A step that creates `object` after others, and sends nothing.
    pub(crate) fn bare(object: ObjectId, after: &[(usize, Needed)]) -> Self {
        let after = after
            .iter()
            .map(|&(step, until)| Predecessor { step, until });
        let action = Action {
            payload: Payload::default(),
            manager: String::new(),
            force: false,
            left: Vec::new(),
        };
        Self {
            object: object.into(),
            action: action.into(),
            change: Change::Create,
            after: after.collect(),
        }
    }

    /// The same step, but it sends this.
    pub(crate) fn sending(self, payload: Payload) -> Self {
        let action = Action {
            payload,
            ..Action::clone(&self.action)
        };
        Self {
            action: action.into(),
            ..self
        }
    }
}
