//! Whether our ARO controllers act, or step back for CAPZ's.
//!
//! In: what was seen of CAPZ in the cluster, and the time. Out: act, or step back with a reason and the time when
//! to look again. CAPZ writes little while nothing changes, so that its Deployment counts as well as its writes.
//! It does not know who watches, or what acting means.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::outcome::{Outcome, Write, patch_of};
use crate::api::labels::{ARO_FINALIZERS, INFRASTRUCTURE_AZURE, PROVIDER, STEPPED_BACK};
use crate::health::Live;
use crate::model::ObjectId;

/// For how long a write of CAPZ's controllers, or a Deployment of theirs that broke, keeps us back.
pub(crate) const HOLD: Duration = Duration::from_secs(600);
/// The same for a Deployment that was deleted or scaled down: its pods end within that time.
pub(crate) const DRAIN: Duration = Duration::from_secs(60);

/// Tools that apply what people wrote. They decide nothing about a cluster.
const TOOLS: [&str; 6] = [
    "kubectl",
    "clusterctl",
    "helm",
    "argocd",
    "kustomize-controller",
    "kube-controller-manager",
];

/// A write of another controller to one of the custom resources.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ForeignWrite {
    /// Its field manager.
    manager: String,
    /// What each field manager wrote last, by the clock of the API server.
    stamps: BTreeSet<(String, Timestamp)>,
    /// When, by the clock here.
    at: Timestamp,
}

/// A Deployment of CAPZ whose ARO controllers are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    /// It has a ready pod.
    Ready,
    /// It should have one, and has had none since.
    Broken(Timestamp),
    /// It should have none since.
    Stopped(Timestamp),
}

/// What was seen of CAPZ.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The last write to each object.
    writes: BTreeMap<ObjectId, ForeignWrite>,
    providers: BTreeMap<ObjectId, Provider>,
    /// What cannot be seen, by the name of the kind, with the reason; empty while it is not known yet.
    hidden: BTreeMap<&'static str, String>,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Our controllers act.
    Act,
    /// They do not.
    StepBack {
        /// Why.
        why: Reason,
        /// When to decide again although nothing was seen.
        until: Option<Timestamp>,
    },
}

/// Why our controllers step back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Not everything was seen yet.
    Looking,
    /// Something cannot be seen.
    Hidden(String),
    /// A Deployment of CAPZ is ready.
    Ready(ObjectId),
    /// A Deployment of CAPZ was ready shortly before.
    WasReady(ObjectId),
    /// CAPZ wrote.
    Wrote(ObjectId, String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Looking => f.write_str("it is not known yet whether CAPZ's controllers run"),
            Self::Hidden(why) => write!(
                f,
                "it cannot be seen whether CAPZ's controllers run: {why}. Grant that right, or pass `--aro on` (in a Fleet document: spec.controllers.aro)"
            ),
            Self::Ready(id) => write!(f, "CAPZ's controllers run: {id} is ready"),
            Self::WasReady(id) => write!(f, "CAPZ's controllers ran shortly before in {id}"),
            Self::Wrote(id, manager) => write!(
                f,
                "CAPZ's controllers act: the field manager {manager} wrote the status or finalizers of {id} within the last 10 minutes"
            ),
        }
    }
}

impl Reason {
    /// Whether it is that CAPZ acts, not that too little is known.
    pub(crate) const fn is_capz(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::WasReady(_) | Self::Wrote(..))
    }
}

/// Takes the note off an object that our controllers stepped back: they act.
pub(super) fn take_off_note(live: Live<'_>, outcome: &mut Outcome) {
    if !live.annotation(STEPPED_BACK).is_empty() {
        let mut patch = patch_of(live);
        patch["metadata"]["annotations"] = json!({STEPPED_BACK: null});
        outcome.write(Write::Merge(patch));
    }
}

