//! One thing to do next.

use super::{ObjectId, Payload};

/// What a step waits for in another step's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needed {
    /// The object is there.
    Applied,
    /// The object is ready.
    Ready,
}

/// Another step that comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Predecessor {
    /// Its index in the plan.
    pub step: usize,
    /// How far it must have come.
    pub until: Needed,
}

/// What a step does to the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Server-side apply of `payload` as `manager`.
    Apply {
        /// The whole object as it is sent.
        payload: Payload,
        /// The field manager.
        manager: String,
        /// Whether to take fields from other managers.
        force: bool,
        /// JSON pointers to what is left to others once the object is made.
        left: Vec<String>,
    },
}

/// How a step changes what is there (DESIGN §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// It is not there yet.
    Create,
    /// It is there as asked for.
    NoOp,
    /// It is changed where it is.
    InPlace,
    /// It is changed where it is, and nodes are replaced for it.
    Rolling,
    /// A field is changed that cannot be: only a new object would have it.
    Replace,
    /// It is released, and stays.
    Orphan,
    /// It is deleted.
    Delete,
    /// Nothing is done: what it needs is neither in the cluster nor in the fleet.
    Blocked,
    /// Nothing is done: the cluster, or whose object it is, stands against it.
    Refused,
}

/// One thing to do, once its predecessors have come far enough. Plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The object it is about.
    pub object: ObjectId,
    /// What to do.
    pub action: Action,
    /// What that means for the object.
    pub change: Change,
    /// What comes first, in order of index.
    pub after: Vec<Predecessor>,
}

#[cfg(test)]
impl Step {
    /// A step that makes `object`, and sends nothing, after others.
    pub(crate) fn bare(object: ObjectId, after: &[(usize, Needed)]) -> Self {
        let after = after
            .iter()
            .map(|&(step, until)| Predecessor { step, until });
        Self {
            object,
            action: Action::Apply {
                payload: Payload::default(),
                manager: String::new(),
                force: false,
                left: Vec::new(),
            },
            change: Change::Create,
            after: after.collect(),
        }
    }
}
