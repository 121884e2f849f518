//! Applies a plan to a cluster and follows the result.
//!
//! In: a [`Plan`](crate::plan::Plan) and a `kube::Client`. Out: [`Progress`](crate::apply::Progress)
//! events, one whenever the state of an object of the plan, or of a resource embedded in one, changes.
//!
//! ```text
//! plan ─► runner ─► Event ─► apply::Engine ─► Command ─► server-side apply, delete, read, watch
//!            ▲                                                          │
//!            └────────── answers, watch events ◄── cluster ◄────────────┘
//! ```
//!
//! Nothing is polled: a step starts when the watch event that satisfies its last predecessor
//! arrives. It does not know where the plan came from, who reads the progress, or what to do next.
//!
//! [`survey`] is separate: it reads once what the cluster has of fleets, and writes nothing.

mod absent;
mod account;
mod address;
pub mod adopt;
mod any_object;
mod approvals;
mod aro_controllers;
mod aso;
mod capi;
mod claim;
mod compare;
mod connect;
pub mod controller;
mod discovery;
mod error;
mod events;
mod fleets;
mod handover;
mod held_lease;
mod hub;
mod identity;
mod install;
mod kubeconfig;
mod lease;
mod members;
mod namespaces;
mod objects;
mod owner;
mod parent;
mod per_namespace;
mod recreation;
mod refusal;
mod request;
mod retry;
mod review;
mod rights;
mod runner;
mod secret;
mod secret_keys;
mod steering;
pub mod survey;
mod watch;
mod watch_within;
mod workloads;

pub use absent::{is_account_absent, is_secret_absent};
pub use account::act_as;
pub use approvals::{record_approvals, recorded_approvals, report_approval, take_annotation};
pub use aro_controllers::{Group, Holder as LeaseHolder, LEASE, Sharers, Sharing, Standing, share};
pub(crate) use aso::{aro_kinds, cluster_namespaces, examine_aso};
pub(crate) use capi::examine_capi;
pub use claim::{Claim, claimed, unclaim};
pub use compare::{Compared, compare};
pub use connect::{Access, ConnectError, connect, connect_named};
pub use discovery::unserved;
pub use error::{Error, classify};
pub(crate) use events::{Reporter, report_event};
pub use fleets::{
    FleetChange, FleetObject, annotate_fleet, fleet_version, fleets, hold_fleet, parents,
    write_fleet_status,
};
pub use held_lease::{HeldLease, Holder, Unpermitted};
pub use hub::{GATHERING, Hub, HubKind, Known, Objects, follow_kind};
pub use install::{
    INSTALLER, InstallError, Installed, Installer, Probe, Removal, Remover, brought_by, wait,
};
pub use kubeconfig::Fault;
pub use lease::LeaseName;
pub use members::{SecondOwners, Unseen, second_owners};
pub use namespaces::is_ending;
pub use objects::KubeObjects;
pub use parent::{applied_revisions, recorded_members, remove_parent};
pub use recreation::approve_recreation;
pub use review::{Right, lacking, whoami};
pub use rights::{Rights, missing_rights};
pub use runner::{Input, Options, Target, run, run_once};
pub use secret::{SecretError, connect_by_secret};
pub use secret_keys::{secret_keys, watch_secret_keys};
pub use steering::{annotate_parent, record_newest, record_source_error, steering};
pub use workloads::KubeWorkloads;
