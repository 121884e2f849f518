//! The two servers behind one handle.

use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use kube::Client;
use kube_sim::SimClock;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

use crate::kubernetes::Kubernetes;

/// A server to talk to.
#[derive(Clone)]
pub(crate) enum Server {
    /// Ours, in this process, and fresh.
    Simulator(kube_sim::Server),
    /// A real one, shared by all tests of this process.
    Real(&'static Kubernetes),
}

impl Server {
    /// A fresh simulator.
    pub(crate) fn simulator() -> Self {
        let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        Self::Simulator(kube_sim::Server::new(Arc::new(clock)))
    }

    /// A runtime to talk in: nobody waits for the simulator.
    pub(crate) fn runtime(&self) -> Runtime {
        let mut builder = Builder::new_current_thread();
        builder.enable_all();
        builder.start_paused(matches!(self, Self::Simulator(_)));
        builder.build().expect("a runtime")
    }

    /// A client of its own, which repeats nothing. Must be called within a runtime.
    pub(crate) async fn client(&self) -> Client {
        match self {
            Self::Simulator(server) => server.client("default"),
            Self::Real(kubernetes) => kubernetes.client().await,
        }
    }

    /// Forgets all history.
    pub(crate) fn compact(&self) {
        match self {
            Self::Simulator(server) => server.compact(),
            Self::Real(kubernetes) => kubernetes.compact(),
        }
    }
}

/// Serves the simulator on a port of loopback, whose address it gives.
pub(crate) async fn serve(server: kube_sim::Server) -> String {
    serve_router(server.router()).await
}

/// The same of whatever answers like one.
pub(crate) async fn serve_router(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// A kubeconfig for a server that takes everybody.
pub(crate) fn anonymous(address: &str) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    config.to_string()
}
