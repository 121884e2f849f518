//! Runs the actors: watches, decides, writes.
//!
//! In: events of the watches, answers to writes, the passing of time. Out: writes. It decides only
//! once every kind was listed, holds nothing while an object waits, and looks at an object again only
//! when its cache shows what was last written for it. On a paused current-thread runtime it does the
//! same every time: ordered maps, a biased select, no randomness. It does not know what the actors
//! play.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use kube::Client;
use kube::api::ApiResource;
use serde_json::Value;

use super::error::{Error, pause};
use super::schedule::{Key, Schedule};
use super::watches::{self, Seen, Sight};
use super::writer;
use crate::health::Live;
use crate::model::{Clock, ErrorClass, ObjectId};
use crate::reconcile::outcome::Actor;
use crate::reconcile::world::World;

/// How many objects are written at once.
const CONCURRENCY: usize = 32;

/// How long a broken watch rests.
const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// The actors at work on one cluster.
pub(crate) struct Engine {
    client: Client,
    clock: Arc<dyn Clock>,
    kinds: Vec<ApiResource>,
    actors: Vec<Actor>,
    world: World,
    schedule: Schedule,
    /// Kinds that were never listed to the end.
    unlisted: BTreeSet<usize>,
    /// Lists under way: what of the kind was known before and was not seen since.
    missing: BTreeMap<usize, BTreeSet<ObjectId>>,
}

/// The end of a key's writes.
struct Done {
    key: Key,
    answers: Vec<Value>,
    result: Result<(), Error>,
}

impl Engine {
    /// Actors that know nothing yet.
    pub(crate) fn new(
        client: Client,
        clock: Arc<dyn Clock>,
        kinds: Vec<ApiResource>,
        actors: Vec<Actor>,
    ) -> Self {
        let unlisted = (0..kinds.len()).collect();
        Self {
            client,
            clock,
            kinds,
            actors,
            world: World::default(),
            schedule: Schedule::default(),
            unlisted,
            missing: BTreeMap::new(),
        }
    }

    /// Works until it is dropped.
    pub(crate) async fn run(mut self) {
        let pause = self.clock.real(WATCH_PAUSE);
        let mut seen = watches::all(&self.client, &self.kinds, pause);
        let mut writes = FuturesUnordered::new();
        loop {
            while let Some(Some(event)) = seen.next().now_or_never() {
                self.absorb(event);
            }
            self.decide(&mut writes);
            let wake = self.until_wake();
            tokio::select! {
                biased;
                Some(event) = seen.next() => self.absorb(event),
                Some(done) = writes.next() => self.finish(done, writes.is_empty()),
                () = wake => self.schedule.wake(self.clock.now()),
            }
        }
    }

    /// Sleeps until the first wake-up is due; for ever when there is none.
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

    /// Decides for all who ask, as long as there are hands to write.
    fn decide(&mut self, writes: &mut FuturesUnordered<BoxFuture<'static, Done>>) {
        while self.unlisted.is_empty() && writes.len() < CONCURRENCY {
            let Some(key) = self.schedule.next() else {
                return;
            };
            let Some(live) = self.world.get(&key.object) else {
                continue;
            };
            let actor = &self.actors[key.actor];
            let outcome = (actor.decide)(&self.world, live, self.clock.now());
            self.schedule.decided(&key, outcome.needs, outcome.wake);
            if !outcome.writes.is_empty() {
                self.schedule.started(&key);
                let (client, manager) = (self.client.clone(), actor.manager);
                writes.push(Box::pin(async move {
                    let (answers, result) = writer::perform(&client, manager, outcome.writes).await;
                    Done {
                        key,
                        answers,
                        result,
                    }
                }));
            }
        }
    }

    /// Takes in the end of a key's writes; `last` when no others are under way.
    fn finish(&mut self, done: Done, last: bool) {
        for answer in done.answers {
            self.take(answer);
        }
        if last {
            self.world.forget_buried();
        }
        let Err(error) = done.result else {
            return self.schedule.done(&done.key);
        };
        let class = error.class();
        let gone = matches!(class, ErrorClass::Gone | ErrorClass::Conflict)
            && self.world.get(&done.key.object).is_none();
        if gone {
            return self.schedule.done(&done.key);
        }
        let pause = pause(class, self.schedule.count_failure(&done.key));
        tracing::debug!(object = %done.key.object, ?class, %error, ?pause, "a write failed");
        self.schedule.failed(&done.key, self.clock.now(), pause);
    }

    /// Takes in what a watch saw.
    fn absorb(&mut self, seen: Seen) {
        match seen.sight {
            Sight::ListBegins => {
                let kind = &self.kinds[seen.kind];
                let known = self.world.ids(&kind.group, &kind.kind);
                self.missing.insert(seen.kind, known);
            }
            Sight::Listed(object) | Sight::Applied(object) => self.take(object),
            Sight::ListEnds => self.end_list(seen.kind),
            Sight::Deleted(object) => {
                let live = Live(&object);
                self.drop_object(&live.id(), live.uid());
            }
            Sight::Broken(error) => {
                let kind = &self.kinds[seen.kind].kind;
                tracing::debug!(kind, %error, "a watch broke");
                self.unlisted.remove(&seen.kind);
            }
        }
    }

