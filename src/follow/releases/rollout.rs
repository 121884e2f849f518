//! A release on its way into the cluster.
//!
//! In: what the cluster reports of it. Out: its check, and whether that says something new. It does not know what applies it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::apply::{
    AppliedRevision, AppliedState, Assignment, Progress, PruneStatus, Report, State, Suspension,
    Tracker, Unapproved,
};
use crate::follow::release::Release;
use crate::follow::settings::Settings;
use crate::follow::view::RolloutView;
use crate::model::{Check, CheckState, ObjectId};
use crate::plan::approvals::Approvals;
use crate::reporting::Verdict;
use crate::reporting::report;

/// The silence of a cluster that is reported: a shorter one is a hiccup.
pub(crate) const AWAY: Duration = Duration::from_secs(60);

/// A release on its way into the cluster.
pub(crate) struct Rollout {
    /// Tells it from others, also of the same revision.
    pub(crate) number: u64,
    pub(crate) release: Release,
    /// How members fare that this revision does not have.
    leaving: BTreeMap<ObjectId, PruneStatus>,
    /// The kinds of members that cannot be seen, and why.
    unseen: BTreeMap<(String, String), String>,
    /// Which fields stay of objects although they are not applied any more.
    staying: BTreeMap<ObjectId, String>,
    /// True once everything was applied, and removed what was to be.
    pub(crate) settled: bool,
    /// Why nothing can be done.
    stuck: Option<String>,
    /// Since when the cluster does not answer, and why.
    away: Option<(Timestamp, String)>,
    /// Since when the fleet is suspended.
    pub(crate) suspended: Option<String>,
    /// What the cluster has of the fleet.
    pub(crate) applied: AppliedState,
    /// What people approved of it, as far as that was asked for.
    pub(crate) approvals: Approvals,
    /// What comments say that does not count, and the pull request that they are on.
    comments: (Approvals, Option<u64>),
    tracker: Tracker,
    pub(crate) stage: Stage,
}

pub(crate) enum Stage {
    /// Its pending check is to be published first, but no later than at this time on the wall.
    Announced { until: Duration },
    /// It is being applied, or was, and is watched.
    Running {
        /// A report is due already.
        is_report_due: bool,
        verdict: Verdict,
    },
}

/// What a report changes for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reported {
    /// Everything was applied by now, and everything removed: what was refused may be accepted.
    pub(crate) is_first_settled: bool,
    /// It is known by now what to compare candidates with.
    pub(crate) is_comparable: bool,
}

impl Rollout {
    /// A release that takes the place of `before`, if anything was applied, and is announced first.
    pub(crate) fn new(
        number: u64,
        mut release: Release,
        before: Option<Self>,
        settings: &Settings,
        (now, until): (Timestamp, Duration),
    ) -> Self {
        let mut tracker = Tracker::new(&release.graph, settings.settle, now);
        let mut applied = AppliedState::Unknown;
        if let Some(before) = before {
            applied = before
                .applied()
                .map_or_else(|| before.applied.clone(), AppliedState::Earlier);
            if let AppliedState::Earlier((_, Some(plan))) = &applied {
                release.notes.compare(plan, &release.plan);
            }
            tracker = tracker.carrying(&before.tracker);
        }
        Self {
            number,
            release,
            leaving: BTreeMap::new(),
            unseen: BTreeMap::new(),
            staying: BTreeMap::new(),
            settled: false,
            stuck: None,
            away: None,
            suspended: None,
            applied,
            approvals: Approvals::default(),
            comments: (Approvals::default(), None),
            tracker,
            stage: Stage::Announced { until },
        }
    }

    /// The revision that is applied, or about to be, and its plan: the one before, as long as the fleet is
    /// suspended and nothing of this one was applied.
    pub(crate) fn applied(&self) -> Option<AppliedRevision> {
        let this = || {
            (
                self.release.revision.clone(),
                Some(Arc::clone(&self.release.plan)),
            )
        };
        match &self.applied {
            AppliedState::This | AppliedState::Unwatched => Some(this()),
            _ if self.suspended.is_none() => Some(this()),
            AppliedState::Earlier(earlier) => Some(earlier.clone()),
            AppliedState::Unknown | AppliedState::Nothing => None,
        }
    }

    /// The losses that wait for an approval; `None` as long as it may not be known what leaves.
    pub(crate) fn waiting(&self) -> Option<BTreeSet<Unapproved>> {
        let losses = self.leaving.values().filter_map(PruneStatus::unapproved);
        let waiting: BTreeSet<Unapproved> = losses.cloned().collect();
        (self.settled || !waiting.is_empty()).then_some(waiting)
    }

