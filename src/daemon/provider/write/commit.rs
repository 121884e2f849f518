//! Clusters as definitions on the followed branch, one file and one commit each.
//!
//! In: requests. Out: commits, pushed only onto the head that they were checked on. Whoever else pushes meanwhile wins, and the request is
//! checked anew. It does not know how a revision is applied.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::{Mutex, watch};

use super::rejection::rejection;
use super::{Order, Writer, repeated, whole, with_file};
use crate::adapters::git::{
    Branch, CommitMessage, Committer, Edit, Edits, NewCommit, Outcome, Signer,
};
use crate::adapters::http::Hints;
use crate::api::fleet::ServiceProvider;
use crate::api::labels::APPROVE;
use crate::compile::compile_by;
use crate::daemon::provider::git::{Branches, Revision};
use crate::daemon::provider::state::Snapshot;
use crate::daemon::spans::spawn_blocking;
use crate::model::{AdapterError, Clock, ErrorClass};
use crate::provider::conflict::Asked;
use crate::provider::definition::{path, text_of};
use crate::provider::instance::{Defined, Stored};
use crate::provider::problem::{Problem, ProblemKind};
use crate::settings::SyncConfig;

/// How often a push is tried.
const ATTEMPTS: u32 = 20;
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_millis(400);
/// The trailer with the ID of the instance.
const INSTANCE: &str = "Capstan-Instance";
/// The trailer with the digest of the `Idempotency-Key`.
const KEY: &str = "Capstan-Request-Key";

/// Writes definitions to the followed branch.
pub(in crate::daemon::provider) struct CommitWriter {
    pub(in crate::daemon::provider) settings: ServiceProvider,
    pub(in crate::daemon::provider) config: Arc<SyncConfig>,
    pub(in crate::daemon::provider) branches: Arc<Branches>,
    pub(in crate::daemon::provider) state: watch::Receiver<Arc<Snapshot>>,
    pub(in crate::daemon::provider) signer: Option<Arc<Signer>>,
    /// The daemon looks at the branch at once.
    pub(in crate::daemon::provider) hints: Arc<Hints>,
    pub(in crate::daemon::provider) clock: Arc<dyn Clock>,
    /// One request is written at a time.
    pub(in crate::daemon::provider) turn: Mutex<()>,
}

/// A change of files, with what the commit says of it.
struct Change {
    edits: Edits,
    message: CommitMessage,
    at: Timestamp,
}

