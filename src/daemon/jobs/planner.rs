//! Plans of candidates: merged onto what is followed, compiled, and compared with what is applied.
//!
//! In: a candidate, and what it is merged onto. Out: its check. What may be a stranger's is planned by `fork_planner`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;

use super::approvals::ApprovalSources;
use super::compiler::{Compiler, local_trees};
use super::conditions::{View, conditions};
use super::failure::{Failure, unplanned};
use super::fork_planner::ForkPlanner;
use super::in_progress::InProgress;
use super::revisions::Revisions;
use crate::adapters::git::{Error, Merged};
use crate::compile::Files;
use crate::follow::{Candidate, Lane, PlanRequest, PlanResult, Settings, objects_in, proposed};
use crate::model::{Check, Tree};
use crate::plan::ApplySet;
use crate::plan::approvals::Approvals;
use crate::reporting::report::{self, Comparison, NotPlanned, Proposal};
use crate::settings::SyncConfig;

/// Plans candidates.
pub(in crate::daemon) struct Planner {
    config: Arc<SyncConfig>,
    settings: Arc<Settings>,
    set: ApplySet,
    revisions: Arc<Revisions>,
    compiler: Arc<Compiler>,
    forks: ForkPlanner,
    /// Which candidates are being planned.
    in_progress: Mutex<InProgress>,
}

/// Records that a candidate is being planned, until this is dropped.
struct UnderWay<'a> {
    in_progress: &'a Mutex<InProgress>,
    name: String,
    id: String,
}

