//! Runs controllers: watches, lets them decide, writes.
//!
//! In: events of the watches, answers to writes, the passing of time. Out: writes. A controller decides
//! only once the kinds it watches are synced, and nothing is written while a kind that its decision
//! needs is not: that kind is watched from then on. An object is not reconciled again before the cache
//! shows what was last written for it, and holds nothing while it waits. On a paused current-thread
//! runtime it does the same every time: ordered maps, a biased select, no randomness. It does not know
//! what the controllers do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, FuturesUnordered, SelectAll, StreamExt};
use kube::Client;
use serde_json::Value;

use super::super::Error;
use super::backoff::backoff;
use super::cache::Cache;
use super::schedule::{Key, Schedule};
use super::watches::{self, KindEvent, WatchEvent};
use super::writer;
use crate::health::Live;
use crate::model::{Clock, ErrorClass, ObjectId};
use crate::reconcile::controller::Controller;
use crate::reconcile::outcome::{Need, Outcome};
use crate::reconcile::world::GroupKind;

/// How many objects are written at once.
const CONCURRENCY: usize = 32;

/// How long a broken watch waits before it is tried again.
const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// Controllers at work on one cluster.
pub(super) struct Runtime {
    client: Client,
    clock: Arc<dyn Clock>,
    controllers: Vec<Controller>,
    /// The watched kinds, each once.
    kinds: Vec<GroupKind>,
    watches: SelectAll<BoxStream<'static, KindEvent>>,
    cache: Cache,
    schedule: Schedule,
    /// The controllers, by place, that decide nothing until the kinds they watch are synced.
    starting: Vec<usize>,
}

/// The end of a key's writes.
struct Done {
    key: Key,
    answers: Vec<Value>,
    result: Result<(), Error>,
}

/// Writes in progress.
type Writes = FuturesUnordered<BoxFuture<'static, Done>>;

impl Runtime {
    /// Controllers of a cluster of which nothing is known yet.
    pub(super) fn new(client: Client, clock: Arc<dyn Clock>, controllers: Vec<Controller>) -> Self {
        let starting = (0..controllers.len()).collect();
        let kinds = controllers.iter().flat_map(|one| one.watches.clone());
        let kinds: Vec<GroupKind> = kinds.collect();
        let mut runtime = Self {
            client,
            clock,
            controllers,
            kinds: Vec::new(),
            watches: SelectAll::new(),
            cache: Cache::default(),
            schedule: Schedule::default(),
            starting,
        };
        for kind in kinds {
            runtime.watch(kind);
        }
        runtime
    }

    /// Works until it is dropped.
    pub(super) async fn run(mut self) {
        let mut writes = FuturesUnordered::new();
        loop {
            while let Some(Some(event)) = self.watches.next().now_or_never() {
                self.on_event(event);
            }
            self.reconcile(&mut writes);
            let wake = self.until_wake();
            tokio::select! {
                biased;
                Some(event) = self.watches.next() => self.on_event(event),
                Some(done) = writes.next() => self.finish(done, writes.is_empty()),
                () = wake => self.schedule.wake(self.clock.now()),
            }
        }
    }

    /// Watches a kind, unless it is watched already.
    fn watch(&mut self, kind: GroupKind) {
        if !self.kinds.contains(&kind) {
            let pause = self.clock.real(WATCH_PAUSE);
            let place = self.kinds.len();
            let events = watches::watch(&self.client, place, kind.clone(), pause);
            self.watches.push(events);
            self.kinds.push(kind);
        }
    }

