//! Capstan: a GitOps reconciler for Azure Red Hat OpenShift (ARO HCP) clusters.
//!
//! The rooms, in the order data flows through them:
//!
//! ```text
//! git ─► Tree ─► yaml ─► overlay ─► expand ─► graph ─► rules ─► plan ─► kubernetes ─► health ─► checks
//!        files   nodes   merged     objects   edges    findings steps   applied       state     notes
//! ```
//!
//! - [`model`]: the values everybody may hold.
//! - [`schema`]: what a value may be, and what an apply makes of it.
//! - [`health`]: what a live object says of itself.
//! - [`adapters`]: everything that touches the world; [`adapters::sim`] is a world of our own.
pub mod adapters;
pub mod api;
pub mod health;
pub mod model;
pub mod schema;
