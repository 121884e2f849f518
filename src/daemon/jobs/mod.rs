//! What takes time: reading revisions, compiling and planning them. Runs on a thread of its own.

mod approving;
mod attribution;
mod before;
mod commands;
pub(super) mod failure;
pub(super) mod fork;
mod forks;
mod in_progress;
mod late_record;
mod left;
mod opening;
mod origin;
mod planning;
mod press;
mod press_record;
mod presses;
mod recreation;
pub(super) mod runner;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::wall_time;
use crate::adapters::git::{self, Error, Ref, RetainedRef, directory};
use crate::api::fleet::FleetPolicy;
use crate::apply::AppliedRevision;
use crate::compile::{Compiled, compile_by};
use crate::follow::{Compilation, EarlierChecks, ExamineResult, Release, RemoteRefs, Settings};
use crate::model::{CheckSink, ForgeKind, Press, Tree};
use crate::plan::approvals::Pressed;
use crate::plan::{ApplySet, Plan};
use crate::reporting::sync_context;
use crate::settings::{ForkLimits, SyncConfig};
use attribution::Attribution;
pub(super) use before::Before;
use failure::Failure;
use in_progress::InProgress;
use late_record::LateRecord;
use left::{left_pending, left_waiting};
pub(super) use opening::startup_refs;
pub(super) use origin::Origin;
use press_record::PressRecord;

/// How many times longer than a fork's the plan of a branch may take.
const OWN_SHARE: u32 = 5;
/// How far back a good revision is looked for when the newest is broken.
const LOOK_BACK: usize = 50;

/// How often a directory is looked at that cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(5);

/// How long a revision waits for what the sink knows of earlier ones.
const ANSWER: Duration = Duration::from_secs(5);

/// What is followed, and by which settings.
pub(super) struct Source {
    pub(super) origin: Origin,
    pub(super) config: SyncConfig,
    /// What the follower knows of the settings.
    pub(super) settings: Settings,
    reference: Ref,
    pub(super) set: ApplySet,
    /// Revisions that must not be lost, and are not pinned yet.
    unretained: Mutex<BTreeMap<RetainedRef, String>>,
    /// Held while they are pinned.
    pinning: Mutex<()>,
    /// Held during a compile of the followed ref, so that only one runs at a time: it takes much memory for a large fleet,
    /// and uses all cores anyway. Candidates do not hold it: the followed ref waits for none.
    compiling: Mutex<()>,
    /// Held while the head of a fork is planned.
    planning_fork: Mutex<()>,
    /// Which candidates are being planned.
    in_progress: Mutex<InProgress>,
    /// The commit that was examined last, and why, if it was refused for its signature.
    unverified: Mutex<Option<(String, Error)>>,
    /// What people approved with the buttons of checks.
    presses: PressRecord,
    /// Commits with approvals that came too late for what is applied.
    late: LateRecord,
    /// How the commits came in whose messages approve something.
    pub(super) attribution: Attribution,
}

/// Reads and compiles `revision`, and compares it with what is applied `before` it. The `first` time also looks back:
/// for checks that an earlier daemon left pending, and, when `revision` is broken, for the newest good one before it.
pub(super) async fn examine(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    revision: String,
    before: Before,
    first: bool,
) -> ExamineResult {
    let (unread, context) = (revision.clone(), sync_context(&source.settings.fleet));
    let work = move || {
        let earlier = first.then(|| source.earlier_or_begun(&revision));
        (source.examine(revision, before, first), earlier)
    };
    let (mut examined, earlier) = match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            let failure = Failure::ended(error);
            return ExamineResult::failed(unread, failure.into());
        }
    };
    if let Some(earlier) = earlier {
        // The revision is not kept waiting: what is not known by then is asked again.
        let left = tokio::time::timeout(ANSWER, left_pending(sink, &earlier, &context));
        examined.left_pending = left.await.ok().flatten();
    }
    examined
}

/// What an earlier process left pending, before and beside `revision`, if it can be known now.
pub(super) async fn earlier_checks(
    source: Arc<Source>,
    sink: &dyn CheckSink,
    revision: String,
) -> Option<EarlierChecks> {
    let fleet = &source.settings.fleet;
    let context = sync_context(fleet);
    let waiting = left_waiting(fleet, sink).await?;
    let work = move || source.earlier_or_begun(&revision);
    let earlier = tokio::task::spawn_blocking(work).await.unwrap_or_default();
    let pending = left_pending(sink, &earlier, &context).await?;
    Some(EarlierChecks { pending, waiting })
}

impl Source {
    /// What the settings say. A `forge` is asked how commits came in; with `hears_presses` its checks may have buttons.
    pub(super) fn new(
        origin: Origin,
        config: SyncConfig,
        forge: Option<Arc<dyn CheckSink>>,
        hears_presses: bool,
    ) -> Self {
        let beside = |name| config.mirror.with_extension(name);
        Self {
            settings: settings(&config, &origin, forge.is_some(), hears_presses),
            reference: reference(&config),
            set: ApplySet::new(config.fleet.as_str(), config.namespace.as_str()),
            unretained: Mutex::default(),
            pinning: Mutex::default(),
            compiling: Mutex::default(),
            planning_fork: Mutex::default(),
            in_progress: Mutex::new(InProgress::open(beside("planning.json"))),
            unverified: Mutex::default(),
            presses: PressRecord::open(beside("approvals.json")),
            late: LateRecord::open(beside("late-approvals.json")),
            attribution: Attribution::new(forge),
            origin,
            config,
        }
    }

