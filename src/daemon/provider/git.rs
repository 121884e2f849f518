//! The followed branch, as the provider needs it.
//!
//! In: the mirror that the daemon keeps. Out: what its newest revision defines, and what is wrong with it. It does not know who writes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::pace::{Turn, at};
use crate::adapters::git::{Branch, Error, Mirror, Outcome, Ref, trailers};
use crate::compile::check_by;
use crate::daemon::jobs::{Origin, local_trees};
use crate::daemon::spans::spawn_blocking;
use crate::model::{AdapterError, ErrorClass, Finding, Severity, Tree};
use crate::plan::ApplySet;
use crate::plan::approvals::{self, Verb};
use crate::provider::instance::{Stored, TreeIndex};
use crate::provider::view::Followed;
use crate::settings::SyncConfig;
use crate::yaml;

/// The most commits that are searched for what the provider needs to know.
pub(super) const LOOK_BACK: usize = 200;
/// The beginning of the subject of a commit that adds a cluster, before its name.
pub(super) const ADD: &str = "Add cluster ";
/// The beginning of the subject of a commit that removes one.
pub(super) const REMOVE: &str = "Remove cluster ";
/// The time between two looks at the mirror, which the daemon fetches into.
const LOOK: Duration = Duration::from_secs(1);

/// One revision of the followed branch.
#[derive(Clone, Debug)]
pub(super) struct Revision {
    /// Its commit.
    pub(super) head: String,
    /// Its files below the fleet's path.
    pub(super) tree: Tree,
    /// The overlays that apply to them.
    pub(super) overlays: Vec<Tree>,
    /// The clusters that they define.
    pub(super) index: TreeIndex,
    /// Its errors.
    pub(super) errors: Vec<Finding>,
    /// True if it has no errors, and no objects either: then it is not applied.
    pub(super) is_empty: bool,
    /// Its part in the statuses of instances.
    pub(super) followed: Followed,
}

impl Revision {
    /// Returns true if it has these files.
    fn is_of(&self, tree: &Tree, overlays: &[Tree]) -> bool {
        let are_same = |(one, other): (&Tree, &Tree)| {
            let is_whole = one.problems.is_empty() && other.problems.is_empty();
            is_whole && one.files == other.files
        };
        let overlays = self.overlays.iter().zip(overlays);
        are_same((&self.tree, tree)) && overlays.into_iter().all(are_same)
    }

    /// Returns true if it has the files of another one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_of(&other.tree, &other.overlays)
    }

    /// The same files at another commit, whose history approves these deletions.
    fn at(&self, head: String, approved: BTreeSet<String>) -> Self {
        let followed = Followed {
            approved,
            ..self.followed.clone()
        };
        Self {
            head,
            followed,
            ..self.clone()
        }
    }
}

