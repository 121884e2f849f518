//! Where each step of a plan is, and which may begin next. Edge-triggered: a step begins when its own
//! predecessors have come far enough; there are no waves.
//!
//! ```text
//! Waiting ─► Queued ─► WaitingForKind ──► Queued
//!              │  ├───► WaitingForRemoval ► Queued
//!              │  ├───► WaitingForApproval ─► Queued
//!              │  ├───► WaitingForAnswer ─► Queued
//!              │  ├───► Sending ─► InSync ─► Queued (drift)
//!              │  │        └─────► BackingOff ─► Queued
//!              └──┴─────► InSync
//! ```
//!
//! In: what happened to a step. Out: its state, and the next step to begin. It does not know: the
//! cluster, the time, what is sent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::Kind;
use super::repairs::Repairs;
use crate::api::platform::Role;
use crate::model::{Needed, ObjectId, Payload, Step};
use crate::plan::{Plan, losses};

/// Where a step is. `failures` counts how often it failed in a row; it is kept across
/// retries until the object is in sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    /// Its predecessors have not come far enough.
    Waiting,
    /// It begins as soon as a request may be sent.
    Queued { failures: u32 },
    /// The members of its kind are not known yet.
    WaitingForKind { failures: u32 },
    /// Its object, or the cluster that contains it, is being deleted.
    WaitingForRemoval { failures: u32 },
    /// Its object may be one that leaves under another name, which nobody approved.
    WaitingForApproval { failures: u32 },
    /// A request of an earlier assignment about its object is under way.
    WaitingForAnswer { failures: u32 },
    /// A request is under way. `vanished`: a watch reported its object as deleted meanwhile.
    Sending { failures: u32, vanished: bool },
    /// It failed, or others keep changing its object; it is queued again then.
    BackingOff { failures: u32, until: Timestamp },
    /// Its object was in sync when it was seen last.
    InSync,
}

/// The farthest a step has come. It never goes back, whatever happens to its object later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Milestone {
    /// Its object may not exist.
    Nothing,
    /// Its object is as an earlier revision asked for, and stays so for now.
    Kept,
    /// Its object is in sync.
    Applied,
    /// Its object was ready.
    Ready,
}

impl StepState {
    /// How often it failed in a row.
    pub(crate) const fn failures(self) -> u32 {
        match self {
            Self::Waiting | Self::InSync => 0,
            Self::Queued { failures }
            | Self::WaitingForKind { failures }
            | Self::WaitingForRemoval { failures }
            | Self::WaitingForApproval { failures }
            | Self::WaitingForAnswer { failures }
            | Self::Sending { failures, .. }
            | Self::BackingOff { failures, .. } => failures,
        }
    }
}

/// One step on its way.
#[derive(Clone, Debug)]
struct Entry {
    /// Its object as the cluster names it.
    object: Arc<ObjectId>,
    /// The index of its kind.
    kind: usize,
    state: StepState,
    reached: Milestone,
    /// How many predecessors have not come far enough.
    open: usize,
    /// The steps that wait for it, and how far it must come for each.
    users: Vec<(usize, Needed)>,
    repairs: Repairs,
}

/// The steps of a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    plan: Arc<Plan>,
    entries: Vec<Entry>,
    /// Every kind, at the version it is applied at.
    kinds: Vec<Kind>,
    by_object: HashMap<Arc<ObjectId>, usize>,
    /// The objects that were not applied yet, each with its cluster.
    unapplied: BTreeMap<Arc<ObjectId>, String>,
    // What follows from the states, for speed.
    queued: BTreeSet<usize>,
    startable: BTreeSet<usize>,
    held: BTreeSet<usize>,
    unapproved: BTreeSet<usize>,
    sending: usize,
    ready: usize,
}

/// What a step sends.
pub(crate) fn payload(step: &Step) -> &Payload {
    &step.action.payload
}

/// The name of the cluster that an object is, or belongs to, as far as it says so.
fn cluster_of(object: &ObjectId, payload: &Payload) -> String {
    match (payload.cluster(), Role::of(object)) {
        ("", Some(Role::Root)) => object.name.clone(),
        ("", Some(Role::Pool | Role::Part)) => {
            losses::cluster_of(object, &payload.json()).to_owned()
        }
        (cluster, _) => cluster.to_owned(),
    }
}

