//! Proposals on branches of their own, and their pull requests.
//!
//! In: the branches of the mirror, and a forge. Out: what waits for people, as it changes. A branch whose pull request is missing gets one; a
//! branch that nobody needs any longer is deleted. It does not know who asked for a proposal.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::api::fleet::ServiceProvider;
use crate::daemon::provider::git::{ADD, Branches, REMOVE, Revision};
use crate::daemon::provider::pace::{Turn, at};
use crate::model::{AdapterError, ErrorClass, NewPullRequest, OwnPullRequest, OwnPullRequests};
use crate::provider::definition::path;
use crate::provider::instance::{Proposals, Stored};
use crate::provider::proposal::{MOST, Review, Step, Topic, beginning, step};
use crate::settings::SyncConfig;

/// The time between two looks at the forge.
const LOOK: Duration = Duration::from_secs(15);
/// The pause before branches that could not be read are read again.
const RETRY: Duration = Duration::from_secs(2);
/// The most pull requests that are asked for in one look.
const AT_ONCE: usize = 20;
/// The same in the first one, before which nobody knows what was refused.
const AT_FIRST: usize = 100;
/// After so many failures in one look, the forge is left alone until the next.
const MOST_FAULTS: usize = 3;

/// Follows the proposals of a provider.
pub(super) struct Reviews {
    pub(super) branches: Arc<Branches>,
    pub(super) pulls: Arc<dyn OwnPullRequests>,
    pub(super) settings: ServiceProvider,
    pub(super) config: Arc<SyncConfig>,
    pub(super) turn: Turn,
    /// Says that a branch was pushed or deleted.
    pub(super) pushed: Arc<Notify>,
}

/// A branch with a proposal.
#[derive(Clone, Debug)]
struct Proposal {
    topic: Topic,
    /// The ID of the instance.
    id: String,
    commit: String,
    /// The instance that a new definition defines.
    stored: Option<Stored>,
    /// `None` once nobody needs the branch.
    review: Option<Review>,
    /// The time of the last question to the forge.
    asked: Option<Instant>,
}

/// Proposals by the short names of their branches.
type Known = BTreeMap<String, Proposal>;

impl Reviews {
    /// Follows them until the handle is dropped; `None` until all were read once.
    pub(super) fn follow(self) -> (watch::Receiver<Option<Proposals>>, AbortOnDropHandle<()>) {
        let (sender, receiver) = watch::channel(None);
        let follow = async move {
            let mut reported = None;
            let mut known = Known::new();
            loop {
                let looked = self.look(&mut known, &sender).await;
                let pause = if sender.borrow().is_some() {
                    LOOK
                } else {
                    RETRY
                };
                let error = looked.err().map(|error| error.to_string());
                if let Some(error) = error.as_ref().filter(|_| error != reported) {
                    tracing::warn!(
                        error,
                        "the service provider cannot follow its pull requests"
                    );
                }
                reported = error;
                tokio::select! {
                    biased;
                    () = at(Some(Instant::now() + pause)) => {}
                    () = self.pushed.notified() => {}
                }
            }
        };
        let following = tokio::spawn(follow.in_current_span());
        (receiver, AbortOnDropHandle::new(following))
    }

    /// Looks at the branches, then at their pull requests; a new branch is published before the forge is asked.
    async fn look(
        &self,
        known: &mut Known,
        sender: &watch::Sender<Option<Proposals>>,
    ) -> Result<(), AdapterError> {
        let is_first = sender.borrow().is_none();
        let beginning = beginning(&self.config.checks_name());
        if is_first {
            self.branches.fetch_all(&beginning).await?;
        }
        let mut listed = self.listed(known).await?;
        if known.keys().any(|branch| !listed.contains_key(branch)) {
            // While the mirror is being rebuilt, it lists no branches.
            self.branches.fetch_all(&beginning).await?;
            listed = self.listed(known).await?;
        }
        *known = listed;
        // Read after the branches: what was merged and deleted at the forge is in it.
        let revision = self.branches.refresh(false).await?;
        if !is_first {
            publish(sender, known);
        }
        let most = if is_first { AT_FIRST } else { AT_ONCE };
        let asked = self.ask(known, &revision, most).await;
        publish(sender, known);
        asked
    }

    /// The branches as they are now, with what is known of them.
    async fn listed(&self, known: &Known) -> Result<Known, AdapterError> {
        let fleet = self.config.checks_name();
        let found = self.branches.beginning(beginning(&fleet)).await?;
        let mut listed = Known::new();
        let found = found.iter().filter_map(|(branch, commit)| {
            let (topic, id) = Topic::of(branch, &fleet)?;
            Some((branch.clone(), commit.clone(), topic, id))
        });
        for (branch, commit, topic, id) in found.take(MOST) {
            if let Some(same) = known.get(&branch).filter(|known| known.commit == commit) {
                listed.insert(branch, same.clone());
                continue;
            }
            let stored = match topic {
                Topic::Add => {
                    let file = path(id, &self.config.path, &self.settings);
                    let stored = match self.branches.stored(&commit, &file).await {
                        Ok(stored) => stored.filter(|stored| stored.id == id),
                        Err(error) if error.class() == ErrorClass::Transient => return Err(error),
                        // Whoever pushed it keeps nobody else's definition from being read.
                        Err(error) => {
                            tracing::warn!(%error, branch, "a definition that waits for its merge cannot be read");
                            None
                        }
                    };
                    // One that somebody broke in the review is as it was.
                    let before = || known.get(&branch)?.stored.clone();
                    let Some(stored) = stored.or_else(before) else {
                        continue;
                    };
                    Some(stored)
                }
                Topic::Remove => None,
            };
            let proposal = Proposal {
                topic,
                id: id.to_owned(),
                commit,
                stored,
                review: Some(Review::Unopened),
                asked: None,
            };
            listed.insert(branch, proposal);
        }
        Ok(listed)
    }

