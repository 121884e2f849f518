//! Plans of candidates: merged onto what is followed, compiled, and compared with what is applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::left::{is_pending, written};
use super::{MOST_APPROVING, Source};
use crate::adapters::git::{Error, Merged};
use crate::api::fleet::FleetPolicy;
use crate::api::labels;
use crate::compile::compile_by;
use crate::daemon::approvals::{self, Approvals};
use crate::daemon::candidates::{Candidate, OpenRef};
use crate::daemon::failure::Failure;
use crate::daemon::report::{self, Base};
use crate::model::{Action, Check, CheckSink, ClientBindings, Tree};
use crate::plan::Plan;

/// How many of the refs that are there at the start are planned: the newest. A ref may outlive its pull
/// request.
const MOST_OPEN: usize = 500;
/// Among how many of them those are found that are not merged.
const MOST_LOOKED_AT: usize = 5_000;

/// A candidate, judged.
pub(in crate::daemon) struct Planned {
    pub(in crate::daemon) candidate: Candidate,
    /// The ids of the merged files.
    pub(in crate::daemon) merged: Option<String>,
    /// Its check; `None` when the merged files have not changed since the last one.
    pub(in crate::daemon) check: Option<Check>,
}

impl Planned {
    /// A candidate that could not be planned.
    pub(in crate::daemon) fn failed(fleet: &str, candidate: Candidate, failure: &Failure) -> Self {
        let check = report::broken_plan(fleet, &candidate.commit, failure);
        Self {
            candidate,
            merged: None,
            check: Some(check),
        }
    }
}

/// Which of the refs that are there at the start may need a plan: the newest that are not merged into
/// `base`, each with what its check was made of.
pub(in crate::daemon) async fn open_refs(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    candidates: Vec<Candidate>,
    base: String,
) -> Vec<OpenRef> {
    let context = report::plan_context(&source.fleet);
    let work = move || source.newest(candidates, &base);
    let mut open = tokio::task::spawn_blocking(work).await.unwrap_or_default();
    let commits = open.iter().map(|open| open.candidate.commit.clone());
    let commits: Vec<String> = commits.collect();
    let checks = written(sink, &commits, &context).await;
    let checks = checks.unwrap_or_default().into_iter();
    let ended = checks.filter(|check| !is_pending(check));
    let inputs: BTreeMap<String, Option<String>> =
        ended.map(|check| (check.revision, check.input)).collect();
    for open in &mut open {
        let input = inputs.get(&open.candidate.commit);
        open.is_checked = input.is_some();
        open.candidate.seen = input.cloned().flatten();
    }
    open
}

/// What a candidate is judged by.
enum View<'a> {
    /// Its files alone.
    Files,
    /// Also what is applied, and overlays of this machine.
    All(Option<&'a Plan>),
}