impl Steps {
    /// Nothing has been done yet.
    pub(crate) fn new(plan: &Arc<Plan>) -> Self {
        let mut steps = Self {
            plan: Arc::clone(plan),
            ..Self::default()
        };
        let mut kinds = BTreeMap::new();
        for (at, step) in plan.steps.iter().enumerate() {
            let (object, payload) = (&step.object, payload(step));
            let version = payload.version().to_owned();
            let kind = (object.group.clone(), version, object.kind.clone());
            let next = kinds.len();
            let index = *kinds.entry(kind.clone()).or_insert(next);
            if index == steps.kinds.len() {
                steps.kinds.push(kind);
            }
            steps.entries.push(Entry {
                object: Arc::clone(object),
                kind: index,
                state: StepState::Waiting,
                reached: Milestone::Nothing,
                open: step.after.len(),
                users: Vec::new(),
                repairs: Repairs::default(),
            });
            for before in &step.after {
                steps.entries[before.step].users.push((at, before.until));
            }
            if step.after.is_empty() {
                steps.startable.insert(at);
            }
            steps.by_object.insert(Arc::clone(object), at);
            steps
                .unapplied
                .insert(Arc::clone(object), cluster_of(object, payload));
        }
        steps
    }

    /// The plan.
    pub(crate) const fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The step itself.
    pub(crate) fn step(&self, at: usize) -> &Step {
        &self.plan.steps[at]
    }

    /// The object of a step as the cluster names it.
    pub(crate) fn object(&self, at: usize) -> &ObjectId {
        &self.entries[at].object
    }