    /// The address that deliveries of webhooks name. Of a directory it is not known: all are for it.
    pub(super) fn announced(&self) -> &str {
        match self.origin.directory() {
            Some(_) => "",
            None => &self.config.url,
        }
    }

    /// The longest wait until the next look, if the settings ask for more than that.
    pub(super) fn next_look_within(&self) -> Option<Duration> {
        let directory = self.origin.directory()?;
        (!directory.is_watched()).then_some(UNWATCHED)
    }

    /// Returns true if nobody can approve in the message of a commit.
    pub(super) fn is_without_commits(&self) -> bool {
        let directory = self.origin.directory();
        directory.is_some_and(|directory| !directory.has_commits())
    }

    /// Somebody approved a deletion with the button of a check.
    pub(super) fn approve(&self, press: Press, clusters: Vec<String>, is_applied: bool) {
        self.presses.add(Pressed {
            commit: press.commit,
            clusters: clusters.into_iter().collect(),
            login: press.login,
            at: wall_time(),
            is_applied,
        });
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
    fn examine(&self, revision: String, before: Before, first: bool) -> ExamineResult {
        let _compiling = self.compiling();
        let applied = before.plans(&self.origin, &revision, |other| self.plan_of(other));
        let outcome = self.compile_trusted(&revision, &applied);
        self.remember_unverified(&revision, outcome.as_ref().err());
        let base = outcome.as_ref().ok();
        let is_good = base.is_some_and(|compilation| compilation.good().is_some());
        let base = base.map(|it| it.base(&revision, format!("the {}", self.reference)));
        let fallback = if !is_good && first {
            self.last_good(&revision, &applied)
        } else {
            None
        };
        ExamineResult {
            title: self.origin.title(&revision),
            revision,
            outcome: outcome.map_err(|error| Failure::Git(error).into()),
            base,
            fallback,
            left_pending: Some(Vec::new()),
            left_applied: self.left_applied(first),
        }
    }

    /// What the origin retains as applied, the `first` time, if nothing will be applied.
    fn left_applied(&self, first: bool) -> Option<AppliedRevision> {
        let revision = self.origin.retained(RetainedRef::Applied);
        let revision = revision.filter(|_| first && self.settings.suspend)?;
        let plan = self.plan_of(&revision);
        Some((revision, plan))
    }

    /// The plan of a revision that was applied before; `None` if it is gone, or has errors by now.
    pub(super) fn recall(&self, revision: &str) -> Option<Arc<Plan>> {
        let _compiling = self.compiling();
        self.plan_of(revision)
    }

    fn plan_of(&self, revision: &str) -> Option<Arc<Plan>> {
        let compiled = self.compile(revision).ok()?;
        match Compilation::new(revision, compiled, &self.set) {
            Compilation::Sound(release) => Some(release.plan),
            Compilation::Broken(_) => None,
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

    /// Compiles a revision that is to be applied: nothing of it is read before its signature is verified. It is also
    /// compared with what is applied.
    fn compile_trusted(&self, revision: &str, applied: &[Arc<Plan>]) -> Result<Compilation, Error> {
        self.verify(revision)?;
        let compiled = self.compile(revision)?;
        Ok(Compilation::after(applied, revision, compiled, &self.set))
    }

    fn compile(&self, revision: &str) -> Result<Compiled, Error> {
        let tree = self.origin.tree(revision, &self.config.path)?;
        let overlays = self.overlay_trees(revision)?;
        let Some(directory) = self.origin.directory() else {
            return Ok(compile_by(&self.config.policy, &tree, &overlays));
        };
        let policy = FleetPolicy {
            root: directory.root(revision).unwrap_or_default(),
            ..self.config.policy.clone()
        };
        Ok(compile_by(&policy, &tree, &overlays))
    }

    fn overlay_trees(&self, revision: &str) -> Result<Vec<Tree>, Error> {
        let inside = self
            .config
            .overlays
            .iter()
            .map(|path| self.origin.tree(revision, path));
        inside.chain(self.local_trees()).collect()
    }

    fn local_trees(&self) -> impl Iterator<Item = Result<Tree, Error>> {
        let local = self.config.local_overlays.iter();
        local.map(|path| directory::read_beside(path, None))
    }

    /// The newest valid revision before `revision` that has objects. It need not have succeeded: what was
    /// on its way into the cluster is not taken back by a restart. After a forced push, what was applied
    /// last comes before what both histories have. If the signature of what was applied last is not accepted,
    /// nothing older is applied in its place.
    fn last_good(&self, revision: &str, plans: &[Arc<Plan>]) -> Option<Release> {
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
            match self.compile_trusted(&id, plans) {
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

/// What the follower knows of the settings.
fn settings(
    config: &SyncConfig,
    origin: &Origin,
    has_forge: bool,
    hears_presses: bool,
) -> Settings {
    let ForkLimits { time, memory } = config.fork_limits;
    let (version, milliseconds) = (env!("CARGO_PKG_VERSION"), time.as_millis());
    let forge = config.forge.as_ref();
    let is_on_github = forge.is_some_and(|forge| forge.provider == ForgeKind::GitHub);
    // A directory has no history to find the commits of presses in.
    let has_buttons = hears_presses && is_on_github && origin.repository().is_ok();
    Settings {
        fleet: config.fleet.clone(),
        source: git::shown(&config.url),
        is_directory: config.directory.is_some(),
        interval: config.interval,
        candidates: config.candidates.clone(),
        plan_deadline: time * OWN_SHARE,
        limits: format!("limited {version} {milliseconds} {memory}"),
        shows_queued: has_forge,
        has_buttons,
        suspend: config.suspend,
        prune: config.prune,
        settle: config.settle,
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
