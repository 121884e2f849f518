//! What is under way for one assignment, and the parent that says so.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::super::parent;
use super::super::request::with_timeout;
use super::super::rest::{pause, rest};
use super::{Assignment, Done, RetryTarget, Runner};
use crate::adapters::kubernetes::Error;
use crate::apply::{DeletionGuard, Execution, Parent, PruneStatus, Repairs, Report};
use crate::apply::{Embedded, Kind};
use crate::model::{Action, ErrorClass, ObjectId, Step};

/// The state of an assignment.
pub(super) struct Work {
    pub(super) assignment: Assignment,
    pub(super) execution: Execution,
    /// Per object of the plan, as the cluster names it: its step.
    pub(super) steps: HashMap<ObjectId, usize>,
    /// Per step: its object as the cluster names it.
    pub(super) keys: Vec<ObjectId>,
    pub(super) embedded: Embedded,
    /// What the parent says; none until it was opened.
    pub(super) parent: Option<Parent>,
    /// Its resourceVersion.
    parent_version: String,
    /// Whether the parent is being written, or that rests.
    pub(super) writing: bool,
    /// Kinds of earlier members: the version they are looked for at, once that is known.
    pub(super) past: BTreeMap<(String, String), Past>,
    /// Objects of steps that were not applied yet, each with its cluster.
    pub(super) unapplied: BTreeMap<ObjectId, String>,
    /// Steps to begin.
    pub(super) queue: BTreeSet<usize>,
    /// Steps that wait for their kind to be listed.
    pub(super) parked: BTreeMap<Kind, BTreeSet<usize>>,
    /// Steps that wait for something to be gone.
    pub(super) held: BTreeSet<usize>,
    /// Steps that are being sent.
    pub(super) sent: BTreeSet<usize>,
    /// Those among them whose object a watch saw go meanwhile.
    pub(super) vanished: BTreeSet<usize>,
    /// Per step that rests: how often it failed in a row.
    pub(super) failures: BTreeMap<usize, u32>,
    pub(super) repairs: BTreeMap<usize, Repairs>,
    pub(super) guard: DeletionGuard,
    /// Members that leave, with what they refer to once that is known.
    pub(super) leaving: BTreeMap<ObjectId, Option<Vec<ObjectId>>>,
    /// What was told of them last.
    pub(super) told: BTreeMap<ObjectId, PruneStatus>,
    /// Those to be deleted or released, in this round.
    pub(super) dismissals: VecDeque<(ObjectId, bool)>,
    /// Those being asked to go, and those that were, each with the uid it had.
    pub(super) dismissing: BTreeSet<ObjectId>,
    pub(super) dismissed: BTreeMap<ObjectId, String>,
    /// Whether something happened that the decision of those that leave may follow from.
    pub(super) stirred: bool,
    /// How often the parent could not be opened.
    openings: u32,
    settled: bool,
    /// Whether members have come or gone since the parent was looked at last.
    pub(super) recount: bool,
}

/// Where earlier members of a kind are looked for.
pub(super) enum Past {
    /// The cluster was asked.
    Asked,
    /// At this version.
    At(Kind),
    /// The cluster does not serve the kind any more: it has no objects of it.
    Unserved,
}

/// The parent was opened.
pub(super) struct Opened {
    /// What it said before.
    before: Option<Parent>,
    /// What it says now, and its version.
    now: Parent,
    version: String,
    approved: BTreeSet<String>,
}

