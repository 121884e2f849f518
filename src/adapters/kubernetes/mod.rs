//! Applying a plan to a cluster and seeing what becomes of it.
//!
//! In: a [`Plan`](crate::plan::Plan) and a `kube::Client`. Out: [`Progress`](crate::apply::Progress)
//! events, one whenever an object of the plan, or a resource embedded in one, reaches another state.
//!
//! ```text
//! plan ─► runner ─► Event ─► apply::Engine ─► Command ─► server-side apply, delete, read, watch
//!            ▲                                                          │
//!            └────────── answers, watch events ◄── cluster ◄────────────┘
//! ```
//!
//! Nothing is polled: a step starts when the watch event that satisfies its last predecessor
//! arrives. It does not know: where the plan came from, who reads the progress, what is to be done next.
//!
//! [`survey`] is apart from it: it reads once what the cluster holds of fleets, and writes nothing.

mod compare;
mod connect;
mod discovery;
mod error;
mod identity;
mod parent;
mod refusal;
mod request;
mod runner;
mod secret;
pub mod survey;
mod watch;

pub use compare::{Compared, compare};
pub use connect::{Access, ConnectError, connect};
pub use error::{Error, trouble};
pub use runner::{Approvals, Assignment, Options, Target, run, run_once};
pub use secret::{Fault, SecretError, connect_by_secret};
