//! The followed branch, as the provider needs it.
//!
//! In: the mirror that the daemon keeps. Out: what its newest revision defines, and what is wrong with it. It does not know who writes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::adapters::git::{Error, Mirror, Ref};
use crate::adapters::kubernetes::Holder;
use crate::compile::compile_by;
use crate::daemon::jobs::{Origin, local_trees};
use crate::daemon::spans::spawn_blocking;
use crate::model::{AdapterError, ErrorClass, Finding, Severity, Tree};
use crate::provider::instance::TreeIndex;
use crate::provider::view::Refusal;
use crate::settings::SyncConfig;

/// How often the mirror is looked at, which the daemon fetches into.
const LOOK: Duration = Duration::from_secs(1);

/// One revision of the followed branch.
#[derive(Debug)]
pub(super) struct Revision {
    /// Its commit.
    pub(super) head: String,
    /// Its files below the fleet's path.
    pub(super) tree: Tree,
    /// The overlays that apply to them.
    pub(super) overlays: Vec<Tree>,
    /// The clusters that they define.
    pub(super) index: TreeIndex,
    /// Its errors, each as a line.
    pub(super) errors: BTreeSet<String>,
    /// Why it is not applied, if so.
    pub(super) refusal: Refusal,
}

/// Follows the branch.
pub(super) struct Branches {
    pub(super) mirror: Arc<Mirror>,
    origin: Origin,
    config: Arc<SyncConfig>,
    /// The short name of the branch.
    pub(super) branch: String,
    newest: watch::Sender<Option<Arc<Revision>>>,
}

impl Branches {
    /// The followed branch, by its short name.
    ///
    /// # Errors
    /// If what is followed is no repository.
    pub(super) fn of(
        origin: &Origin,
        config: &Arc<SyncConfig>,
        branch: &str,
    ) -> Result<Self, Error> {
        Ok(Self {
            mirror: Arc::clone(origin.repository()?),
            origin: origin.clone(),
            config: Arc::clone(config),
            branch: branch.to_owned(),
            newest: watch::Sender::new(None),
        })
    }

    /// The newest revision that was read, and every later one.
    pub(super) fn newest(&self) -> watch::Receiver<Option<Arc<Revision>>> {
        self.newest.subscribe()
    }

    /// Follows the branch until the handle is dropped. While another process writes the fleet, nobody else fetches here.
    pub(super) fn follow(
        self: &Arc<Self>,
        holder: Option<watch::Receiver<Holder>>,
    ) -> AbortOnDropHandle<()> {
        let branches = Arc::clone(self);
        let follow = async move {
            let mut reported = None;
            loop {
                let is_ours = holder
                    .as_ref()
                    .is_none_or(|holder| *holder.borrow() == Holder::Us);
                let is_first = branches.newest.borrow().is_none();
                let read = branches.refresh(!is_ours || is_first).await;
                let fault = read.err().map(|error| error.to_string());
                if let Some(error) = fault.as_ref().filter(|_| fault != reported) {
                    tracing::warn!(
                        error,
                        "the service provider cannot read the followed branch"
                    );
                }
                reported = fault;
                let pause = if is_ours {
                    LOOK
                } else {
                    branches.config.interval
                };
                tokio::time::sleep(pause).await;
            }
        };
        AbortOnDropHandle::new(tokio::spawn(follow.in_current_span()))
    }

    /// Reads the newest revision, after a fetch if that is wanted.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        fetches: bool,
    ) -> Result<Arc<Revision>, AdapterError> {
        let branches = Arc::clone(self);
        let read = spawn_blocking(move || branches.read(fetches)).await;
        let read = read.map_err(|error| AdapterError::new(ErrorClass::Bug, error.to_string()))?;
        let revision = read.map_err(|error| AdapterError::new(error.class(), error.to_string()))?;
        self.newest.send_if_modified(|newest| {
            let is_new = newest
                .as_ref()
                .is_none_or(|before| before.head != revision.head);
            if is_new {
                *newest = Some(Arc::clone(&revision));
            }
            is_new
        });
        Ok(revision)
    }

    fn read(&self, fetches: bool) -> Result<Arc<Revision>, Error> {
        let reference = Ref::Branch(self.branch.clone());
        let head = if fetches {
            self.origin.fetch(&reference)?.1
        } else {
            self.mirror.resolve(&reference)?
        };
        let known = self.newest.borrow().clone();
        if let Some(known) = known.filter(|known| known.head == head) {
            return Ok(known);
        }
        let tree = self.origin.tree(&head, &self.config.path)?;
        let inside = self.config.overlays.iter();
        let inside = inside.map(|path| self.origin.tree(&head, path));
        let overlays: Vec<Tree> = inside
            .chain(local_trees(&self.config))
            .collect::<Result<_, _>>()?;
        let compiled = compile_by(&self.config.policy, &tree, &overlays);
        let errors: Vec<&Finding> = compiled
            .findings
            .iter()
            .filter(|one| one.severity == Severity::Error)
            .collect();
        let refusal = Refusal {
            finding: errors.first().map(|finding| placed(finding)),
        };
        Ok(Arc::new(Revision {
            index: TreeIndex::of(&tree),
            errors: errors.iter().map(ToString::to_string).collect(),
            head,
            tree,
            overlays,
            refusal,
        }))
    }
}

/// A finding with its place, on one line.
fn placed(finding: &Finding) -> String {
    let at = finding.span.as_ref().map(|span| format!(" at {span}"));
    format!("{}{}", finding.headline(), at.unwrap_or_default())
}