impl Work {
    fn new(assignment: Assignment) -> Self {
        let steps = assignment.plan.steps.iter();
        let keys: Vec<ObjectId> = steps.map(|step| step.object.clone()).collect();
        let unapplied = assignment.plan.steps.iter();
        let unapplied = unapplied.map(|step| (step.object.clone(), cluster(step).to_owned()));
        Self {
            execution: Execution::new(&assignment.plan),
            steps: keys.iter().cloned().zip(0..).collect(),
            embedded: Embedded::new(assignment.embedded.clone()),
            parent: None,
            parent_version: String::new(),
            writing: false,
            past: BTreeMap::new(),
            unapplied: unapplied.collect(),
            keys,
            queue: BTreeSet::new(),
            parked: BTreeMap::new(),
            held: BTreeSet::new(),
            sent: BTreeSet::new(),
            vanished: BTreeSet::new(),
            failures: BTreeMap::new(),
            repairs: BTreeMap::new(),
            guard: DeletionGuard {
                prune: assignment.prune,
                max_clusters: assignment.max_clusters,
                ..DeletionGuard::default()
            },
            leaving: BTreeMap::new(),
            told: BTreeMap::new(),
            dismissals: VecDeque::new(),
            dismissing: BTreeSet::new(),
            dismissed: BTreeMap::new(),
            stirred: true,
            openings: 0,
            settled: false,
            recount: false,
            assignment,
        }
    }

    pub(super) const fn number(&self) -> u64 {
        self.assignment.number
    }

    pub(super) fn step(&self, at: usize) -> &Step {
        &self.assignment.plan.steps[at]
    }

    /// The kind of a step, at the version it is applied at.
    pub(super) fn kind(&self, at: usize) -> Kind {
        let step = self.step(at);
        let Action::Apply { payload, .. } = &step.action;
        (
            step.object.group.clone(),
            payload.version().to_owned(),
            step.object.kind.clone(),
        )
    }

    /// What the parent is to say while this is under way.
    fn opening(&self) -> Parent {
        let kinds = self
            .keys
            .iter()
            .map(|key| (key.group.clone(), key.kind.clone()));
        let namespaces = self.keys.iter().map(|key| key.namespace.clone());
        Parent {
            kinds: kinds.collect(),
            namespaces: namespaces.collect(),
            source: self.assignment.source.clone(),
            applying: self.assignment.revision.clone(),
            objects: Some(self.keys.len()),
            ..Parent::default()
        }
    }
}

/// The cluster that a step's object belongs to.
pub(super) fn cluster(step: &Step) -> &str {
    let Action::Apply { payload, .. } = &step.action;
    payload.cluster()
}

impl Runner {
    /// Takes up a plan in place of the one before. What is known of the cluster stays.
    pub(super) fn assign(&mut self, assignment: Assignment) {
        // What the one before still has to say of itself is of no use any more.
        if let Some(clerk) = self.clerk.take() {
            clerk.abort();
        }
        self.work = Some(Work::new(assignment));
        for (kind, namespaced) in self.kinds.placed() {
            self.locate(&kind, namespaced);
        }
        let Some(work) = &mut self.work else { return };
        for (id, member) in &mut self.members {
            match work.steps.get(id) {
                Some(at) => member.judge(&work.step(*at).action),
                None => drop(work.leaving.insert(id.clone(), None)),
            }
        }
        self.open();
        self.find_all_embedded();
        self.tell_made();
    }

    /// Reads the parent, and writes into it what is going to be a member: first of all, so that
    /// nothing that was applied is ever forgotten.
    pub(super) fn open(&mut self) {
        let Some(work) = &self.work else { return };
        let (client, set) = (self.target.client.clone(), self.options.set.clone());
        let (assignment, number) = (work.assignment.clone(), work.number());
        let planned = work.opening();
        let job = self.jobs.spawn(async move {
            let open = async {
                let (before, mut version) = parent::read(&client, &set).await?.unzip();
                let now = before.clone().unwrap_or_default().with(planned).tidy(&set);
                if before.as_ref() != Some(&now) {
                    let known = version.as_deref().unwrap_or_default();
                    version = Some(parent::write(&client, &set, &now, known).await?);
                }
                let applied = before.as_ref().map(|parent| parent.applied.clone());
                let approvals = assignment.approvals;
                let approved =
                    tokio::task::spawn_blocking(move || approvals(&applied.unwrap_or_default()));
                let approved = approved.await.unwrap_or_default();
                Ok(Opened {
                    before,
                    now,
                    version: version.unwrap_or_default(),
                    approved,
                })
            };
            Done::Opened(number, Box::new(with_timeout(&set.parent(), open).await))
        });
        self.clerk = Some(job);
    }

