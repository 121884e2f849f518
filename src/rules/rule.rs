//! What a rule is.

use super::arm::{Resource, World};
use crate::model::{Finding, Object};

/// One rule: looks at an object and says what is wrong with it.
pub(super) type Rule = fn(&Object) -> Vec<Finding>;
/// A rule of the resources of one kind, which may look at the others.
pub(super) type ResourceRule = fn(&World<'_>, &Resource<'_>) -> Vec<Finding>;
/// A rule of the resources of a whole fleet, which it goes through once.
pub(super) type FleetRule = fn(&World<'_>) -> Vec<Finding>;
