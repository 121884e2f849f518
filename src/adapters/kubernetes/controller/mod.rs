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
mod checks;
mod connectors;
mod counts;
mod keys;
mod links;
mod merged;
mod nodes;
mod outbox;
mod questions;
mod runtime;
mod schedule;
mod secrets;
#[cfg(test)]
mod tests;
mod watch_event;
pub(crate) mod watches;
pub(crate) mod writer;

use std::sync::Arc;

pub use connectors::{Connectors, Unconnected};
pub use counts::Counts;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::model::Clock;
use crate::reconcile::Watched;
use crate::reconcile::controller::Controller;

/// Controllers at work; dropping it stops them.
#[derive(Debug)]
pub struct Running {
    task: JoinHandle<()>,
    resting: watch::Receiver<bool>,
}

impl Running {
    /// Waits until no write is in progress. Without leave to act, none begins after that.
    pub async fn rest(&self) {
        let mut resting = self.resting.clone();
        // Without a sender nothing is written any more.
        let _ = resting.wait_for(|rests| *rests).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Runs the controllers on the cluster behind `client` until the result is dropped. `clock` has the
/// time of the cluster.
#[must_use]
pub fn spawn(
    client: Client,
    clock: Arc<dyn Clock>,
    controllers: Vec<Controller>,
    connectors: Connectors,
) -> Running {
    let (sender, may_act) = watch::channel(true);
    let counts = Arc::default();
    let all = Watched::default();
    let running = spawn_while(client, clock, controllers, connectors, all, may_act, counts);
    // Without a sender the value stays.
    drop(sender);
    running
}

/// The same, but they see these namespaces alone, and decide and write only while `may_act` is true. They watch in any case.
/// `counts` has what they did.
#[must_use]
pub fn spawn_while(
    client: Client,
    clock: Arc<dyn Clock>,
    controllers: Vec<Controller>,
    connectors: Connectors,
    watched: Watched,
    may_act: watch::Receiver<bool>,
    counts: Arc<Counts>,
) -> Running {
    let runtime = runtime::Runtime::new(
        client,
        clock,
        controllers,
        connectors,
        watched,
        may_act,
        counts,
    );
    let resting = runtime.resting();
    let task = tokio::spawn(runtime.run());
    Running { task, resting }
}