    pub(super) fn opened(&mut self, number: u64, opened: Result<Opened, Error>) {
        self.of_work(number, |runner| match opened {
            Ok(opened) => runner.go(opened),
            Err(error) => {
                let failures = runner.work.as_mut().map_or(1, |work| {
                    work.openings += 1;
                    work.openings
                });
                let rest = rest(error.class(), failures, error.retry_after());
                // A write of the assignment before may have come in between.
                if error.class() != ErrorClass::Conflict || rest.in_vain {
                    runner.report(Report::Stuck(error.to_string()));
                }
                runner.rest(rest.wait, RetryTarget::Opening);
            }
        });
    }

    fn go(&mut self, opened: Opened) {
        let Some(work) = &mut self.work else { return };
        tracing::debug!(target: "capstan::step", "the parent says what is going to be applied");
        let revision = &work.assignment.revision;
        let before = opened.before.unwrap_or_default();
        work.guard.unchanged = !revision.is_empty() && before.applied == *revision;
        work.guard.approved = opened.approved;
        work.parent = Some(opened.now);
        work.parent_version = opened.version;
        work.stirred = true;
        if std::mem::take(&mut work.openings) > 0 {
            self.report(Report::Begun);
        }
        let Some(work) = &mut self.work else { return };
        let steps = work.keys.iter().enumerate();
        let known: BTreeMap<Kind, ObjectId> = steps
            .rev()
            .map(|(at, key)| (work.kind(at), key.clone()))
            .collect();
        for (group, kind) in before.kinds {
            let planned = known
                .keys()
                .find(|known| known.0 == group && known.2 == kind);
            let past = planned.map_or(Past::Asked, |planned| Past::At(planned.clone()));
            work.past.insert((group, kind), past);
        }
        let asked = work
            .past
            .iter()
            .filter(|(_, past)| matches!(past, Past::Asked));
        let asked: Vec<(String, String)> = asked.map(|(kind, _)| kind.clone()).collect();
        for (kind, id) in known {
            self.find(kind, &id);
        }
        for kind in asked {
            self.find_past(kind);
        }
    }

    /// Asks at which version a kind is served that the set had members of.
    pub(super) fn find_past(&mut self, kind: (String, String)) {
        let past = self.work.as_ref().and_then(|work| work.past.get(&kind));
        if let Some(Past::At(at)) = past {
            return self.find(at.clone(), &ObjectId::new(&*kind.0, &*kind.1, "", ""));
        }
        let number = self.work.as_ref().map_or(0, Work::number);
        let discovery = self.discovery.clone();
        self.jobs.spawn(async move {
            let id = ObjectId::new(&*kind.0, &*kind.1, "", "");
            let answer = with_timeout(&id, discovery.preferred(&id)).await;
            Done::Preferred(number, kind, Box::new(answer))
        });
    }

    /// The cluster did not say how it serves a kind: where there may be earlier members of it, it is
    /// asked again.
    pub(super) fn past_unknown(&mut self, kind: &Kind, error: &Error) {
        let past = (kind.0.clone(), kind.2.clone());
        let Some(work) = &mut self.work else { return };
        match work.past.get_mut(&past) {
            Some(known @ Past::At(_)) if matches!(&*known, Past::At(at) if at == kind) => {
                if matches!(error, Error::NotServed { .. }) {
                    *known = Past::Asked;
                }
                self.rest(pause(error), RetryTarget::Past(past));
            }
            _ => {}
        }
    }

