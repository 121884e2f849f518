//! Plans of candidates: merged onto what is followed, compiled, and compared with what is applied.
//!
//! In: a candidate, and what it is merged onto. Out: its check. What may be a stranger's is planned by `forks`.

use sha2::{Digest as _, Sha256};

use super::Source;
use crate::adapters::git::{Error, Merged};
use crate::compile::compile_by;
use crate::daemon::jobs::failure::Failure;
use crate::follow::{Candidate, PlanRequest, PlanResult};
use crate::model::{Check, ErrorClass, Tree};
use crate::plan::Plan;
use crate::plan::approvals::Approvals;
use crate::reporting::report::{self, Base, NotPlanned};

/// Records that a candidate is being planned, until this is dropped.
struct UnderWay<'a> {
    source: &'a Source,
    name: String,
    id: String,
}

impl<'a> UnderWay<'a> {
    fn new(source: &'a Source, candidate: &Candidate) -> Self {
        let (name, id) = (candidate.name.clone(), candidate.id.clone());
        source.in_progress().begin(&name, &id);
        Self { source, name, id }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.source.in_progress().end(&self.name, &self.id);
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

/// What a candidate is judged by.
pub(super) enum View<'a> {
    /// Its files and messages alone, and what its base has.
    Files(Option<&'a Base>),
    /// Also what is applied, what is approved, and overlays of this machine.
    All(Option<&'a Plan>, &'a Approvals),
}

impl Source {
    /// Merges the candidate onto what is followed and compares the result with what is applied; of what may be a stranger's
    /// the files alone.
    pub(in crate::daemon) fn plan(&self, request: PlanRequest) -> PlanResult {
        if let Some(planned) = self.given_up(&request.candidate) {
            return planned;
        }
        let _in_progress = UnderWay::new(self, &request.candidate);
        if self.is_fork(&request.candidate) {
            return self.plan_fork(request);
        }
        let applied = request.applied.as_ref().map(|(id, _)| id.as_str());
        // Not aside: it waits for the forge, which only a thread of the runtime can.
        let approvals = self.candidate_approvals(&request.head, &request.candidate.commit, applied);
        let planned = aside(|| self.plan_own(request, &approvals));
        PlanResult {
            unattributed: approvals.unattributed().cloned().collect(),
            ..planned
        }
    }

    /// What becomes of a candidate that is not planned although it waits: it met a limit before, or the daemon ended while
    /// it was planned. Who asks for a plan gets it.
    fn given_up(&self, candidate: &Candidate) -> Option<PlanResult> {
        if candidate.is_wanted {
            return None;
        }
        let limits = &self.settings.limits;
        if candidate.seen.as_ref() == Some(limits) {
            return Some(PlanResult::unchanged(candidate.clone(), limits.clone()));
        }
        let is_interrupted = self.in_progress().was_interrupted(&candidate.id);
        let why = NotPlanned::Interrupted;
        is_interrupted.then(|| PlanResult::not_planned(&self.settings, candidate.clone(), why))
    }

    /// A candidate that could not be planned.
    pub(in crate::daemon) fn unplanned(
        &self,
        candidate: Candidate,
        failure: &Failure,
    ) -> PlanResult {
        let is_passing = failure.class() == ErrorClass::Transient;
        PlanResult::failed(
            &self.settings.fleet,
            candidate,
            &failure.fault(),
            is_passing,
        )
    }

    fn plan_own(&self, request: PlanRequest, approvals: &Approvals) -> PlanResult {
        let fleet = self.settings.fleet.as_str();
        let commit = request.candidate.commit.as_str();
        let applied = request.applied.as_ref();
        let view = View::All(applied.and_then(|(_, plan)| plan.as_deref()), approvals);
        let (merged, check) = match self.merged(&request.head, commit, &view) {
            Ok(Ok((ids, _))) if request.candidate.seen.as_ref() == Some(&ids) => (Some(ids), None),
            Ok(Ok((ids, trees))) => {
                let check = self.check_merge(&request, &trees, approvals);
                let input = Some(ids.clone());
                (Some(ids), Some(Check { input, ..check }))
            }
            Ok(Err(paths)) => (None, Some(report::conflicts(fleet, commit, &paths))),
            Err(error) => return self.unplanned(request.candidate, &Failure::Git(error)),
        };
        PlanResult {
            merged,
            check,
            ..PlanResult::new(request.candidate)
        }
    }

    /// Whether a candidate may be a stranger's: anybody can open a pull request, and who may push to a branch is
    /// decided by the repository.
    pub(super) fn is_fork(&self, candidate: &Candidate) -> bool {
        let is_branch = candidate.name.starts_with("refs/heads/");
        let is_on_branch = || {
            let repository = self.origin.repository()?;
            repository.is_on_branch(&candidate.commit)
        };
        !is_branch && !is_on_branch().unwrap_or_default()
    }

    fn check_merge(&self, request: &PlanRequest, trees: &[Tree], approvals: &Approvals) -> Check {
        let compiled = compile_by(&self.config.policy, &trees[0], &trees[1..]);
        let applied = request.applied.as_ref();
        report::plan(&report::Merge {
            set: &self.set,
            revision: &request.candidate.commit,
            compiled: &compiled,
            applied: applied.map(|(revision, plan)| (revision.as_str(), plan.as_deref())),
            base: request.base.as_ref(),
            approvals,
            prune: self.settings.prune,
            settle: self.settings.settle,
            has_buttons: self.settings.has_buttons,
        })
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
        let (mut ids, mut trees) = (Vec::new(), Vec::new());
        for path in std::iter::once(&self.config.path).chain(&self.config.overlays) {
            match self.origin.repository()?.merged(base, commit, path)? {
                Merged::Clean { tree, id } => {
                    ids.push(id);
                    trees.push(tree);
                }
                Merged::Conflicts(paths) => return Ok(Err(paths)),
            }
        }
        let local = self.local_trees().collect::<Result<Vec<Tree>, _>>()?;
        ids.push(self.conditions(&local, view));
        trees.extend(local);
        Ok(Ok((ids.join(" "), trees)))
    }

    /// A digest of what a plan check is made of beside files of the repository: the settings, overlays on this
    /// machine, what is applied, what people approved, and this version of Capstan.
    pub(super) fn conditions(&self, local: &[Tree], view: &View<'_>) -> String {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        let config = &self.config;
        let paths = (&config.path, &config.overlays);
        let guard = ((config.prune, config.max_clusters), config.settle);
        add(format!("{paths:?} {:?} {guard:?}", config.policy).as_bytes());
        for (path, text) in local.iter().flat_map(|tree| &tree.files) {
            add(path.as_bytes());
            add(text);
        }
        let before = match view {
            View::Files(base) => {
                add(b"a fork's");
                let held = base.iter().flat_map(|base| base.holdings.lines());
                held.for_each(|line| add(line.as_bytes()));
                None
            }
            View::All(before, approvals) => {
                add(format!("{:?}", approvals.given).as_bytes());
                let doubted = approvals.doubted.iter();
                let doubted = doubted.map(|(one, doubt)| (one, std::mem::discriminant(doubt)));
                doubted.for_each(|one| add(format!("{one:?}").as_bytes()));
                *before
            }
        };
        for step in before.iter().flat_map(|plan| &plan.steps) {
            let payload = &step.action.payload;
            add(step.object.to_string().as_bytes());
            add(payload.hash().as_bytes());
        }
        if matches!(view, View::All(..)) && self.settings.has_buttons {
            add(b"with buttons");
        }
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
