//! The end of a Fleet that somebody deleted.
//!
//! In: the Fleet, and the cluster with its members. Out: the members removed by the rules for what leaves a fleet, and the Fleet let go.
//! It does not know when that is wanted.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::mpsc::unbounded_channel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::events::{REPORTER, regarding};
use super::report::Phase;
use crate::adapters::kubernetes::{
    self, Error, FleetObject, Input, Options, Reporter, Target, hold_fleet, is_account_absent,
    is_ending, is_secret_absent, recorded_members, remove_parent, report_event,
};
use crate::api::fleet::DeletionPolicy;
use crate::api::labels::{APPROVE_ANNOTATION, FLEET_FINALIZER};
use crate::apply::{ApprovalsAnswer, ApprovalsRequest, Assignment, PruneStatus, Report};
use crate::daemon::wall_time;
use crate::model::ObjectId;
use crate::model::cut::shortened;
use crate::plan::ApplySet;
use crate::plan::approvals::{Approval, annotated};
use crate::reconcile::outcome::Event;
use crate::settings::SyncConfig;

/// The most objects that a message names.
const NAMED: usize = 5;
/// The time between two looks for a reason to let a Fleet go.
const LOOK: Duration = Duration::from_secs(30);
/// The most characters of an Event's note, which has at most 1024 bytes.
const NOTE: usize = 400;

/// Returns true if somebody deleted the Fleet.
pub(super) fn is_deleted(fleet: &FleetObject) -> bool {
    !fleet.json["metadata"]["deletionTimestamp"].is_null()
}

/// Returns true if the deletion of the Fleet waits for this program.
pub(super) fn is_held(fleet: &FleetObject) -> bool {
    let finalizers = fleet.json["metadata"]["finalizers"].as_array();
    let mut finalizers = finalizers.into_iter().flatten();
    finalizers.any(|name| name == FLEET_FINALIZER)
}

/// Returns the reason why the members of a deleted Fleet stay; `None` if they are to be removed first.
///
/// # Errors
/// If the cluster with the Fleet does not answer.
pub(super) async fn reason_to_stay(
    client: &kube::Client,
    fleet: &FleetObject,
    config: Option<&SyncConfig>,
) -> Result<Option<String>, Error> {
    let Some(config) = config else {
        return Ok(Some(
            "its spec has errors, so it is not known where they are".to_owned(),
        ));
    };
    if config.deletion_policy == DeletionPolicy::Orphan {
        return Ok(Some("spec.deletionPolicy is Orphan".to_owned()));
    }
    if config.is_check_only() {
        return Ok(Some(
            "spec.mode is check, so something else applies them".to_owned(),
        ));
    }
    let namespace = &*fleet.id.namespace;
    if is_ending(client, namespace).await? {
        return Ok(Some("its namespace is being deleted".to_owned()));
    }
    if let Some(account) = &config.service_account
        && is_account_absent(client, (namespace, account)).await?
    {
        return Ok(Some(format!("ServiceAccount {account} does not exist")));
    }
    if let Some(secret) = &config.kubeconfig_secret
        && is_secret_absent(client, (namespace, secret)).await?
    {
        return Ok(Some(format!(
            "Secret {secret} with the kubeconfig does not exist"
        )));
    }
    Ok(None)
}

/// Returns the reason why the members stay after all, once there is one: it may come while they are removed, or while that waits.
pub(super) async fn reason_comes(
    client: &kube::Client,
    fleet: &FleetObject,
    config: &SyncConfig,
) -> String {
    loop {
        tokio::time::sleep(LOOK).await;
        let reason = reason_to_stay(client, fleet, Some(config)).await;
        if let Ok(Some(why)) = reason {
            return why;
        }
    }
}

/// The phase of a deleted Fleet that is suspended.
pub(super) fn suspended() -> Phase {
    let why = "the fleet is suspended, so nothing is removed: resume it";
    Phase::Stalled("Suspended", with_way_out(why))
}

/// The message, with the way to let the Fleet go.
fn with_way_out(why: &str) -> String {
    format!("{why}. To keep the objects, set spec.deletionPolicy: Orphan")
}

