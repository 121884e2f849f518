//! A cluster, and what the controllers see of it in caches that lag behind.
//!
//! In: how it begins, and what they write. Out: the cluster as it is, as it is seen, and what is decided. What they write
//! shows at once, as answers do; what others write shows once its kind does not lag any more. It does not know what must
//! hold.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::bench::{Bench, SETTLE};
use super::super::controller::Controller;
use super::super::outcome::{Outcome, Write};
use super::super::snapshot::Snapshot;
use super::super::world::{GroupKind, World};
use super::super::{ProcessIdentity, Settings, aro};
use super::start::{Start, begin};
use crate::api::fleet::FirstApply;
use crate::api::kinds::is_aso;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId};

/// Whose lists change.
pub(super) const LISTS: [&str; 2] = ["AROCluster", "AROControlPlane"];
pub(super) struct Scene {
    pub(super) bench: Bench,
    /// The specs of the objects that have lists.
    pub(super) specs: [Value; 2],
    /// The cluster as the controllers see it.
    pub(super) seen: Snapshot,
    /// The kinds of which it is not seen what others do.
    pub(super) lagging: BTreeSet<GroupKind>,
    /// What the API server refuses to apply.
    pub(super) refused: BTreeSet<ObjectId>,
    controllers: Vec<Controller>,
}

impl Scene {
    pub(super) fn new(start: Start) -> Self {
        let settings = Settings {
            settle: SETTLE,
            first_apply: if start.is_direct {
                FirstApply::Direct
            } else {
                FirstApply::Probe
            },
            identity: start.has_default.then(ProcessIdentity::default),
        };
        let bench = begin(start);
        let mut scene = Self {
            specs: LISTS.map(|kind| bench.live(kind, "c")["spec"].clone()),
            bench,
            seen: Snapshot::default(),
            lagging: BTreeSet::new(),
            refused: BTreeSet::new(),
            controllers: aro(settings),
        };
        scene.see();
        scene
    }

    /// The cluster as it is.
    pub(super) fn real(&self) -> &Snapshot {
        &self.bench.fixture.snapshot
    }

    /// The resources of Azure Service Operator.
    pub(super) fn resources(&self) -> Vec<ObjectId> {
        let ids = self.real().ids().filter(|id| is_aso(&id.group));
        ids.cloned().collect()
    }

    /// What the controllers decide about.
    pub(super) fn handled(&self) -> Vec<ObjectId> {
        let is_handled = |id: &&ObjectId| self.controllers.iter().any(|one| (one.handles)(id));
        self.seen.ids().filter(is_handled).cloned().collect()
    }

    /// What is decided about an object of this view of the cluster.
    pub(super) fn decide(&self, seen: &Snapshot, id: &ObjectId) -> (&'static str, Outcome) {
        let controller = self.controllers.iter().find(|one| (one.handles)(id));
        let controller = controller.expect("a controller");
        let outcome = seen
            .get(id)
            .map(|live| (controller.reconcile)(World::of(seen), live, self.bench.fixture.now));
        (controller.manager, outcome.unwrap_or_default())
    }

    /// Shows everything that does not lag.
    pub(super) fn see(&mut self) {
        let (real, seen) = (&self.bench.fixture.snapshot, &mut self.seen);
        let is_prompt = |id: &&ObjectId| !self.lagging.contains(&GroupKind::from(*id));
        let gone = seen.ids().filter(|id| real.get(id).is_none());
        let gone: Vec<ObjectId> = gone.filter(is_prompt).cloned().collect();
        for id in gone {
            seen.remove(&id);
        }
        for id in real.ids().filter(is_prompt) {
            let [now, before] = [real, &*seen].map(|one| one.version(id));
            if let Some(live) = real.get(id).filter(|_| now != before) {
                seen.insert(live.0.clone());
            }
        }
        seen.synced.clone_from(&real.synced);
        seen.nodes.clone_from(&real.nodes);
        seen.keys.clone_from(&real.keys);
        seen.credentials.clone_from(&real.credentials);
        seen.written.clone_from(&real.written);
    }

    /// Refuses a write that the API server refuses; whether that was known. It is not sent again soon.
    pub(super) fn refuse(&mut self, write: &Write) -> Option<bool> {
        let is_apply = matches!(write, Write::ApplyAs(..));
        let id = write
            .object()
            .filter(|id| is_apply && self.refused.contains(id))?;
        let refusal = AdapterError::new(ErrorClass::Invalid, "a policy refuses it");
        Some(!self.seen.set_refusal(&id, Some(refusal)))
    }

    /// Carries out one write if the API server accepts it; whether it does.
    pub(super) fn perform(&mut self, manager: &'static str, write: Write) -> bool {
        let id = write.object();
        let live = id.and_then(|id| self.real().get(&id));
        if !accepts(live, &write) {
            return false;
        }
        self.bench.fixture.perform(manager, write);
        true
    }

    /// Shows what does not lag, and what was answered about these objects.
    pub(super) fn show(&mut self, answered: &[ObjectId]) {
        self.see();
        for id in answered {
            match self.real().get(id).map(|live| live.0.clone()) {
                Some(object) => self.seen.insert(object),
                None => drop(self.seen.remove(id)),
            }
        }
    }
}

/// Whether the API server accepts a write to an object as it is: preconditions, and no new finalizer on what is being deleted.
fn accepts(live: Option<Live<'_>>, write: &Write) -> bool {
    let is_same = |patch: &Value, field: &str| {
        let wanted = patch["metadata"].get(field).and_then(Value::as_str);
        let held = live.map_or("", |live| live.text(&["metadata", field]));
        wanted.is_none_or(|wanted| wanted == held)
    };
    match write {
        Write::Apply(patch) | Write::ApplyAs(_, patch) | Write::CredentialSecret(_, patch) => {
            let held = live.map_or(&[][..], |live| live.list(&["metadata", "finalizers"]));
            let wanted = Live(patch).list(&["metadata", "finalizers"]);
            let is_late =
                live.is_some_and(Live::is_deleting) && wanted.iter().any(|one| !held.contains(one));
            is_same(patch, "uid") && !is_late
        }
        Write::Merge(patch) => {
            live.is_some() && is_same(patch, "uid") && is_same(patch, "resourceVersion")
        }
        Write::Status(_) => live.is_some(),
        Write::Delete { uid, .. } => live.is_some_and(|live| live.uid() == uid),
        Write::EnsureKey(_) | Write::CheckCredential(_) | Write::RejectConnections(_) => true,
    }
}
