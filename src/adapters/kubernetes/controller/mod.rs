//! The one runtime that all controllers run on.
//!
//! In: controllers as values (what each watches, handles and decides), a client and a clock. Out:
//! writes to the cluster, each under its controller's field manager.
//!
//! ```text
//! watches ─► cache ─► World ─► reconcile ─► Outcome ─► writer ─► cluster
//!              ▲        schedule: what is next              │
//!              └───────────────── answers ◄─────────────────┘
//! ```
//!
//! It does not know what a controller is for.

mod backoff;
mod cache;
mod runtime;
mod schedule;
#[cfg(test)]
mod tests;
pub(crate) mod watches;
pub(crate) mod writer;

use std::sync::Arc;

use kube::Client;
use tokio::task::JoinHandle;

use crate::model::Clock;
use crate::reconcile::controller::Controller;

/// Controllers at work; dropping it stops them.
#[derive(Debug)]
pub struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs the controllers on the cluster behind `client` until the result is dropped. `clock` has the
/// time of the cluster.
#[must_use]
pub fn spawn(client: Client, clock: Arc<dyn Clock>, controllers: Vec<Controller>) -> Running {
    let runtime = runtime::Runtime::new(client, clock, controllers);
    Running(tokio::spawn(runtime.run()))
}