/// Lets a deleted Fleet go. `left` is the reason why its members stay, if they do.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub(super) async fn let_go(
    client: &kube::Client,
    fleet: &FleetObject,
    left: Option<&str>,
) -> Result<(), Error> {
    if let Some(why) = left {
        let set = ApplySet::new(&*fleet.id.name, &*fleet.id.namespace);
        // They are in another cluster if its kubeconfig is in a Secret, and only named for people.
        let members = recorded_members(client, &set).await.unwrap_or_default();
        let members = listed(members.unwrap_or_default().iter());
        let (name, namespace) = (&fleet.id.name, &fleet.id.namespace);
        tracing::warn!(
            fleet = name,
            namespace,
            members,
            "the Fleet is deleted and its objects stay, because {why}"
        );
        let reporter = Reporter {
            action: "Delete",
            ..REPORTER
        };
        let event = orphaned(fleet, &members, why);
        if let Err(error) = report_event(client, reporter, &event, wall_time()).await {
            tracing::debug!(%error, "cannot write an Event about the Fleet that goes");
        }
    }
    hold_fleet(client, fleet, false).await
}

/// The Event about a Fleet that goes without its members.
fn orphaned(fleet: &FleetObject, members: &str, why: &str) -> Event {
    Event {
        regarding: regarding(fleet),
        is_warning: true,
        reason: "Orphaned".to_owned(),
        message: shortened(
            &format!("the objects of the fleet stay, because {why}: {members}"),
            NOTE,
            "...",
        ),
    }
}

/// The first of these objects, and the number of the others.
fn listed<'a>(ids: impl ExactSizeIterator<Item = &'a ObjectId>) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let mut names: Vec<String> = ids.take(NAMED).map(ToString::to_string).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// Removes the members of a set, and then its parent; returns early if it is told to stop. What is removed, and what that waits for, is the
/// phase of the Fleet. People approve losses with the annotation on the parent.
///
/// # Errors
/// If the parent cannot be read or removed.
pub(super) async fn remove_members(
    target: &Target,
    (fleet, config): (&FleetObject, &SyncConfig),
    phase: &watch::Sender<Phase>,
    stop: &CancellationToken,
) -> Result<(), Error> {
    let set = ApplySet::new(&*config.fleet, &*config.namespace);
    if recorded_members(&target.client, &set).await?.is_none() {
        return Ok(());
    }
    let (input, inputs) = unbounded_channel();
    let (reports, mut reported) = unbounded_channel();
    let (questions, mut asked) = unbounded_channel();
    let options = Options {
        concurrency: config.concurrency,
        set: set.clone(),
    };
    let mut steering = kubernetes::steering(&target.client, &set);
    let run = kubernetes::run(target.clone(), options, inputs, reports, questions);
    let mut run = Box::pin(run);
    let mut removal = Removal::new(&set);
    let mut approvals = Approvals::default();
    let (mut number, mut suspension) = (0, None);
    while !removal.is_done {
        phase.send_replace(removal.phase());
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            Some(first) = reported.recv() => {
                // All that were sent by now: a write of the parent is reported with what it is about.
                let more = std::iter::from_fn(|| reported.try_recv().ok());
                let of_now = std::iter::once(first).chain(more).filter(|(of, _)| *of == number);
                of_now.for_each(|(_, report)| removal.note(report));
            }
            Some(request) = asked.recv() => approvals.request = Some(request),
            Some(steering) = steering.next() => {
                approvals.text = steering.approve;
                // It begins, and whenever the fleet is suspended or resumed it begins again.
                if suspension.as_ref() != Some(&steering.suspended) {
                    suspension = Some(steering.suspended);
                    number += 1;
                    removal = Removal::new(&set);
                    let _ = input.send(Input::Assign(nothing(fleet, config, number)));
                }
            }
            () = &mut run => {}
        }
        if let Some(answer) = approvals.news() {
            let _ = input.send(Input::Approve(answer));
        }
    }
    // A write that is under way would make the parent again.
    drop(run);
    remove_parent(&target.client, &set).await
}

/// The plan that has no objects. Its revision is no commit: no approval is used up by it.
fn nothing(fleet: &FleetObject, config: &SyncConfig, number: u64) -> Assignment {
    Assignment {
        number,
        revision: format!("deletion-{}", fleet.uid),
        source: config.url.clone(),
        prune: true,
        is_end: true,
        heeds_suspension: true,
        ..Assignment::default()
    }
}

