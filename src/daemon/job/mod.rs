//! What takes time: reading revisions, compiling and planning them. Runs on a thread of its own.

mod approving;
mod attribution;
mod before;
mod forks;
mod left;
mod opening;
mod origin;
mod planning;
mod presses;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::failure::Failure;
use super::in_progress::InProgress;
use super::late_record::LateRecord;
use super::press_record::PressRecord;
use crate::adapters::git::{Error, Ref, Refs, RetainedRef, directory};
use crate::api::fleet::FleetPolicy;
use crate::apply::AppliedRevision;
use crate::compile::{Compiled, compile_by};
use crate::graph::Graph;
use crate::model::{CheckSink, Finding, ObjectId, Tree};
use crate::plan::approvals::{Granted, Pressed};
use crate::plan::{self, ApplySet, Plan};
use crate::reporting::report::{self, Base, Holdings};
use crate::reporting::sync_context;
use crate::settings::{ForkLimits, SyncConfig, Verification};
use attribution::Attribution;
pub(super) use before::Before;
use left::left_pending;
pub(super) use left::{Left, left_waiting};
pub(super) use opening::open_refs;
pub(super) use origin::Origin;
pub(super) use planning::Planned;

/// How far back a good revision is looked for when the newest is broken.
const LOOK_BACK: usize = 50;

/// How long a revision waits for what the sink knows of earlier ones.
const ANSWER: Duration = Duration::from_secs(5);

/// Where the refs of the repository lead.
pub(super) struct RemoteRefs {
    /// All of them; `None` while those that are not followed are still on their way.
    pub(super) refs: Option<Refs>,
    /// The commit that is followed now.
    pub(super) head: String,
    /// Whether it was refused for its signature, and that is different now: somebody signed its tag.
    pub(super) signed_anew: bool,
}

/// A compiled revision. Its objects are not kept: they are most of a large fleet.
pub(super) enum Judged {
    /// It has no errors.
    Sound(Prepared),
    /// It has errors; these are its findings, without objects.
    Broken(Compiled),
}

/// What is applied for a revision, and what becomes of it in the hands of controllers.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) plan: Arc<Plan>,
    pub(super) embedded: Arc<[(ObjectId, String)]>,
    pub(super) graph: Arc<Graph>,
    /// What its check says of it.
    pub(super) notes: report::Notes,
    findings: Arc<[Finding]>,
    holdings: Arc<Holdings>,
}

impl Prepared {
    /// Whether there is nothing to apply.
    pub(super) fn is_empty(&self) -> bool {
        self.plan.steps.is_empty()
    }
}

impl Judged {
    /// Whether it has no errors, and something to apply.
    pub(super) fn is_good(&self) -> bool {
        matches!(self, Self::Sound(prepared) if !prepared.is_empty())
    }

    /// Whether it has no errors, and nothing to apply.
    fn is_empty(&self) -> bool {
        matches!(self, Self::Sound(prepared) if prepared.is_empty())
    }

    /// Its clusters and node pools, if it has no errors.
    fn holdings(&self) -> Arc<Holdings> {
        match self {
            Self::Sound(prepared) => Arc::clone(&prepared.holdings),
            Self::Broken(_) => Arc::default(),
        }
    }

    fn findings(&self) -> Arc<[Finding]> {
        match self {
            Self::Sound(prepared) => Arc::clone(&prepared.findings),
            Self::Broken(compiled) => compiled.findings.clone().into(),
        }
    }

    /// A revision that comes after those with the plans `applied`: what they own in Azure must not be owned again.
    fn after(applied: &[Arc<Plan>], mut compiled: Compiled, set: &ApplySet) -> Self {
        if !compiled.has_errors() {
            let (objects, graph) = (&compiled.objects, &compiled.graph);
            let mut found = applied
                .iter()
                .map(|applied| plan::second_owners(set, objects, graph, applied));
            let found = found.find(|found| !found.is_empty());
            compiled.findings.splice(..0, found.unwrap_or_default());
        }
        Self::new(compiled, set)
    }

    pub(super) fn new(mut compiled: Compiled, set: &ApplySet) -> Self {
        let embedded = compiled.embedded();
        let objects = std::mem::take(&mut compiled.objects);
        if compiled.has_errors() {
            return Self::Broken(compiled);
        }
        Self::Sound(Prepared {
            holdings: Arc::new(Holdings::of(&objects)),
            notes: report::Notes::of(&compiled),
            findings: compiled.findings.into(),
            plan: Arc::new(plan::into_plan(objects, &compiled.graph, set)),
            embedded: embedded.into(),
            graph: compiled.graph,
        })
    }
}

