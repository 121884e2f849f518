//! The root cause of an object that is not ready.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::{Phase, StatusGraph};
use crate::api::conditions::WITHOUT_OWNER;
use crate::api::kinds::is_aso;
use crate::api::{suppliers, timeline};
use crate::graph::Place;
use crate::health;
use crate::model::{Health, HealthState, ObjectId};

/// The path from an object to the one that blocks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// From the object to the blocker; the same object when nothing else blocks it.
    pub path: Vec<usize>,
    /// The other blockers, the worst first.
    pub others: Vec<usize>,
}

impl Chain {
    /// The blocker.
    #[must_use]
    pub fn blocker(&self) -> usize {
        self.path.last().copied().unwrap_or_default()
    }
}

impl StatusGraph {
    /// What an object ultimately waits for; `None` if it is ready. Of several blockers, the one that needs
    /// attention most, then the oldest.
    #[must_use]
    pub fn blocked(&self, at: usize) -> Option<Chain> {
        self.blocked_any(&[at])
    }

    /// The same for several objects at once.
    #[must_use]
    pub fn blocked_any(&self, starts: &[usize]) -> Option<Chain> {
        let unready = |at: &&usize| self.status(**at).phase != Phase::Ready;
        // Each vertex reached, with the one it was reached from.
        let mut from: BTreeMap<usize, Option<usize>> = starts
            .iter()
            .filter(unready)
            .map(|at| (*at, None))
            .collect();
        let mut open: VecDeque<usize> = from.keys().copied().collect();
        let mut ends = Vec::new();
        while let Some(at) = open.pop_front() {
            let next = self.behind(at);
            if next.is_empty() {
                ends.push(at);
            }
            for to in next {
                from.entry(to).or_insert_with(|| {
                    open.push_back(to);
                    Some(at)
                });
            }
        }
        if ends.is_empty() {
            // A cycle.
            ends.extend(from.keys().copied());
        }
        ends.sort_by_key(|at| self.urgency(*at));
        let back = |at: &usize| from.get(at).copied().flatten();
        let blocker = ends.first().copied()?;
        let mut path: Vec<usize> = std::iter::successors(Some(blocker), back).collect();
        path.reverse();
        let others = ends.split_off(1);
        Some(Chain { path, others })
    }

    /// What an object waits for. A failure is its own, unless it only repeats the failure of a dependency.
    fn behind(&self, at: usize) -> Vec<usize> {
        let next = self.past_unmade(at);
        let failed = matches!(self.status(at).phase, Phase::Failed | Phase::Retrying);
        let stuck = |to: &usize| self.status(*to).phase.is_stuck();
        match failed && !next.iter().any(stuck) {
            true => Vec::new(),
            false => next,
        }
    }

    /// What an object waits for, where no resource that waits for Cluster API is to blame for that: whoever would create it
    /// takes its place.
    fn past_unmade(&self, at: usize) -> Vec<usize> {
        let mut open = self.unmet(at);
        let (mut seen, mut next) = (BTreeSet::new(), Vec::new());
        while let Some(to) = open.pop() {
            if !seen.insert(to) {
                continue;
            }
            match self.carrier_without_owner(to) {
                Some(carrier) if carrier == at => open.extend(self.unmet(to)),
                Some(carrier) => next.push(carrier),
                None => next.push(to),
            }
        }
        next.sort_unstable();
        next.dedup();
        next
    }

    /// The object that would create this one and that Cluster API has not taken up yet.
    fn carrier_without_owner(&self, at: usize) -> Option<usize> {
        let Place::Embedded(carrier) = self.graph.vertices[at].place else {
            return None;
        };
        let status = self.status(at);
        let reason = status.reason.as_str();
        let waits = status.phase == Phase::NotMade && WITHOUT_OWNER.contains(&reason);
        waits.then_some(carrier)
    }

    /// The order of blockers. Those without a time count as the newest.
    pub(super) fn urgency(&self, at: usize) -> (Reverse<Phase>, Timestamp, &ObjectId) {
        let status = self.status(at);
        let since = status.since.unwrap_or(Timestamp::MAX);
        (Reverse(status.phase), since, self.id(at))
    }

    /// The usual help for a blocker at `now`; empty if there is none.
    #[must_use]
    pub fn help(&self, at: usize, now: Timestamp) -> String {
        let (id, status) = (self.id(at), self.status(at));
        let health = Health::new(
            HealthState::Unknown,
            status.reason.as_str(),
            status.message.as_str(),
        );
        match status.phase {
            Phase::Ready => STILL_THERE.to_owned(),
            Phase::Missing => missing(id),
            Phase::NotServed => suppliers::help(&id.group, &id.kind),
            Phase::NotMade if status.reason.is_empty() => NOT_MADE.to_owned(),
            Phase::Deleting if !status.reason.is_empty() => undeleted(&health),
            Phase::Deleting if is_aso(&id.group) => in_azure(id, status.since, now, true),
            Phase::Deleting => deleting(id, &status.message),
            _ if self.is_at_work(at) => in_azure(id, status.since, now, false),
            _ => health::help(&health).unwrap_or_default().to_owned(),
        }
    }
}

/// Only deletions wait for something that is ready.
const STILL_THERE: &str = "it must be deleted, but nobody has requested that yet: if this persists, check that its controller runs, and read its logs";
const NOT_MADE: &str = "usually nothing to do: its controller is about to create it; if this persists, check that its controller runs, and read its logs";

fn missing(id: &ObjectId) -> String {
    let what = match id.kind.as_str() {
        "Secret" => "create the Secret (do not commit its content to a repository)",
        "Namespace" => "create the namespace",
        "AzureClusterIdentity" => "create the identity, or add it to the fleet",
        _ => "add it to the fleet, or create it",
    };
    format!("{what}, or correct the name where it is used")
}

fn deleting(id: &ObjectId, message: &str) -> String {
    if id.is("", "Namespace") {
        return "nothing can be created in a namespace that is being deleted: delete the objects that are left in it, or wait".to_owned();
    }
    match message.contains("held by") {
        true => "it is deleted once the controllers of these finalizers have cleaned up: check that they run, and read their logs; if you remove a finalizer by hand, its Azure resources are left behind".to_owned(),
        false => "usually nothing to do: it is about to be deleted".to_owned(),
    }
}

/// Help where a deletion failed.
fn undeleted(why: &Health) -> String {
    let general = "it is tried again every few minutes: see what Azure answers, and remove the cause; if you remove a finalizer by hand, its Azure resources are left behind";
    health::help(why).unwrap_or(general).to_owned()
}

/// Help while Azure is working: whether that takes longer than usual.
fn in_azure(id: &ObjectId, since: Option<Timestamp>, now: Timestamp, deleting: bool) -> String {
    let usual = match deleting {
        true => timeline::deletion(id),
        false => timeline::longest(&id.group, &id.kind),
    };
    let minutes = usual.as_secs().div_ceil(60).max(1);
    let usual = SignedDuration::try_from(usual).unwrap_or(SignedDuration::MAX);
    let patience = usual.saturating_mul(2) + SignedDuration::from_mins(1);
    let late = since.is_some_and(|since| now.duration_since(since) > patience);
    let work = if deleting { "its deletion" } else { "it" };
    match late {
        false => format!(
            "nothing to do: Azure is working on {work}, which usually takes up to {minutes} min"
        ),
        true => format!(
            "Azure usually takes up to {minutes} min for {work}: check the operation in Azure's activity log, and the logs of Azure Service Operator"
        ),
    }
}