/// The approvals of people, and the question that they answer.
#[derive(Default)]
struct Approvals {
    request: Option<ApprovalsRequest>,
    /// The text of the annotation.
    text: Option<String>,
    /// Those that were told.
    told: Option<(ApprovalsRequest, Option<String>)>,
}

impl Approvals {
    /// The answer to the question, unless it was given.
    fn news(&mut self) -> Option<ApprovalsAnswer> {
        let request = self.request.clone()?;
        let told = Some((request.clone(), self.text.clone()));
        if self.told == told {
            return None;
        }
        self.told = told;
        let text = self.text.as_deref().unwrap_or_default();
        let pressed = annotated(text, &request.applied, wall_time());
        let approvals: Vec<Approval> = pressed.approvals().collect();
        Some(ApprovalsAnswer { request, approvals })
    }
}

/// The progress of removing the members of a set.
struct Removal {
    /// The parent of the set.
    parent: ObjectId,
    members: BTreeMap<ObjectId, PruneStatus>,
    /// The reason why nothing can be done.
    stuck: Option<String>,
    /// The reason why the cluster does not answer.
    away: Option<String>,
    /// Kinds of members that cannot be seen, and why.
    unseen: BTreeMap<(String, String), String>,
    is_suspended: bool,
    is_settled: bool,
    /// The parent is being written.
    is_recording: bool,
    is_done: bool,
}

impl Removal {
    fn new(set: &ApplySet) -> Self {
        Self {
            parent: set.parent(),
            members: BTreeMap::new(),
            stuck: None,
            away: None,
            unseen: BTreeMap::new(),
            is_suspended: false,
            is_settled: false,
            is_recording: false,
            is_done: false,
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Prune(id, status) => {
                self.members.insert(id, status);
            }
            Report::Stuck(why) => self.stuck = Some(why),
            Report::Away(why) => self.away = Some(why),
            Report::Begun => {
                (self.stuck, self.away, self.is_suspended) = (None, None, false);
            }
            Report::Suspended(_) => self.is_suspended = true,
            Report::Unseen(kind, Some(why)) => {
                self.unseen.insert(kind, why);
            }
            Report::Unseen(kind, None) => {
                self.unseen.remove(&kind);
            }
            Report::Settled => self.is_settled = true,
            Report::Recording(is_recording) => self.is_recording = is_recording,
            Report::Object(_) | Report::Applied(..) | Report::Denied => {}
        }
        let mut statuses = self.members.values();
        let is_left =
            |status: &PruneStatus| matches!(status, PruneStatus::Gone | PruneStatus::Released);
        self.is_done = self.is_settled && !self.is_recording && statuses.all(is_left);
    }

    /// The phase of the Fleet.
    fn phase(&self) -> Phase {
        if let Some(why) = &self.stuck {
            return Phase::Stalled("DeletionFailed", with_way_out(why));
        }
        if self.is_suspended {
            return suspended();
        }
        if let Some(why) = self.kept() {
            return Phase::Stalled("DeletionWithheld", with_way_out(&why));
        }
        if let Some(why) = &self.away {
            return Phase::Waiting("ClusterNotReady", with_way_out(why));
        }
        let unseen = self.unseen.values().next().cloned();
        let failed = self.members.iter().find_map(|(id, status)| match status {
            PruneStatus::Failed(_) => Some(format!("{id} {status}")),
            _ => None,
        });
        if let Some(why) = unseen.or(failed) {
            return Phase::Waiting("DeletionFailed", with_way_out(&why));
        }
        let left = self.members.iter();
        let mut left = left.filter(|(_, status)| !status.is_final());
        let all = self.members.len();
        let message = match left.next() {
            None => "looking for the objects of the fleet, to remove them".to_owned(),
            Some((id, status)) => {
                let left = left.count() + 1;
                format!("{left} of {all} objects are to be removed; {id}: {status}")
            }
        };
        Phase::Waiting("Deleting", message)
    }