/// What is followed.
pub(super) struct Source {
    pub(super) origin: Origin,
    reference: Ref,
    verification: Option<Verification>,
    pub(super) fleet: String,
    /// The directory of the mirror, and the address of its repository.
    mirror: PathBuf,
    url: String,
    path: String,
    overlays: Vec<String>,
    local_overlays: Vec<PathBuf>,
    policy: FleetPolicy,
    /// Revisions that must not be lost, and are not pinned yet.
    unretained: Mutex<BTreeMap<RetainedRef, String>>,
    /// Held while they are pinned.
    pinning: Mutex<()>,
    /// Held during a compile of the followed ref, so that only one runs at a time: it takes much memory for a large fleet,
    /// and uses all cores anyway. Candidates do not hold it: the followed ref waits for none.
    compiling: Mutex<()>,
    /// Held while the head of a fork is planned.
    planning_fork: Mutex<()>,
    /// The program that plans heads of forks; `None` is this process.
    fork_planner: Option<PathBuf>,
    fork_limits: ForkLimits,
    /// Which candidates are being planned.
    in_progress: Mutex<InProgress>,
    set: ApplySet,
    /// Whether the settings suspend the fleet.
    suspend: bool,
    /// Whether objects are removed, and how many clusters without approval.
    prune: (bool, usize),
    /// How long role assignments need to come into force.
    settle: Duration,
    /// The commit that was examined last.
    base: Mutex<Option<Base>>,
    /// The same, and why, if it was refused for its signature.
    unverified: Mutex<Option<(String, Error)>>,
    /// What people approved with the buttons of checks.
    presses: PressRecord,
    /// Commits with approvals that came too late for what is applied.
    late: LateRecord,
    /// How the commits came in whose messages approve something.
    pub(super) attribution: Attribution,
    /// Whether checks have such buttons.
    buttons: AtomicBool,
    /// What counted for the revision that is applied.
    granted: Mutex<Granted>,
}

/// A commit of the followed ref, judged.
pub(super) struct Examined {
    pub(super) revision: String,
    /// The first line of its message.
    pub(super) title: String,
    pub(super) outcome: Result<Judged, Failure>,
    /// The newest good revision before it, when this one is broken or empty and nothing is applied.
    pub(super) fallback: Option<(String, Prepared)>,
    /// Revisions before it whose sync check an earlier daemon left pending, and its title, when
    /// nothing is applied; `None` if that cannot be known now.
    pub(super) left_pending: Option<Vec<(String, String)>>,
    /// What an earlier daemon applied, when nothing is applied because the settings suspend the fleet.
    pub(super) left_applied: Option<AppliedRevision>,
}

impl Examined {
    /// A commit that could not be examined.
    pub(super) fn failed(revision: String, failure: Failure) -> Self {
        Self {
            revision,
            title: String::new(),
            outcome: Err(failure),
            fallback: None,
            left_pending: Some(Vec::new()),
            left_applied: None,
        }
    }
}

/// Reads and compiles `revision`, and compares it with what is applied `before` it. The `first` time also looks back:
/// for checks that an earlier daemon left pending, and, when `revision` is broken, for the newest good one before it.
pub(super) async fn examine(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    revision: String,
    before: Before,
    first: bool,
) -> Examined {
    let (unread, context) = (revision.clone(), sync_context(&source.fleet));
    let before = before.found(&source.set).await;
    let work = move || {
        let earlier = first.then(|| source.earlier_or_begun(&revision));
        (source.examine(revision, before, first), earlier)
    };
    let (mut examined, earlier) = match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => return Examined::failed(unread, Failure::ended(error)),
    };
    if let Some(earlier) = earlier {
        // The revision is not kept waiting: what is not known by then is asked again.
        let left = tokio::time::timeout(ANSWER, left_pending(sink, &earlier, &context));
        examined.left_pending = left.await.ok().flatten();
    }
    examined
}

/// What an earlier process left pending, before and beside `revision`, if it can be known now.
pub(super) async fn left(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    revision: String,
) -> Option<Left> {
    let context = sync_context(&source.fleet);
    let waiting = left_waiting(&source.fleet, sink).await?;
    let work = move || source.earlier_or_begun(&revision);
    let earlier = tokio::task::spawn_blocking(work).await.unwrap_or_default();
    let pending = left_pending(sink, &earlier, &context).await?;
    Some(Left { pending, waiting })
}