impl Source {
    /// The newest of `candidates` that are not merged into `base`.
    fn newest(&self, candidates: Vec<Candidate>, base: &str) -> Vec<OpenRef> {
        let Ok(repository) = self.origin.repository() else {
            return Vec::new();
        };
        let at = |candidate: Candidate| {
            let at = repository.commit(&candidate.commit).ok()?.at;
            Some(OpenRef {
                candidate,
                at,
                is_checked: false,
            })
        };
        let mut open: Vec<OpenRef> = candidates.into_iter().filter_map(at).collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.at));
        let is_open = |open: &OpenRef| {
            let merged = repository.is_ancestor(&open.candidate.commit, base);
            !merged.unwrap_or_default()
        };
        let looked_at = open.into_iter().take(MOST_LOOKED_AT);
        looked_at.filter(is_open).take(MOST_OPEN).collect()
    }

    /// Merges `candidate` onto `base` and judges the result against what is applied; what may be a stranger's by its
    /// files alone.
    pub(in crate::daemon) fn plan(
        &self,
        base: &str,
        candidate: Candidate,
        applied: Option<(&str, Option<&Plan>)>,
    ) -> Planned {
        let (fleet, commit) = (self.fleet.as_str(), candidate.commit.as_str());
        let is_fork = self.is_fork(&candidate);
        let view = match is_fork {
            true => View::Files,
            false => View::All(applied.and_then(|(_, plan)| plan)),
        };
        let (merged, check) = match self.merged(base, commit, &view) {
            Ok(Ok((ids, _))) if candidate.seen.as_ref() == Some(&ids) => (Some(ids), None),
            Ok(Ok((ids, trees))) => {
                let check = match is_fork {
                    true => self.judge_fork(base, commit, &trees),
                    false => self.judge_merge(base, commit, &trees, applied),
                };
                let input = Some(ids.clone());
                (Some(ids), Some(Check { input, ..check }))
            }
            Ok(Err(paths)) => (None, Some(report::conflicts(fleet, commit, &paths))),
            Err(error) => return Planned::failed(fleet, candidate.clone(), &Failure::Git(error)),
        };
        Planned {
            candidate,
            merged,
            check,
        }
    }

    /// Whether a candidate may be a stranger's: anybody can open a pull request, and who may push to a branch is
    /// decided by the repository.
    fn is_fork(&self, candidate: &Candidate) -> bool {
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
    ) -> Check {
        let _compiling = self.compiling();
        let compiled = compile_by(&self.policy, &trees[0], &trees[1..]);
        report::plan(&report::Merge {
            set: &self.set,
            revision: commit,
            compiled: &compiled,
            applied,
            base: self.base_at(base).as_ref(),
            approvals: &self.candidate_approvals(base, commit, applied.map(|(id, _)| id)),
            prune: self.prune.0,
            max_clusters: self.prune.1,
            settle: self.settle,
            has_buttons: self.has_buttons(),
        })
    }

    /// By rules alone that everybody can run on these files.
    fn judge_fork(&self, base: &str, commit: &str, trees: &[Tree]) -> Check {
        let _compiling = self.compiling();
        let policy = FleetPolicy {
            tenants: Vec::new(),
            bindings: ClientBindings::default(),
            ..self.policy.clone()
        };
        let compiled = compile_by(&policy, &trees[0], &trees[1..]);
        let (base, is_partial) = (self.base_at(base), !self.local_overlays.is_empty());
        report::fork(&self.fleet, commit, &compiled, base.as_ref(), is_partial)
    }

    /// The base of a candidate, if it is what was examined last.
    fn base_at(&self, commit: &str) -> Option<Base> {
        let base = self.base().clone();
        base.filter(|base| base.commit == commit)
    }

    /// What the commits that are not applied yet approve of, and what those of the candidate alone say of it.
    fn candidate_approvals(&self, base: &str, commit: &str, applied: Option<&str>) -> Approvals {
        let trailers = |from: &str, to: &str| {
            let trailers = self
                .origin
                .trailers(Some(from), to, MOST_APPROVING, labels::APPROVE);
            approvals::approved(&trailers.unwrap_or_default())
        };
        let own = trailers(base, commit);
        let earlier = applied.map(|applied| trailers(applied, base));
        let mut pressed = self.pressed(Some(base), commit);
        pressed.extend(
            applied
                .into_iter()
                .flat_map(|applied| self.pressed(Some(applied), base)),
        );
        let by_button = pressed.iter().flat_map(|press| press.clusters.clone());
        Approvals {
            approved: own
                .iter()
                .cloned()
                .chain(earlier.unwrap_or_default())
                .chain(by_button)
                .collect(),
            pressed,
            unclear: self.unclear(Some(base), commit),
            own,
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
        let local = self.local_trees();
        let local: Vec<Tree> = match view {
            View::Files => Vec::new(),
            View::All(_) => local.collect::<Result<_, _>>()?,
        };
        ids.push(self.conditions(commit, &local, view));
        trees.extend(local);
        Ok(Ok((ids.join(" "), trees)))
    }

    /// A digest of what a plan check is made of beside files of the repository: the settings, overlays on this
    /// machine, what is applied, what people approved with a button, and this version of Capstan.
    fn conditions(&self, commit: &str, local: &[Tree], view: &View<'_>) -> String {
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
            View::Files => {
                add(b"a fork's");
                None
            }
            View::All(before) => *before,
        };
        for step in before.iter().flat_map(|plan| &plan.steps) {
            let Action::Apply { payload, .. } = &step.action;
            add(step.object.to_string().as_bytes());
            add(payload.hash().as_bytes());
        }
        if matches!(view, View::All(_)) && self.has_buttons() {
            add(b"with buttons");
            let pressed = self.pressed(None, commit);
            let clusters = pressed.iter().flat_map(|press| &press.clusters);
            clusters.for_each(|cluster| add(cluster.as_bytes()));
        }
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
