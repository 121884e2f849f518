//! Runs controllers: watches, lets them decide, writes.
//!
//! In: events of the watches, answers to writes, the passing of time, and whether the controllers may act. Out: writes and
//! events. A controller decides only once the kinds it watches are synced, and nothing is written while a kind that its
//! decision needs is not: that kind is watched from then on. An object is not reconciled again before the cache
//! shows what was last written for it, and holds nothing while it waits. A write that is refused shows in the snapshot, and
//! the object is reconciled again at once, so that its status can name it; so is a kind that may not be watched. On a paused current-thread
//! runtime it does the same every time: ordered maps, a biased select, no randomness. It does not know
//! what the controllers do.

mod answers;
mod events;
mod itself;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{BoxStream, FuturesUnordered, SelectAll, StreamExt};
use jiff::Timestamp;
use kube::Client;
use tokio::sync::watch;

use self::itself::{Itself, Part};
use super::backoff::backoff;
use super::cache::Cache;
use super::checks::{self, CredentialChecks};
use super::connectors::Connectors;
use super::counts::Counts;
use super::keys::{self, KeyQuestions};
use super::links::{self, Frontends, Rejections};
use super::nodes::NodeWatches;
use super::outbox::{Outbox, Verdict};
use super::schedule::{Key, Schedule};
use super::watches::{self, KindEvent};
use super::writer::{Writer, Written};
use crate::model::{Clock, ErrorClass, ObjectId};
use crate::reconcile::Watched;
use crate::reconcile::blocked::blocked;
use crate::reconcile::controller::Controller;
use crate::reconcile::outcome::{Event, Need, Outcome, Write};
use crate::reconcile::world::GroupKind;

/// How many objects are written at once.
const CONCURRENCY: usize = 32;

/// How long a broken watch waits before it is tried again.
const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// How long a vault may take to answer.
const KEY_PATIENCE: Duration = Duration::from_secs(60);

/// How long Azure Resource Manager may take to answer.
const AZURE_PATIENCE: Duration = Duration::from_secs(120);

/// How long the cluster may take to answer about a Secret with a credential.
const SECRET_PATIENCE: Duration = Duration::from_secs(60);

/// How long Entra ID may take to answer, by its own clock whatever the controllers' is.
const TOKEN_PATIENCE: Duration = Duration::from_secs(20);

/// Key of the kubeconfig in its Secret, by Cluster API's contract.
const KUBECONFIG: &str = "value";

/// The manager under which the outbox remembers statuses.
const STATUS: &str = "status";

/// Controllers at work on one cluster.
pub(super) struct Runtime {
    client: Client,
    clock: Arc<dyn Clock>,
    controllers: Vec<Controller>,
    connectors: Connectors,
    /// Whether the controllers may act.
    may_act: watch::Receiver<bool>,
    counts: Arc<Counts>,
    /// The watched kinds, each once.
    kinds: Vec<GroupKind>,
    watches: SelectAll<BoxStream<'static, KindEvent>>,
    nodes: NodeWatches,
    keys: KeyQuestions,
    checks: CredentialChecks,
    frontends: Frontends,
    rejections: Rejections,
    cache: Cache,
    schedule: Schedule,
    outbox: Outbox,
    /// The controllers, by place, that decide nothing until the kinds they watch are synced.
    starting: Vec<usize>,
    /// The events of the newest decision about each object: what it goes on to say is not said again.
    told: BTreeMap<Key, Vec<Event>>,
    /// Writes to the objects themselves that are refused.
    itself: Itself,
    /// Whether events cannot be written.
    is_mute: Arc<AtomicBool>,
    /// Whether no write is in progress.
    resting: watch::Sender<bool>,
}

/// The end of a key's writes.
struct Done {
    /// The key, unless only events were written.
    key: Option<Key>,
    written: Vec<Written>,
}

/// Writes in progress.
type Writes = FuturesUnordered<BoxFuture<'static, Done>>;

