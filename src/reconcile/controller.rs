//! A controller as a value: who it writes as, what it watches, and its decision about one object.

use jiff::Timestamp;

use super::outcome::Outcome;
use super::world::{GroupKind, World};
use crate::health::Live;
use crate::model::ObjectId;

/// One controller.
pub struct Controller {
    /// The field manager of its writes.
    pub(crate) manager: &'static str,
    /// The kinds it always needs. It reconciles nothing before they are synced.
    pub(crate) watches: Vec<GroupKind>,
    /// Whether it reconciles an object of this kind.
    pub(crate) handles: fn(&ObjectId) -> bool,
    /// What to do now about one object. Calls nothing and reads no clock.
    pub(crate) reconcile: Reconcile,
}

/// A pure decision about one live object.
pub(crate) type Reconcile = Box<dyn Fn(World<'_>, Live<'_>, Timestamp) -> Outcome + Send>;
