//! The kinds that are watched: for members of the set, and for what controllers make.

use std::collections::BTreeMap;

use super::super::request::in_time;
use super::super::rest::rest;
use super::super::watch::{self, Broken};
use super::{Done, RetryTarget, Runner};
use crate::adapters::kubernetes::Error;
use crate::adapters::kubernetes::discovery::Served;
use crate::api::labels;
use crate::apply::Kind;
use crate::apply::State;
use crate::model::{ErrorClass, ObjectId};

/// How far the members of a kind are known.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// The cluster was asked how it serves the kind.
    Asked,
    /// Its members are being listed.
    Listing(Served),
    /// Its members are known, and watched.
    Listed(Served),
    /// Its watch found nothing at its address: after a rest, the cluster is asked how it serves it.
    Lost,
    /// The cluster did not say, or does not serve it.
    Unserved,
}

/// Everything that is watched.
#[derive(Default)]
pub(super) struct Kinds {
    members: BTreeMap<Kind, Known>,
    /// Kinds of embedded resources, all of which are watched.
    all: std::collections::BTreeSet<Kind>,
    /// Whether definitions of custom kinds are watched.
    defining: bool,
}

impl Kinds {
    pub(super) fn known(&self, kind: &Kind) -> Option<&Known> {
        self.members.get(kind)
    }

    /// How a kind is served whose members are known, at whatever version.
    pub(super) fn listed(&self, id: &ObjectId) -> Option<&Served> {
        self.members.iter().find_map(|(kind, known)| match known {
            Known::Listed(served) if id.is(&kind.0, &kind.2) => Some(served),
            _ => None,
        })
    }

    /// Every kind that the cluster serves, as far as is known, and whether its objects are in namespaces.
    pub(super) fn placed(&self) -> Vec<(Kind, bool)> {
        let placed = |(kind, known): (&Kind, &Known)| match known {
            Known::Listing(served) | Known::Listed(served) => {
                Some((kind.clone(), served.namespaced))
            }
            Known::Asked | Known::Lost | Known::Unserved => None,
        };
        self.members.iter().filter_map(placed).collect()
    }

    /// Whether nobody is waited for.
    pub(super) fn are_still(&self) -> bool {
        let waits = |known: &Known| matches!(known, Known::Asked | Known::Lost | Known::Listing(_));
        !self.members.values().any(waits)
    }
}

impl Runner {
    /// Asks how the cluster serves `kind`, unless that is known or asked.
    pub(super) fn find(&mut self, kind: Kind, id: &ObjectId) {
        if !matches!(self.kinds.members.get(&kind), None | Some(Known::Unserved)) {
            return;
        }
        self.kinds.members.insert(kind.clone(), Known::Asked);
        self.ask(kind, id);
    }

    fn ask(&mut self, kind: Kind, id: &ObjectId) {
        let (discovery, id) = (self.discovery.clone(), id.clone());
        self.jobs.spawn(async move {
            let answer = in_time(&id, discovery.resolve(&id, &kind.1)).await;
            Done::Found(kind, Box::new(answer))
        });
    }

    pub(super) fn found(&mut self, kind: &Kind, answer: Result<Served, Error>) {
        self.found_embedded(kind, &answer);
        if !matches!(self.kinds.members.get(kind), Some(Known::Asked)) {
            return;
        }
        match answer {
            Ok(served) => {
                self.locate(kind, served.namespaced);
                let labels = format!("{}={}", labels::PART_OF, self.options.set.id());
                let news = watch::members(&self.target.client, &served, &labels);
                self.watches.push(news);
                let known = Known::Listing(served);
                self.kinds.members.insert(kind.clone(), known);
            }
            Err(error) => {
                self.kinds.members.insert(kind.clone(), Known::Unserved);
                for at in self.unpark(kind) {
                    self.failed(at, &error);
                }
                self.past_unknown(kind, &error);
                self.unfound(kind, &error);
            }
        }
    }

    /// All members of a kind are known.
    pub(super) fn listed(&mut self, kind: &Kind) {
        if let Some(Known::Listing(served)) = self.kinds.members.get(kind) {
            let known = Known::Listed(served.clone());
            self.kinds.members.insert(kind.clone(), known);
        }
        let parked = self.unpark(kind);
        if let Some(work) = &mut self.work {
            work.queue.extend(parked);
            work.stirred = true;
        }
    }

    /// Steps whose kind cannot be listed say why, and go on waiting.
    pub(super) fn interrupted(&mut self, kind: &Kind, broken: &Broken) {
        let parked = self.work.as_ref().and_then(|work| work.parked.get(kind));
        for at in parked.cloned().unwrap_or_default() {
            let why = format!("its kind cannot be watched: {}", broken.why);
            self.tell_step(at, State::Failed, broken.denied, why);
        }
    }