/// Follows the branch.
pub(super) struct Branches {
    pub(super) mirror: Arc<Mirror>,
    origin: Origin,
    config: Arc<SyncConfig>,
    /// The short name of the branch.
    pub(super) branch: String,
    newest: watch::Sender<Option<Arc<Revision>>>,
    /// Held while a revision is read, so that the newest comes last.
    reading: Mutex<()>,
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
            reading: Mutex::default(),
        })
    }

    /// The newest revision that was read, and every later one.
    pub(super) fn newest(&self) -> watch::Receiver<Option<Arc<Revision>>> {
        self.newest.subscribe()
    }

    /// Follows the branch until the handle is dropped. While another process writes the fleet, nobody else fetches here.
    pub(super) fn follow(self: &Arc<Self>, turn: Turn) -> AbortOnDropHandle<()> {
        let branches = Arc::clone(self);
        let follow = async move {
            let mut reported = None;
            loop {
                let fetches = !turn.is_ours() || branches.newest.borrow().is_none();
                let read = branches.refresh(fetches).await;
                let fault = read.err().map(|error| error.to_string());
                if let Some(error) = fault.as_ref().filter(|_| fault != reported) {
                    tracing::warn!(
                        error,
                        "the service provider cannot read the followed branch"
                    );
                }
                reported = fault;
                let pause = if turn.is_ours() {
                    LOOK
                } else {
                    branches.config.interval
                };
                at(Some(Instant::now() + pause)).await;
            }
        };
        AbortOnDropHandle::new(tokio::spawn(follow.in_current_span()))
    }

    /// Reads the newest revision, after a fetch if that is wanted.
    pub(super) async fn refresh(
        self: &Arc<Self>,
        fetches: bool,
    ) -> Result<Arc<Revision>, AdapterError> {
        let _reading = self.reading.lock().await;
        let revision = self
            .blocking(move |branches| branches.read(fetches))
            .await?;
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

    /// Reads the newest state of all branches from the other side.
    ///
    /// # Errors
    /// Also if some branches that begin so are left out: whoever lists less than all says that the others are gone.
    pub(super) async fn fetch_all(self: &Arc<Self>, beginning: &str) -> Result<(), AdapterError> {
        let fetched = self.blocking(|branches| {
            let followed = Ref::Branch(branches.branch.clone());
            branches.mirror.fetch_followed(&followed)
        });
        let faults = fetched.await?.faults;
        let ours = format!("refs/heads/{beginning}");
        let concerns = |name: &str| name == "refs/heads/*" || name.starts_with(&ours);
        match faults.into_iter().find(|(name, _)| concerns(name)) {
            None => Ok(()),
            Some((name, why)) => {
                let message = format!("{name} cannot be fetched: {why}");
                Err(AdapterError::new(ErrorClass::Transient, message))
            }
        }
    }

    /// The branches whose short names begin so, and their commits, as they were fetched last.
    pub(super) async fn beginning(
        self: &Arc<Self>,
        beginning: String,
    ) -> Result<Vec<(String, String)>, AdapterError> {
        self.blocking(move |branches| branches.mirror.branches(&beginning))
            .await
    }

    /// The instance that a file defines at a fetched commit, if it defines one.
    pub(super) async fn stored(
        self: &Arc<Self>,
        commit: &str,
        file: &str,
    ) -> Result<Option<Stored>, AdapterError> {
        let (commit, file) = (commit.to_owned(), file.to_owned());
        let read = self.blocking(move |branches| {
            let directory = file
                .rsplit_once('/')
                .map_or(".", |(directory, _)| directory);
            let tree = match branches.origin.tree(&commit, directory) {
                Err(Error::NoSuchPath { .. }) => return Ok(None),
                tree => tree?,
            };
            Ok(tree.files.get_key_value(&*file).and_then(|(path, text)| {
                let (documents, _) = yaml::read(path, text);
                Stored::of(&documents.first()?.to_json())
            }))
        });
        read.await
    }

    /// Returns true if a commit is part of a revision.
    ///
    /// # Errors
    /// If it was not fetched.
    pub(super) async fn is_part(
        self: &Arc<Self>,
        commit: &str,
        revision: &Revision,
    ) -> Result<bool, AdapterError> {
        let (commit, head) = (commit.to_owned(), revision.head.clone());
        self.blocking(move |branches| branches.mirror.is_ancestor(&commit, &head))
            .await
    }

    /// Deletes a branch that still leads to this commit; `false` if it leads to another one.
    pub(super) async fn delete(
        self: &Arc<Self>,
        branch: &str,
        commit: &str,
    ) -> Result<bool, AdapterError> {
        let (name, commit) = (format!("refs/heads/{branch}"), commit.to_owned());
        let deleted =
            self.blocking(move |branches| Branch::of(&branches.mirror, &name)?.delete(&commit));
        Ok(deleted.await? == Outcome::Done(()))
    }

    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, AdapterError> {
        let branches = Arc::clone(self);
        let done = spawn_blocking(move || work(&branches)).await;
        let done = done.map_err(|error| AdapterError::new(ErrorClass::Bug, error.to_string()))?;
        done.map_err(|error| AdapterError::new(error.class(), error.to_string()))
    }

    fn read(&self, fetches: bool) -> Result<Arc<Revision>, Error> {
        let reference = Ref::Branch(self.branch.clone());
        let head = if fetches {
            self.origin.fetch(&reference)?.1
        } else {
            self.mirror.resolve(&reference)?
        };
        let known = self.newest.borrow().clone();
        if let Some(known) = known.as_ref().filter(|known| known.head == head) {
            return Ok(Arc::clone(known));
        }
        let approved = self.approved(&head)?;
        let tree = self.origin.tree(&head, &self.config.path)?;
        let inside = self.config.overlays.iter();
        let inside = inside.map(|path| self.origin.tree(&head, path));
        let overlays: Vec<Tree> = inside
            .chain(local_trees(&self.config))
            .collect::<Result<_, _>>()?;
        Ok(Arc::new(match known {
            // Somebody changed other files of the repository.
            Some(known) if known.is_of(&tree, &overlays) => known.at(head, approved),
            known => {
                let before = known.as_ref().map(|known| &known.index);
                let read = self.checked(head.clone(), tree, overlays, before);
                read.at(head, approved)
            }
        }))
    }

    /// The clusters whose deletion the newest commits approve.
    fn approved(&self, head: &str) -> Result<BTreeSet<String>, Error> {
        if self.config.approvals.is_set() && self.config.verify.is_none() {
            // Then no line of a commit counts.
            return Ok(BTreeSet::new());
        }
        let branch = Branch::of(&self.mirror, &self.name())?;
        Ok(approved(&branch.messages(head, LOOK_BACK)?))
    }

    /// The full name of the branch.
    pub(super) fn name(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// A revision with these files, checked; `before` is what an earlier one defined.
    fn checked(
        &self,
        head: String,
        tree: Tree,
        overlays: Vec<Tree>,
        before: Option<&TreeIndex>,
    ) -> Revision {
        let checked = check_by(&self.config.policy, &tree, &overlays);
        let is_empty = !checked.has_errors() && checked.object_count == 0;
        let errors = checked.findings.into_iter();
        let errors: Vec<Finding> = errors
            .filter(|one| one.severity == Severity::Error)
            .collect();
        let set = ApplySet::new(&*self.config.fleet, &*self.config.namespace);
        let followed = Followed {
            set: Some(set.id()),
            finding: errors.first().map(placed),
            needs_person: self.config.approvals.is_set(),
            ..Followed::default()
        };
        Revision {
            index: TreeIndex::after(&tree, before),
            head,
            tree,
            overlays,
            errors,
            is_empty,
            followed,
        }
    }

    /// The revision that a new file would make of this one. It has no commit yet.
    pub(super) fn with_file(&self, revision: &Revision, path: &str, text: &str) -> Revision {
        let text: Arc<[u8]> = text.as_bytes().into();
        self.with(revision, |tree| drop(tree.files.insert(path.into(), text)))
    }

    /// The revision without a file. It has no commit yet.
    pub(super) fn without_file(&self, revision: &Revision, path: &str) -> Revision {
        self.with(revision, |tree| drop(tree.files.remove(path)))
    }

    fn with(&self, revision: &Revision, change: impl FnOnce(&mut Tree)) -> Revision {
        let mut tree = revision.tree.clone();
        change(&mut tree);
        let overlays = revision.overlays.clone();
        let next = self.checked(String::new(), tree, overlays, Some(&revision.index));
        next.at(String::new(), revision.followed.approved.clone())
    }

    /// Takes a revision that was pushed just now as the newest one.
    pub(super) async fn advance(&self, revision: Revision) {
        let _reading = self.reading.lock().await;
        self.newest.send_replace(Some(Arc::new(revision)));
    }
}

/// The clusters whose deletion these messages approve, the newest first. A cluster that came back since needs another approval.
fn approved(messages: &[String]) -> BTreeSet<String> {
    let mut approved = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let given = approvals::given(message, |key| trailers(message, key));
        let names = given.iter().filter_map(|what| match what.loss() {
            Some((Verb::Delete, unit)) => Some(unit.to_string()),
            _ => None,
        });
        let newer = messages.iter().take(index);
        let is_back = |name: &str| newer.clone().any(|message| adds(message, name));
        approved.extend(names.filter(|name| !is_back(name)));
    }
    approved
}