    /// Asks for the pull requests of at most so many branches: first those that were never asked for, then those whose last answer is the
    /// oldest.
    async fn ask(
        &self,
        known: &mut Known,
        revision: &Revision,
        most: usize,
    ) -> Result<(), AdapterError> {
        let mut due: Vec<(Option<Instant>, String)> = known
            .iter()
            .map(|(branch, proposal)| (proposal.asked, branch.clone()))
            .collect();
        due.sort();
        let mut faults = Vec::new();
        for (_, branch) in due.into_iter().take(most) {
            let Some(proposal) = known.get_mut(&branch) else {
                continue;
            };
            // Also if it fails, so that one branch keeps none of the others from its turn.
            proposal.asked = Some(Instant::now());
            match self.review(&branch, proposal, revision).await {
                Ok(review) => proposal.review = review,
                Err(fault) => faults.push(fault),
            }
            if faults.len() == MOST_FAULTS {
                break;
            }
        }
        faults.into_iter().next().map_or(Ok(()), Err)
    }

    /// Asks the forge about a proposal; `None` if nobody needs its branch any longer.
    async fn review(
        &self,
        branch: &str,
        proposal: &Proposal,
        revision: &Revision,
    ) -> Result<Option<Review>, AdapterError> {
        let file = path(&proposal.id, &self.config.path, &self.settings);
        let is_defined = revision.tree.files.contains_key(&*file);
        match proposal.topic {
            // It was merged, at the forge or by hand.
            Topic::Add if revision.index.instances.contains_key(&proposal.id) => {
                return Ok(self.finish(branch, proposal).await);
            }
            // It was removed, with this pull request or without, or it is of another fleet of this name.
            Topic::Remove if !is_defined => return Ok(None),
            Topic::Add | Topic::Remove => {}
        }
        let base = &self.branches.branch;
        let found = self.pulls.find(branch, base).await?;
        let merge = found.as_ref().and_then(OwnPullRequest::merge);
        let is_followed = match merge {
            Some(merge) => {
                let is_part = self.branches.is_part(merge, revision).await;
                is_part.unwrap_or_default()
            }
            None => false,
        };
        match step(proposal.topic, found.as_ref(), is_followed) {
            Step::Wait(review) => Ok(Some(review)),
            Step::Finish => Ok(self.finish(branch, proposal).await),
            Step::Open if !self.turn.is_ours() => Ok(Some(Review::Unopened)),
            Step::Open => {
                let new = self.new_pull_request(branch, proposal, revision);
                let opened = self.pulls.open(&new).await?;
                tracing::info!(
                    url = opened.url,
                    "the service provider opened a pull request"
                );
                Ok(Some(Review::Open(opened.url)))
            }
        }
    }

    /// Deletes a branch that nobody needs any longer.
    async fn finish(&self, branch: &str, proposal: &Proposal) -> Option<Review> {
        if self.turn.is_ours() {
            let deleted = self.branches.delete(branch, &proposal.commit).await;
            if let Err(error) = deleted {
                tracing::warn!(%error, branch, "a branch that nobody needs any longer cannot be deleted");
            }
        }
        None
    }

    /// The pull request of a branch. Only the ID in it was checked: the definition may be anybody's by now.
    fn new_pull_request(
        &self,
        branch: &str,
        proposal: &Proposal,
        revision: &Revision,
    ) -> NewPullRequest {
        let id = &proposal.id;
        let defined = revision.index.instances.get(id).map(|one| &one.stored);
        let name = |stored: Option<&Stored>| {
            stored.map_or_else(
                || id.clone(),
                |stored| format!("{}/{}", stored.namespace, stored.name),
            )
        };
        let (title, body) = match proposal.topic {
            Topic::Add => (
                format!("{ADD}{}", name(proposal.stored.as_ref())),
                format!(
                    "The service provider's API was asked for the instance `{id}`.\n\nMerging this pull request creates its cluster. Closing it refuses the request."
                ),
            ),
            Topic::Remove => {
                let name = name(defined);
                let comment = format!("comment `/capstan approve delete {name}`");
                let how = if self.config.approvals.is_set() {
                    comment
                } else {
                    format!(
                        "keep the last lines of the commit's message in the message of the merge, or {comment} after it"
                    )
                };
                (
                    format!("{REMOVE}{name}"),
                    format!(
                        "The service provider's API was asked to delete the instance `{id}`.\n\nMerging this pull request deletes its cluster for good, once the deletion is approved: {how}. Closing the pull request keeps the cluster."
                    ),
                )
            }
        };
        NewPullRequest {
            head: branch.to_owned(),
            base: self.branches.branch.clone(),
            title,
            body,
        }
    }
}

/// Shows what waits. Of two definitions of one instance, the one that may be merged counts.
fn publish(sender: &watch::Sender<Option<Proposals>>, known: &Known) {
    let mut proposals = Proposals::default();
    for proposal in known.values() {
        let (id, review) = (proposal.id.clone(), proposal.review.clone());
        match (&proposal.stored, review) {
            (Some(stored), Some(review)) => {
                let is_closed = matches!(review, Review::Closed(_));
                if !(is_closed && proposals.additions.contains_key(&id)) {
                    proposals.additions.insert(id, (stored.clone(), review));
                }
            }
            (None, Some(review)) => {
                proposals.removals.insert(id, review);
            }
            (_, None) => {}
        }
    }
    sender.send_if_modified(|before| {
        let is_new = before.as_ref() != Some(&proposals);
        *before = Some(proposals);
        is_new
    });
}
