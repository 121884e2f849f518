//! What is followed, in its parts.
//!
//! In: settings, and where revisions come from. Out: the parts that jobs use. Each has its own locks.

use std::sync::Arc;

use super::approvals::ApprovalSources;
use super::compiler::Compiler;
use super::origin::Origin;
use super::planner::Planner;
use super::revisions::Revisions;
use crate::adapters::git::{self, Error, RetainedRef};
use crate::daemon::ForgePorts;
use crate::follow::{RemoteRefs, Settings};
use crate::model::ForgeKind;
use crate::plan::ApplySet;
use crate::reporting::report::{ApprovalWays, Trailers};
use crate::settings::{ForkLimits, SyncConfig};

/// How many times longer than a fork's the plan of a branch may take.
const OWN_SHARE: u32 = 5;

/// What is followed, and by which settings.
pub(in crate::daemon) struct Source {
    pub(in crate::daemon) config: Arc<SyncConfig>,
    /// What the follower knows of the settings.
    pub(in crate::daemon) settings: Arc<Settings>,
    pub(in crate::daemon) set: ApplySet,
    pub(in crate::daemon) revisions: Arc<Revisions>,
    pub(in crate::daemon) compiler: Arc<Compiler>,
    pub(in crate::daemon) approvals: ApprovalSources,
    pub(in crate::daemon) planner: Planner,
}

impl Source {
    /// What the settings say. The forge of `ports` is asked how commits came in; with `hears_presses` its checks may have
    /// buttons.
    pub(in crate::daemon) fn new(
        origin: Origin,
        config: Arc<SyncConfig>,
        ports: &ForgePorts,
        hears_presses: bool,
    ) -> Self {
        let settings = Arc::new(settings(&config, &origin, ports, hears_presses));
        let forge = ports.pull_requests.clone();
        let set = ApplySet::new(config.fleet.as_str(), config.namespace.as_str());
        let revisions = Arc::new(Revisions::new(origin, &config));
        let compiler = Compiler::new(Arc::clone(&config), set.clone(), Arc::clone(&revisions));
        let compiler = Arc::new(compiler);
        Self {
            approvals: ApprovalSources::open(&config, Arc::clone(&revisions), forge),
            planner: Planner::open(&config, &settings, set.clone(), &compiler, &revisions),
            compiler,
            config,
            settings,
            set,
            revisions,
        }
    }

    /// Brings what is new.
    pub(in crate::daemon) fn fetch(&self) -> Result<RemoteRefs, Error> {
        let fetched = self.revisions.fetch()?;
        if let Some(refs) = &fetched.refs {
            self.planner.forget_moved(refs);
        }
        Ok(fetched)
    }

    /// `revision` is going to be applied.
    pub(in crate::daemon) fn take_up(&self, revision: &str) {
        self.revisions.retain(RetainedRef::Begun, revision);
        self.approvals.take_up(revision);
    }
}

/// What the follower knows of the settings.
fn settings(
    config: &SyncConfig,
    origin: &Origin,
    ports: &ForgePorts,
    hears_presses: bool,
) -> Settings {
    let ForkLimits { time, memory } = config.fork_limits;
    let (version, milliseconds) = (env!("CARGO_PKG_VERSION"), time.as_millis());
    let forge = config.forge.as_ref();
    let is_on_github = forge.is_some_and(|forge| forge.provider == ForgeKind::GitHub);
    // A directory has no history to find the commits of approvals in.
    let has_commits = origin.repository().is_ok();
    let ways = ApprovalWays {
        button: hears_presses && is_on_github && has_commits,
        comment: ports.comments.is_some() && has_commits,
        trailers: Trailers::for_fleet(config.verify.is_some(), config.approvals.is_set()),
    };
    Settings {
        fleet: config.checks_name(),
        source: git::shown(&config.url),
        is_directory: config.directory.is_some(),
        interval: config.interval,
        candidates: config.candidates.clone(),
        plan_deadline: time * OWN_SHARE,
        limits: format!("limited {version} {milliseconds} {memory}"),
        shows_queued: ports.pull_requests.is_some(),
        ways,
        is_check_only: config.is_check_only(),
        suspend: config.suspend,
        prune: config.prune,
        settle: config.settle,
    }
}