    /// Drops what a complete list did not hold.
    fn end_list(&mut self, kind: usize) {
        for id in self.missing.remove(&kind).unwrap_or_default() {
            let uid = self.world.get(&id).map(|live| live.uid().to_owned());
            self.drop_object(&id, &uid.unwrap_or_default());
        }
        self.unlisted.remove(&kind);
    }

    /// Takes in an object and asks for all whom it concerns.
    fn take(&mut self, object: Value) {
        let id = Live(&object).id();
        for missing in self.missing.values_mut() {
            missing.remove(&id);
        }
        if !self.world.insert(object) {
            return;
        }
        for (actor, player) in self.actors.iter().enumerate() {
            if (player.plays)(&id) {
                let object = id.clone();
                self.schedule.ask(Key { actor, object });
            }
        }
        self.schedule.changed(&id);
    }

    fn drop_object(&mut self, id: &ObjectId, uid: &str) {
        if !self.world.remove(id, uid) {
            return;
        }
        for actor in 0..self.actors.len() {
            let object = id.clone();
            self.schedule
                .decided(&Key { actor, object }, Vec::new(), None);
        }
        self.schedule.changed(id);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use jiff::Timestamp;
    use serde_json::json;
    use tokio::time::Instant;

    use super::super::writer::{perform, resource};
    use super::*;
    use crate::adapters::sim::api::Server;
    use crate::adapters::sim::clock::SimClock;
    use crate::reconcile::outcome::{Outcome, Write};

    fn config_map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    }

    /// When an actor looked at a ConfigMap within `seconds` outside, in milliseconds there, when each
    /// look comes to `outcome` and the cluster's time passes `speed` times faster.
    async fn looks(
        seconds: u64,
        speed: u32,
        outcome: impl Fn(Timestamp) -> Outcome + Send + 'static,
    ) -> Vec<u128> {
        let clock: Arc<dyn Clock> = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, speed));
        let client = Server::new(Arc::clone(&clock)).client("default");
        let one = vec![Write::Apply(config_map("one"))];
        perform(&client, "somebody", one).await.1.unwrap();
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let seen = Arc::clone(&times);
        let actor = Actor {
            manager: "actor",
            plays: |id| id.name == "one",
            decide: Box::new(move |_, _, now| {
                seen.lock().unwrap().push(start.elapsed().as_millis());
                outcome(now)
            }),
        };
        let kinds = vec![resource("", "v1", "ConfigMap")];
        let engine = Engine::new(client, clock, kinds, vec![actor]);
        let limit = Duration::from_secs(seconds);
        assert!(tokio::time::timeout(limit, engine.run()).await.is_err());
        let times = times.lock().unwrap();
        times.clone()
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_is_looked_at_again_when_it_asked_to_be() {
        let tomorrow = |now: Timestamp| Outcome {
            wake: now.checked_add(Duration::from_secs(24 * 3600)).ok(),
            ..Outcome::rest()
        };
        let day = 24 * 3600 * 1000;
        assert_eq!(looks(200_000, 1, tomorrow).await, [0, day, 2 * day]);
        assert_eq!(
            looks(200, 1000, tomorrow).await,
            [0, day / 1000, 2 * day / 1000]
        );
        assert_eq!(looks(200_000, 1, |_| Outcome::rest()).await, [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_fails_is_tried_again_after_longer_and_longer_pauses() {
        let lost = || Outcome {
            writes: vec![Write::Apply(
                json!({"apiVersion": "no.dev/v1", "kind": "Such",
                "metadata": {"name": "thing", "namespace": "default"}}),
            )],
            ..Outcome::rest()
        };
        let looks = looks(150, 1, move |_| lost()).await;
        assert_eq!(
            looks,
            [0, 2, 6, 14, 30, 62, 122].map(|second| second * 1000)
        );
    }
    #[tokio::test(start_paused = true)]
    async fn a_broken_watch_rests_for_a_second_in_the_cluster() {
        let (start, times) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
        let asked = Arc::clone(&times);
        let away = tower::service_fn(move |_: http::Request<kube::client::Body>| {
            asked.lock().unwrap().push(start.elapsed().as_millis());
            let answer = http::Response::builder().status(503);
            std::future::ready(answer.body(kube::client::Body::empty()))
        });
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 10));
        let kinds = vec![resource("", "v1", "ConfigMap")];
        let engine = Engine::new(Client::new(away, "default"), clock, kinds, Vec::new());
        let limit = Duration::from_millis(350);
        assert!(tokio::time::timeout(limit, engine.run()).await.is_err());
        assert_eq!(*times.lock().unwrap(), [0, 100, 200, 300]);
    }
}
