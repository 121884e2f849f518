//! Plans of candidates: merged onto what is followed, compiled, and compared with what is applied.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::{Source, written};
use crate::adapters::git::{Error, Merged};
use crate::compile::compile_by;
use crate::daemon::candidates::{Candidate, OpenRef};
use crate::daemon::failure::Failure;
use crate::daemon::report;
use crate::model::{Action, Check, CheckSink, Tree};
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
    let checks = written(sink, &commits, &context).await.into_iter();
    let inputs: BTreeMap<String, String> = checks
        .filter_map(|check| Some((check.revision, check.input?)))
        .collect();
    for open in &mut open {
        open.candidate.seen = inputs.get(&open.candidate.commit).cloned();
    }
    open
}

impl Source {
    /// The newest of `candidates` that are not merged into `base`.
    fn newest(&self, candidates: Vec<Candidate>, base: &str) -> Vec<OpenRef> {
        let at = |candidate: Candidate| {
            let at = self.mirror.commit(&candidate.commit).ok()?.at;
            Some(OpenRef { candidate, at })
        };
        let mut open: Vec<OpenRef> = candidates.into_iter().filter_map(at).collect();
        open.sort_by_key(|open| std::cmp::Reverse(open.at));
        let is_open = |open: &OpenRef| {
            let merged = self.mirror.is_ancestor(&open.candidate.commit, base);
            !merged.unwrap_or_default()
        };
        let looked_at = open.into_iter().take(MOST_LOOKED_AT);
        looked_at.filter(is_open).take(MOST_OPEN).collect()
    }

    /// Merges `candidate` onto `base` and judges the result against what is applied.
    pub(in crate::daemon) fn plan(
        &self,
        base: &str,
        candidate: Candidate,
        applied: Option<(&str, Option<&Plan>)>,
    ) -> Planned {
        let (fleet, commit) = (self.fleet.as_str(), candidate.commit.as_str());
        let before = applied.and_then(|(_, plan)| plan);
        let (merged, check) = match self.merged(base, commit, before) {
            Ok(Ok((ids, _))) if candidate.seen.as_ref() == Some(&ids) => (Some(ids), None),
            Ok(Ok((ids, trees))) => {
                let _compiling = self.compiling();
                let (tree, overlays) = (&trees[0], &trees[1..]);
                let broken = self.broken().clone();
                let broken = broken.filter(|broken| broken.commit == base);
                let compiled = compile_by(&self.policy, tree, overlays);
                let check = Check {
                    input: Some(ids.clone()),
                    ..report::plan(&self.set, commit, &compiled, applied, broken.as_ref())
                };
                (Some(ids), Some(check))
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

    /// The fleet and its overlays as the merge of two commits has them, with the ids of their files and of all else
    /// that a plan check is made of; or the paths in conflict.
    #[allow(clippy::type_complexity)]
    fn merged(
        &self,
        base: &str,
        commit: &str,
        before: Option<&Plan>,
    ) -> Result<Result<(String, Vec<Tree>), Vec<String>>, Error> {
        let (mut ids, mut trees) = (Vec::new(), Vec::new());
        for path in std::iter::once(&self.path).chain(&self.overlays) {
            match self.mirror.merged(base, commit, path)? {
                Merged::Clean { tree, id } => {
                    ids.push(id);
                    trees.push(tree);
                }
                Merged::Conflicts(paths) => return Ok(Err(paths)),
            }
        }
        let local: Vec<Tree> = self.local_trees().collect::<Result<_, _>>()?;
        ids.push(self.conditions(&local, before));
        trees.extend(local);
        Ok(Ok((ids.join(" "), trees)))
    }

    /// A digest of what a plan check is made of beside files of the repository: the settings, overlays on this
    /// machine, what is applied, and this version of Capstan.
    fn conditions(&self, local: &[Tree], before: Option<&Plan>) -> String {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        };
        add(env!("CARGO_PKG_VERSION").as_bytes());
        let paths = (&self.path, &self.overlays);
        add(format!("{paths:?} {:?}", self.policy).as_bytes());
        for (path, text) in local.iter().flat_map(|tree| &tree.files) {
            add(path.as_bytes());
            add(text);
        }
        for step in before.iter().flat_map(|plan| &plan.steps) {
            let Action::Apply { payload, .. } = &step.action;
            add(step.object.to_string().as_bytes());
            add(payload.hash().as_bytes());
        }
        let digest = digest.finalize();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