    pub(super) fn preferred(
        &mut self,
        number: u64,
        kind: &(String, String),
        answer: Result<Option<String>, Error>,
    ) {
        self.of_work(number, |runner| {
            let Some(work) = &mut runner.work else { return };
            match answer {
                Ok(Some(version)) => {
                    let at = (kind.0.clone(), version, kind.1.clone());
                    work.past.insert(kind.clone(), Past::At(at.clone()));
                    runner.find(at, &ObjectId::new(&*kind.0, &*kind.1, "", ""));
                }
                Ok(None) => {
                    work.past.insert(kind.clone(), Past::Unserved);
                    work.stirred = true;
                }
                Err(error) => {
                    tracing::warn!(%error, "nothing is removed until it is known what is there");
                    runner.rest(pause(&error), RetryTarget::Past(kind.clone()));
                }
            }
        });
    }

    /// Whether all that may be a member is known.
    pub(super) fn knows_all(&self) -> bool {
        let Some(work) = &self.work else { return false };
        let known = |past: &Past| match past {
            Past::Asked => false,
            Past::At(kind) => {
                matches!(self.kinds.known(kind), Some(super::kinds::Known::Listed(_)))
            }
            Past::Unserved => true,
        };
        work.parent.is_some() && self.kinds.are_still() && work.past.values().all(known)
    }

    /// Writes into the parent how far the fleet has come, when that is news.
    pub(super) fn keep_parent(&mut self) {
        if !self.knows_all() {
            return;
        }
        let Some(work) = &mut self.work else { return };
        let Some(parent) = work.parent.as_ref().filter(|_| !work.writing) else {
            return;
        };
        let ready = work.execution.is_ready() && parent.ready != work.assignment.revision;
        if work.settled && !ready && !work.recount {
            return;
        }
        let calm = work
            .leaving
            .keys()
            .all(|id| matches!(work.told.get(id), Some(PruneStatus::Held(_))));
        if !(work.unapplied.is_empty() && calm && work.dismissing.is_empty()) {
            return;
        }
        let mut wanted = work.opening();
        for id in self.members.keys() {
            wanted.kinds.insert((id.group.clone(), id.kind.clone()));
            wanted.namespaces.insert(id.namespace.clone());
        }
        wanted.applied.clone_from(&wanted.applying);
        wanted.ready = match work.execution.is_ready() {
            true => wanted.applied.clone(),
            false => parent.ready.clone(),
        };
        let wanted = wanted.tidy(&self.options.set);
        if wanted == *parent {
            work.recount = false;
            if !work.settled {
                work.settled = true;
                self.report(Report::Settled);
            }
            return;
        }
        work.writing = true;
        tracing::debug!(target: "capstan::step", "writing into the parent how far the fleet has come");
        let (client, set, number) = (
            self.target.client.clone(),
            self.options.set.clone(),
            work.number(),
        );
        let version = work.parent_version.clone();
        let job = self.jobs.spawn(async move {
            let write = parent::write_over(&client, &set, &wanted, &version);
            let written = with_timeout(&set.parent(), write).await;
            Done::Written(number, Box::new((wanted, written)))
        });
        self.clerk = Some(job);
    }

    pub(super) fn written(
        &mut self,
        number: u64,
        (parent, written): (Parent, Result<String, Error>),
    ) {
        self.of_work(number, |runner| {
            let Some(work) = &mut runner.work else { return };
            match written {
                Ok(version) => {
                    tracing::debug!(target: "capstan::step", "the parent says how far the fleet has come");
                    work.writing = false;
                    work.parent_version = version;
                    work.parent = Some(parent);
                }
                Err(error) => {
                    tracing::warn!(%error, "how far the fleet has come cannot be written down");
                    runner.rest(pause(&error), RetryTarget::Writing);
                }
            }
        });
    }

    pub(super) fn retry_writing(&mut self) {
        if let Some(work) = &mut self.work {
            work.writing = false;
        }
    }
}
