//! The requests that wait for their turn.
//!
//! In: requests, each with its namespace and what it costs. Out: a turn, which ends when it is dropped. It does not know how
//! turns are shared: [`Turns`] does.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::admission::{Cost, Turns};

/// The queue of one webhook.
#[derive(Default)]
pub(super) struct Queue(Mutex<Turns<oneshot::Sender<Turn>>>);

/// A request that goes on.
pub(super) struct Turn {
    queue: Arc<Queue>,
    namespace: String,
    cost: Cost,
}

impl Queue {
    /// Waits for the turn of a request of `namespace`; `None` if too many of it are here.
    pub(super) async fn enter(self: &Arc<Self>, namespace: &str, cost: Cost) -> Option<Turn> {
        let (ticket, turn) = oneshot::channel();
        {
            let mut turns = self.0.lock();
            turns.retain(namespace, |ticket| !ticket.is_closed());
            if !turns.enter(namespace, cost, ticket) {
                return None;
            }
        }
        self.go_on();
        turn.await.ok()
    }

    /// Gives turns to those who may go on. Who stopped waiting gives it back at once.
    fn go_on(self: &Arc<Self>) {
        loop {
            let Some((namespace, ticket, cost)) = self.0.lock().go_on() else {
                return;
            };
            let turn = Turn {
                queue: Arc::clone(self),
                namespace,
                cost,
            };
            let _ = ticket.send(turn);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.0.lock().leave(&self.namespace, self.cost);
        self.queue.go_on();
    }
}
