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
//! - [`health`]: what a live object says of itself.
pub mod adapters;
pub mod api;
pub mod graph;
pub mod health;
pub mod model;
pub mod plan;
pub mod rules;
//! - [`api`]: the kinds we read and write.
//! - [`expand`]: from a definition to the objects that make its cluster.
//! - [`schema`]: what a value may be, and what an apply makes of it.
pub mod api;
pub mod expand;
pub mod model;
pub mod yaml;
pub mod schema;
