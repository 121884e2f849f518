//! The followed ref: a good revision is announced, prepared, applied and watched; a broken one is
//! told about and the last good one stays.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc::unbounded_channel;
use tokio_util::task::AbortOnDropHandle;

use super::job::Examined;
use super::notes::RETRY;
use super::{Daemon, Event, report};
use crate::adapters::git;
use crate::adapters::kubernetes;
use crate::compile::Compiled;
use crate::model::{CheckState, ObjectId};
use crate::plan::{self, Progress, Tracker};

/// A check goes from success back to pending only after this long without being ready (DESIGN §8).
const GRACE: Duration = Duration::from_secs(60);
/// Events that come within this time are reported together.
const GATHER: Duration = Duration::from_millis(100);

/// A revision on its way into the cluster.
pub(super) struct Sync {
    revision: String,
    compiled: Arc<Compiled>,
    /// What the revision before had and this one has not.
    removed: Vec<ObjectId>,
    tracker: Tracker,
    stage: Stage,
}

enum Stage {
    /// Its pending check is being published.
    Announced,
    /// The cluster is being made ready for it.
    Preparing,
    /// It is being applied, or was, and is watched.
    Running(Box<Run>),
}

struct Run {
    number: u64,
    /// Whether a report is due already.
    gathering: bool,
    /// Since when it is not ready any more; `None` before it was ready for the first time.
    lost: Option<Timestamp>,
    told: CheckState,
    _task: AbortOnDropHandle<()>,
}

impl Sync {
    pub(super) fn compiled(&self) -> Arc<Compiled> {
        Arc::clone(&self.compiled)
    }
}

impl Daemon {
    /// The revision that is applied, or about to be.
    pub(super) fn applied(&self) -> Option<String> {
        self.sync.as_ref().map(|sync| sync.revision.clone())
    }

    pub(super) fn examined(&mut self, examined: Examined) {
        let Examined {
            revision,
            title,
            outcome,
            fallback,
        } = examined;
        let newest = self.head.as_ref() == Some(&revision);
        let good = self.sync.as_ref().map(|sync| sync.revision.clone());
        let good = good.or_else(|| fallback.as_ref().map(|(revision, _)| revision.clone()));
        match outcome {
            Ok(compiled) if !compiled.has_errors() && self.following.suspend => {
                tracing::info!(
                    revision,
                    title,
                    objects = compiled.objects.len(),
                    "sound, but the fleet is suspended"
                );
                self.tell(report::suspended(&self.following.fleet, &revision));
                return;
            }
            Ok(compiled) if !compiled.has_errors() => {
                if newest {
                    tracing::info!(
                        revision,
                        title,
                        objects = compiled.objects.len(),
                        "applying"
                    );
                    self.begin(revision, compiled);
                }
                return;
            }
            Ok(compiled) => {
                tracing::warn!(
                    revision,
                    title,
                    "not applied: it has errors; the last good revision stays"
                );
                self.tell(report::refused(
                    &self.following.fleet,
                    &revision,
                    &compiled,
                    good.as_deref(),
                ));
            }
            Err(error) => {
                tracing::warn!(revision, title, %error, "not applied: it cannot be read");
                self.tell(report::unreadable(
                    &self.following.fleet,
                    &revision,
                    &error.to_string(),
                ));
            }
        }
        if let Some((revision, compiled)) =
            fallback.filter(|_| newest && self.sync.is_none() && !self.following.suspend)
        {
            tracing::info!(revision, "applying the last good revision");
            self.begin(revision, compiled);
        }
    }

    /// Takes a good revision up: first its pending check goes out.
    fn begin(&mut self, revision: String, compiled: Compiled) {
        let before = self.sync.as_ref().map(|sync| Arc::clone(&sync.compiled));
        let removed = report::differences(&compiled, before.as_deref()).removed;
        for id in &removed {
            tracing::warn!(object = %id, "no longer in the fleet; it stays in the cluster, since nothing is deleted yet");
        }
        let now = self.engine.target.clock.now();
        let mut tracker = Tracker::new(&compiled.graph, self.following.settle, now);
        if let Some(before) = &self.sync {
            tracker = tracker.carrying(&before.tracker);
        }
        let (summary, clusters) = tracker.overview(now);
        let fleet = &self.following.fleet;
        let check = report::progress(
            fleet,
            &revision,
            CheckState::Pending,
            &summary,
            &clusters,
            &removed,
        );
        self.view.send_modify(|view| {
            view.revision = Some(revision.clone());
            view.title = summary.title();
            view.clusters = clusters;
        });
        self.sync = Some(Sync {
            revision,
            compiled: Arc::new(compiled),
            removed,
            tracker,
            stage: Stage::Announced,
        });
        self.tell(check);
    }

