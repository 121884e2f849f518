//! What is proved on two servers: the simulator, and a real kube-apiserver where there is one.
//!
//! A behaviour is a conversation with a server. What the real server answered is kept beside the
//! test, so that the simulator is held to it on every machine, and both are where both are there.

mod agreement;
mod chance;
mod conformance;
mod crash;
mod difference;
mod drill;
mod identities;
mod installs;
mod keeping;
mod kubectl;
pub(crate) mod kubernetes;
mod mutations;
mod pipeline;
mod planning;
mod refusals;
mod reply;
mod servers;
mod session;
mod standing;
mod target;