    /// Something is applied or removed, so the fleet is not suspended; `false` when that was known.
    fn open(&mut self) -> bool {
        self.applied = AppliedState::This;
        self.suspended.take().is_some()
    }

    /// Begins again with a new number. What was reported before may have changed meanwhile; of a suspended fleet nothing is
    /// reported.
    pub(crate) fn begin_again(&mut self, number: u64, settings: &Settings, now: Timestamp) {
        (self.number, self.stuck) = (number, None);
        self.away = None;
        if self.suspended.is_none() {
            self.settled = false;
            self.leaving.clear();
            let tracker = Tracker::new(&self.release.graph, settings.settle, now);
            self.tracker = tracker.carrying(&self.tracker);
        }
    }

    /// Begins to be applied. Nobody needs the plan before any more, unless the parent says that the fleet is suspended after
    /// all.
    pub(crate) fn run(&mut self, settings: &Settings) -> Assignment {
        if self.suspended.is_none() && matches!(self.applied, AppliedState::Earlier(_)) {
            self.applied = AppliedState::Unknown;
        }
        self.stage = Stage::Running {
            is_report_due: false,
            verdict: Verdict::pending(),
        };
        let (plan, embedded) = (&self.release.plan, &self.release.embedded);
        Assignment {
            number: self.number,
            revision: self.release.revision.clone(),
            source: settings.source.clone(),
            prune: settings.prune,
            heeds_suspension: true,
            suspended: self.suspended.clone(),
            ..Assignment::new(Arc::clone(plan), Arc::clone(embedded))
        }
    }

