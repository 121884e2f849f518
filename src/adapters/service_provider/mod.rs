//! The service provider's ways to others: its REST API, messages over NATS, and the registry of a DCM.
//!
//! In: requests, messages, registrations. Out: answers of the [`Clusters`] behind the API, deliveries, and the registry's answers. It does
//! not know git or the hub.

mod api;
#[cfg(feature = "nats")]
pub mod nats;
pub mod registry;

pub use api::{Caller, Clusters, Create, Created, Limits, Token, TokenFault, Tokens, router};