impl CommitWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let _turn = self.turn.lock().await;
        let snapshot = whole(&self.state).await?;
        for attempt in 0..ATTEMPTS {
            let revision = self.newest(attempt).await?;
            let stored = order.stored(&self.settings.namespace);
            if let Some(defined) = revision.index.instances.get(&order.id)
                && defined.stored == stored
            {
                // A push whose answer did not arrive.
                return Ok(stored);
            }
            let asked = Asked {
                chosen: order.chosen.as_deref(),
                key: order.key.as_deref(),
                request: &order.request,
                namespace: &self.settings.namespace,
            };
            if let Some(before) = repeated(
                &snapshot,
                Some(&revision.index),
                &asked,
                self.settings.duplicate_create,
            )? {
                return Ok(before);
            }
            let text = text_of(&order.accepted(), &self.settings);
            let file = path(&order.id, &self.config.path, &self.settings);
            self.check(&revision, &file, &text).await?;
            let subject = format!("Add cluster {}/{}", stored.namespace, stored.name);
            let mut trailers = vec![(INSTANCE.to_owned(), order.id.clone())];
            trailers.extend(order.key.clone().map(|key| (KEY.to_owned(), key)));
            let change = Change {
                edits: [(file, Edit::Write(text.into_bytes()))].into(),
                message: message(subject, trailers),
                at: order.at,
            };
            if self.push(&revision, change).await? {
                return Ok(stored);
            }
            pause(attempt).await;
        }
        Err(contended())
    }

    async fn delete_one(&self, id: &str) -> Result<(), Problem> {
        let _turn = self.turn.lock().await;
        for attempt in 0..ATTEMPTS {
            let revision = self.newest(attempt).await?;
            let Some(defined) = revision.index.instances.get(id) else {
                return self.delete_unwritten(id, attempt);
            };
            let file = path(id, &self.config.path, &self.settings);
            let change = self.removal(defined, &file)?;
            if self.push(&revision, change).await? {
                return Ok(());
            }
            pause(attempt).await;
        }
        Err(contended())
    }

    /// Answers for an instance that no file defines.
    fn delete_unwritten(&self, id: &str, attempt: u32) -> Result<(), Problem> {
        let snapshot = self.state.borrow().clone();
        let hosted = snapshot
            .entry(id)
            .and_then(|entry| entry.instance.hosted.as_ref());
        match hosted {
            // The fleet deletes it, or the push of the attempt before arrived.
            _ if attempt > 0 => Ok(()),
            Some(hosted) if hosted.is_of_fleet() || hosted.is_deleting() => Ok(()),
            Some(_) => {
                let detail = "the cluster is not defined in git: delete it where it was made";
                Err(Problem::exists(detail))
            }
            None => Err(Problem::no_cluster(id)),
        }
    }

    /// The commit that removes a definition, which only the API may have written.
    fn removal(&self, defined: &Defined, file: &str) -> Result<Change, Problem> {
        let stored = &defined.stored;
        let is_ours = stored.request.is_some() && defined.is_alone && *defined.path == *file;
        if !is_ours {
            let detail = format!(
                "the cluster is defined in {}, which was not written by this API alone: remove it there",
                defined.path
            );
            return Err(Problem::exists(detail));
        }
        if self.config.approvals.is_set() {
            let detail = "deletions in this fleet need the approval of a person: remove the definition with a pull request";
            return Err(Problem::new(ProblemKind::PermissionDenied, detail));
        }
        let name = format!("{}/{}", stored.namespace, stored.name);
        let trailers = vec![
            (APPROVE.to_owned(), format!("delete {name}")),
            (INSTANCE.to_owned(), stored.id.clone()),
        ];
        Ok(Change {
            edits: [(file.to_owned(), Edit::Remove)].into(),
            message: message(format!("Remove cluster {name}"), trailers),
            at: self.clock.now(),
        })
    }

    /// The newest revision of the other side.
    async fn newest(&self, attempt: u32) -> Result<Arc<Revision>, Problem> {
        let read = self.branches.refresh(true).await;
        read.map_err(|error| {
            tracing::warn!(%error, attempt, "the service provider cannot fetch the repository");
            Problem::later("the config repository does not answer: try again later", 10)
        })
    }

    /// Checks a definition together with the fleet that it becomes a part of.
    async fn check(&self, revision: &Arc<Revision>, file: &str, text: &str) -> Result<(), Problem> {
        let (revision, config) = (Arc::clone(revision), Arc::clone(&self.config));
        let (file, text) = (file.to_owned(), text.to_owned());
        let checked = spawn_blocking(move || {
            let tree = with_file(&revision.tree, &file, &text);
            let compiled = compile_by(&config.policy, &tree, &revision.overlays);
            rejection(&compiled, &revision.errors)
        });
        match checked.await {
            Ok(None) => Ok(()),
            Ok(Some(problem)) => Err(problem),
            Err(_) => Err(Problem::internal()),
        }
    }

    /// Pushes a change onto a revision; `false` if it may not have arrived, and is to be tried again.
    async fn push(&self, revision: &Revision, change: Change) -> Result<bool, Problem> {
        let (branches, signer) = (Arc::clone(&self.branches), self.signer.clone());
        let head = revision.head.clone();
        let pushed = spawn_blocking(move || {
            let by = Committer {
                name: "Capstan service provider".to_owned(),
                email: "service-provider@capstan.dev".to_owned(),
            };
            let commit = NewCommit {
                edits: &change.edits,
                message: &change.message,
                by: &by,
                at: change.at,
                signer: signer.as_deref(),
            };
            let name = format!("refs/heads/{}", branches.branch);
            Branch::of(&branches.mirror, &name)?.commit(&head, &commit)
        });
        let pushed = pushed.await.map_err(|_| Problem::internal())?;
        match pushed {
            Ok(Outcome::Done(commit)) => {
                tracing::info!(commit, "the service provider pushed a commit");
                let _ = self.branches.refresh(false).await;
                self.hints.leave(None);
                Ok(true)
            }
            Ok(Outcome::Moved) => Ok(false),
            Err(error) => self.unpushed(&AdapterError::new(error.class(), error.to_string())),
        }
    }

    fn unpushed(&self, error: &AdapterError) -> Result<bool, Problem> {
        tracing::warn!(%error, "the service provider cannot push");
        match error.class() {
            ErrorClass::Transient | ErrorClass::Conflict => Ok(false),
            ErrorClass::Bug => Err(Problem::internal()),
            _ => Err(Problem::later(
                "the config repository does not take commits now: try again later",
                60,
            )),
        }
    }
}

impl Writer for CommitWriter {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        self.create_one(order).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id).boxed()
    }
}

fn message(subject: String, trailers: Vec<(String, String)>) -> CommitMessage {
    CommitMessage {
        subject,
        body: "Requested over the service provider's API.".to_owned(),
        trailers,
    }
}

fn contended() -> Problem {
    let detail = "others push to the config repository all the time: try again later";
    Problem::later(detail, 5)
}

/// Waits a little longer after each attempt, and not as long as others do.
async fn pause(attempt: u32) {
    let base = Duration::from_millis(u64::from(attempt) * 20).min(LONGEST / 2);
    let spread = Duration::from_millis(u64::from(std::process::id() % 20));
    tokio::time::sleep(base + spread).await;
}