    /// Returns true once it is being applied.
    pub(crate) const fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }

    /// Judges a running release: its state, whether it is ready, and after how long to look again.
    pub(crate) fn judge(&mut self, now: Timestamp) -> Option<(CheckState, bool, Option<Duration>)> {
        let is_emptied = self.is_emptied();
        let is_unapproved = self.leaving.values().any(|one| one.unapproved().is_some());
        let is_in_vain = is_emptied || is_unapproved;
        let is_ready = !is_in_vain && self.settled && self.tracker.is_ready();
        let is_terminal = is_in_vain || self.stuck.is_some() || self.tracker.is_terminal();
        let Stage::Running {
            is_report_due,
            verdict,
        } = &mut self.stage
        else {
            return None;
        };
        *is_report_due = false;
        let wait = verdict.judge(is_ready, is_terminal, now);
        Some((verdict.state, is_ready, wait))
    }

    /// Notes that a report is due; `false` if that was known, or it is not running.
    pub(crate) fn note_due(&mut self) -> bool {
        match &mut self.stage {
            Stage::Running { is_report_due, .. } => !std::mem::replace(is_report_due, true),
            Stage::Announced { .. } => false,
        }
    }

    /// Takes in what comments say that does not count, and the pull request that they are on. Returns true if that is new.
    pub(crate) fn set_comments(&mut self, comments: Approvals, pull_request: Option<u64>) -> bool {
        let before = std::mem::replace(&mut self.comments, (comments, pull_request));
        before != self.comments
    }

    /// Returns its check as it is now, and the same for the view.
    pub(crate) fn check(
        &self,
        settings: &Settings,
        state: CheckState,
        now: Timestamp,
    ) -> (Check, RolloutView) {
        let (summary, clusters) = self.tracker.overview(now);
        let (fleet, revision) = (&settings.fleet, &self.release.revision);
        let graph = &self.release.graph;
        let away = self.away.as_ref();
        let away = away.filter(|(since, _)| {
            now.duration_since(*since) >= SignedDuration::try_from(AWAY).unwrap_or_default()
        });
        let check = match (&self.stuck, away) {
            (Some(why), _) => report::stuck(fleet, revision, state, why),
            (None, Some((since, why))) => report::away(fleet, revision, *since, why),
            (None, None) if self.is_emptied() => report::emptied(fleet, revision, None),
            (None, None) => {
                let shown = (&summary, &*clusters);
                let check = report::progress(fleet, revision, state, shown, &self.leaving, graph);
                let check = report::unseen(check, &self.unseen);
                let check = report::staying(check, &self.staying);
                let (comments, pull_request) = &self.comments;
                let mut approvals = self.approvals.clone();
                approvals.set_comments(comments);
                let check = report::asked(check, &self.leaving, &approvals, settings.ways);
                Check {
                    // People approve there.
                    pull_request: pull_request.filter(|_| !check.asked.is_empty()),
                    ..check
                }
            }
        };
        let noted = report::noted(check, &self.release.notes);
        let check = match &self.suspended {
            Some(since) => report::paused(fleet, noted, since, &self.applied),
            None => noted,
        };
        let view = RolloutView {
            revision: revision.clone(),
            title: check.title.clone(),
            summary,
            clusters,
            graph: Arc::clone(graph),
        };
        (check, view)
    }

    /// Nothing is done. Returns the earlier revision that is applied, if its plan is not known.
    pub(crate) fn suspend(&mut self, suspension: Suspension) -> Option<String> {
        let Suspension { since, applied } = suspension;
        tracing::info!(since, "the fleet is suspended: nothing is applied");
        (self.suspended, self.stuck, self.away) = (Some(since), None, None);
        let is_known = match &self.applied {
            AppliedState::This | AppliedState::Unwatched => true,
            AppliedState::Earlier((earlier, _)) => applied.is_empty() || *earlier == applied,
            AppliedState::Unknown | AppliedState::Nothing => false,
        };
        match applied {
            _ if is_known => None,
            applied if applied.is_empty() => {
                self.applied = AppliedState::Nothing;
                None
            }
            applied if applied == self.release.revision => {
                self.applied = AppliedState::Unwatched;
                None
            }
            applied => {
                self.applied = AppliedState::Unknown;
                Some(applied)
            }
        }
    }

    /// Returns true if the cluster does not answer.
    pub(crate) const fn is_away(&self) -> bool {
        self.away.is_some()
    }

    /// Notes that the cluster does not answer; `false` when that was known.
    fn miss(&mut self, why: String, now: Timestamp) -> bool {
        self.stuck = None;
        if self.away.as_ref().is_some_and(|(_, known)| *known == why) {
            return false;
        }
        tracing::warn!(error = why, "nothing can be applied");
        let since = self.away.take().map_or(now, |(since, _)| since);
        self.away = Some((since, why));
        true
    }

    /// Takes in what happened; `false` when nothing changed.
    pub(crate) fn note(&mut self, report: Report, now: Timestamp) -> bool {
        if matches!(self.applied, AppliedState::Unknown) {
            self.applied = AppliedState::Nothing;
        }
        match report {
            Report::Object(progress) => {
                let is_news = self.stay(&progress);
                let is_change = self.tracker.note(&progress);
                if is_change {
                    tracing::debug!(object = %progress.object, state = progress.state.word(), why = progress.message, "seen");
                }
                return is_change || is_news;
            }
            Report::Prune(id, leaving) => {
                // Of an empty fleet all are kept for one reason, which its check gives.
                if !self.release.is_empty() {
                    tracing::info!(object = %id, "no longer in the fleet: {leaving}");
                }
                self.open();
                self.leaving.insert(id, leaving);
            }
            Report::Unseen(kind, Some(why)) => {
                tracing::warn!(kind = kind.1, error = why, "not seen");
                self.unseen.insert(kind, why);
            }
            Report::Unseen(kind, None) => drop(self.unseen.remove(&kind)),
            // Who asks takes it in with `suspend`.
            Report::Suspended(_) | Report::Denied | Report::Recording(_) => return false,
            Report::Applied(..) => return self.open(),
            Report::Settled => {
                self.open();
                (self.settled, self.stuck, self.away) = (true, None, None);
            }
            Report::Begun => {
                self.open();
                (self.stuck, self.away) = (None, None);
            }
            Report::Away(why) => return self.miss(why, now),
            Report::Stuck(why) => {
                // It is tried every few seconds.
                if self.stuck.as_ref() == Some(&why) {
                    return false;
                }
                tracing::warn!(error = why, "nothing can be applied");
                (self.stuck, self.away) = (Some(why), None);
            }
        }
        true
    }

    /// Notes the fields that stay of an object that was applied; `false` when that is not new.
    fn stay(&mut self, progress: &Progress) -> bool {
        let Progress {
            object, message, ..
        } = progress;
        if progress.state != State::Applied || self.staying.get(object) == Some(message) {
            return false;
        }
        if message.is_empty() {
            return self.staying.remove(object).is_some();
        }
        tracing::info!(%object, "fields that left the fleet stay: {message}");
        self.staying.insert(object.clone(), message.clone());
        true
    }

    /// Returns true if it has nothing to apply although the cluster has objects of the fleet.
    pub(crate) fn is_emptied(&self) -> bool {
        self.release.is_empty() && !self.leaving.is_empty()
    }

    /// Returns true if something could not be done.
    pub(crate) fn has_failed(&self, now: Timestamp) -> bool {
        self.stuck.is_some() || self.is_away() || !self.tracker.summary(now).failed.is_empty()
    }
}
