//! The order in which requests are written: one at a time, and callers in turn.
//!
//! In: requests that are about to be written. Out: one turn at a time. The requests of one caller wait for each other, and do not delay those
//! of others. It does not know what is written.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard, Semaphore, watch};
use tokio::time::Instant;

use crate::adapters::service_provider::Caller;
use crate::daemon::provider::pace::{Turn, at};
use crate::daemon::provider::state::Snapshot;
use crate::provider::instance::Stored;
use crate::provider::problem::Problem;

/// The most requests of one caller that wait for their turn.
const MOST_WAITING: usize = 200;
/// The longest wait for a turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes happen one at a time. A request that waits too long, or behind too many others of its caller, is refused for now.
pub(in crate::daemon::provider) struct Queue {
    turn: Turn,
    /// There are as many callers as tokens, so the map does not grow.
    lanes: parking_lot::Mutex<BTreeMap<Caller, Arc<Lane>>>,
    /// The instances that were written, until a snapshot has them. Whoever holds it has the turn; of each lane, only the first request waits
    /// for it.
    written: Mutex<Vec<Stored>>,
}

/// The requests of one caller.
struct Lane {
    places: Semaphore,
    /// Held by the first of them.
    first: Arc<Mutex<()>>,
}

/// A turn, with what was written before and is in no snapshot yet.
pub(in crate::daemon::provider) struct Written<'a> {
    written: MutexGuard<'a, Vec<Stored>>,
    _first: OwnedMutexGuard<()>,
}

impl Queue {
    pub(in crate::daemon::provider) fn new(turn: Turn) -> Self {
        Self {
            turn,
            lanes: parking_lot::Mutex::default(),
            written: Mutex::default(),
        }
    }

    /// Waits for a turn, as long as this process may write.
    pub(in crate::daemon::provider) async fn turn(
        &self,
        caller: &Caller,
        state: &watch::Receiver<Arc<Snapshot>>,
    ) -> Result<Written<'_>, Problem> {
        let busy = || Problem::later("too many requests wait: try again later", 5);
        let lane = self.lane(caller);
        let _waits = lane.places.try_acquire().map_err(|_| busy())?;
        let mut written = tokio::select! {
            biased;
            written = self.written(&lane) => written,
            () = at(Some(Instant::now() + PATIENCE)) => {
                let detail = "the requests before this one take too long: try again later";
                return Err(Problem::later(detail, 5));
            }
        };
        if !self.turn.is_ours() {
            let detail = "another replica of this provider writes: send the request again";
            return Err(Problem::later(detail, 15));
        }
        let snapshot = state.borrow().clone();
        written.retain(|stored| snapshot.entry(&stored.id).is_none());
        Ok(written)
    }

    fn lane(&self, caller: &Caller) -> Arc<Lane> {
        let mut lanes = self.lanes.lock();
        let lane = lanes.entry(caller.clone()).or_insert_with(|| {
            Arc::new(Lane {
                places: Semaphore::new(MOST_WAITING),
                first: Arc::default(),
            })
        });
        Arc::clone(lane)
    }

    async fn written(&self, lane: &Lane) -> Written<'_> {
        let first = Arc::clone(&lane.first).lock_owned().await;
        Written {
            written: self.written.lock().await,
            _first: first,
        }
    }
}

impl Deref for Written<'_> {
    type Target = Vec<Stored>;

    fn deref(&self) -> &Vec<Stored> {
        &self.written
    }
}

impl DerefMut for Written<'_> {
    fn deref_mut(&mut self) -> &mut Vec<Stored> {
        &mut self.written
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::kubernetes::Holder;

    /// A snapshot that knows all, and has nothing.
    fn empty() -> watch::Receiver<Arc<Snapshot>> {
        watch::channel(Arc::new(Snapshot::of(Vec::new()))).1
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_turn_for_more_than_20_seconds() {
        let queue = Queue::new(Turn::default());
        let (state, caller) = (empty(), Caller::default());
        let turn = async |queue: &Queue| {
            let turn = queue.turn(&caller, &state).await;
            turn.map(drop).map_err(|problem| problem.status())
        };
        let held = queue.turn(&caller, &state).await.ok().unwrap();
        let begun = Instant::now();
        assert_eq!(
            (turn(&queue).await, begun.elapsed().as_secs()),
            (Err(503), 20)
        );
        drop(held);
        assert_eq!(turn(&queue).await, Ok(()));
        let (_sender, holder) = watch::channel(Holder::Other("b".to_owned()));
        let lost = Queue::new(Turn(Some(holder)));
        assert_eq!(turn(&lost).await, Err(503));
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_with_many_requests_takes_turns_with_others() {
        let queue = Arc::new(Queue::new(Turn::default()));
        let state = empty();
        let written = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let send = |name: &'static str| {
            let (queue, state, written) = (Arc::clone(&queue), state.clone(), Arc::clone(&written));
            tokio::spawn(async move {
                let caller = Caller(Some(name.to_owned()));
                let turn = queue.turn(&caller, &state).await;
                let turn = turn.map_err(|problem| problem.status())?;
                tokio::time::sleep(Duration::from_secs(1)).await;
                written.lock().push(name);
                drop(turn);
                Ok::<(), u16>(())
            })
        };
        let mut flood: Vec<_> = (0..202).map(|_| send("many")).collect();
        tokio::time::sleep(Duration::from_millis(1)).await;
        let last = flood.pop().unwrap();
        assert!(last.is_finished(), "it would wait behind 200 of its own");
        assert_eq!(last.await.unwrap(), Err(503));
        let others = [send("one"), send("one"), send("other")];
        for other in others {
            assert_eq!(other.await.unwrap(), Ok(()));
        }
        assert_eq!(*written.lock(), ["many", "one", "other", "many", "one"]);
    }
}