impl<'a> UnderWay<'a> {
    fn new(in_progress: &'a Mutex<InProgress>, candidate: &Candidate) -> Self {
        let (name, id) = (candidate.name.clone(), candidate.id.clone());
        in_progress.lock().begin(&name, &id);
        Self {
            in_progress,
            name,
            id,
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.in_progress.lock().end(&self.name, &self.id);
    }
}

/// Does what could use all cores on fewer, so that the followed ref does not wait for one.
fn aside<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(cores.saturating_sub(1).max(1))
        .build();
    match pool {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

impl Planner {
    /// Reads what an earlier process was planning when it ended.
    pub(super) fn open(
        config: &Arc<SyncConfig>,
        settings: &Arc<Settings>,
        set: ApplySet,
        compiler: &Arc<Compiler>,
        revisions: &Arc<Revisions>,
    ) -> Self {
        let in_progress = InProgress::open(config.mirror.with_extension("planning.json"));
        Self {
            config: Arc::clone(config),
            settings: Arc::clone(settings),
            set,
            forks: ForkPlanner::new(config, settings, revisions),
            revisions: Arc::clone(revisions),
            compiler: Arc::clone(compiler),
            in_progress: Mutex::new(in_progress),
        }
    }

    /// Records that the process ends in order.
    pub(in crate::daemon) fn close(&self) {
        self.in_progress.lock().close();
    }

    /// Forgets what an earlier process was planning when it ended and `refs` do not point to any more.
    pub(super) fn forget_moved(&self, refs: &BTreeMap<String, String>) {
        let points = |name: &str, id: &str| refs.get(name).is_some_and(|it| it == id);
        self.in_progress.lock().retain(points);
    }

    /// Merges the candidate onto what is followed and compares the result with what is applied; of what may be a stranger's
    /// the files alone.
    pub(in crate::daemon) fn plan(
        &self,
        approvals: &ApprovalSources,
        request: PlanRequest,
    ) -> PlanResult {
        if let Some(planned) = self.given_up(&request.candidate) {
            return planned;
        }
        let _in_progress = UnderWay::new(&self.in_progress, &request.candidate);
        if self.revisions.lane(&request.candidate) == Lane::Fork {
            return self.forks.plan(request);
        }
        let applied = request.applied.as_ref().map(|(id, _)| id.as_str());
        // Not aside: it waits for the forge, which only a thread of the runtime can.
        let mut approvals =
            approvals.for_candidate(&request.head, &request.candidate.commit, applied);
        approvals.set_comments(&request.comments);
        let planned = aside(|| self.plan_own(request, &approvals));
        PlanResult {
            unattributed: approvals.unattributed().cloned().collect(),
            ..planned
        }
    }

    /// What becomes of a candidate that is not planned although it waits: it met a limit before, or the daemon ended while
    /// it was planned. A plan that somebody asked for is made.
    fn given_up(&self, candidate: &Candidate) -> Option<PlanResult> {
        if candidate.is_wanted {
            return None;
        }
        let limits = &self.settings.limits;
        if candidate.seen.as_ref() == Some(limits) {
            return Some(PlanResult::unchanged(candidate.clone(), limits.clone()));
        }
        let is_interrupted = self.in_progress.lock().was_interrupted(&candidate.id);
        let why = NotPlanned::Interrupted;
        is_interrupted.then(|| PlanResult::not_planned(&self.settings, candidate.clone(), why))
    }

    fn plan_own(&self, request: PlanRequest, approvals: &Approvals) -> PlanResult {
        let fleet = self.settings.fleet.as_str();
        let commit = request.candidate.commit.as_str();
        let applied = request.applied.as_ref();
        let before = applied.and_then(|(_, plan)| plan.as_deref());
        let view = View::All(request.base.as_ref(), before, approvals, &request.waiting);
        let (merged, check) = match self.merged(&request.head, commit, &view) {
            Ok(Ok((ids, _))) if request.candidate.seen.as_ref() == Some(&ids) => (Some(ids), None),
            Ok(Ok((ids, trees))) => {
                let check = self.check_merge(&request, trees, approvals);
                let input = Some(ids.clone());
                (Some(ids), Some(Check { input, ..check }))
            }
            Ok(Err(paths)) => (None, Some(report::conflicts(fleet, commit, &paths))),
            Err(error) => return unplanned(fleet, request.candidate, &Failure::Git(error)),
        };
        PlanResult {
            merged,
            check,
            ..PlanResult::new(request.candidate)
        }
    }

    fn check_merge(&self, request: &PlanRequest, trees: Vec<Tree>, approvals: &Approvals) -> Check {
        let comparison = self.comparison(request);
        let files = Files::new(self.config.policy.clone(), trees);
        let memory = self.compiler.memory();
        let digest = proposed(&files, &self.set, comparison.plan(), &memory);
        let objects = |namespaces: &BTreeSet<&str>| objects_in(&files, namespaces, &memory);
        report::plan(&report::Merge {
            fleet: &self.settings.fleet,
            revision: &request.candidate.commit,
            proposal: Proposal {
                digest: &digest,
                objects: &objects,
            },
            comparison,
            base: request.base.as_ref(),
            approvals,
            waiting: &request.waiting,
            prune: self.settings.prune,
            settle: self.settings.settle,
            ways: self.settings.ways,
        })
    }

    /// What the candidate is compared with.
    fn comparison<'r>(&self, request: &'r PlanRequest) -> Comparison<'r> {
        let applied = request.applied.as_ref();
        match (applied, request.base.as_ref()) {
            (Some((revision, plan)), Some(base)) if self.config.is_check_only() => {
                let plan = plan.as_deref().filter(|_| *revision == base.commit);
                Comparison::Base(base, plan)
            }
            (Some((revision, plan)), _) => Comparison::Applied(revision, plan.as_deref()),
            (None, _) => Comparison::Nothing,
        }
    }

    /// The fleet and its overlays as the merge of two commits has them, with the ids of their files and of all else
    /// that a plan check is made of; or the paths in conflict.
    #[allow(clippy::type_complexity)]
    fn merged(
        &self,
        base: &str,
        commit: &str,
        view: &View<'_>,
    ) -> Result<Result<(String, Vec<Tree>), Vec<String>>, Error> {
        let repository = self.revisions.origin.repository()?;
        let (mut ids, mut trees) = (Vec::new(), Vec::new());
        for path in std::iter::once(&self.config.path).chain(&self.config.overlays) {
            match repository.merged(base, commit, path)? {
                Merged::Clean { tree, id } => {
                    ids.push(id);
                    trees.push(tree);
                }
                Merged::Conflicts(paths) => return Ok(Err(paths)),
            }
        }
        let local = local_trees(&self.config).collect::<Result<Vec<Tree>, _>>()?;
        let ways = self.settings.ways;
        ids.push(conditions(&self.config, ways, &local, view));
        trees.extend(local);
        Ok(Ok((ids.join(" "), trees)))
    }
}
