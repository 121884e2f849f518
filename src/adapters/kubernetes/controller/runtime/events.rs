//! What follows from what was heard of the cluster, of workload clusters, and of Azure.
//!
//! In: events of the watches, nodes, keys, answers about credentials. Out: the cache shows them, and the schedule has every object that handles or
//! needs them. It does not know what is decided then.

use serde_json::Value;

use super::Runtime;
use crate::adapters::kubernetes::controller::checks::CredentialAnswer;
use crate::adapters::kubernetes::controller::keys::KeyAnswer;
use crate::adapters::kubernetes::controller::links::{FrontendAnswer, RejectionAnswer};
use crate::adapters::kubernetes::controller::nodes::Heard;
use crate::adapters::kubernetes::controller::schedule::Key;
use crate::adapters::kubernetes::controller::watches::{KindEvent, Seen, WatchEvent};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Need;
use crate::reconcile::world::{GroupKind, Parent};

impl Runtime {
    /// Takes in what was heard of a workload cluster.
    pub(super) fn on_nodes(&mut self, (cluster, nodes): Heard) {
        if self.cache.snapshot.set_nodes(&cluster, Some(nodes)) {
            self.schedule.nodes_changed(&cluster);
        }
    }

    /// Takes in what a vault answered.
    pub(super) fn on_key(&mut self, answer: KeyAnswer) {
        let now = self.clock.now();
        self.keys.answered(&answer, now);
        let (request, answer) = answer;
        if let Err(error) = &answer {
            tracing::debug!(vault = request.vault, key = request.key, %error, "a key could not be had");
        }
        self.cache.snapshot.set_key(request.clone(), answer, now);
        self.schedule.needed(&Need::Key(request));
    }

    /// Takes in whether a credential works. Who needs one that does not is to try it again in time.
    pub(super) fn on_check(&mut self, answer: CredentialAnswer) {
        let now = self.clock.now();
        self.checks.answered(&answer, now);
        let (request, answer) = answer;
        let is_error = answer.is_err();
        let snapshot = &mut self.cache.snapshot;
        if snapshot.set_credential(request.clone(), answer, now) || is_error {
            self.schedule.needed(&Need::Credential(request));
        }
    }

    /// Takes in which frontend was found.
    pub(super) fn on_frontend(&mut self, answer: FrontendAnswer) {
        let now = self.clock.now();
        self.frontends.answered(&answer, now);
        let (request, answer) = answer;
        self.cache
            .snapshot
            .set_frontend(request.clone(), answer, now);
        self.schedule.needed(&Need::Frontend(request));
    }

    /// Takes in how many connections a Private Link Service had.
    pub(super) fn on_rejection(&mut self, answer: RejectionAnswer) {
        let now = self.clock.now();
        self.rejections.answered(&answer, now);
        let (request, answer) = answer;
        self.cache
            .snapshot
            .set_connections(request.clone(), answer, now);
        self.schedule.needed(&Need::Connections(request));
    }

    /// Takes in what happened to a kind.
    pub(super) fn on_event(&mut self, event: KindEvent) {
        let KindEvent {
            kind,
            version,
            event,
        } = event;
        if let (WatchEvent::ListEnded, Some(version)) = (&event, version) {
            let snapshot = &mut self.cache.snapshot;
            snapshot.set_version(&self.kinds[kind], &version);
        }
        match event {
            WatchEvent::ListStarted => self.cache.start_list(&self.kinds[kind]),
            WatchEvent::Listed(seen) | WatchEvent::Applied(seen) => self.on_object(&seen),
            WatchEvent::ListEnded => self.end_list(kind, true),
            WatchEvent::NotServed => self.end_list(kind, false),
            WatchEvent::Deleted(id, uid) => {
                if let Some(parents) = self.cache.remove(&id, &uid) {
                    self.forget(&id, parents);
                }
            }
            WatchEvent::Denied { right, why } => self.deny(kind, &right, &why),
            WatchEvent::Failed(error) => {
                let GroupKind { group, kind } = &self.kinds[kind];
                tracing::debug!(group, kind, error, "a watch failed");
            }
        }
    }

    /// Takes in an object, unless the answer to a write of ours came first.
    fn on_object(&mut self, seen: &Seen) {
        if !self.cache.wants(&seen.id(), seen.uid(), seen.version()) {
            return;
        }
        match seen.read() {
            Ok(object) => self.merge(object),
            Err(error) => {
                let object = seen.id();
                tracing::warn!(%object, %error, "an object cannot be read and is ignored");
            }
        }
    }

    /// A kind may not be watched: the objects that need it say so.
    fn deny(&mut self, kind: usize, right: &str, error: &str) {
        let kind = self.kinds[kind].clone();
        let grant = format!("grant {right}: ");
        let help = format!("{grant}{error}");
        let before = self.cache.snapshot.denied.insert(kind.clone(), help);
        let is_known = before.as_ref().is_some_and(|one| one.starts_with(&grant));
        if !is_known {
            let (group, name) = (&kind.group, &kind.kind);
            tracing::warn!(
                group,
                kind = name,
                error,
                "a kind may not be watched, and what needs it waits: grant {right}"
            );
        }
        if before.as_ref() != self.cache.snapshot.denied.get(&kind) {
            self.schedule.needed(&Need::Synced(kind));
        }
    }

    /// A kind was listed whole, or is not served, so that no object of it exists.
    fn end_list(&mut self, kind: usize, is_served: bool) {
        let kind = self.kinds[kind].clone();
        self.cache.snapshot.denied.remove(&kind);
        for (id, parents) in self.cache.end_list(&kind) {
            self.forget(&id, parents);
        }
        if self.cache.snapshot.sync(&kind, is_served) {
            return;
        }
        let cache = &self.cache;
        let controllers = &self.controllers;
        let is_synced = |kind| cache.is_synced(kind);
        self.starting
            .retain(|place| !controllers[*place].watches.iter().all(is_synced));
        self.schedule.needed(&Need::Synced(kind));
    }

    /// Stores an object and queues it for the controllers that handle it or need it.
    pub(super) fn merge(&mut self, object: Value) {
        let id = Live(&object).id();
        let Some(parents) = self.cache.insert(object) else {
            return;
        };
        for (place, controller) in self.controllers.iter().enumerate() {
            if (controller.handles)(&id) {
                self.schedule.enqueue(Key::new(place, &id));
            }
        }
        self.schedule.changed(&id, parents);
    }

    /// An object was deleted: its own wake-up is dropped, and the objects that need it are queued.
    fn forget(&mut self, id: &ObjectId, parents: Vec<Parent>) {
        for controller in 0..self.controllers.len() {
            let key = Key::new(controller, id);
            self.schedule.reconciled(&key, Vec::new(), None);
            self.told.remove(&key);
            self.itself.forget(&key);
        }
        self.outbox.forget(id);
        self.forget_nodes(id);
        self.schedule.changed(id, parents);
    }
}