impl Source {
    pub(super) fn new(origin: Origin, config: &SyncConfig) -> Self {
        Self {
            origin,
            reference: reference(config),
            verification: config.verify.clone(),
            fleet: config.fleet.clone(),
            mirror: config.mirror.clone(),
            url: config.url.clone(),
            path: config.path.clone(),
            overlays: config.overlays.clone(),
            local_overlays: config.local_overlays.clone(),
            policy: config.policy.clone(),
            unretained: Mutex::default(),
            pinning: Mutex::default(),
            compiling: Mutex::default(),
            planning_fork: Mutex::default(),
            fork_planner: config.fork_planner.clone(),
            fork_limits: config.fork_limits,
            in_progress: Mutex::new(InProgress::open(
                config.mirror.with_extension("planning.json"),
            )),
            set: ApplySet::new(config.fleet.as_str(), config.namespace.as_str()),
            suspend: config.suspend,
            prune: (config.prune, config.max_clusters),
            settle: config.settle,
            base: Mutex::default(),
            unverified: Mutex::default(),
            presses: PressRecord::open(config.mirror.with_extension("approvals.json")),
            late: LateRecord::open(config.mirror.with_extension("late-approvals.json")),
            attribution: Attribution::default(),
            buttons: AtomicBool::new(false),
            granted: Mutex::default(),
        }
    }

    /// Somebody approved a deletion with the button of a check.
    pub(super) fn approve(&self, press: Pressed) {
        self.presses.add(press);
    }

    /// `revision` is going to be applied.
    pub(super) fn take_up(self: &Arc<Self>, revision: &str) {
        self.retain(RetainedRef::Begun, revision);
        self.presses.takes_up(revision);
    }

    /// Brings what is new. What is kept may be let go of by that: it is pinned before.
    pub(super) fn fetch(&self) -> Result<RemoteRefs, Error> {
        self.pin();
        let (fetched, head) = self.origin.fetch(&self.reference)?;
        let signed_anew = self.is_signed_anew(&head);
        let refs = fetched.map(|fetched| {
            let mut refs = fetched.refs;
            refs.extend(fetched.strangers);
            refs
        });
        if let Some(refs) = &refs {
            let points = |name: &str, id: &str| refs.get(name).is_some_and(|it| it == id);
            self.in_progress().retain(points);
        }
        Ok(RemoteRefs {
            refs,
            head,
            signed_anew,
        })
    }

