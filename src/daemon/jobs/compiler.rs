//! Compiles revisions that are applied, were, or are going to be.
//!
//! In: a revision. Out: what it holds, compared with what is applied; where it is broken, the last good one. It does not
//! know what is done with either, and nothing of candidates.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use super::commit_approvals::Commits as _;
use super::failure::Failure;
use super::last_applied::LastApplied;
use super::revisions::{LOOK_BACK, Revisions};
use crate::adapters::git::{Error, RetainedRef, directory};
use crate::apply::AppliedRevision;
use crate::compile::{Files, Memory};
use crate::follow::{Compilation, ExamineResult, Release, kept, objects_in};
use crate::model::Tree;
use crate::plan::{ApplySet, Kept, Plan};
use crate::settings::SyncConfig;

/// See the module.
pub(in crate::daemon) struct Compiler {
    config: Arc<SyncConfig>,
    set: ApplySet,
    revisions: Arc<Revisions>,
    /// Held during a compile, so that only one runs at a time: it takes much memory for a large fleet, and uses all cores anyway.
    /// Candidates do not hold it: the followed ref waits for none.
    turn: Mutex<()>,
    /// What was compiled last.
    memory: Mutex<Memory<Kept>>,
}

impl Compiler {
    pub(super) fn new(config: Arc<SyncConfig>, set: ApplySet, revisions: Arc<Revisions>) -> Self {
        Self {
            config,
            set,
            revisions,
            turn: Mutex::default(),
            memory: Mutex::default(),
        }
    }

    /// What was compiled last, also while something else is being compiled.
    pub(super) fn memory(&self) -> Memory<Kept> {
        self.memory.lock().clone()
    }

    /// Compiles something when it is its turn.
    fn compile<R>(&self, work: impl FnOnce(&mut Memory<Kept>) -> R) -> R {
        let _turn = self.turn.lock();
        let mut memory = self.memory();
        let result = work(&mut memory);
        *self.memory.lock() = memory;
        result
    }

    /// Reads and compiles `revision`. The `first` time also looks back, when `revision` is broken or
    /// empty, for the newest good one before it.
    pub(super) fn examine(
        &self,
        revision: String,
        before: LastApplied,
        first: bool,
    ) -> ExamineResult {
        self.compile(|memory| self.examine_now(revision, before, first, memory))
    }

    fn examine_now(
        &self,
        revision: String,
        before: LastApplied,
        first: bool,
        memory: &mut Memory<Kept>,
    ) -> ExamineResult {
        let applied = before.plans(&self.revisions.origin, &revision, |other| {
            self.plan_of(other, memory)
        });
        let outcome = self.compile_trusted(&revision, &applied, memory);
        self.revisions
            .signatures
            .remember(&revision, outcome.as_ref().err());
        let base = outcome.as_ref().ok();
        let is_good = base.is_some_and(|compilation| compilation.good().is_some());
        let base = base.map(|it| it.base(&revision, format!("the {}", self.revisions.reference)));
        let fallback = if !is_good && first {
            self.last_good(&revision, &applied, memory)
        } else {
            None
        };
        ExamineResult {
            title: self.revisions.origin.title(&revision),
            revision,
            outcome: outcome.map_err(|error| Failure::Git(error).into()),
            base,
            fallback,
            left_pending: Some(Vec::new()),
            left_applied: self.left_applied(first, memory),
        }
    }

    /// What the origin retains as applied, the `first` time, if nothing will be applied.
    fn left_applied(&self, first: bool, memory: &mut Memory<Kept>) -> Option<AppliedRevision> {
        let revision = self.revisions.origin.retained(RetainedRef::Applied);
        let revision = revision.filter(|_| first && self.config.suspend)?;
        let plan = self.plan_of(&revision, memory);
        Some((revision, plan))
    }

    /// The plan of a revision that was applied before; `None` if it is gone, or has errors by now.
    pub(super) fn recall(&self, revision: &str) -> Option<Arc<Plan>> {
        self.compile(|memory| self.plan_of(revision, memory))
    }

    fn plan_of(&self, revision: &str, memory: &mut Memory<Kept>) -> Option<Arc<Plan>> {
        let files = self.files(revision).ok()?;
        match Compilation::new(revision, kept(&files, &self.set, memory)) {
            Compilation::Sound(release) => Some(release.plan),
            Compilation::Broken(_) => None,
        }
    }

    /// Compiles a revision that is to be applied: nothing of it is read before its signature is verified. It is also
    /// compared with what is applied.
    fn compile_trusted(
        &self,
        revision: &str,
        applied: &[Arc<Plan>],
        memory: &mut Memory<Kept>,
    ) -> Result<Compilation, Error> {
        self.revisions.signatures.verify(revision)?;
        let files = self.files(revision)?;
        let digest = kept(&files, &self.set, memory);
        Ok(Compilation::after(
            applied,
            revision,
            digest,
            |namespaces| objects_in(&files, namespaces, memory),
        ))
    }

    fn files(&self, revision: &str) -> Result<Files, Error> {
        let tree = self.revisions.origin.tree(revision, &self.config.path)?;
        let overlays = self.overlay_trees(revision)?;
        let mut policy = self.config.policy.clone();
        if let Some(directory) = self.revisions.origin.directory() {
            policy.root = directory.root(revision).unwrap_or_default();
        }
        Ok(Files::new(policy, [vec![tree], overlays].concat()))
    }

    fn overlay_trees(&self, revision: &str) -> Result<Vec<Tree>, Error> {
        let inside = self
            .config
            .overlays
            .iter()
            .map(|path| self.revisions.origin.tree(revision, path));
        inside.chain(local_trees(&self.config)).collect()
    }

    /// The newest valid revision before `revision` that has objects. It need not have succeeded: what was
    /// on its way into the cluster is not taken back by a restart. After a forced push, what was applied
    /// last comes before what both histories have. If the signature of what was applied last is not accepted,
    /// nothing older is applied in its place.
    fn last_good(
        &self,
        revision: &str,
        plans: &[Arc<Plan>],
        memory: &mut Memory<Kept>,
    ) -> Option<Release> {
        let applied = self.revisions.origin.retained(RetainedRef::Applied);
        let since = applied.as_deref().and_then(|applied| {
            let log = self
                .revisions
                .origin
                .log(Some(applied), revision, LOOK_BACK);
            log.ok()
        });
        let since = since.into_iter().flatten().map(|commit| commit.id);
        let mut seen = BTreeSet::from([revision.to_owned()]);
        for id in since
            .chain(applied.clone())
            .chain(self.revisions.earlier(revision))
        {
            if !seen.insert(id.clone()) {
                continue;
            }
            match self.compile_trusted(&id, plans, memory) {
                Ok(Compilation::Sound(release)) if !release.is_empty() => return Some(release),
                Err(error @ Error::Unverified { .. }) if applied.as_ref() == Some(&id) => {
                    tracing::warn!(revision = id, %error, "what was applied last is not applied again");
                    return None;
                }
                Ok(_) | Err(_) => {}
            }
        }
        None
    }
}

/// The overlays of this machine.
pub(in crate::daemon) fn local_trees(
    config: &SyncConfig,
) -> impl Iterator<Item = Result<Tree, Error>> {
    let local = config.local_overlays.iter();
    local.map(|path| directory::read_beside(path, None))
}
