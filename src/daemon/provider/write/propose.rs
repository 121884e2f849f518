//! Clusters as definitions on branches of their own, each with a pull request onto the followed branch.
//!
//! In: requests. Out: branches, each with one commit on top of the head that it was checked on. A request is durable once its branch is pushed;
//! whoever follows the branches opens the pull request. It does not know who merges it.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::sync::Notify;

use super::definitions::{ATTEMPTS, Definitions, Unwritten, contended};
use super::fault::{REPOSITORY, fault, of_forge};
use super::order::{Order, Writer, whole};
use crate::adapters::service_provider::Caller;
use crate::daemon::provider::git::Revision;
use crate::daemon::provider::state::Snapshot;
use crate::model::{AdapterError, OwnPullRequest, OwnPullRequests, PullRequestState, hex};
use crate::provider::instance::{Hosted, Stored};
use crate::provider::problem::Problem;
use crate::provider::proposal::{MARK, MOST, Topic, beginning};
use crate::provider::view::unapproved;

/// Proposes definitions to the followed branch.
pub(in crate::daemon::provider) struct ProposalWriter {
    pub(in crate::daemon::provider) definitions: Definitions,
    pub(in crate::daemon::provider) pulls: Arc<dyn OwnPullRequests>,
    /// Tells whoever follows the branches.
    pub(in crate::daemon::provider) pushed: Arc<Notify>,
}

impl ProposalWriter {
    async fn create_one(&self, order: &Order) -> Result<Stored, Problem> {
        let definitions = &self.definitions;
        let mut written = definitions
            .queue
            .turn(&order.caller, &definitions.state)
            .await?;
        let snapshot = whole(&definitions.state).await?;
        self.know_all(&snapshot, &written).await?;
        let stored = order.stored(&definitions.settings.namespace);
        let branch = self.branch(Topic::Add, &order.id)?;
        for attempt in 0..ATTEMPTS {
            let revision = definitions.newest(attempt).await?;
            if attempt > 0 && self.is_proposed(&branch, order).await? {
                // A push whose answer did not arrive.
                self.pushed.notify_one();
                written.push(stored.clone());
                return Ok(stored);
            }
            if let Some(before) = definitions.before(order, &snapshot, &revision, &written)? {
                return Ok(before);
            }
            definitions.check_new(&revision, order).await?;
            let checked = definitions.check(&revision, order).await;
            let checked = definitions.settled(attempt, &revision, checked).await?;
            if checked.is_none() {
                continue;
            }
            let change = definitions.addition(order);
            let proposed = definitions.pusher.propose(&revision, change, &branch);
            if proposed.await?.is_some() {
                self.pushed.notify_one();
                written.push(stored.clone());
                return Ok(stored);
            }
        }
        Err(contended())
    }

    /// Refuses to write as long as another process may have proposed what nobody looked at here: it may be this very request.
    async fn know_all(&self, snapshot: &Snapshot, written: &[Stored]) -> Result<(), Problem> {
        let fleet = self.definitions.config.checks_name();
        let beginning = beginning(&fleet);
        let branches = &self.definitions.pusher.branches;
        let fetched = branches.fetch_all(&beginning).await;
        fetched.map_err(|error| unread(&error))?;
        let found = branches.beginning(beginning).await;
        let found = found.map_err(|error| unread(&error))?;
        if found.len() >= MOST {
            let detail = "too many definitions wait for their merge: merge or delete some";
            return Err(Problem::later(detail, 60));
        }
        for (branch, commit) in &found {
            let Some((Topic::Add, id)) = Topic::of(branch, &fleet) else {
                continue;
            };
            let is_known =
                snapshot.entry(id).is_some() || written.iter().any(|stored| stored.id == id);
            if is_known {
                continue;
            }
            let stored = branches.stored(commit, &self.definitions.file(id)).await;
            if stored.is_ok_and(|stored| stored.is_some_and(|stored| stored.id == id)) {
                self.pushed.notify_one();
                let detail = "the provider does not know all definitions that wait for their merge yet: try again later";
                return Err(Problem::later(detail, 5));
            }
        }
        Ok(())
    }

    /// Returns true if a request is on its branch already.
    ///
    /// # Errors
    /// 409 if its ID is on another one.
    async fn is_proposed(&self, branch: &str, order: &Order) -> Result<bool, Problem> {
        let found = self.proposed(Topic::Add, &order.id).await?;
        match found {
            None => Ok(false),
            Some((name, _)) if name == branch => Ok(true),
            Some(_) => Err(Problem::exists("cluster with this ID already exists")),
        }
    }

