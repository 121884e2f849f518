//! The service provider: clusters over a REST API, kept in git or on the hub.
//!
//! In: requests, releases of the hub, definitions of the tree, hosted clusters and their node pools. Out: definitions, answers, status
//! messages, registrations. It does not know HTTP, git, NATS or Kubernetes clients.
//!
//! ```text
//!  body ─► request ─► definition ─────────► file in git, or objects on the hub
//!                        │ (read back)
//!  git, hub ─► instance ─┴─► view ─► answers, events
//! ```

pub mod agents;
pub mod capabilities;
pub mod conflict;
pub mod definition;
pub mod events;
pub mod health;
pub mod instance;
pub mod labels;
pub mod openapi;
pub mod page;
pub mod problem;
pub mod proposal;
pub mod registration;
pub mod request;
pub mod status;
pub mod version;
pub mod view;
