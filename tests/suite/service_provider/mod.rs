//! The service provider, with real parts and strict fakes.

pub(crate) mod api;
mod attacks;
mod commits;
mod life;
mod load;
mod messages;
mod nats;
mod nats_refusals;
pub(crate) mod nats_server;
mod nats_tls;
mod openapi;
mod registering;
mod registry;
pub(crate) mod registry_fake;
mod unreachable;
mod world;