    /// Sleeps until the first wake-up is due; forever if none is scheduled.
    fn until_wake(&self) -> BoxFuture<'static, ()> {
        let Some(time) = self.schedule.first_wake() else {
            return std::future::pending().boxed();
        };
        let left = time.duration_since(self.clock.now());
        let left = Duration::try_from(left).unwrap_or_default();
        // A timer ends on a whole millisecond; a shorter sleep would spin until then.
        let real = self.clock.real(left).max(Duration::from_millis(1));
        tokio::time::sleep(real).boxed()
    }

    /// Reconciles what is queued, as long as not too many writes are in progress.
    fn reconcile(&mut self, writes: &mut Writes) {
        while writes.len() < CONCURRENCY && self.starting.len() < self.controllers.len() {
            let starting = &self.starting;
            let Some(key) = self
                .schedule
                .next(|key| !starting.contains(&key.controller))
            else {
                return;
            };
            let Some(live) = self.cache.get(&key.object) else {
                continue;
            };
            let controller = &self.controllers[key.controller];
            // The view is read-only, so that a panic leaves nothing half done.
            let decide = || (controller.reconcile)(self.cache.world(), live, self.clock.now());
            let manager = controller.manager;
            match catch_unwind(AssertUnwindSafe(decide)) {
                Ok(outcome) => self.carry_out(key, manager, outcome, writes),
                Err(_) => self.report_panic(&key, manager),
            }
        }
    }

    /// Writes what was decided, if every kind that the decision needs is synced.
    fn carry_out(
        &mut self,
        key: Key,
        manager: &'static str,
        outcome: Outcome,
        writes: &mut Writes,
    ) {
        let Outcome {
            writes: changes,
            mut needs,
            wake,
        } = outcome;
        let kinds = needs.iter().map(Need::kind);
        let unsynced: Vec<GroupKind> = kinds.filter(|kind| !self.cache.is_synced(kind)).collect();
        let synced = unsynced.is_empty();
        needs.extend(unsynced.iter().cloned().map(Need::Synced));
        self.schedule.reconciled(&key, needs, wake);
        for kind in unsynced {
            self.watch(kind);
        }
        if !synced {
            return;
        }
        if changes.is_empty() {
            self.schedule.done(&key);
        } else {
            self.schedule.started(&key);
            let client = self.client.clone();
            writes.push(Box::pin(async move {
                let (answers, result) = writer::perform(&client, manager, changes).await;
                Done {
                    key,
                    answers,
                    result,
                }
            }));
        }
    }

    /// A decision that panics is a bug of ours: it is reported and made again later.
    fn report_panic(&mut self, key: &Key, manager: &str) {
        let pause = backoff(ErrorClass::Bug, self.schedule.count_failure(key));
        tracing::error!(object = %key.object, manager, ?pause, "a controller panicked: this is a bug in capstan, please report it");
        self.schedule.failed(key, self.clock.now(), pause);
    }

    /// Takes in the end of a key's writes; `last` when no others are in progress.
    fn finish(&mut self, done: Done, last: bool) {
        for answer in done.answers {
            self.merge(answer);
        }
        if last {
            self.cache.forget_deleted();
        }
        let Err(error) = done.result else {
            return self.schedule.done(&done.key);
        };
        let class = error.class();
        let gone = matches!(class, ErrorClass::Gone | ErrorClass::Conflict)
            && self.cache.get(&done.key.object).is_none();
        if gone {
            return self.schedule.done(&done.key);
        }
        let pause = backoff(class, self.schedule.count_failure(&done.key));
        tracing::debug!(object = %done.key.object, ?class, %error, ?pause, "a write failed");
        self.schedule.failed(&done.key, self.clock.now(), pause);
    }

    /// Takes in what happened to a kind.
    fn on_event(&mut self, event: KindEvent) {
        let KindEvent { kind, event } = event;
        match event {
            WatchEvent::ListStarted => self.cache.start_list(&self.kinds[kind]),
            WatchEvent::Listed(object) | WatchEvent::Applied(object) => self.merge(object),
            WatchEvent::ListEnded | WatchEvent::NotServed => self.end_list(kind),
            WatchEvent::Deleted(object) => {
                let live = Live(&object);
                let id = live.id();
                if self.cache.remove(&id, live.uid()) {
                    self.forget(&id);
                }
            }
            WatchEvent::Failed(error) => {
                let GroupKind { group, kind } = &self.kinds[kind];
                tracing::debug!(group, kind, error, "a watch failed");
            }
        }
    }

    /// A kind was listed whole, or is not served, so that no object of it exists.
    fn end_list(&mut self, kind: usize) {
        let kind = self.kinds[kind].clone();
        let first = !self.cache.is_synced(&kind);
        for id in self.cache.end_list(&kind) {
            self.forget(&id);
        }
        if first {
            self.schedule.synced(kind);
            let (cache, controllers) = (&self.cache, &self.controllers);
            let is_synced = |kind| cache.is_synced(kind);
            self.starting
                .retain(|place| !controllers[*place].watches.iter().all(is_synced));
        }
    }

    /// Stores an object and queues it for the controllers that handle it or need it.
    fn merge(&mut self, object: Value) {
        let id = Live(&object).id();
        if !self.cache.insert(object) {
            return;
        }
        for (place, controller) in self.controllers.iter().enumerate() {
            if (controller.handles)(&id) {
                self.schedule.enqueue(Key::new(place, &id));
            }
        }
        self.schedule.changed(&id);
    }

    /// An object was deleted: its own wake-up is dropped, and the objects that need it are queued.
    fn forget(&mut self, id: &ObjectId) {
        for controller in 0..self.controllers.len() {
            let key = Key::new(controller, id);
            self.schedule.reconciled(&key, Vec::new(), None);
        }
        self.schedule.changed(id);
    }
}
