//! Capstan: a GitOps reconciler for Azure Red Hat OpenShift (ARO HCP) clusters.
//!
//! The modules, in the order data flows through them:
//!
//! ```text
//! git ─► Tree ─► yaml ─► overlay ─► expand ─► graph ─► rules ─► plan ─► kubernetes ─► health ─► checks
//!        files   nodes   merged     objects   edges    findings steps   applied       state     notes
//! ```
//!
//! Pure modules: values in, values out.
//!
//! - [`model`]: the values everybody may hold: spans, nodes, objects, findings, steps, checks.
//! - [`yaml`]: text to nodes with spans, and back to text.
//! - [`schema`]: what a value may be, and what a merge or an apply makes of it.
//! - [`api`]: the kinds we read and write, ours and those of the systems around us.
//! - [`overlay`]: overlays merged with definitions, and patches on objects.
//! - [`expand`]: a definition to the objects that make its cluster.
//! - [`graph`]: what depends on what.
//! - [`rules`]: what must hold before anything is applied.
//! - [`health`]: what a live object reports about itself.
//! - [`plan`]: what to do, and what each change means.
//! - [`apply`]: which step may start, what the cluster has of it, and how far it has come.
//! - [`admission`]: what the admission webhook answers, and the manifests that make an API server ask it.
//! - [`install`]: the manifests of the other components, and the rights that they need.
//! - [`status`]: what the cluster has, what is missing, and what blocks it.
//! - [`reconcile`]: what our controllers decide about one object.
//! - `reporting`: the texts of checks, and which of them were written.
//! - `follow`: what to examine, plan, apply and say next of a repository that is followed.
//! - [`provider`]: what a service provider makes of requests, answers to them, and reports.
//! - [`compile`]: the front door of all these: a tree to objects, graph and findings.
//!
//! Rooms with effects.
//!
//! - [`adapters`]: git, the cluster and the runtime of controllers, checks, the REST API, and the simulated cluster with simulated Azure.
//! - [`daemon`]: the loop that tells a follower what happens, and carries out what it wants.
//! - [`settings`]: flags, environment and file, resolved once.
//! - [`cli`]: the commands.
//!
//! `tests/architecture.rs` holds the arrows between the modules.
pub mod adapters;
pub mod admission;
pub mod api;
pub mod apply;
pub mod cli;
pub mod compile;
pub mod daemon;
pub mod expand;
pub(crate) mod follow;
pub mod graph;
pub mod health;
pub mod install;
pub mod model;
pub mod overlay;
pub mod plan;
pub mod provider;
pub mod reconcile;
pub(crate) mod reporting;
pub mod rules;
pub mod schema;
pub mod settings;
pub mod status;
pub mod yaml;