    /// Keeps what later revisions are compared with: in a repository from the next look on, in a directory, which is
    /// written by somebody else, at once. Nothing is waited for.
    pub(super) fn retain(self: &Arc<Self>, retained: RetainedRef, revision: &str) {
        self.unretained().insert(retained, revision.to_owned());
        if self.origin.directory().is_some() {
            let source = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || source.pin()));
        }
    }

    /// Pins what must not be lost.
    fn pin(&self) {
        // The newest comes last.
        let _pinning = self.pinning.lock().unwrap_or_else(PoisonError::into_inner);
        let unretained = std::mem::take(&mut *self.unretained());
        for (retained, revision) in unretained {
            if let Err(error) = self.origin.retain(retained, &revision) {
                tracing::warn!(%error, ?retained, revision, "cannot retain this revision: it may be lost");
            }
        }
    }

    fn unretained(&self) -> MutexGuard<'_, BTreeMap<RetainedRef, String>> {
        self.unretained
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and compiles `revision`. The `first` time also looks back, when `revision` is broken or
    /// empty, for the newest good one before it.
    fn examine(&self, revision: String, before: Before, first: bool) -> Examined {
        let _compiling = self.compiling();
        let applied = before.plans(&self.origin, &revision, |other| self.plan_of(other));
        let outcome = self.judge_trusted(&revision, &applied);
        self.remember_unverified(&revision, outcome.as_ref().err());
        *self.base() = outcome.as_ref().ok().map(|judged| Base {
            name: format!("the {}", self.reference),
            commit: revision.clone(),
            has_objects: !judged.is_empty(),
            findings: judged.findings(),
            holdings: judged.holdings(),
        });
        let good = outcome.as_ref().is_ok_and(Judged::is_good);
        let fallback = if !good && first {
            self.last_good(&revision, &applied)
        } else {
            None
        };
        let title = self.origin.title(&revision);
        let outcome = outcome.map_err(Failure::Git);
        Examined {
            revision,
            title,
            outcome,
            fallback,
            left_pending: Some(Vec::new()),
            left_applied: self.left_applied(first),
        }
    }

    /// What the origin retains as applied, the `first` time, if nothing will be applied.
    fn left_applied(&self, first: bool) -> Option<AppliedRevision> {
        let revision = self.origin.retained(RetainedRef::Applied);
        let revision = revision.filter(|_| first && self.suspend)?;
        let plan = self.plan_of(&revision);
        Some((revision, plan))
    }

    /// The plan of a revision that was applied before; `None` if it is gone, or has errors by now.
    pub(super) fn recall(&self, revision: &str) -> Option<Arc<Plan>> {
        let _compiling = self.compiling();
        self.plan_of(revision)
    }

    fn plan_of(&self, revision: &str) -> Option<Arc<Plan>> {
        match self.judge(revision) {
            Ok(Judged::Sound(prepared)) => Some(prepared.plan),
            Ok(Judged::Broken(_)) | Err(_) => None,
        }
    }

    /// The commits that lead to `revision`, the newest first, without it.
    fn earlier(&self, revision: &str) -> Vec<String> {
        let log = self.origin.log(None, revision, LOOK_BACK);
        let ids = log.unwrap_or_default().into_iter().map(|commit| commit.id);
        ids.filter(|id| id != revision).collect()
    }

    /// The same, and what an earlier process took up last: after a forced push, it does not lead to `revision`.
    fn earlier_or_begun(&self, revision: &str) -> Vec<String> {
        let mut earlier = self.earlier(revision);
        let begun = self.origin.retained(RetainedRef::Begun);
        let begun = begun.filter(|begun| begun != revision && !earlier.contains(begun));
        earlier.extend(begun);
        earlier
    }

    /// The commit that was examined last.
    fn base(&self) -> MutexGuard<'_, Option<Base>> {
        self.base.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records which candidates are being planned.
    pub(super) fn in_progress(&self) -> MutexGuard<'_, InProgress> {
        self.in_progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other compile of the followed ref runs.
    fn compiling(&self) -> MutexGuard<'_, ()> {
        self.compiling
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The same as [`Self::judge`] for a revision that is to be applied: nothing of it is read before its
    /// signature is verified. It is also compared with what is applied.
    fn judge_trusted(&self, revision: &str, applied: &[Arc<Plan>]) -> Result<Judged, Error> {
        self.verify(revision)?;
        let compiled = self.compile(revision)?;
        Ok(Judged::after(applied, compiled, &self.set))
    }

    fn judge(&self, revision: &str) -> Result<Judged, Error> {
        Ok(Judged::new(self.compile(revision)?, &self.set))
    }

    fn compile(&self, revision: &str) -> Result<Compiled, Error> {
        let tree = self.origin.tree(revision, &self.path)?;
        let overlays = self.overlay_trees(revision)?;
        let Some(directory) = self.origin.directory() else {
            return Ok(compile_by(&self.policy, &tree, &overlays));
        };
        let policy = FleetPolicy {
            root: directory.root(revision).unwrap_or_default(),
            ..self.policy.clone()
        };
        Ok(compile_by(&policy, &tree, &overlays))
    }

    fn overlay_trees(&self, revision: &str) -> Result<Vec<Tree>, Error> {
        let inside = self
            .overlays
            .iter()
            .map(|path| self.origin.tree(revision, path));
        inside.chain(self.local_trees()).collect()
    }

    fn local_trees(&self) -> impl Iterator<Item = Result<Tree, Error>> {
        let local = self.local_overlays.iter();
        local.map(|path| directory::read_beside(path, None))
    }

    /// The newest valid revision before `revision` that has objects. It need not have succeeded: what was
    /// on its way into the cluster is not taken back by a restart. After a forced push, what was applied
    /// last comes before what both histories have. If the signature of what was applied last is not accepted,
    /// nothing older is applied in its place.
    fn last_good(&self, revision: &str, plans: &[Arc<Plan>]) -> Option<(String, Prepared)> {
        let applied = self.origin.retained(RetainedRef::Applied);
        let since = applied.as_deref().and_then(|applied| {
            let log = self.origin.log(Some(applied), revision, LOOK_BACK);
            log.ok()
        });
        let since = since.into_iter().flatten().map(|commit| commit.id);
        let mut seen = BTreeSet::from([revision.to_owned()]);
        for id in since.chain(applied.clone()).chain(self.earlier(revision)) {
            if !seen.insert(id.clone()) {
                continue;
            }
            match self.judge_trusted(&id, plans) {
                Ok(Judged::Sound(prepared)) if !prepared.is_empty() => return Some((id, prepared)),
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

/// What to follow, as git names it.
fn reference(config: &SyncConfig) -> Ref {
    let wanted = config.reference.as_ref();
    let of = |name: fn(&crate::api::fleet::GitReference) -> Option<&String>| {
        wanted.and_then(name).cloned()
    };
    let commit = of(|wanted| wanted.commit.as_ref()).map(Ref::Commit);
    let tag = || of(|wanted| wanted.tag.as_ref()).map(Ref::Tag);
    // The settings are checked: what is there is a range.
    let range = || {
        of(|wanted| wanted.semver.as_ref())?
            .parse()
            .ok()
            .map(Ref::Newest)
    };
    let branch = || of(|wanted| wanted.branch.as_ref()).map(Ref::Branch);
    commit
        .or_else(range)
        .or_else(tag)
        .or_else(branch)
        .unwrap_or(Ref::Head)
}
