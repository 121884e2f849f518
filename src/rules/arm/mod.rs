//! The Azure resources of a fleet, and the names they will have in Azure.

mod id;
mod resource;
mod world;

pub(super) use id::ArmId;
pub(super) use resource::{Field, Resource};
pub(super) use world::World;
