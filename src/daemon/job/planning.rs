//! Plans of candidates: merged onto what is followed, compiled, and compared with what is applied.
//!
//! In: a candidate, and what it is merged onto. Out: its check. What may be a stranger's is planned by `forks`.

use sha2::{Digest as _, Sha256};

use super::Source;
use crate::adapters::git::{Error, Merged};
use crate::compile::compile_by;
use crate::daemon::failure::Failure;
use crate::follow::candidates::Candidate;
use crate::follow::lanes::Lane;
use crate::model::{Check, ErrorClass, Tree};
use crate::plan::Plan;
use crate::plan::approvals::Approvals;
use crate::reporting::report::{self, Base, NotPlanned};

/// A candidate, judged.
pub(in crate::daemon) struct Planned {
    pub(in crate::daemon) candidate: Candidate,
    /// The head that a test merge is of, and who pushed it: then it is still to be planned.
    pub(in crate::daemon) resolved: Option<(String, Lane)>,
    /// The ids of the merged files.
    pub(in crate::daemon) merged: Option<String>,
    /// Its check; `None` when the merged files have not changed since the last one.
    pub(in crate::daemon) check: Option<Check>,
    /// Whether it could not be planned for a reason that may pass.
    pub(in crate::daemon) is_passing: bool,
}

impl Planned {
    /// A candidate whose last check still holds.
    pub(super) fn unchanged(candidate: &Candidate, merged: String) -> Self {
        Self {
            candidate: candidate.clone(),
            resolved: None,
            merged: Some(merged),
            check: None,
            is_passing: false,
        }
    }

    /// A candidate that could not be planned.
    pub(in crate::daemon) fn failed(fleet: &str, candidate: Candidate, failure: &Failure) -> Self {
        let check = report::broken_plan(fleet, &candidate.commit, &failure.fault());
        Self {
            candidate,
            resolved: None,
            merged: None,
            check: Some(check),
            is_passing: failure.class() == ErrorClass::Transient,
        }
    }
}

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
    /// Merges `candidate` onto `base` and judges the result against what is applied; what may be a stranger's by its
    /// files alone.
    pub(in crate::daemon) fn plan(
        &self,
        base: &str,
        candidate: Candidate,
        applied: Option<(&str, Option<&Plan>)>,
    ) -> Planned {
        if let Some(planned) = self.given_up(&candidate) {
            return planned;
        }
        let _in_progress = UnderWay::new(self, &candidate);
        match self.is_fork(&candidate) {
            true => self.plan_fork(base, candidate),
            false => {
                let applied_id = applied.map(|(id, _)| id);
                // Not aside: it waits for the forge, which only a thread of the runtime can.
                let approvals = self.candidate_approvals(base, &candidate.commit, applied_id);
                aside(|| self.plan_own(base, candidate, applied, &approvals))
            }
        }
    }

    /// What becomes of a candidate that is not planned although it waits: it met a limit before, or the daemon ended while
    /// it was planned. Who asks for a plan gets it.
    fn given_up(&self, candidate: &Candidate) -> Option<Planned> {
        if candidate.is_wanted {
            return None;
        }
        let met_limit = self.limited();
        if candidate.seen.as_ref() == Some(&met_limit) {
            return Some(Planned::unchanged(candidate, met_limit));
        }
        let is_interrupted = self.in_progress().was_interrupted(&candidate.id);
        is_interrupted.then(|| self.not_planned(candidate.clone(), NotPlanned::Interrupted))
    }

    /// A candidate that is not planned until it moves, or somebody asks.
    pub(in crate::daemon) fn not_planned(&self, candidate: Candidate, why: NotPlanned) -> Planned {
        let merged = match why {
            NotPlanned::Interrupted => "interrupted".to_owned(),
            _ => self.limited(),
        };
        if candidate.seen.as_ref() == Some(&merged) {
            return Planned::unchanged(&candidate, merged);
        }
        let check = report::not_planned(&self.fleet, &candidate.commit, why);
        let (name, commit) = (candidate.name.escape_debug(), &candidate.commit);
        tracing::warn!(%name, commit, "{}", check.title);
        let input = Some(merged.clone());
        Planned {
            candidate,
            resolved: None,
            merged: Some(merged),
            check: Some(Check { input, ..check }),
            is_passing: false,
        }
    }

    /// What a check says it was made of if it met a limit: with other limits, or another version, it is planned again.
    pub(in crate::daemon) fn limited(&self) -> String {
        let limits = &self.fork_limits;
        let version = env!("CARGO_PKG_VERSION");
        let (time, memory) = (limits.time.as_millis(), limits.memory);
        format!("limited {version} {time} {memory}")
    }

    fn plan_own(
        &self,
        base: &str,
        candidate: Candidate,
        applied: Option<(&str, Option<&Plan>)>,
        approvals: &Approvals,
    ) -> Planned {
        let (fleet, commit) = (self.fleet.as_str(), candidate.commit.as_str());
        let view = View::All(applied.and_then(|(_, plan)| plan), approvals);
        let (merged, check) = match self.merged(base, commit, &view) {
            Ok(Ok((ids, _))) if candidate.seen.as_ref() == Some(&ids) => (Some(ids), None),
            Ok(Ok((ids, trees))) => {
                let check = self.judge_merge(base, commit, &trees, applied, approvals);
                let input = Some(ids.clone());
                (Some(ids), Some(Check { input, ..check }))
            }
            Ok(Err(paths)) => (None, Some(report::conflicts(fleet, commit, &paths))),
            Err(error) => return Planned::failed(fleet, candidate.clone(), &Failure::Git(error)),
        };
        Planned {
            candidate,
            resolved: None,
            merged,
            check,
            is_passing: false,
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

    fn judge_merge(
        &self,
        base: &str,
        commit: &str,
        trees: &[Tree],
        applied: Option<(&str, Option<&Plan>)>,
        approvals: &Approvals,
    ) -> Check {
        let compiled = compile_by(&self.policy, &trees[0], &trees[1..]);
        report::plan(&report::Merge {
            set: &self.set,
            revision: commit,
            compiled: &compiled,
            applied,
            base: self.base_at(base).as_ref(),
            approvals,
            prune: self.prune.0,
            settle: self.settle,
            has_buttons: self.has_buttons(),
        })
    }

    /// The base of a candidate, if it is what was examined last.
    pub(super) fn base_at(&self, commit: &str) -> Option<Base> {
        let base = self.base().clone();
        base.filter(|base| base.commit == commit)
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
        for path in std::iter::once(&self.path).chain(&self.overlays) {
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
        let paths = (&self.path, &self.overlays);
        let guard = (self.prune, self.settle);
        add(format!("{paths:?} {:?} {guard:?}", self.policy).as_bytes());
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
        if matches!(view, View::All(..)) && self.has_buttons() {
            add(b"with buttons");
        }
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
