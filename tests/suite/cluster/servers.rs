//! The two servers behind one handle.

use std::sync::Arc;

use capstan::adapters::sim::api;
use capstan::adapters::sim::clock::SimClock;
use jiff::Timestamp;
use kube::Client;
use tokio::runtime::{Builder, Runtime};

use super::kubernetes::Kubernetes;

/// A server to talk to.
#[derive(Clone)]
pub(super) enum Server {
    /// Ours, in this process, and fresh.
    Simulator(api::Server),
    /// A real one, shared by all tests of this process.
    Real(&'static Kubernetes),
}

impl Server {
    /// A fresh simulator.
    pub(super) fn simulator() -> Self {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        Self::Simulator(api::Server::new(Arc::new(clock)))
    }

    /// A runtime to talk in: nobody waits for the simulator.
    pub(super) fn runtime(&self) -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder.enable_all();
        builder.start_paused(matches!(self, Self::Simulator(_)));
        builder.build().expect("a runtime")
    }

    /// A client of its own, which repeats nothing. Must be called within a runtime.
    pub(super) async fn client(&self) -> Client {
        match self {
            Self::Simulator(server) => server.client("default"),
            Self::Real(kubernetes) => kubernetes.client().await,
        }
    }

    /// Forgets all history.
    pub(super) fn compact(&self) {
        match self {
            Self::Simulator(server) => server.compact(),
            Self::Real(kubernetes) => kubernetes.compact(),
        }
    }
}