/// Returns true if a message says that it adds a cluster. Forges put other words around the subject of a commit.
fn adds(message: &str, name: &str) -> bool {
    let said = format!("{ADD}{name}");
    message.match_indices(&said).any(|(at, _)| {
        let rest = message.get(at + said.len()..).unwrap_or_default();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !rest.starts_with(is_name)
    })
}

/// A finding with its place, on one line.
fn placed(finding: &Finding) -> String {
    let at = finding.span.as_ref().map(|span| format!(" at {span}"));
    format!("{}{}", finding.headline(), at.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_for_the_cluster_that_was_there_then() {
        let of = |messages: &[&str]| {
            let messages = messages.iter().map(|one| (*one).to_owned());
            approved(&messages.collect::<Vec<_>>())
        };
        let (add, remove) = (
            "Add cluster clusters/dev\n\nRequested.\n",
            "Remove it\n\nCapstan-Approve: delete clusters/dev\n",
        );
        let dev = BTreeSet::from(["clusters/dev".to_owned()]);
        assert_eq!(of(&[remove, add]), dev);
        assert_eq!(of(&[add, remove]), BTreeSet::new());
        assert_eq!(of(&[remove, add, remove, add]), dev);
        for merge in [
            "Add cluster clusters/dev (#12)",
            "Merge pull request 'Add cluster clusters/dev' (#12) from x into main",
        ] {
            assert_eq!(of(&[merge, remove]), BTreeSet::new(), "{merge}");
        }
        assert_eq!(of(&["Add cluster clusters/dev-2", remove]), dev);
        for other in [
            "Say\n\nCapstan-Approve: release a/b\n",
            "Say\n\n> Capstan-Approve: delete a/b\n",
            "Say\n\nCapstan-Approve: delete b\n",
        ] {
            assert_eq!(of(&[other]), BTreeSet::new(), "{other}");
        }
    }
}