    /// What controllers make of a kind may not be seen: that is said, since it may last.
    pub(super) fn made_unseen(&mut self, kind: &Kind, broken: &Broken) {
        let Some(work) = &mut self.work else { return };
        if broken.denied && work.embedded.served(kind, false) {
            let why = format!("its progress cannot be seen: {}", broken.why);
            self.tell_embedded(kind, State::Failed, &why);
        }
    }

    /// What controllers made of a kind was told; what they did not make is waited for again.
    pub(super) fn made_listed(&mut self, kind: &Kind) {
        let Some(work) = &mut self.work else { return };
        if work.embedded.served(kind, true) {
            self.tell_embedded(kind, State::Waiting, "");
            self.tell_made();
        }
    }

    /// The cluster does not serve a kind any more, or is just being started.
    pub(super) fn lost(&mut self, kind: Kind) {
        let rest = rest(ErrorClass::Gone, 4, None);
        self.kinds.members.insert(kind.clone(), Known::Lost);
        self.rest(rest.wait, RetryTarget::Lost(kind));
    }

    pub(super) fn find_again(&mut self, kind: Kind) {
        self.discovery.doubt(&kind.0, &kind.1);
        let example = ObjectId::new(&*kind.0, &*kind.2, "", "");
        self.kinds.members.insert(kind.clone(), Known::Asked);
        self.ask(kind, &example);
    }

    /// The answer to a question about a kind that was watched once: without an answer it is asked
    /// again; when it is not served, its objects are gone.
    fn unfound(&mut self, kind: &Kind, error: &Error) {
        if !matches!(error, Error::NotServed { .. }) {
            if self.members.keys().any(|id| id.is(&kind.0, &kind.2)) {
                self.lost(kind.clone());
            }
            return;
        }
        let example = ObjectId::new(&*kind.0, &*kind.2, "", "");
        if self.kinds.listed(&example).is_some() {
            // At another version it is served, and its objects are known.
            return;
        }
        let gone: Vec<ObjectId> = self
            .members
            .keys()
            .filter(|id| id.is(&kind.0, &kind.2))
            .cloned()
            .collect();
        for id in gone {
            self.disappeared(&id);
        }
    }

    /// Definitions tell when a kind that is missing may be there.
    pub(super) fn watch_definitions(&mut self) {
        if !self.kinds.defining {
            self.kinds.defining = true;
            self.watches.push(watch::definitions(&self.target.client));
        }
    }

    /// A definition of a kind in `group` appeared or changed: what failed for want of one is tried
    /// again.
    pub(super) fn defined(&mut self, group: &str) {
        let Some(work) = &mut self.work else { return };
        let missing = work.embedded.missing(group);
        let plan = std::sync::Arc::clone(&work.assignment.plan);
        let of_group =
            |at: &usize| plan.steps[*at].object.group == group && !work.sent.contains(at);
        let woken: Vec<usize> = work.failures.keys().copied().filter(of_group).collect();
        for at in woken {
            work.failures.remove(&at);
            work.queue.insert(at);
        }
        for (kind, id) in missing {
            self.ask(kind, &id);
        }
    }

    /// Looks up how the cluster serves the kinds of embedded resources.
    pub(super) fn find_all_embedded(&mut self) {
        let kinds = self.work.as_ref().map(|work| work.embedded.kinds());
        for (kind, id) in kinds.unwrap_or_default() {
            if !self.kinds.all.contains(&kind) {
                self.ask(kind, &id);
            }
        }
    }

    pub(super) fn find_embedded(&mut self, kind: Kind) {
        let kinds = self.work.as_ref().map(|work| work.embedded.kinds());
        let example = kinds
            .into_iter()
            .flatten()
            .find(|(known, _)| *known == kind);
        if let Some((_, id)) = example {
            self.ask(kind, &id);
        }
    }

    /// An embedded kind is watched once the cluster serves it. Its resources carry no label of ours,
    /// so all of the kind are watched and the others passed over.
    fn found_embedded(&mut self, kind: &Kind, answer: &Result<Served, Error>) {
        let Some(work) = &mut self.work else { return };
        if !work.embedded.has(kind) || self.kinds.all.contains(kind) {
            return;
        }
        let news = work.embedded.served(kind, answer.is_ok());
        match answer {
            Ok(served) => {
                self.kinds.all.insert(kind.clone());
                self.watches.push(watch::all(&self.target.client, served));
                if news {
                    self.tell_embedded(kind, State::Waiting, "");
                }
            }
            Err(error) if error.class() == ErrorClass::Transient => {
                let failures = work.embedded.failed(kind);
                let wait = rest(error.class(), failures, error.retry_after()).wait;
                self.rest(wait, RetryTarget::Kind(kind.clone()));
            }
            Err(error) => {
                if news {
                    tracing::warn!(%error, "its progress cannot be seen until then");
                }
                self.watch_definitions();
                self.tell_embedded(kind, State::Failed, &error.to_string());
            }
        }
    }
}
