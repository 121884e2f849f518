//! The service provider, with real parts and strict fakes.

mod commits;
mod life;
mod nats;
mod nats_refusals;
pub(crate) mod nats_server;
mod nats_tls;
mod registry;
pub(crate) mod registry_fake;
mod world;
