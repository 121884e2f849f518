//! What a rule is.

use super::arm::{Resource, World};
use crate::model::{Finding, Object};

/// A rule for any object.
pub(super) type Rule = fn(&Object) -> Vec<Finding>;
/// A rule for the resources of one kind, which may look at other resources.
pub(super) type ResourceRule = fn(&World<'_>, &Resource<'_>) -> Vec<Finding>;
/// A rule for all resources of a fleet.
pub(super) type FleetRule = fn(&World<'_>) -> Vec<Finding>;
