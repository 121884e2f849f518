//! All integration tests in one binary: a module per topic.
//!
//! Most are proved on two servers: the simulator, and a real kube-apiserver where there is one. A
//! behaviour is a conversation with a server. What the real server answered is kept beside the test,
//! so that the simulator is held to it on every machine, and both are where both are there.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod conformance;
mod difference;
mod differential;
mod installs;
mod kubectl;
mod kubernetes;
mod mutations;
mod normalize;
mod oracle;
mod published;
mod random;
mod reply;
mod servers;
mod session;