    /// The losses that nobody approved, and what is kept for another reason.
    fn kept(&self) -> Option<String> {
        let losses = self.members.values().filter_map(PruneStatus::unapproved);
        let mut losses: Vec<String> = losses.map(|loss| loss.what().to_string()).collect();
        losses.sort();
        losses.dedup();
        if !losses.is_empty() {
            let ObjectId {
                name, namespace, ..
            } = &self.parent;
            let (count, losses) = (losses.len(), losses.join(", "));
            return Some(format!(
                "{count} losses need approval: `kubectl annotate configmap {name} -n {namespace} --overwrite {APPROVE_ANNOTATION}=\"{losses}\"`"
            ));
        }
        let mut kept = self.members.iter();
        let (id, status) = kept.find(|(_, status)| status.is_kept())?;
        Some(format!("{id} {status}"))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::apply::Unapproved;
    use crate::plan::approvals::Verb;
    use crate::plan::losses::Unit;
    use crate::settings::Environment;

    fn shown(removal: &Removal) -> (&'static str, String) {
        match removal.phase() {
            Phase::Waiting(reason, message) | Phase::Stalled(reason, message) => (reason, message),
            Phase::Starting | Phase::Following(_) => ("", String::new()),
        }
    }

    #[test]
    fn it_is_done_when_all_is_settled_and_nothing_is_kept() {
        let mut removal = Removal::new(&ApplySet::new("f", "n"));
        let id = |name| ObjectId::new("", "ConfigMap", "n", name);
        assert_eq!(shown(&removal).0, "Deleting");
        let deleting = PruneStatus::Deleting("waits for Azure".to_owned());
        removal.note(Report::Prune(id("a"), deleting));
        let (reason, message) = shown(&removal);
        assert_eq!(reason, "Deleting");
        assert_eq!(
            message,
            "1 of 1 objects are to be removed; ConfigMap/n/a: waits for Azure"
        );
        let loss = Unapproved {
            verb: Verb::Delete,
            unit: Unit::parse("n/c").expect("a cluster"),
            to: None,
            without_commits: false,
        };
        removal.note(Report::Prune(id("b"), PruneStatus::Unapproved(loss)));
        removal.note(Report::Prune(id("a"), PruneStatus::Gone));
        removal.note(Report::Settled);
        assert!(!removal.is_done);
        let (reason, message) = shown(&removal);
        assert_eq!(reason, "DeletionWithheld");
        let command = "kubectl annotate configmap capstan-f -n n --overwrite capstan.dev/approve=\"delete n/c\"";
        assert!(message.contains(command), "{message}");
        removal.note(Report::Recording(true));
        removal.note(Report::Prune(id("b"), PruneStatus::Gone));
        assert!(!removal.is_done, "the parent would be made again");
        removal.note(Report::Recording(false));
        assert!(removal.is_done);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reason_to_let_go_is_looked_for_every_30_seconds() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let service = tower::service_fn(move |_: Request<Body>| {
            let look = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let metadata = match look {
                ..3 => json!({"name": "n"}),
                _ => json!({"name": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"}),
            };
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
            let body = Body::from(namespace.to_string().into_bytes());
            std::future::ready(Ok::<_, Infallible>(Response::new(body)))
        });
        let client = kube::Client::new(service, "n");
        let fleet = FleetObject {
            id: ObjectId::new("capstan.dev", "Fleet", "n", "f"),
            uid: "u".to_owned(),
            generation: None,
            json: json!({}),
        };
        let environment = Environment::read();
        let mut config = SyncConfig::source("https://h/r", None, &environment);
        config.deletion_policy = DeletionPolicy::Delete;
        let start = Instant::now();
        let why = reason_comes(&client, &fleet, &config).await;
        assert_eq!(why, "its namespace is being deleted");
        assert_eq!(start.elapsed(), LOOK * 3);
    }

    #[test]
    fn a_question_is_answered_once_and_again_when_people_approve_more() {
        let mut approvals = Approvals::default();
        assert!(approvals.news().is_none(), "nothing was asked");
        approvals.request = Some(ApprovalsRequest {
            number: 0,
            applied: String::new(),
        });
        let count = |answer: Option<ApprovalsAnswer>| answer.map(|one| one.approvals.len());
        assert_eq!(count(approvals.news()), Some(0));
        assert_eq!(count(approvals.news()), None);
        approvals.text = Some("delete n/c, nonsense".to_owned());
        assert_eq!(count(approvals.news()), Some(1));
        assert_eq!(count(approvals.news()), None);
    }
}