    /// The objects of all steps, in plan order.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &ObjectId> {
        self.entries.iter().map(|entry| &*entry.object)
    }

    /// The kind of a step, at the version it is applied at.
    pub(crate) fn kind(&self, at: usize) -> &Kind {
        &self.kinds[self.entries[at].kind]
    }

    /// Every kind, with its first object.
    pub(crate) fn kinds(&self) -> BTreeMap<Kind, ObjectId> {
        let entries = self.entries.iter().rev();
        let kinds = entries.map(|entry| {
            let example = ObjectId::clone(&entry.object);
            (self.kinds[entry.kind].clone(), example)
        });
        kinds.collect()
    }

    /// The step of an object.
    pub(crate) fn of(&self, object: &ObjectId) -> Option<usize> {
        self.by_object.get(object).copied()
    }

    /// The step of every object.
    pub(crate) const fn by_object(&self) -> &HashMap<Arc<ObjectId>, usize> {
        &self.by_object
    }

    /// The objects that were not applied yet, each with its cluster.
    pub(crate) const fn unapplied(&self) -> &BTreeMap<Arc<ObjectId>, String> {
        &self.unapplied
    }

    /// Where a step is.
    pub(crate) fn state(&self, at: usize) -> StepState {
        self.entries[at].state
    }

    /// Whether the object of a step has ever been in sync.
    pub(crate) fn is_applied(&self, at: usize) -> bool {
        self.entries[at].reached >= Milestone::Applied
    }

    /// Whether every step's object has ever been ready.
    pub(crate) fn are_ready(&self) -> bool {
        self.ready == self.entries.len()
    }

    /// How many requests are under way.
    pub(crate) const fn sending(&self) -> usize {
        self.sending
    }

    /// Whether nothing can be done until something happens: every step was tried, or waits.
    pub(crate) fn are_calm(&self) -> bool {
        self.sending == 0 && self.queued.is_empty() && self.startable.is_empty()
    }

    /// The repairs of a step's object.
    pub(crate) fn repairs(&mut self, at: usize) -> &mut Repairs {
        &mut self.entries[at].repairs
    }

    /// The steps that wait for a kind.
    pub(crate) fn waiting_for(&self, kind: &Kind) -> Vec<usize> {
        let wait = |(at, entry): (usize, &Entry)| {
            let waits = matches!(entry.state, StepState::WaitingForKind { .. });
            (waits && self.kinds[entry.kind] == *kind).then_some(at)
        };
        self.entries.iter().enumerate().filter_map(wait).collect()
    }

    /// The next step to begin: queued ones first, each in plan order.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let queued = self.queued.first().or_else(|| self.startable.first());
        queued.copied()
    }

    /// Moves a step to another state.
    pub(crate) fn enter(&mut self, at: usize, state: StepState) {
        let before = std::mem::replace(&mut self.entries[at].state, state);
        match before {
            StepState::Waiting => drop(self.startable.remove(&at)),
            StepState::Queued { .. } => drop(self.queued.remove(&at)),
            StepState::WaitingForRemoval { .. } => drop(self.held.remove(&at)),
            StepState::WaitingForApproval { .. } => drop(self.unapproved.remove(&at)),
            StepState::Sending { .. } => self.sending -= 1,
            StepState::WaitingForKind { .. }
            | StepState::WaitingForAnswer { .. }
            | StepState::BackingOff { .. }
            | StepState::InSync => {}
        }
        match state {
            StepState::Queued { .. } => drop(self.queued.insert(at)),
            StepState::WaitingForRemoval { .. } => drop(self.held.insert(at)),
            StepState::WaitingForApproval { .. } => drop(self.unapproved.insert(at)),
            StepState::Sending { .. } => self.sending += 1,
            StepState::Waiting
            | StepState::WaitingForKind { .. }
            | StepState::WaitingForAnswer { .. }
            | StepState::BackingOff { .. }
            | StepState::InSync => {}
        }
    }

    /// Queues a step again; how often it failed is kept.
    pub(crate) fn queue(&mut self, at: usize) {
        let failures = self.state(at).failures();
        self.enter(at, StepState::Queued { failures });
    }

    /// Queues a step that waits for the answer to an earlier assignment's request.
    pub(crate) fn queue_after_late(&mut self, at: usize) {
        if matches!(self.state(at), StepState::WaitingForAnswer { .. }) {
            self.queue(at);
        }
    }

    /// The steps with a request under way, each with its object.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = (usize, &ObjectId)> {
        let entries = self.entries.iter().enumerate();
        let sending = |entry: &Entry| matches!(entry.state, StepState::Sending { .. });
        entries
            .filter(move |(_, entry)| sending(entry))
            .map(|(at, entry)| (at, &*entry.object))
    }

    /// Queues the steps that wait for a removal.
    pub(crate) fn queue_held(&mut self) {
        for at in std::mem::take(&mut self.held) {
            self.queue(at);
        }
    }

    /// Queues the steps that wait for the approval of a rename.
    pub(crate) fn queue_unapproved(&mut self) {
        for at in std::mem::take(&mut self.unapproved) {
            self.queue(at);
        }
    }

    /// Returns true if the plan has the definition of the kind of this step's object: it comes before.
    pub(crate) fn is_of_new_kind(&self, at: usize) -> bool {
        let mut before = self.step(at).after.iter();
        before.any(|before| {
            let object = &self.step(before.step).object;
            object.is("apiextensions.k8s.io", "CustomResourceDefinition")
        })
    }

    /// Retries the failed steps of a group at once, and resets their failures.
    pub(crate) fn forgive(&mut self, group: &str) {
        for at in 0..self.entries.len() {
            let state = match self.state(at) {
                StepState::BackingOff { .. } | StepState::Queued { .. } => {
                    StepState::Queued { failures: 0 }
                }
                StepState::WaitingForKind { .. } => StepState::WaitingForKind { failures: 0 },
                StepState::WaitingForRemoval { .. } => StepState::WaitingForRemoval { failures: 0 },
                StepState::WaitingForApproval { .. } => {
                    StepState::WaitingForApproval { failures: 0 }
                }
                StepState::WaitingForAnswer { .. } => StepState::WaitingForAnswer { failures: 0 },
                state @ (StepState::Waiting | StepState::Sending { .. } | StepState::InSync) => {
                    state
                }
            };
            if self.step(at).object.group == group && state != self.state(at) {
                self.enter(at, state);
            }
        }
    }

    /// A watch reported the object of a step as deleted while a request about it is under way.
    pub(crate) fn vanished_while_sending(&mut self, at: usize) {
        if let StepState::Sending { vanished, .. } = &mut self.entries[at].state {
            *vanished = true;
        }
    }

    /// The object of a step is in sync; `true` for the first time.
    pub(crate) fn in_sync(&mut self, at: usize) -> bool {
        self.enter(at, StepState::InSync);
        self.unapplied.remove(&self.entries[at].object);
        let first = !self.is_applied(at);
        if first {
            self.keep(at);
            self.entries[at].reached = Milestone::Applied;
        }
        first
    }

    /// The object of a step is as an earlier revision asked for and stays so for now: steps that need only
    /// that may begin.
    pub(crate) fn keep(&mut self, at: usize) {
        if self.entries[at].reached < Milestone::Kept {
            self.entries[at].reached = Milestone::Kept;
            self.release(at, Needed::Applied);
        }
    }

    /// The object of a step is ready. It counts only once the step itself was carried out: the state
    /// before means nothing for the new spec.
    pub(crate) fn ready(&mut self, at: usize) {
        if self.entries[at].reached == Milestone::Applied {
            self.entries[at].reached = Milestone::Ready;
            self.ready += 1;
            self.release(at, Needed::Ready);
        }
    }

    fn release(&mut self, at: usize, reached: Needed) {
        for user in 0..self.entries[at].users.len() {
            let (user, until) = self.entries[at].users[user];
            let entry = &mut self.entries[user];
            if until == reached {
                entry.open -= 1;
                if entry.open == 0 && entry.state == StepState::Waiting {
                    self.startable.insert(user);
                }
            }
        }
    }

    /// Notes whether the cluster has the objects of a kind in namespaces.
    pub(crate) fn locate(&mut self, kind: &Kind, namespaced: bool) {
        let Some(kind) = self.kinds.iter().position(|known| known == kind) else {
            return;
        };
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if entry.kind != kind || entry.object.namespace.is_empty() != namespaced {
                continue;
            }
            let ObjectId {
                group, kind, name, ..
            } = &*entry.object;
            let namespace = if namespaced { "default" } else { "" };
            let object = Arc::new(ObjectId::new(&**group, &**kind, namespace, &**name));
            if let Some(cluster) = self.unapplied.remove(&entry.object) {
                self.unapplied.insert(Arc::clone(&object), cluster);
            }
            self.by_object.insert(Arc::clone(&object), at);
            entry.object = object;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: [usize; 0] = [];

    fn steps(after: &[&[(usize, Needed)]]) -> Steps {
        let step = |(at, after): (usize, &&[(usize, Needed)])| {
            Step::bare(
                ObjectId::new("", "ConfigMap", "ns", format!("c{at}")),
                after,
            )
        };
        Steps::new(&Arc::new(Plan {
            steps: after.iter().enumerate().map(step).collect(),
            ..Plan::default()
        }))
    }

    /// Begins all steps that may begin.
    fn begun(steps: &mut Steps) -> Vec<usize> {
        let begin = || {
            let at = steps.next()?;
            let (failures, vanished) = (steps.state(at).failures(), false);
            steps.enter(at, StepState::Sending { failures, vanished });
            Some(at)
        };
        std::iter::from_fn(begin).collect()
    }

    #[test]
    fn a_step_begins_when_its_own_predecessors_are_satisfied_and_no_later() {
        let mut steps = steps(&[
            &[],
            &[],
            &[(0, Needed::Applied)],
            &[(1, Needed::Ready)],
            &[(0, Needed::Applied), (1, Needed::Ready)],
        ]);
        assert_eq!(begun(&mut steps), [0, 1]);
        assert!(steps.in_sync(0));
        assert_eq!(begun(&mut steps), [2]);
        steps.in_sync(1);
        assert_eq!(begun(&mut steps), IDLE);
        steps.ready(1);
        assert_eq!(begun(&mut steps), [3, 4]);
    }

    #[test]
    fn ready_before_applied_does_not_count() {
        let mut steps = steps(&[&[], &[(0, Needed::Ready)]]);
        begun(&mut steps);
        steps.ready(0);
        assert_eq!(begun(&mut steps), IDLE);
        steps.in_sync(0);
        steps.ready(0);
        assert_eq!(begun(&mut steps), [1]);
    }

    #[test]
    fn an_object_that_is_kept_unblocks_others_but_is_not_in_sync() {
        let mut steps = steps(&[&[], &[(0, Needed::Applied)], &[(0, Needed::Ready)]]);
        begun(&mut steps);
        steps.keep(0);
        assert_eq!(begun(&mut steps), [1]);
        steps.ready(0);
        assert!(!steps.is_applied(0));
        steps.in_sync(0);
        steps.ready(0);
        assert_eq!(begun(&mut steps), [2]);
    }

    #[test]
    fn applying_twice_releases_once() {
        let mut steps = steps(&[&[], &[], &[(0, Needed::Applied), (1, Needed::Applied)]]);
        begun(&mut steps);
        assert!(steps.in_sync(0));
        assert!(!steps.in_sync(0));
        assert_eq!(begun(&mut steps), IDLE);
    }

    #[test]
    fn a_step_is_in_one_state_at_a_time() {
        let mut steps = steps(&[&[]]);
        let failures = 3;
        let until = Timestamp::UNIX_EPOCH;
        steps.enter(0, StepState::BackingOff { failures, until });
        assert_eq!((steps.next(), steps.sending()), (None, 0));
        steps.queue(0);
        assert_eq!(steps.state(0), StepState::Queued { failures });
        assert_eq!(begun(&mut steps), [0]);
        assert_eq!((steps.next(), steps.sending()), (None, 1));
        steps.enter(0, StepState::WaitingForRemoval { failures });
        assert_eq!((steps.next(), steps.sending()), (None, 0));
        steps.forgive("");
        steps.queue_held();
        assert_eq!(steps.state(0), StepState::Queued { failures: 0 });
    }
}