    /// Checks were written, or could not be: the announced revision goes on either way.
    pub(super) fn published(&mut self, answer: &Result<(), git::Error>) {
        if let Err(error) = answer {
            tracing::warn!(%error, "checks could not be written; the fleet goes on");
            self.after(RETRY, Event::Retry);
        }
        self.notes
            .published(answer.is_ok(), self.engine.target.clock.now());
        let Some(sync) = &mut self.sync else { return };
        if matches!(sync.stage, Stage::Announced) && self.notes.was_tried(&sync.revision) {
            sync.stage = Stage::Preparing;
            let (prepare, graph) = (
                Arc::clone(&self.engine.prepare),
                Arc::clone(&sync.compiled.graph),
            );
            let revision = sync.revision.clone();
            self.jobs.spawn(async move {
                prepare(graph).await;
                Event::Prepared(revision)
            });
        }
    }

    pub(super) fn prepared(&mut self, revision: &str) {
        let Some(sync) = self.sync.as_mut().filter(|sync| sync.revision == revision) else {
            return;
        };
        let compiled = &sync.compiled;
        let plan = Arc::new(plan::against_none(
            &compiled.objects,
            &compiled.graph,
            &self.set,
        ));
        let options = kubernetes::Options {
            concurrency: self.following.concurrency,
            part_of: self.set.id(),
        };
        self.runs += 1;
        let (number, progress) = (self.runs, self.progress.clone());
        let (sender, mut received) = unbounded_channel();
        let run = kubernetes::run(
            self.engine.target.clone(),
            plan,
            compiled.embedded(),
            options,
            sender,
        );
        let task = tokio::spawn(async move {
            let forward = async {
                while let Some(next) = received.recv().await {
                    if progress.send((number, next)).is_err() {
                        break;
                    }
                }
            };
            futures::future::join(run, forward).await;
        });
        let (told, task) = (CheckState::Pending, AbortOnDropHandle::new(task));
        let run = Run {
            number,
            gathering: false,
            lost: None,
            told,
            _task: task,
        };
        sync.stage = Stage::Running(Box::new(run));
    }

    pub(super) fn progressed(&mut self, number: u64, progress: &Progress) {
        let Some(Sync {
            tracker,
            stage: Stage::Running(run),
            ..
        }) = &mut self.sync
        else {
            return;
        };
        if run.number != number || !tracker.note(progress) {
            return;
        }
        tracing::debug!(object = %progress.object, state = ?progress.state, why = progress.message, "seen");
        if !run.gathering {
            run.gathering = true;
            self.after(GATHER, Event::Tick);
        }
    }

    /// Says how far the revision has come.
    pub(super) fn report(&mut self) {
        let now = self.engine.target.clock.now();
        let Some(sync) = &mut self.sync else { return };
        let Stage::Running(run) = &mut sync.stage else {
            return;
        };
        run.gathering = false;
        let (summary, clusters) = sync.tracker.overview(now);
        let ready = sync.tracker.is_ready();
        let wait = run.judge(ready, summary.terminal, now);
        let fleet = &self.following.fleet;
        let check = report::progress(
            fleet,
            &sync.revision,
            run.told,
            &summary,
            &clusters,
            &sync.removed,
        );
        self.view.send_modify(|view| {
            view.title = summary.title();
            view.clusters = clusters;
        });
        self.tell(check);
        if let Some(wait) = wait {
            self.after(self.engine.target.clock.real(wait), Event::Tick);
        }
    }
}

impl Run {
    /// What to tell now; and after how long to look again, when success is kept for a while although
    /// something is not ready.
    fn judge(&mut self, ready: bool, terminal: bool, now: Timestamp) -> Option<Duration> {
        let was_ready = self.told == CheckState::Success;
        if ready {
            (self.told, self.lost) = (CheckState::Success, None);
        } else if terminal {
            (self.told, self.lost) = (CheckState::Failure, None);
        } else if was_ready {
            let since = *self.lost.get_or_insert(now);
            let gone = Duration::try_from(now.duration_since(since)).unwrap_or_default();
            if gone < GRACE {
                return Some(GRACE - gone);
            }
            self.told = CheckState::Pending;
        } else {
            self.told = CheckState::Pending;
        }
        None
    }
}