    async fn delete_one(&self, id: &str, caller: &Caller) -> Result<(), Problem> {
        let definitions = &self.definitions;
        let mut written = definitions.queue.turn(caller, &definitions.state).await?;
        written.retain(|stored| stored.id != id);
        let snapshot = whole(&definitions.state).await?;
        let entry = snapshot.entry(id).map(|entry| &entry.instance);
        let hosted = entry.and_then(|instance| instance.hosted.as_ref());
        let mut is_withdrawn = false;
        for attempt in 0..ATTEMPTS {
            let revision = definitions.newest(attempt).await?;
            if let Some(defined) = revision.index.instances.get(id) {
                if self.awaits_removal(id).await? {
                    return Ok(());
                }
                let branch = self.branch(Topic::Remove, id)?;
                let removal = definitions.checked_removal(&revision, defined, hosted, || Ok(()));
                let removal = definitions
                    .settled(attempt, &revision, removal.await)
                    .await?;
                let Some(change) = removal else { continue };
                let proposed = definitions.pusher.propose(&revision, change, &branch);
                if proposed.await?.is_some() {
                    self.pushed.notify_one();
                    return Ok(());
                }
                continue;
            }
            if let Some((branch, commit)) = self.proposed(Topic::Add, id).await? {
                match self.refuse(&branch).await? {
                    None => is_withdrawn = true,
                    Some(merge) if self.defines(&merge, id).await? => continue,
                    // Somebody took the merge back, or the file away.
                    Some(_) => {}
                }
                self.delete_branch(&branch, &commit).await?;
                continue;
            }
            if is_withdrawn {
                return Ok(());
            }
            // What is known may be old.
            match attempt {
                0 => {}
                1 if entry.is_none() => return Err(Problem::no_cluster(id)),
                _ => return self.delete_unwritten(hosted, &revision).await,
            }
        }
        Err(contended())
    }

    /// Returns true if the removal of an instance waits already. One that was refused does not.
    async fn awaits_removal(&self, id: &str) -> Result<bool, Problem> {
        let Some((branch, commit)) = self.proposed(Topic::Remove, id).await? else {
            return Ok(false);
        };
        let found = self.found(&branch).await?;
        let awaits = match found.map(|found| found.state) {
            None | Some(PullRequestState::Open) => true,
            Some(PullRequestState::Closed) => false,
            // Unless somebody took the merge back.
            Some(PullRequestState::Merged { commit }) => !self.defines(&commit, id).await?,
        };
        if awaits {
            return Ok(true);
        }
        self.delete_branch(&branch, &commit).await.map(|()| false)
    }

    /// Closes the pull request of a definition. If it was merged, returns the commit of the merge.
    async fn refuse(&self, branch: &str) -> Result<Option<String>, Problem> {
        let Some(mut found) = self.found(branch).await? else {
            return Ok(None);
        };
        if found.state == PullRequestState::Open {
            found = of_forge(self.pulls.close(found.number)).await?;
        }
        Ok(found.merge().map(str::to_owned))
    }

    /// Fetches what the followed branch became with a merge, and returns true if it defines an instance now.
    async fn defines(&self, merge: &str, id: &str) -> Result<bool, Problem> {
        let branches = &self.definitions.pusher.branches;
        let fetched = branches.refresh(true).await;
        let revision = fetched.map_err(|error| unread(&error))?;
        // Known, unless the repository lags behind its forge; somebody may have taken it back.
        let known = branches.is_part(merge, &revision).await;
        known.map_err(|error| unread(&error))?;
        Ok(revision.index.instances.contains_key(id))
    }

    async fn delete_unwritten(
        &self,
        hosted: Option<&Hosted>,
        revision: &Revision,
    ) -> Result<(), Problem> {
        match self.definitions.delete_unwritten(hosted, revision).await? {
            Unwritten::Nothing => Ok(()),
            Unwritten::Approval(name) => {
                let mode = self.definitions.settings.write_mode;
                let needs_person = revision.followed.needs_person;
                Err(Problem::exists(unapproved(&name, mode, needs_person)))
            }
        }
    }

    /// The name of a new branch.
    fn branch(&self, topic: Topic, id: &str) -> Result<String, Problem> {
        let mut mark = [0; MARK / 2];
        SystemRandom::new()
            .fill(&mut mark)
            .map_err(|_| Problem::internal())?;
        Ok(topic.branch(&self.definitions.config.checks_name(), id, &hex(&mark)))
    }

    /// The branch that proposes this for an instance, and its commit, as far as it was fetched.
    async fn proposed(&self, topic: Topic, id: &str) -> Result<Option<(String, String)>, Problem> {
        let fleet = self.definitions.config.checks_name();
        let branches = &self.definitions.pusher.branches;
        let found = branches.beginning(beginning(&fleet)).await;
        let found = found.map_err(|error| unread(&error))?;
        let mut found = found.into_iter();
        Ok(found.find(|(branch, _)| Topic::of(branch, &fleet) == Some((topic, id))))
    }

    /// The pull request of a branch.
    async fn found(&self, branch: &str) -> Result<Option<OwnPullRequest>, Problem> {
        let base = &self.definitions.pusher.branches.branch;
        of_forge(self.pulls.find(branch, base)).await
    }

    async fn delete_branch(&self, branch: &str, commit: &str) -> Result<(), Problem> {
        let deleted = self
            .definitions
            .pusher
            .branches
            .delete(branch, commit)
            .await;
        self.pushed.notify_one();
        match deleted {
            Ok(true) => Ok(()),
            Ok(false) => {
                let detail = format!("somebody pushed to {branch}: send the request again");
                Err(Problem::later(detail, 5))
            }
            Err(error) => Err(unread(&error)),
        }
    }
}

impl Writer for ProposalWriter {
    fn create<'a>(&'a self, order: &'a Order) -> BoxFuture<'a, Result<Stored, Problem>> {
        self.create_one(order).boxed()
    }

    fn delete<'a>(&'a self, id: &'a str, caller: &'a Caller) -> BoxFuture<'a, Result<(), Problem>> {
        self.delete_one(id, caller).boxed()
    }
}

fn unread(error: &AdapterError) -> Problem {
    tracing::warn!(%error, "the service provider cannot use a branch of the repository");
    fault(REPOSITORY, error)
}