impl Seen {
    /// Nothing was seen yet; `kinds` have to be.
    pub(crate) fn nothing_of(kinds: &[&'static str]) -> Self {
        let hidden = kinds.iter().map(|kind| (*kind, String::new()));
        Self {
            hidden: hidden.collect(),
            ..Self::default()
        }
    }

    /// All objects of a kind were seen.
    pub(crate) fn listed(&mut self, kind: &'static str) {
        self.hidden.remove(kind);
    }

    /// A kind cannot be seen now, which matters until it was seen once.
    pub(crate) fn failed(&mut self, kind: &'static str, why: String) {
        if let Some(known) = self.hidden.get_mut(kind) {
            *known = why;
        }
    }

    /// The right to see a kind is missing: what was seen of it may be over.
    pub(crate) fn denied(&mut self, kind: &'static str, why: String) {
        self.hidden.insert(kind, why);
    }

    /// A custom resource was seen. A write that is `new` since the last look happened now, whatever the clock of
    /// the API server says.
    pub(crate) fn object(
        &mut self,
        id: &ObjectId,
        managed_fields: &Value,
        now: Timestamp,
        new: bool,
    ) {
        let stamps = foreign_writes(managed_fields);
        let Some((manager, stamp)) = stamps.iter().max_by_key(|(_, stamp)| *stamp) else {
            return;
        };
        if let Some(known) = self.writes.get_mut(id)
            && known.stamps.is_superset(&stamps)
        {
            // One whose fields ours took over leaves the list: that is no write of it.
            known.stamps = stamps;
            return;
        }
        let write = ForeignWrite {
            manager: manager.clone(),
            at: if new { now } else { now.min(*stamp) },
            stamps,
        };
        self.writes.insert(id.clone(), write);
    }

    /// A custom resource was deleted. That CAPZ wrote it counts on.
    pub(crate) fn gone(&mut self, id: &ObjectId, now: Timestamp) {
        let known = self.writes.get(id);
        if known.is_some_and(|write| now >= after(write.at, HOLD)) {
            self.writes.remove(id);
        }
    }

    /// A Deployment was seen.
    pub(crate) fn deployment(&mut self, id: &ObjectId, deployment: &Value, now: Timestamp) {
        let known = self.providers.get(id).copied();
        if !runs_aro(deployment) {
            if known.is_some() {
                self.deleted(id, now);
            }
            return;
        }
        let number = |path: &str| deployment.pointer(path).and_then(Value::as_i64);
        let ready = number("/status/readyReplicas").unwrap_or(0) > 0;
        let wanted = number("/spec/replicas").unwrap_or(1) > 0;
        let state = match (ready, wanted, known) {
            (true, ..) => Some(Provider::Ready),
            (false, true, Some(broken @ Provider::Broken(_))) => Some(broken),
            (false, true, Some(_)) => Some(Provider::Broken(now)),
            (false, true, None) => unavailable_since(deployment).map(Provider::Broken),
            (false, false, Some(stopped @ Provider::Stopped(_))) => Some(stopped),
            (false, false, Some(_)) => Some(Provider::Stopped(now)),
            (false, false, None) => None,
        };
        if let Some(state) = state {
            self.providers.insert(id.clone(), state);
        }
    }

    /// A Deployment was deleted, or does not run the ARO controllers any more.
    pub(crate) fn deleted(&mut self, id: &ObjectId, now: Timestamp) {
        if let Some(state) = self.providers.get_mut(id)
            && !matches!(state, Provider::Stopped(_))
        {
            *state = Provider::Stopped(now);
        }
    }

    /// Act, unless CAPZ does. Of several reasons the one that lasts longest is named.
    pub(crate) fn decide(&self, now: Timestamp) -> Decision {
        if let Some(why) = self.hidden.values().max() {
            let why = match why.as_str() {
                "" => Reason::Looking,
                why => Reason::Hidden(why.to_owned()),
            };
            return Decision::StepBack { why, until: None };
        }
        let providers = self.providers.iter().map(|(id, state)| match state {
            Provider::Ready => (None, Reason::Ready(id.clone())),
            Provider::Broken(since) => (Some(after(*since, HOLD)), Reason::WasReady(id.clone())),
            Provider::Stopped(since) => (Some(after(*since, DRAIN)), Reason::WasReady(id.clone())),
        });
        let writes = self.writes.iter().map(|(id, write)| {
            let why = Reason::Wrote(id.clone(), write.manager.clone());
            (Some(after(write.at, HOLD)), why)
        });
        let holds = providers
            .chain(writes)
            .filter(|(until, _)| until.is_none_or(|until| now < until));
        let longest = holds.max_by_key(|(until, _)| until.unwrap_or(Timestamp::MAX));
        longest.map_or(Decision::Act, |(until, why)| Decision::StepBack {
            why,
            until,
        })
    }
}

/// The field managers and the times of the writes of other controllers: to the status, or to a finalizer of the ARO
/// kinds.
fn foreign_writes(managed_fields: &Value) -> BTreeSet<(String, Timestamp)> {
    let entries = managed_fields.as_array().into_iter().flatten();
    let writes = entries.filter_map(|entry| {
        let manager = entry["manager"].as_str()?;
        let finalizers = entry.pointer("/fieldsV1/f:metadata/f:finalizers");
        let owns =
            |name: &str| finalizers.is_some_and(|held| held.get(format!("v:\"{name}\"")).is_some());
        let counts =
            entry["subresource"] == "status" || ARO_FINALIZERS.iter().any(|name| owns(name));
        if !counts || is_ours(manager) || TOOLS.iter().any(|tool| manager.starts_with(tool)) {
            return None;
        }
        let at = entry["time"].as_str()?.parse().ok()?;
        Some((manager.to_owned(), at))
    });
    writes.collect()
}

fn is_ours(manager: &str) -> bool {
    manager == "capstan" || manager.starts_with("capstan-")
}

/// Whether it is a Deployment of CAPZ with the feature gate of the ARO controllers on. ASO, which CAPZ brings along,
/// has no such gate.
fn runs_aro(deployment: &Value) -> bool {
    let labels = &deployment["metadata"]["labels"];
    let containers = deployment.pointer("/spec/template/spec/containers");
    let mut containers = containers.and_then(Value::as_array).into_iter().flatten();
    labels[PROVIDER] == INFRASTRUCTURE_AZURE && containers.any(has_gate)
}

/// Whether the arguments of a container enable the feature gate `ARO`. An argument may name a variable.
fn has_gate(container: &Value) -> bool {
    let text = |list: &str| -> Vec<&str> {
        let list = container[list].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    let mut words = text("command");
    words.extend(text("args"));
    let mut enabled = variable(container, "EXP_ARO") == Some("true");
    for (place, word) in words.iter().enumerate() {
        let word = word.trim_start_matches('-');
        let gates = match word.strip_prefix("feature-gates") {
            Some("") => words.get(place + 1).copied(),
            Some(value) => value.strip_prefix('='),
            None => None,
        };
        for gate in gates.unwrap_or_default().split(',') {
            let (name, value) = gate.split_once('=').unwrap_or((gate, ""));
            let named = value
                .strip_prefix("$(")
                .and_then(|rest| rest.strip_suffix(')'));
            let value = named.map_or(Some(value), |name| variable(container, name));
            if ["ARO", "AllAlpha"].contains(&name.trim()) {
                enabled = value.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
            }
        }
    }
    enabled
}

fn variable<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let mut set = container["env"].as_array().into_iter().flatten();
    set.find(|one| one["name"] == name)?["value"].as_str()
}

/// Since when a Deployment has too few ready pods.
fn unavailable_since(deployment: &Value) -> Option<Timestamp> {
    let conditions = deployment.pointer("/status/conditions")?.as_array()?;
    let available = conditions.iter().find(|one| one["type"] == "Available")?;
    let since = available["lastTransitionTime"].as_str()?;
    since.parse().ok().filter(|_| available["status"] != "True")
}

fn after(time: Timestamp, by: Duration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
