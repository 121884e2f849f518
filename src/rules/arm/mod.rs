//! The Azure resources of a fleet, and the ARM ids they will have.

mod id;
mod resource;
mod world;

pub(super) use id::ArmId;
pub(super) use resource::{Field, POLICY, Resource};
pub(super) use world::World;
