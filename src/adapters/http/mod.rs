//! The HTTP server of the daemon, and of the controllers alone: health, metrics and webhooks.
//!
//! In: requests, the webhooks' secrets, the repository's address. Out: answers, [`Metrics`] as text, and
//! [`Hints`]: a delivery that is authenticated and of this repository is a reason to fetch, nothing more.
//! It does not know: what a fetch brings, what the daemon does with a hint.

mod compare;
mod event;
mod fleets;
mod form;
mod hints;
mod metrics;
mod payload;
mod press;
mod relay;
mod repository;
mod rerun;
#[cfg(test)]
mod router_tests;
mod secrets;
mod sender;
mod server;
mod signature;
mod standard_webhook;
mod tls;
mod webhook;

pub use fleets::FleetWebhooks;
pub use hints::Hints;
pub use metrics::{Delivered, Metrics};
pub use relay::{seal, unseal};
pub use secrets::{SecretSource, Secrets};
pub use sender::Sender;
pub use server::{Error, Probed, Server, fleets_router, probes, router};
pub use webhook::Webhooks;