impl Runtime {
    /// Controllers of a cluster of which nothing is known yet.
    pub(super) fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        controllers: Vec<Controller>,
        connectors: Connectors,
        watched: Watched,
        may_act: watch::Receiver<bool>,
        counts: Arc<Counts>,
    ) -> Self {
        let starting = (0..controllers.len()).collect();
        let kinds = controllers.iter().flat_map(|one| one.watches.clone());
        let kinds: Vec<GroupKind> = kinds.collect();
        let patience = clock.real(KEY_PATIENCE);
        let keys = keys::questions(Arc::clone(&connectors.keys), patience);
        let checks = checks::questions(Arc::clone(&connectors.credentials), TOKEN_PATIENCE);
        let patience = clock.real(AZURE_PATIENCE);
        let frontends = links::frontends(Arc::clone(&connectors.links), patience);
        let rejections = links::rejections(Arc::clone(&connectors.links), patience);
        let mut runtime = Self {
            client,
            clock,
            controllers,
            may_act,
            counts,
            kinds: Vec::new(),
            watches: SelectAll::new(),
            nodes: NodeWatches::new(Arc::clone(&connectors.workloads)),
            keys,
            checks,
            frontends,
            rejections,
            connectors,
            cache: Cache::of(watched),
            schedule: Schedule::default(),
            outbox: Outbox::default(),
            starting,
            told: BTreeMap::new(),
            itself: Itself::default(),
            is_mute: Arc::default(),
            resting: watch::channel(true).0,
        };
        for kind in kinds {
            runtime.watch(kind);
        }
        runtime
    }

    /// Whether no write is in progress.
    pub(super) fn resting(&self) -> watch::Receiver<bool> {
        self.resting.subscribe()
    }

    /// Works until it is dropped.
    pub(super) async fn run(mut self) {
        let mut writes = FuturesUnordered::new();
        loop {
            while let Some(Some(event)) = self.watches.next().now_or_never() {
                self.on_event(event);
            }
            self.schedule.wake(self.clock.now());
            if *self.may_act.borrow() {
                self.reconcile(&mut writes);
            }
            let rests = writes.is_empty();
            self.resting
                .send_if_modified(|known| std::mem::replace(known, rests) != rests);
            let wake = self.until_wake();
            tokio::select! {
                biased;
                Some(event) = self.watches.next() => self.on_event(event),
                Some(done) = writes.next() => self.finish(done, writes.is_empty()),
                Some(heard) = self.nodes.next() => self.on_nodes(heard),
                Some(answer) = self.keys.next() => self.on_key(answer),
                Some(answer) = self.checks.next() => self.on_check(answer),
                Some(answer) = self.frontends.next() => self.on_frontend(answer),
                Some(answer) = self.rejections.next() => self.on_rejection(answer),
                Ok(()) = self.may_act.changed() => self.turn(),
                () = wake => {}
            }
        }
    }

    /// The controllers may act from now on, or no longer. Others may have acted meanwhile, and writes may have been cut
    /// off, so every object is reconciled again.
    fn turn(&mut self) {
        if *self.may_act.borrow_and_update() {
            for id in self.cache.snapshot.ids() {
                for (place, controller) in self.controllers.iter().enumerate() {
                    if (controller.handles)(id) {
                        self.schedule.enqueue(Key::new(place, id));
                    }
                }
            }
        } else {
            self.keys.stop();
            self.checks.stop();
            self.frontends.stop();
            self.rejections.stop();
        }
    }

    /// Watches a kind, unless it is watched already.
    fn watch(&mut self, kind: GroupKind) {
        if !self.kinds.contains(&kind) {
            let pause = self.clock.real(WATCH_PAUSE);
            let place = self.kinds.len();
            let namespaces = self.cache.snapshot.watched.of_kind(&kind);
            let events = watches::watch(&self.client, place, kind.clone(), namespaces, pause);
            self.watches.push(events);
            self.kinds.push(kind);
        }
    }

    /// Sleeps until the first wake-up is due; forever if none is scheduled.
    fn until_wake(&self) -> BoxFuture<'static, ()> {
        let now = self.clock.now();
        let Some(time) = self.schedule.first_wake() else {
            return std::future::pending().boxed();
        };
        let left = time.duration_since(now);
        let left = Duration::try_from(left).unwrap_or_default();
        // A timer ends on a whole millisecond; a shorter sleep would spin until then.
        let real = self.clock.real(left).max(Duration::from_millis(1));
        tokio::time::sleep(real).boxed()
    }

    /// Reconciles what is queued, as long as not too many writes are in progress.
    fn reconcile(&mut self, writes: &mut Writes) {
        let now = self.clock.now();
        let may: Vec<bool> = self.deciding().collect();
        while writes.len() < CONCURRENCY && may.contains(&true) {
            let Some(key) = self.schedule.next(|key| may[key.controller]) else {
                return;
            };
            let Some(live) = self.cache.get(&key.object) else {
                continue;
            };
            let controller = &self.controllers[key.controller];
            if self.starting.contains(&key.controller) {
                let needs = controller.watches.iter().cloned().map(Need::Synced);
                let outcome = Outcome {
                    needs: needs.collect(),
                    ..Outcome::default()
                };
                self.carry_out(key, controller.manager, outcome, writes);
                continue;
            }
            // The view is read-only, so that a panic leaves nothing half done.
            let decide = || (controller.reconcile)(self.cache.world(), live, now);
            let manager = controller.manager;
            self.counts.decided();
            match catch_unwind(AssertUnwindSafe(decide)) {
                Ok(outcome) => self.carry_out(key, manager, outcome, writes),
                Err(_) => self.report_panic(&key, manager),
            }
        }
    }

    /// Which controllers have something to say, by place: those that started, and those that never will, since a kind may
    /// not be watched.
    fn deciding(&self) -> impl Iterator<Item = bool> {
        let is_denied = |kind: &GroupKind| self.cache.snapshot.denied.contains_key(kind);
        let controllers = self.controllers.iter().enumerate();
        controllers.map(move |(place, controller)| {
            !self.starting.contains(&place) || controller.watches.iter().any(is_denied)
        })
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
            writes: mut changes,
            mut needs,
            wake,
            mut events,
        } = outcome;
        self.cache.count_looks(needs.len());
        let kinds = needs.iter().filter_map(Need::kind);
        let unsynced: Vec<GroupKind> = kinds.filter(|kind| !self.cache.is_synced(kind)).collect();
        let synced = unsynced.is_empty();
        needs.extend(unsynced.iter().cloned().map(Need::Synced));
        self.watch_nodes(&needs);
        let now = self.clock.now();
        let world = self.cache.world();
        let again = links::ask(&mut self.frontends, world, &needs, now);
        if !synced {
            let live = self.cache.get(&key.object);
            let said = live.map(|live| blocked(live, &unsynced, &self.cache.snapshot.denied, now));
            let said = said.unwrap_or_default();
            (changes, events) = (said.writes, said.events);
        }
        let mut outcome = Outcome {
            writes: changes,
            events,
            ..Outcome::default()
        };
        let live = self.cache.get(&key.object);
        self.itself.tell(&key, live, now, &mut outcome);
        let (changes, events) = (outcome.writes, outcome.events);
        let events = self.untold(&key, events);
        let (changes, rests) = self.due(&key.object, manager, changes, now);
        let wake = wake.into_iter().chain(rests).chain(again).min();
        self.schedule.reconciled(&key, needs, wake);
        for kind in unsynced {
            self.watch(kind);
        }
        let writer = Writer {
            client: self.client.clone(),
            connectors: self.connectors.clone(),
            manager,
            patience: self.clock.real(SECRET_PATIENCE),
            may_act: self.may_act.clone(),
            is_mute: Arc::clone(&self.is_mute),
        };
        if !events.is_empty() {
            writes.push(reported(writer.clone(), now, events));
        }
        if changes.is_empty() {
            return self.schedule.done(&key);
        }
        self.schedule.started(&key);
        writes.push(Box::pin(async move {
            let written = writer.perform(&key.object, changes).await;
            let key = Some(key);
            Done { key, written }
        }));
    }

    /// Those of the events that the decision before did not have.
    fn untold(&mut self, key: &Key, events: Vec<Event>) -> Vec<Event> {
        let told = self.told.remove(key).unwrap_or_default();
        let new = events.iter().filter(|event| !told.contains(event));
        let new = new.cloned().collect();
        if !events.is_empty() {
            self.told.insert(key.clone(), events);
        }
        new
    }

    /// The writes to send now, and when to send the first of the others.
    fn due(
        &mut self,
        object: &ObjectId,
        manager: &'static str,
        changes: Vec<Write>,
        now: Timestamp,
    ) -> (Vec<Write>, Option<Timestamp>) {
        let (mut due, mut rests) = (Vec::new(), None::<Timestamp>);
        let mut is_status_only = false;
        for write in changes {
            if is_status_only && Part::of(&write, object) != Some(Part::Status) {
                continue;
            }
            let asked = match &write {
                Write::EnsureKey(request) => Some(self.keys.ask(request.clone(), now)),
                Write::CheckCredential(request) => Some(self.checks.ask(request.clone(), now)),
                Write::RejectConnections(request) => {
                    Some(self.rejections.ask(request.clone(), now))
                }
                _ => None,
            };
            if let Some(until) = asked {
                rests = rests.into_iter().chain(until).min();
                continue;
            }
            let id = write.object();
            let verdict = match (&write, &id) {
                (Write::Apply(patch), Some(id)) => {
                    self.outbox
                        .admit((id, manager), patch, self.cache.get(id), now)
                }
                (Write::ApplyAs(manager, patch), Some(id)) => {
                    self.outbox
                        .admit((id, manager), patch, self.cache.get(id), now)
                }
                (Write::CredentialSecret(_, patch), Some(id)) => {
                    self.outbox
                        .admit((id, manager), patch, self.cache.get(id), now)
                }
                (Write::Status(patch), Some(id)) => {
                    let live = self.cache.get(id);
                    self.outbox.admit((id, STATUS), patch, live, now)
                }
                _ => Verdict::Send,
            };
            match verdict {
                Verdict::Send => due.push(write),
                Verdict::Settled => {}
                Verdict::Rest(until) => {
                    rests = Some(rests.map_or(until, |rests| rests.min(until)));
                    // What is recorded on the object comes before what it records.
                    is_status_only |= id.as_ref() == Some(object);
                }
            }
        }
        (due, rests)
    }

    /// Watches the nodes that are needed, where there is a kubeconfig.
    fn watch_nodes(&mut self, needs: &[Need]) {
        for need in needs {
            let Need::Nodes {
                cluster,
                kubeconfig,
            } = need
            else {
                continue;
            };
            let secret = self.cache.get(kubeconfig);
            let encoded = secret.map_or("", |secret| secret.text(&["data", KUBECONFIG]));
            match BASE64_STANDARD.decode(encoded) {
                Ok(kubeconfig) if !kubeconfig.is_empty() => {
                    self.nodes.start(cluster, kubeconfig);
                }
                _ => self.forget_nodes(cluster),
            }
        }
    }

    fn forget_nodes(&mut self, cluster: &ObjectId) {
        if self.nodes.stop(cluster) {
            self.cache.snapshot.set_nodes(cluster, None);
        }
    }

    /// A decision that panics is a bug of ours: it is reported and made again later.
    fn report_panic(&mut self, key: &Key, manager: &str) {
        let pause = backoff(ErrorClass::Bug, self.schedule.count_failure(key));
        tracing::error!(object = %key.object, manager, seconds = pause.as_secs(), "a controller panicked: this is a bug in capstan, please report it");
        self.schedule.failed(key, self.clock.now(), pause);
    }
}
/// Writes events.
fn reported(writer: Writer, now: Timestamp, events: Vec<Event>) -> BoxFuture<'static, Done> {
    Box::pin(async move {
        writer.report(now, events).await;
        Done {
            key: None,
            written: Vec::new(),
        }
    })
}
